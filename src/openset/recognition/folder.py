"""Folder: what several classifiers were measured to do, on disk.

``recognition.json`` says what the folder is and names ``<name>.result.json`` of each classifier, as
a run of detectors does (`openset.evaluation.result_folder`). The scores themselves are not kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from openset.evaluation.result_folder import ResultFolder
from openset.recognition.evaluation import Recognition

PAGE = "report.html"
FOLDER = ResultFolder(
    what="run of classifiers",
    index="recognition.json",
    schema="openset.recognition-run/1",
    fix="openset recognise SCORES...",
    beside=(PAGE,),
)


def save(results: Mapping[str, Recognition], folder: str | Path, *, command: str = "") -> Path:
    """Write results; the folder appears whole or not at all.

    Args:
        results: The result of each classifier, by its name, the reference first.
        folder: A folder that is absent or empty, or holds an earlier one, which is replaced.
        command: The command line that made them, if one did.
    """

    def write(new: Path) -> None:
        FOLDER.write(new, results, {"command": command})

    return FOLDER.save(Path(folder), write)


def load(folder: str | Path) -> dict[str, Recognition]:
    """Read results back, by the name of their classifier."""
    FOLDER.verify(Path(folder))
    return FOLDER.results(Path(folder), Recognition)
