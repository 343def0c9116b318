"""An open-vocabulary detector that says unknown: four readings, their texts, and the ledger."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from PIL import Image

import openset

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("transformers", reason="the transformers extra is not installed")

from openset import scorers  # noqa: E402
from openset.detectors import ImageFiles, find, run  # noqa: E402
from openset.detectors._vocabulary import DISTRACTORS, Prompts, with_unknown  # noqa: E402
from openset.findings import InputError, UsageError  # noqa: E402
from openset.formats import read_detections, write  # noqa: E402
from openset.scorers import ledger  # noqa: E402
from openset.tables import Annotations, Images, Vocabulary  # noqa: E402

LABELS = ("cat", "dog")
READINGS = ["objectness", "wildcard", "distractors", "oracle"]
every_reading = pytest.mark.parametrize("reading", READINGS)


def others(reading):
    return {"others": ["horse", "sheep"]} if reading == "oracle" else {}


def built(reading, labels=LABELS, **options):
    torch.manual_seed(0)
    chosen = {"size": "small", "score": 0.0, "unknown": reading, **others(reading), **options}
    return find("owlv2").build(labels, device="cpu", **chosen)


def images():
    chance = np.random.default_rng(0)
    return [chance.integers(0, 255, (60, 80, 3), np.uint8) for _ in range(2)]


KEEP = frozenset({"logits", "objectness", "region", "embedding"})


@every_reading
def test_the_last_column_is_unknown_and_wins_by_its_score(reading):
    model = built(reading)
    assert model.layout == "sigmoid-unknown-last"
    for found in model.found(images(), KEEP):
        share = 1 / (1 + np.exp(-found.logits.astype(np.float64)))
        assert share.shape[1] == 3
        assert np.array_equal(found.label, share.argmax(1))
        assert np.allclose(found.unknownness, share[:, 2], atol=1e-6)
        assert np.allclose(found.score, share.max(1), atol=1e-6)
        assert set(found.label.tolist()) <= {0, 1, 2}


def test_objectness_is_an_object_times_no_known_name():
    found = built("objectness").found(images(), KEEP)[0]
    known = 1 / (1 + np.exp(-found.logits[:, :2].astype(np.float64)))
    wanted = found.attributes["objectness"] * (1 - known.max(1))
    assert np.allclose(found.unknownness, np.clip(wanted, 1e-6, 1 - 1e-6), atol=1e-5)


def by_region(model, column=None):
    """Unknownness of every patch, in order; or a column of the logits."""
    found = model.found(images(), KEEP)[0]
    order = np.argsort(found.attributes["region"])
    return found.unknownness[order] if column is None else found.logits[order, column]


@every_reading
def test_one_more_known_name_never_makes_anything_more_unknown(reading):
    few, more = by_region(built(reading)), by_region(built(reading, (*LABELS, "cow")))
    assert (more <= few + 1e-6).all()


@every_reading
def test_the_order_of_names_means_nothing(reading):
    one, two = built(reading), built(reading, LABELS[::-1])
    assert np.allclose(by_region(one), by_region(two), atol=1e-5)
    assert np.allclose(by_region(one, 0), by_region(two, 1), rtol=1e-4, atol=1e-4)


def test_without_known_names_all_is_unknown():
    prompts = Prompts((), (), "objectness", "{}")
    objectness = torch.randn(5)
    found = with_unknown(torch.empty(5, 0), objectness, prompts)
    assert found.shape == (5, 1)
    torch.testing.assert_close(found[:, 0], objectness)


def test_the_best_of_the_other_texts_speaks_for_the_unknown():
    prompts = Prompts(("cat",), ("thing", "object"), "wildcard", "{}")
    found = with_unknown(torch.tensor([[1.0, 3.0, 2.0], [1.0, -2.0, 0.0]]), torch.ones(2), prompts)
    assert found.tolist() == [[1.0, 3.0], [1.0, 0.0]]


def test_names_are_put_into_the_template_and_a_wildcard_is_not():
    names = Prompts.of(LABELS, "distractors", ["owl"], "a photo of a {}").texts
    assert names == ("a photo of a cat", "a photo of a dog", "a photo of a owl")
    wild = Prompts.of(LABELS, "wildcard", None, "a photo of a {}").texts
    assert wild[2:] == ("object", "a thing")


def test_distractors_are_no_classes_of_a_benchmark():
    taken = set(Vocabulary.of("coco80").known) | set(Vocabulary.of("voc20").known)
    assert len(DISTRACTORS) == len(set(DISTRACTORS)) == 50 and not taken & set(DISTRACTORS)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"unknown": "oracle"}, UsageError, "others= says which texts"),
        ({"unknown": "oracle", "others": []}, UsageError, "others= says which texts"),
        ({"unknown": "objectness", "others": ["owl"]}, UsageError, "no other texts"),
        ({"others": ["owl"]}, UsageError, "no other texts"),
        ({"unknown": "wildcard", "template": "a cat"}, UsageError, "where the name goes"),
        ({"unknown": "distractors", "others": ["owl", "Dog "]}, InputError, "OS655"),
        ({"unknown": "oracel"}, UsageError, "unknown"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, error, said):
    with pytest.raises(error, match=said):
        find("owlv2").build(LABELS, device="cpu", size="small", **options)


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    for at, pixels in enumerate(images()):
        Image.fromarray(pixels).save(folder / f"{at}.png")
    where = Images(np.arange(2), np.array(["0.png", "1.png"]), np.full(2, 80), np.full(2, 60))
    box = np.array([[5.0, 5, 30, 30], [20, 20, 30, 30]])
    table = Annotations(where, ("cat", "dog", "horse"), [0, 1], [0, 2], box)
    return folder, table


@every_reading
def test_its_detections_are_evaluated_and_the_ledger_says_what_was_asked(truth, reading, tmp_path):
    folder, table = truth
    found = run(built(reading), ImageFiles.of_annotations(table, folder), split="pictures test")
    assert found.labels == (*LABELS, "unknown")
    write(found, tmp_path / "found.parquet", format="parquet")
    found = read_detections(tmp_path / "found.parquet")
    (entry,) = ledger.entries(found)
    assert entry.options["unknown"] == reading and entry.options["texts"][:2] == list(LABELS)
    assert entry.uses_unknown == (reading == "oracle")
    said = openset.evaluate(table, found, known=list(LABELS)).provenance.ledger
    assert "LEAK: weights that have seen the web" in said
    assert ("told the names of unknown classes" in said) == (reading == "oracle")


def test_no_later_score_removes_what_it_was_taught(truth):
    folder, table = truth
    found = run(built("oracle"), ImageFiles.of_annotations(table, folder))
    scored = scorers.find("energy").fit(activation="sigmoid").scored(found)
    assert [entry.step for entry in ledger.entries(scored)] == ["taught", "score"]
    again = scorers.find("msp").fit(activation="sigmoid").scored(scored)
    assert [entry.name for entry in ledger.entries(again)] == ["owlv2 (oracle)", "msp"]
    (left,) = ledger.entries(ledger.unscored(again))
    assert left.step == "taught"


def test_a_detector_that_only_knows_names_says_no_unknown_and_leaks_all_the_same(truth):
    folder, table = truth
    found = run(built("none"), ImageFiles.of_annotations(table, folder))
    assert found.labels == LABELS and found.unknownness is None
    assert "LEAK: weights that have seen the web" in ledger.summary(found)


def tokenizer_in(folder):
    """A tokenizer of letters, as CLIP's files are."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = [*letters, *(f"{one}</w>" for one in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: at for at, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    told = {"tokenizer_class": "CLIPTokenizer", "model_max_length": 16}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("owl")
    built("none").network.save_pretrained(folder)
    return folder


def test_a_folder_without_a_tokenizer_is_refused(stored):
    with pytest.raises(InputError, match=r"OS604  .* has no tokenizer[\s\S]*save_pretrained"):
        built("none", ("horse",), folder=str(stored))


def test_a_folder_with_its_tokenizer_runs_and_a_text_too_long_is_named(stored, tmp_path):
    folder = tmp_path / "owl"
    shutil.copytree(stored, folder)
    tokenizer_in(folder)
    model = built("wildcard", folder=str(folder), template="a {}")
    assert model.tokens["input_ids"].shape == (4, 16)
    assert len({tuple(row) for row in model.tokens["input_ids"].tolist()}) == 4
    assert len(model.found(images(), KEEP)) == 2
    with pytest.raises(UsageError, match=r"'a photograph of a very large cat' has 28 tokens.*16"):
        built("none", ("cat",), folder=str(folder), template="a photograph of a very large {}")
    (folder / "vocab.json").write_text("no json")
    with pytest.raises(InputError, match="OS604"):
        built("none", folder=str(folder))
