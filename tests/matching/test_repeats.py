"""Images that a list names twice: by hand, against OWOD's own loop over lines, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

import openset
from openset.findings import InputError
from openset.matching import Protocol
from openset.metrics import table
from scenes.metrics import hand, random_scene


def listed(scene, times):
    images = replace(scene.truth.images, attributes={"listed": np.array(times)})
    return scene.but(truth=replace(scene.truth, images=images))


def test_by_hand():
    # Image 3 is listed twice: two unknown objects more, never found; its detections come again.
    scene = listed(hand(), [1, 1, 2])
    once, twice = (
        {n: scene.value(n, p).value for n in ("unknown_recall", "a_ose", "recall_known")}
        for p in ("owod", "owod-listed")
    )
    assert once == {"unknown_recall": 1 / 3, "a_ose": 3, "recall_known": once["recall_known"]}
    assert twice == {"unknown_recall": 1 / 5, "a_ose": 5, "recall_known": once["recall_known"]}


def by_lines(matches, lines):
    """OWOD's loop as written: a dictionary of images, filled line by line, and detections again."""
    numbers = {}
    correct, errors = matches.outcome().correct, matches.open_set_errors
    ignored = matches.outcome().ignored
    times = np.bincount(lines, minlength=matches.n_images)
    for klass in range(matches.n_known + 1):
        mine = np.flatnonzero(matches.klass == klass)
        objects = matches.objects.image[(matches.objects.klass == klass) & ~matches.objects.ignored]
        positives = int(times[objects].sum())
        hits = int(correct[mine].sum())  # the object is taken when the image comes again
        counted = int((times[matches.image[mine]] * ~ignored[mine]).sum())
        wrong = int((times[matches.image[mine]] * errors[mine]).sum())
        numbers[klass] = (positives, hits, counted, wrong)
    return numbers


@pytest.mark.parametrize("seed", range(4))
def test_as_the_loop_over_lines(seed):
    scene = random_scene(seed)
    rng = np.random.default_rng(seed)
    times = rng.integers(1, 4, len(scene.truth.images))
    matches = listed(scene, times).match("owod-listed")
    once = by_lines(scene.match("owod"), np.repeat(np.arange(len(times)), times))
    outcome = matches.outcome()
    for klass, (positives, hits, counted, wrong) in once.items():
        mine = matches.klass == klass
        assert matches.positives[klass] == positives
        assert outcome.correct[mine].sum() == hits
        assert (~outcome.ignored[mine]).sum() == counted
        assert matches.open_set_errors[mine].sum() == wrong


def test_every_image_once_changes_nothing():
    scene = random_scene(1)
    scene = listed(scene, np.ones(len(scene.truth.images), int))
    for name, metric in table().items():
        a, b = (metric.compute(scene.match(p)) for p in ("owod", "owod-listed"))
        assert a.value == b.value, name


def test_without_a_list_it_is_refused():
    with pytest.raises(InputError, match="OS411"):
        hand().match("owod-listed")


def test_the_presets_cannot_be_confused():
    assert Protocol.of("owod").diff("owod-listed") == {"repeats": ("once", "listed")}


def test_a_list_given_to_evaluate(tmp_path):
    scene = hand()
    lines = tmp_path / "test.txt"
    lines.write_text("1\n2\n3\n3\n")
    options = {"known": scene.vocabulary, "protocol": "owod-listed", "intervals": False}
    result = openset.evaluate(scene.truth, scene.found, image_list=lines, **options)
    assert result.value("unknown_recall").value == 1 / 5
    for text, said in (("1\n2\n", "on no line"), ("1\n2\n3\n9\n", "name no image")):
        lines.write_text(text)
        with pytest.raises(InputError, match=said):
            openset.evaluate(scene.truth, scene.found, image_list=lines, **options)
