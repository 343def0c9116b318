"""Several trainings of a method: means, both chances, honest intervals and stars, bad input."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

import openset
from openset.evaluation.comparison import ONE_TRAINING
from openset.evaluation.run import Run, evaluate_all
from openset.evaluation.scoreboard import TWO_CHANCES, Scoreboard
from openset.evaluation.trainings import Trainings, findings_of, methods_of
from openset.findings import InputError, Level, UsageError
from openset.metrics import Value
from scenes.cli import write_trainings
from scenes.trainings import FOUND, Laboratory

UDR = "udr"


@pytest.fixture(scope="module")
def methods():
    made = Laboratory(3)
    return made.method(3), made.method(3, 0.2)


def about(result, **changes):
    return replace(result, describe=partial(replace, result.provenance, **changes))


def test_the_value_is_the_mean_and_the_interval_holds_both_chances(methods):
    runs, _ = methods
    method = Trainings.of(runs)
    each = np.array([one.value(UDR).value for one in runs])
    drawn = np.mean([one.replicates[UDR] for one in runs], axis=0)  # the same images for all
    images, training = drawn.std(), each.std(ddof=1) / np.sqrt(3)
    chance, value = method.chance(UDR), method.values[UDR]
    assert value.value == pytest.approx(each.mean())
    assert chance.runs == tuple(each)
    assert (chance.sd_images, chance.sd_training) == pytest.approx((images, training))
    freedom = (images**2 + training**2) ** 2 / (training**4 / 2)
    reach = stats.t.ppf(0.975, freedom) * np.hypot(images, training)
    assert value.interval == pytest.approx((each.mean() - reach, each.mean() + reach))


def test_the_difference_holds_both_chances(methods):
    a, b = methods
    d = openset.compare(a, b)[UDR]
    drawn = [np.mean([one.replicates[UDR] for one in runs], axis=0) for runs in methods]
    spread = [np.var([one.value(UDR).value for one in runs], ddof=1) / 3 for runs in methods]
    assert d.sd_images == pytest.approx((drawn[1] - drawn[0]).std(), rel=1e-6)
    assert d.sd_training == pytest.approx(np.sqrt(sum(spread)))
    assert d.runs == (3, 3)
    total = np.hypot(d.sd_images, d.sd_training)
    freedom = total**4 / sum(part**2 / 2 for part in spread)
    assert d.p == pytest.approx(2 * stats.t.sf(abs(d.difference) / total, freedom))
    assert d.interval[0] == pytest.approx(d.difference - stats.t.ppf(0.975, freedom) * total)
    assert d.better is True


def test_a_method_of_one_training_is_its_result(methods):
    (one, *_), (other, *_) = methods
    assert Trainings.of([one]).values is one.values
    assert openset.compare([one], [other])[UDR] == openset.compare(one, other)[UDR]
    chance = Trainings.of(one).chance(UDR)
    assert chance.sd_training is None
    assert chance.sd_images > 0


def test_p_is_below_5_percent_exactly_where_the_interval_leaves_out_0():
    starred = 0
    for seed in range(60):
        made = Laboratory(seed, noise=0.02)
        d = openset.compare(made.method(2), made.method(4, 0.12))[UDR]
        assert d.significant == (d.interval[0] > 0 or d.interval[1] < 0)
        starred += d.significant
    assert 5 < starred < 55


@pytest.mark.parametrize("noise", [0.05, 0.1])
def test_intervals_cover_what_another_training_would_give(noise):
    held, held_by_one = 0, 0
    for seed in range(200):
        runs = Laboratory(seed, noise).method(3)
        low, high = Trainings.of(runs).values[UDR].interval
        held += low <= FOUND <= high
        low, high = runs[0].value(UDR).interval  # which knows of images only
        held_by_one += low <= FOUND <= high
    assert held >= 180
    assert held_by_one < 160


def test_exchangeable_methods_get_few_stars():
    stars, stars_of_one = 0, 0
    for seed in range(300):
        made = Laboratory(1000 + seed)
        a, b = made.method(3), made.method(3)
        stars += openset.compare(a, b)[UDR].significant
        stars_of_one += openset.compare(a[0], b[0])[UDR].significant
    assert stars <= 21  # 7 %
    assert stars_of_one > 45


def test_trainings_are_paired_only_if_that_is_said():
    made = Laboratory(5, noise=0.0)
    base = [made.rng.random(200) < made.ease + shift for shift in (-0.2, 0.0, 0.2)]
    a = [made.result(found) for found in base]
    b = [made.result(found | (np.arange(200) % 10 == 0)) for found in base]
    plain, paired = openset.compare(a, b)[UDR], openset.compare(a, b, paired=True)[UDR]
    assert plain.difference == paired.difference > 0
    assert paired.sd_training < plain.sd_training / 4
    assert paired.significant
    assert not plain.significant
    with pytest.raises(UsageError, match="3 and 2 trainings"):
        openset.compare(a, b[:2], paired=True)
    board = Scoreboard.of({"a": a, "b": b}, paired=True)
    assert board.cell(UDR, 1).difference == paired


def test_the_board_shows_both_chances(methods):
    a, b = methods
    board = Scoreboard.of({"a": a, "b": b[0]})
    text = board.text(decimals=1)
    chance = Trainings.of(a).chance(UDR)
    assert (
        f"± images {100 * chance.sd_images:.1f} ± training {100 * chance.sd_training:.1f}" in text
    )
    assert "± training ?" in text
    assert TWO_CHANCES in text
    assert ONE_TRAINING in text
    assert "± images" not in Scoreboard.of({"a": a[0], "b": b[0]}).text()
    assert "± training" in repr(openset.compare(a, b))
    assert "± training" in board.table().markdown()


def test_tables_are_corrected_as_for_single_results(methods):
    a, b = methods
    board = Scoreboard.of({"a": a, "b": b, "again": [replace(one) for one in b]})
    cells = [board.cell(UDR, at) for at in (1, 2)]
    assert board.families == {"headline metrics": 2}
    assert [cell.p for cell in cells] == pytest.approx([cells[0].difference.p] * 2)
    assert [cell.p_holm for cell in cells] == pytest.approx([2 * cells[0].difference.p] * 2)


WRONG = {
    "protocols": {"protocol": "owod"},
    "vocabularies": {"vocabulary_hash": "others"},
    "ground truths": {"truth_hash": "others"},
    "resamples of images": {"seed": 1},
}


@pytest.mark.parametrize("what", WRONG)
def test_trainings_that_are_not_of_one_method_are_refused(what, methods):
    first, second, third = methods[0]
    mixed = [first, second, about(third, **WRONG[what])]
    with pytest.raises(InputError, match=what) as caught:
        Scoreboard.of({"mine": mixed, "other": methods[1]})
    (finding,) = caught.value.findings
    assert finding.code == "OS418"
    assert finding.message.startswith("mine: ")
    assert "training 3" in finding.example
    with pytest.raises(InputError):
        openset.compare(mixed, methods[1])
    forced = Trainings.of(mixed, force=True)
    assert forced.values[UDR].value == Trainings.of(methods[0]).values[UDR].value
    joint = what not in ("ground truths", "resamples of images")
    assert (forced.values[UDR].interval is not None) == joint  # other images are not averaged


def test_the_same_detections_twice_are_not_two_trainings(methods):
    a, b = methods
    with pytest.raises(InputError, match="repeat another") as caught:
        openset.compare([a[0], a[1], a[0]], b)
    (finding,) = caught.value.findings
    assert (finding.code, finding.count) == ("OS417", 1)
    assert finding.example == "training 3 has the detections of training 1"
    forced = methods_of({"a": [a[0], a[0]], "b": b}, force=True)
    (said,) = findings_of(forced)["a"]
    assert (said.code, said.level) == ("OS417", Level.WARNING)


def test_one_training_beside_several_is_said(methods):
    a, b = methods
    found = findings_of(methods_of({"a": a, "b": b[0]}))
    assert [(name, f.code, f.level) for name, (f,) in found.items()] == [("b", "OS419", Level.NOTE)]
    assert not findings_of(methods_of({"a": a[0], "b": b[0]}))
    assert openset.compare(a, b[0])[UDR].remark == ONE_TRAINING
    assert openset.compare(a, b)[UDR].remark == ""


def test_a_number_that_one_training_lacks_is_missing(methods):
    first, second, third = methods[0]
    bare = replace(third, values={UDR: Value.missing("nothing there")})
    value = Trainings.of([first, second, bare]).values[UDR]
    assert value.value is None
    assert value.reason == "no value in 1 of 3 trainings: nothing there"
    assert openset.compare([first, second, bare], methods[1])[UDR].interval is None


def test_no_trainings_are_a_mistake(methods):
    with pytest.raises(UsageError, match="at least one"):
        openset.compare([], methods[0])


@pytest.fixture
def trained(here):
    write_trainings(here)
    return {name: [f"{name}{seed}.json" for seed in range(3)] for name in ("a", "b")}


def test_a_run_of_methods_comes_back(trained, here):
    run = evaluate_all("gt.json", trained | {"c": "base.json"}, known=["dog", "cat"])
    assert run.names == ("a.1", "a.2", "a.3", "b.1", "b.2", "b.3", "c")
    assert [finding.code for finding in run.findings["c"]][-1] == "OS419"
    run = replace(run, paired=True, evaluations={n: run.evaluations[n] for n in run.names[:-1]})
    back = Run.load(run.save(here / "run"))
    assert back.methods == run.methods == {"a": run.names[:3], "b": run.names[3:6]}
    assert back.paired
    ours, theirs = (one.board().text() for one in (run, back))
    assert ours == theirs
    alone = [openset.evaluate("gt.json", path, known=["dog", "cat"]) for path in trained["a"]]
    mean = np.mean([one.value("udr").value for one in alone])
    assert run.results["a"].values["udr"].value == pytest.approx(mean)


def test_records_in_a_list_are_one_input(trained, here):
    found = [json.loads((here / path).read_text()) for path in trained["a"][:2]]
    options = {"known": ["dog", "cat"], "metrics": ["udr"], "intervals": False}
    run = evaluate_all("gt.json", {"one": found[0], "two": found}, **options)
    assert run.names == ("one", "two.1", "two.2")
    assert run.evaluations["one"].values == run.evaluations["two.1"].values


def test_a_file_twice_stops_a_run_unless_it_is_forced(trained):
    given = {"a": ["a0.json", "a0.json"]}
    with pytest.raises(InputError, match=r"a: 1 of 2 trainings repeat another"):
        evaluate_all("gt.json", given, known=["dog", "cat"], intervals=False)
    forced = evaluate_all("gt.json", given, known=["dog", "cat"], intervals=False, force=True)
    assert [finding.code for finding in forced.findings["a"]] == ["OS417"]


def test_names_of_trainings_do_not_meet_others(trained):
    with pytest.raises(UsageError, match=r"a\.2"):
        evaluate_all("gt.json", trained | {"a.2": "base.json"}, known=["dog", "cat"])


@pytest.mark.parametrize("spoilt", [None, [], {"a": 3}])
def test_a_run_that_does_not_say_its_methods_is_refused(spoilt, trained, here):
    run = evaluate_all("gt.json", trained, known=["dog"], metrics=["udr"], intervals=False)
    index = run.save(here / "run") / "run.json"
    index.write_text(json.dumps(json.loads(index.read_text()) | {"trainings": spoilt}))
    with pytest.raises(InputError):
        Run.load(here / "run")
