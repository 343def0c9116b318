"""Metrics at levels of one's own: names, numbers, and what cannot be a level."""

from __future__ import annotations

import pytest

import openset
from openset.evaluation.settings import Settings
from openset.findings import InputError, UsageError
from openset.metrics import levels_of, named, table
from scenes.builders import KNOWN, scene
from scenes.metrics import hand, random_scene


@pytest.fixture(scope="module")
def shown():
    return scene(1, images=24)


@pytest.mark.parametrize(
    ("name", "canonical", "title"),
    [
        ("wilderness_impact@0.5", "wilderness_impact@0.5", "Wilderness Impact at recall 0.5"),
        ("score_at_recall@recall=.50", "score_at_recall@0.5", "score at recall 0.5"),
        ("wilderness_impact@ratio=1", "wilderness_impact@ratio=1", "Wilderness Impact at ratio 1"),
        (
            "wilderness_impact@ratio=1@0.3",
            "wilderness_impact@0.3@ratio=1",
            "Wilderness Impact at recall 0.3, ratio 1",
        ),
        ("fpr_at_95_tpr@0.9", "fpr_at_95_tpr@0.9", "FPR at TPR 0.9"),
        ("a_ose_at_recall@1", "a_ose_at_recall@1", "A-OSE at recall 1"),
    ],
)
def test_a_name_says_which(name, canonical, title):
    metric = named(table(), name)
    assert (metric.name, metric.title) == (canonical, title)
    base = table()[name.partition("@")[0]]
    assert (metric.doc, metric.better, metric.unit) == (base.doc, base.better, base.unit)
    assert metric.headline


def test_it_is_the_metric_with_that_option():
    matches = random_scene(3).match("default")
    for name, base, options in (
        ("wilderness_impact@0.3@ratio=0.25", "wilderness_impact", {"recall": 0.3, "ratio": 0.25}),
        ("average_wilderness_impact@0.3", "average_wilderness_impact", {"recall": 0.3}),
        ("fpr_at_95_tpr@0.5", "fpr_at_95_tpr", {"tpr": 0.5}),
    ):
        value = named(table(), name).compute(matches)
        assert value == table()[base].compute(matches, **options)
        assert value.value is not None
        assert value != table()[base].compute(matches)


def test_every_level_is_a_line_with_an_interval(shown):
    options = {"known": KNOWN, "recall": [0.3, 0.5], "tpr": [0.9]}
    result = openset.evaluate(*shown.tables(), **options)
    plain = openset.evaluate(*shown.tables(), known=KNOWN)
    added = [name for name in result.values if name not in plain.values]
    takes = [name for name, one in table().items() if one.resampled and "recall" in levels_of(one)]
    assert set(added) == {f"{n}@{r}" for n in takes for r in (0.3, 0.5)} | {"fpr_at_95_tpr@0.9"}
    assert {"wilderness_impact", "average_wilderness_impact"} <= set(takes)
    for name in added:
        value = result.values[name]
        assert value.value is not None
        assert value.interval[0] <= value.value <= value.interval[1]
    assert all(result.values[name] == value for name, value in plain.values.items())
    titles = [line.title for line in result.board(headline=True).lines]
    assert {"Wilderness Impact at recall 0.5", "AWI at recall 0.3", "FPR at TPR 0.9"} <= set(titles)


def test_recalls_and_ratios_are_combined(shown):
    options = {"metrics": ["wilderness_impact"], "recall": [0.3, 0.5], "ratio": [0.2, 0.4]}
    names = [one.name for one in Settings(**options).measured]
    pairs = [f"wilderness_impact@{r}@ratio={w}" for r in (0.3, 0.5) for w in (0.2, 0.4)]
    assert names == ["wilderness_impact", *pairs]


def test_results_keep_them(shown):
    options = {"known": KNOWN, "metrics": ["wilderness_impact@0.3", "a_ose"]}
    result = openset.evaluate(*shown.tables(), **options)
    again = openset.Evaluation.from_json(result.to_json(replicates=True))
    assert list(again.values) == ["wilderness_impact@0.3", "a_ose"]
    assert again.metrics["wilderness_impact@0.3"].title == "Wilderness Impact at recall 0.3"
    found = openset.compare(result, again)["wilderness_impact@0.3"]
    assert (found.difference, found.interval) == (0, (0, 0))


def test_names_are_said_once(shown):
    asked = ["wilderness_impact@0.5", "wilderness_impact"]
    measured = Settings(metrics=asked, recall=[0.5]).measured
    assert [one.name for one in measured] == asked


@pytest.mark.parametrize("option", ["recall", "tpr", "ratio"])
@pytest.mark.parametrize("levels", [[0], [-0.5], [0.5, 0.5], [0.3, float("nan")], [float("inf")]])
def test_what_cannot_be_a_level_is_a_finding(option, levels):
    with pytest.raises(InputError) as error:
        Settings(**{option: levels}).resolve()
    [finding] = error.value.findings
    assert (finding.code, finding.count) == ("OS420", 1)
    assert finding.example.startswith(f"{option}=")


def test_a_share_is_at_most_1_and_a_ratio_is_not():
    for option in ("recall", "tpr"):
        with pytest.raises(InputError, match="at most 1"):
            Settings(**{option: [1.5, 80]}).resolve()
    assert Settings(ratio=[1.5]).resolve()
    with pytest.raises(UsageError, match="recall of an evaluation must be a list"):
        Settings(recall=0.5)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("wilderness_impact@1.5", "OS420"),
        ("wilderness_impact@half", "OS420"),
        ("wilderness_impact@", "OS420"),
        ("wilderness_impact@tpr=0.5", "OS421"),
        ("a_ose@0.5", "OS421"),
    ],
)
def test_a_name_with_a_wrong_level_is_a_finding(name, code):
    with pytest.raises(InputError, match=code):
        Settings(metrics=[name]).resolve()


def test_a_level_that_nothing_takes_is_a_finding():
    with pytest.raises(InputError, match="OS421"):
        Settings(metrics=["a_ose"], tpr=[0.9]).resolve()
    with pytest.raises(UsageError, match="Did you mean 'wilderness_impact'"):
        Settings(metrics=["wildernes_impact@0.5"]).resolve()


def test_a_reading_without_a_split_has_no_ratio():
    value = hand().value("wilderness_impact", "owod", ratio=0.5)
    assert value.value is None
    assert "no split" in value.reason
