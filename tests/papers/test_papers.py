"""Pages about papers: made from definitions and run files, and derived again by `verify`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from openset import InputError
from openset.papers import Column, Estimate, Run, read_page, read_run, verify, write_pages

PAGE = """
title = "A paper"
paper = "Someone, 2020."
about = "It has [[wild | ours / 0.5 | WI]] at half."
measured_by = "python measure.py"
workflow = ["openset evaluate gt.json dt.json"]

[[element]]
name = "Table 1"
shows = "impact"
status = "re-measured"
run = "wild"
text = "Other data."
figures = [{x = "recall", y = "WI", by = "detector"}]
published = {header = ["detector", "WI"], rows = [["theirs", "5.0"]]}

[[element]]
name = "Figure 2"
shows = "a drawing"
status = "not here"
text = "Drawn by hand."

[[claim]]
says = "It grows"
where = "Section 2"
cells = [["wild", "ours / 0.5", "gain"]]

[[erratum]]
where = "Table 1"
says = "it is not [[wild | ours / 0.5 | WI]]"
found = "it is [[wild | ours / 0.1 | WI]]"
command = "openset explain wi"
"""
COLUMNS = (
    Column("detector"),
    Column("at"),
    Column("recall", "score"),
    Column("WI", "%"),
    Column("gain", "points", 2),
    Column("boxes", "count"),
)


GAIN = Estimate(0.02, 0.01, 0.03)


def run(gain: Estimate | float | None = GAIN) -> Run:
    return Run(
        COLUMNS,
        (
            ("ours", "0.1", 0.1, Estimate(0.05, 0.04, 0.06), None, 1234.0),
            ("ours", "0.5", 0.5, 0.07, gain, 5678.0),
        ),
        commands=("openset evaluate gt.json dt.json --json",),
        needs=("data",),
        notes=("a note",),
    )


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "paper"
    folder.mkdir(parents=True)
    (folder / "page.toml").write_text(PAGE)
    run().save(folder / "wild.json")
    return folder


@pytest.fixture
def pages(tmp_path: Path, source: Path) -> Path:
    write_pages(tmp_path / "docs", source.parent)
    return tmp_path / "docs"


def test_a_run_is_what_was_saved(source):
    assert read_run(source / "wild.json") == run()


def test_a_page_has_the_numbers_of_its_runs(pages):
    text = (pages / "paper.md").read_text()
    assert "It has 7.0 % at half." in text
    assert "| ours | 0.1 | 0.1 | 5.0 [4.0, 6.0] | – | 1 234 |" in text
    assert (
        "| It grows | Section 2 | ours / 0.5, gain: +2.00 [+1.00, +3.00] points | **holds** |"
        in text
    )
    assert "| theirs | 5.0 |" in text and "- a note" in text
    errata = (pages / "errata.md").read_text()
    assert "it is not 7.0 %" in errata and "it is 5.0 [4.0, 6.0] %" in errata


def test_a_figure_is_drawn(pages):
    assert (pages / "paper-table-1.svg").read_text().startswith("<svg")


def test_rows_yet_to_measure_are_no_figure_and_no_verdict(tmp_path, source):
    whole = run()
    empty = tuple((*row[:3], None, None, None) for row in whole.rows)
    replace(whole, rows=empty).save(source / "wild.json")
    write_pages(tmp_path / "docs", source.parent)
    text = (tmp_path / "docs" / "paper.md").read_text()
    assert "| It grows | Section 2 | not measured | **cannot tell** |" in text
    assert ".svg" not in text and not list((tmp_path / "docs").glob("*.svg"))
    assert not verify(tmp_path / "docs")[0].findings


def test_pages_as_made_are_verified(pages):
    found = verify(pages)
    assert [each.name for each in found] == ["paper", "errata"]
    assert not any(each.findings for each in found)
    assert found[0].numbers == 7
    assert found[0].elements == {"re-measured": 1, "not here": 1}
    assert found[0].needs == {"wild": ("data",)}


def test_a_number_changed_by_hand_is_found(pages):
    page = pages / "paper.md"
    page.write_text(page.read_text().replace("7.0 %", "6.0 %"))
    (finding,) = verify(pages)[0].findings
    assert finding.code == "OS951" and "6.0 %" in finding.message and "7.0 %" in finding.message


def test_a_changed_run_is_found_in_page_figure_and_errata(pages, source):
    (source / "wild.json").write_text((source / "wild.json").read_text().replace("0.05", "0.055"))
    found = verify(pages)
    assert [finding.code for finding in found[0].findings] == ["OS951"] * 2
    assert "svg" in found[0].findings[1].message
    assert len(found[1].findings) == 1


def test_a_missing_page_or_line_is_found(pages):
    page = pages / "paper.md"
    page.write_text(page.read_text() + "one line more\n")
    assert len(verify(pages)[0].findings) == 1
    page.unlink()
    (pages / "errata.md").unlink()
    found = verify(pages, pages.parent / "runs")
    assert all("is not there" in each.findings[0].message for each in found)


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [
        (Estimate(0.02, 0.01, 0.03), "holds"),
        (Estimate(0.02, -0.01, 0.05), "cannot tell"),
        (Estimate(-0.02, -0.03, -0.01), "does not hold"),
        (0.01, "holds"),
        (None, "cannot tell"),
    ],
)
def test_a_verdict_follows_from_the_interval(source, gain, verdict):
    run(gain).save(source / "wild.json")
    page = read_page(source)
    assert page.verdict(page.definition.claim[0]) == verdict


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [
        (Estimate(0.02, 0.01, 0.03), "does not hold"),
        (Estimate(-0.02, -0.03, -0.01), "does not hold"),
        (Estimate(0.02, -0.01, 0.05), "cannot tell"),
        (0.0, "cannot tell"),
    ],
)
def test_that_nothing_differs_can_only_be_contradicted(source, gain, verdict):
    (source / "page.toml").write_text(
        PAGE.replace('where = "Section 2"', 'where = "Section 2"\nexpected = "= 0"')
    )
    run(gain).save(source / "wild.json")
    page = read_page(source)
    assert page.verdict(page.definition.claim[0]) == verdict


def test_one_cell_that_contradicts_decides(source):
    both = PAGE.replace(
        'cells = [["wild", "ours / 0.5", "gain"]]',
        'expected = "> 0.2"\n'
        'cells = [["wild", "ours / 0.5", "gain"], ["wild", "ours / 0.1", "recall"]]',
    )
    (source / "page.toml").write_text(both)
    run(Estimate(0.5, 0.4, 0.6)).save(source / "wild.json")
    page = read_page(source)
    assert page.verdict(page.definition.claim[0]) == "does not hold"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[[wild | ours / 0.5 | WI]]", "[[wild | ours | WI]]", "ours / 0.5"),
        ("[[wild | ours / 0.5 | WI]]", "[[wild | ours / 0.5 | AWI]]", "there are: detector"),
        ("[[wild | ours / 0.5 | WI]]", "[[tame | ours / 0.5 | WI]]", "no run 'tame'"),
        ('name = "Table 1"', 'nam = "Table 1"', "nam"),
        ('status = "not here"', 'status = "later"', "later"),
        ('title = "A paper"', "title = 3", "title"),
        ('title = "A paper"', "title = ", "page.toml"),
    ],
)
def test_a_definition_that_points_nowhere_is_refused(tmp_path, source, old, new, says):
    (source / "page.toml").write_text(PAGE.replace(old, new))
    with pytest.raises(InputError, match="OS954") as caught:
        write_pages(tmp_path / "docs", source.parent)
    assert says in str(caught.value)


def test_missing_rows_are_named_with_their_command(tmp_path, source):
    (source / "page.toml").write_text(
        PAGE.replace('text = "Other data."', 'text = "Other."\ncommands = ["openset train x"]')
    )
    (source / "wild.json").unlink()
    with pytest.raises(InputError, match="OS952") as caught:
        verify(tmp_path, source.parent)
    (finding,) = caught.value.findings
    assert "Table 1" in finding.message and finding.fix == "openset train x; python measure.py"


@pytest.mark.parametrize(
    "damage",
    [
        lambda held: held | {"format": "openset paper run 0"},
        lambda held: held | {"rows": [["ours"]]},
        lambda held: held | {"rows": [[*held["rows"][0][:-1], True]]},
        lambda held: held | {"rows": [[*held["rows"][0][:-1], [1, 2]]]},
        lambda held: held | {"needs": ["luck"]},
        lambda held: held | {"columns": [["a", "furlong", 1]], "rows": []},
        lambda held: {key: held[key] for key in held if key != "inputs"},
        lambda held: [held],
    ],
)
def test_a_file_that_is_no_run_is_refused(source, damage):
    path = source / "wild.json"
    path.write_text(json.dumps(damage(json.loads(path.read_text()))))
    with pytest.raises(InputError, match="OS953"):
        read_page(source)


def test_a_folder_without_pages(tmp_path):
    with pytest.raises(InputError, match="OS952"):
        verify(tmp_path)
    with pytest.raises(InputError, match="OS952"):
        verify(tmp_path, tmp_path)
    with pytest.raises(InputError, match="OS101"):
        verify(tmp_path / "nothing")


def test_the_command(pages, capsys):
    from openset.cli import main

    assert main(["verify", str(pages)]) == 0
    out = capsys.readouterr().out
    assert "as derived" in out and "paper/wild.json needs data" in out
    (pages / "paper.md").write_text("<!-- made from ../runs/paper by hand -->\n")
    assert main(["verify", str(pages)]) == 1
    assert "differs" in capsys.readouterr().out
    assert main(["verify", str(pages), "--write"]) == 0
    capsys.readouterr()
    assert main(["verify", str(pages), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["paper"]["differs"] == []
