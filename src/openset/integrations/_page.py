"""The page of a run, with its tables and curves, in the hands of a tracker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from openset.findings import UsageError, refuse
from openset.integrations.wandb import package_of


def log_page(page: str | Path, tracker: Any) -> None:
    """Keep the page that `openset report` wrote, and show it where the tracker can.

    Weights & Biases shows it and keeps it as an artifact, MLflow keeps it, and shows artifacts;
    TensorBoard shows no pages, so it says where this one is.

    Args:
        page: The HTML file.
        tracker: What ``wandb.init()`` returned, the module ``mlflow``, or a ``SummaryWriter``.
    """
    page = Path(page)
    if not page.is_file():
        raise refuse("OS101", f"no such page: {page}", fix="openset report RUN writes it")
    if hasattr(tracker, "log_artifact"):
        tracker.log_artifact(str(page))
    elif hasattr(tracker, "add_text"):
        tracker.add_text("page", f"`{page.resolve()}`")
    else:
        raise UsageError(f"{type(tracker).__name__} keeps neither files nor text")
    package = package_of(tracker)
    if hasattr(package, "Html"):
        tracker.log({"page": package.Html(str(page))})
