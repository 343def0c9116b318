"""Texts of an open-vocabulary detector, which no framework is needed for."""

from __future__ import annotations

import pytest

from openset.detectors._vocabulary import Prompts
from openset.findings import InputError


def test_texts_for_the_unknown_that_are_known_classes_are_refused():
    with pytest.raises(InputError) as caught:
        Prompts.of(("cat", "dog"), "distractors", ["owl", "Dog "], "{}")
    (finding,) = caught.value.findings
    assert (finding.code, finding.count, finding.example) == ("OS655", 1, "Dog ")
    assert Prompts.of(("cat", "dog"), "distractors", ["owl"], "{}").others == ("owl",)
