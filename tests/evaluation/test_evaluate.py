"""evaluate: the same numbers from every kind of input, and a clear word on every wrong name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import openset
from openset.examples import DETECTIONS, TRUTH
from openset.findings import InputError, UsageError
from openset.matching.protocol import PRESETS
from openset.metrics import table
from openset.tables import Vocabulary
from scenes.builders import KNOWN, scene, torchvision

GOLDEN = Path(__file__).parents[1] / "golden" / "inputs"
FOLDERS = sorted(path.parent for path in GOLDEN.glob("*/*/gt.json"))
QUICK = {"known": KNOWN, "intervals": False}


@pytest.fixture(scope="module")
def example():
    return openset.evaluate(TRUTH, DETECTIONS, intervals=False)


def check_every_value(result):
    metrics = table()
    for name, value in result.values.items():
        assert (value.value is None) == bool(value.reason), name
        if value.value is None:
            continue
        assert type(value.value) is float, name
        assert np.isfinite(value.value), name
        low, high = metrics[name].range
        assert low is None or value.value >= low, name
        # FMIYC and its kin divide detections by objects, so nOSE has no upper end.
        assert high is None or value.value <= high, name


def test_the_example_has_every_metric_as_a_fraction_or_count(example):
    assert list(example.values) == list(table())
    check_every_value(example)
    assert 0.05 < example.values["ap_known"].value < 0.95
    assert example.values["a_ose"].value == int(example.values["a_ose"].value) > 1
    assert example.provenance.counts["images"] == example.matches.n_images > 100


@pytest.mark.parametrize("protocol", PRESETS)
def test_every_preset_evaluates_the_example(protocol, tmp_path):
    options = {"protocol": protocol, "intervals": False}
    if PRESETS[protocol].repeats == "listed":
        options["image_list"] = tmp_path / "test.txt"
        names = openset.read(TRUTH).images.id.astype(str).tolist()
        options["image_list"].write_text("\n".join([*names, names[0]]))
    result = openset.evaluate(TRUTH, DETECTIONS, **options)
    check_every_value(result)
    assert result.provenance.protocol == protocol
    assert result.provenance.deviations == {}
    assert result.values["ap_known"].value > 0.05


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: "/".join(path.parts[-2:]))
@pytest.mark.parametrize("protocol", ["default", "owod", "elephant"])
def test_golden_inputs(folder, protocol):
    result = openset.evaluate(
        folder / "gt.json", folder / "dt.json", protocol=protocol, intervals=False, force=True
    )
    check_every_value(result)
    assert result.provenance.vocabulary == "info.openset"


def test_paths_tables_documents_and_dictionaries_agree(tmp_path):
    shown = scene(1, images=10)
    expected = openset.evaluate(*shown.tables(), **QUICK)
    gt, dt = shown.files(tmp_path)
    assert openset.evaluate(gt, dt, **QUICK).values == expected.values
    assert openset.evaluate(str(gt), str(dt), **QUICK).values == expected.values
    assert openset.evaluate(gt, shown.tables()[1], **QUICK).values == expected.values
    assert openset.evaluate(shown.truth, shown.found, **QUICK).values == expected.values
    # Dictionaries have no names: labels are the category ids.
    ids = Vocabulary(tasks=(("3",), ("7", "8")))
    lists = openset.evaluate(*torchvision(shown), known=ids, intervals=False)
    assert lists.flat() == expected.flat()


def test_equal_inputs_have_equal_hashes_whatever_their_kind(tmp_path):
    shown = scene(1, images=10)
    files = openset.evaluate(*shown.files(tmp_path), **QUICK).provenance
    tables = openset.evaluate(*shown.tables(), **QUICK).provenance
    assert files.truth_hash == tables.truth_hash
    assert files.detections_hash == tables.detections_hash
    shown.found[0]["score"] = 0.123
    shown.truth["annotations"][0]["bbox"][0] += 1
    changed = openset.evaluate(*shown.tables(), **QUICK).provenance
    assert changed.truth_hash != tables.truth_hash
    assert changed.detections_hash != tables.detections_hash
    assert files.inputs == {"truth": "gt.json", "detections": "dt.json"}


def test_a_value_at_other_parameters(example):
    at_half = example.value("wilderness_impact", recall=0.5)
    assert at_half.params["recall"] == 0.5
    assert at_half.value != example.values["wilderness_impact"].value
    assert example.value("ap_known") is example.values["ap_known"]
    assert example.value("ap_known", iou=0.5).value > example.value("ap_known", iou=0.75).value


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda e: e.value("ap_knwn"), "'ap_known'"),
        (lambda e: e.value("ap_known", ioo=0.5), "ioo"),
        (lambda e: e.value("a_ose", iou=0.5), "iou"),
        (lambda e: e.value("ap_known", size="smal"), "'small'"),
        (lambda e: e.value("ap_known", iou=0.52), "0.50, 0.55"),
        (lambda e: e.value("ap_known", interpolation="12-point"), "'11-point'"),
        (lambda e: e.value("wilderness_impact", variant="poled"), "'pooled'"),
        (lambda e: e.value("ar_known", limit=7), "limit"),
        (lambda e: openset.evaluate(TRUTH, DETECTIONS, metrics=["udrr"]), "'udr'"),
        (lambda e: openset.evaluate(TRUTH, DETECTIONS, protocol="cooc"), "'coco'"),
        (lambda e: openset.evaluate(TRUTH, DETECTIONS, known="vocc20"), "'voc20'"),
        (lambda e: openset.evaluate(TRUTH, DETECTIONS, boxes="xyyx"), "'xyxy'"),
        (lambda e: openset.evaluate(TRUTH, DETECTIONS, leaked="drp"), "drop"),
    ],
)
def test_a_wrong_name_gets_a_suggestion(example, call, hint):
    with pytest.raises(UsageError) as caught:
        call(example)
    assert hint in str(caught.value)


def test_a_missing_vocabulary_file():
    with pytest.raises(InputError, match="OS101"):
        openset.evaluate(TRUTH, DETECTIONS, known="nowhere/known.toml")


def test_some_metrics_only(example):
    result = openset.evaluate(TRUTH, DETECTIONS, metrics=["udr", "a_ose"], intervals=False)
    assert list(result.values) == ["udr", "a_ose"]
    assert result.values["udr"] == example.values["udr"]
    # Others can still be asked for.
    assert result.value("nose") == example.values["nose"]


def test_known_as_name_list_file_and_vocabulary_agree(tmp_path):
    shown = scene(2).tables()
    labels = ["dog", "cat", "cow"]
    (tmp_path / "known.txt").write_text("dog\ncat # two\ncow\n")
    (tmp_path / "known.toml").write_text('known = ["dog", "cat", "cow"]\n')
    expected = openset.evaluate(*shown, known=labels, intervals=False).flat()
    for known in ("dog, cat, cow", tmp_path / "known.txt", str(tmp_path / "known.toml")):
        assert openset.evaluate(*shown, known=known, intervals=False).flat() == expected


@pytest.mark.parametrize("layout", ["xyxy", "cxcywh", "xywh-norm", "xyxy-norm", "cxcywh-norm"])
def test_boxes_in_another_layout(layout):
    shown = scene(3, images=10)
    expected = openset.evaluate(*shown.tables(), **QUICK).flat()
    for record in shown.found:
        x, y, w, h = record["bbox"]
        box = {"xyxy": [x, y, x + w, y + h], "cxcywh": [x + w / 2, y + h / 2, w, h]}
        box = box.get(layout.removesuffix("-norm"), [x, y, w, h])
        scale = [256, 128, 256, 128] if layout.endswith("-norm") else [1] * 4
        record["bbox"] = [a / b for a, b in zip(box, scale, strict=True)]
    for image in shown.truth["images"]:  # powers of two, so that nothing is rounded
        image |= {"width": 256, "height": 128}
    result = openset.evaluate(*shown.tables(), boxes=layout, **QUICK)
    assert result.flat() == expected


def test_leaked_detections_count_as_unknown_or_are_dropped():
    shown = scene(4, images=10)
    expected = openset.evaluate(*shown.tables(), **QUICK)
    without = [d for d in shown.found if d["category_id"] != 20]
    for record in shown.found:
        if record["category_id"] == 20:
            record["category_id"] = 12  # zebra, which is unknown here
    as_unknown = openset.evaluate(*shown.tables(), leaked="unknown", **QUICK)
    assert as_unknown.values == expected.values
    assert "OS305" in {finding.code for finding in as_unknown.findings}
    dropped = openset.evaluate(*shown.tables(), leaked="drop", **QUICK)
    assert dropped.flat() == openset.evaluate(shown.truth, without, **QUICK).flat()
    assert dropped.provenance.counts["unknown_detections"] == 0


def test_deviations_from_a_preset_are_reported():
    protocol = openset.Protocol.of("owod").but(recall=0.5)
    result = openset.evaluate(*scene(5).tables(), protocol=protocol, **QUICK)
    assert result.provenance.protocol == "owod"
    assert result.provenance.deviations == {"recall": [0.8, 0.5]}
    assert "with 1 deviation" in result.headline()


def test_both_inputs_wrong_are_said_at_once(tmp_path):
    with pytest.raises(InputError) as caught:
        openset.evaluate(tmp_path / "gt.json", tmp_path / "dt.json")
    assert [finding.code for finding in caught.value.findings] == ["OS101", "OS101"]
    assert "gt.json" in str(caught.value) and "dt.json" in str(caught.value)


def test_inputs_are_not_changed():
    shown = scene(6)
    truth, found = shown.tables()
    before = truth.box.copy(), found.box.copy(), found.score.copy()
    openset.evaluate(truth, found, boxes="xywh", **QUICK)
    assert (truth.box == before[0]).all()
    assert (found.box == before[1]).all()
    assert (found.score == before[2]).all()


def test_the_column_of_unknownness_has_its_name_and_the_score_is_none():
    truth, found = scene(3).tables()
    found = replace(found, unknownness=np.linspace(0, 1, len(found)))
    own, named = (openset.evaluate(truth, found, known=KNOWN, unknownness=u, metrics=["auroc"],
                                   intervals=False) for u in (None, "unknownness"))  # fmt: skip
    assert own.value("auroc").value == named.value("auroc").value
    with pytest.raises(UsageError, match="takes 1 - score"):
        openset.evaluate(truth, found, known=KNOWN, unknownness="score")


NO_NUMBERS = {"datetime64[D]": "dates", "timedelta64[s]": "durations", "c16": "complex"}


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_unknownness_is_of_numbers(kind):
    truth, found = scene(3).tables()
    odd = np.arange(len(found)).astype(kind)
    column = replace(found, attributes={"x": odd})
    with pytest.raises(UsageError, match=NO_NUMBERS[kind]):
        openset.evaluate(truth, column, known=KNOWN, unknownness="x")
    with pytest.raises(UsageError, match=NO_NUMBERS[kind]):
        replace(found, unknownness=odd)
