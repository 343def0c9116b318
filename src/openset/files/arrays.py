"""The arrays of an ``.npz`` file: nothing is unpickled, no header is believed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.files.loading import bomb, located, refuse_pipe, room_for
from openset.findings import InputError, refuse

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

    from numpy.typing import NDArray


def load_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an ``.npz`` file; pickled objects are never loaded.

    Raises:
        InputError: It is absent, or would unpack to far more than it is.
        ValueError: Whatever else is wrong with it, in a line.
    """
    import zipfile

    size = 0
    refuse_pipe(path)
    try:
        with located(path), path.open("rb") as stream:
            stream.read(1)
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                size += member.file_size
                if size > room_for(path.stat().st_size):
                    raise bomb(path)
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
