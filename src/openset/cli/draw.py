"""draw: what a detector did, on the images themselves."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from cyclopts import Parameter

from openset.cli import _parts
from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.findings import Finding, InputError, Level, UsageError, refuse

if TYPE_CHECKING:
    from openset.cli._picture import Album, Drawing
    from openset.cli._seen import Seen
    from openset.evaluation.run import Run
    from openset.nets.pictures import ImageFiles, Pixels
    from openset.tables import Detections

Drawn = list[tuple[str, str]]  # names of images, and the files that they are drawn to
app = verb("draw", panel="Understand")
_LISTED = 12  # boxes of a photo that the answer lists


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
    unknownness: str | None = None,
    unknown_from: str | None = None,
    boxes: str = "xywh",
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Draw boxes on images: known, unknown, confused, missed, false; or on photos.

    Of a file of detections, without ground truth, boxes are known, unknown or background at the
    operating point that --minimum-score and --unknown-from choose, each with its evidence.

    Args:
        run: The folder that `openset evaluate -o` wrote, or a file of detections.
        images: Folder with the images; or a single photo.
        out: Folder to draw into; or a .png, .jpg or .webp, which is a contact sheet where there are
            several images. By default RUN-drawn, or FILE-drawn.png for a single photo.
        model: Which detector of the run; the first by default.
        only: Only these images, by id or file name, a,b,c.
        limit: At most so many images, those with the most mistakes about unknown objects first;
            of photos, those with the most unknown boxes.
        minimum_score: Only boxes of at least this score; by default that of the operating point.
            For photos 0.3; boxes below it are background.
        unknownness: For photos, where it comes from: a scorer that needs no fit, or a column.
        unknown_from: For photos, the unknownness from which a box is unknown, or 10% for the most
            unknown tenth; by default those that the file calls unknown.
        boxes: For photos, how boxes are written, as in `openset evaluate`.
        output: How to speak.
    """
    from openset.cli._inputs import listed

    if limit < 1:
        raise UsageError(f"--limit must be at least 1, not {limit}")
    if run.is_dir() and run.suffix != _parts.SUFFIX:
        if unknownness is not None or unknown_from is not None or boxes != "xywh":
            raise UsageError(
                "--unknownness, --unknown-from and --boxes are for photos; a run has its own"
            )
        return _run(run, images, out, _Choice(model, listed(only), limit, minimum_score), output)
    if model is not None:
        raise UsageError(f"--model names a detector of a run; {run} is a file of one")
    seen = _seen(run, images, minimum_score, (unknownness, unknown_from), (boxes, output))
    places = _photos(seen.files, listed(only)) if only else seen.order()
    for finding in seen.findings():
        output.report(finding)
    target = out if out is not None else _beside(run, len(seen.files))
    drawn = _draw_all(seen.album(places), target, limit, output)
    return Answer(_seen_text(seen, drawn, target), lambda: _seen_document(seen, drawn, target))


class _Choice(NamedTuple):
    """Which detector, images and boxes of a run."""

    model: str | None
    only: list[str]
    limit: int
    score: float | None


def _run(run: Path, images: Path, out: Path | None, what: _Choice, output: Output) -> Answer:
    """What a detector of a run did."""
    from openset.cli._judged import LOOKS, drawings
    from openset.cli._picture import Album
    from openset.cli._sizes import tell_other_pictures, tell_other_shapes
    from openset.evaluation.run import Run
    from openset.plugins import lookup

    loaded = Run.load(run)
    name = loaded.names[0] if what.model is None else what.model
    lookup(loaded.evaluations, name, "model of the run")
    found, level = drawings(loaded, name, _rows(loaded, what.only), what.score, what.limit)
    target = out if out is not None else run.with_name(f"{run.name}-drawn")
    album = Album(_in_folder(found, images, output), level, LOOKS)
    tell_other_shapes(loaded.truth.images, images, output)
    tell_other_pictures(loaded.detections[name], loaded.truth.images, images, output)
    drawn = _draw_all(album, target, what.limit, output)
    text = f"wrote {_number(drawn)} of {name} to {target}, boxes of score {level:.2f} or more"
    return Answer(text, lambda: _document(drawn, target, level))


def _number(drawn: Drawn) -> str:
    return f"{len(drawn)} image{'s' * (len(drawn) != 1)}"


def _document(drawn: Drawn, out: Path, level: float) -> dict[str, Any]:
    return {
        "images": [*dict.fromkeys(path for _, path in drawn)],
        "out": str(out),
        "minimum_score": level,
    }


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


def _in_folder(found: list[Drawing], images: Path, output: Output) -> list[tuple[Path, Drawing]]:
    """Those whose pictures are there; says which are not."""
    from openset.files import ImageFolder

    folder = ImageFolder(images)
    pages = [(path, one) for one in found if (path := folder.find(one.name)) is not None]
    there = {one.name for _, one in pages}
    lost = [one.name for one in found if one.name not in there]
    cause, fix = folder.lost_links() if lost else ("", "")
    if lost and pages:
        cause = cause or "a part of the images was copied, or they are in several folders"
        fix = fix or "give the folder that holds all of them"
        said = f"{len(lost)} of {len(found)} images to draw are not in {images}, and are left out"
        output.report(Finding("OS101", Level.WARNING, said, len(lost), lost[0], cause, fix))
    if not pages:
        raise refuse(
            "OS101",
            f"none of the {len(found)} images is in {images}",
            example=found[0].name if found else "",
            cause=cause or "another folder, or file names of another data set",
            fix=fix or "give the folder that the file names start from",
        )
    return pages


def _seen(
    run: Path,
    images: Path,
    score: float | None,
    unknown: tuple[str | None, str | None],
    boxes: tuple[str, Output],
) -> Seen:
    """Detections of a file on photos, at the operating point that was asked for."""
    from openset.cli._seen import MINIMUM_SCORE, Place, Seen
    from openset.evaluation.adjusting import with_unknownness
    from openset.formats import read_detections
    from openset.nets.pictures import ImageFiles

    if not images.exists():
        raise refuse(
            "OS101",
            f"no such folder of images, nor a photo: {images}",
            fix="give the folder that holds the images",
        )

    source, from_ = unknown
    files, found = ImageFiles.of(images), read_detections(run)
    found = found if source is None else with_unknownness(found, source)
    seen = Seen(found, files, Place.of(found, MINIMUM_SCORE if score is None else score, from_))
    if len(found) and not seen.rows:
        _refuse_others(found, images)
    return _in_pixels(seen, run, *boxes)


def _in_pixels(seen: Seen, run: Path, boxes: str, output: Output) -> Seen:
    """The same with boxes in pixels of the photos; says what is wrong with them."""
    from openset.cli._inputs import tell_about
    from openset.tables.boxes import in_pixels
    from openset.tables.join import join_images

    photos = seen.photos(all_of=boxes != "xywh")
    found = in_pixels(seen.found, join_images(photos, seen.found.image), photos, boxes)
    tell_about(output, found, run, photos)
    return seen.with_boxes(found.box)


def _refuse_others(found: Detections, images: Path) -> None:
    raise refuse(
        "OS101",
        f"none of the images of {len(found)} detections is in {images}",
        example=str(found.image[0]),
        cause="another folder; photos are found by their names without the ending",
        fix="give --images the photos that openset run was given",
    )


def _photos(files: ImageFiles, only: list[str]) -> list[int]:
    from openset.plugins import lookup

    places = {str(key): at for at, key in enumerate(files.id.tolist())}
    places |= {path.name: at for at, path in enumerate(files.path)}
    return [lookup(places, name, "image") for name in only]


def _beside(run: Path, photos: int) -> Path:
    return run.with_name(f"{run.stem}-drawn{'.png' if photos == 1 else ''}")


def _seen_text(seen: Seen, drawn: Drawn, out: Path) -> str:
    """What was drawn; of a single photo its boxes, too."""
    from openset.cli._seen import BACKGROUND, KINDS
    from openset.cli._terminal import clean
    from openset.render import Table

    names = {path.name: at for at, path in enumerate(seen.files.path)}
    boxes = [box for name, _ in drawn for box in seen.boxes(names[name])]
    said = [f"{sum(box['kind'] == kind for box in boxes)} {kind}" for kind in KINDS]
    head = f"wrote {_number(drawn)} to {out}: {', '.join(said)} boxes at {seen.note}"
    shown = [box for box in boxes if box["kind"] != BACKGROUND][:_LISTED]
    if len(drawn) > 1 or not shown:
        return head
    rows = tuple((box["kind"], clean(box["label"]), *_cells(box)) for box in shown)
    return f"{head}\n{Table(('box', 'label', 'score', 'unknownness', 'like'), rows).text()}"


def _cells(box: dict[str, Any]) -> tuple[str, str, str]:
    like = ", ".join(f"{name} {share:.2f}" for name, share in box.get("like", {}).items())
    return f"{box['score']:.2f}", f"{box['unknownness']:.3g}" if "unknownness" in box else "–", like


def _seen_document(seen: Seen, drawn: Drawn, out: Path) -> dict[str, Any]:
    names = {path.name: at for at, path in enumerate(seen.files.path)}
    boxes = {name: seen.boxes(names[name]) for name, _ in drawn}
    place = {"unknown_from": seen.place.unknown_from, "boxes": boxes}
    return _document(drawn, out, seen.place.score) | place


def _draw_all(album: Album, out: Path, limit: int, output: Output) -> Drawn:
    """Draw into a file or a folder; the files, by the names of the images on them."""
    from openset.nets.pictures import SUFFIXES

    if out.suffix.lower() in SUFFIXES:
        return _draw_sheet(album, out, limit, output)
    return _draw_folder(album, out, limit, output)


def _draw_sheet(album: Album, out: Path, limit: int, output: Output) -> Drawn:
    """One picture, of one image or of many small ones."""
    from openset.cli._picture import MOST_TILES, Painter
    from openset.files import replacing

    if limit > MOST_TILES:
        raise UsageError(f"a contact sheet has room for {MOST_TILES} images; draw into a folder")
    painter, whole = Painter(album.looks, album.note), None
    tiles: list[Any] = []
    shown: list[Drawing] = []
    with replacing(out, folder=False) as target:
        for pixels, one in _opened(album, limit, output):
            whole = painter.picture(pixels, one) if not tiles else None
            tiles.append(painter.tile(pixels, one))
            shown.append(one)
        (whole or painter.sheet(tiles, shown)).save(target)
    return [(one.name, str(out)) for one in shown]


def _draw_folder(album: Album, folder: Path, limit: int, output: Output) -> Drawn:
    """A picture for each image."""
    from openset.cli._picture import Painter
    from openset.files import file_stems, replacing

    painter = Painter(album.looks, album.note)
    shown: list[str] = []
    with replacing(folder, folder=True) as target:
        target.mkdir()
        for pixels, one in _opened(album, limit, output):
            painter.picture(pixels, one).save(target / f".{len(shown)}.png")
            shown.append(one.name)
        names = _distinct(shown)
        stems = file_stems(names)
        for at, name in enumerate(names):
            (target / f".{at}.png").rename(target / f"{stems[name]}.png")
    places = [str(folder / f"{stems[name]}.png") for name in names]
    return list(zip(shown, places, strict=True))


def _opened(album: Album, limit: int, output: Output) -> Iterator[tuple[Pixels, Drawing]]:
    """Images that can be decoded; what cannot is named in the end, and the rest is done."""
    from openset.nets.pictures import decode, undecoded

    broken: list[InputError] = []

    def good() -> Iterator[tuple[Pixels, Drawing]]:
        for path, one in album.pages:
            try:
                yield decode(path, upright=album.upright, stated=one.size), one
            except InputError as error:
                broken.append(error)

    done = 0
    with output.progress(limit) as step:
        for pixels, one in islice(good(), limit):
            step(f"drawing {one.name}")
            done += 1
            yield pixels, one
    if broken and not done:
        raise broken[0]
    if broken:
        output.report(undecoded([error.findings[0].example for error in broken]))


def _distinct(names: list[str]) -> list[str]:
    """A name for each image: the stem, or more where images of two folders share it.

    >>> _distinct(["a/1.jpg", "a/2.jpg", "b/2.jpg", "b/2.jpg"])
    ['1', 'a/2.jpg', 'b/2.jpg', 'b/2.jpg #3']
    """
    stems = [Path(name).stem for name in names]
    longer = [s if stems.count(s) == 1 else name for s, name in zip(stems, names, strict=True)]
    return [f"{one} #{at}" if one in longer[:at] else one for at, one in enumerate(longer)]
