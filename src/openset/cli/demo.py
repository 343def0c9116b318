"""demo: the embedded example, evaluated and reported, without owning anything."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.evaluation.run import Run

app = verb("demo", panel="Measure")
PHOTO = 10  # the first of its images that shows all three kinds of boxes, and few of them
_PICTURE = "photo.png"


@app.default
def demo(
    *,
    photo: Flag = False,
    out: Annotated[Path, Parameter(name=("--out", "-o"))] = Path("openset-demo"),
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Write the embedded example into a folder, evaluate it and write its report.

    Four small detectors that were taught the digits 0 to 5 meet 6 to 9, letters and shapes.

    Args:
        photo: Only draw what one of them says of one image: known, unknown and background boxes,
            each with its evidence, as `openset draw` does for photos.
        out: Folder to write; must be absent, empty, or an earlier demo.
        output: How to speak.
    """
    from openset.cli.evaluate import document
    from openset.cli.report import described, write_page
    from openset.evaluation.run import evaluate_all

    truth, detections = _example(out)
    if photo:
        return _photo(out, detections, output)
    with output.progress(3 + 2 * len(detections)) as step:
        command = shlex.join(["openset", "demo", "-o", str(out)])
        run = evaluate_all(truth, detections, command=command, step=step)
        kept = run.save(out / "run")
        step("drawing the images")
        images = _images(out, len(run.truth.images))
        step("writing the report")
        page = write_page(run, kept / "report.html", images)
    files = shlex.join(map(str, [truth, *detections.values()]))
    lines = [
        f"wrote {out}: {len(run.truth.images)} images, detections of {', '.join(detections)}",
        _table(run),
        described(page),
        f"next: openset diagnose {shlex.quote(str(kept))}",
        "the same by hand:",
        f"  openset evaluate {files} -o {shlex.quote(str(kept))}",
        f"  openset report {shlex.quote(str(kept))} --images {shlex.quote(str(images))} --open",
    ]
    found: dict[str, Any] = {"folder": str(out), "page": str(page)}
    return Answer("\n".join(lines), lambda: {**found, **document(run, kept)})


def _photo(folder: Path, detections: dict[str, Path], output: Output) -> Answer:
    """What the first detector says of one image."""
    from openset.cli.draw import draw

    images = _images(folder, PHOTO) / "images" / "test"
    shown, found = sorted(images.iterdir())[PHOTO - 1], next(iter(detections.values()))
    drawn = draw(found, images=shown, out=folder / _PICTURE, output=output)
    lines = [
        f"what {found.stem} says, which was taught the digits 0 to 5:",
        drawn.text,
        f"next: openset demo -o {shlex.quote(str(folder))}",
        "a photo of yours:",
        "  openset run MODEL photo.jpg -o found.parquet",
        "  openset draw found.parquet --images photo.jpg --unknownness energy --unknown-from 10%",
    ]
    return Answer("\n".join(lines), drawn.document)


def _example(folder: Path) -> tuple[Path, dict[str, Path]]:
    """The ground truth, and the detections of each detector, in the folder."""
    from openset.examples import DIGITS, DIGITS_TRUTH
    from openset.files import replacing

    sources = [DIGITS_TRUTH, *sorted(DIGITS.glob("*.parquet"))]
    ours = {"images", "run", _PICTURE, *(path.name for path in sources)}
    if folder.exists() and (not folder.is_dir() or {p.name for p in folder.iterdir()} - ours):
        raise UsageError(f"{folder} holds other things; name a folder that does not exist")
    folder.mkdir(parents=True, exist_ok=True)
    for path in sources:
        with replacing(folder / path.name, folder=False) as copy:
            copy.write_bytes(path.read_bytes())
    truth, *detections = (folder / path.name for path in sources)
    return truth, {path.stem: path for path in detections}


def _images(folder: Path, count: int) -> Path:
    """The images of the example, drawn from the seed of their world."""
    from openset.examples import DIGITS_WORLD
    from openset.worlds.digits import DigitsWorld

    return DigitsWorld(**DIGITS_WORLD).write_images(folder, "test", count)


def _table(run: Run) -> str:
    from openset.cli._lines import ledger_lines
    from openset.cli._terminal import width

    columns = width()
    table = run.board(headline=True).text(columns, decimals=1)
    return "\n".join(["", table, *ledger_lines(run, columns), ""])
