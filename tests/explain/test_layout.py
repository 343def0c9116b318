"""Text fits the terminal, Markdown is well formed, and neither loses a word."""

import re

import pytest

from openset.explain import KINDS, entries, lookup
from openset.explain._layout import escaped, plain

ENTRIES = entries()
EACH_KIND = pytest.mark.parametrize("kind", KINDS)


def of(kind):
    return [entry for entry in ENTRIES if entry.kind == kind]


def letters(text):
    return re.sub(r"[\W_]+", "", text)


@EACH_KIND
def test_text_fits_the_width(kind):
    for entry in of(kind):
        for width in (60, 80, 120):
            assert max(map(len, entry.to_text(width).splitlines())) <= width


@EACH_KIND
def test_text_holds_every_word(kind):
    for entry in of(kind):
        text = letters(entry.to_text())
        parts = [entry.title, entry.summary, *entry.definition, *entry.avoid, *entry.papers]
        parts += [part for pair in (*entry.facts, *entry.variants, *entry.quirks) for part in pair]
        for part in parts:
            assert letters(plain(part)) in text


@EACH_KIND
def test_text_has_no_marks(kind):
    for entry in of(kind):
        text = entry.to_text()
        assert "`" not in text
        assert not re.search(r"(?<![\w*])\*\w[^*\n]*\w\*(?!\w)", text)
        assert not re.search(r"[ \t]$", text, re.M)


@EACH_KIND
def test_markdown_is_well_formed(kind):
    for entry in of(kind):
        page = entry.to_markdown(3)
        assert page.startswith(f"### {entry.name}\n")
        assert page.count("```") % 2 == 0
        assert "\n\n\n" not in page
        prose = re.sub(r"```.*?```", "", page, flags=re.S)
        prose = re.sub(r"`[^`\n]+`", "", prose)
        assert "`" not in prose
        stars = prose.replace("**", "").replace(r"\*", "")
        assert stars.count("*") % 2 == 0
        assert not re.search(r"(?<!\\)<", prose)
        assert len(re.findall(r"^#+ ", prose, re.M)) == 1


def test_sections_of_a_metric():
    text = lookup("udr").to_text()
    assert text.startswith("UDR\n  metric udr · higher is better · 0 … 1, a fraction\n")
    order = ["Formula", "Answers", "Does not answer", "Example", "Papers", "See also"]
    places = [text.index(f"\n{title}\n") for title in order]
    assert places == sorted(places)
    assert "    (TP_u + FN*_u) / (TP_u + FN_u)\n" in text
    assert "    udr = 0.6667\n" in text


def test_marks():
    assert plain("``a*b`` and *c d*, t* and FN*_u") == "a*b and c d, t* and FN*_u"
    assert escaped("``a*b`` and *c d*, t* < u") == r"`a*b` and *c d*, t\* \< u"
