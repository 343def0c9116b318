"""The page of the open world says what the numbers say."""

from __future__ import annotations

import json
import sys

import open_world
import open_world_page as page
import pytest

from openset.evaluation.learned import Learned, Row


def row(name, previous):
    known = {"ap_previous": previous, "ap_current": 0.6, "ap_known": 0.6}
    numbers = {k: {"value": v, "interval": None, "reason": ""} for k, v in known.items()}
    lost = {} if previous is None else {"zero": 0.726}
    one = {"zero": 1}
    return Row(name, int(name[1]), "ft" in name, 9, one, one, numbers, {"zero": 0.0}, drops=lost)


LEARNED = Learned("digits", (("zero",), ("three",)), {}, (row("t1", None), row("t2", 0.0)))


def value(number, width=0.1):
    ends = None if width is None else (number * (1 - width), number * (1 + width))
    return {"value": number, "interval": ends}


def stage(**values):
    return {"runs": 3, "values": {name: value(number) for name, number in values.items()}}


def change(number, width=0.02):
    return {"difference": number, "interval": (number - width, number + width), "p": 0.01}


def changes(**values):
    rest = dict.fromkeys(("ap_known", "a_ose", "udr", "udp", "ap_current", "ap_unknown"), 0.0)
    return {name: change(number) for name, number in {**rest, **values}.items()}


def world(*differences, restored=0.4, **more):
    """Two tasks; the second with exemplars or without."""
    known = {"ap_current": 0.6, "ap_known": 0.6, "a_ose": 100, "udr": 0.4, "udp": 0.0}
    plain, rows = stage(unknown_recall=0.0, **known), ("base", "ore", "pad")
    later = stage(unknown_recall=0.0, ap_previous=0.01, **known)
    return {
        "images": 1000,
        "pictures": {"train-t1": 5008, "test-t1": 2348}
        | {f"train-t{task}": 600 + task for task in (2, 3, 4)},
        "stages": {
            name: dict.fromkeys(rows, plain if name == "t1" else later)
            for name in ("t1", "t2", "t2-ft")
        },
        "differences": {
            name: [{"first": a, "second": b, "values": held} for a, b, held in differences]
            for name in ("t1", "t2-ft")
        },
        "restored": {"t2": {"base": changes(ap_previous=restored)}},
        "cost": [{"chain": "base", "seed": 0, "seconds": 300.2, "steps": 1900, "on": "CPU"}],
        "learned": {"base": LEARNED.document(), "oracle": LEARNED.document()},
        "refused": [{"t1": "OS675: of 300 detections only 0 of unknown objects"}],
        **more,
    }


def lines(**worlds):
    return "\n".join(page.claims(worlds))


def test_claims_follow_from_intervals():
    held = world(
        ("base", "ore", changes(unknown_recall=0.5)),
        ("ore", "pad", changes(unknown_recall=0.01)),
        ("base", "base + cec", changes(unknown_recall=0.1, a_ose=-50)),
        ("pad", "pad + cec", changes(unknown_recall=0.1, a_ose=50)),
        ("ore", "ore + ebui", changes(unknown_recall=0.2)),
    )
    said = lines(digits=held)
    end = "after task 2 and its exemplars"
    assert f"- digits: holds, {end}: unknown recall changes by +50.0 pt [48.0, 52.0]." in said
    assert f"- digits: cannot tell, {end}: unknown recall changes by +1.0 pt" in said
    assert f"- digits: holds, {end}: A-OSE changes by −50" in said
    assert f"- digits: does not hold, {end}: A-OSE changes by +50" in said
    assert "holds: told of known objects only, it could not be fitted in 1 of 1 stages" in said
    assert "recall rises: holds" in said
    assert "- digits: from ORE* to PAD: unknown recall changes by +1.0 pt [-1.0, 3.0]; UDR" in said
    assert (
        "holds, task 2: AP of earlier classes changes by +40.0 pt [38.0, 42.0], from 1.0 %" in said
    )
    assert "holds: after task 1 Faster R-CNN has a recall of 0.0 %" in said
    assert "yet finds 40.0 % [36.0, 44.0]" in said
    same = {"difference": 0.0, "interval": (0.0, 0.0), "p": None}
    idle = world(("base", "base + cec", changes(unknown_recall=0.1) | {"a_ose": same}))
    assert f"- digits: nothing changes, {end}: A-OSE changes by 0" in lines(digits=idle)
    assert "does not hold, task 2" in lines(digits=world(restored=-0.4))
    assert "cannot tell, task 2" in lines(digits=world(restored=0.01))


def test_a_recall_that_is_not_nothing_says_as_much():
    held = world()
    held["stages"]["t1"] = {"base": stage(unknown_recall=0.2, udr=0.4)}
    assert "cannot tell: after task 1 Faster R-CNN has a recall of 20.0 %" in lines(digits=held)


def test_the_best_boxes_alone_are_a_line_of_their_own():
    rows = {name: stage(unknown_recall=0.5) for name in ("ore", "pad, advised by truth")}
    best = {"first": "ore", "second": "pad, advised by truth", "boxes": 10, "on": "CPU"}
    values = {"values": changes(unknown_recall=0.3), "of_all": changes(unknown_recall=0.02)}
    best |= {"stages": {"t1": {"rows": rows, **values}}}
    said = lines(digits=world(best=best))
    assert "by the 10 best boxes of an image (3 other trainings of each, CPU): holds, after" in said
    assert "changes by +30.0 pt [28.0, 32.0], 50.0 % [45.0, 55.0] after 50.0 %" in said


def test_each_claim_has_a_line_of_each_world():
    said = lines(digits=world(), photographs=world(restored=-0.4))
    at = said.index("restores old classes")
    assert "digits: holds" in said[at:] and "photographs: does not hold" in said[at:]


def test_the_page_has_both_worlds_and_what_was_published():
    whole = page.page(world(), world())
    assert "1,000 images" in whole and "5,008 pictures" in whole and "602 to 604 pictures" in whole
    assert "| PAD + CEC | 2 | 0.03306 | 54.11 | 37.26 | 45.64 | 9.89 | 24.62 | 40.18 |" in whole
    assert "| Faster R-CNN | 1 | 0.05332 | – | 60.53 | 60.53 | 0.00 | 20.48 | 0.00 |" in whole
    assert "| + fine-tuning | 4 | – | 37.83 | 28.73 | 35.55 | – | – | – |" in whole
    assert "here 1,900 steps of 32" in whole and "- after t2, zero has lost most" in whole
    assert "| Faster R-CNN | 300 | CPU |" in whole
    assert "before it is reminded" in whole.split("## Photographs")[0]
    assert "before it is reminded" not in whole.split("## Photographs")[1]
    assert "## Photographs" not in page.page(world(), None)


@pytest.mark.parametrize("runs", [1, 3])
def test_what_intervals_hold_is_said(runs):
    held = world()
    for rows in held["stages"].values():
        for name in rows:
            rows[name] = rows[name] | {"runs": runs}
    assert ("alone, not another training" in page.note(held)) == (runs == 1)
    assert ("Means over 3 seeds" in page.note(held)) == (runs == 3)
    said = "Photographs were learned by one seed"
    assert (said in page.page(world(), held)) == (runs == 1)


def test_what_has_no_value_is_a_dash():
    held = world()
    one = {"runs": 1, "values": {"a_ose": {"value": None, "interval": None}, "udr": value(0.4)}}
    held["stages"]["t2"]["ore"] = one
    shown = page.stage_of(held, "t2").markdown()
    assert "| – |" in shown and "wilderness" not in shown.lower()


def test_every_chain_has_a_name():
    assert set(page.NAMES) == set(open_world.CHAINS)


def test_the_script_reads_what_is_there(tmp_path, monkeypatch):
    (tmp_path / "open_world.json").write_text(json.dumps(world()))
    said = ["page", str(tmp_path), "--page", str(tmp_path / "page.md")]
    monkeypatch.setattr(sys, "argv", said)
    page.main()
    assert (tmp_path / "page.md").read_text("utf-8") == page.page(world(), None)
    drawn = (tmp_path / "page-digits.svg").read_text("utf-8")
    assert "Faster R-CNN" in drawn and "oracle" not in drawn
    assert not (tmp_path / "page-photographs.svg").exists()
