"""The command line where POSIX, UTF-8 and a compiler are missing: what Windows and macOS run into.

Not a replacement for the machines of CI: it shows here, in seconds, what would break there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import openset
from scenes.cli import write_scene

HERE = Path(__file__).parent
K = ("--known", "known.txt")


@pytest.fixture
def elsewhere(tmp_path):
    """Runs a command line there; a text file that is opened without an encoding is an error."""
    write_scene(tmp_path)
    source = Path(openset.__file__).parents[1]
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    env |= {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    env |= {"PYTHONWARNDEFAULTENCODING": "1", "PYTHONWARNINGS": "default::EncodingWarning"}
    env["OPENSET_KERNELS"] = "numpy"
    env["PYTHONPATH"] = os.pathsep.join([str(HERE / "scenes" / "elsewhere"), str(source)])

    def run(*words):
        command = [sys.executable, "-m", "openset", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, timeout=120, check=False
        )
        said = done.stderr.decode("ascii", "replace")
        ours = [line for line in said.splitlines() if "EncodingWarning" in line]
        assert not [line for line in ours if str(source) in line], said
        assert done.returncode == 0, said
        return done.stdout.decode("ascii")  # what the locale cannot say is escaped

    run.folder = tmp_path
    return run


def test_the_scene_is_another_system(elsewhere):
    code = "import os, sys; assert not hasattr(os, 'fork'); import fcntl"
    env = {**os.environ, "PYTHONPATH": str(HERE / "scenes" / "elsewhere")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=False)
    assert b"No module named 'fcntl'" in done.stderr


def test_a_run_goes_into_an_empty_folder_and_again_into_a_full_one(elsewhere):
    (elsewhere.folder / "run").mkdir()
    for _ in range(2):
        elsewhere("evaluate", "gt.json", "base.json", *K, "-o", "run", "--no-intervals")
        assert (elsewhere.folder / "run" / "run.json").is_file()
    elsewhere("report", "run", "--quiet")
    assert (elsewhere.folder / "run" / "report.html").stat().st_size > 100_000
    assert not list(elsewhere.folder.glob(".openset-*"))


def test_files_of_many_formats(elsewhere):
    for name in ("yolo", "voc"):
        (elsewhere.folder / name).mkdir()
        elsewhere("convert", "gt.json", "--to", name, "-o", name)
        elsewhere("convert", "base.json", "--truth", "gt.json", "--to", name, "-o", f"{name}-found")
        elsewhere("evaluate", name, f"{name}-found", *K, "--no-intervals")
    elsewhere("convert", "base.json", "-o", "base.parquet")
    elsewhere("select", "gt.json", "--share", "0.5", "-o", "a.json", "--rest", "b.json")


def test_parts_in_processes(elsewhere):
    for name, of in (("gt", ()), ("base", ("--truth", "gt.json"))):
        elsewhere("convert", f"{name}.json", *of, "-o", f"{name}.parts", "--per-part", "8")
    engine = ("--engine", "processes", "--workers", "2")
    options = (*K, "--no-intervals", "--json")
    there = elsewhere("evaluate", "gt.parts", "base.parts", *engine, *options)
    assert '"a_ose"' in there
