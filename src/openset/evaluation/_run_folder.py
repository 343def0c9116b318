"""A run on disk: a folder with everything a report needs, readable without us.

``run.json`` says what the run is (schema ``openset.run/1``) and names the files of each detector:
``<name>.result.json`` (the numbers, with every resample, so that `compare` is paired) and
``<name>.detections.parquet``; ``truth.parquet`` is the ground truth. How such a folder is written
and found is `openset.evaluation.result_folder`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.evaluation.result import Evaluation
from openset.evaluation.result_folder import RESULT, ResultFolder
from openset.findings import Finding, InputError, refuse
from openset.formats import read_annotations, read_detections, write
from openset.matching import Protocol, match
from openset.tables import Role, Vocabulary

if TYPE_CHECKING:
    from openset.evaluation.run import Run

TRUTH = "truth.parquet"
_DETECTIONS = ".detections.parquet"
_FOLDER = ResultFolder(
    what="run",
    index="run.json",
    schema="openset.run/1",
    fix="openset evaluate GT DT...",
    parts=(TRUTH,),
    beside=("report.html", "report-figures", "report-images"),  # the page goes with its run
    endings=(RESULT, _DETECTIONS),
)
refuse_other, verify = _FOLDER.refuse_other, _FOLDER.verify
is_run, files_of = _FOLDER.is_in, _FOLDER.files


def save(run: Run, folder: Path) -> Path:
    """Write a run; an earlier run in the same place gives way to it."""
    return _FOLDER.save(folder, partial(_write, run))


def _write(run: Run, folder: Path) -> None:
    about = {
        "command": run.command,
        "protocol": asdict(run.protocol),
        "vocabulary": _vocabulary_fields(run.vocabulary),
        "seed": run.seed,
        "leaked": run.leaked,
        "truth_findings": [asdict(finding) for finding in run.truth_findings],
        "trainings": run.trainings,
        "paired": run.paired,
        "by": run.by,
    }
    stems = _FOLDER.write(folder, run.evaluations, about)
    write(run.truth, folder / TRUTH)
    for name, stem in stems.items():
        write(run.detections[name], folder / (stem + _DETECTIONS))


def _vocabulary_fields(vocabulary: Vocabulary) -> dict[str, Any]:
    public = [item.name for item in fields(vocabulary) if not item.name.startswith("_")]
    held = {name: getattr(vocabulary, name) for name in public}
    return {k: sorted(v) if isinstance(v, frozenset) else v for k, v in held.items()}


def load(folder: Path) -> Run:
    """Read a run and match it again."""
    from openset.evaluation.run import Run, settle_trainings

    index = _FOLDER.read(folder)
    verify(folder)
    try:
        protocol = Protocol(**{k: _tuples(v) for k, v in index["protocol"].items()})
        vocabulary = _vocabulary(index["vocabulary"])
        truth = read_annotations(folder / TRUTH)
        stems = index["models"]
        tables = {n: read_detections(folder / (s + _DETECTIONS)) for n, s in stems.items()}
        leaked = index["leaked"]
        evaluations = {
            name: replace(
                result, matches=match(truth, tables[name], vocabulary, protocol, leaked=leaked)
            )
            for name, result in _FOLDER.results(folder, Evaluation).items()
        }
        command, seed = str(index["command"]), int(index["seed"])
        trainings = {name: tuple(map(str, runs)) for name, runs in index["trainings"].items()}
        paired, by = bool(index["paired"]), str(index["by"])
        of_truth = tuple(map(Finding.of, index["truth_findings"]))
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise refuse("OS114", f"cannot read the run in {folder}: {error!r}") from error
    # What a result has found beyond the ground truth's is its detector's.
    findings = {
        name: tuple(finding for finding in one.findings if finding not in of_truth)
        for name, one in evaluations.items()
    }
    read = (lambda: truth), tables
    run = Run(*read, evaluations, vocabulary, protocol, seed, leaked, command, of_truth, findings)
    return settle_trainings(replace(run, trainings=trainings, paired=paired, by=by), force=True)


def _tuples(value: Any) -> Any:
    """JSON has lists where frozen values have tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _vocabulary(held: Mapping[str, Any]) -> Vocabulary:
    parts = {name: _tuples(value) for name, value in held.items()}
    sets = {name: frozenset(parts[name]) for name in ("unknown", "ignored")}
    return Vocabulary(**{**parts, **sets, "rest": Role(parts["rest"])})
