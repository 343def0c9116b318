"""Writing so that a place holds what it held or what is new, never a part.

All writing of commands goes through `replacing`: a draft beside the target takes its name in one
exchange, at the end. Not what may be replaced at all: `kept` has that.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openset.files.kept import command_given, is_output, note_replaced, refuse_kept
from openset.files.locks import locked
from openset.findings import InputError, UsageError, refuse

_HIDDEN = ".openset-"
_OLD = "old"
_FRESH = 2.0  # seconds that a folder may have no lock yet
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of linux/fcntl.h and linux/fs.h


def save(path: Path, data: bytes) -> None:
    """Write bytes, compressed if the name ends in ``.gz`` (the same bytes every time)."""
    if path.suffix == ".gz":
        import gzip

        data = gzip.compress(data, 6, mtime=0)
    path.write_bytes(data)


@contextmanager
def replacing(path: Path, *, folder: bool, empty: bool = True) -> Iterator[Path]:
    """A path to write to, moved to `path` at the end; after an error `path` is untouched.

    It lies in a temporary folder beside `path`, so that the move is one exchange of names. A link
    stays, and what it points to is replaced; a file that is replaced keeps its mode.

    Args:
        path: A file or folder that need not exist.
        folder: Whether a folder is to be written.
        empty: Whether a folder that is there must be empty.
    """
    import shutil

    target = target_of(path, folder=folder, empty=empty)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        clear_leftovers(target.parent)
        workshop, lock = _workshop(target.parent)
    except OSError as error:
        raise unwritable(path, error) from error
    draft = workshop / path.name  # the name as given: its ending may choose a compression
    try:
        yield draft
        if target.exists():
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        if not folder and is_output(target):
            _give_way(path, target, draft)
        _put(draft, target)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        if not (workshop / _OLD).exists() or target.exists():
            shutil.rmtree(workshop, ignore_errors=True)
        if lock >= 0:
            os.close(lock)


def _give_way(path: Path, target: Path, draft: Path) -> None:
    """Say what a draft replaces, unless it is the same; what we did not write is kept beside."""
    from filecmp import cmp

    from openset.own import kept_aside, made_by, mark

    if target.exists() and target.stat().st_size and not cmp(target, draft, shallow=False):
        command = made_by(target)
        if command is None:
            aside = kept_aside(target)
            note_replaced(f"{path} was there, not as openset wrote it: that is now {aside.name}")
        else:
            note_replaced(f"replaced {path}, made by: {command or 'an earlier command'}")
    mark(draft, command_given())


def _put(draft: Path, target: Path) -> None:
    """Give a draft its name: at every moment there is the old or the new one, whole."""
    if target.is_dir() and any(target.iterdir()):
        if not _exchanged(draft, target):
            # Elsewhere than on Linux a kill between two renames leaves both in the workshop.
            old = draft.parent / _OLD
            target.rename(old)
            try:
                draft.rename(target)
            except OSError:
                old.rename(target)
                raise
    else:
        if target.is_dir():
            target.rmdir()  # Windows replaces no folder, not even an empty one
        os.replace(draft, target)  # noqa: PTH105 - a file may be there


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two names at once; False where the system or its file system cannot."""
    import ctypes

    rename = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    names = os.fsencode(one), os.fsencode(other)
    return rename is not None and rename(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0


def _workshop(parent: Path) -> tuple[Path, int]:
    """A new hidden folder, and a lock on it that ends with this process (-1: there are none)."""
    import tempfile

    workshop = Path(tempfile.mkdtemp(prefix=_HIDDEN, dir=parent))
    return workshop, locked(workshop)[0]


def clear_leftovers(folder: Path) -> None:
    """Remove what writes that were killed left in a folder.

    Those of living processes are locked. One that holds the only copy of what it was to replace
    (see `_put`) stays.
    """
    import shutil
    import time

    for left in folder.glob(f"{_HIDDEN}*"):
        try:
            fresh = time.time() - left.stat().st_mtime < _FRESH
            lock = -1 if fresh or (left / _OLD).exists() else locked(left)[0]
        except OSError:  # gone, or not ours to look at
            continue
        if lock >= 0:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)


def target_of(path: Path, *, folder: bool, empty: bool = True) -> Path:
    """Where `path` leads to, refused if nothing can be put there.

    Args:
        path: A file or folder that need not exist.
        folder: Whether a folder is to be written.
        empty: Whether a folder that is there must be empty.
    """
    refuse_kept(path)
    try:
        mode = path.stat().st_mode
        taken = stat.S_ISDIR(mode) and (not folder or (empty and any(path.iterdir())))
    except FileNotFoundError:
        mode, taken = 0, False
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    target = Path(os.path.realpath(path))
    if taken:
        why = "a folder that is not empty: name another" if folder else "a folder"
        raise UsageError(f"{path} is {why}")
    if folder and (target == Path.cwd() or path.name == ".."):
        raise UsageError(f"{path} is the working folder; name a folder inside it")
    if mode and not stat.S_ISDIR(mode) and (folder or not stat.S_ISREG(mode)):
        wanted = "a folder" if folder else "a regular file"
        raise unwritable(path, f"it exists and is not {wanted}", cause="a file, pipe or device")
    return target


def unwritable(path: Path, why: object, cause: str = "") -> InputError:
    """OS102 for a file or folder that could not be written."""
    return refuse(
        "OS102",
        f"cannot write {path}: {why}",
        cause=cause or "a full disk, or a folder that may not be written to",
        fix="make room, or write elsewhere",
    )
