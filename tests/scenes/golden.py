"""Golden numbers: how a key of `expected.json` finds the computation that must reproduce it.

`@golden(pattern)` claims all keys that match; the function gets the pattern's groups and returns
our number in the shape of the expected one. `@behaviour(key)` claims a key whose published value
is a crash or a defect that we do not reproduce, and asserts what we do instead.
"""

import gzip
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from openset.formats import read_annotations, read_detections
from openset.matching import Protocol, match
from openset.metrics import Value, table
from openset.tables import Annotations, Images, Vocabulary
from openset.tables.logits import LogitLayout

FOLDER = Path(__file__).parents[1] / "golden"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
DATA = Path(os.environ.get("OPENSET_DATA", "/nonexistent"))
REFERENCE = DATA.parent / "reference"
_NUMBERS = REFERENCE / "expected.json.gz"
REFERENCE_NUMBERS = json.loads(gzip.decompress(_NUMBERS.read_bytes())) if _NUMBERS.exists() else {}
SIZE = r"(?P<size>tiny|edge|small)"


# ---------------------------------------------------------------------- rules


@dataclass(frozen=True)
class Rule:
    pattern: re.Pattern
    compute: Callable
    tolerance: float | None  # None: the function asserts for itself


RULES: dict[str, Rule] = {}  # by pattern, since doctest collection imports modules a second time


def golden(pattern, *, tolerance=1e-9):
    def claim(function):
        RULES[pattern] = Rule(re.compile(pattern), function, tolerance)
        return function

    return claim


def behaviour(key):
    return golden(re.escape(key), tolerance=None)


def rules_of(key):
    found = ((rule, rule.pattern.fullmatch(key)) for rule in RULES.values())
    return [(rule, hit.groupdict()) for rule, hit in found if hit]


def assert_agrees(got, expected, tolerance, where=""):
    """Our number is the published one: counts exactly, NaN as no number with its reason."""
    if isinstance(got, Value):
        assert (got.value is None) == bool(got.reason), where
        got = got.value
    if isinstance(expected, Mapping):
        assert set(got) == set(expected), where
        for name, value in expected.items():
            assert_agrees(got[name], value, tolerance, f"{where}/{name}")
    elif isinstance(expected, list):
        assert len(got) == len(expected), where
        for index, value in enumerate(expected):
            assert_agrees(got[index], value, tolerance, f"{where}[{index}]")
    elif expected in ("nan", "inf"):
        assert got is None, where
    elif isinstance(expected, int):  # counts, and truth values
        assert got == expected, where
    else:
        assert got is not None, where
        assert abs(got - expected) <= tolerance * max(1.0, abs(expected)), (where, got, expected)


# ---------------------------------------------------------------------- inputs


@dataclass(frozen=True)
class Scene:
    truth: Annotations
    detections: object
    vocabulary: Vocabulary

    def match(self, protocol):
        return match(self.truth, self.detections, self.vocabulary, protocol)

    def but(self, **changes):
        return replace(self, **changes)


def file_in(folder, name):
    """The file, or its compressed twin."""
    return folder / name if (folder / name).exists() else folder / f"{name}.gz"


@cache
def scene(size, scenario):
    """An input; sizes that begin with "@" are those of the reference folder beside OPENSET_DATA."""
    root = REFERENCE / "detection" if size.startswith("@") else FOLDER / "inputs"
    folder = root / size.removeprefix("@") / scenario
    truth = read_annotations(file_in(folder, "gt.json"))
    detections = read_detections(file_in(folder, "dt.json"))
    if (folder / "logits.npz").exists():
        logits = np.load(folder / "logits.npz")["logits"]
        detections = replace(detections, logits=logits, layout=LogitLayout.SOFTMAX_BACKGROUND_LAST)
    return Scene(truth, detections, Vocabulary.of(None, truth))


@cache
def matched(size, scenario, protocol):
    return scene(size, scenario).match(protocol)


def only_images(truth, keep):
    """The ground truth of some images."""
    index = np.cumsum(keep) - 1
    part = truth.select(keep[truth.image])
    old = truth.images
    images = Images(old.id[keep], None, old.width[keep], old.height[keep])
    return replace(part, images=images, image=index[part.image])


# ---------------------------------------------------------------------- numbers


def compute(name, matches, **params):
    return table()[name].compute(matches, **params)


def percent(value):
    """The value times 100, no number if there is none."""
    number = value.value if isinstance(value, Value) else value
    return None if number is None else 100 * number


def printed(value, protocol, *, scale=None):
    """A number as the protocol's code prints it: scaled and rounded."""
    number = value.value if isinstance(value, Value) else value
    if number is None:
        return None
    rules = Protocol.of(protocol)
    number = float(number) * (rules.scale if scale is None else scale)
    return number if rules.decimals is None else round(number, rules.decimals)


def mean_of(parts, names):
    """The mean over some classes, no number if one of them has none (NaN spreads)."""
    values = [parts[name] for name in names]
    return None if None in values else float(np.mean(values))


def both(name_known, name_unknown, matches, **params):
    """A number by class, unknown included."""
    known, unknown = (
        compute(name_known, matches, **params),
        compute(name_unknown, matches, **params),
    )
    return {**known.parts, "unknown": unknown.value}
