"""Pages about papers: made from definitions and run files, and derived again by `verify`."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from openset import InputError
from openset.papers import Column, Estimate, Run, read_page, read_run, verify, write_pages
from openset.papers.figures import draw, is_current, points, specification
from openset.papers.page import Figure

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
        inputs={"$DATA/gt.json": "1" * 64},
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


def wide() -> Run:
    """A run with a row for each bar."""
    columns = (Column("at"), Column("all", "count"), Column("as cat", "%"), Column("as dog", "%"))
    return Run(columns, (("closed", 9.0, 0.25, None), ("wild", 9.0, 0.5, 0.125)))


@pytest.mark.parametrize("kind", ["stacked", "matrix"])
def test_columns_of_a_row_are_drawn_together(tmp_path, kind):
    figure = Figure(x="at", y="share", by="called", kind=kind, columns=["as *"])
    assert points(wide(), figure) == [
        {"model": "as cat", "x": "closed", "y": 0.25},
        {"model": "as cat", "x": "wild", "y": 0.5},
        {"model": "as dog", "x": "wild", "y": 0.125},
    ]
    draw(wide(), figure, tmp_path / "f.svg")
    assert is_current(wide(), figure, tmp_path / "f.svg")
    text = (tmp_path / "f.svg").read_text()
    assert all(f">{name}<" in text for name in ("as cat", "as dog", "closed", "wild"))


def test_a_line_of_one_point_is_seen(tmp_path):
    columns = (Column("ranked"), Column("weight", "score"), Column("gain", "%"))
    figure = Figure(x="weight", y="gain", by="ranked")
    rows = [("a", 0.1, 0.3), ("a", 0.2, 0.4), ("b", 0.1, 0.1)]
    shapes = []
    for some in (rows[:2], rows):
        draw(Run(columns, tuple(some)), figure, tmp_path / "f.svg")
        shapes.append((tmp_path / "f.svg").read_text().count('aria-roledescription="point"'))
    assert shapes == [0, 3]


def test_a_figure_is_drawn_alike_however_many_were_before(tmp_path):
    figure = Figure(x="recall", y="WI", by="detector")
    texts = []
    for name in ("first", "second"):
        draw(run(), figure, tmp_path / f"{name}.svg")
        texts.append((tmp_path / f"{name}.svg").read_text())
    assert texts[0] == texts[1] and "clip0" in texts[0]


def test_what_was_trained_stands_on_the_page(tmp_path, source):
    more = 'workflow = ["openset evaluate gt.json dt.json"]\ntraining = ["python train.py"]\n'
    more += 'trained_from = "weights of someone"\n'
    text = PAGE.replace('workflow = ["openset evaluate gt.json dt.json"]\n', more)
    (source / "page.toml").write_text(text)
    write_pages(tmp_path / "docs", source.parent)
    page = (tmp_path / "docs" / "paper.md").read_text()
    assert "weights of someone\n\n```bash\npython train.py\n```" in page
    (source / "wild.json").unlink()
    with pytest.raises(InputError, match=r"python measure\.py, where .* first: python train\.py"):
        verify(tmp_path, source.parent)


def test_words_in_capitals_are_explained_where_commands_have_them(tmp_path, source):
    places = source.parent / "places.toml"
    places.write_text('"$DATA" = "what was read."\nWORK = "a folder."\nSOURCES = "elsewhere."\n')
    told = (source / "page.toml").read_text().replace("gt.json dt", "$DATA/gt.json --work WORK dt")
    (source / "page.toml").write_text(told)
    write_pages(tmp_path / "docs", source.parent)
    text = (tmp_path / "docs" / "paper.md").read_text("utf-8")
    assert "- `$DATA`: what was read.\n- `WORK`: a folder.\n" in text and "SOURCES" not in text
    places.write_text("WORK = 3")
    with pytest.raises(InputError, match=r"OS954.*places\.toml"):
        read_page(source)


def test_commands_stand_beside_those_that_made_a_run(tmp_path, source):
    told = (source / "page.toml").read_text()
    told = told.replace(
        'text = "Other data."', 'text = "Other data."\ncommands = ["openset run own"]'
    )
    (source / "page.toml").write_text(told)
    write_pages(tmp_path / "docs", source.parent)
    text = (tmp_path / "docs" / "paper.md").read_text("utf-8")
    assert "Of one's own detector:\n\n```bash\nopenset run own\n```" in text


def test_an_erratum_may_be_read(tmp_path, source):
    text = PAGE.replace('"openset explain wi"', '"read from Section 3"')
    (source / "page.toml").write_text(text)
    write_pages(tmp_path / "docs", source.parent)
    assert "Check: read from Section 3" in (tmp_path / "docs" / "errata.md").read_text()


def test_differences_are_drawn_in_points():
    figure = Figure(x="recall", y="gain", by="detector")
    assert points(run(), figure) == [{"model": "ours", "x": 0.5, "y": 2.0}]
    assert '"gain, points"' in json.dumps(specification(run(), figure))


def test_what_cannot_fail_is_no_claim(source):
    text = PAGE.replace('where = "Section 2"', 'where = "Section 2"\ndefinition = true')
    (source / "page.toml").write_text(text)
    for gain in (Estimate(0.02, 0.01, 0.03), Estimate(-0.02, -0.03, -0.01)):
        run(gain).save(source / "wild.json")
        page = read_page(source)
        assert page.verdict(page.definition.claim[0]) == "by definition"


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


def test_the_errata_say_how_many_numbers_they_take(pages):
    assert verify(pages)[1].numbers == 2


def test_an_edited_figure_is_found(pages):
    figure = pages / "paper-table-1.svg"
    whole = figure.read_text()
    figure.write_text(whole.replace(">recall<", ">accuracy<"))
    (finding,) = verify(pages)[0].findings
    assert finding.code == "OS951" and str(figure) in finding.message
    figure.write_bytes(whole.replace("\n", "\r\n").encode())  # as git may check it out
    assert not verify(pages)[0].findings


def test_the_place_where_long_lines_part_is_shown(pages):
    page = pages / "errata.md"
    source = pages.parent / "runs" / "paper" / "page.toml"
    source.write_text(source.read_text().replace('found = "it is', 'found = "' + "x" * 100))
    write_pages(pages, source.parents[1])
    page.write_text(page.read_text().replace("[4.0, 6.0] %", "[4.0, 6.5] %"))
    (finding,) = verify(pages)[1].findings
    said, derived = finding.message.split(", the run files ")
    assert "6.5]" in said and "6.0]" in derived and len(finding.message) < 400


def made_from(source: Path, file: Path, name: str) -> None:
    """The run, as made from a file of the repository."""
    from openset.files import digest

    inputs = {name: digest(file), "$DATA/big.json": "0" * 64, "lists": "a folder"}
    replace(run(), inputs=inputs).save(source / "wild.json")


@pytest.mark.parametrize("gone", [False, True])
def test_a_run_made_from_a_file_that_has_changed_since_is_found(pages, source, gone):
    results = pages.parent / "results"
    results.mkdir()
    (results / "other.json").write_text("kept")
    (results / "all.json").write_text("before")
    made_from(source, results / "all.json", "results/all.json")
    assert not verify(pages)[0].findings
    (results / "all.json").write_text("after")
    if gone:
        (results / "all.json").unlink()
        copied = source.parent / "again"
        copied.mkdir()
        (copied / "page.toml").write_text(PAGE)
        made_from(copied, results / "other.json", "results/other.json")
        write_pages(pages, source.parent)
    (finding,) = [each for one in verify(pages) for each in one.findings]
    assert finding.code == "OS955" and "results/all.json" in finding.message
    assert ("is not there" if gone else "has now") in finding.message
    assert finding.fix == f"python measure.py; openset verify {pages} --write"


def test_a_run_that_names_a_file_without_its_checksum_is_found(pages, source):
    results = pages.parent / "results"
    results.mkdir()
    (results / "all.json").write_text("x")
    made_from(source, results / "all.json", "results/all.json")
    held = read_run(source / "wild.json")
    (results / "other.json").write_text("y")
    more = (*held.commands, "openset evaluate a=results/other.json results/all.json measure.py")
    replace(held, commands=more).save(source / "wild.json")
    write_pages(pages, source.parent)
    (finding,) = verify(pages)[0].findings
    assert finding.code == "OS955" and finding.example == "results/other.json"


def test_a_file_of_ones_own_where_commands_are_typed_is_none_of_the_repository(pages, source):
    (pages.parent / "results").mkdir()
    (pages.parent / "results/all.json").write_text("x")
    made_from(source, pages.parent / "results/all.json", "results/all.json")
    held = read_run(source / "wild.json")
    more = (*held.commands, "python measure.py --wordnet data.noun")
    replace(held, commands=more).save(source / "wild.json")
    write_pages(pages, source.parent)
    (pages.parent / "data.noun").write_text("put here to follow the page")
    assert not verify(pages)[0].findings


def test_a_run_of_data_without_any_checksum_is_found(pages, source):
    replace(run(), inputs={"$DATA/lists": "a folder"}).save(source / "wild.json")
    (finding,) = verify(pages)[0].findings
    assert finding.code == "OS955" and "holds no checksum" in finding.message


def test_run_files_that_lie_elsewhere_differ_by_their_numbers_alone(tmp_path, pages, source):
    away = tmp_path / "far" / "away"
    away.mkdir(parents=True)
    source.parent.rename(away / "runs")
    assert not [each for one in verify(pages, away / "runs") for each in one.findings]
    path = away / "runs" / "paper" / "wild.json"
    path.write_text(path.read_text().replace("0.07", "0.08"))
    finding = verify(pages, away / "runs")[0].findings[0]
    assert "7.0 %" in finding.message and "8.0 %" in finding.message


def test_run_files_copied_without_their_inputs_are_not_accused(pages, source):
    file = pages / "all.json"
    file.write_text("x")
    made_from(source, file, "results/all.json")
    assert not verify(pages)[0].findings


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


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [
        (Estimate(0.02, -0.01, 0.03), "holds"),
        (Estimate(0.02, -0.01, 0.05), "cannot tell"),
        (Estimate(-0.02, -0.06, -0.01), "cannot tell"),
        (Estimate(-0.06, -0.07, -0.05), "does not hold"),
        (0.01, "holds"),
    ],
)
def test_that_little_differs_takes_the_whole_interval(source, gain, verdict):
    (source / "page.toml").write_text(
        PAGE.replace('where = "Section 2"', 'where = "Section 2"\nexpected = "within 0.04"')
    )
    run(gain).save(source / "wild.json")
    page = read_page(source)
    assert page.verdict(page.definition.claim[0]) == verdict


@pytest.mark.parametrize(
    ("asked", "column", "rows"),
    [
        ("*", "WI", ["ours / 0.1", "ours / 0.5"]),
        ("ours / *", "gain", ["ours / 0.5"]),
        ("ours / 0.1", "gain", ["ours / 0.1"]),
        ("* / 0.1", "gain", ["ours / 0.1"]),
    ],
)
def test_a_claim_takes_all_rows_that_it_asks_for(source, asked, column, rows):
    text = PAGE.replace('["wild", "ours / 0.5", "gain"]', f'["wild", "{asked}", "{column}"]')
    (source / "page.toml").write_text(text)
    page = read_page(source)
    (claim,) = page.definition.claim
    assert page.cells(claim) == [("wild", row, column) for row in rows]
    left = page.not_taken(claim)
    assert {row for _, row, _ in left}.isdisjoint(rows)
    assert bool(left) == (column == "gain" and rows == ["ours / 0.1"])


def test_a_claim_about_rows_that_are_not_there_is_refused(tmp_path, source):
    text = PAGE.replace('["wild", "ours / 0.5", "gain"]', '["wild", "theirs / *", "gain"]')
    (source / "page.toml").write_text(text)
    with pytest.raises(InputError, match="no row is called so"):
        write_pages(tmp_path / "docs", source.parent)


def test_a_verdict_says_on_what(tmp_path, source):
    more = 'where = "Section 2"\nsetting = "at [[wild | ours / 0.5 | WI]]"\nleft_out = "a row"'
    (source / "page.toml").write_text(PAGE.replace('where = "Section 2"', more))
    write_pages(tmp_path / "docs", source.parent)
    text = (tmp_path / "docs" / "paper.md").read_text()
    assert "(left out: a row) | **holds** at 7.0 % |" in text


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
    assert "Table 1" in finding.message and finding.fix == "python measure.py"


def test_what_is_missing_is_said_of_all_pages_and_rows(tmp_path, source, capsys):
    """From the command line: by one command everything that has to be measured is known."""
    from openset.cli import main

    shutil.copytree(source, source.parent / "other")
    (source / "wild.json").unlink()
    old = source.parent / "other" / "wild.json"
    old.write_text(old.read_text().replace("openset paper run 1", "openset paper run 0"))
    assert main(["verify", str(tmp_path), "--runs", str(source.parent)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "OS952 Table 1" in said and "fix python measure.py" in said
    assert "OS953" in said and "other/wild.json is no run file" in said


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


@pytest.mark.parametrize("text", ["", '{"format": "openset paper run 0"}'])
def test_a_run_file_that_cannot_be_read_names_its_table_and_its_command(source, text):
    (source / "wild.json").write_text(text)
    with pytest.raises(InputError, match=r"OS953|OS102") as caught:
        read_page(source)
    (finding,) = caught.value.findings
    assert finding.example == "Table 1: no rows" and finding.fix == "python measure.py"


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
    figure = pages / "paper-table-1.svg"
    figure.write_text(figure.read_text().replace(">recall<", ">accuracy<"))
    assert main(["verify", str(pages), "--write"]) == 0
    assert ">recall<" in figure.read_text()
    capsys.readouterr()
    assert main(["verify", str(pages), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["paper"]["differs"] == []
