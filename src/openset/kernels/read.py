"""Fast reading of COCO results and COCO ground truth into columns.

Only the common shape is read: integer ids, known keys. Anything else is a `ReadError`; the caller
may then try a general reader, which keeps what this one does not know.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from openset.kernels import _library
from openset.kernels._memory import empty_columns
from openset.kernels._structures import ByteSource, TruthOutput

_Columns = TypeVar("_Columns")
Text = bytes | memoryview
REFUSED = 2  # status of the compiled reader: see openset_refusal
BULK_KEYS = frozenset(
    (
        "segmentation",
        "keypoints",
        "num_keypoints",
        "license",
        "coco_url",
        "flickr_url",
        "date_captured",
    )
)


class ReadError(ValueError):
    """A text is not what the fast readers read.

    Attributes:
        kind: A short name of the reason, such as ``truncated`` or ``string_id``.
        offset: Byte at which reading stopped, or -1 if it is not known.
        record: Index of the record in its list, or -1 outside of a list.
        message: What was found.
    """

    def __init__(self, kind: str, offset: int, record: int, message: str) -> None:
        self.kind, self.offset, self.record, self.message = kind, offset, record, message
        places = [f"record {record}"] * (record >= 0) + [f"byte {offset}"] * (offset >= 0)
        super().__init__(f"{', '.join(places)}: {message}" if places else message)


class ResultColumns(NamedTuple):
    """COCO results: one entry per detection.

    Attributes:
        image_id: Image ids.
        category_id: Category ids.
        box: Left, top, width and height.
        score: Scores.
        extra_keys: Names of keys that were not read.
    """

    image_id: NDArray[np.int64]
    category_id: NDArray[np.int64]
    box: NDArray[np.float64]
    score: NDArray[np.float64]
    extra_keys: tuple[str, ...]


class TruthColumns(NamedTuple):
    """COCO ground truth: one entry per image, then one per annotation.

    Attributes:
        image_ids: Ids of the images.
        width: Widths of the images, NaN where absent.
        height: Heights of the images, NaN where absent.
        file_names: File names of the images, or None if they have none.
        image_extra_keys: Names of keys of images that were not read.
        id: Annotation ids.
        image_id: The image of each annotation.
        category_id: The category of each annotation.
        box: Left, top, width and height.
        area: Areas, NaN where absent.
        crowd: Whether ``iscrowd`` is set.
        annotation_extra_keys: Names of keys of annotations that were not read.
        head: Every other top-level key with its value.
    """

    image_ids: NDArray[np.int64]
    width: NDArray[np.float64]
    height: NDArray[np.float64]
    file_names: list[str] | None
    image_extra_keys: tuple[str, ...]
    id: NDArray[np.int64]
    image_id: NDArray[np.int64]
    category_id: NDArray[np.int64]
    box: NDArray[np.float64]
    area: NDArray[np.float64]
    crowd: NDArray[np.bool_]
    annotation_extra_keys: tuple[str, ...]
    head: dict[str, Any]


def read_results(source: Path | bytes) -> ResultColumns:
    """Read a COCO results list from a file or from memory.

    Args:
        source: A path, or the text itself.

    Raises:
        ReadError: The text is not such a list, or has a shape that only a general reader knows.

    >>> text = b'[{"image_id": 3, "category_id": 1, "bbox": [0, 1, 2, 3], "score": 0.5}]'
    >>> columns = read_results(text)
    >>> columns.image_id.tolist(), columns.box.tolist(), columns.score.tolist()
    ([3], [[0.0, 1.0, 2.0, 3.0]], [0.5])
    >>> read_results(text[:40])  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    openset.kernels.read.ReadError: record 0, byte 40: the text ends here
    """
    return _dispatch(source, _native_results, _twin_results)


def read_truth(source: Path | bytes) -> TruthColumns:
    """Read a COCO ground-truth object from a file or from memory.

    Args:
        source: A path, or the text itself.

    Raises:
        ReadError: The text is not such an object, or has a shape that only a general reader
            knows.

    >>> columns = read_truth(b'{"images": [{"id": 7}], "annotations": [], "info": {"year": 2026}}')
    >>> columns.image_ids.tolist(), columns.head
    ([7], {'info': {'year': 2026}})
    """
    return _dispatch(source, _native_truth, _twin_truth)


def _dispatch(
    source: Path | bytes,
    native_reader: Callable[[ctypes.CDLL, ByteSource], _Columns],
    twin: Callable[[Text], _Columns],
) -> _Columns:
    native = _library.library()
    if native is not None:
        try:
            with _opened(source) as opened:
                return native_reader(native, opened)
        except ReadError as error:
            # Escapes in keys are decoded by the twin: too rare to be worth compiled code.
            if error.kind != "escaped_key":
                raise
    return twin(source if isinstance(source, bytes) else _contents(source))


def _contents(path: Path) -> Text:
    """Read a file into memory of NumPy, which comes in larger pages than that of bytes."""
    with Path(path).open("rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return file.read()
        text = np.empty(status.st_size, np.uint8).data
        return text[: file.readinto(text)]


def _twin_results(text: Text) -> ResultColumns:
    from openset.kernels.numpy_twins import read as twin

    return twin.read_results(text)


def _twin_truth(text: Text) -> TruthColumns:
    from openset.kernels.numpy_twins import read as twin

    return twin.read_truth(text)


@contextlib.contextmanager
def _opened(source: Path | bytes) -> Iterator[ByteSource]:
    if isinstance(source, bytes):
        yield ByteSource(data=source, size=len(source), fd=-1)
        return
    with Path(source).open("rb") as file:
        status = os.fstat(file.fileno())
        if stat.S_ISREG(status.st_mode):
            yield ByteSource(data=None, size=status.st_size, fd=file.fileno())
        else:  # a pipe cannot be read in blocks
            text = file.read()
            yield ByteSource(data=text, size=len(text), fd=-1)


def _check(native: ctypes.CDLL, status: int) -> None:
    if status != REFUSED:
        _library.check(native, status)
        return
    kind, message = ctypes.c_char_p(), ctypes.c_char_p()
    place = (ctypes.c_int64 * 2)()
    native.openset_refusal(ctypes.byref(kind), ctypes.byref(message), place)
    assert kind.value is not None
    assert message.value is not None
    raise ReadError(kind.value.decode(), place[0], place[1], message.value.decode())


def _native_results(native: ctypes.CDLL, source: ByteSource) -> ResultColumns:
    result, count, threads = ctypes.c_void_p(), (ctypes.c_int64 * 2)(), _library.threads()
    status = native.openset_read_results(ctypes.byref(source), threads, ctypes.byref(result), count)
    _check(native, status)
    n, text_length = count
    columns = empty_columns(
        n, image_id=np.int64, category_id=np.int64, box=(np.float64, 4), score=np.float64
    )
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in columns.values()]
    extra_keys = ctypes.create_string_buffer(text_length)
    _check(native, native.openset_results_take(result, threads, *pointers, extra_keys))
    return ResultColumns(**columns, extra_keys=tuple(json.loads(extra_keys.raw)))


def _native_truth(native: ctypes.CDLL, source: ByteSource) -> TruthColumns:
    result, count = ctypes.c_void_p(), (ctypes.c_int64 * 6)()
    status = native.openset_read_truth(ctypes.byref(source), ctypes.byref(result), count)
    _check(native, status)
    n_images, n, *text_lengths = count
    columns: dict[str, NDArray[Any]] = {
        "image_ids": np.empty(n_images, np.int64),
        "width": np.empty(n_images, np.float64),
        "height": np.empty(n_images, np.float64),
        **empty_columns(
            n,
            id=np.int64,
            image_id=np.int64,
            category_id=np.int64,
            box=(np.float64, 4),
            area=np.float64,
            crowd=np.bool_,
        ),
    }
    names = ("head", "file_names", "image_extra_keys", "annotation_extra_keys")
    texts = {name: np.empty(size, np.uint8) for name, size in zip(names, text_lengths, strict=True)}
    packed = _library.pack(TruthOutput, **columns, **texts)
    _check(native, native.openset_truth_take(result, ctypes.byref(packed)))
    decoded = {name: json.loads(text.tobytes()) for name, text in texts.items()}
    return TruthColumns(
        **columns,
        file_names=decoded["file_names"] or None,
        image_extra_keys=tuple(decoded["image_extra_keys"]),
        annotation_extra_keys=tuple(decoded["annotation_extra_keys"]),
        head=decoded["head"],
    )
