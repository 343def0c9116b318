"""timeline: what detectors could do after each task, as one table and one figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.cli._terminal import width

if TYPE_CHECKING:
    from openset.evaluation.learned import Learned

app = verb("timeline", panel="Understand")


@app.default
def timeline(
    chains: list[Path],
    /,
    *,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Show chains of tasks side by side, through time: what was kept, and what was forgotten.

    Args:
        chains: Folders that `openset learn` wrote, or their learned.json.
        out: Draw a figure: .svg, .pdf or .png.
        output: How to speak.
    """
    from openset.cli._inputs import BY_LEARN, model_names, refuse_absent
    from openset.evaluation.learned import Learned, unlike_chains
    from openset.learning.figure import through_time

    refuse_absent(chains, BY_LEARN)
    named = model_names([path.parent if path.is_file() else path for path in chains])
    held = {name: Learned.load(path) for name, path in named.items()}
    for finding in unlike_chains(held):
        output.report(finding)
    lines = [line for name, one in held.items() for line in _lines(name, one)]
    if out is not None:
        lines.append(f"wrote {through_time(held, out)}")
    return Answer("\n".join(lines), lambda: _document(held))


def _lines(name: str, one: Learned) -> list[str]:
    return [name, one.table().text(width()), *one.lines(), ""]


def _document(held: dict[str, Learned]) -> dict[str, Any]:
    return {"chains": {name: one.document() for name, one in held.items()}}
