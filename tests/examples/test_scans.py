"""Scans: the embedded digits are those that everyone else calls by that name."""

from __future__ import annotations

import numpy as np
import pytest

from openset.examples.scans import scans


def test_they_are_scikit_learns():
    from sklearn.datasets import load_digits

    images, digits = scans()
    wanted = load_digits()
    assert np.array_equal(images, wanted.images) and np.array_equal(digits, wanted.target)


def test_nobody_can_change_them_for_others():
    with pytest.raises(ValueError, match="read-only"):
        scans()[0][0] = 1
