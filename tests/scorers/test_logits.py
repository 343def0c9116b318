"""Logit scorers: numbers by hand, layouts, invariances, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from openset import scorers
from openset.findings import InputError, UsageError
from openset.tables import Detections, LogitLayout

LAST, FIRST = LogitLayout.SOFTMAX_BACKGROUND_LAST, LogitLayout.SOFTMAX_BACKGROUND_FIRST
PLAIN, SIGMOID = LogitLayout.SOFTMAX, LogitLayout.SIGMOID
SOFTMAX = ["msp", "energy", "entropy", "gen"]
WITH_BACKGROUND = [*SOFTMAX, "max_logit"]
LOGITS = arrays(np.float32, (3, 4), elements=st.floats(-20, 20, width=32))


def boxes(logits, layout=LAST):
    n = len(logits)
    box, score = [[0, 0, 9, 9]] * n, [0.5] * n
    return Detections(["a"] * n, [0] * n, box, score, ("dog",), logits=logits, layout=layout)


def score(name, logits, layout=LAST, **options):
    return scorers.find(name).compute(boxes(logits, layout), **options)


def test_by_hand():
    logits = np.log([[1, 2, 5]])
    p, q = np.array([1, 2, 5]) / 8, np.array([1, 2]) / 3
    assert score("msp", logits) == pytest.approx(1 - 5 / 8)
    assert score("msp", logits, background="drop") == pytest.approx(1 - 2 / 3)
    assert score("max_logit", logits) == pytest.approx(-np.log(2))
    assert score("max_logit", logits, background="keep") == pytest.approx(-np.log(5))
    assert score("entropy", logits) == pytest.approx(-(p * np.log(p)).sum())
    assert score("entropy", logits, background="drop") == pytest.approx(-(q * np.log(q)).sum())
    assert score("energy", logits) == pytest.approx(-np.log(8))
    assert score("energy", logits, background="drop") == pytest.approx(-np.log(3))
    assert score("energy", logits, temperature=0.5) == pytest.approx(-0.5 * np.log(1 + 4 + 25))
    assert score("gen", logits, gamma=0.5) == pytest.approx(np.sqrt(p * (1 - p)).sum())
    assert score("gen", logits, gamma=0.5, top=2) == pytest.approx(
        np.sqrt(p[1:] * (1 - p[1:])).sum()
    )


def test_sigmoids_by_hand():
    logits, p = [[0.0, np.log(3)]], np.array([0.5, 0.75])
    stated = {"layout": SIGMOID, "activation": "sigmoid"}
    assert score("msp", logits, **stated) == pytest.approx(0.25)
    assert score("energy", logits, **stated) == pytest.approx(-np.log(2) - np.log(4))
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p)).sum()
    assert score("entropy", logits, **stated) == pytest.approx(entropy)
    assert score("gen", logits, gamma=0.5, **stated) == pytest.approx(np.sqrt(p * (1 - p)).sum())
    for name in SOFTMAX:  # FMIYC's code: a softmax over the sigmoids' logits
        compat = score(name, logits, SIGMOID, activation="softmax")
        assert compat == pytest.approx(score(name, logits, PLAIN))


@pytest.mark.parametrize("name", WITH_BACKGROUND)
def test_layout_says_which_column_is_the_background(name):
    for background in ("keep", "drop"):
        last = score(name, [[2, 1, 5]], background=background)
        assert last == pytest.approx(score(name, [[5, 2, 1]], FIRST, background=background))
    without = score(name, [[2, 1]], PLAIN)
    assert score(name, [[2, 1, 5]], background="drop") == pytest.approx(without)
    assert score(name, [[2, 1, 5]], background="keep") != pytest.approx(without)


@pytest.mark.parametrize("name", WITH_BACKGROUND)
@settings(derandomize=True, deadline=None, max_examples=30)
@given(logits=LOGITS, shift=st.floats(-5, 5))
def test_invariances(name, logits, shift):
    plain = score(name, logits, PLAIN)
    assert score(name, logits[:, ::-1], PLAIN) == pytest.approx(plain, rel=1e-9, abs=1e-12)
    moved = score(name, logits.astype(float) + shift, PLAIN)
    lost = {"energy": shift, "max_logit": shift}.get(name, 0.0)  # a softmax forgets the shift
    assert moved + lost == pytest.approx(plain, abs=1e-4)


@pytest.mark.parametrize("name", SOFTMAX)
def test_what_they_refuse(name):
    with pytest.raises(UsageError, match=r"layout is sigmoid.*activation='sigmoid'"):
        score(name, [[1, 2]], SIGMOID)
    with pytest.raises(UsageError, match="layout is softmax"):
        score(name, [[1, 2]], PLAIN, activation="sigmoid")
    with pytest.raises(UsageError, match="'softmax' or 'sigmoid'"):
        score(name, [[1, 2]], SIGMOID, activation="relu")
    with pytest.raises(UsageError, match="'keep' or 'drop'"):
        score(name, [[1, 2, 3]], background="maybe")
    with pytest.raises(InputError, match=r"OS503.*no class"):
        score(name, [[1]], background="drop")


def test_impossible_options():
    for options in ({"gamma": 0}, {"gamma": 2}, {"top": 0}):
        with pytest.raises(UsageError, match="gamma must be"):
            score("gen", [[1, 2]], **options)
    for name in ("energy", "gamma_ratio"):
        with pytest.raises(UsageError, match="temperature"):
            score(name, [[1, 2]], PLAIN, temperature=0.0)


@pytest.mark.parametrize("size", [1e4, -1e4, 1e30])
def test_large_logits_do_not_overflow(size):
    equal = [[size, size, size]]
    assert score("msp", equal) == pytest.approx(2 / 3)
    assert score("energy", equal) == pytest.approx(-size - np.log(3))
    assert score("entropy", equal) == pytest.approx(np.log(3))
    assert score("gamma_ratio", equal) == pytest.approx(1)
    alone = [[size, -size, -size]]
    for name in (*SOFTMAX, "gamma_ratio"):
        for layout in (LAST, SIGMOID):
            stated = {"activation": "sigmoid"} if layout is SIGMOID and name in SOFTMAX else {}
            assert np.isfinite(score(name, alone, layout, **stated)).all()


def test_fewer_columns_than_classes():
    from dataclasses import replace

    narrow = replace(boxes([[1.0, 2.0]]), labels=("dog", "cat", "unknown"))
    with pytest.raises(InputError, match=r"OS503.*2 columns.*background-last, for 2 classes"):
        scorers.find("msp").compute(narrow)
    assert len(scorers.find("msp").compute(replace(narrow, layout=PLAIN))) == 1


@pytest.mark.parametrize("name", WITH_BACKGROUND)
def test_a_column_of_the_unknown_is_left_out(name):
    logits = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float32) * 3
    more = np.hstack([logits, np.full((5, 1), 50.0, np.float32)])
    layout = LogitLayout.SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST
    assert score(name, more, layout).tobytes() == score(name, logits, FIRST).tobytes()
