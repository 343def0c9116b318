"""The pages of this project about five papers: current, complete, and typed by nobody."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from statistics import fmean

import pytest

from openset.cli._command import _parse
from openset.papers import read_page, verify
from openset.papers.page import PLACE

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
SOURCES = sorted((ROOT / "experiments" / "papers").glob("*/page.toml"))
SHOWN = {  # tables and figures that each paper has, its supplement included
    "elephant": ("Table 1-4", "Figure 1-11"),
    "osod3": ("Table 1-16", "Figure 1-7"),
    "openauc": ("Table 1-2", "Figure 1-2"),
    "re-owod": ("Table 1-5", "Figure 1-8"),
    "fmiyc": ("Table 1-5", "Table 9-9", "Figure 1-5", "Figure 9-9"),
}
COMMAND = re.compile(r"^(?:  Check: `)?(openset .+?)`?$", re.M)


def commands() -> list[str]:
    return sorted({line for page in PAGES for line in COMMAND.findall(page.read_text("utf-8"))})


def test_pages_say_what_their_run_files_say():
    found = verify(ROOT / "docs" / "papers")
    assert [finding.message for each in found for finding in each.findings] == []


def test_there_is_a_page_for_every_paper():
    assert {source.parent.name for source in SOURCES} == set(SHOWN)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parent.name)
def test_every_table_and_figure_of_the_paper_is_listed(source):
    page = read_page(source.parent)
    wanted = set()
    for group in SHOWN[page.name]:
        what, numbers = group.split()
        first, last = map(int, numbers.split("-"))
        wanted |= {f"{what} {number}" for number in range(first, last + 1)}
    assert {each.name for each in page.definition.element} >= wanted


DRAWN = {
    ("osod3", "Figure 1"),
    ("re-owod", "Figure 1"),
    ("re-owod", "Figure 5"),
    ("fmiyc", "Figure 2"),
}
UNREAD = "The text of the paper that is at hand ends with its references"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parent.name)
def test_what_is_not_here_names_the_command_that_makes_it(source):
    page = read_page(source.parent)
    lacking = [
        each.name
        for each in page.definition.element
        if each.status == "not here" and not each.commands and not each.text.startswith(UNREAD)
    ]
    assert {(page.name, name) for name in lacking} <= DRAWN


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parent.name)
def test_words_in_capitals_of_commands_are_explained(source):
    page = read_page(source.parent)
    words = {word for line in page.commands for word in PLACE.findall(line)}
    assert words and words <= set(page.named())
    text = (ROOT / "docs" / "papers" / f"{page.name}.md").read_text("utf-8")
    assert all(f"\n- `{word}`: " in text for word in words)


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parent.name)
def test_the_way_to_the_main_table_is_short(source):
    assert 1 <= len(read_page(source.parent).definition.workflow) <= 10


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.parent.name)
def test_a_line_of_the_way_is_one_command(source):
    hidden = re.compile(r"&&|;|\||\bfor \w+ in\b|\bxargs\b")
    assert not [
        line for line in read_page(source.parent).definition.workflow if hidden.search(line)
    ]


SCRIPTS = {"openauc"}  # of which tests/experiments/test_recognition_gpu.py runs all lines


@pytest.mark.parametrize("paper", sorted(set(SHOWN) - SCRIPTS))
def test_the_way_to_the_main_table_is_run_by_a_test(paper):
    tests = (ROOT / "tests").glob("*/test_*.py")
    assert any(re.search(rf'follow\([^)]*"{paper}"', each.read_text("utf-8")) for each in tests)


@pytest.mark.parametrize("command", commands())
def test_commands_can_be_typed(command):
    """Verbs, options and types; not whether the data are there."""
    _parse(shlex.split(command, comments=True)[1:])


@pytest.mark.parametrize("command", commands())
def test_names_of_benchmarks_and_recipes_exist(command):
    from openset.benchmarks.definition import load
    from openset.training import Recipe

    words = shlex.split(command)
    if words[1] in ("build", "fetch"):
        named, _, variant = words[2].partition(":")
        several = load(named).variants
        assert variant in ("", "all", *several)
        steps = any(load(named).classes.steps())  # then the whole is a benchmark, too
        assert words[1] == "fetch" or variant or not several or steps, "which variant?"
    if words[1] == "train":
        assert Recipe.of(words[2])


TRAININGS = [line for line in commands() if line.split()[1] in ("train", "learn")]


@pytest.mark.parametrize("command", TRAININGS)
def test_a_training_for_a_table_starts_where_those_beside_it_do(command):
    """Rows of one table from ImageNet and from nothing would not be comparable."""
    assert "--option pretrained=resnet50.pth" in command


def test_a_page_says_where_the_numbers_are_that_a_terminal_does_not_show(openset, monkeypatch):
    """Figure 3 of OSOD-III is a curve, of which the table in the terminal has one point."""
    run = read_page(ROOT / "experiments" / "papers" / "osod3").runs["profiles-digits"]
    assert "with `--json` it prints all of it" in (ROOT / "docs/papers/osod3.md").read_text("utf-8")
    monkeypatch.chdir(ROOT)
    words = shlex.split(run.commands[0])[1:]
    held = openset(*words, "--json", "-q").json["models"]["fcos"]["values"]["a_ose_profile"]
    assert held["parts"] and len(held["parts"]) == sum(row[0] == "fcos" for row in run.rows)


def claims() -> list:
    pages = [read_page(source.parent) for source in SOURCES]
    return [
        pytest.param(page, claim, id=f"{page.name}: {claim.says}")
        for page in pages
        for claim in page.definition.claim
    ]


@pytest.mark.parametrize(("page", "claim"), claims())
def test_a_verdict_rests_on_numbers_or_says_why_not(page, claim):
    assert claim.cells or claim.why


@pytest.mark.parametrize(("page", "claim"), claims())
def test_a_verdict_takes_every_row_or_says_why_not(page, claim):
    assert claim.left_out or page.not_taken(claim) == []


@pytest.mark.parametrize(("page", "claim"), claims())
def test_a_verdict_from_other_data_says_so(page, claim):
    runs = {run for run, _, _ in claim.cells}
    others = [run for run in runs if page.runs[run].needs or page.runs[run].inputs]
    verdict = page.verdict(claim)
    assert claim.setting or not others or verdict in ("by definition", "cannot tell"), others


def test_the_erratum_on_near_classes_tells_their_mean_too():
    """Single classes contradict the authors' list; their mean does not, and a reader must know."""
    page = read_page(ROOT / "experiments" / "papers" / "fmiyc")
    (erratum,) = [each for each in page.definition.erratum if each.where == "Section 4.1"]
    for tier in ("near", "far"):
        held = [row[2] for row in page.runs["classes"].rows if row[1] == tier]
        assert page.cell("class-means", tier, "Wu-Palmer") == pytest.approx(fmean(held))
        assert f"[[class-means | {tier} | Wu-Palmer]]" in erratum.found


def test_what_figure_8_of_re_owod_says_of_known_classes_is_judged_by_their_precision():
    """The axis of the figure is their precision; that AP falls contradicts another reading."""
    page = read_page(ROOT / "experiments" / "papers" / "re-owod")
    about = [
        claim for claim in page.definition.claim if "φ" in claim.says or "larger α" in claim.says
    ]
    figure = [claim for claim in about if "Figure 8" in claim.where]
    assert {column for claim in figure for _, _, column in claim.cells} == {"precision known"}
    assert {page.verdict(claim) for claim in figure} == {"holds"}


def test_whether_metrics_fall_is_told_within_the_curve_of_figure_1():
    """Not from its ends: where nothing is rejected normalised accuracy is 0 / 0."""
    page = read_page(ROOT / "experiments" / "papers" / "openauc")
    (claim,) = [each for each in page.definition.claim if each.says.startswith("All of them fall")]
    (column,) = {column for _, _, column in claim.cells}
    for name in ("open-set F-score (macro)", "normalised accuracy"):
        ends = [page.cell("figure-1-curve", f"{name} / {at}", "value") for at in ("10%", "90%")]
        apart = page.cell("figure-1", name, column)
        assert apart.value == pytest.approx(ends[1].value - ends[0].value, abs=1e-5)


def test_a_verdict_says_by_which_protocol_it_was_measured():
    """FMIYC's open-set metrics count otherwise under the authors' protocol."""
    page = read_page(ROOT / "experiments" / "papers" / "fmiyc")
    for claim in page.definition.claim:
        notes = " ".join(note for run, _, _ in claim.cells for note in page.runs[run].notes)
        for protocol in set(re.findall(r"Protocol `(\w+)`", notes)):
            assert f"under `{protocol}`" in claim.setting, claim.says
