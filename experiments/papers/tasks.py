"""Tasks: RE-OWOD's Tables 3 and 4 in the worlds of ``experiments/open_world*.py``.

The same files as those of `docs/results/open-world.md`, so that both pages say the same: a chain of
trainings is a method, a stage is a task before or after its exemplars. Differences are between
methods of one stage; their intervals hold trainings where there are several.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from record import Recorder, difference, estimate, results

from openset.files import digest
from openset.papers import Column

sys.path.append(str(Path(__file__).parents[1]))

from open_world_page import NAMES, STAGES

HERE = "python experiments/papers/re_owod.py --data DATA"
WORLDS = {
    "digits": Path("experiments/results/open_world.json"),
    "photographs": Path("experiments/results/open_world_photos.json"),
}
MADE = (
    "python experiments/open_world.py --work WORK --results experiments/results",
    "python experiments/open_world_photos.py judge --work PHOTOS --results experiments/results",
)
SHOWN = {
    "wilderness_impact": Column("WI", "%", 2),
    "a_ose": Column("A-OSE", "count"),
    "ap_previous": Column("previous", "%"),
    "ap_current": Column("current", "%"),
    "ap_known": Column("both", "%"),
    "unknown_recall": Column("recall", "%"),
    "udr": Column("UDR", "%"),
    "udp": Column("UDP", "%"),
    "ap_unknown": Column("AP unknown", "%"),
}
MODULES = ("base", "pad", "base + cec", "pad + cec")
"""Table 4: neither, one or both of PAD and CEC."""
World = Mapping[str, Any]


def tables(to: Recorder) -> None:
    """Write Tables 3 and 4, and what methods and exemplars change."""
    worlds = {
        name: json.loads(results(path, *MADE).read_text("utf-8")) for name, path in WORLDS.items()
    }
    columns = [Column("world"), Column("stage"), Column("method"), Column("trainings", "count")]
    columns += SHOWN.values()
    rows = list(_stages(worlds))
    save(to, "table-3", columns, rows)
    first = STAGES["t1"].lower()
    modules = [NAMES[name] for name in MODULES]
    save(to, "table-4", columns, [row for row in rows if row[1] == first and row[2] in modules])
    points = [Column("world"), Column("stage"), Column("methods"), *_points(SHOWN.values())]
    save(to, "between-tasks", points, list(_differences(worlds)))
    points[2] = Column("method")
    save(to, "restored", points, list(_restored(worlds)))


def _stages(worlds: Mapping[str, World]) -> Iterator[list[Any]]:
    for name, world in worlds.items():
        for stage, methods in world["stages"].items():
            for method, held in methods.items():
                row = [name, STAGES[stage].lower(), NAMES[method], float(held["runs"])]
                yield [*row, *(estimate(held["values"][metric]) for metric in SHOWN)]


def _differences(worlds: Mapping[str, World]) -> Iterator[list[Any]]:
    for name, world in worlds.items():
        for stage, several in world["differences"].items():
            for one in several:
                pair = f"{NAMES[one['second']]} less {NAMES[one['first']]}"
                cells = [difference(one["values"][metric]) for metric in SHOWN]
                yield [name, STAGES[stage].lower(), pair, *cells]


def _restored(worlds: Mapping[str, World]) -> Iterator[list[Any]]:
    """What exemplars change of a method."""
    for name, world in worlds.items():
        for stage, methods in world["restored"].items():
            for method, held in methods.items():
                cells = [difference(held[metric]) for metric in SHOWN]
                yield [name, f"task {stage.removeprefix('t')}", NAMES[method], *cells]


def _points(columns: Iterable[Column]) -> list[Column]:
    """The columns of differences."""
    return [
        Column(one.name, "points" if one.unit == "%" else one.unit, one.digits) for one in columns
    ]


def save(to: Recorder, name: str, columns: list[Column], rows: list[list[Any]]) -> None:
    """Write a run file from the files of both worlds."""
    to.commands = [*MADE, HERE]
    to.inputs = {path.as_posix(): digest(path) for path in WORLDS.values()}
    note = (
        "Means over trainings; intervals hold pictures, and trainings where there are several. "
        "What the worlds are: [the open world](../results/open-world.md)."
    )
    to.save(name, columns, rows, note, needs=("training", "gpu"))
