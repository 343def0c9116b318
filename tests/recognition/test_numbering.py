"""Classes in another order: matched by name if files have names, and said if they have none."""

from __future__ import annotations

import numpy as np
import pytest

NAMES = np.array(["zero", "one", "two", "three", "four"])
BY_NAME = np.argsort(NAMES)  # as ImageFolder numbers them
RNG = np.random.default_rng(0)
LABEL = RNG.permutation(np.arange(120) % 5)


def logits(noise):
    """Of known and unknown samples, by a training of its own."""
    drawn = np.random.default_rng(noise)
    known = 2 * np.eye(5)[LABEL] + drawn.normal(0, 1, (120, 5))
    return known, drawn.normal(0, 1, (60, 5))


def archive(path, noise, order, **more):
    """Scores whose columns and labels are in an order of classes."""
    known, unknown = logits(noise)
    label = np.argsort(order)[LABEL]
    np.savez(path, logits_k=known[:, order], labels_k=label, logits_u=unknown[:, order], **more)


def table(path, noise, order, decided=False):
    """The same as CSV, with named columns, or with classes and openness alone."""
    known, unknown = logits(noise)
    rows = [*zip([*NAMES[LABEL], *["unknown"] * 60], [*known, *unknown], strict=True)]
    columns = ",".join(f"logit:{NAMES[at]}" for at in order)
    lines = [f"id,label,{'predicted,openness' if decided else columns}"]
    for at, (label, row) in enumerate(rows):
        values = [NAMES[row.argmax()], -row.max()] if decided else row[order]
        lines.append(",".join([f"im{at}.png", label, *map(str, values)]))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_other_numbers_are_said_and_names_mend_it(openset, here):
    archive("a.npz", 1, np.arange(5))
    archive("b.npz", 2, BY_NAME)
    refused = openset("recognise", "a.npz", "b.npz", "--no-intervals")
    assert refused.code == 2 and "OS833" in refused.err
    assert "have another number: 0 is 4 in a" in " ".join(refused.err.split())
    assert "classes in .npz" in " ".join(refused.err.split())
    archive("a.npz", 1, np.arange(5), classes=NAMES)
    archive("b.npz", 2, BY_NAME, classes=NAMES[BY_NAME])
    done = openset("recognise", "a.npz", "b.npz", "--no-intervals")
    assert done.code == 0 and "OS833" not in done.err


def test_other_names_of_one_class_are_said(openset, here):
    archive("a.npz", 1, np.arange(5), classes=NAMES)
    archive("b.npz", 2, np.arange(5), classes=["null", "eins", "zwei", "drei", "vier"])
    refused = openset("recognise", "a.npz", "b.npz", "--no-intervals")
    said = " ".join(refused.err.split())
    assert "OS833" in said and "have another name: drei is three in a" in said


@pytest.mark.parametrize("decided", [False, True])
def test_columns_in_another_order_are_the_same_classes(openset, here, decided):
    table(here / "a.csv", 1, np.arange(5), decided=decided)
    table(here / "b.csv", 2, BY_NAME)
    done = openset("recognise", "a.csv", "b.csv", "--no-intervals")
    assert (done.code, done.err) == (0, "")


def test_the_same_scores_are_known_again_in_another_order_of_columns(openset, here):
    table(here / "a.csv", 1, np.arange(5))
    table(here / "b.csv", 1, BY_NAME)
    assert "OS447" in openset("recognise", "a.csv", "b.csv", "--no-intervals").err


def test_samples_in_another_order_are_not_taken_for_classes(openset, here):
    archive("a.npz", 1, np.arange(5))
    known, unknown = logits(2)
    rows = RNG.permutation(120)
    np.savez("b.npz", logits_k=known[rows], labels_k=LABEL[rows], logits_u=unknown)
    assert "OS833" not in openset("recognise", "a.npz", "b.npz", "--no-intervals").err


def test_no_fix_names_an_option_that_the_verb_lacks(openset, here):
    archive("a.npz", 1, np.arange(5), classes=NAMES)
    known, unknown = logits(2)
    np.savez("b.npz", logits_k=known[:60], labels_k=LABEL[:60], logits_u=unknown)
    refused = openset("recognise", "a.npz", "b.npz", "--no-intervals")
    assert refused.code == 2 and "--known" not in refused.err
    assert "names of classes" in " ".join(refused.err.split())


def test_a_last_batch_that_was_left_out_is_counted(openset, here):
    archive("a.npz", 1, np.arange(5))
    known, unknown = logits(2)
    np.savez("b.npz", logits_k=known[:96], labels_k=LABEL[:96], logits_u=unknown[:32])
    refused = openset("recognise", "a.npz", "b.npz", "--no-intervals")
    said = " ".join(refused.err.split())
    assert refused.code == 2 and "drop_last" in said
    assert "OS834 96 known and 32 unknown samples, and 120 known and 60 unknown in a" in said
    assert openset("recognise", "a.npz", "b.npz", "--no-intervals", "--force").code == 0
