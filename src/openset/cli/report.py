"""report: one HTML page about a run, to look at and to attach to a pull request."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.findings import refuse

if TYPE_CHECKING:
    from openset.evaluation.run import Run

app = verb("report", panel="Measure")
_FORMATS = ("pdf", "svg", "png")


@app.default
def report(
    run: Path,
    /,
    *,
    images: Path | None = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    figures: list[str] | None = None,
    open_page: Annotated[Flag, Parameter(name="--open")] = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Write the report of a run: one HTML file that needs no network.

    Args:
        run: The folder that `openset evaluate -o` wrote.
        images: Folder with the images, for the gallery.
        out: The page; report.html in the run's folder by default.
        figures: Also write the charts, as pdf,svg,png, into a folder beside the page.
        open_page: Open the page in a browser.
        output: How to speak.
    """
    from openset.cli._inputs import listed
    from openset.evaluation.run import Run
    from openset.plugins import lookup

    kinds = listed(figures)
    for kind in kinds:
        lookup(dict.fromkeys(_FORMATS), kind, "format of figures")
    if images is not None and not images.is_dir():
        raise refuse("OS101", f"no such folder of images: {images}")
    with output.progress(2 + bool(kinds)) as step:
        step("reading")
        loaded = Run.load(run)
        step("writing the page")
        page = write_page(loaded, out or run / "report.html", images)
        written = []
        if kinds:
            from openset.report import figures as write_figures

            step("drawing figures")
            written = list(
                write_figures(loaded, page.parent / f"{page.stem}-figures", formats=tuple(kinds))
            )
    if open_page:
        show(page)
    text = "\n".join([described(page), *(f"wrote {path}" for path in written)])
    paths = [str(path) for path in written]
    return Answer(text, lambda: {"page": str(page), "bytes": page.stat().st_size, "figures": paths})


def write_page(run: Run, path: Path, images: Path | None) -> Path:
    """Write the page of a run."""
    from openset.report import write

    return write(run, path, images=images)


def described(page: Path) -> str:
    """Where the page is and how large."""
    size = page.stat().st_size / 1e6
    return f"report {shlex.quote(str(page))} ({size:.1f} MB, opens offline)"


def show(page: Path) -> None:
    """Open a page in the user's browser."""
    import webbrowser

    webbrowser.open(page.resolve().as_uri())
