"""The page of a run, with its tables and curves, as an artifact of a tracker."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from openset.findings import refuse


class Keeper(Protocol):
    """The module ``mlflow``, or what ``wandb.init()`` returns: both keep files so."""

    def log_artifact(self, path: str, /) -> Any:
        """Keep a file."""


def log_page(page: str | Path, tracker: Keeper) -> None:
    """Keep the page that `openset report` wrote.

    Args:
        page: The HTML file.
        tracker: The module ``mlflow``, or a run of Weights & Biases.
    """
    if not Path(page).is_file():
        raise refuse("OS101", f"no such page: {page}", fix="openset report RUN writes it")
    tracker.log_artifact(str(page))
