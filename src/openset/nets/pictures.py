"""Image files: which images to run on, and their pixels.

Ids are those of the ground truth, so that detections join. All files are looked for before the
first is opened: a run does not stop in the middle because a folder was misspelt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openset.files import PICTURES, visible
from openset.findings import Finding, InputError, Level, refuse
from openset.formats.imagesize import as_stated, image_size
from openset.tables.columns import ids

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from openset.tables import Annotations

SUFFIXES = PICTURES
_FOREIGN = frozenset({".avif", ".cr2", ".dng", ".gif", ".heic", ".heif", ".jxl", ".nef"})
_GROUPS, _PART = 256, 1 << 14
_FEWER = "fewer --decoders, or a smaller --batch"
_AHEAD = 2  # batches that are decoded before they are asked for
Pixels = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class ImageFiles:
    """Images by id.

    Attributes:
        id: Ids as in the ground truth.
        path: One file per image.
        size: Width and height of each as the ground truth says, NaN where it does not; None where
            there is no ground truth.
    """

    id: NDArray[Any]
    path: tuple[Path, ...]
    size: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.path)

    @classmethod
    def of_annotations(
        cls, truth: Annotations, folder: str | Path | Sequence[str | Path]
    ) -> ImageFiles:
        """The images of a ground truth; their names are relative to a folder, or to one of several.

        Benchmarks that mix data sets have their pictures in the folders of these.
        """
        names = truth.images.file_name
        if names is None:
            raise refuse("OS602", "the ground truth names no image file", count=len(truth.images))
        roots = [Path(folder)] if isinstance(folder, str | Path) else [*map(Path, folder)]
        size = np.column_stack([np.asarray(truth.images.width), np.asarray(truth.images.height)])
        places = [
            cls(truth.images.id, tuple(_place(root, str(name)) for name in names), size)
            for root in roots
        ]
        for place, root in zip(places, roots, strict=True):
            place._refuse_escapes(root)
        found = places[0] if len(places) == 1 else cls(truth.images.id, _only(places), size)
        found._refuse_missing()
        return found

    @classmethod
    def of_folder(cls, folder: str | Path) -> ImageFiles:
        """All images of a folder, in the order of their names; ids are the names' stems."""
        root = Path(folder)
        paths = [p for p in visible(root) if p.suffix.lower() in SUFFIXES]
        if not paths:
            raise refuse("OS602", f"no image in {root}", example=", ".join(sorted(SUFFIXES)))
        _refuse_one_stem(paths)
        return cls(ids([path.stem for path in paths]), tuple(paths))

    @classmethod
    def of(cls, path: str | Path) -> ImageFiles:
        """The images of a folder, or a single one; ids are the names' stems."""
        where = Path(path)
        if where.suffix.lower() not in SUFFIXES or where.is_dir():
            return cls.of_folder(where)
        found = cls(ids([where.stem]), (where,))
        found._refuse_missing()
        return found

    def select(self, rows: slice | NDArray[np.intp]) -> ImageFiles:
        """Only some of the images."""
        size = None if self.size is None else self.size[rows]
        path = self.path[rows] if isinstance(rows, slice) else tuple(self.path[at] for at in rows)
        return ImageFiles(self.id[rows], path, size)

    def pixels(self, at: int) -> Pixels:
        """The pixels of an image: photos, of which no ground truth says a size, stand upright."""
        if self.size is None:
            return decode(self.path[at], upright=True)
        return decode(self.path[at], stated=self.size[at].tolist())

    def actual(self, at: int) -> tuple[int, int] | None:
        """Width and height of the pixels of an image, if they can be read."""
        return image_size(self.path[at], () if self.size is None else self.size[at].tolist())

    def stated(self, rows: Any, size: Any) -> NDArray[np.float64]:
        """What brings boxes on pictures of a width and height to the size that is stated.

        >>> files = ImageFiles(np.array([7]), (Path("7.jpg"),), np.array([[640.0, np.nan]]))
        >>> files.stated([0], [(320, 240)]).tolist()
        [[2.0, 1.0]]
        """
        actual = np.asarray(size, np.float64)
        if self.size is None:
            return np.ones_like(actual)
        with np.errstate(invalid="ignore"):
            return np.where(self.size[rows] > 0, self.size[rows] / actual, 1.0)

    def _refuse_escapes(self, root: Path) -> None:
        bad = [p for p in self.path if ".." in p.parts[len(root.parts) :] or root not in p.parents]
        if bad:
            message = f"{len(bad)} image names leave the folder {root}"
            raise refuse("OS113", message, count=len(bad), example=str(bad[0]))

    def _refuse_missing(self) -> None:
        missing = [path for path in self.path if not path.is_file()]
        if missing:
            message = f"{len(missing)} of {len(self)} images are missing"
            example, (cause, fix) = str(missing[0]), _otherwise_called(missing[0])
            raise refuse(
                "OS602", message, count=len(missing), example=example, cause=cause, fix=fix
            )


def _place(root: Path, name: str) -> Path:
    """Where an image should be; a name may be written with the backslashes of Windows."""
    path = root / name
    return root / name.replace("\\", "/") if "\\" in name and not path.is_file() else path


def _otherwise_called(path: Path) -> tuple[str, str]:
    """Cause and fix where a picture is there with another ending; nothing where none is."""
    if not path.parent.is_dir():
        return "", ""
    stem, own = path.stem.lower(), path.suffix
    like = (one for one in path.parent.iterdir() if one.stem.lower() == stem)
    there = sorted(one.name for one in like if one.suffix.lower() in SUFFIXES)
    if not there:
        return "", ""
    cause = f"pictures were converted or renamed: {there[0]} is there"
    return cause, f"write the names as the files are called, {Path(there[0]).suffix} for {own}"


def _only(places: Sequence[ImageFiles]) -> tuple[Path, ...]:
    """The file of each image among the folders; one that two of them hold is refused."""
    chosen, twice = [], []
    for paths in zip(*(place.path for place in places), strict=True):
        there = [path for path in paths if path.is_file()]
        twice += [f"{there[0]} and {there[1]}"] if len(there) > 1 else []
        chosen.append(there[0] if there else paths[0])
    if twice:
        message = f"{len(twice)} images are in two of the folders, and may be different pictures"
        raise refuse("OS620", message, count=len(twice), example=twice[0])
    return tuple(chosen)


def _refuse_one_stem(paths: Sequence[Path]) -> None:
    """Refuse files that have one name and two endings: their stem is their id."""
    pairs = [(a, b) for a, b in pairwise(paths) if a.stem == b.stem]
    if pairs:
        message = f"{len(pairs)} images have the name of another, but for its ending"
        example = f"{pairs[0][0].name} and {pairs[0][1].name}"
        raise refuse("OS615", message, count=len(pairs), example=example)


def not_read(folder: Path) -> list[Path]:
    """Pictures of a folder in formats of phones and cameras, which are not among its images."""
    return sorted(path for path in folder.glob("*") if path.suffix.lower() in _FOREIGN)


def fingerprints(paths: Sequence[Path]) -> dict[str, str]:
    """Hashes of groups of files, few for many files, each by the first file of its group.

    Names alone are not enough: two folders may have files of one name.

    Of large files only the size and three parts are looked at: what compresses pixels changes in
    all that follows.
    """
    step = max(1, -(-len(paths) // _GROUPS))
    return {
        f"{paths[at].name} (image {at + 1})": fingerprint(paths[at : at + step])
        for at in range(0, len(paths), step)
    }


def prints(paths: Sequence[Path]) -> NDArray[np.int64]:
    """A hash of each file, as a number: a million of them are eight megabytes."""
    return np.array([int(fingerprint([path])[:15], 16) for path in paths], np.int64)


def fingerprint(paths: Sequence[Path]) -> str:
    """One hash of some files."""
    import hashlib

    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            digest.update(size.to_bytes(8, "little"))
            for start in sorted({0, max(0, size // 2 - _PART // 2), max(0, size - _PART)}):
                stream.seek(start)
                digest.update(stream.read(_PART))
    return digest.hexdigest()[:16]


def decode(path: Path, *, upright: bool = False, stated: Sequence[float] = ()) -> Pixels:
    """The pixels of an image: height, width, RGB.

    Args:
        path: The file.
        upright: Whether to turn it as its EXIF tag says, as cameras mean it. Boxes of data sets are
            mostly on the pixels as they are stored.
        stated: Width and height that the ground truth says; a picture that only has them when it is
            turned so is turned.

    Raises:
        InputError: The file is not an image, is truncated, or is suspiciously large.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with Image.open(path) as opened:
            image = ImageOps.exif_transpose(opened) if upright else as_stated(opened, stated)
            return np.asarray(of_eight_bits(image).convert("RGB"))
    except FileNotFoundError as error:
        raise refuse("OS602", f"no such image: {path}") from error
    except (UnidentifiedImageError, ImportError) as error:  # the latter where ultralytics opens it
        raise refuse("OS603", "1 image cannot be decoded", example=str(path)) from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        example = f"{path}: {error}"
        raise refuse("OS603", "1 image cannot be decoded", example=example) from error


def of_eight_bits(image: Any) -> Any:
    """An image whose values are bytes; Pillow would clip larger ones, to a white picture.

    Of 16 bits the upper eight, which is what readers of other packages keep. How bright a number of
    32 bits or a fraction is, no file says.
    """
    from PIL import Image

    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
        return Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise ValueError("values of 32 bits, whose range no file says; write 8 bits a colour")
    return image


def undecoded(examples: Sequence[str]) -> Finding:
    """The finding that images were left out, and the rest was done."""
    said = f"{len(examples)} images cannot be decoded and were left out"
    return Finding("OS603", Level.WARNING, said, len(examples), examples[0], fix="replace the file")


def batches(
    files: ImageFiles, size: int, threads: int, processes: int = 0
) -> Iterator[list[tuple[Any, Pixels | InputError]]]:
    """Ids and pixels, some images at a time; the next ones are decoded meanwhile.

    Photos, of which no ground truth says a size, are turned upright.

    Args:
        files: Which images.
        size: Images at a time.
        threads: Threads that decode.
        processes: Processes that decode in their place. Threads share the interpreter with whoever
            gives a GPU its work, and keep it waiting.
    """
    some = -(-size // processes) if processes else 1  # that one call decodes
    with _pool(threads, processes) as pool:

        def asked(start: int) -> list[Future[list[Pixels | InputError]]]:
            stop = min(start + size, len(files))
            parts = (
                files.select(slice(at, min(at + some, stop))) for at in range(start, stop, some)
            )
            with _lost_said():
                return [pool.submit(_attempts, part) for part in parts]

        starts = range(0, len(files), size)
        ahead = deque(asked(start) for start in starts[:_AHEAD])
        for start in starts:
            now = ahead.popleft()
            if start + _AHEAD * size < len(files):
                ahead.append(asked(start + _AHEAD * size))
            part = files.id[start : start + size].tolist()
            yield list(zip(part, _results(now), strict=True))


def _results(jobs: Sequence[Future[list[Pixels | InputError]]]) -> Iterator[Pixels | InputError]:
    for job in jobs:
        with _lost_said():
            pixels = job.result()
        yield from pixels


@contextmanager
def _lost_said() -> Iterator[None]:
    """A process that decodes and was lost is a finding; whoever runs again has others."""
    from concurrent.futures import BrokenExecutor

    try:
        yield
    except BrokenExecutor as error:
        _decoders.cache_clear()
        raise refuse("OS367", "a process that decodes images was lost", fix=_FEWER) from error


def _pool(threads: int, processes: int) -> AbstractContextManager[Executor]:
    from concurrent.futures import ThreadPoolExecutor

    return nullcontext(_decoders(processes)) if processes else ThreadPoolExecutor(threads)


@lru_cache(maxsize=1)
def _decoders(count: int) -> Executor:
    """Processes that stay until the interpreter ends: a run in parts asks for them often."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # Not forked: this process may have threads, and a GPU.
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_undisturbed)


def _undisturbed() -> None:
    """Leave Ctrl-C to the process that asked for the images."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _attempts(files: ImageFiles) -> list[Pixels | InputError]:
    """The pixels of each, or why there are none."""
    found: list[Pixels | InputError] = []
    for at in range(len(files)):
        try:
            found.append(files.pixels(at))
        except InputError as error:
            found.append(error)
    return found
