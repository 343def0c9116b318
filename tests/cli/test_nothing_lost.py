"""Nothing is lost: no verb writes over what it reads; a place holds the old or the new, whole."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from inspect import signature
from pathlib import Path

import pytest

from openset import files
from openset.__main__ import interrupt
from openset.cli._app import build, resolve
from openset.cli._command import OUTPUTS
from openset.cli._front import verbs
from openset.evaluation.later import Later
from openset.files import writing
from scenes.cli import write_pictures
from scenes.files import contents, write_evidence
from scenes.limits import limited

EVALUATE = ("evaluate", "gt.json", "base.json", "--known", "dog,cat", "--no-intervals", "-q")
# Of every verb that writes: command lines that would write over, into or around what they read.
LOSSES = {
    "attack": [
        ("model.pt", "gt.json", "-o", "gt.json"),
        ("model.pt", "gt.json", "-o", "{energy.parquet}", "--images", "energy.parquet"),
    ],
    "audit": [("--test", "gt.json", "--known", "dog,cat", "-o", "{gt.json}")],
    "build": [("mine.toml", "--source", "sources", "-o", "sources")],
    "convert": [
        ("base.json", "-o", "{base.json}", "--to", "coco"),
        ("base.json", "--truth", "gt.json", "-o", "{gt.json}", "--to", "coco"),
        ("yolo", "-o", "{yolo/data.yaml}", "--to", "coco"),
        ("yolo", "-o", "{yolo/sizes.csv}", "--to", "csv"),
        ("yolo/data.yaml", "-o", "yolo", "--to", "voc"),
        ("dt.parts", "--truth", "gt.json", "-o", "{dt.parts/part-00000.parquet}"),
    ],
    "demo": [("-o", "yolo")],
    "draw": [
        ("run", "--images", "pictures", "-o", "run"),
        ("run", "--images", "pictures", "-o", "."),
        ("run", "--images", "pictures", "-o", "{pictures/image 001.png}"),
        ("run", "--images", "pictures", "-o", "{pictures/more/not-drawn.jpg}"),
        ("energy.parquet", "--images", "pictures", "-o", "{pictures/image 001.png}"),
    ],
    "evaluate": [
        ("run/truth.parquet", "run/base.detections.parquet", "--known", "dog,cat", "-o", "run"),
        ("gt.json", "base.json", "--known", "run/known.txt", "-o", "run"),
        ("gt.json", "base.json", "--known", "known.txt", "-o", "{known.txt}"),
    ],
    "fetch": [("mine.toml", "-o", "{mine.toml}", "--download")],
    "merge": [("dt.parts", "-o", "{gt.json}"), ("dt.parts", "-o", "run")],
    "recognise": [("s.npz", "-o", "{s.npz}"), ("s.npz", "--plot", "{s.npz}")],
    "report": [
        ("run", "-o", "{run/run.json}"),
        ("run", "-o", "{run/truth.parquet}"),
        ("run", "-o", "{run/base.result.json}"),
        ("run", "-o", "run"),
    ],
    "learn": [("yolo", "-o", "yolo"), ("yolo", "--recipe", "mine.toml", "-o", "mine.toml")],
    "select": [("gt.json", "-o", "{gt.json}")],
    "timeline": [("gt.json", "-o", "{gt.json}")],
    "run": [("model.pt", "pictures", "-o", "model.pt"), ("yolo", "gt.json", "-o", "gt.json")],
    "score": [
        ("energy.parquet", "--scorers", "energy", "-o", "{energy.parquet}"),
        ("energy.parquet", "--scorers", "energy", "-o", "."),
        ("dt.parts", "--scorers", "energy", "-o", "dt.parts"),
    ],
    "train": [
        ("digits-small", "gt.json", "-o", "yolo"),
        ("digits-small", "gt.json", "-o", "gt.json"),
    ],
}
TOML = """
[classes]
known = ["dog"]
[sources.all]
path = "gt.json"
[splits.test]
sources = ["all"]
"""


@pytest.fixture
def everything(scene, openset):
    """Something to read for every verb."""
    write_evidence(scene)
    write_pictures(scene / "pictures")
    (scene / "pictures" / "more").mkdir()
    shutil.copy(scene / "pictures" / "image 001.png", scene / "pictures" / "more" / "not-drawn.jpg")
    assert openset(*EVALUATE, "-o", "run").code == 0
    assert openset("convert", "gt.json", "-o", "yolo", "--to", "yolo").code == 0
    truth = ("--truth", "gt.json")
    assert openset("convert", "base.json", "-o", "dt.parts", *truth).code == 0
    (scene / "mine.toml").write_text(TOML)
    (scene / "sources").mkdir()
    shutil.copy(scene / "gt.json", scene / "sources" / "gt.json")
    return scene


def named(argument, way, folder):
    """An argument in braces as another name of the same file."""
    if argument[0] != "{":
        return argument
    path = folder / argument[1:-1]
    if way == "itself":
        return str(path.relative_to(folder))
    if way == "roundabout":
        return f"./pictures/../{path.relative_to(folder)}"
    other = folder / f"other{path.suffix}"
    if way == "symbolic":
        other.symlink_to(path)
    else:
        other.hardlink_to(path)
    return other.name


@pytest.mark.parametrize("way", ["itself", "roundabout", "symbolic", "hard"])
def test_no_verb_writes_over_what_it_reads(way, everything, openset):
    for verb, lines in LOSSES.items():
        for line in lines:
            line = [named(argument, way, everything) for argument in line]
            before = contents(everything)
            done = openset(verb, *line)
            assert done.code == 2, f"{done.command} is not refused"
            assert contents(everything) == before, done.command
            for other in everything.glob("other*"):
                other.unlink()


def test_every_verb_that_writes_is_tried():
    app, writing = build(), set()
    for name in verbs():
        resolve(app, name)
        if set(OUTPUTS) & set(signature(app[name].default_command).parameters):
            writing.add(name)
    assert writing == set(LOSSES)


TWO_OUTPUTS = {
    "select": ("gt.json", "--share", "0.5", "-o", "new.json", "--rest"),
    "recognise": ("s.npz", "-o", "new.json", "--plot"),
}


def test_no_two_outputs_are_one_place(everything, openset):
    (everything / "link.json").symlink_to("new.json")
    (everything / "here").symlink_to(".")
    before = contents(everything)
    ways = ("new.json", "./new.json", "x/../new.json", "link.json", "here/new.json")
    for verb, line in TWO_OUTPUTS.items():
        for other in (*ways, str(everything / "new.json")):
            done = openset(verb, *line, other)
            assert done.code == 2 and " are one file" in done.err, done.err
            assert "input" not in done.err
            assert contents(everything) == before, done.command


def test_every_verb_of_two_outputs_is_tried():
    app, two = build(), set()
    for name in verbs():
        resolve(app, name)
        if len(set(OUTPUTS) & set(signature(app[name].default_command).parameters)) > 1:
            two.add(name)
    assert two == set(TWO_OUTPUTS)


def test_a_picture_among_pictures_may_be_new(everything, openset):
    line = ("draw", "run", "--images", "pictures", "-o", "pictures/sheet.png")
    assert openset(*line).code == 0
    assert (everything / "pictures" / "sheet.png").is_file()
    page = ("report", "run", "--images", "pictures", "-o", "pictures/report.html")
    assert [openset(*page).code for _ in range(2)] == [0, 0]


def test_what_was_written_may_be_written_again(everything, openset):
    for _ in range(2):
        assert openset("report", "run").code == 0
        assert openset("convert", "yolo", "-o", "yolo/again.csv").code == 0
        assert openset("draw", "run", "--images", "pictures", "-o", "drawn").code == 0
        shutil.rmtree(everything / "drawn")
    assert openset(*EVALUATE, "-o", "run").code == 0


def test_images_of_one_name_in_two_folders_are_drawn_twice(everything, openset):
    truth = json.loads((everything / "gt.json").read_text())
    for folder, image in zip("ab", truth["images"][:2], strict=True):
        (everything / "pictures" / folder).mkdir()
        shutil.copy(
            everything / "pictures" / image["file_name"], everything / "pictures" / folder / "x.png"
        )
        image["file_name"] = f"{folder}/x.png"
    (everything / "gt.json").write_text(json.dumps(truth))
    assert openset(*EVALUATE, "-o", "run").code == 0
    only = ("--only", ",".join(str(image["id"]) for image in truth["images"][:2]))
    assert openset("draw", "run", "--images", "pictures", "-o", "drawn", *only).code == 0
    assert len(list((everything / "drawn").iterdir())) == 2


def replaced(folder, renamed):
    """The folder after a run was written over another, with an error or a kill at the exchange."""
    code = (
        "import os, sys; from openset.files import writing; from openset.cli import main\n"
        f"{renamed}\n"
        f"sys.exit(main({[*EVALUATE[:2], 'shy.json', *EVALUATE[3:], '-o', 'run']!r}))\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )


LATE = (
    "real = writing._put\n"
    "def late(draft, target):\n"
    "    if target.name != 'run':\n        return real(draft, target)\n"
    "    {}\n"
    "writing._put = late"
)
MOMENTS = {
    "before": LATE.format("os.kill(os.getpid(), 9)"),
    "after": LATE.format("real(draft, target); os.kill(os.getpid(), 9)"),
    "error": LATE.format("raise OSError(5, 'Input/output error')"),
    "fallback": (
        "from pathlib import Path\nwriting._exchanged = lambda *a: False\nreal = Path.rename\n"
        "def late(self, to):\n    if self.name == 'run' and '.openset-' in str(self):\n"
        "        raise OSError(28, 'No space left on device')\n    return real(self, to)\n"
        "Path.rename = late"
    ),
}  # fmt: skip


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_is_replaced_as_a_whole_or_not_at_all(moment, everything, openset):
    before = contents(everything / "run")
    done = replaced(everything, MOMENTS[moment])
    assert done.returncode == (2 if moment in ("error", "fallback") else -signal.SIGKILL), (
        done.stderr
    )
    assert "Traceback" not in done.stderr
    after = contents(everything / "run")
    if moment == "after":
        assert sorted(after) == sorted(name.replace("base", "shy") for name in before)
    else:
        assert after == before
    left = list(everything.glob(".openset-*"))
    assert bool(left) == (moment in ("before", "after"))
    for path in left:
        os.utime(path, (0, 0))
    assert openset(*EVALUATE, "-o", "run").code == 0
    assert not list(everything.glob(".openset-*"))
    assert openset("report", "run").code == 0


def test_the_exchange_is_one(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if sys.platform != "linux":
        pytest.skip("only Linux exchanges names")
    assert writing._exchanged(tmp_path / "one", tmp_path / "two")
    assert (tmp_path / "one" / "two").exists() and (tmp_path / "two" / "one").exists()


def test_leftovers_of_the_living_stay(tmp_path):
    with files.replacing(tmp_path / "a", folder=False) as draft:
        os.utime(draft.parent, (0, 0))
        files.clear_leftovers(tmp_path)
        assert draft.parent.is_dir()
        draft.touch()
    (tmp_path / ".openset-dead" / "old").mkdir(parents=True)  # the only copy of something
    os.utime(tmp_path / ".openset-dead", (0, 0))
    files.clear_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".openset-dead", "a"]


WRITING = {
    "evaluate": (*EVALUATE, "-o", "new"),
    "report": ("report", "run", "-o", "new.html"),
    "csv": ("convert", "base.json", "-o", "new.csv"),
    "parquet": ("convert", "base.json", "-o", "new.parquet"),
    "parts": ("convert", "base.json", "--truth", "gt.json", "-o", "new.parts"),
    "yolo": ("convert", "gt.json", "-o", "new", "--to", "yolo"),
    "score": ("score", "energy.parquet", "--scorers", "energy", "-o", "new.parquet"),
    "draw": ("draw", "run", "--images", "pictures", "-o", "new"),
    "recognise": ("recognise", "s.npz", "-o", "new"),
    "audit": ("audit", "--test", "gt.json", "--known", "dog,cat", "-o", "new.json"),
    "digits": ("build", "digits", "--option", "images=10", "-o", "new"),
}


@pytest.mark.parametrize("case", WRITING)
def test_a_full_disk(case, everything):
    before = contents(everything)
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = limited("RLIMIT_FSIZE", 64, ["-m", "openset", *WRITING[case]], env)
    assert done.returncode == 2, done.stderr
    assert "cannot write" in done.stderr and "Traceback" not in done.stderr
    after = contents(everything)
    if case != "digits":  # a world goes on where it was stopped, and every file in it is whole
        assert after == before


def test_an_answer_to_a_full_disk(here):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "openset", "list", "metrics"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2 and done.stderr.startswith("error: cannot write the answer")


def test_an_interruption_waits_for_the_import_lock(monkeypatch):
    """Raised within the import machinery it is lost, or the lock is held for ever."""
    timers, found = [], {}
    monkeypatch.setattr(signal, "setitimer", lambda *given: timers.append(given))
    for name in ("<frozen importlib._bootstrap>", "a module"):
        exec(compile("import sys; frame = sys._getframe()", name, "exec"), found)
        if name == "a module":
            with pytest.raises(KeyboardInterrupt):
                interrupt(signal.SIGINT, found["frame"])
        else:
            interrupt(signal.SIGINT, found["frame"])
        assert len(timers) == 1  # the first one asks to be called again


def test_an_interruption_of_a_thread_is_raised_where_its_result_is_asked_for():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Later(interrupted).result()


@pytest.mark.parametrize("seed", range(6))
def test_an_interruption_at_any_moment(seed, everything):
    wait = random.Random(seed).uniform(0.02, 1.2)
    before = contents(everything)
    ignored = signal.signal(signal.SIGINT, signal.SIG_DFL)  # a job in the background ignores it
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "openset", *EVALUATE, "-o", "new"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    finally:
        signal.signal(signal.SIGINT, ignored)
    try:
        time.sleep(wait)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    finally:
        child.kill()  # one that hangs is a failure, and would be waited for
    after = contents(everything)
    assert child.returncode in (0, 130, -signal.SIGINT)
    # Before `run` is called Python itself is interrupted, which nobody can word otherwise.
    assert ", in run" not in err or "Traceback" not in err, err
    whole = {name for name in after if not name.startswith("new/")} == set(before)
    assert whole, sorted(set(after) ^ set(before))
    assert "new/run.json" in after or not (everything / "new").exists()
