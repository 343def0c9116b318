"""forget: what later tasks cost the classes of earlier ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._app import verb
from openset.cli._console import Answer, Output

if TYPE_CHECKING:
    from openset.evaluation.across_tasks import Forgetting

app = verb("forget", panel="Measure")


@app.default
def forget(
    results: list[Path],
    /,
    *,
    force: bool = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Forgetting across tasks: how much AP the classes of earlier tasks have lost at the end.

    Args:
        results: A *.result.json of `openset evaluate -o` for each task, in the order of tasks.
        force: Subtract results of different ground truths, as where each task has its own.
        output: How to speak.
    """
    from openset.cli._inputs import read_result
    from openset.evaluation.across_tasks import forgetting

    found = forgetting([read_result(path) for path in results], force=force)
    return Answer(found.table().text(), lambda: _document(found))


def _document(found: Forgetting) -> dict[str, Any]:
    value = found.value
    return {
        "forgetting": value.value,
        "reason": value.reason,
        "interval": value.interval,
        "classes": {
            name: {"task": found.taught[name], "ap": found.ap[name], "drop": drop}
            for name, drop in found.drops.items()
        },
    }
