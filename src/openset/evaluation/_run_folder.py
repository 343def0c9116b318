"""A run on disk: a folder with everything a report needs, readable without us.

``run.json`` says what the run is (schema ``openset.run/1``) and names the files of each detector:
``<name>.result.json`` (the numbers, with every resample, so that `compare` is paired) and
``<name>.detections.parquet``; ``truth.parquet`` is the ground truth. Names of detectors may be
anything: file names are made from them and stay inside the folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.evaluation.result import Evaluation
from openset.files import file_stems, replacing, safe_name, target_of, unwritable
from openset.findings import Finding, InputError, UsageError, refuse
from openset.formats import read_annotations, read_detections, write
from openset.json_text import plain
from openset.matching import Protocol, match
from openset.tables import Role, Vocabulary
from openset.version import __version__

if TYPE_CHECKING:
    from openset.evaluation.run import Run

SCHEMA = "openset.run/1"
INDEX, TRUTH = "run.json", "truth.parquet"
_REPORT = ("report.html", "report-figures")  # what may be made from a run and goes with it
_RESULT, _DETECTIONS = ".result.json", ".detections.parquet"
_LONGEST = 60


def save(run: Run, folder: Path) -> Path:
    """Write a run; an earlier run in the same place gives way to it."""
    import tempfile

    if not holds_run(folder):
        with replacing(folder, folder=True) as new:
            _write(run, new)
        return folder
    target = target_of(folder, folder=True, empty=False)
    try:
        with tempfile.TemporaryDirectory(prefix=".openset-", dir=target.parent) as workshop:
            new, old = Path(workshop) / "new", Path(workshop) / "old"
            _write(run, new)
            target.rename(old)
            new.rename(target)
    except OSError as error:
        raise unwritable(folder, error) from error
    return folder


def holds_run(folder: Path) -> bool:
    """Whether a folder holds a run, and nothing else; refused if it holds anything else."""
    target_of(folder, folder=True, empty=False)
    if not (folder / INDEX).is_file():
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} holds something else than a run; choose another folder")
        return False
    stems = _index(folder)["models"].values()
    ours = {
        INDEX,
        TRUTH,
        *_REPORT,
        *(stem + end for stem in stems for end in (_RESULT, _DETECTIONS)),
    }
    others = sorted(path.name for path in folder.iterdir() if path.name not in ours)
    if others:
        raise UsageError(
            f"{folder} holds an earlier run and {others[0]!r}, which is not part of it; "
            "move that away, or choose another folder"
        )
    return True


def _write(run: Run, folder: Path) -> None:
    folder.mkdir()
    stems = file_stems(run.evaluations)
    document = {
        "schema": SCHEMA,
        "version": __version__,
        "command": run.command,
        "protocol": asdict(run.protocol),
        "vocabulary": _vocabulary_fields(run.vocabulary),
        "seed": run.seed,
        "leaked": run.leaked,
        "models": stems,
        "truth_findings": [asdict(finding) for finding in run.truth_findings],
    }
    (folder / INDEX).write_text(json.dumps(plain(document), indent=1) + "\n", "utf-8")
    write(run.truth, folder / TRUTH)
    for name, stem in stems.items():
        run.evaluations[name].to_json(folder / (stem + _RESULT), replicates=True)
        write(run.detections[name], folder / (stem + _DETECTIONS))


def _vocabulary_fields(vocabulary: Vocabulary) -> dict[str, Any]:
    public = [item.name for item in fields(vocabulary) if not item.name.startswith("_")]
    held = {name: getattr(vocabulary, name) for name in public}
    return {k: sorted(v) if isinstance(v, frozenset) else v for k, v in held.items()}


def load(folder: Path) -> Run:
    """Read a run and match it again."""
    from openset.evaluation.run import Run

    index = _index(folder)
    try:
        protocol = Protocol(**{k: _tuples(v) for k, v in index["protocol"].items()})
        vocabulary = _vocabulary(index["vocabulary"])
        truth = read_annotations(folder / TRUTH)
        stems = {name: safe_name(stem) for name, stem in index["models"].items()}
        tables = {n: read_detections(folder / (s + _DETECTIONS)) for n, s in stems.items()}
        leaked = index["leaked"]
        evaluations = {
            name: replace(
                Evaluation.from_json(folder / (stem + _RESULT)),
                matches=match(truth, tables[name], vocabulary, protocol, leaked=leaked),
            )
            for name, stem in stems.items()
        }
        command, seed = str(index["command"]), int(index["seed"])
        of_truth = tuple(map(Finding.of, index.get("truth_findings", ())))
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise refuse("OS114", f"cannot read the run in {folder}: {error!r}") from error
    # What a result has found beyond the ground truth's is its detector's.
    findings = {
        name: tuple(finding for finding in one.findings if finding not in of_truth)
        for name, one in evaluations.items()
    }
    return Run(
        truth, tables, evaluations, vocabulary, protocol, seed, leaked, command, of_truth, findings
    )


def _index(folder: Path) -> dict[str, Any]:
    """What ``run.json`` says, refused if it is not of our schema."""
    path = folder / INDEX
    try:
        document = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise refuse(
            "OS101",
            f"no run in {folder}: {INDEX} is missing",
            cause="the folder was not written by an evaluation",
            fix=f"openset evaluate GT DT... -o {folder}",
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise refuse("OS114", f"cannot read {path}: {error}") from error
    held = document.get("schema") if isinstance(document, dict) else None
    if held != SCHEMA or not isinstance(document.get("models"), dict):
        raise refuse("OS114", f"{path} is not a run of schema {SCHEMA}: {str(held)[:80]!r}")
    return dict(document)


def _tuples(value: Any) -> Any:
    """JSON has lists where frozen values have tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _vocabulary(held: Mapping[str, Any]) -> Vocabulary:
    parts = {name: _tuples(value) for name, value in held.items()}
    sets = {name: frozenset(parts[name]) for name in ("unknown", "ignored")}
    return Vocabulary(**{**parts, **sets, "rest": Role(parts["rest"])})
