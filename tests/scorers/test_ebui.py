"""EBUI: two distributions of energies that decide, and a ledger that says what they were told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.findings import InputError
from openset.matching import told_detections
from openset.scorers import find, ledger, of_split
from openset.scorers.ebui import EBUI, EbuiRule, near, weibull
from openset.tables import Annotations, Detections, Images, LogitLayout

NAMES = ("dog", "cat")
LAYOUT = LogitLayout.SOFTMAX_BACKGROUND_FIRST_UNKNOWN_LAST


def detections(energy, label=None, *, unknown=None, split="farm val"):
    """Detections whose known logits have these energies."""
    energy = np.asarray(energy, float)
    count = len(energy)
    logits = np.column_stack([np.zeros(count), energy, energy - 60.0, np.ones(count)])
    found = Detections(
        np.arange(count),
        np.zeros(count, int) if label is None else np.asarray(label),
        np.tile([0.0, 0, 10, 10], (count, 1)),
        np.linspace(0.2, 0.9, count),
        (*NAMES, "unknown"),
        logits=logits,
        layout=LAYOUT,
        attributes={} if unknown is None else {"of_unknown": np.asarray(unknown, int)},
    )
    return of_split(found, split)


def normals(gap=4.0, count=400, seed=0):
    """Energies of unknown objects, then of known ones, so many deviations apart."""
    chance = np.random.default_rng(seed)
    return np.concatenate([chance.normal(8, 1, count), chance.normal(8 + gap, 1, count)])


def told(energy, swap=False):
    which = np.arange(len(energy)) < len(energy) // 2
    return detections(energy, unknown=which ^ swap)


def fitted(energy=None, *, swap=False, **options):
    energy = normals() if energy is None else energy
    return find("ebui").fit(told(energy, swap), **options)


def named(rule, found):
    made = rule.apply(found)
    return [made.labels[at] for at in made.label], made


def test_two_normals_four_deviations_apart_are_told_apart():
    test = detections(normals(seed=1), split="farm other")
    share = fitted().score(test)
    unknown = np.arange(800) < 400
    assert ((share > 0.5) == unknown).mean() > 0.97


def test_swapping_the_fits_swaps_the_decisions():
    test = detections(np.linspace(4, 16, 200), split="farm other")
    assert fitted(swap=True).score(test) == pytest.approx(1 - fitted().score(test))


def test_identical_fits_change_no_known_box_and_delete_every_unknown_one():
    one = fitted()
    state = one.state
    same = replace(one, state=EBUI(state.known, state.known, 1.0))
    test = detections(normals(count=50), np.arange(100) % 3, split="farm other")
    labels, made = named(EbuiRule(fitted=same), test)
    assert labels == [NAMES[at] for at in test.label if at < 2]
    assert np.array_equal(made.score, test.score[test.label < 2])


def test_where_energies_lie_means_nothing():
    moved = fitted(normals() + 123.0)
    test = normals(seed=1)
    one = fitted().score(detections(test, split="farm other"))
    two = moved.score(detections(test + 123.0, split="farm other"))
    assert two == pytest.approx(one, abs=1e-4)
    assert np.array_equal(one > 0.5, two > 0.5)


def test_what_becomes_of_each():
    test = detections([8.0, 12.0, 8.0, 12.0], [0, 1, 2, 2], split="farm other")
    labels, made = named(EbuiRule(fitted=fitted()), test)
    assert labels == ["unknown", "cat", "unknown"]  # the last was called unknown, and is known
    assert made.score.tolist() == test.score[:3].tolist()
    assert made.labels == ("dog", "cat", "unknown")


def test_a_weibull_distribution_is_found_again():
    chance = np.random.default_rng(0)
    for shape, scale, shift in ((1.5, 2.0, -4.0), (3.0, 0.5, 10.0)):
        found = weibull(shift + scale * chance.weibull(shape, 5000))
        assert found == pytest.approx([shape, scale, shift], rel=0.1)
    fit = np.array([2.0, 3.0, 1.0])
    grid = np.linspace(0, 20, 20_001)
    density = np.diff(-np.exp(-((np.maximum(grid - 1, 0) / 3) ** 2)))
    middle = (grid[:-1] > 3.5) & (grid[:-1] < 4.5)
    assert near(np.array([4.0]), fit)[0] == pytest.approx(density[middle].sum(), abs=1e-3)
    assert near(np.array([-50.0, 500.0]), fit).tolist() == [0, 0]
    assert np.isfinite(weibull(np.full(50, 2.0))).all()


def test_energies_of_knowns_alone_and_one_temperature_unless_as_published():
    test = detections([8.0, 12.0], split="farm other")
    changed = replace(test, logits=np.add(test.logits, (5, 0, 0, 7)))  # background and unknown
    assert np.array_equal(fitted().score(test), fitted().score(changed))
    published = fitted(fit_temperature=1.5)
    assert published.state.temperature == 1.0 and published.options["fit_temperature"] == 1.5
    logits = told(normals()).logits[:, 1:3] / 1.5
    energy = 1.5 * np.logaddexp.reduce(logits.astype(float), axis=1)
    assert published.state.known == pytest.approx(weibull(energy[400:]), rel=1e-4)


@pytest.mark.parametrize(("unknown", "said"), [(0, "only 0 of unknown"), (49, "49 of unknown"),
                                               (751, "only 49 of known")])  # fmt: skip
def test_too_little_is_refused(unknown, said):
    few = detections(normals(), unknown=np.arange(800) < unknown)
    with pytest.raises(InputError, match=rf"OS675[\s\S]*{said} objects"):
        find("ebui").fit(few)


def test_the_ledger_shouts():
    made = EbuiRule(fitted=fitted()).apply(detections([8.0], split="farm test"))
    said = ledger.summary(made)
    assert "LEAK: FITTED ON THE LABELS OF UNKNOWN OBJECTS" in said
    assert "ebui fitted on farm val" in said
    assert ledger.entries(made)[0].uses_unknown


def test_detections_are_told_which_objects_are_unknown():
    box = np.array([[0.0, 0, 10, 10], [20, 0, 10, 10], [40, 0, 10, 10]])
    truth = Annotations(
        Images(np.array([1]), width=[100], height=[100]), ("dog", "cat", "moose"),
        [0, 0, 0], [0, 1, 2], box, role=("known", "known", "unknown"),
    )  # fmt: skip
    place = np.array([box[2] + [1, 0, 0, 0], box[0], [70, 0, 10, 10], box[2], box[1]])
    found = Detections([1] * 5, [0, 1, 0, 2, 1], place, [0.9, 0.8, 0.7, 0.6, 0.5],
                       (*NAMES, "unknown"))  # fmt: skip
    on = told_detections(truth, found)
    assert on.score.tolist() == [0.9, 0.8, 0.6, 0.5]  # one is on nothing
    assert on.attributes["of_unknown"].tolist() == [1, 0, 1, 0]
