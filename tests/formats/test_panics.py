"""Panics of polars are findings, and nothing of them is on the screen."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from openset.findings import InputError
from openset.formats import read, write
from openset.formats._panics import unheard
from scenes.builders import scene


def say(text):
    os.write(2, text)


def test_a_file_that_makes_polars_panic(tmp_path, capfd):
    path, refused = tmp_path / "a.parquet", []
    write(scene(4).tables()[1], path)
    good = path.read_bytes()
    for at in range(100, 120):  # what the first page says of itself
        path.write_bytes(good[:at] + b"\0" + good[at + 1 :])
        try:
            read(path)
        except InputError as error:
            refused.append(str(error))
    assert any("PanicException" in one for one in refused)
    assert capfd.readouterr().err == ""


def test_what_others_say_meanwhile_is_handed_on(capfd):
    with unheard():
        say(b"meanwhile\n")
        assert capfd.readouterr().err == ""
    say(b"after\n")
    assert capfd.readouterr().err == "meanwhile\nafter\n"


def test_nothing_is_handed_on_of_what_failed(capfd):
    with pytest.raises(ValueError, match="damaged"), unheard():
        say(b"thread panicked\n")
        raise ValueError("damaged")
    say(b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_threads_share_it_until_the_last_is_done(capfd):
    together, last = Barrier(2), Barrier(2)

    def first():
        with pytest.raises(ValueError, match="damaged"), unheard():
            together.wait()
            raise ValueError("damaged")
        say(b"thread panicked\n")  # the other still decodes
        last.wait()

    def second():
        with unheard():
            together.wait()
            last.wait()

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(first), pool.submit(second)]:
            done.result(timeout=30)
    with unheard():
        say(b"meanwhile\n")
    assert capfd.readouterr().err == "meanwhile\n"


def test_where_it_cannot_be_led_aside_decoding_goes_on(monkeypatch, capfd):
    def full(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with unheard():
        say(b"meanwhile\n")
    assert capfd.readouterr().err == "meanwhile\n"


def test_a_reader_of_stderr_that_has_gone_is_no_damage():
    ours, theirs = os.dup(2), os.pipe()
    try:
        os.dup2(theirs[1], 2)
        os.close(theirs[0])
        with unheard():
            say(b"meanwhile\n")
    finally:
        os.dup2(ours, 2)
        os.close(ours)
        os.close(theirs[1])
