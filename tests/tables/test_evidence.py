"""Evidence beside detections: rows, layouts, names of columns, logits of known classes alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.findings import InputError, UsageError
from openset.scorers import find
from openset.tables import Annotations, Detections, Head, Images
from openset.tables.evidence import (
    logit_classes,
    read_evidence,
    restricted,
    strange_logits,
    with_evidence,
)
from openset.tables.logits import LogitLayout, probabilities

NAMES = ("aeroplane", "dog", "zebra", "tv monitor")
KNOWN = ["dog", "airplane"]  # a synonym, in another order


def found(n=40, layout="sigmoid", extra=0, named=True):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, 4 + extra)).astype(np.float32)
    start = 1 if "background-first" in layout else 0
    label = logits[:, start : start + 4].argmax(axis=1)
    boxes = Detections(
        np.arange(n),
        label,
        np.tile([0.0, 0, 9, 9], (n, 1)),
        np.full(n, 0.5),
        NAMES if named else (),
    )
    return with_evidence(boxes, logits=logits, layout=layout, classes=None if named else NAMES)


@pytest.mark.parametrize(
    ("layout", "extra", "left"),
    [
        ("sigmoid", 0, [0, 1]),
        ("softmax", 0, [0, 1]),
        ("softmax-background-last", 1, [0, 1, 4]),
        ("softmax-background-first", 1, [0, 1, 2]),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_columns_of_known_classes_by_name_or_synonym(layout, extra, left, named):
    before = found(layout=layout, extra=extra, named=named)
    after = restricted(before, KNOWN)
    assert after.labels == ("aeroplane", "dog")
    assert (after.logits == before.logits[:, left]).all()
    kept = before.label < 2
    assert (after.label[kept] == before.label[kept]).all() and (after.score[kept] == 0.5).all()
    start = 1 if "first" in layout else 0
    chance = probabilities(
        before.logits.astype(float), "sigmoid" if layout == "sigmoid" else "softmax"
    )[:, start : start + 4]
    moved = np.flatnonzero(~kept)
    assert len(moved) and (after.label[moved] == chance[moved, :2].argmax(axis=1)).all()
    share = chance[moved, after.label[moved]] / chance[moved, before.label[moved]]
    assert after.score[moved] == pytest.approx(0.5 * share)
    assert (after.score[moved] < 0.5).all()


def test_scorers_see_the_known_columns_alone():
    before = found()
    after = restricted(before, KNOWN)
    scored = find("max_logit").fit().scored(after).unknownness
    assert scored == pytest.approx(-before.logits[:, :2].max(axis=1), abs=1e-6)


def test_the_last_layer_is_restricted_with_its_columns():
    rng = np.random.default_rng(1)
    embedding = rng.normal(size=(5, 3)).astype(np.float32)
    head = Head(rng.normal(size=(4, 3)), rng.normal(size=4), "sigmoid")
    boxes = Detections(
        np.arange(5), np.zeros(5, int), np.ones((5, 4)), np.ones(5), NAMES,
        logits=head.logits(embedding), layout=head.layout, embedding=embedding, head=head,
    )  # fmt: skip
    after = restricted(boxes, KNOWN)
    after.head.check(after)
    assert after.head.weight.shape == (2, 3)


def test_a_box_that_is_called_unknown_stays_so():
    boxes = Detections([1, 1], [4, 2], np.ones((2, 4)), [0.9, 0.8], (*NAMES, "unknown"))
    boxes = with_evidence(boxes, logits=np.eye(4)[:2], layout="sigmoid")
    after = restricted(boxes, KNOWN)
    assert [after.labels[at] for at in after.label] == ["unknown", "dog"]
    assert after.score[0] == 0.9


BAD = {
    "rows": (lambda: with_evidence(found(), logits=np.zeros((3, 4)), layout="sigmoid"), "OS343"),
    "shape": (lambda: with_evidence(found(), embedding=np.zeros(40)), "OS343"),
    "infinite": (
        lambda: with_evidence(found(), embedding=np.full((40, 2), -np.inf)),
        "OS502.*40 of 40 detections.*probability that is 0",
    ),
    "words": (lambda: with_evidence(found(), embedding=np.full((len(found()), 2), "x")), "OS343"),
    "names": (
        lambda: with_evidence(
            found(named=False), logits=np.zeros((40, 4)), layout="sigmoid", classes=["a"]
        ),
        "OS344.*4 columns.*1 names",
    ),
    "absent": (lambda: restricted(found(), ["dog", "ox"]), "OS344.*'ox'"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_belong_together_is_refused(case):
    make, words = BAD[case]
    with pytest.raises(InputError, match=f"(?s){words}"):
        make()


MANY = found(200)


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        ({"logits": np.roll(MANY.logits, 100, axis=0)}, "OS345", "by chance|any other order"),
        ({"classes": [*NAMES[1:], NAMES[0]]}, "OS345", "in another column"),
        ({"logits": probabilities(MANY.logits.astype(float), "sigmoid")}, "OS510", "between"),
    ],
    ids=["rows", "columns", "probabilities"],
)
def test_logits_of_other_boxes_are_refused(change, code, said):
    given = {"logits": MANY.logits, "layout": "sigmoid", "classes": NAMES} | change
    with pytest.raises(InputError, match=said) as refused:
        with_evidence(MANY, **given)
    assert refused.value.findings[0].code == code


def test_labels_that_are_numbers_are_named_by_the_ground_truth():
    truth = Annotations(Images([0]), NAMES, [], [], np.empty((0, 4)), category_id=[7, 3, 9, 1])
    numbered = replace(MANY, labels=(), label=truth.category_id[MANY.label])
    given = {"logits": MANY.logits, "layout": "sigmoid"}
    assert with_evidence(numbered, **given, classes=NAMES, truth=truth).logits is not None
    with pytest.raises(InputError, match="in another column"):
        with_evidence(numbered, **given, classes=NAMES[::-1], truth=truth)


def test_probabilities_are_not_scored():
    boxes = replace(MANY, logits=probabilities(MANY.logits.astype(float), "sigmoid"))
    with pytest.raises(InputError, match="OS510"):
        find("energy").fit().scored(boxes)


def test_a_few_rows_of_a_softmax_are_known_by_their_sums():
    """Twelve boxes are too few to judge by the range of their numbers."""
    few = found(12)
    rows = probabilities(few.logits.astype(float), "softmax")
    with pytest.raises(InputError, match="all 12 rows of logits sum to 1"):
        with_evidence(few, logits=rows, layout="softmax", classes=NAMES)
    few = replace(few, logits=0.9 * rows)  # which may be logits
    assert few.logits.max() < 1 and find("max_logit").fit().scored(few) is not None


def test_logits_without_layout_or_names():
    boxes = Detections([1], [0], [[0, 0, 9, 9]], [0.9])
    with pytest.raises(InputError, match=r"(?s)OS107.*layout.*softmax-background-last"):
        with_evidence(boxes, logits=[[1.0, 2.0]])
    with pytest.raises(InputError, match="OS344"):
        restricted(with_evidence(boxes, logits=[[1.0, 2.0]], layout="sigmoid"), ["dog"])
    with pytest.raises(UsageError, match="no logits"):
        restricted(boxes, ["dog"])


def test_arrays_in_a_file(tmp_path):
    arrays = {"logits": np.zeros((2, 4)), "layout": "sigmoid", "classes": np.array(NAMES)}
    np.savez(tmp_path / "a.npz", **arrays)
    held = read_evidence(tmp_path / "a.npz")
    assert held["layout"] == "sigmoid" and held["classes"] == list(NAMES)
    np.savez(tmp_path / "b.npz", boxes=np.zeros(2))
    with pytest.raises(InputError, match=r"OS107.*boxes"):
        read_evidence(tmp_path / "b.npz")
    (tmp_path / "c.npz").write_bytes(b"nothing of the kind")
    with pytest.raises(InputError, match="OS102"):
        read_evidence(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", logits=np.array([{}], object))
    with pytest.raises(InputError, match="OS102"):  # pickled: never opened
        read_evidence(tmp_path / "d.npz")


def test_classes_that_are_no_list_are_refused(tmp_path):
    np.savez(tmp_path / "x.npz", logits=np.zeros((1, 2)), layout="sigmoid", classes=7)
    with pytest.raises(InputError) as caught:
        read_evidence(tmp_path / "x.npz")
    assert caught.value.findings[0].code == "OS344"


def scored(layout="sigmoid", times=1.0, rows=300):
    """Boxes of one label, with the logits that make their scores, but for a factor of each."""
    rng = np.random.default_rng(2)
    logits = rng.normal(-4, 1, (rows, 3))
    logits[:, 0] = rng.normal(0, 2, rows)
    score = probabilities(logits, layout).max(axis=1) * times
    box = np.tile([0.0, 0, 9, 9], (rows, 1))
    label = logits.argmax(axis=1)
    return Detections(np.arange(rows), label, box, score, ("dog", "cat", "cow")), logits


@pytest.mark.parametrize(
    ("layout", "change", "says"),
    [
        ("sigmoid", lambda logits: logits, None),
        ("sigmoid", lambda logits: logits.astype(np.float16), None),
        ("softmax", lambda logits: logits, "as sigmoid, and not as softmax"),
        ("sigmoid", lambda logits: np.roll(logits, 1, 0), "1 row before it"),
        ("sigmoid", lambda logits: np.roll(logits, -2, 0), "2 rows after it"),
        ("sigmoid", lambda logits: -np.log1p(np.exp(-logits)), "exponentials of their largest"),
    ],
)
def test_logits_make_the_scores_of_their_boxes(layout, change, says):
    found, logits = scored()
    if says is None:
        assert with_evidence(found, logits=change(logits), layout=layout).logits is not None
        return
    with pytest.raises(InputError, match=rf"OS(345|510) .*{says}"):
        with_evidence(found, logits=change(logits), layout=layout)


def of_regions(layout="softmax-background-first", rows=400):
    """A region has a box for each of its two likeliest classes, which score as they are likely."""
    logits = np.random.default_rng(4).normal(0, 2, (rows, 6)).repeat(2, axis=0)
    chance = probabilities(logits, "softmax")[:, 1:]
    label = chance.argsort(axis=1)[np.arange(2 * rows), np.tile([-1, -2], rows)]
    score = chance[np.arange(2 * rows), label]
    box = np.tile([0.0, 0, 9, 9], (2 * rows, 1))
    return Detections(
        np.arange(2 * rows), label + 1, box, score, logits=logits, layout=LogitLayout(layout)
    )


def test_a_layout_that_leaves_out_a_class_is_found_by_its_scores():
    """Most scores are the probability of a class under both, but those of the last one are not."""
    (wrong,) = strange_logits(of_regions("softmax-background-last"), ())
    assert wrong.code == "OS345" and "layout='softmax-background-first'" in wrong.fix
    assert strange_logits(of_regions(), ()) == []


def test_a_layout_with_all_columns_for_classes_is_no_better():
    assert strange_logits(of_regions("softmax"), ()) == []


def test_boxes_that_are_called_unknown_score_as_their_column():
    boxes = of_regions("softmax-background-first-unknown-last")
    assert strange_logits(boxes, ()) == []
    assert strange_logits(replace(boxes, score=np.linspace(0.2, 1, len(boxes))), ()) == []


def test_columns_that_are_named_otherwise_are_found_where_logits_are_read():
    named = replace(MANY, provenance={"logit_classes": [*NAMES[1:], NAMES[0]]})
    (wrong,) = strange_logits(named, logit_classes(named))
    assert "in another column" in wrong.message
    assert strange_logits(MANY, logit_classes(MANY)) == []


def test_logits_that_merely_tell_nothing_may_be_those_of_an_early_network():
    assert strange_logits(replace(MANY, logits=MANY.logits[::-1]), NAMES) == []


def test_scores_that_are_not_made_of_logits_alone_are_none_of_our_business():
    objectness = np.random.default_rng(3).uniform(0.2, 1, 300)
    for layout in ("sigmoid", "softmax"):
        found, logits = scored("sigmoid", objectness)
        assert with_evidence(found, logits=logits, layout=layout).logits is not None


def shown(weak=0.0, classes=12, several=1, of_image=3, boxes=8):
    """Boxes on images that show few classes each; some labels are not of the largest logit."""
    rng = np.random.default_rng(2)
    image = np.repeat(np.arange(1200 // boxes), boxes)
    shows = rng.integers(0, classes, (len(image), of_image))[image]
    true = shows[np.arange(len(image)), rng.integers(0, of_image, len(image))]
    logits = rng.normal(-4, 1, (len(image), classes))
    logits[np.arange(len(image)), true] += 7
    score = rng.uniform(0.05, 0.95, len(image))
    wrong = rng.random(len(image)) < weak
    label = np.where(wrong, rng.integers(0, classes, len(image)), true)
    each = np.repeat(np.arange(len(image)), several)
    ranked = np.argsort(-logits, axis=1)[:, :several]
    if several > 1:  # a region has several labels, of falling scores
        label, score = ranked.ravel(), score[each] * np.tile(0.4 ** np.arange(several), len(image))
    names = tuple(f"class {at}" for at in range(classes))
    box = np.tile([0.0, 0, 9, 9], (len(each), 1))
    return Detections(image[each], label, box, score, names), logits[each]


def within_images(found, logits):
    rng = np.random.default_rng(5)
    rows = [rng.permutation(np.flatnonzero(found.image == one)) for one in np.unique(found.image)]
    return logits[np.concatenate(rows)]


@pytest.mark.parametrize("how", [{}, {"weak": 0.2}, {"classes": 4}, {"of_image": 2}], ids=str)
def test_logits_of_another_box_of_the_image_are_refused(how):
    boxes, logits = shown(**how)
    assert with_evidence(boxes, logits=logits, layout="sigmoid").logits is not None
    with pytest.raises(InputError, match="OS345  labels fit the largest logit of another box"):
        with_evidence(boxes, logits=within_images(boxes, logits), layout="sigmoid")


@pytest.mark.parametrize(
    "how",
    [{"weak": 0.5}, {"several": 3}, {"of_image": 1}, {"boxes": 1}, {"weak": 0.2, "of_image": 1}],
    ids=str,
)
def test_logits_of_weak_detectors_and_of_images_with_one_class_are_their_own(how):
    boxes, logits = shown(**how)
    assert with_evidence(boxes, logits=logits, layout="sigmoid").logits is not None


def named(layout="softmax-background-first", **change):
    """The same with names, as one array in which nothing is said twice."""
    found = replace(of_regions(), label=of_regions().label - 1, labels=("a", "b", "c", "d", "e"))
    return replace(found, **{"layout": LogitLayout(layout), **change})


def test_scores_tell_columns_and_rows_where_labels_are_of_no_largest_logit():
    honest, names = named(), ["a", "b", "c", "d", "e"]
    assert strange_logits(honest, names) == []
    exchanged = honest.logits[:, [0, 1, 3, 2, 4, 5]]
    (wrong,) = strange_logits(replace(honest, logits=exchanged), names)
    assert wrong.message == "scores of 2 of 5 labels are made by another column"
    assert wrong.example == "b has the column of c"
    shuffled = np.random.default_rng(1).permutation(len(honest))
    (wrong,) = strange_logits(replace(honest, logits=honest.logits[shuffled]), names)
    assert "the logits of other boxes make the scores" in wrong.message


@pytest.mark.parametrize("change", [lambda s: s * 0.9, np.sqrt, lambda s: s.round(3)])
def test_scores_that_logits_do_not_make_alone_are_no_finding(change):
    honest = named(score=change(named().score))
    assert strange_logits(honest, ["a", "b", "c", "d", "e"]) == []
