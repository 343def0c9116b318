"""report: one HTML page about a run, to look at and to attach to a pull request."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.files import ImageFolder, note_output
from openset.findings import Finding, Level, UsageError

if TYPE_CHECKING:
    from openset.evaluation.run import Run
    from openset.report.alone import Alone
    from openset.report.page import Beside

app = verb("report", panel="Measure")
_FORMATS = ("pdf", "svg", "png")
_PAGE = "report.html"


@app.default
def report(
    runs: list[Path],
    /,
    *,
    images: Path | None = None,
    audit: Path | None = None,
    recognition: Path | None = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    figures: list[str] | None = None,
    browse: Flag = False,
    open_page: Annotated[Flag, Parameter(name="--open")] = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Write the report of a run: one HTML file that needs no network.

    Args:
        runs: The folder that `openset evaluate -o`, `openset recognise -o` or `openset learn -o`
            wrote; of the last, several can stand on one page.
        images: Folder with the images, for the gallery.
        audit: What `openset audit -o audit.json` found, for a section of its own.
        recognition: The folder that `openset recognise -o` wrote, for a section of its own.
        out: The page; report.html in the run's folder by default.
        figures: Also write the charts, as pdf,svg,png, into a folder beside the page.
        browse: Also write every image, small, into a folder beside the page, which shows them.
        open_page: Open the page in a browser.
        output: How to speak.
    """
    from openset.cli._inputs import listed
    from openset.cli._sizes import tell_other_pictures, tell_other_shapes
    from openset.evaluation.run import Run
    from openset.plugins import lookup
    from openset.report.alone import write_alone
    from openset.report.audit import strange

    kinds = listed(figures)
    for kind in kinds:
        lookup(dict.fromkeys(_FORMATS), kind, "format of figures")
    if images is not None:
        ImageFolder(images)  # refused before anything is read
    written: list[Path] = []
    with output.progress(2 + bool(kinds) + browse) as step:
        step("reading")
        alone = _alone(runs, output)
        page = _place(runs, out)
        if alone is not None:
            if images or audit or recognition or kinds or browse:
                flags = "--images, --audit, --recognition, --figures and --browse"
                raise UsageError(f"{flags} need a run of detectors, which {runs[0]} is not")
            write_alone(alone, page)
        else:
            loaded, beside = Run.load(runs[0]), _beside(audit, recognition)
            for finding in strange(beside.audits, loaded.truth.images):
                output.report(finding)
            if images is not None and not browse:  # which counts them all
                _tell_if_none(loaded, images, output)
            if images is not None:
                tell_other_shapes(loaded.truth.images, images, output)
                first = loaded.detections[loaded.names[0]]
                tell_other_pictures(first, loaded.truth.images, images, output)
            if browse:
                step("writing the images")
                written = [_browsed(loaded, page, images, output)]
                beside = replace(beside, browsing=written[0].name)
            step("writing the page")
            write_page(loaded, page, images, beside)
            written += _figures(loaded, page, kinds, step)
    if open_page:
        show(page)
    text = "\n".join([described(page), *(f"wrote {path}" for path in written)])
    paths = [str(path) for path in written]
    found = {"page": str(page), "bytes": page.stat().st_size}
    return Answer(text, lambda: {**found, "figures": paths[browse:], "images": paths[:browse]})


def _alone(runs: list[Path], output: Output) -> Alone | None:
    """The page of classifiers or of chains of tasks; None for a run of detectors."""
    from openset.cli._inputs import BY_LEARN, model_names, refuse_absent
    from openset.evaluation.learned import FILE, Learned, unlike_chains
    from openset.recognition.folder import FOLDER, load
    from openset.report.alone import about_chains, about_classifiers

    others = [run for run in runs if not (run / FILE).is_file()]
    if not others:
        held = {name: Learned.load(path) for name, path in model_names(runs).items()}
        for finding in unlike_chains(held):
            output.report(finding)
        return about_chains(held)
    if len(runs) > 1:
        refuse_absent(runs, BY_LEARN)
        raise UsageError(
            f"several folders on one page are those of openset learn, which {others[0]} is not"
        )
    return about_classifiers(load(runs[0])) if FOLDER.is_in(runs[0]) else None


def _place(runs: list[Path], out: Path | None) -> Path:
    """Where the page goes."""
    if out is None and len(runs) > 1:
        raise UsageError("say where the page about several chains goes: -o report.html")
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"a page ends in .html, which {out} does not")
    page = out or runs[0] / _PAGE
    note_output(page)
    return page


def write_page(run: Run, path: Path, images: Path | None, beside: Beside | None = None) -> Path:
    """Write the page of a run, with what stands beside it."""
    from openset.report import write
    from openset.report.page import Beside

    return write(run, path, images=images, beside=beside or Beside())


def _tell_if_none(run: Run, images: Path, output: Output) -> None:
    """Say that a folder has none of the run's images, with a name of both."""
    from openset.tables.names import file_names

    folder, names = ImageFolder(images), list(map(str, file_names(run.truth.images)))
    if not all(names) or not names or any(map(folder.find, names)):
        return
    there = next((path.name for path in sorted(images.iterdir()) if path.is_file()), "no file")
    message = f"none of the run's {len(names)} images is in {images}"
    example = f"{names[0]}; the folder has {there}"
    cause, fix = folder.lost_links()
    output.report(Finding("OS393", Level.WARNING, message, len(names), example, cause, fix))


def _browsed(run: Run, page: Path, images: Path | None, output: Output) -> Path:
    """Write every image into a folder beside the page."""
    from openset.report.browsing import browsing_folder, write_images

    folder = browsing_folder(page)
    without = write_images(run, folder, images)
    if images is not None and without:
        message = f"{len(without)} of {len(run.truth.images)} images cannot be read in {images}"
        output.report(Finding("OS393", Level.WARNING, message, len(without), without[0]))
    return folder


def _figures(run: Run, page: Path, kinds: list[str], step: Callable[[str], None]) -> list[Path]:
    if not kinds:
        return []
    from openset.report import figures

    step("drawing figures")
    return list(figures(run, page.parent / f"{page.stem}-figures", formats=tuple(kinds)))


def _beside(audit: Path | None, recognition: Path | None) -> Beside:
    """What stands on the page of a run beside its detectors."""
    from openset.recognition.folder import load
    from openset.report.audit import read_audits
    from openset.report.page import Beside

    audits = () if audit is None else read_audits(audit)
    return Beside(audits, None if recognition is None else load(recognition))


def described(page: Path) -> str:
    """Where the page is and how large."""
    size = page.stat().st_size / 1e6
    return f"report {shlex.quote(str(page))} ({size:.1f} MB, opens offline)"


def show(page: Path) -> None:
    """Open a page in the user's browser."""
    import webbrowser

    webbrowser.open(page.resolve().as_uri())
