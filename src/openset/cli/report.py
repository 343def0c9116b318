"""report: one HTML page about a run, to look at and to attach to a pull request."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.findings import UsageError, refuse

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation
    from openset.evaluation.run import Run

app = verb("report", panel="Measure")
_FORMATS = ("pdf", "svg", "png")


@app.default
def report(
    run: Path,
    /,
    *,
    images: Path | None = None,
    audit: Path | None = None,
    recognition: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    figures: list[str] | None = None,
    open_page: Annotated[Flag, Parameter(name="--open")] = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Write the report of a run: one HTML file that needs no network.

    Args:
        run: The folder that `openset evaluate -o` wrote, or a file of `openset recognise -o`.
        images: Folder with the images, for the gallery.
        audit: What `openset audit -o audit.json` found, for a section of its own.
        recognition: Files that `openset recognise -o` wrote, for a section of their own.
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
        if run.is_file():
            if images or audit or kinds:
                raise UsageError(f"--images, --audit and --figures need a run; {run} is a file")
            page, written = _of_classifiers([run, *(recognition or [])], out), []
        else:
            loaded, beside = Run.load(run), _beside(audit, recognition or [])
            step("writing the page")
            page = write_page(loaded, out or run / "report.html", images, **beside)
            written = _figures(loaded, page, kinds, step)
    if open_page:
        show(page)
    text = "\n".join([described(page), *(f"wrote {path}" for path in written)])
    paths = [str(path) for path in written]
    return Answer(text, lambda: {"page": str(page), "bytes": page.stat().st_size, "figures": paths})


def write_page(run: Run, path: Path, images: Path | None, **beside: Any) -> Path:
    """Write the page of a run, with what stands beside it."""
    from openset.report import write

    return write(run, path, images=images, **beside)


def _figures(run: Run, page: Path, kinds: list[str], step: Callable[[str], None]) -> list[Path]:
    if not kinds:
        return []
    from openset.report import figures

    step("drawing figures")
    return list(figures(run, page.parent / f"{page.stem}-figures", formats=tuple(kinds)))


def _beside(audit: Path | None, recognition: Sequence[Path]) -> dict[str, Any]:
    """What stands on the page of a run beside its detectors."""
    from openset.report.audit import read_audits

    audits = () if audit is None else read_audits(audit)
    return {"audits": audits, "recognition": _results(recognition)}


def _of_classifiers(paths: Sequence[Path], out: Path | None) -> Path:
    """A page about classifiers alone."""
    from openset.report.alone import write_alone

    return write_alone(_results(paths), out or paths[0].with_suffix(".html"))


def _results(paths: Sequence[Path]) -> dict[str, Evaluation]:
    from openset.cli._inputs import model_names
    from openset.recognition import Recognition

    return {name: Recognition.from_json(path) for name, path in model_names(paths).items()}


def described(page: Path) -> str:
    """Where the page is and how large."""
    size = page.stat().st_size / 1e6
    return f"report {shlex.quote(str(page))} ({size:.1f} MB, opens offline)"


def show(page: Path) -> None:
    """Open a page in the user's browser."""
    import webbrowser

    webbrowser.open(page.resolve().as_uri())
