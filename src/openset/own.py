"""Own: which files are, byte for byte, what openset wrote, and which command wrote them.

A file that a command was asked to write carries an extended attribute: the checksum of its bytes,
and the command. So what may be replaced can be told from what a person wrote or changed, whatever
the format. Where a system has no such attributes, a name in the content must do (HTML, JSON and
Parquet of ours have one); of what has none nobody can tell, and it is kept.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
import shutil
from pathlib import Path

from openset.files import digest

_ATTRIBUTE = "user.openset"
_LONGEST = 1000  # characters of a command: some systems keep 4 KB for all attributes of a file
_HEAD, _TAIL = 1 << 12, 1 << 16
_NAME = re.compile(rb'content="openset |"openset\.|openset.{1,9}\{"schema_version"', re.DOTALL)
_UNSUPPORTED = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EPERM, errno.ENOSPC}


def mark(path: Path, command: str) -> None:
    """Say of a file that we wrote it as it is; nothing where the system cannot keep that."""
    try:
        os.setxattr(path, _ATTRIBUTE, f"{digest(path)} {command[:_LONGEST]}".encode())
    except (OSError, AttributeError):  # no such attributes here, or on this system
        return


def made_by(path: Path) -> str | None:
    """The command that wrote a file as it is, "" if that was us by some command; else None."""
    try:
        said = os.getxattr(path, _ATTRIBUTE).decode("utf-8", "replace")
    except AttributeError:
        return "" if _named(path) else None
    except OSError as error:
        return "" if error.errno in _UNSUPPORTED and _named(path) else None
    checksum, _, command = said.partition(" ")
    return command if checksum == digest(path) else None


def _named(path: Path) -> bool:
    """Whether a file has our name where we write it: near the beginning, or near the end."""
    with path.open("rb") as stream:
        held = stream.read(_HEAD)
        stream.seek(max(path.stat().st_size - _TAIL, 0))
        held += stream.read(_TAIL)
    return _NAME.search(held) is not None


def kept_aside(path: Path) -> Path:
    """A second name for a file that is about to be replaced: the first free one of ``NAME.old``."""
    for number in itertools.count(1):
        aside = path.with_name(f"{path.name}.old" + (f"-{number}" if number > 1 else ""))
        try:
            aside.hardlink_to(path)
        except FileExistsError:
            continue
        except OSError:  # no hard links here
            with aside.open("xb") as target, path.open("rb") as source:
                shutil.copyfileobj(source, target)
        return aside
    raise AssertionError
