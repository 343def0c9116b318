"""What `tools.breaks` makes of code that hands findings on."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from tools import breaks

from openset.findings import Finding, InputError, Level, refuse

CODE = """
def raised(code):
    raise refuse(code, "no")

def caught(code):
    try:
        {}["a"]
    except KeyError as error:
        raise refuse(code, "no") from error

def raised_together(*codes):
    raise InputError([finding(code) for code in codes])

def yielded(code):
    yield finding(code)

def listed(code):
    return [finding(code)]

def beside(code):
    return 1, [finding(code)]

def appended(code):
    found = []
    found.append(finding(code))
    return tuple(found)

def by_name(code):
    found = {}
    found["a"] = finding(code)
    return found

def maybe(code) -> Finding | None:
    return finding(code)

def data():
    return [(1, "OS203")]
"""


def finding(code):
    return Finding(code, Level.NOTE, "there is")


@pytest.fixture
def names(monkeypatch):
    """The functions above, without findings OS203."""
    monkeypatch.setattr(breaks.STATE, "dropped", "OS203")
    tree = ast.fix_missing_locations(breaks.Rewrite().visit(ast.parse(CODE)))
    known: dict[str, Any] = {"_breaks": breaks, "finding": finding, "refuse": refuse}
    known |= {"InputError": InputError, "Finding": Finding}
    exec(compile(tree, "code", "exec"), known)
    return known


def codes(findings):
    return [one.code for one in findings]


@pytest.mark.parametrize("name", ["raised", "caught"])
def test_refusals_are_dropped(name, names):
    assert names[name]("OS203") is None
    with pytest.raises(InputError, match="OS204") as caught:
        names[name]("OS204")
    assert (caught.value.__cause__ is not None) == (name == "caught")


def test_others_are_still_raised(names):
    with pytest.raises(InputError) as caught:
        names["raised_together"]("OS203", "OS204")
    assert codes(caught.value.findings) == ["OS204"]


@pytest.mark.parametrize("name", ["yielded", "listed", "appended"])
def test_findings_are_dropped(name, names):
    assert codes(names[name]("OS203")) == []
    assert codes(names[name]("OS204")) == ["OS204"]


def test_findings_beside_something_and_single_ones(names):
    assert names["beside"]("OS203") == (1, [])
    assert names["by_name"]("OS203") == {}
    assert names["by_name"]("OS204").keys() == {"a"}
    assert names["maybe"]("OS203") is None
    assert names["maybe"]("OS204").code == "OS204"


def test_what_is_no_finding_stays(names):
    assert names["data"]() == [(1, "OS203")]


def test_tests_are_found_by_the_codes_they_name():
    assert "OS203" in breaks.named_in(breaks.ROOT / "tests/test_breaks.py")
