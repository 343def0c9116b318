"""Lean: matches for metrics alone give every number, finding and sentence of whole ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.flow import targets
from openset.evaluation._seen import under
from openset.evaluation.steps import contact
from openset.evaluation.suspicion import suspicions
from openset.findings import UsageError
from openset.matching import Protocol, match
from openset.matching.lean import as_lean, can_be_lean
from openset.matching.matches import Matches
from openset.matching.merge import merge
from openset.matching.near import FITS, TOUCHES
from openset.matching.sizes import SIZE_RANGES, coded_areas, size_codes
from openset.matching.trend import Trend
from openset.metrics import table
from openset.resampling.draws import draw
from openset.resampling.images import replicates
from openset.tables import Vocabulary
from scenes import labels
from scenes.builders import KNOWN, scene

SPLIT = ((0, 2), (2, 3), (3, 9))
PROTOCOLS = ["default", "coco", Protocol.of("default").but(iou=(0.3, 0.6), max_detections=2)]


def both(seed: int, protocol: str | Protocol) -> tuple[Matches, Matches]:
    """Whole matches of one pass, and lean ones of shards."""
    shown = scene(seed, images=9)
    shards = [match(*shown.part(shown.images[a:b]).tables(), KNOWN, protocol) for a, b in SPLIT]
    lean = merge([as_lean(one) for one in shards], [_rows(one) for one in shards])
    return match(*shown.tables(), KNOWN, protocol), lean


def _rows(matches: Matches) -> tuple[int, int]:
    return len(matches.objects) + len(matches.excusing), len(matches)


@pytest.fixture(params=["in memory", "in files, class by class"], autouse=True)
def room(request, monkeypatch):
    """Columns that are held, and columns that are too many for that."""
    if request.param != "in memory":
        monkeypatch.setattr("openset.matching.spilling.LIMIT", 0)
        monkeypatch.setattr("openset.matching.blocks.AT_ONCE", 5)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("seed", range(4))
def test_every_metric_is_the_same(seed, protocol):
    whole, lean = both(seed, protocol)
    assert lean.lean is not None and len(lean.columns.iou_same) == len(lean.row) == 0
    metrics = table()
    for name, metric in metrics.items():
        assert repr(metric.compute(lean)) == repr(metric.compute(whole)), name
    drawn = [replicates(one, metrics.values(), 0, 5, draw) for one in (lean, whole)]
    for name in drawn[1]:
        np.testing.assert_array_equal(*(one[name].value for one in drawn), err_msg=name)
    assert lean.digest == whole.digest and lean.trend == whole.trend
    assert lean.place.tolist() == whole.place.tolist()
    for one, other in zip(targets(lean), targets(whole), strict=True):
        assert one.tolist() == other.tolist()


GT = labels.truth()
DT = labels.found(GT)
RNG = np.random.default_rng(9)
UNKNOWN = np.isin(np.resize(GT.label, len(DT)), [6, 7])
WRONG = {
    "nothing": DT,
    "two exchanged": labels.relabelled(DT, labels.exchanged("cat", "dog")),
    "scores upside down": replace(DT, score=1 - DT.score),
    "scores by chance, sorted": replace(
        DT.select(RNG.permutation(len(DT))), score=np.linspace(1, 0, len(DT))
    ),
    "scores by chance": replace(DT, score=RNG.random(len(DT))),
    "unknownness upside down": replace(DT, unknownness=RNG.normal(0, 1, len(DT)) - 1.5 * UNKNOWN),
    "one label": replace(DT, label=np.full_like(DT.label, labels.IDS[0])),
    "elsewhere": replace(DT, box=DT.box + 1e5),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_every_suspicion_is_the_same(wrong):
    whole = match(GT, WRONG[wrong], Vocabulary.of(labels.KNOWN))
    lean = as_lean(whole)
    assert (contact(lean), suspicions(lean)) == (contact(whole), suspicions(whole))
    assert bool(contact(whole) or suspicions(whole)) == (wrong != "nothing")


@pytest.mark.parametrize("seed", range(4))
def test_what_boxes_are_on_is_the_same_where_it_is_asked_for(seed):
    whole, lean = both(seed, "default")
    rows = np.arange(len(whole))
    (iou, best), (again, same) = under(whole, rows), under(lean, rows)
    assert ((iou >= TOUCHES) & (iou < FITS)).any()
    for limit in (TOUCHES, FITS):
        assert (iou < limit).tolist() == (again < limit).tolist()
    assert best[iou >= FITS].tolist() == same[iou >= FITS].tolist()


def test_what_was_left_out_is_said():
    whole, lean = both(1, "default")
    for ask in (lambda: lean.near("same", 0.1), lambda: lean.only(np.ones(len(lean), np.bool_))):
        with pytest.raises(UsageError, match="lean=False"):
            ask()
    with pytest.raises(UsageError, match="for metrics alone and others are not"):
        merge([whole, lean])
    assert not can_be_lean(Protocol.of("owod"))


def test_places_beyond_what_two_bytes_hold_are_the_last():
    whole = match(*scene(1, images=2).tables(), KNOWN)
    far = replace(whole, columns=whole.columns._replace(rank=whole.columns.rank + 70_000))
    assert set(as_lean(far).columns.rank.tolist()) == {65_535}
    assert not can_be_lean(Protocol.of("default").but(max_detections=65_536))


def test_areas_of_one_code_are_in_the_same_ranges():
    edges = np.unique(list(SIZE_RANGES.values()))
    area = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
    area = np.append(area, [5.0, 5e3, 5e5, np.inf, np.nan])
    again = coded_areas(size_codes(area))
    for low, high in SIZE_RANGES.values():
        outside = [(one < low) | (one > high) for one in (area, again)]
        assert outside[0].tolist() == outside[1].tolist()


@pytest.mark.parametrize("scores", [[3, 2, 2, 1], [1, 2, 3, 3], [2, 1, 3, 0], [1, 1, 1, 1]])
@pytest.mark.parametrize("cut", range(5))
def test_a_trend_is_that_of_its_parts(scores, cut):
    given = np.array(scores, float)
    assert Trend.of(given[:cut]).then(Trend.of(given[cut:])) == Trend.of(given)
