"""The last layer in a Parquet file: back to the last bit, and refused where it is damaged."""

import base64
import json
import tracemalloc
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from openset.findings import InputError, UsageError
from openset.formats import _head_text, read, write
from openset.tables import Head


@pytest.fixture
def path(tmp_path, found):
    write(found, tmp_path / "found.parquet")
    return tmp_path / "found.parquet"


def changed(path, change):
    """The file with another head in its metadata."""
    meta = json.loads(pl.read_parquet_metadata(path)["openset"])
    meta["head"] = change(meta["head"])
    pl.read_parquet(path).write_parquet(path, metadata={"openset": json.dumps(meta)})


def test_every_bit_comes_back(tmp_path, found):
    odd = np.array([0.0, -0.0, 1e-45, -3.4e38, 0.1, 1 / 3, 7], np.float32)
    head = Head(np.outer(odd, [1, -1, 1]), odd, found.layout)
    write(replace(found, head=head), tmp_path / "a.parquet")
    got = read(tmp_path / "a.parquet").head
    for name in ("weight", "bias"):
        assert getattr(got, name).tobytes() == getattr(head, name).tobytes()
        assert getattr(got, name).dtype == np.float32
    assert got.layout is head.layout
    write(read(tmp_path / "a.parquet"), tmp_path / "b.parquet")
    assert (tmp_path / "b.parquet").read_bytes() == (tmp_path / "a.parquet").read_bytes()


def test_detections_without_one_have_none(tmp_path, found):
    write(replace(found, head=None), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").head is None
    assert "head" not in json.loads(pl.read_parquet_metadata(tmp_path / "a.parquet")["openset"])


def test_nothing_found_still_has_its_head(tmp_path, found):
    none = found.select(np.zeros(len(found), bool))
    write(none, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").head.equals(found.head)


def numbers(*values):
    return base64.b64encode(np.array(values, "<f4").tobytes()).decode()


WRONG = {
    "a number": lambda head: 3,
    "a list": lambda head: [head],
    "text": lambda head: "head",
    "no weight": lambda head: {k: v for k, v in head.items() if k != "weight"},
    "no shape": lambda head: {k: v for k, v in head.items() if k != "shape"},
    "shape of one": lambda head: head | {"shape": [21]},
    "shape of text": lambda head: head | {"shape": "73"},
    "shape of booleans": lambda head: head | {"shape": [True, 3]},
    "shape of fractions": lambda head: head | {"shape": [7.0, 3]},
    "no rows": lambda head: head | {"shape": [0, 3], "weight": "", "bias": ""},
    "negative": lambda head: head | {"shape": [-7, -3]},
    "other shape": lambda head: head | {"shape": [3, 7]},
    "vast": lambda head: head | {"shape": [1 << 40, 1 << 40]},
    "large": lambda head: head | {"shape": [1 << 13, 1 << 13]},
    "not base64": lambda head: head | {"weight": "é" * 112},
    "spaces": lambda head: head | {"weight": " " + head["weight"]},
    "cut": lambda head: head | {"weight": head["weight"][:-4]},
    "weight of numbers": lambda head: head | {"weight": [1.0] * 21},
    "weight is null": lambda head: head | {"weight": None},
    "not finite": lambda head: head | {"bias": numbers(*[np.nan] * 7)},
    "unheard layout": lambda head: head | {"layout": "sigmoids"},
    "layout is a list": lambda head: head | {"layout": []},
    "layout of others": lambda head: head | {"layout": "softmax-background-first"},
    "fewer rows": lambda head: {
        **head, "shape": [1, 3], "weight": numbers(1, 2, 3), "bias": numbers(1),
    },
    "wider": lambda head: {
        **head, "shape": [7, 4], "weight": numbers(*range(28)), "bias": numbers(*range(7)),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_damaged_or_foreign_is_refused(name, path):
    changed(path, WRONG[name])
    tracemalloc.start()
    with pytest.raises(InputError, match=r"OS115.*the last layer in .*found.parquet") as caught:
        read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 24
    finding = caught.value.findings[0]
    assert finding.cause and finding.fix and len(finding.message) < 400


def test_fewer_classes_than_names_are_refused(tmp_path, truth, make_found):
    named = replace(make_found(truth, named=True), logits=None, layout=None)
    write(named, tmp_path / "a.parquet")
    less = {"shape": [5, 3], "weight": numbers(*range(15)), "bias": numbers(*range(5))}
    changed(tmp_path / "a.parquet", lambda head: head | less)
    with pytest.raises(InputError, match=r"OS115.*5 softmax-background-last.*6 classes"):
        read(tmp_path / "a.parquet")


def test_too_large_to_be_written(tmp_path, found, monkeypatch):
    monkeypatch.setattr(_head_text, "_MOST", 20)
    with pytest.raises(UsageError, match="21 weights is too large"):
        write(found, tmp_path / "a.parquet")
    assert not list(tmp_path.iterdir())
