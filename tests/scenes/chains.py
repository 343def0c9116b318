"""A chain of two tasks with numbers that are made up: cats are taught first, then dogs."""

from __future__ import annotations

from openset.evaluation.learned import Learned, Row


def farm(cats: tuple[float, float, float] = (0.8, 0.1, 0.6), name: str = "dog") -> Learned:
    """After the first task, the second one and its fine-tuning."""
    stages = (("t1", 1, False), ("t2", 2, False), ("t2-ft", 2, True))
    rows = tuple(_row(*stage, cats[0], now, name) for stage, now in zip(stages, cats, strict=True))
    about = {"recipe": "x", "method": "pad", "seed": 0, "expel": True}
    return Learned("farm", (("cat",), (name,)), {**about, "exemplars": {"rule": "splits"}}, rows)


def _row(stage: str, task: int, finetune: bool, first: float, now: float, name: str) -> Row:
    current = first if task == 1 else 0.7
    values = {"ap_previous": now if task > 1 else None, "ap_current": current, "a_ose": 12.0}
    numbers = {k: {"value": v, "interval": None, "reason": ""} for k, v in values.items()}
    numbers["ap_current"]["interval"] = (0.1, 0.9)
    return Row(
        stage,
        task,
        finetune,
        images=5,
        objects={name: 9},
        images_of={name: 4},
        numbers=numbers,
        ap={"cat": now, **({name: 0.7} if task > 1 else {})},
        forgetting=first - now if task > 1 else None,
        drops={"cat": first - now} if task > 1 else {},
        called={name: {"cow": 1, "cat": 3}} if task == 1 else {},
    )
