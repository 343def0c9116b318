"""draw: what a detector did, on the images themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.findings import UsageError, refuse

if TYPE_CHECKING:
    from openset.cli._picture import Drawing, Drawings
    from openset.evaluation.run import Run

app = verb("draw", panel="Understand")


@app.default
def draw(
    run: Path,
    /,
    *,
    images: Path,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    model: str | None = None,
    only: list[str] | None = None,
    limit: int = 20,
    minimum_score: float | None = None,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Draw boxes on images: known, unknown, confused, missed, false.

    Args:
        run: The folder that `openset evaluate -o` wrote.
        images: Folder with the images.
        out: Folder to draw into; by default RUN-drawn, beside the run.
        model: Which detector; the first by default.
        only: Only these images, by id or file name, a,b,c.
        limit: At most so many images, those with the most mistakes about unknown objects first.
        minimum_score: Only boxes of at least this score; by default that of the operating point.
        output: How to speak.
    """
    from openset.cli._inputs import listed
    from openset.cli._picture import drawings
    from openset.evaluation.run import Run
    from openset.plugins import lookup

    loaded = Run.load(run)
    name = loaded.names[0] if model is None else model
    lookup(loaded.evaluations, name, "model of the run")
    if limit < 1:
        raise UsageError(f"--limit must be at least 1, not {limit}")
    rows = _rows(loaded, listed(only))
    found = drawings(loaded, name, rows, minimum_score, limit)
    folder = out if out is not None else run.with_name(f"{run.name}-drawn")
    drawn = _draw_all(found, images, folder, output)
    number = f"{len(drawn)} image{'s' * (len(drawn) != 1)}"
    text = f"wrote {number} of {name} to {folder}, boxes of score {found.level:.2f} or more"
    return Answer(text, lambda: _document(found, drawn, folder))


def _document(found: Any, drawn: list[str], folder: Path) -> dict[str, Any]:
    return {"images": drawn, "out": str(folder), "minimum_score": found.level}


def _rows(run: Run, only: list[str]) -> list[int] | None:
    """Places of the images that were asked for, or None for any."""
    from openset.plugins import lookup

    if not only:
        return None
    images = run.truth.images
    places: dict[str, int] = {str(key): at for at, key in enumerate(images.id.tolist())}
    if images.file_name is not None:
        for at, name in enumerate(images.file_name.tolist()):
            places.setdefault(name, at)
            places.setdefault(Path(name).name, at)
    return [lookup(places, name, "image") for name in only]


def _draw_all(found: Drawings, images: Path, folder: Path, output: Output) -> list[str]:
    from openset.cli._picture import Painter
    from openset.files import ImageFolder, file_stems, replacing

    folder_of = ImageFolder(images)
    shown: list[Drawing] = [one for one in found.drawings if folder_of.find(one.name)]
    if not shown:
        raise refuse(
            "OS101",
            f"none of the {len(found.drawings)} images is in {images}",
            example=found.drawings[0].name if found.drawings else "",
            cause="another folder, or file names of another data set",
        )
    names = _distinct([one.name for one in shown])
    stems = file_stems(names)
    painter = Painter()
    with output.progress(len(shown)) as step, replacing(folder, folder=True) as target:
        target.mkdir()
        for name, one in zip(names, shown, strict=True):
            step(f"drawing {one.name}")
            path = folder_of.find(one.name)
            assert path is not None
            painter.paint(path, one).save(target / f"{stems[name]}.png")
    return [str(folder / f"{stem}.png") for stem in stems.values()]


def _distinct(names: list[str]) -> list[str]:
    """A name for each image: the stem, or more where images of two folders share it.

    >>> _distinct(["a/1.jpg", "a/2.jpg", "b/2.jpg", "b/2.jpg"])
    ['1', 'a/2.jpg', 'b/2.jpg', 'b/2.jpg #3']
    """
    stems = [Path(name).stem for name in names]
    longer = [s if stems.count(s) == 1 else name for s, name in zip(stems, names, strict=True)]
    return [f"{one} #{at}" if one in longer[:at] else one for at, one in enumerate(longer)]
