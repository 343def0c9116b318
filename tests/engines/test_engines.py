"""Engines: one answer under all of them, and failures that are said together."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from openset import engines
from openset.findings import InputError, UsageError
from scenes import work

EVERY = [name for name in engines.table() if name != "ray" or find_spec("ray")]


@pytest.fixture(params=EVERY)
def engine(request):
    if request.param == "ray":
        request.getfixturevalue("ray_here")
    return engines.find(request.param, workers=2)


def test_the_engines_are_there():
    assert {"local", "threads", "processes", "ray"} <= set(engines.table())
    assert all(engine.summary.endswith(".") for engine in engines.table().values())
    with pytest.raises(UsageError, match=r"unknown engine 'thread'.*'threads'"):
        engines.find("thread")
    with pytest.raises(UsageError, match="at least 1 worker"):
        engines.find("threads", workers=0)


def test_results_are_in_the_order_of_the_items(engine):
    seen = []
    assert engine.map(work.late, iter(range(12)), seen.append) == [n * n for n in range(12)]
    assert seen == list(range(1, 13))
    assert engine.map(work.late, []) == []


def test_answers_are_identical_bit_for_bit(engine):
    items = [np.random.default_rng(seed).normal(size=(40, 30)) for seed in range(9)]
    wanted = engines.find("local").map(work.sums, items)
    for one, other in zip(engine.map(work.sums, items), wanted, strict=True):
        assert one.tobytes() == other.tobytes()


def test_what_is_wrong_with_any_item_is_said_at_once(engine, tmp_path):
    function = partial(work.odd_is_bad, tmp_path)
    with pytest.raises(InputError) as caught:
        engine.map(function, range(8))
    tried = sorted(int(path.name.partition("-")[0]) for path in tmp_path.iterdir())
    assert tried == list(range(8))
    said = [finding.message for finding in caught.value.findings]
    assert said == [f"no such file: {which}" for which in (1, 3, 0, 2)]
    with pytest.raises(InputError) as caught:
        engine.map(function, [1, 2, 1])  # one finding is said once
    assert len(caught.value.findings) == 1


def test_any_other_exception_is_that_of_the_first_item_that_has_one(engine):
    with pytest.raises(KeyError, match="1"):
        engine.map(work.fails, range(5))


def test_a_result_may_be_an_error(engine):
    (error,) = engine.map(work.an_error, [0])
    assert isinstance(error, InputError) and error.findings[0].message == "bad"


def test_threads_work_at_the_same_time(monkeypatch):
    monkeypatch.setenv("OPENSET_THREADS", "3")
    meeting = threading.Barrier(3, timeout=20)
    assert sorted(engines.find("threads").map(lambda _: meeting.wait(), range(3))) == [0, 1, 2]
    assert set(engines.find("local").map(lambda _: threading.get_ident(), range(3))) == {
        threading.get_ident()
    }


def test_processes_have_one_thread():
    assert engines.find("processes", workers=1).map(os.getenv, ["OPENSET_THREADS"]) == ["1"]


def test_processes_take_functions_of_modules():
    with pytest.raises(UsageError, match="a function of a module"):
        engines.find("processes").map(lambda item: item, [1])


def test_arrays_come_back_as_they_were(tmp_path, monkeypatch):
    """Large ones in files, which are gone with them; what comes back can be written to."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (one, other), small = engines.find("processes", workers=1).map(work.arrays, [100_000, 3])
    wanted, _ = work.arrays(100_000)
    assert one.tobytes() == wanted.tobytes() and one.dtype == wanted.dtype
    assert other.tolist() == [1, 2, 3] and small[0].tolist() == work.arrays(3)[0].tolist()
    one[0] = 7.0
    assert [*tmp_path.iterdir()] == []


def test_no_room_for_a_result_is_said_so(tmp_path, monkeypatch):
    from openset.engines.processes import _sent

    with pytest.raises(InputError, match=r"cannot write .*nowhere"):
        _sent(work.arrays, tmp_path / "nowhere", 100_000)


def test_a_lost_process_is_replaced_and_its_item_tried_again(tmp_path):
    function = partial(work.lost_at, tmp_path, 3)
    assert engines.find("processes", workers=2).map(function, range(5)) == list(range(5))
    assert len([*tmp_path.iterdir()]) == 3


def test_a_process_that_is_lost_every_time_is_given_up(tmp_path):
    with pytest.raises(InputError, match="OS367"):
        engines.find("processes", workers=1).map(partial(work.lost_at, tmp_path, 99), [2])


def test_processes_end_with_who_started_them(tmp_path):
    """Even if that one was killed: nothing is left, neither running nor in a file."""
    notes, scratch = tmp_path / "notes", tmp_path / "scratch"
    notes.mkdir()
    scratch.mkdir()
    call = f"find('processes', 2).map(partial(work.waits, Path({str(notes)!r})), [1, 2])"
    lines = ["from functools import partial", "from pathlib import Path"]
    lines += ["from openset.engines import find", "from scenes import work", call]
    places = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TMPDIR": str(scratch)}
    command = [sys.executable, "-c", "\n".join(lines)]
    process = subprocess.Popen(command, env=os.environ | places, stderr=subprocess.DEVNULL)
    assert eventually(lambda: len([*notes.iterdir()]) == 2)
    process.kill()
    process.wait()
    pids = [int(path.name) for path in notes.iterdir()]
    assert eventually(lambda: not any(map(is_running, pids)) and not [*scratch.iterdir()])


def eventually(holds):
    """Whether something holds within half a minute."""
    return any(holds() or time.sleep(0.05) for _ in range(600))


def is_running(pid):
    """Whether a process is there, and not only waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(find_spec("ray") is not None, reason="Ray is installed")
def test_ray_is_an_extra():
    with pytest.raises(InputError, match=r"(?s)OS601.*ray"):
        engines.find("ray").map(work.late, [1])


needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")


@needs_ray
def test_a_ray_that_is_not_there_is_said_so(monkeypatch):
    import ray

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    with pytest.raises(InputError, match=r"OS366.*no Ray at 127.0.0.1:1"):
        engines.find("ray").map(work.late, [1])

    def refused(**options):
        raise ConnectionError("Could not find any running Ray instance\nat all")

    monkeypatch.setattr(ray, "init", refused)
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    with pytest.raises(InputError, match=r"OS366.*no Ray at auto: Could not find any"):
        engines.find("ray").map(work.late, [1])


@needs_ray
def test_a_task_that_ray_lost_is_tried_again(ray_here, tmp_path):
    function = partial(work.lost_at, tmp_path, 2)
    assert engines.find("ray", workers=2).map(function, range(4)) == list(range(4))
    assert len([*tmp_path.iterdir()]) == 2


@needs_ray
def test_work_for_gpus_is_done_where_there_are_none(ray_here):
    assert engines.find("ray").map(work.late, [work.OnGpu(3)]) == [9]
