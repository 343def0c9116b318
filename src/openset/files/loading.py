"""Bytes, text and lists of a file, with what is wrong with it located.

Compression is seen in the content (the gzip magic number), not in the name, and what unpacks to
far more than it is is refused. What the bytes mean is for those who asked.
"""

from __future__ import annotations

import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from openset.files.kept import note_read
from openset.findings import InputError, refuse
from openset.refusals import shown, undecodable

HEAD = 1 << 16
BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_UNPACKED, _RATIO = 256 << 20, 100  # more bytes than both are no data that was compressed
_PIECE = 1 << 24
_PICTURE = re.compile(r"\.(jpe?g|png|webp|bmp)$", re.IGNORECASE)


def head(path: Path) -> bytes:
    """The first 64 KiB, decompressed; for a folder, the sorted names in it, one per line."""
    if path.is_dir():
        return listing(path)
    refuse_pipe(path)
    with located(path), path.open("rb") as stream:
        start = stream.read(HEAD)
    if start[:2] == _GZIP:
        import gzip

        with located(path), gzip.open(path) as unpacked:
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


def refuse_pipe(path: Path) -> None:
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
    with located(path):
        names = sorted(os.listdir(path))  # noqa: PTH208 - ten times faster than iterdir
    if not names:
        raise refuse("OS103", f"{path} is an empty folder")
    return "\n".join(names).encode("utf-8", "replace")


def visible(folder: Path, pattern: str = "*") -> list[Path]:
    """What a folder holds under such names, sorted, without macOS' ``._NAME`` beside each file."""
    return sorted(path for path in folder.glob(pattern) if not path.name.startswith("._"))


def load(path: Path) -> bytes:
    """All bytes of a file, decompressed."""
    refuse_pipe(path)
    with located(path):
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
    room, kept, size = room_for(len(data)), list[bytes](), 0
    for piece in _pieces(data):
        size += len(piece)
        if size > room:
            raise bomb(path)
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


def room_for(size: int) -> int:
    """How many bytes so many compressed ones may become."""
    return max(_UNPACKED, _RATIO * size)


def bomb(path: Path) -> InputError:
    """OS116 for a file that would become far more than it is."""
    return refuse(
        "OS116",
        f"{path} would unpack to more than {room_for(path.stat().st_size):,} bytes",
        example=f"the file itself has {path.stat().st_size:,} bytes",
    )


def is_there(path: Path) -> bool:
    """Whether there is such a file or folder; what is too long for a name of one is none."""
    return os.path.exists(path)  # noqa: PTH110 - Path.exists() raises of long names


def is_gzip(path: Path) -> bool:
    """Whether the content is gzip."""
    with located(path), path.open("rb") as stream:
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


def load_list(path: Path) -> list[str]:
    """The images of a list, one per line, without the suffix of a picture.

    VOC's per-class lists have a flag after the name, which is left out.
    """
    names = (line.split()[0] for line in load_text(path).splitlines() if line.strip())
    return [_PICTURE.sub("", name) for name in names]


@contextmanager
def located(path: Path) -> Iterator[None]:
    """Whatever goes wrong meanwhile is said of this file; what goes well is noted as read."""
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
