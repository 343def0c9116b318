"""How near a set is: by hand, on the real part of WordNet."""

from __future__ import annotations

import numpy as np
import pytest

from openset.benchmarks.building import build
from openset.benchmarks.bundle import of_folder
from openset.benchmarks.similarity import Look, similarity
from openset.benchmarks.taxonomy import of_wordnet, synsets_of
from openset.findings import InputError
from openset.tables import Vocabulary
from openset.tables.vocabulary import vocabularies
from scenes.benchmarks import write_coco
from scenes.wordnet import nouns

VOC, COCO = (vocabularies()[name].known for name in ("voc20", "coco80"))
IMAGES = {
    "000000000001": ["dog", "car"],
    "000000000002": ["zebra", "zebra", "truck"],
    "000000000003": ["pizza"],
    "000000000004": ["kite"],
}


@pytest.fixture
def bundle(tmp_path):
    write_coco(tmp_path / "instances_val2017.json", IMAGES, labels=COCO)
    (tmp_path / "data.noun").write_text(nouns())
    return of_folder(build("fmiyc-coco", tmp_path, tmp_path / "out").folder)


def test_the_mean_over_known_classes_of_the_largest(bundle, tmp_path):
    rows = {one.name: one for one in similarity(bundle, Look(wordnet=tmp_path / "data.noun"))}
    assert set(rows) == {"ood: near", "ood: far", "ood: farther"}
    pins = synsets_of((*VOC, "zebra", "truck"), Vocabulary(tasks=()), {})
    tree = of_wordnet(tmp_path / "data.noun", pins)
    near = [max(tree.similarity(k, "zebra"), tree.similarity(k, "truck")) for k in VOC]
    assert rows["ood: near"].wu_palmer == pytest.approx(np.mean(near))
    assert rows["ood: near"].classes == ("zebra", "truck")  # by number of boxes
    paths = [max(tree.path_similarity(k, x) for x in ("zebra", "truck")) for k in VOC]
    assert rows["ood: near"].path == pytest.approx(np.mean(paths))
    assert rows["ood: near"].wu_palmer > rows["ood: farther"].wu_palmer
    (one, *_) = similarity(bundle, Look(wordnet=tmp_path / "data.noun", top=1))
    assert one.classes == ("zebra",)
    # Horse and zebra have one parent.
    assert tree.path_similarity("horse", "zebra") == pytest.approx(1 / 3)


def test_cosines_of_images(bundle, tmp_path):
    names = [f"{i:012d}" for i in range(1, 5)]
    np.savez(tmp_path / "e.npz", names=names, embedding=[[1, 0], [3, 4], [0, 2], [5, 0]])
    rows = {one.name: one.cosine for one in similarity(bundle, Look(embeddings=tmp_path / "e.npz"))}
    assert rows == pytest.approx({"ood: near": 0.6, "ood: farther": 0.0, "ood: far": 1.0})
    np.savez(tmp_path / "e.npz", names=names[:2], embedding=[[1, 0], [3, 4]])
    with pytest.raises(InputError, match="OS910"):
        similarity(bundle, Look(embeddings=tmp_path / "e.npz"))


def test_a_dictionary_cut_at_a_line_end_is_not_whole(bundle, tmp_path):
    lines = nouns().splitlines(keepends=True)
    (tmp_path / "data.noun").write_text("".join(lines[:-40]))
    with pytest.raises(InputError, match="OS913") as caught:
        similarity(bundle, Look(wordnet=tmp_path / "data.noun"))
    assert "is not whole: it lacks" in str(caught.value)
    with pytest.raises(InputError, match="OS913"):
        build("fmiyc-coco", tmp_path, tmp_path / "other")
