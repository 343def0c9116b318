"""category_ids=: what numbers and names of detections are said to mean."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

import openset
from openset.findings import InputError, UsageError
from openset.tables.category_ids import category_ids_of, with_names
from scenes.labels import IDS, KNOWN, NAMES, found, truth

GT = truth()
DT = found(GT)
PLACE = np.searchsorted(IDS, DT.label)


def names(detections):
    return [detections.labels[at] for at in detections.label]


WANTED = [NAMES[at] for at in PLACE]
MAPPINGS = {
    "index": (replace(DT, label=PLACE), "index"),
    "index1": (replace(DT, label=PLACE + 1), "index1"),
    "ids to ids": (replace(DT, label=DT.label + 100), {int(i) + 100: int(i) for i in IDS}),
    "ids to names": (
        replace(DT, label=PLACE + 100),
        {str(at + 100): name for at, name in enumerate(NAMES)},
    ),
    "names to names": (
        replace(DT, label=PLACE, labels=tuple(name.upper() + "!" for name in NAMES)),
        {name.upper() + "!": name for name in NAMES},
    ),
    "names of ids": (DT, {"cat": "cat"}),
}


@pytest.mark.parametrize("name", MAPPINGS)
def test_what_is_stated_is_applied(name):
    detections, stated = MAPPINGS[name]
    assert names(with_names(detections, GT, category_ids_of(stated))) == WANTED


def test_files(tmp_path):
    moved = replace(DT, label=PLACE + 100)
    pairs = {str(at + 100): int(id_) for at, id_ in enumerate(IDS)}
    (tmp_path / "ids.json").write_text(json.dumps(pairs))
    (tmp_path / "ids.csv").write_text("".join(f"{a},{b}\n" for a, b in pairs.items()))
    rows = [{"id": at + 100, "name": name} for at, name in enumerate(NAMES)]
    coco = json.dumps({"images": [], "categories": rows}).encode()
    (tmp_path / "coco.json.gz").write_bytes(gzip.compress(coco))
    for name in ("ids.json", "ids.csv", "coco.json.gz"):
        assert names(with_names(moved, GT, category_ids_of(tmp_path / name))) == WANTED


def test_categories_that_name_nothing(tmp_path):
    (tmp_path / "coco.json").write_text('{"categories": [{"id": 1}]}')
    with pytest.raises(InputError, match=r"OS104.*no name"):
        category_ids_of(tmp_path / "coco.json")


def test_an_evaluation_reads_them():
    plain = openset.evaluate(GT, DT, known=KNOWN, intervals=False)
    shifted = replace(DT, label=PLACE)
    with pytest.raises(InputError, match=r"category_ids='index'"):
        openset.evaluate(GT, shifted, known=KNOWN, intervals=False)
    read = openset.evaluate(GT, shifted, known=KNOWN, intervals=False, category_ids="index")
    assert read.flat() == plain.flat()


def test_ground_truth_without_ids_is_never_matched_by_number():
    unnumbered = replace(GT, numbered=False, category_id=np.arange(1, 9))
    counted = replace(DT, label=PLACE + 1)  # they would fit the ids that nobody stated
    for options in ({}, {"unknown_label": 8}):
        with pytest.raises(InputError) as caught:
            openset.evaluate(unnumbered, counted, known=KNOWN, intervals=False, **options)
        assert [finding.code for finding in caught.value.findings] == ["OS315"]
    stated = {"known": KNOWN, "intervals": False, "category_ids": "index1"}
    plain = openset.evaluate(GT, DT, known=KNOWN, intervals=False)
    assert openset.evaluate(unnumbered, counted, **stated).flat() == plain.flat()
    with pytest.raises(InputError, match="OS317"):  # an id of what has no ids
        with_names(counted, unnumbered, category_ids_of({1: 2}))


def test_formats_that_know_names_alone(tmp_path):
    for format_ in ("voc", "yolo"):
        openset.write(GT, tmp_path / format_, format=format_)
        read = openset.read(tmp_path / format_)
        assert read.numbered is False
        assert read.select(np.arange(3)).numbered is False
    openset.write(read, tmp_path / "kept.parquet")
    assert openset.read(tmp_path / "kept.parquet").numbered is False
    openset.write(GT, tmp_path / "stated.parquet")
    assert openset.read(tmp_path / "stated.parquet").numbered is True


def test_a_label_that_cannot_be_meant():
    with pytest.raises(InputError) as caught:
        with_names(replace(DT, label=PLACE + 1), GT, category_ids_of("index"))
    (finding,) = caught.value.findings
    assert finding.code == "OS317"
    assert finding.count == np.count_nonzero(PLACE == 7)
    assert "label 8" in finding.example
    with pytest.raises(InputError, match="OS317"):
        with_names(DT, GT, category_ids_of({"cat": 5}))


def test_bad_mappings(tmp_path):
    with pytest.raises(UsageError, match="'index', 'index1'"):
        category_ids_of("indx")
    with pytest.raises(InputError, match="OS108"):
        category_ids_of({1: 2.5})
    (tmp_path / "list.json").write_text("[1, 2]")
    (tmp_path / "wide.csv").write_text("1,2,3\n")
    for name, code in (("list.json", "OS104"), ("wide.csv", "OS104"), ("none.json", "OS101")):
        with pytest.raises(InputError, match=code):
            category_ids_of(tmp_path / name)


def test_the_number_after_all_others_may_mean_unknown():
    strange = replace(DT, label=np.where(PLACE > 5, 8, PLACE))
    options = {"known": KNOWN, "intervals": False}
    read = openset.evaluate(GT, strange, category_ids="index", unknown_label=8, **options)
    named = replace(DT, label=np.minimum(PLACE, 6), labels=(*NAMES[:6], "unknown"))
    assert read.flat() == openset.evaluate(GT, named, **options).flat()
    with pytest.raises(InputError, match="OS317"):
        openset.evaluate(GT, strange, category_ids="index", **options)
    with pytest.raises(InputError, match="OS314"):
        openset.evaluate(GT, DT, category_ids={1: 1}, unknown_label=8, **options)
