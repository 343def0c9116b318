"""Object evidence: p_i - p_b over correct detections, by hand and by another way to compute it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.evidence import BINS, object_evidence
from openset.findings import InputError, UsageError
from openset.matching import match
from openset.tables import LogitLayout
from scenes.diagnosis import PAPER, by_hand, random_tables

FIRST, LAST = LogitLayout.SOFTMAX_BACKGROUND_FIRST, LogitLayout.SOFTMAX_BACKGROUND_LAST


def with_shares(tables, background, own, layout=LAST):
    """Detections whose own class and background have the given probabilities."""
    truth, detections, vocabulary = tables
    classes = len(vocabulary.known)
    share = np.tile(((1 - background - own) / (classes - 1))[:, None], (1, classes))
    rows = np.flatnonzero(detections.label < classes)
    share[rows, detections.label[rows]] = own[rows]
    sides = [share, background[:, None]] if layout is LAST else [background[:, None], share]
    logits = np.log(np.hstack(sides)) + np.arange(len(detections))[:, None]  # a softmax drops these
    return truth, replace(detections, logits=logits, layout=layout), vocabulary


@pytest.fixture
def scene():
    tables = by_hand()
    n = len(tables[1])
    return with_shares(tables, np.linspace(0.5, 0.3, n), np.linspace(0.2, 0.6, n))


def test_by_hand(scene):
    found = object_evidence(match(*scene, PAPER), scene[1])
    # The first detection is the correct dog.
    dog = found.classes["dog"]
    assert (dog.count, dog.negative, dog.deviation) == (1, 1.0, 0.0)
    assert dog.mean == pytest.approx(0.2 - 0.5, abs=1e-6)
    assert found.classes["cat"].mean is None
    assert sum(found.correct.histogram) == found.correct.count
    assert found.on_unknown.count == match(*scene, PAPER).open_set_errors.sum() > 0


@pytest.mark.parametrize("layout", [FIRST, LAST])
def test_agrees_with_a_loop(layout):
    tables = random_tables(3, images=60)
    rng = np.random.default_rng(0)
    parts = rng.dirichlet([1, 1, 1], len(tables[1]))
    tables = with_shares(tables, parts[:, 0], parts[:, 1], layout)
    matches = match(*tables, PAPER)
    found = object_evidence(matches, tables[1])
    wanted = {name: [] for name in matches.vocabulary.known}
    for at in np.flatnonzero(matches.outcome().correct[: matches.known_end]):
        row = matches.row[at]
        wanted[matches.vocabulary.known[matches.klass[at]]].append(parts[row, 1] - parts[row, 0])
    assert all(wanted.values())
    for name, values in wanted.items():
        spread = found.classes[name]
        assert spread.count == len(values)
        if values:
            assert spread.mean == pytest.approx(np.mean(values), abs=1e-5)
            assert spread.deviation == pytest.approx(np.std(values), abs=1e-5)
            assert spread.negative == pytest.approx(np.mean(np.array(values) < 0))


def test_rows_and_text(scene):
    found = object_evidence(match(*scene, PAPER), scene[1])
    rows = found.rows()
    assert [row["class"] for row in rows][:2] == ["all", "on unknown objects"]
    assert len(found.correct.histogram) == BINS
    assert "negative" in str(found)


def test_relabelled_columns_are_found_by_name(scene):
    truth, detections, vocabulary = scene
    order = [2, 0, 1]
    swapped = replace(detections, logits=detections.logits[:, [*order, 3]])
    matches = match(truth, swapped, vocabulary, PAPER)
    names = [vocabulary.known[i] for i in order]
    assert object_evidence(matches, swapped, names=names) == object_evidence(matches, detections)


def test_no_background_no_evidence(scene):
    detections, matches = scene[1], match(*scene, PAPER)
    bare = replace(detections, logits=None, layout=None)
    with pytest.raises(InputError, match=r"OS501[\s\S]*background column"):
        object_evidence(matches, bare)
    with pytest.raises(InputError, match="layout sigmoid"):
        object_evidence(matches, replace(detections, layout=LogitLayout.SIGMOID))


def test_columns_need_names(scene):
    matches = match(*scene, PAPER)
    with pytest.raises(UsageError, match="3 class columns"):
        object_evidence(matches, scene[1], names=["dog"])
    with pytest.raises(UsageError, match="'car'"):
        object_evidence(matches, scene[1], names=["dog", "cat", "boat"])
