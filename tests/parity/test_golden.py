"""Every golden number: what published evaluators print on inputs of our own, one row per key."""

import re

import golden_coco  # noqa: F401 - the imports fill the table of rules
import golden_elephant  # noqa: F401
import golden_ood  # noqa: F401
import golden_paper  # noqa: F401
import golden_traps  # noqa: F401
import golden_voc  # noqa: F401
import pytest

from golden import EXPECTED, assert_agrees, rules_of

RECOGNITION = "open-set recognition, compared with these numbers by its own tests"
DIAGNOSIS = "error diagnosis, compared with these numbers by its own tests"
EXCLUDED = {
    r"_meta": "says with which versions the numbers were made",
    r"osr/.*": RECOGNITION,
    r"P\d.*": RECOGNITION,
    r"trap/(arpl|osr|openauc)/.*": RECOGNITION,
    r"\w+/TIDE/.*": DIAGNOSIS,
    r"\w+/paper/(hoiem@|confusion|Fbeta/).*": DIAGNOSIS,
    r"\w+/cocofast/\w+/max_abs_diff .*": "compares two programs, neither of them ours",
}
AS_IS = "the order of ties depends on NumPy and the CPU; the stable twin is the target"


def excluded(key):
    """Why a key is not tested here, or nothing."""
    for pattern, reason in EXCLUDED.items():
        if re.fullmatch(pattern, key):
            return reason
    return AS_IS if "/as_is/" in key and key.replace("as_is", "stable") in EXPECTED else ""


TESTED = [key for key in EXPECTED if rules_of(key)]


@pytest.mark.parametrize("key", TESTED)
def test_golden(key):
    [(rule, groups)] = rules_of(key)
    got = rule.compute(**groups)
    if rule.tolerance is not None:
        assert_agrees(got, EXPECTED[key]["value"], rule.tolerance, key)


def test_no_key_is_forgotten():
    left = {key for key in EXPECTED if not excluded(key)}
    assert sorted(left ^ set(TESTED)) == []


@pytest.mark.parametrize("pattern", EXCLUDED)
def test_no_exclusion_is_idle(pattern):
    assert any(re.fullmatch(pattern, key) for key in EXPECTED)
    assert len(EXCLUDED[pattern]) > 20
