"""Folder: what several classifiers were measured to do, on disk.

``recognition.json`` says what the folder is and names ``<name>.result.json`` of each classifier, as
a run of detectors does (`openset.evaluation.result_folder`), and which are trainings of one method.
The scores themselves are not kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from openset.evaluation.result_folder import ResultFolder
from openset.evaluation.trainings import Trainings, apart, grouped
from openset.findings import refuse
from openset.recognition.evaluation import Recognition

PAGE = "report.html"
FOLDER = ResultFolder(
    what="run of classifiers",
    index="recognition.json",
    schema="openset.recognition-run/1",
    fix="openset recognise SCORES...",
    beside=(PAGE,),
)


def save(
    results: Mapping[str, Sequence[Recognition]], folder: str | Path, *, command: str = ""
) -> Path:
    """Write results; the folder appears whole or not at all.

    Args:
        results: The result of each training of each classifier, by its name, the reference first.
        folder: A folder that is absent or empty, or holds an earlier one, which is replaced.
        command: The command line that made them, if one did.
    """
    flat, trainings = apart(results)

    def write(new: Path) -> None:
        FOLDER.write(new, flat, {"command": command, "trainings": trainings})

    return FOLDER.save(Path(folder), write)


def load(folder: str | Path) -> dict[str, Trainings]:
    """Read results back, by the name of their classifier."""
    where = Path(folder)
    FOLDER.verify(where)
    trainings = FOLDER.read(where).get("trainings")
    if not isinstance(trainings, dict) or not all(isinstance(v, list) for v in trainings.values()):
        raise refuse(
            "OS114", f"{where / FOLDER.index} does not say which trainings are of a method"
        )
    return grouped(FOLDER.results(where, Recognition), trainings)
