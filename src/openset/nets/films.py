"""Films: frames of a video as image files, through OpenCV.

A frame every so many seconds is written to a folder, since a detector runs over images, and what it
was run on can then be drawn. Ids say the film and the number of the frame: ``street-000250``. A
record beside the frames says of what they are: a film that is given again is not read again.

Not tracking: every frame is an image of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openset.findings import Finding, Level, UsageError, refuse
from openset.json_text import decode, encode
from openset.nets.pictures import fingerprints
from openset.options import is_of

SUFFIXES = frozenset({".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm"})
_RATE = 25.0  # frames per second, where a film does not say
_RECORD = "film.json"
_COUNTS = ("written", "there", "stated")
_WHOLE = 0.98  # of the frames it says: containers often state a few too many


@dataclass(frozen=True, slots=True)
class Frames:
    """What became of a film.

    Attributes:
        film: Its file.
        written: Number of frames that were written.
        there: Number of frames that it has.
        stated: Number of frames that it says to have, 0 if it does not say.
    """

    film: Path
    written: int
    there: int
    stated: int

    def findings(self) -> list[Finding]:
        """That it ends early, if so."""
        if self.there >= _WHOLE * self.stated:
            return []
        said = f"{self.film} ends after {self.there} of {self.stated} frames"
        missing = self.stated - self.there
        return [Finding("OS391", Level.WARNING, said, missing, f"frame {self.there + 1}")]


def write_frames(film: Path, folder: Path, every: float) -> Frames:
    """Write frames of a film as JPEG.

    Args:
        film: The file.
        folder: An empty folder.
        every: Seconds from one frame to the next; 0 for all.

    Raises:
        InputError: OpenCV is not there, or cannot read the film.
    """
    if not 0 <= every < float("inf"):
        raise UsageError(f"frames cannot be {every:g} seconds apart")
    cv2 = _opencv()
    capture = cv2.VideoCapture(str(film))
    try:
        rate, stated = (capture.get(at) for at in (cv2.CAP_PROP_FPS, cv2.CAP_PROP_FRAME_COUNT))
        step = max(1, round(every * (rate if rate > 0 else _RATE)))
        there = written = 0
        while capture.grab():
            if there % step == 0:
                written += _saved(capture, folder / f"{film.stem}-{there:06d}.jpg")
            there += 1
    finally:
        capture.release()
    if not written:
        raise refuse("OS390", f"no frame of {film} can be read", example=str(film))
    found = Frames(film, written, there, max(0, int(stated)))
    counts = {name: getattr(found, name) for name in _COUNTS}
    (folder / _RECORD).write_bytes(encode({**_asked(film, every), **counts}) + b"\n")
    return found


def frames_in(folder: Path, film: Path, every: float) -> Frames | None:
    """What `write_frames` wrote to a folder before; None where it is of anything else, or less."""
    path = folder / _RECORD
    held = decode(path.read_bytes(), str(path)) if path.is_file() else None
    asked = _asked(film, every)
    if not isinstance(held, dict) or {name: held.get(name) for name in asked} != asked:
        return None
    counts: list[Any] = [held.get(name) for name in _COUNTS]
    whole = counts[0] == len([*folder.glob("*.jpg")])
    return Frames(film, *counts) if whole and is_of(counts, Sequence[int]) else None


def _asked(film: Path, every: float) -> dict[str, Any]:
    return {"film": fingerprints([film]), "every": every}


def _opencv() -> Any:
    from importlib import import_module

    try:
        return import_module("cv2")
    except ImportError as error:
        fix = "pip install 'openset[film]', or give a folder of its frames"
        raise refuse("OS601", "a film needs OpenCV", example="cv2", fix=fix) from error


def _saved(capture: Any, path: Path) -> bool:
    """Whether the frame that was grabbed could be decoded, and is now a file."""
    from PIL import Image

    good, frame = capture.retrieve()
    if good:
        Image.fromarray(frame[..., ::-1].copy()).save(path, quality=95)
    return bool(good)
