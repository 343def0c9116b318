"""Evaluation: how a result is shown, stored and read back."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

import openset
from openset.evaluation import Evaluation
from openset.evaluation.numbers import number
from openset.findings import InputError, UsageError
from openset.metrics import table
from scenes.builders import KNOWN, scene


@pytest.fixture(scope="module")
def result():
    """Small, with intervals, findings, and numbers that do not exist."""
    shown = scene(1, images=12, unknownness=False)
    shown.found[0]["bbox"][2] = 0.0
    found = openset.evaluate(*shown.tables(), known=KNOWN, seed=3)
    assert found.values["auroc"].value is None
    assert "OS206" in {finding.code for finding in found.findings}
    return found


def same(a, b):
    """Equality of two results, where NaN equals NaN and lists equal tuples."""
    assert a.provenance == b.provenance
    assert a.findings == b.findings
    assert list(a.values) == list(b.values)
    for name, value in a.values.items():
        other = b.values[name]
        assert (value.value, value.reason, value.count, value.interval) == (
            (other.value, other.reason, other.count, other.interval)
        ), name
        assert dict(value.params) == dict(other.params), name
        assert dict(value.parts) == dict(other.parts), name
    assert a.replicates.keys() == b.replicates.keys()
    for name, numbers in a.replicates.items():
        assert np.array_equal(numbers, b.replicates[name], equal_nan=True), name


def test_round_trip_through_text_and_file(result, tmp_path):
    same(result, Evaluation.from_json(result.to_json(replicates=True)))
    path = tmp_path / "new folder" / "result.json"
    result.to_json(path, replicates=True)
    same(result, Evaluation.from_json(path))
    same(result, Evaluation.from_json(str(path)))


def test_replicates_are_stored_on_request_only(result):
    assert Evaluation.from_json(result.to_json()).replicates == {}
    assert Evaluation.from_json(result.to_json(replicates=True)).replicates


def test_json_is_strict(result):
    def refuse(name):
        raise AssertionError(name)

    document = json.loads(result.to_json(replicates=True), parse_constant=refuse)
    assert document["values"]["auroc"]["value"] is None
    assert document["values"]["auroc"]["reason"]
    # NaN of a resample is null, and NaN again when read.
    assert any(np.isnan(v).any() for v in result.replicates.values())


def test_json_is_the_same_twice(result):
    again = Evaluation.from_json(result.to_json(replicates=True))
    assert again.to_json(replicates=True) == result.to_json(replicates=True)


def test_a_result_from_a_file_knows_what_it_lacks(result):
    stored = Evaluation.from_json(result.to_json())
    assert stored.value("a_ose").value == result.value("a_ose").value
    with pytest.raises(UsageError, match="read from a file"):
        stored.value("wilderness_impact", recall=0.5)
    assert repr(stored) == repr(result)


BROKEN = {
    "not JSON": "{nope",
    "not an object": "[1, 2]",
    "another schema": '{"schema": "openset.evaluation/99"}',
    "no schema": "{}",
    "no values": '{"schema": "openset.evaluation/1", "provenance": {}, "findings": []}',
    "empty": "",
    "binary": "\x00\x01",
    "deep": "[" * 100_000,
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_refused(tmp_path, text):
    path = tmp_path / "result.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Evaluation.from_json(path)
    assert [finding.code for finding in caught.value.findings] == ["OS114"]


WRONG = [None, 3, ["x"], {"x": 1}, {"x": {"y": 2}}]


@pytest.mark.parametrize("key", ["values", "provenance", "findings"])
@pytest.mark.parametrize("value", WRONG, ids=str)
def test_a_wrong_part_is_refused(result, key, value):
    document = json.loads(result.to_json()) | {key: value}
    with pytest.raises(InputError, match="OS114"):
        Evaluation.from_json(json.dumps(document))


def test_a_number_beyond_all_floats_is_refused(result):
    document = json.loads(result.to_json())
    held = next(held for one in document["values"].values() if (held := one.get("by_class")))
    held["terms"][0][0] = 10**400
    with pytest.raises(InputError, match="OS114"):
        Evaluation.from_json(json.dumps(document))


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(InputError, match="OS101"):
        Evaluation.from_json(tmp_path / "absent.json")
    with pytest.raises(InputError, match="OS1"):
        Evaluation.from_json(tmp_path)


def test_bytes_that_are_not_text(tmp_path):
    path = tmp_path / "result.json"
    path.write_bytes(b"\xff\xfe\x80")
    with pytest.raises(InputError, match="OS114"):
        Evaluation.from_json(path)


def test_a_failed_write_leaves_the_old_file(result, tmp_path, monkeypatch):
    path = tmp_path / "result.json"
    path.write_text("old")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    monkeypatch.setattr(Path, "replace", full)
    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises((OSError, InputError)):
        result.to_json(path)
    assert path.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["result.json"]


def test_a_folder_is_not_overwritten(result, tmp_path):
    with pytest.raises(openset.OpenSetError):
        result.to_json(tmp_path)


def test_repr_is_a_table_of_headlines(result):
    lines = repr(result).splitlines()
    assert lines[0].startswith("protocol default · 12 images · ")
    assert lines[2].split() == ["↑", "↓", "better", "value"]
    headlines = [metric.title for metric in table().values() if metric.headline]
    assert [line[: len(title)] for line, title in zip(lines[3:], headlines, strict=False)] == (
        headlines
    )
    assert "1) the detections have no unknownness" in repr(result)


def test_markdown_and_latex_have_a_row_per_metric(result):
    rows = [line for line in result.to_markdown().splitlines() if line.startswith("| ")]
    assert len(rows) == len(table()) + 2
    latex = result.to_latex(headline=False)
    body = latex.partition(r"\midrule")[2].partition(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == len(table())
    assert all(line.endswith(r" \\") for line in body)
    assert "%" not in latex.partition(r"\bottomrule")[0].replace(r"\%", "")


def test_csv_is_unrounded(result):
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert [row["metric"] for row in rows] == list(result.values)
    for row in rows:
        value = result.values[row["metric"]]
        assert (row["value"] == "") == (value.value is None)
        if value.value is not None:
            assert float(row["value"]) == value.value
        if value.interval:
            assert (float(row["low"]), float(row["high"])) == value.interval
        json.loads(row["params"])
        assert row["reason"] == value.reason


def test_frame(result):
    frame = result.to_frame()
    assert frame["metric"].to_list() == list(result.values)
    assert frame["value"].to_list() == [value.value for value in result.values.values()]
    assert frame["reason"].to_list() == [value.reason for value in result.values.values()]
    assert frame.schema["value"].is_float()


def test_flat_has_numbers_only(result):
    flat = result.flat("test/")
    assert "test/auroc" not in flat
    assert flat["test/a_ose"] == result.values["a_ose"].value
    assert all(type(value) is float for value in flat.values())


def test_a_result_cannot_be_changed(result):
    with pytest.raises(AttributeError):
        result.values = {}
    with pytest.raises(AttributeError):
        result.provenance.seed = 1


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (None, "ap_known", "–"),
        (0.12345, "ap_known", "12.35 %"),
        (12345.0, "a_ose", "12 345"),
        (0.12345, "best_threshold", "0.123"),
        (0.12345, None, "0.123"),
    ],
)
def test_numbers_as_tables_show_them(value, metric, text):
    assert number(value, table()[metric] if metric else None) == text
