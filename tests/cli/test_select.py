"""select: filter, join and split files, of which an evaluation is as before."""

from __future__ import annotations

import json

import pytest

from openset.formats import read_annotations, read_detections

K = ("--known", "known.txt", "--no-intervals", "--json")


def values(done):
    assert done.code == 0, done.err
    (model,) = done.json["models"].values()
    return {name: value["value"] for name, value in model["values"].items()}


def test_split_and_join_again(scene, openset):
    done = openset("select", "gt.json", "-o", "a.json", "--rest", "b.json", "--share", "0.75")
    assert done.out == "wrote a.json: 18 images, 54 objects\nwrote b.json: 6 images, 18 objects\n"
    assert openset("select", "base.json", "-o", "da.json", "--images", "a.json").code == 0
    assert openset("select", "base.json", "-o", "db.json", "--images", "b.json").code == 0
    assert openset("select", "a.json", "b.json", "-o", "whole.json").code == 0
    assert openset("select", "da.json", "db.json", "-o", "found.json").code == 0
    whole = values(openset("evaluate", "whole.json", "found.json", *K))
    assert whole == values(openset("evaluate", "gt.json", "base.json", *K))


def test_the_rest_of_the_detections(scene, openset):
    ids = ",".join(str(id_) for id_ in range(10, 15))
    done = openset(
        "select", "base.json", "--images", ids, "-o", "some.json", "--rest", "rest.json", "--json"
    )
    some, rest = (read_detections(scene / name) for name in ("some.json", "rest.json"))
    assert set(some.image.tolist()) <= set(range(10, 15)) and not set(rest.image) & set(some.image)
    assert done.json["written"] == {"some.json": len(some), "rest.json": len(rest)}
    assert len(some) + len(rest) == len(json.loads((scene / "base.json").read_text()))


def test_classes_and_roles(scene, openset):
    assert openset("select", "gt.json", "--classes", "dog", "-o", "dogs.json").code == 0
    assert read_annotations(scene / "dogs.json").labels == ("dog",)
    roles = ("--roles", "unknown", "--known", "known.txt")
    assert openset("select", "gt.json", *roles, "-o", "new.json").code == 0
    assert read_annotations(scene / "new.json").labels == ("zebra", "unknown")
    asked = ("--classes", "cat", "--truth", "gt.json")
    assert openset("select", "base.json", *asked, "-o", "cats.json").code == 0
    assert set(read_detections(scene / "cats.json").label.tolist()) == {2}


def test_a_list_of_images_in_a_file(scene, openset):
    (scene / "list.txt").write_text("image 003.png\n15\n\nimage 99.png\n")
    done = openset("select", "gt.json", "--images", "list.txt", "-o", "some.json")
    assert read_annotations(scene / "some.json").images.id.tolist() == [13, 15]
    assert "OS382" in done.err and "image 99.png" in done.err


def test_images_of_another_split_are_why_nothing_is_left(scene, openset):
    (scene / "list.txt").write_text("a.png\nb.png\n")
    done = openset("select", "gt.json", "--images", "list.txt", "-o", "some.json")
    said = " ".join(done.err.split())
    assert "error OS383" in said and "exclude each other" not in said
    assert "cause 2 of 2 images asked for are not there: a misspelt name, or another split" in said


def test_more_images_than_a_file_name_has_room_for(scene, openset):
    names = ",".join(["image 001.png", *(f"absent {i:03d}.png" for i in range(250))])
    done = openset("select", "gt.json", "--images", names, "-o", "some.json")
    assert done.code == 0, done.err
    assert len(read_annotations(scene / "some.json").images) == 1


def test_groups_stay_together(scene, openset):
    options = ("--share", "0.5", "--group-by", r"image (\d\d)")
    assert openset("select", "gt.json", *options, "-o", "a.json", "--rest", "b.json").code == 0
    sides = [
        {name[:8] for name in read_annotations(scene / file).images.file_name}
        for file in ("a.json", "b.json")
    ]
    assert all(sides) and not sides[0] & sides[1]
    assert "resampled_group" not in read_annotations(scene / "a.json").images.attributes


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gt.json", "base.json"], "ground truth and detections cannot be joined"),
        (["gt.json", "--classes", "horse", "--drop-empty"], "OS383"),
        (["gt.json", "--roles", "unknwn"], "unknown role 'unknwn'. Did you mean 'unknown'"),
        (["gt.json", "--roles", "unknown"], "roles must be stated"),
        (["gt.json", "--share", "1.5"], "a share lies between 0 and 1"),
        (["base.json", "--share", "0.5"], "a share is drawn of a ground truth"),
        (["base.json", "--classes", "dog"], "pass --truth to find their names"),
        (["gt.json", "--share", "0.5", "--rest", "x.json"], "--out and --rest are one file"),
        (["gt.json", "--share", "0.5", "--rest", "x"], "cannot tell a format from 'x'"),
        (["gt.json", "--to", "yollo"], "unknown format 'yollo'. Did you mean 'yolo'"),
    ],
)
def test_refusals(arguments, says, scene, openset):
    done = openset("select", *arguments, "-o", "x.json")
    assert done.code == 2 and says in " ".join(done.err.split())
    assert not (scene / "x.json").exists()


def test_a_format_by_name(scene, openset):
    done = openset("select", "gt.json", "--to", "yolo", "-o", "a", "--rest", "b", "--share", "0.5")
    assert done.code == 0, done.err
    assert [len(read_annotations(scene / name).images) for name in "ab"] == [12, 12]
    assert (scene / "a" / "data.yaml").is_file()


def test_one_file_twice_is_said(scene, openset):
    done = openset("select", "gt.json", "gt.json", "-o", "twice.json")
    assert done.code == 0 and "OS384" in done.err and "24 images are in several files" in done.err


def test_two_detectors_in_one_file_are_said(scene, openset):
    found = json.loads((scene / "base.json").read_text())
    other = [
        one | {"score": one["score"] / 2, "bbox": [b + 1 for b in one["bbox"]]} for one in found
    ]
    (scene / "other.json").write_text(json.dumps(other))
    done = openset("select", "base.json", "other.json", "-o", "both.json", "--truth", "gt.json")
    assert done.code == 0 and "OS232" in done.err and "--force" not in done.err
