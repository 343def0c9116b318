"""list: detectors, recipes and scorers with their papers, and what they need, keep and fit on."""

from __future__ import annotations

import pytest

from openset import detectors, diagnosis, scorers
from openset.training import Recipe


def squeezed(text):
    return " ".join(text.split())


def test_detectors_say_what_they_keep_and_need(openset):
    done = openset("list", "detectors")
    assert done.code == 0
    text = squeezed(done.out)
    for name, record in detectors.table().items():
        assert name in text
        kept = f"keeps: {', '.join(record.keeps)} " if record.keeps else ""
        assert f"{kept}needs: {', '.join(record.requires)}" in text
        assert f"paper: {record.paper}" in text


def test_one_of_a_list_is_explained(openset):
    done = openset("list", "scorers", "energy")
    assert done.code == 2 and done.err.endswith("see: openset explain energy\n")


def test_scorers_say_what_they_read_and_fit_on(openset):
    text = squeezed(openset("list", "scorers").out)
    for record in scorers.table().values():
        assert f"reads: {', '.join(record.requires)} fits on: {record.fits_on}" in text


def test_diagnosis_names_its_questions(openset):
    text = squeezed(openset("list", "diagnosis").out)
    for name, question in diagnosis.table().items():
        assert f"{name} {question.summary}" in text and question.paper in text


def test_recipes_say_what_differs_from_the_paper(openset):
    text = squeezed(openset("list", "recipes").out)
    for name, recipe in Recipe.presets().items():
        assert f"{name} {recipe.detector}, {recipe.steps} steps of {recipe.batch} images" in text
        assert recipe.differs in text and recipe.paper in text


def test_methods_say_what_they_need_and_leak(openset):
    pytest.importorskip("torch", reason="the torch extra is not installed")
    from openset import methods

    text = squeezed(openset("list", "methods").out)
    for name, record in methods.table().items():
        assert f"{name} {record.summary} needs: {', '.join(record.needs)}" in text
        assert f"evidence: {record.evidence} leaks: {record.leaks} paper: {record.paper}" in text
    assert "shows: regions" in squeezed(openset("list", "detectors").out)


def test_methods_say_what_rows_of_papers_are_made_from(openset):
    pytest.importorskip("torch", reason="the torch extra is not installed")
    from openset.papers.rows import ROWS

    text = squeezed(openset("list", "methods").out)
    entries = openset("list", "methods", "--json").json["entries"]
    for name, table in ROWS.items():
        assert f"paper: {table.paper}" in text
        assert entries[name]["rows"] == {row: str(made) for row, made in table.rows.items()}
        assert all(f"{row}: {made}" in text for row, made in table.rows.items())


def test_methods_without_torch(openset, monkeypatch):
    import sys

    from openset import plugins

    plugins.discover.cache_clear()
    for name in [n for n in sys.modules if n.startswith("openset.methods.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    done = openset("list", "methods")
    plugins.discover.cache_clear()
    assert done.code == 2 and "openset[torch]" in done.err


def test_integrations_say_whether_what_they_need_is_installed(openset):
    from openset import integrations

    text = squeezed(openset("list", "integrations").out)
    for record in integrations.table().values():
        there = "yes" if record.installed else "no"
        assert f"{record.summary} needs: {', '.join(record.requires)} installed: {there}" in text
    entries = openset("list", "integrations", "--json").json["entries"]
    assert all(isinstance(entry["installed"], bool) for entry in entries.values())


def test_engines(openset):
    assert openset("list", "engines", "--json").json["entries"].keys() >= {
        "local",
        "threads",
        "processes",
        "ray",
    }


@pytest.mark.parametrize("topic", ["detectors", "diagnosis", "recipes", "scorers"])
def test_for_programs(openset, topic):
    entries = openset("list", topic, "--json").json["entries"]
    assert all(entry["summary"] and "paper" in entry for entry in entries.values())


def test_no_line_is_wider_than_the_terminal(openset):
    for topic in ("detectors", "diagnosis", "recipes", "scorers"):
        assert max(map(len, openset("list", topic).out.splitlines())) <= 80


def test_recognition_names_metrics_methods_and_the_recipes_of_each_data_set(openset):
    pytest.importorskip("torch", reason="the torch extra is not installed")
    entries = openset("list", "recognition", "--json").json["entries"]
    assert {"openauc", "oscr", "method openauc", "recipes mnist-*"} <= entries.keys()
    assert entries["recipes cub-*"]["methods"] == ["acc_auc", "ce_plus", "openauc"]
    assert len(entries["recipes digits-*"]["methods"]) == 8


def test_recognition_names_what_it_needs_where_it_is_not_there(openset):
    out = openset("list", "recognition").out
    assert "\nopenauc " in out
    assert "method openauc " in out or "openset[torch]" in out


def test_every_topic_says_what_it_is(openset):
    from openset.cli.list import topics

    text = squeezed(openset("list").out)
    for topic in topics():
        assert f"{topic} " in text and f"{topic} openset list" not in text


@pytest.mark.parametrize(
    ("name", "said", "topic"),
    [
        ("energy", "Free energy of the logits", "scorers"),
        ("fates", "what they are called at the operating point", "diagnosis"),
        ("Faster-RCNN", "softmax that has a background column", "detectors"),
        ("threads", "Several at a time", "engines"),
        ("class openness", "the test has both", "principles"),
        ("glass openness", "", ""),
    ],
)
def test_what_is_listed_is_explained(openset, name, said, topic):
    done = openset("explain", name)
    if not said:
        assert done.code == 2 and "unknown term" in done.err
    else:
        assert done.code == 0 and said in squeezed(done.out)
        assert f"see: openset list {topic}" in done.out


def test_help_fills_its_lines(openset):
    """No paragraph is broken where its docstring was."""
    text = openset("score", "--help").out
    assert "what was \nfitted on which\n" not in text
    assert "which `openset evaluate` reads; what was fitted" in squeezed(text)
