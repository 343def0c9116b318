"""Bad input, end to end: files on disk, through `evaluate`; no wrong number and no traceback.

One row per mistake: what is done to two good files, the code, its level and count, what the
example and the fix must say, and what `force=True` makes of it.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import openset
from openset.findings import InputError, Level
from scenes.bad_input import KNOWN, ROWS, Row, chosen, files, good, run


def test_the_good_files_are_good(tmp_path):
    row = Row("nothing", lambda truth, found: None, "")
    result, findings = run(row, tmp_path)
    assert not findings
    codes = {finding.code for finding in result.findings}
    assert codes <= {"OS304"}  # there is no cow
    assert result.values["udr"].value == 1


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_a_mistake_is_named(row, tmp_path):
    result, findings = run(row, tmp_path)
    assert (result is None) == (row.level is Level.ERROR)
    finding = chosen(row, findings or result.findings)
    assert finding.level is row.level
    assert finding.count == row.count
    assert row.example in finding.example
    assert row.fix in finding.fix
    if row.level is Level.ERROR:
        assert all(f.level is Level.ERROR for f in findings)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_force_gives_a_result_or_a_clear_refusal(row, tmp_path):
    result, findings = run(row, tmp_path, force=True)
    assert (result is not None) == row.forced or row.level is not Level.ERROR
    finding = chosen(row, findings or result.findings)
    if result is None:
        assert finding.level is Level.ERROR
        return
    assert finding.level is (Level.WARNING if row.level is Level.ERROR else row.level)
    json.dumps(result.flat(), allow_nan=False)
    assert repr(result)
    assert result.to_json()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
@pytest.mark.parametrize("protocol", ["owod", "elephant"])
def test_force_under_other_protocols(row, protocol, tmp_path):
    result, _ = run(row, tmp_path, force=True, protocol=protocol)
    if result is not None:
        json.dumps(result.flat(), allow_nan=False)


def test_intervals_of_forced_results(tmp_path):
    for row in (row for row in ROWS if row.forced and row.level is Level.ERROR):
        folder = tmp_path / row.what.replace(" ", "-")
        folder.mkdir()
        result, findings = run(row, folder, force=True, intervals=True)
        assert result is not None, findings
        result.to_json(replicates=True)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_every_finding_says_why_and_what_to_do(row, tmp_path):
    result, findings = run(row, tmp_path)
    for finding in findings or result.findings:
        assert finding.cause, str(finding)
        assert finding.fix, str(finding)


@pytest.mark.parametrize("which", ["gt", "dt"])
def test_a_folder_and_a_missing_file(which, tmp_path):
    row = Row("", lambda truth, found: None, "")
    gt, dt = files(row, tmp_path)
    empty = tmp_path / "folder"
    empty.mkdir()
    for wrong, codes in ((empty, {"OS103"}), (tmp_path / "gt.jsn", {"OS101"})):
        pair = (wrong, dt) if which == "gt" else (gt, wrong)
        with pytest.raises(InputError) as caught:
            openset.evaluate(*pair, known=KNOWN, force=True)
        assert {finding.code for finding in caught.value.findings} == codes
    with pytest.raises(InputError) as caught:
        openset.evaluate(tmp_path / "gt.jsn", dt)
    assert "did you mean gt.json" in caught.value.findings[0].fix
    empty.joinpath("notes.md").write_text("nothing")
    with pytest.raises(InputError) as caught:
        openset.evaluate(*((empty, dt) if which == "gt" else (gt, empty)), known=KNOWN)
    assert caught.value.findings[0].code in {"OS103", "OS104"}


def test_no_overlap_is_an_error_under_every_rule(tmp_path):
    row = next(row for row in ROWS if row.code == "OS410")
    for protocol in ("default", "owod", "elephant"):
        folder = tmp_path / protocol
        folder.mkdir()
        _, findings = run(replace(row, options=(("protocol", protocol),)), folder)
        assert [finding.code for finding in findings] == ["OS410"]


@pytest.mark.parametrize("source", [None, 3, object(), b"bytes", {"a": 1}, [1], [None], [[]]])
def test_objects_that_are_no_input(source):
    truth, found = good()
    for pair in ((source, found), (truth, source)):
        with pytest.raises(openset.OpenSetError):
            openset.evaluate(*pair, known=KNOWN, intervals=False)
