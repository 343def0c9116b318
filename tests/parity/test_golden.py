"""Every golden number: what published evaluators print on inputs of our own, one row per key."""

import re

import pytest

from scenes.golden import EXPECTED, assert_agrees, rules_of
from scenes.golden_excluded import EXCLUDED, excluded

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
