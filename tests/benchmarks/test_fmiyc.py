"""FMIYC by commands alone, on the layouts, names and header lines of the real files."""

from __future__ import annotations

import gzip
import json

import pytest

from openset.benchmarks import files
from openset.cli import main
from openset.tables.vocabulary import vocabularies
from scenes.benchmarks import write_coco
from scenes.wordnet import nouns

COCO = vocabularies()["coco80"].known
SHOWN = [["dog"], ["cat", "person"], ["zebra", "pizza"], ["truck"], ["kite"], ["pizza"], ["cake"]]


def said(capsys, *arguments):
    """What a command prints as JSON."""
    assert main([*map(str, arguments), "--json", "-q"]) in (0, 1)
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def source(tmp_path):
    """COCO's annotations with sparse ids, and WordNet's nouns below their licence."""
    images = {f"{at:012d}": SHOWN[at % len(SHOWN)] for at in range(1, 43)}
    path = write_coco(tmp_path / "annotations" / "instances_val2017.json", images, labels=COCO)
    document = json.loads(path.read_text())
    found = [
        {"image_id": a["image_id"], "bbox": a["bbox"], "score": 0.3 + 0.01 * (a["id"] % 60)}
        | {"category_id": a["category_id"] if a["id"] % 3 else COCO.index("horse") + 1}
        for a in document["annotations"]
    ]
    (tmp_path / "yolo.json").write_text(json.dumps(found))
    (tmp_path / "data.noun").write_text(nouns())
    return tmp_path


def workflow(capsys, source, found):
    bench = source / "bench"
    built = said(capsys, "build", "fmiyc-coco", "--source", source, "-o", bench)
    near = said(capsys, "similarity", bench, "--wordnet", source / "data.noun")["sets"]
    audited = said(capsys, "audit", bench, "--second", found)["audits"]
    pair = ("--id", bench / "id.json", bench / "ood.json", found)
    asked = ("--unknownness", "confidence", "--minimum-score", "best", "--by", "tier")
    result = said(capsys, "evaluate", *pair, *asked, "--leaked", "drop", "-o", source / "run")
    said(capsys, "report", source / "run")
    return built["bundle"]["splits"], near, audited, result


def test_from_official_files_to_the_table(source, capsys):
    splits, near, audited, result = workflow(capsys, source, source / "yolo.json")
    assert (splits["id"]["images"], splits["ood"]["images"]) == (12, 30)
    assert [one["name"] for one in near] == ["ood: near", "ood: far", "ood: farther"]
    similar = [one["wu_palmer"] for one in near]
    assert similar == sorted(similar, reverse=True)
    checks = audited[0]["principles"]["semantic_overlap"]["checks"]
    assert any("nobody labelled" in check["what"] for check in checks)
    (model,) = result["models"].values()
    assert model["values"]["auroc"]["value"] is not None
    assert model["values"]["nose"]["params"]["set"] == "ood"
    (strata,) = result["strata"]["models"].values()
    assert list(strata) == ["near", "far", "farther"]
    assert all(one["nose"]["interval"] for one in strata.values())
    assert "by-stratum" in (source / "run" / "report.html").read_text()


def test_a_dictionary_of_another_version_is_not_there(source, openset):
    found = openset("fetch", "fmiyc-coco", "-o", source, "--json").json["sources"]["wordnet"]
    assert found["state"] == "there"
    file = source / "data.noun"
    licence = "  29 WordNet 3.1 Copyright 2011 by Princeton University.  All rights reserved.\n"
    file.write_text(licence + file.read_text())
    found = openset("fetch", "fmiyc-coco", "-o", source, "--json").json["sources"]["wordnet"]
    assert found["state"] == "wrong" and "is of WordNet 3.1" in found["why"]
    file.write_text(file.read_text().replace("WordNet 3.1", "WordNet 3.0"))
    assert openset("fetch", "fmiyc-coco", "-o", source).code == 0
    # Whoever pins synsets by hand may take another one.
    own = source / "own.toml"
    text = files()["fmiyc-coco"].read_text()
    own.write_text(
        text.replace(
            'wordnet = "data.noun"', 'wordnet = "data.noun", synsets = { dog = "02084071" }'
        )
    )
    file.write_text(file.read_text().replace("WordNet 3.0", "WordNet 3.1"))
    assert openset("fetch", own, "-o", source).code == 0


def test_every_misspelt_class_has_its_nearest(source, openset):
    (source / "own.toml").write_text(
        """
        summary = "misspelt"
        [classes]
        known = ["zebraa", "piza", "qqqq"]
        [sources.coco]
        path = ["annotations/instances_val2017.json"]
        [splits.test]
        kind = "test"
        source = "coco"
        """
    )
    done = openset("build", source / "own.toml", "--source", source, "-o", source / "out")
    words = " ".join(done.err.split())
    assert done.code == 2 and "OS904 3 class names" in words
    assert "did you mean 'zebra' for 'zebraa', 'pizza' for 'piza'?" in words


def test_coco_val_and_a_real_detector(official, source, capsys):
    """Near objects are confused most; far and farther cannot be told apart."""
    truth = official / "coco" / "instances_val2017_4697.json.gz"
    (source / "annotations" / "instances_val2017.json").write_bytes(
        gzip.decompress(truth.read_bytes())
    )
    found = official / "coco" / "yolox_nano_bbox.json.gz"
    splits, _, _, result = workflow(capsys, source, found)
    assert (splits["id"]["images"], splits["ood"]["images"]) == (732, 813)
    (strata,) = result["strata"]["models"].values()
    nose = {name: one["nose"]["value"] for name, one in strata.items()}
    assert nose["near"] > nose["far"] > nose["farther"]
    (model,) = result["models"].values()
    assert model["values"]["images_without_predictions@ood"]["value"] > 0.5
