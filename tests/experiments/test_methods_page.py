"""The page of trained methods is what its script makes of the numbers that are kept."""

import json
from pathlib import Path

import methods_page
import numpy as np
import photographs
import pytest

from openset.tables import Annotations, Detections, Images

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "experiments" / "results"


def test_the_page_is_made_from_the_results():
    text = methods_page.page_of(KEPT)
    assert text == (ROOT / "docs" / "results" / "methods.md").read_text("utf-8")


def test_what_is_said_follows_the_numbers():
    held = json.loads((KEPT / "photographs.json").read_text("utf-8"))
    assert "holds: it calls" in methods_page.photographs(held, [], [])
    told = {(one["first"], one["second"]): one for one in held["differences"]}
    first, second = told["base", "opendet"], told["base + energy", "vos + energy"]
    for ends, said in (([-0.02, 0.01], "holds"), ([-0.05, 0.01], "cannot be told"),
                       ([-0.3, -0.1], "does not hold")):  # fmt: skip
        first["values"]["ap_known"]["interval"] = ends
        assert f"CVPR 2022): {said}: it calls" in methods_page.photographs(held, [], [])
    for ends, said in (([0.01, 0.03], "holds"), ([-0.01, 0.03], "cannot be told"),
                       ([-0.03, -0.01], "does not hold")):  # fmt: skip
        second["values"]["auroc"]["interval"] = ends
        assert f"ICLR 2022): {said}: AUROC" in methods_page.photographs(held, [], [])


def test_the_speed_of_steps_is_that_of_all_runs():
    def row(kind, rate, ratio, side=512):
        return {"kind": kind, "side": side, "images_per_second": rate, "times_stock": ratio}

    rows = [row("stock", 100.0, 1.0), row("eager", 250.0, 2.5), row("eager vos", 200.0, 2.0)]
    rows += [row("stock", 120.0, 1.0), row("eager", 360.0, 3.0), row("eager vos", 350.0, 2.9)]
    told = methods_page.spread_of([*rows, row("eager", 999.0, 9.9, side=256)])
    assert told["runs"] == 2 and told["median"] == 2.75 and told["dearest"] == 25.0
    assert (told["slowest"], told["fastest"], told["least"], told["most"]) == (100, 120, 250, 360)


def test_the_tail_of_a_scorer_is_called_unknown():
    box = np.tile([0.0, 0, 4, 4], (3, 1))
    found = Detections([1, 1, 2], [0, 1, 0], box, [0.9, 0.8, 0.7], labels=("dog", "cat"))
    called = photographs.tail_unknown(found, np.array([0.1, 0.6, 0.5]), 0.5)
    assert [called.labels[at] for at in called.label] == ["dog", "unknown", "dog"]
    assert called.unknownness.tolist() == pytest.approx([0.1, 0.6, 0.5])


def test_two_ground_truths_become_one():
    def made(names, labels, label):
        images = Images(np.array(names), np.array(names), np.full(2, 9.0), np.full(2, 9.0))
        box = np.tile([0.0, 0, 4, 4], (2, 1))
        return Annotations(images, labels, np.arange(2), np.array(label), box)

    both = photographs.joined(
        made(["a", "b"], ("dog", "cat"), [0, 1]), made(["c", "d"], ("zebra", "cat"), [0, 1])
    )
    assert both.labels == ("dog", "cat", "zebra")
    assert tuple(both.role) == ("known", "known", "unknown")
    assert both.label.tolist() == [0, 1, 2, 1] and both.image.tolist() == [0, 1, 2, 3]
    assert photographs.joined(both.select(both.label < 2)).role == ("known",) * 3
    some = photographs.part(both, np.array([False, True, True, False]))
    assert some.images.id.tolist() == ["b", "c"] and some.label.tolist() == [1, 2]


def test_a_method_with_a_score_of_its_own_has_a_row_by_its_own_tail(tmp_path):
    box = np.tile([0, 0, 16, 16], (3, 1))
    columns = {"image": np.arange(3), "label": np.zeros(3), "box": box, "score": np.ones(3)}
    scored = {f"scorer.{name}": np.zeros(3) for name in photographs.SCORERS}
    np.savez(tmp_path / "siren-0.npz", **columns, **scored, unknownness=[0.0, 2.0, 1.0])
    about = {"method": "siren", "labels": ["dog"], "tails": {photographs.OWN: 1.5}}
    (tmp_path / "siren-0.json").write_text(json.dumps(about), "utf-8")
    ((name, (found,)),) = photographs.found_in(tmp_path).items()
    assert name == "siren" and found.label.tolist() == [0, 1, 0]
