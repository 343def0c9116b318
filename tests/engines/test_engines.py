"""Engines: one answer under all of them, and failures that are said together."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from openset import engines
from openset.findings import InputError, UsageError, refuse

every_engine = pytest.mark.parametrize("engine", engines.table().values(), ids=engines.table())


def test_the_engines_are_there():
    assert {"here", "threads"} <= set(engines.table())
    assert all(engine.summary.endswith(".") for engine in engines.table().values())
    with pytest.raises(UsageError, match=r"unknown engine 'thread'.*'threads'"):
        engines.find("thread")


@every_engine
def test_results_are_in_the_order_of_the_items(engine):
    def late(item):
        time.sleep(0.02 / (1 + item))  # the first is ready last
        return item * item

    assert engine.map(late, iter(range(12))) == [item * item for item in range(12)]
    assert engine.map(late, []) == []


@every_engine
def test_answers_are_identical_bit_for_bit(engine):
    items = [np.random.default_rng(seed).normal(size=(40, 30)) for seed in range(9)]
    found = engine.map(lambda one: (one @ one.T).sum(axis=0), items)
    for one, wanted in zip(found, engines.find("here").map(lambda v: (v @ v.T).sum(0), items),
                           strict=True):  # fmt: skip
        assert one.tobytes() == wanted.tobytes()


@every_engine
def test_what_is_wrong_with_any_item_is_said_at_once(engine):
    tried = []

    def work(item):
        tried.append(item)
        if item % 2:
            raise refuse("OS101", f"no such file: {item % 5}")
        return item

    with pytest.raises(InputError) as caught:
        engine.map(work, range(8))
    assert sorted(tried) == list(range(8))
    said = [finding.message for finding in caught.value.findings]
    assert said == [f"no such file: {which}" for which in (1, 3, 0, 2)]
    with pytest.raises(InputError) as caught:
        engine.map(work, [1, 2, 1])  # one finding is said once
    assert len(caught.value.findings) == 1


@every_engine
def test_any_other_exception_is_that_of_the_first_item_that_has_one(engine):
    def work(item):
        time.sleep(0.02 if item == 1 else 0)
        raise (refuse("OS101", "bad") if item == 0 else KeyError(item))

    with pytest.raises(KeyError, match="1"):
        engine.map(work, range(5))


@every_engine
def test_a_result_may_be_an_error(engine):
    error = refuse("OS101", "bad")
    assert engine.map(lambda _: error, [0]) == [error]


def test_threads_work_at_the_same_time(monkeypatch):
    monkeypatch.setenv("OPENSET_THREADS", "3")
    meeting = threading.Barrier(3, timeout=20)
    assert sorted(engines.find("threads").map(lambda _: meeting.wait(), range(3))) == [0, 1, 2]
    assert set(engines.find("here").map(lambda _: threading.get_ident(), range(3))) == {
        threading.get_ident()
    }
