"""Record: run openset as a reader of the page would type it, and keep what it answers.

The commands of a run file are those that were run: ``$DATA`` stands for the folder of data sets,
``$WORK`` for a folder of one's own. Checksums of the inputs are kept beside the numbers.
"""

from __future__ import annotations

import argparse
import io
import json
import shlex
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from openset.cli import main
from openset.files import digest
from openset.findings import OpenSetError
from openset.papers import Column, Estimate, Run
from openset.resampling.intervals import percentiles

PHOTOGRAPHS = Path("experiments/results/photographs.json")
JUDGED = f"python experiments/photographs.py judge FOUND --work PHOTOS --results {PHOTOGRAPHS}"
OVER_TRAININGS = "Means over trainings; intervals hold pictures and trainings."


@dataclass
class Recorder:
    """Runs commands and remembers them until the next run file is saved.

    Attributes:
        data: The folder of data sets.
        work: A folder for what is made on the way.
        target: Where the run files of a paper go.
        commands: Those since the last run file.
        inputs: Checksums of the data that they read.
        options: What else the command line gave.
    """

    data: Path
    work: Path
    target: Path
    commands: list[str] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)

    def ask(self, command: str) -> dict[str, Any]:
        """What ``openset COMMAND --json`` answers."""
        words = [self._placed(word) for word in shlex.split(command)]
        out = io.StringIO()
        with redirect_stdout(out):
            code = main([*words, "--json"])
        if code == 2:
            raise SystemExit(f"openset {command}: {json.loads(out.getvalue())['error']['message']}")
        self.commands.append(f"openset {command}")
        return dict(json.loads(out.getvalue()))

    def _placed(self, word: str) -> str:
        name, _, path = word.rpartition("=")
        if path.startswith("$DATA/"):
            file = self.data / path.removeprefix("$DATA/")
            self.inputs[path] = digest(file) if file.is_file() else "a folder"
        elif (file := Path(path)).is_file() and not file.is_absolute():  # of the repository
            self.inputs[path] = digest(file)
        prefix = f"{name}=" if name else ""
        return prefix + path.replace("$DATA", str(self.data)).replace("$WORK", str(self.work))

    def save(
        self,
        name: str,
        columns: Sequence[Column],
        rows: Sequence[Sequence[Any]],
        *notes: str,
        needs: Sequence[str] = (),
    ) -> None:
        """Write a run file from the commands since the last one."""
        outside = any(path.startswith("$") for path in self.inputs)
        wanted = tuple(needs) or (("data",) if outside else ())
        run = Run(
            tuple(columns),
            tuple(tuple(row) for row in rows),
            commands=tuple(self.commands),
            inputs=dict(self.inputs),
            needs=wanted,
            notes=notes,
        )
        run.save(self.target / f"{name}.json")
        print(f"wrote {self.target / name}.json")
        self.commands, self.inputs = [], {}

    def kept(self) -> Callable[[], None]:
        """What was run until now, for several run files: called before each that rests on it."""
        commands, inputs = list(self.commands), dict(self.inputs)

        def again() -> None:
            self.commands, self.inputs = list(commands), dict(inputs)

        return again


def spoken(main: Callable[[], None]) -> None:
    """Run a script; what it lacks is said in a line, not in a traceback."""
    try:
        main()
    except (OpenSetError, FileNotFoundError) as error:
        raise SystemExit(f"error: {error}") from error


def results(path: Path, *made: str) -> Path:
    """A file of results that the repository keeps; where it is gone, what makes it is said."""
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there; what makes it: {'; '.join(made)}")
    return path


def photographs(
    to: Recorder,
    name: str,
    methods: Mapping[str, str],
    metrics: Mapping[str, Column],
    here: str,
    *notes: str,
) -> None:
    """Write some methods and metrics of ``experiments/photographs.py judge`` as a run file.

    Args:
        to: Where it goes.
        name: Of the run file.
        methods: How a row is called, and the method it shows.
        metrics: What is shown of it; ``ap50_voc`` has no interval.
        here: The command that makes the run file.
        notes: What a reader must know beside that of all such files.
    """
    held = json.loads(results(PHOTOGRAPHS, JUDGED).read_text("utf-8"))["methods"]
    rows = [
        [row, *(_shown(held[of], metric) for metric in metrics), float(held[of]["runs"])]
        for row, of in methods.items()
    ]
    to.inputs = {PHOTOGRAPHS.as_posix(): digest(PHOTOGRAPHS)}
    to.commands = [JUDGED, here]
    columns = [Column("method"), *metrics.values(), Column("trainings", "count")]
    to.save(name, columns, rows, OVER_TRAININGS, *notes, needs=("data", "training", "gpu"))


def typed(paper: str, element: str) -> list[list[str]]:
    """The rows of a table that the page types from its paper."""
    page = tomllib.loads((Path(__file__).parent / paper / "page.toml").read_text("utf-8"))
    held = next(one["published"] for one in page["element"] if one["name"] == element)
    return [list(map(str, row)) for row in held["rows"]]


def _shown(held: dict[str, Any], metric: str) -> Estimate | float | None:
    if metric == "ap50_voc":
        return fmean(held[metric])
    return estimate(held["values"][metric])


def estimate(held: dict[str, Any]) -> Estimate | float | None:
    """A value of ``openset evaluate --json`` with its interval."""
    return number(held["value"], held["interval"])


def difference(held: dict[str, Any]) -> Estimate | float | None:
    """A difference of ``openset evaluate --json`` with its interval."""
    return number(held["difference"], held["interval"])


def paired(run: Path, model: str, metric: str, other: str) -> Estimate | float | None:
    """How far one metric of a run that was kept lies above another, in the same resamples."""
    held = json.loads((run / f"{model}.result.json").read_text("utf-8"))
    one, two = (held["values"][name]["value"] for name in (metric, other))
    if one is None or two is None:
        return None
    drawn = [np.array(held["replicates"][name], float) for name in (metric, other)]
    return number(one - two, percentiles(drawn[0] - drawn[1]))


def number(value: float | None, ends: Sequence[float] | None) -> Estimate | float | None:
    """A number, with its interval where there is one."""
    if value is None or ends is None:
        return None if value is None else float(value)
    return Estimate(float(value), float(ends[0]), float(ends[1]))


def started(paper: str, *options: str, data: bool = True, optional: Sequence[str] = ()) -> Recorder:
    """A recorder for a paper, from the command line.

    Args:
        paper: Its folder.
        options: More that the command line must give; each a file or folder.
        data: Whether it needs the folder of data sets.
        optional: More that it may give; those left out are not among the recorder's options.
    """
    parser = argparse.ArgumentParser(description=f"Measure what the page {paper} shows.")
    parser.add_argument("--data", type=Path, required=data, help="the folder of data sets")
    parser.add_argument("--work", type=Path, help="a folder for what is made on the way")
    for name in (*options, *optional):
        parser.add_argument(f"--{name}", required=name in options)
    given = vars(parser.parse_args())
    for name in ("data", *options, *optional):
        if given[name] is not None and not Path(given[name]).exists():
            parser.error(f"--{name}: no such file or folder: {given[name]}")
    work = given["work"] or Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    chosen = {name: given[name] for name in (*options, *optional) if given[name] is not None}
    return Recorder(given["data"] or work, work, Path(__file__).parent / paper, options=chosen)
