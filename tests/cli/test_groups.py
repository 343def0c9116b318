"""Groups from the command line: noticed, asked for, shown, kept with the run, and compared."""

from __future__ import annotations

import pytest

from scenes.builders import dump
from scenes.videos import videos

SHOWN = "resampled 24 groups of 240 images"
BY = ("--group-by", "*/")


@pytest.fixture
def filmed(here):
    """A ground truth of 24 videos, and two detectors' files."""
    shown = videos(1, count=24)
    shown.files(here)
    dump(here / "half.json", shown.found[::2])
    return here


def test_check_notes_frames_and_names_the_option(filmed, openset):
    done = openset("check", "gt.json", "dt.json")
    assert done.code == 0
    assert "240 of 240 images look like frames of 24 sequences" in done.out
    assert "fix   --group-by '*/' draws" in done.out
    assert "OS412" not in openset("check", "gt.json", "dt.json", *BY).out
    done = openset("check", "gt.json", "dt.json", "--group-by", "seq(0)")
    assert done.code == 1
    assert "OS413" in done.out


def test_what_was_resampled_is_said_everywhere(filmed, openset):
    done = openset("evaluate", "gt.json", "dt.json", *BY, "-o", "run")
    assert SHOWN in " ".join(done.out.split())
    assert "OS412" not in done.err
    counts = openset("evaluate", "gt.json", "dt.json", *BY, "--json").json
    assert counts["models"]["dt"]["provenance"]["counts"]["groups"] == 24
    assert openset("report", "run").code == 0
    assert (filmed / "run" / "report.html").read_text("utf-8").count(SHOWN) == 2


def test_results_of_other_groups_are_not_compared(filmed, openset):
    openset("evaluate", "gt.json", "dt.json", *BY, "-o", "one")
    openset("evaluate", "gt.json", "half.json", "-o", "two")
    pair = ("one/dt.result.json", "two/half.result.json")
    done = openset("compare", *pair)
    assert done.code == 2
    assert "different groups" in done.err
    forced = openset("compare", *pair, "--force").out
    assert "other images, groups or seeds" in " ".join(forced.split())
    assert "not paired" not in openset("compare", pair[0], pair[0]).out


@pytest.mark.parametrize("command", ["recognise x.npz", "train quick x -o y", "draw x --limit"])
def test_no_verb_rounds_a_fraction(command, here, openset):
    words = command.split() if command.endswith("--limit") else [*command.split(), "--seed"]
    done = openset(*words, "2.5")
    assert done.code == 2
    assert f"{words[-1]} takes a whole number, not 2.5" in done.err


def test_nor_does_the_file_of_settings(filmed, openset):
    (filmed / "openset.toml").write_text("[evaluate]\nseed = 1.5\n")
    done = openset("evaluate", "gt.json", "dt.json")
    assert done.code == 2
    assert "--seed takes a whole number, not 1.5" in done.err
