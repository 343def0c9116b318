"""Claims of a Parquet file: what its bytes contradict is refused before polars decodes a column.

Most of these end the process, or make polars panic, without the check.
"""

from __future__ import annotations

import base64
import json
import struct
import subprocess
import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from openset.findings import InputError
from openset.formats import read, write
from openset.formats._footer import checked, texts_of
from openset.formats._thrift import Thrift
from scenes.builders import scene

ROWS, WIDTH = 5, 3


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.parquet"


def frame(rows=ROWS, width=WIDTH):
    lists = pl.Series("c", np.ones((rows, width), np.float32), pl.Array(pl.Float32, width))
    return pl.DataFrame({"a": np.arange(rows), "b": ["x"] * rows, "c": lists})


def integer(value):
    """As Thrift writes it, below 64."""
    return bytes([2 * value])


def huge():
    return b"\xfe\xff\xff\xff\x0f"


def replace_in_footer(path, old, new):
    """Put other bytes at the last place of some, and repair the footer's length."""
    data = path.read_bytes()
    length = struct.unpack("<I", data[-8:-4])[0]
    start, footer = data[: -8 - length], data[-8 - length : -8]
    head, found, tail = footer.rpartition(old)
    assert found
    footer = head + new + tail
    path.write_bytes(start + footer + struct.pack("<I", len(footer)) + b"PAR1")


@pytest.mark.parametrize("rows", [0, ROWS, 3000])
@pytest.mark.parametrize("width", [0, 1, WIDTH])
def test_claims_of_a_good_file(path, rows, width):
    frame(rows, width).write_parquet(path, metadata={"key": "é"}, row_group_size=1024)
    footer = checked(path)
    assert footer.rows == rows and footer.texts["key"] == texts_of(path)["key"] == "é"
    assert footer.lists == {"c": rows * max(width, 1)}


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "lz4", "uncompressed"])
def test_any_compression(path, compression):
    frame(3000).write_parquet(path, compression=compression)
    assert checked(path).rows == 3000


def test_as_many_equal_rows_as_one_likes(path):
    pl.DataFrame({"a": np.zeros(1_000_000), "b": ["x"] * 1_000_000}).write_parquet(path)
    assert checked(path).rows == 1_000_000


@pytest.mark.parametrize(
    "column",
    [[{"x": 1}], [{"x": [1]}], [[{"x": 1}]], [{"x": 1, "y": 2}], json.loads("[" * 20 + "]" * 20)],
    ids=["structure", "lists in it", "structures in lists", "two values", "deep lists"],
)
def test_nested_columns_are_refused(path, column):
    pl.DataFrame({"a": column}).write_parquet(path)
    with pytest.raises(ValueError, match=r"nested|repeated"):
        checked(path)


@pytest.mark.parametrize("shape", [(2, 3), (1, 0), (0, 3), (2, 2, 2), (2, 0, 2)])
def test_lists_of_lists(path, shape):
    found = scene(4).tables()[1]
    held = np.ones((len(found.image), *shape))
    write(replace(found, attributes={"many": held}), path)
    assert np.array_equal(read(path).attributes["many"], held)


# Field 3 of a footer: its rows; of a group of rows: its rows; of a column, 5: its values.
@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        (b"\x16" + integer(ROWS) + b"\x19", b"\x16" + huge() + b"\x19", "claims .* rows"),
        (b"\x16" + integer(ROWS) + b"\x19", b"\x16\x01\x19", "claims -1 rows"),
        (b"\x16" + integer(ROWS) + b"\x19", b"\x16" + integer(4) + b"\x19", "numbers of rows"),
        (b"\x16" + integer(ROWS * WIDTH), b"\x16" + integer(ROWS * WIDTH + 1), "have not 16"),
        (b"\x16" + integer(ROWS * WIDTH), b"\x16" + huge(), "have not"),
    ],
)
def test_numbers_that_others_contradict(path, old, new, match):
    frame().write_parquet(path)
    replace_in_footer(path, old, new)
    with pytest.raises(ValueError, match=match):
        checked(path)


@pytest.mark.parametrize("kept", [5, 11, -1])
def test_a_file_without_its_end(path, kept):
    frame().write_parquet(path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ValueError, match="end is missing"):
        checked(path)


def test_every_byte_that_is_another_is_read_or_a_refusal_and_no_death(tmp_path):
    """In a process of its own, since it is a process that dies."""
    found = scene(4).tables()[1]
    write(found, tmp_path / "a.parquet")
    script = """
import pathlib, sys
from openset.findings import InputError
from openset.formats import read
path = pathlib.Path(sys.argv[1])
good = path.read_bytes()
length = int.from_bytes(good[-8:-4], "little")
refused = 0
for at in range(len(good) - length, len(good)):
    path.write_bytes(good[:at] + bytes([good[at] ^ 255]) + good[at + 1:])
    try:
        read(path)
    except InputError as error:
        refused += 1
        assert "Panic" not in str(error), (at, str(error))
print(refused)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "a.parquet"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 300


def test_a_width_that_the_values_do_not_have(path):
    """Polars panics: values must be a multiple of size."""
    found = scene(4).tables()[1]
    write(replace(found, embedding=np.ones((len(found.image), 94), np.float32)), path)
    assert read(path).embedding.shape[1] == 94
    schema = texts_of(path)["ARROW:schema"].encode()
    other = base64.b64decode(schema).replace(struct.pack("<i", 94), struct.pack("<i", 93))
    replace_in_footer(path, schema, base64.b64encode(other))
    with pytest.raises(InputError, match="'embedding' holds not as many values as"):
        read(path)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"\x1c" * 100, "nested too deeply"),
        (b"\x19" + b"\x19" * 100, "nested too deeply"),
        (b"\x19\xf5\xff\xff\xff\x7f", "longer than the file"),
        (b"\x18\xff\xff\xff\x7f", "longer than the file"),
        (b"\x16" + b"\xff" * 20, "more than 64 bits"),
        (b"\x1d", "no type 13"),
    ],
)
def test_structures_that_cannot_be(data, match):
    with pytest.raises(ValueError, match=match):
        Thrift(data, 0).structure()


def test_a_structure_of_all_types():
    data = b"\x11\x12\x13\x07\x15\x0b\x18\x02ab\x19\x25\x02\x04\x1c\x16\x02\x00\x05\x28\x08\x00"
    fields = {1: True, 2: False, 3: 7, 4: -6, 5: b"ab", 6: [1, 2], 7: {1: 1}, 20: 4}
    assert Thrift(data, 0).structure() == fields
