"""Parts on the command line: every verb reads them, and every engine gives the same answer."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from openset import Detections
from openset.formats import read_annotations, read_detections, write
from openset.formats.parts import Parts
from scenes.cli import write_pictures
from scenes.files import contents
from scenes.limits import limited

K = ("--known", "known.txt")


@pytest.fixture
def parts(scene, openset):
    """The scene in parts of seven images: four, the last with three."""
    for name in ("gt", "base", "shy"):
        more = () if name == "gt" else ("--truth", "gt.json")
        done = openset("convert", f"{name}.json", "-o", f"{name}.parts", "--per-part", "7", *more)
        assert done.code == 0, done.err
    return scene


def answers(openset, gt, *dt, engine=()):
    """What is printed, and the files of the run."""
    done = openset("evaluate", gt, *dt, *K, "-o", "run", *engine)
    assert done.code == 0, done.err
    return done.out


def test_the_answer_is_that_of_files(parts, openset):
    of_files = openset("evaluate", "gt.json", "base.json", "shy.json", *K)
    of_parts = openset("evaluate", "gt.parts", "base.parts", "shy.parts", *K)
    assert of_parts.out == of_files.out
    assert "checked 3 files, 24 images, 72 objects, 120 detections" in of_parts.err


def test_every_engine_writes_the_same_run(parts, openset):
    said, held = [], []
    for engine in ("local", "threads", "processes"):
        said.append(answers(openset, "gt.parts", "base.parts", "shy.parts",
                            engine=("--engine", engine, "--workers", "2")))  # fmt: skip
        held.append(contents(parts / "run"))
    strip = [{k: v for k, v in one.items() if k != "run.json"} for one in held]  # has the command
    assert said[0] == said[1] == said[2]
    assert strip[0] == strip[1] == strip[2] and len(strip[0]) == 5


def test_other_verbs_read_parts_as_files(parts, openset):
    write_pictures(parts / "pictures")
    assert openset("check", "gt.parts", "base.parts", *K).code == 0
    assert openset("convert", "base.parts", "-o", "again.json", "--truth", "gt.parts").code == 0
    again, before = read_detections("again.json"), read_detections("base.json")
    assert sorted(again.score.tolist()) == sorted(before.score.tolist())
    answers(openset, "gt.parts", "base.parts")
    assert openset("diagnose", "run").code == 0
    assert openset("report", "run", "--images", "pictures").code == 0
    mixed = openset("evaluate", "gt.parts", "base.parts", "shy.json", *K)  # all as tables
    assert mixed.code == 0 and mixed.out.count("shy")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (("gt.json", "base.json", "--engine", "processes"), "works on parts of one set"),
        (("gt.json", "base.parts", "--engine", "procesess"), "Did you mean 'processes'"),
        (("gt.json", "base.parts", "--workers", "2"), "--workers belongs to an engine"),
        (("gt.json", "base.parts", "--engine", "local", "--address", "auto"), "--engine ray"),
        (("gt.json", "base.parts", "--engine", "processes", "--workers", "0"), "at least 1"),
        (("gt.json", "base.parts", "--minimum-score", "best"), "all images at once"),
    ],
)
def test_what_cannot_be_meant_is_refused(parts, openset, line, words):
    done = openset("evaluate", *line, *K)
    assert done.code == 2 and words in " ".join(done.err.split())


def test_a_bad_part_is_named(parts, openset):
    path = parts / "base.parts" / "part-00002.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    done = openset("evaluate", "gt.parts", "base.parts", *K, "--engine", "processes")
    assert done.code == 2 and "OS363" in done.err and "part-00002.parquet" in done.err
    assert "part-00001.parquet" not in done.err


@pytest.fixture
def evidence(parts):
    """Detections with logits, in parts."""
    truth, found = read_annotations("gt.json"), read_detections("base.json")
    logits = np.random.default_rng(0).normal(size=(len(found), 4)).astype(np.float32)
    told = Detections(
        found.image, found.label, found.box, found.score, logits=logits, layout="softmax"
    )
    write(told, "told.parts", truth=truth, per_part=7)
    return parts


SCORE = ("score", "told.parts", "--scorers", "energy")


def test_scores_of_parts_are_those_of_the_whole(evidence, openset):
    assert openset(*SCORE, "-o", "energy.parts").code == 0
    write(read_detections("told.parts"), "told.parquet")
    assert openset("score", "told.parquet", "--scorers", "energy", "-o", "e.parquet").code == 0
    one, other = read_detections("energy.parts"), read_detections("e.parquet")
    assert one.unknownness.tobytes() == other.unknownness.tobytes()
    assert one.provenance == other.provenance


def test_the_folder_that_is_scored_is_not_told_to_be_removed(evidence, openset):
    held = contents(evidence / "told.parts")
    for out in ("told.parts", f"../{evidence.name}/told.parts"):
        done = openset(*SCORE, "-o", out)
        assert done.code == 2 and "is the folder that is scored" in " ".join(done.err.split())
    done = openset("convert", "gt.parts", "-o", "gt.parts")
    assert done.code == 2 and "name another" in done.err and "remove" not in done.err
    assert contents(evidence / "told.parts") == held


ENGINES = [("threads", 2), ("processes", 1), ("processes", 3)]
ENGINES += [("ray", 2)] if find_spec("ray") else []


@pytest.mark.parametrize(("name", "workers"), ENGINES)
def test_every_engine_scores_the_same_parts(evidence, openset, name, workers, request):
    if name == "ray":
        request.getfixturevalue("ray_here")
    fit = ("--scorers", "energy,knn", "--fit", "fit.parquet", "--fit-truth", "fit.json")
    told, truth = read_detections("told.parts"), read_annotations("gt.json")
    more = np.random.default_rng(1).normal(size=(len(told), 3))
    write(replace(told, embedding=more), "both.parts", truth=truth, per_part=7)
    write(replace(told, embedding=more), "fit.parquet")
    write(truth, "fit.json")
    line = ("score", "both.parts", *fit, "--force")
    assert openset(*line, "-o", "here").code == 0
    there = openset(*line, "-o", "there", "--engine", name, "--workers", workers)
    assert there.code == 0, there.err
    assert contents(evidence / "there") == contents(evidence / "here")
    assert len(contents(evidence / "there")) == 10


def test_an_engine_needs_parts_to_score(evidence, openset):
    done = openset("score", "base.json", "--scorers", "energy", "-o", "e.parquet",
                   "--engine", "processes")  # fmt: skip
    assert done.code == 2 and "a folder of parts" in done.err


def test_shards_make_all_parts_and_a_restart_makes_what_is_missing(evidence, openset, monkeypatch):
    assert openset(*SCORE, "-o", "whole.parts").code == 0
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    monkeypatch.setenv("SLURM_ARRAY_TASK_COUNT", "3")
    monkeypatch.setenv("SLURM_ARRAY_TASK_MIN", "1")
    done = openset(*SCORE, "-o", "e.parts", "--shard", "auto", "--json").json["scorers"]["energy"]
    assert done["made"] == 1 and done["missing"] == [0, 1, 3]
    assert "OS365" in openset("evaluate", "gt.json", "e.parts", *K).err
    again = openset(*SCORE, "-o", "e.parts", "--json").json["scorers"]["energy"]
    assert again["made"] == 3 and again["missing"] == []
    assert contents(evidence / "e.parts") == contents(evidence / "whole.parts")
    assert openset(*SCORE, "-o", "e.parts", "--json").json["scorers"]["energy"]["made"] == 0
    other = openset("score", "told.parts", "--scorers", "entropy", "-o", "e.parts")
    assert other.code == 2 and "OS361" in other.err
    assert openset("score", "told.parquet", "--scorers", "energy", "-o", "x.parquet",
                   "--shard", "1/2").code == 2  # fmt: skip


def test_no_room_keeps_what_is_done(evidence, openset):
    """Of a disk with room for all parts but the second one."""
    truth, told = read_annotations("gt.json"), read_detections("told.parts")
    many = np.flatnonzero(np.isin(told.image, truth.images.id[7:14])).repeat(400)
    rest = np.flatnonzero(~np.isin(told.image, truth.images.id[7:14]))
    large = told.select(np.concatenate([rest, many]))
    logits = np.random.default_rng(2).normal(size=(len(large), 4)).astype(np.float32)
    write(replace(large, logits=logits), "large.parts", truth=truth, per_part=7)
    command = ("score", "large.parts", "--scorers", "energy", "--engine", "processes")
    line = ["-m", "openset", *command, "--workers", "2", "-o", "e.parts"]
    done = limited("RLIMIT_FSIZE", 40_000, line)
    assert done.returncode == 2 and "cannot write" in done.stderr, done.stderr
    assert "part-00001.parquet" in done.stderr and "Traceback" not in done.stderr
    assert Parts.open(evidence / "e.parts").missing == [1]
    assert openset(*command, "-o", "e.parts", "--json").json["scorers"]["energy"]["made"] == 1
    assert openset(*command, "-o", "whole.parts").code == 0
    assert contents(evidence / "e.parts") == contents(evidence / "whole.parts")


def test_progress_is_of_parts(evidence, openset, monkeypatch):
    """A line for every part: how many, how fast, how long still."""
    monkeypatch.setattr("openset.cli._console.PAUSE", 0.0)
    for line in (("evaluate", "gt.parts", "base.parts", *K), (*SCORE, "-o", "e.parts")):
        said = openset(*line).err
        assert re.search(r"4 of \d+: .*part 4, [\d.e+]+ parts/(s|min), \d+:\d\d left", said), said


def test_merge_joins_folders_of_shards(evidence, openset):
    for shard in (1, 2):
        assert openset(*SCORE, "-o", f"s{shard}.parts", "--shard", f"{shard}/2").code == 0
    alone = " ".join(openset("evaluate", "gt.json", "s1.parts", *K).err.split())
    assert "OS365" in alone and "-o s1.parts --shard 2/2" in alone and "openset merge s1" in alone
    early = openset("merge", "s1.parts", "-o", "all.parts")
    assert early.code == 2 and "OS365" in early.err
    assert "openset merge OTHER ... s1.parts -o all.parts" in " ".join(early.err.split())
    done = openset("merge", "s1.parts", "s2.parts", "-o", "all.parts")
    assert done.code == 0 and "all are done: 71 detections on 24 images" in done.out
    assert openset(*SCORE, "-o", "whole.parts").code == 0
    assert contents(evidence / "all.parts") == contents(evidence / "whole.parts")
    other = openset("merge", "s1.parts", "told.parts", "-o", "x.parts").err
    assert "OS361" in other and "the shards of one run" in other
    twice = openset("merge", "s1.parts", "./s1.parts", "-o", "y.parts")
    assert twice.code == 2 and "is given twice" in twice.err
    assert not Path("y.parts").exists()
    assert "OS104" in openset("merge", "gt.json", "-o", "x.parts").err


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"PAR1")])
def test_merge_says_which_part_is_lost(spoil, evidence, openset):
    for shard in (1, 2):
        assert openset(*SCORE, "-o", f"s{shard}.parts", "--shard", f"{shard}/2").code == 0
    spoil(evidence / "s2.parts" / "part-00001.parquet")
    done = openset("merge", "s1.parts", "s2.parts", "-o", "all.parts")
    said = " ".join(done.err.split())
    assert done.code == 2 and "OS365 s2.parts says of part-00001.parquet that it is done" in said
    again = f"openset {' '.join(SCORE)} -o s2.parts --shard 2/2"
    assert f"give the command again: {again}" in said
    assert openset(*again.split()[1:]).code == 0
    shutil.copytree(evidence / "s2.parts", evidence / "s3.parts")
    spoil(evidence / "s2.parts" / "part-00001.parquet")  # another folder has it
    assert openset("merge", "s1.parts", "s2.parts", "s3.parts", "-o", "all.parts").code == 0


def test_a_part_that_is_lost_names_its_command(evidence, openset):
    assert openset(*SCORE, "-o", "e.parts").code == 0
    (evidence / "e.parts" / "part-00001.parquet").unlink()
    said = " ".join(openset("evaluate", "gt.json", "e.parts", *K).err.split())
    assert "OS365" in said and f"again: openset {' '.join(SCORE)} -o e.parts" in said


def test_a_part_that_two_shards_made_differently_is_refused(evidence, openset):
    for shard in (1, 2):
        assert openset(*SCORE, "-o", f"s{shard}.parts").code == 0
    parts = Parts.open(evidence / "s2.parts")
    table = parts.read(1)
    (evidence / "s2.parts" / "manifest.json").write_text(
        (evidence / "s2.parts" / "manifest.json").read_text().replace('"done":true', '"done":false')
    )
    for number in range(len(parts)):
        parts.add(number, parts.read(number) if number != 1 else table.select(table.score > 0.5))
    done = openset("merge", "s1.parts", "s2.parts", "-o", "x.parts")
    assert done.code == 2 and "OS368" in done.err and "part-00001" in done.err
    assert not (evidence / "x.parts").exists()


def test_two_detectors_are_no_shards_of_one(parts, openset):
    for name in ("base", "shy"):
        line = ("convert", f"{name}.json", "--truth", "gt.json", "-o", f"{name}-whole.parts")
        assert openset(*line).code == 0
    before = contents(parts)
    done = openset("merge", "base-whole.parts", "shy-whole.parts", "-o", "x.parts")
    assert done.code == 2 and "OS368" in done.err and "two detectors" in done.err
    assert contents(parts) == before and not (parts / "x.parts").exists()
    assert openset("merge", "base-whole.parts", "-o", "x.parts").code == 0
    done = openset("merge", "shy-whole.parts", "-o", "x.parts")
    assert done.code == 2 and "OS368" in done.err
    assert contents(parts / "x.parts") == contents(parts / "base-whole.parts")


def test_an_evaluation_that_was_killed_leaves_nothing(parts, openset):
    command = ("evaluate", "gt.parts", "base.parts", *K)
    whole, held = openset(*command).out, contents(parts)
    there = (*command, "--engine", "processes", "--workers", "2")
    process = subprocess.Popen(
        [sys.executable, "-m", "openset", *there],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(0.5)
    os.killpg(process.pid, signal.SIGKILL)  # the program, and with it its workers
    process.wait()
    assert contents(parts) == held
    assert openset(*there).out == whole


def test_a_run_that_was_killed_goes_on(evidence, openset):
    """Killed at any moment, and given again until it ends: the same bytes."""
    assert openset(*SCORE, "-o", "whole.parts").code == 0
    command = [sys.executable, "-m", "openset", *SCORE, "-o", "e.parts"]
    for kills in range(1, 4):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len([*(evidence / "e.parts").glob("*.parquet")]) < kills and process.poll() is None:
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert openset(*SCORE, "-o", "e.parts").code == 0
    assert contents(evidence / "e.parts") == contents(evidence / "whole.parts")


def test_a_lost_part_of_a_conversion_is_made_again_as_it_is_said(parts, openset):
    (parts / "base.parts" / "part-00001.parquet").unlink()
    for line in (("evaluate", "gt.json", "base.parts", *K), ("merge", "base.parts", "-o", "all")):
        said = " ".join(openset(*line).err.split())
        assert "OS365" in said and "base.parts and give the command again" in said
    assert "remove the folder" in said
    command = re.search(r"command again: openset (convert .*? --truth gt.json)", said)[1]
    shutil.rmtree(parts / "base.parts")
    assert openset(*command.split()).code == 0
    assert openset("evaluate", "gt.json", "base.parts", *K).code == 0
