"""Broken records: all or nothing by default, counted, named and dropped if that is asked for."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from openset.evaluation import Evaluator, evaluate
from openset.evaluation.run import evaluate_all
from openset.findings import InputError
from openset.report.page import render
from scenes import builders

ASKED = {"known": builders.KNOWN, "intervals": False}
TRUTH, FOUND = builders.scene(3, images=12, unknownness=True).tables()


def changed(column, value, rows=(3,)):
    values = np.array(getattr(FOUND, column))
    values[list(rows)] = value
    return replace(FOUND, **{column: values})


BROKEN = {
    "OS201": changed("box", np.nan),
    "OS202": changed("score", np.inf),
    "OS205": changed("box", [5, 5, -3, 4]),
    "unknownness": changed("unknownness", np.nan),
}


@pytest.mark.parametrize("name", BROKEN)
def test_the_numbers_are_those_of_the_others(name):
    with pytest.raises(InputError, match="drop_invalid=True"):
        evaluate(TRUTH, BROKEN[name], **ASKED)
    found = evaluate(TRUTH, BROKEN[name], drop_invalid=True, **ASKED)
    [said] = [finding for finding in found.findings if finding.code == "OS428"]
    assert said.count == 1 and f"1 of {len(FOUND)} detections are broken" in said.message
    assert "detection 3" in said.example
    rest = evaluate(TRUTH, FOUND.select(np.arange(len(FOUND)) != 3), **ASKED)
    assert found.flat() == rest.flat()
    assert found.provenance.counts["detections"] == len(FOUND) - 1
    assert "OS428" in found.to_json()


def test_nothing_broken_is_nothing_said():
    found = evaluate(TRUTH, FOUND, drop_invalid=True, **ASKED)
    assert found.flat() == evaluate(TRUTH, FOUND, **ASKED).flat()
    assert not {"OS428", "OS429"} & {finding.code for finding in found.findings}


def test_single_scores_outside_go_and_another_scale_does_not():
    found = evaluate(TRUTH, changed("score", 7.0), drop_invalid=True, **ASKED)
    assert "1 with a score outside 0..1" in str(found.findings)
    percent = replace(FOUND, score=FOUND.score * 100)
    with pytest.raises(InputError, match="OS208"):
        evaluate(TRUTH, percent, drop_invalid=True, **ASKED)


def test_more_than_half_is_refused():
    most = changed("score", np.nan, range(1 + len(FOUND) // 2))
    with pytest.raises(InputError, match="OS429") as caught:
        evaluate(TRUTH, most, drop_invalid=True, **ASKED)
    assert "OS202" in str(caught.value)
    half = changed("score", np.nan, range(len(FOUND) // 2))
    evaluate(TRUTH, half, drop_invalid=True, **ASKED)


def test_objects_too():
    box = np.array(TRUTH.box)
    box[2] = np.nan
    broken = replace(TRUTH, box=box, area=None)
    with pytest.raises(InputError, match="OS201"):
        evaluate(broken, FOUND, **ASKED)
    found = evaluate(broken, FOUND, drop_invalid=True, **ASKED)
    rest = evaluate(TRUTH.select(np.arange(len(TRUTH)) != 2), FOUND, **ASKED)
    assert found.flat() == rest.flat()
    assert f"1 of {len(TRUTH)} objects are broken" in str(found.findings)


def test_streams_drop_them_too():
    stream = Evaluator(drop_invalid=True, **ASKED).update(TRUTH, BROKEN["OS202"])
    one = evaluate(TRUTH, BROKEN["OS202"], drop_invalid=True, **ASKED)
    assert stream.compute().flat() == one.flat()


def test_the_page_and_a_kept_run_say_so(tmp_path):
    run = evaluate_all(TRUTH, {"one": BROKEN["OS205"]}, drop_invalid=True, **ASKED)
    assert "1 with a negative width or height" in render(run)
    kept = json.loads((run.save(tmp_path / "run") / "one.result.json").read_text())
    assert "OS428" in [finding["code"] for finding in kept["findings"]]
