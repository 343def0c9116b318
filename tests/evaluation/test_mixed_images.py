"""Known objects in wild images: a protocol that splits otherwise says so, and only then."""

from __future__ import annotations

import pytest

from openset import evaluate
from scenes.diagnosis import KNOWN, tables

DOG, ZEBRA = (1, "dog", 0, 0, 10, 10), (1, "zebra", 50, 0, 10, 10)
APART = [DOG, (2, "zebra", 50, 0, 10, 10)]
SAID = [(*DOG, 0.9), (1, "dog", 50, 0, 10, 10, 0.8), (2, "cat", 50, 0, 10, 10, 0.7)]


def said(objects, protocol):
    truth, detections, _ = tables([*objects, (3, "cat", 0, 0, 9, 9)], SAID)
    done = evaluate(truth, detections, known=KNOWN, protocol=protocol, intervals=False)
    return [finding for finding in done.findings if finding.code == "OS446"]


@pytest.mark.parametrize("protocol", ["default", "paper", "owod"])
def test_wild_is_what_has_no_known_object(protocol):
    assert not said([DOG, ZEBRA], protocol)


def test_the_elephant_on_mixed_images():
    (finding,) = said([DOG, ZEBRA], "elephant")
    assert finding.count == 1 and finding.example == "image 1"
    assert "closed-set are 1" in finding.message and "elephant" in finding.message
    assert not said(APART, "elephant")
