"""The statement in a Parquet file: whatever it is damaged in, a finding says so."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from openset.findings import InputError
from openset.formats import read, write
from scenes.builders import scene

VALUES = [None, -1, 1.5, "", "x", "U999999999", "V999999999", "i8", "f4", "b1", [], [1], {}, True]


@pytest.fixture(params=["truth", "found"])
def path(tmp_path, request):
    truth, found = scene(4).tables()
    write({"truth": truth, "found": found}[request.param], tmp_path / "a.parquet")
    return tmp_path / "a.parquet"


def stated(path):
    return json.loads(pl.read_parquet_metadata(path)["openset"])


def state(path, text):
    pl.read_parquet(path).write_parquet(path, metadata={"openset": text})


def places(value, at=()):
    """Ways to every value of a document, the first two of each list."""
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value[:2])
    for key, item in items:
        yield from places(item, (*at, key)) if isinstance(item, (dict, list)) else [(*at, key)]


def changed(document, at, value):
    if not at:
        return value
    copy = document.copy()
    copy[at[0]] = changed(document[at[0]], at[1:], value)
    return copy


def test_any_other_value_is_refused_or_read(path):
    document, refused = stated(path), 0
    for at in places(document):
        for value in VALUES:
            state(path, json.dumps(changed(document, at, value)))
            try:
                read(path)
            except InputError as error:
                refused += 1
                assert error.findings[0].code in {
                    "OS102", "OS104", "OS105", "OS106", "OS107", "OS108", "OS111",
                }  # fmt: skip
    assert refused > 150


def test_a_statement_that_is_no_json(path):
    for text in ("[" * 100_000, "{", "\udcff".encode(errors="replace").decode(), "NaN"):
        state(path, text)
        with pytest.raises(InputError):
            read(path)


def test_a_width_of_text_cuts_no_text(tmp_path):
    shown = scene(4, ids="str")
    found = shown.tables()[1]
    write(found, tmp_path / "a.parquet")
    document = stated(tmp_path / "a.parquet")
    assert document["dtypes"]["image"][0] in "UT"
    state(tmp_path / "a.parquet", json.dumps(changed(document, ("dtypes", "image"), "U2")))
    assert np.array_equal(read(tmp_path / "a.parquet").image, found.image)


def test_a_column_of_another_type_is_not_converted(tmp_path):
    write(scene(4).tables()[1], tmp_path / "a.parquet")
    document = stated(tmp_path / "a.parquet")
    state(tmp_path / "a.parquet", json.dumps(changed(document, ("dtypes", "score"), "i8")))
    with pytest.raises(InputError, match="column 'score' holds float64, not int64"):
        read(tmp_path / "a.parquet")


@pytest.mark.parametrize("dtype", ["08", "f4,f4", "(2,)f8", "f16", "O", "m8", "1f8"])
def test_a_type_that_is_none_of_numbers(tmp_path, dtype):
    write(scene(4).tables()[1], tmp_path / "a.parquet")
    document = stated(tmp_path / "a.parquet")
    state(tmp_path / "a.parquet", json.dumps(changed(document, ("dtypes", "score"), dtype)))
    with pytest.raises(InputError, match="is no type of numbers"):
        read(tmp_path / "a.parquet")


def test_files_that_were_joined_as_bytes_are_told(tmp_path):
    found = scene(4).tables()[1]
    write(found, tmp_path / "a.parquet")
    one = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(one + one)
    with pytest.raises(InputError, match="several Parquet files") as caught:
        read(tmp_path / "b.parquet")
    assert "cat" in caught.value.findings[0].cause
