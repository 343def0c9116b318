"""describe: what a ground truth holds, for people and programs."""

from __future__ import annotations

import json

from openset.diagnosis.statistics import statistics
from openset.formats import read_annotations
from openset.tables import Vocabulary


def test_with_roles(scene, openset, snapshot):
    snapshot("describe/roles", openset("describe", "gt.json", "--known", "known.txt"))


def test_without_roles(scene, openset, snapshot):
    snapshot("describe/plain", openset("describe", "gt.json", "--limit", "2"))


def test_programs_get_everything(scene, openset):
    done = openset("describe", "gt.json", "--known", "known.txt", "--limit", "1", "--json")
    truth = read_annotations(scene / "gt.json")
    expected = statistics(truth, Vocabulary.of(scene / "known.txt")).document()
    assert {name: done.json[name] for name in expected} == json.loads(json.dumps(expected))


def test_roles_that_the_file_states(scene, openset):
    assert openset("select", "gt.json", "-o", "plain.json").code == 0
    document = json.loads((scene / "gt.json").read_text())
    for category in document["categories"]:
        category["role"] = "known" if category["name"] in ("dog", "cat") else "unknown"
    (scene / "stated.json").write_text(json.dumps(document))
    stated = openset("describe", "stated.json").out
    assert stated == openset("describe", "gt.json", "--known", "known.txt").out
    assert "wild 4" in " ".join(stated.split())


def test_refusals(scene, openset):
    assert "--limit must be at least 1" in openset("describe", "gt.json", "--limit", "0").err
    assert "OS105" in openset("describe", "base.json").err


def test_known_labels_that_are_not_there_are_told(scene, openset):
    for command in (
        ("describe", "gt.json"),
        ("select", "gt.json", "-o", "s.json", "--roles=unknown"),
    ):
        done = openset(*command, "--known", "dogs,cats")
        said = " ".join(done.err.split())
        assert done.code == 0 and "warning OS310 2 of 2 known labels are absent" in said
        assert "a slip of the pen: 'dogs' for 'dog'" in said
        assert "OS310" not in openset(*command, "--known", "dog,lynx").err


def test_one_of_several_files_may_have_the_known_labels(scene, openset):
    assert openset("select", "gt.json", "--classes", "zebra", "-o", "wild.json").code == 0
    command = ("select", "wild.json", "gt.json", "-o", "s.json", "--roles=unknown")
    assert "OS310" not in openset(*command, "--known", "dog,cat").err


def test_federated_annotation_is_said(scene, openset):
    truth = json.loads((scene / "gt.json").read_text())
    assert "OS460" not in openset("describe", "gt.json").err
    for image in truth["images"]:
        image["neg_category_ids"] = [truth["categories"][0]["id"]]
    (scene / "gt.json").write_text(json.dumps(truth))
    for line in (("describe", "gt.json"), ("evaluate", "gt.json", "base.json")):
        done = openset(*line, "--known", "dog,cat")
        assert done.code == 0 and "warning OS460" in done.err
