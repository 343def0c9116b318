"""Files: loading bytes with located errors, writing so that a crash leaves no half file.

Compression is seen in the content (the gzip magic number), not in the name, and what unpacks to
far more than it is is refused. All writing of commands goes through `replacing`: nothing that a
command reads is written over, and a place holds what it held or what is new, never a part.
"""

from __future__ import annotations

import math
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from openset.findings import InputError, UsageError, refuse
from openset.refusals import shown, undecodable

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

    from numpy.typing import NDArray

HEAD = 1 << 16
_ALIASED = 4  # times as much may stand in YAML with its aliases written out
_GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
_UNPACKED, _RATIO = 256 << 20, 100  # more bytes than both are no data that was compressed
_PIECE = 1 << 24
DEEPEST = 8  # folders of a file name that are looked at
PICTURES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
_PICTURE = re.compile(r"\.(jpe?g|png|webp|bmp)$", re.IGNORECASE)
_LONGEST = 60  # characters of a file name that is made from another name
_HIDDEN = ".openset-"
_OLD = "old"
_FRESH = 2.0  # seconds that a folder may have no lock yet
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of linux/fcntl.h and linux/fs.h
_kept: list[_Kept] = []


def head(path: Path) -> bytes:
    """The first 64 KiB, decompressed; for a folder, the sorted names in it, one per line."""
    if path.is_dir():
        return listing(path)
    _refuse_pipe(path)
    with _located(path), path.open("rb") as stream:
        start = stream.read(HEAD)
    if start[:2] == _GZIP:
        import gzip

        with _located(path), gzip.open(path) as unpacked:
            start = unpacked.read(HEAD)
        _refuse_packed_twice(path, start)
    if not start:
        raise undecodable(str(path), "the file is empty")
    return start.removeprefix(BOM)


def _refuse_packed_twice(path: Path, unpacked: bytes) -> None:
    """Refuse gzip within gzip: what is in it has no size that could be checked."""
    if unpacked[:2] == _GZIP:
        raise undecodable(
            str(path),
            "it is compressed twice, gzip within gzip",
            cause="a compressed file was compressed again",
            fix=f"unpack it once, and give what is in it: gunzip -k {path.name}",
        )


def _refuse_pipe(path: Path) -> None:
    """Refuse what has no end, or can be read only once: its format could not be told."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # said by who opens it
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise undecodable(
            str(path),
            "it is no regular file",
            cause="a pipe, such as <(zcat FILE.gz) or /dev/stdin, or a device",
            fix="write it to a file, and give that; what gzip packed is read as it is",
        )


def listing(path: Path) -> bytes:
    """The sorted names in a folder, one per line; an empty folder is refused."""
    with _located(path):
        names = sorted(os.listdir(path))  # noqa: PTH208 - ten times faster than iterdir
    if not names:
        raise refuse("OS103", f"{path} is an empty folder")
    return "\n".join(names).encode("utf-8", "replace")


def visible(folder: Path, pattern: str = "*") -> list[Path]:
    """What a folder holds under such names, sorted, without macOS' ``._NAME`` beside each file."""
    return sorted(path for path in folder.glob(pattern) if not path.name.startswith("._"))


def load(path: Path) -> bytes:
    """All bytes of a file, decompressed."""
    _refuse_pipe(path)
    with _located(path):
        data = path.read_bytes()
        if data[:2] != _GZIP:
            return data
        unpacked = _unpacked(path, data)
    _refuse_packed_twice(path, unpacked)
    return unpacked


def _unpacked(path: Path, data: bytes) -> bytes:
    """The content of gzip data, refused once it is far more than the data.

    What is large is counted before it is kept: nothing is refused by running out of memory.
    """
    room, kept, size = _room(len(data)), list[bytes](), 0
    for piece in _pieces(data):
        size += len(piece)
        if size > room:
            raise _bomb(path)
        if size <= _UNPACKED:
            kept.append(piece)
    return b"".join(kept if size <= _UNPACKED else _pieces(data))


def _pieces(data: bytes) -> Iterator[bytes]:
    """What gzip data unpacks to, member by member, some at a time."""
    view, at, member = memoryview(data), 0, zlib.decompressobj(wbits=31)
    while at < len(view) or member.unconsumed_tail:
        packed = member.unconsumed_tail or bytes(view[at : at + HEAD])
        at += 0 if member.unconsumed_tail else len(packed)
        yield member.decompress(packed, _PIECE)
        if member.eof:
            at -= len(member.unused_data)
            while at < len(view) and view[at] == 0:  # padding
                at += 1
            if at == len(view):
                return
            member = zlib.decompressobj(wbits=31)
    raise EOFError("the compressed file ends before its end marker")


def _room(size: int) -> int:
    """How many bytes so many compressed ones may become."""
    return max(_UNPACKED, _RATIO * size)


def _bomb(path: Path) -> InputError:
    return refuse(
        "OS116",
        f"{path} would unpack to more than {_room(path.stat().st_size):,} bytes",
        example=f"the file itself has {path.stat().st_size:,} bytes",
    )


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file; pickled objects are never loaded.

    Raises:
        InputError: It is absent, or would unpack to far more than it is.
        ValueError: Whatever else is wrong with it, in a line.
    """
    import zipfile

    size = 0
    _refuse_pipe(path)
    try:
        with _located(path), path.open("rb") as stream:
            stream.read(1)
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                size += member.file_size
                if size > _room(path.stat().st_size):
                    raise _bomb(path)
            return {
                member.filename.removesuffix(".npy"): _load_array(archive, member)
                for member in archive.infolist()
            }
    except InputError:
        raise
    except Exception as error:  # damaged bytes surface as nearly any exception of the readers
        raise ValueError(f"{type(error).__name__}: {error!s:.200}") from error


def _load_array(archive: ZipFile, member: ZipInfo) -> NDArray[Any]:
    """One array; its header must not claim more than there is, because NumPy would make room."""
    from numpy.lib import format as npy

    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        if version not in headers:
            raise ValueError(f"{member.filename} is no plain array")
        shape, _, dtype = headers[version](stream)
    if dtype.hasobject:
        raise refuse(
            "OS102",
            f"{archive.filename}: {member.filename} holds Python objects: they are never unpickled",
            cause="names were saved as dtype=object, or rows of several lengths as one array",
            fix="save texts with .astype(str), numbers as numbers, and rows of one length",
        )
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > member.file_size:
        raise ValueError(f"{member.filename} claims the shape {shape}, which it does not fill")
    with archive.open(member) as stream:
        return npy.read_array(stream, allow_pickle=False)


def is_there(path: Path) -> bool:
    """Whether there is such a file or folder; what is too long for a name of one is none."""
    return os.path.exists(path)  # noqa: PTH110 - Path.exists() raises of long names


def is_gzip(path: Path) -> bool:
    """Whether the content is gzip."""
    with _located(path), path.open("rb") as stream:
        return stream.read(2) == _GZIP


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    import hashlib

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def load_text(path: Path) -> str:
    """All text of a UTF-8 file."""
    data = load(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise undecodable(str(path), f"not UTF-8 at byte {error.start}") from error


def toml(text: str) -> dict[str, Any]:
    """TOML; a ValueError says whatever is wrong with it, also what nests deeper than Python."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def parse_yaml(text: str, *, as_text: bool = False) -> Any:
    """YAML; a ValueError says whatever is wrong, also aliases that stand for far more.

    Args:
        text: What to parse.
        as_text: Whether a number stays the text that it was written as.
    """
    import yaml

    try:
        loader = (yaml.BaseLoader if as_text else yaml.SafeLoader)(text)
        node = loader.get_single_node()
        if _written_out(node, {}) > _ALIASED * max(len(text), HEAD):
            raise ValueError("its aliases stand for far more than it holds")
        return None if node is None else loader.construct_document(node)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _written_out(node: Any, known: dict[int, int]) -> int:
    """How many characters and values there are with each alias in full; each node is seen once."""
    if node is None or isinstance(node.value, str):
        return 1 if node is None else 1 + len(node.value)
    if id(node) not in known:
        known[id(node)] = 0  # while it is counted: it may hold itself
        pairs = (one if isinstance(one, tuple) else (one,) for one in node.value)
        known[id(node)] = 1 + sum(_written_out(one, known) for pair in pairs for one in pair)
    return known[id(node)]


def load_list(path: Path) -> list[str]:
    """The images of a list, one per line, without the suffix of a picture.

    VOC's per-class lists have a flag after the name, which is left out.
    """
    names = (line.split()[0] for line in load_text(path).splitlines() if line.strip())
    return [_PICTURE.sub("", name) for name in names]


def save(path: Path, data: bytes) -> None:
    """Write bytes, compressed if the name ends in ``.gz`` (the same bytes every time)."""
    if path.suffix == ".gz":
        import gzip

        data = gzip.compress(data, 6, mtime=0)
    path.write_bytes(data)


@contextmanager
def _located(path: Path) -> Iterator[None]:
    try:
        yield
        note_read(path)
    except InputError:  # which is a ValueError, and says all itself
        raise
    except FileNotFoundError as error:
        near = _similar(path)
        fix = f"did you mean {near}?" if near else ""
        raise refuse("OS101", f"no such file: {path}", fix=fix) from error
    except IsADirectoryError as error:
        raise refuse("OS103", f"{path} is a folder, but a file was expected") from error
    except (zlib.error, EOFError) as error:
        raise undecodable(str(path), error, cause="a damaged or truncated gzip file") from error
    except (OSError, ValueError) as error:
        raise undecodable(shown(str(path)), error) from error


def _similar(path: Path) -> str:
    from difflib import get_close_matches

    try:
        names = os.listdir(path.parent)  # noqa: PTH208
    except OSError:
        return ""
    names.sort(key=lambda name: name.endswith(path.suffix))  # the last of one stem is taken
    stems = {name.partition(".")[0]: name for name in names}  # an ending alone is no likeness
    near = get_close_matches(path.name.partition(".")[0], stems, n=1)
    return next((stems[stem] for stem in near), "")


def safe_name(name: str) -> str:
    """`name` if it can be a file name inside its folder, else a refusal.

    >>> safe_name("000139")
    '000139'
    """
    inside = not any(char in "/\\:" or char < " " or char == "\x7f" for char in name)
    if inside and name.strip(". ") and len(name.encode("utf-8", "replace")) < 240:
        return name
    raise refuse(
        "OS113",
        f"{shown(name)} cannot be the name of a file inside the folder",
        fix="rename the image or the label, or write a format that is one file",
    )


def safe_path(name: str) -> str:
    """`name` if it is a path below the folder that it is relative to, else a refusal.

    >>> safe_path("annotations/train.json")
    'annotations/train.json'
    """
    parts = PurePosixPath(name.replace("\\", "/")).parts
    if ".." not in parts and "\0" not in name and not PurePosixPath(name).is_absolute():
        return name
    raise refuse("OS113", f"{shown(name)} leaves the folder that it is relative to")


@dataclass
class _Kept:
    """What a command reads, and the folder that it writes, whose files are its own.

    Of folders in `pictures` it reads whichever pictures a ground truth names. `replaced` says what
    gave way to what it wrote.
    """

    paths: set[str]
    own: tuple[str, ...]
    pictures: tuple[str, ...] = ()
    command: str = ""
    outputs: set[str] = field(default_factory=set)
    replaced: list[str] = field(default_factory=list)

    def holds(self, path: Path) -> bool:
        """Whether a path is one of them, by whatever name, or a folder that holds one."""
        try:
            there = path.stat()
        except (OSError, ValueError):  # nothing is there to be lost
            return False
        if stat.S_ISDIR(there.st_mode):
            inside = os.path.join(os.path.realpath(path), "")  # noqa: PTH118 - ends with a slash
            found = (os.path.realpath(kept) for kept in self.paths if os.path.exists(kept))  # noqa: PTH110
            return any(kept.startswith(inside) for kept in found)
        return any(_is(kept, there) for kept in (*self.paths, *self._pictures(path)))

    def _pictures(self, path: Path) -> Iterator[str]:
        """All files of the folders of pictures, where `path` is one, too: links have two names."""
        if path.suffix.lower() not in PICTURES:
            return
        for folder in self.pictures:
            for where, _, names in os.walk(folder):
                yield from (os.path.join(where, name) for name in names)  # noqa: PTH118 - many


def _is(path: str, there: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(path), there)  # noqa: PTH116
    except (OSError, ValueError):
        return False


@contextmanager
def keeping(
    paths: Iterable[str],
    own: Iterable[str] = (),
    pictures: Iterable[str] = (),
    command: str = "",
) -> Iterator[list[str]]:
    """Meanwhile nothing that is read is overwritten; gives a list of what is replaced, as it grows.

    Args:
        paths: What a command was given to read.
        own: What it was given to write; what it reads in there it may replace.
        pictures: Folders in which no picture is replaced.
        command: The command line, which files that are written remember.
    """
    outputs = set(map(os.path.realpath, own))
    inside = tuple(path + os.sep for path in outputs)
    _kept.append(_Kept(set(paths), inside, tuple(pictures), command, outputs))
    try:
        yield _kept[-1].replaced
    finally:
        _kept.pop()


def command_given() -> str:
    """The command line that is being run, if one is."""
    return _kept[-1].command if _kept else ""


def note_output(path: Path) -> None:
    """A file is what a command was asked for, beside those that it was given to write."""
    if _kept:
        _kept[-1].outputs.add(os.path.realpath(path))


def note_replaced(said: str) -> None:
    """Something other than the same gives way to what the command writes."""
    if _kept:
        _kept[-1].replaced.append(said)


def note_read(path: Path) -> None:
    """A file is read: the command that reads it must not write over it."""
    if _kept and not os.path.realpath(path).startswith(_kept[-1].own or ("\0",)):
        _kept[-1].paths.add(os.fspath(path))


def refuse_kept(path: Path) -> None:
    """Refuse to write over what is read: through a link, under another name, or around it."""
    if _kept and _kept[-1].holds(path):
        what = "holds an input that" if path.is_dir() else "is an input and"
        raise UsageError(f"{path} {what} would be overwritten; write elsewhere")


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
        if not folder and _kept and os.fspath(target) in _kept[-1].outputs:
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
    mark(draft, _kept[-1].command)


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
    return workshop, _locked(workshop)


def _locked(folder: Path) -> int:
    return _lock(folder)[0]


def _lock(folder: Path) -> tuple[int, bool]:
    """A lock, -1 for none, and whether that is because somebody has it."""
    try:
        import fcntl
    except ImportError:
        return -1, False
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # somebody's, or a file system without locks
        os.close(lock)
        return -1, isinstance(error, BlockingIOError)
    return lock, False


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else is let in while the context lasts; refused if somebody is.

    The lock is the system's: it ends with the process, however that ends, and leaves no file.
    Where there are none, as on some network disks, everybody is let in.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock, busy = _lock(folder)
    if busy:
        raise refuse("OS622", f"another process is writing to {folder}", example=str(folder))
    try:
        yield
    finally:
        if lock >= 0:
            os.close(lock)


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
            lock = -1 if fresh or (left / _OLD).exists() else _locked(left)
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
        why = "a folder that is not empty: remove it, or name another" if folder else "a folder"
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


def file_stems(names: Iterable[str]) -> dict[str, str]:
    """A file name for each name: short, plain, distinct even where case does not count.

    >>> file_stems(["yolo", "../../etc", "YOLO"])
    {'yolo': 'yolo', '../../etc': 'etc-74ccf3c5', 'YOLO': 'YOLO-99f26510'}
    """
    import hashlib

    stems: dict[str, str] = {}
    for name in names:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._-")[:_LONGEST]
        taken = {other.lower() for other in stems.values()} | {"truth", "run", "report", ""}
        if stem != name or stem.lower() in taken:
            digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
            stem = f"{stem or 'model'}-{digest}"
        stems[name] = stem
    return stems


class ImageFolder:
    """A folder of images, found by file name inside of it and nowhere else.

    Names come with a ground truth, from anywhere: none leads out of the folder. Links in it are its
    owner's, and followed: pictures are often links to a data disk.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise refuse(
                "OS101",
                f"no such folder of images: {folder}",
                fix="give the folder that holds the images",
            )
        self.folder = folder.resolve()

    def lost_links(self) -> tuple[str, str]:
        """Cause and fix where links in the folder lead nowhere; nothing where none does."""
        lost = [path for path in self.folder.iterdir() if path.is_symlink() and not path.exists()]
        if not lost:
            return "", ""
        first = min(lost)
        cause = f"{len(lost)} links in the folder lead nowhere, such as {first.name} to "
        cause += f"{shown(str(first.readlink()))}"
        return cause, "mount the disk that they lead to, or give the folder of the files"

    def find(self, name: str) -> Path | None:
        """The file of an image, by its path or the end of it, inside of the folder.

        So it does not matter whether the folder is the one that the file names start from.
        """
        parts = PurePosixPath(name.replace("\\", "/")).parts[-DEEPEST:]
        for start in range(len(parts)):
            inner = parts[start:]
            if ".." in inner or PurePosixPath(inner[0]).is_absolute():
                continue
            try:
                path = self.folder.joinpath(*inner)
                if path.is_file():
                    return path
            except (OSError, ValueError):  # a name that no file system takes
                continue
        return None
