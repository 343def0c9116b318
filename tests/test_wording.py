"""How names and numbers are written for people."""

from __future__ import annotations

from openset.wording import short


def test_short_names():
    assert short("a\nb") == "a b"
    assert short("") == "(no name)"
    assert len(short("é" * 500)) <= 120
