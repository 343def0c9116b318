"""Fetching: whether what lies there is all of it."""

from __future__ import annotations

import pytest

from openset import InputError
from openset.benchmarks.definition import load
from openset.benchmarks.fetching import FoundSource, Presence, look
from openset.benchmarks.pool import no_such_label
from scenes.official import voc_tree

SEVEN = 4952  # pictures of VOC 2007 test, of which FMIYC takes all


def held(benchmark, folder, part) -> FoundSource:
    return next(one for one in look(load(benchmark), folder) if part in str(one.path))


@pytest.mark.parametrize(
    ("pictures", "broken", "says"),
    [
        (SEVEN, "", ""),
        (SEVEN, "empty", "of 0 bytes"),
        (SEVEN, "gone", "part of it is missing"),
        (3, "", "lists 3 pictures, of which 4,952 are to be taken"),
    ],
)
def test_a_folder_of_a_part_of_voc_is_not_whole(tmp_path, pictures, broken, says):
    names = {f"{n:06d}": ["dog"] for n in range(pictures)}
    tree = voc_tree(tmp_path, "VOC2007", {"test": names})
    first = tree / "Annotations" / "000000.xml"
    if broken == "empty":
        first.write_text("")
    if broken == "gone":
        first.unlink()
    found = held("fmiyc-voc", tmp_path, "VOC2007")
    assert found.state is (Presence.WRONG if says else Presence.THERE) and says in found.why


@pytest.mark.parametrize(
    ("splits", "says"),
    [({}, "has no splits/"), ({"train": 8, "val": 8}, "lists 8 pictures")],
)
def test_a_few_pictures_of_mtsd_are_not_all(tmp_path, splits, says):
    folder = tmp_path / "mtsd_v2_fully_annotated"
    for part in ("annotations", "splits"):
        (folder / part).mkdir(parents=True)
    for split, n in splits.items():
        (folder / "splits" / f"{split}.txt").write_text("".join(f"{at}\n" for at in range(n)))
    found = held("osod3-mtsd", tmp_path, "mtsd")
    assert found.state is Presence.WRONG and says in found.why


def test_names_that_are_like_no_label_are_answered_by_labels():
    with pytest.raises(InputError, match="OS904") as caught:
        raise no_such_label(["warning-curve"], [f"{n:04d}" for n in range(9)])
    assert "'0000', '0001', '0002', '0003', '0004' and 4 more" in caught.value.findings[0].fix
