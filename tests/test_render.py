"""One table, four ways to write it; cells may hold anything."""

from __future__ import annotations

import csv
import io

import pytest

from openset.render import Table

PLAIN = Table(("metric", "value"), (("a", "1"), ("long name", "20")), ("1) why",))
NASTY = Table(
    ("metric", "a_b"),
    (
        ("50 % of $x_1$ & {y}", r"c:\d|e"),
        ('say "hi", ok', "two\nlines"),
        ("↑ ~ ^ #", "–"),
        ("", ""),
    ),
    ("note with % & _",),
)


def test_text_is_aligned():
    assert PLAIN.text().splitlines() == [
        "metric     value",
        "a              1",
        "long name     20",
        "1) why",
    ]


def test_text_has_a_line_per_row_and_no_trailing_space():
    assert len(NASTY.text().splitlines()) == 1 + len(NASTY.rows) + len(NASTY.notes)
    assert all(line == line.rstrip() for line in NASTY.text().splitlines())


def test_columns_that_do_not_fit_go_on_below():
    wide = Table(("name", "one", "two", "three"), (("a", "1", "2", "3"),), ("note",))
    assert wide.text(14).splitlines() == [
        "name  one  two",
        "a       1    2",
        "",
        "name  three",
        "a         3",
        "note",
    ]
    assert wide.text(80) == wide.text()
    assert wide.text(1).count("name") == 3  # one column at least, however narrow


def test_markdown():
    assert PLAIN.markdown().splitlines() == [
        "| metric | value |",
        "| --- | ---: |",
        "| a | 1 |",
        "| long name | 20 |",
        "",
        "- 1) why",
    ]


def test_markdown_cells_cannot_break_the_table():
    rows = NASTY.markdown().partition("\n\n")[0].splitlines()
    assert len(rows) == 2 + len(NASTY.rows)
    for row in rows:
        assert row.replace(r"\|", "").count("|") == 3


def test_latex():
    assert PLAIN.latex().splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"metric & value \\",
        r"\midrule",
        r"a & 1 \\",
        r"long name & 20 \\",
        r"\bottomrule",
        r"\end{tabular}",
        "% 1) why",
    ]


@pytest.mark.parametrize(
    ("cell", "escaped"),
    [
        ("50 %", r"50 \%"),
        ("a_b", r"a\_b"),
        ("x & y", r"x \& y"),
        ("$5 #1 {z}", r"\$5 \#1 \{z\}"),
        ("\\", r"\textbackslash{}"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("↑↓–", r"$\uparrow$$\downarrow$--"),
    ],
)
def test_latex_escapes(cell, escaped):
    row = Table(("h",), ((cell,),)).latex().splitlines()[4]
    assert row == rf"{escaped} \\"


def test_latex_rows_and_notes_stay_on_one_line():
    lines = NASTY.latex().splitlines()
    assert len(lines) == 6 + len(NASTY.rows) + len(NASTY.notes)
    two = Table(("h",), (("x",),), ("a note\nof two lines",)).latex()
    after = two.partition(r"\end{tabular}")[2].strip().splitlines()
    assert all(line.startswith("%") for line in after)


def test_csv_reads_back():
    rows = list(csv.reader(io.StringIO(NASTY.csv())))
    assert rows == [list(NASTY.header), *map(list, NASTY.rows)]


def test_no_rows():
    empty = Table(("metric", "value"), ())
    assert empty.text() == "metric  value"
    assert empty.markdown().splitlines() == ["| metric | value |", "| --- | ---: |"]
    assert empty.csv() == "metric,value\n"
    assert r"\midrule" in empty.latex()


def test_the_same_twice():
    for way in ("text", "markdown", "latex", "csv"):
        assert getattr(NASTY, way)() == getattr(NASTY, way)()
