"""Explain: what a metric, a protocol, an error type, a finding or a term means.

One source of words for the command line, the documentation and the report. What the code says of
itself is not said again: entries of metrics come from their docstrings, those of presets and codes
from their records, and the texts beside this file (or of another package, by an entry point in the
group ``openset.explain.texts``) add formulas, worked examples, variants and what a number must not
be compared with. Nothing is computed here and nothing is printed.
"""

from __future__ import annotations

from openset.explain._layout import plain
from openset.explain.entry import KINDS, Entry, Kind
from openset.explain.example import Example, Result
from openset.explain.sketch import Sketch

__all__ = [
    "KINDS",
    "Entry",
    "Example",
    "Kind",
    "Result",
    "Sketch",
    "arguments_in",
    "entries",
    "lookup",
    "plain",
]


def arguments_in(docstring: str) -> dict[str, str]:
    r"""What a docstring says of each argument.

    >>> arguments_in("Do.\n\nArgs:\n    least: Of the scores.")
    {'least': 'Of the scores.'}
    """
    from openset.explain._docstrings import parse

    return dict(parse(docstring).options)


def entries(kind: Kind | None = None) -> list[Entry]:
    """All entries, or those of one kind, in the order of their source.

    >>> [entry.name for entry in entries("taxonomy")][:3]
    ['OSOD-I', 'OSOD-II', 'OSOD-III']
    """
    from openset.explain._sources import SOURCES
    from openset.plugins import lookup as find

    sources = SOURCES.values() if kind is None else [find(SOURCES, kind, "kind of entry")]
    return [entry for source in sources for entry in source()]


def lookup(term: str) -> Entry:
    """The entry of a term: a name or an alias, in any case, with dashes, underscores or spaces.

    A metric at a level, such as ``wi@0.5``, is that metric.

    >>> lookup("WI@0.5").name, lookup("A-OSE").name, lookup("os203").title
    ('wilderness_impact', 'a_ose', 'OS203: normalised boxes')
    """
    from openset.plugins import lookup as find
    from openset.tables.vocabulary import normal

    found = entries()
    names = {entry.name: entry for entry in found}
    aliases = {alias: entry for entry in found for alias in (entry.title, *entry.aliases)}
    by_key = {
        normal(spelling): entry for table in (aliases, names) for spelling, entry in table.items()
    }
    for spelling in (term, term.partition("@")[0]):
        if normal(spelling) in by_key:
            return by_key[normal(spelling)]
    return find(
        {key.lower(): entry for key, entry in (aliases | names).items()}, term.lower(), "term"
    )
