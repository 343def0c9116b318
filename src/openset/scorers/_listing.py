"""Listing: every scorer as a table, and as the body of a page, made from what they declare."""

from __future__ import annotations

from collections.abc import Iterable

from openset.render import Table
from openset.scorers._spec import Scorer


def listing(scorers: Iterable[Scorer]) -> Table:
    """Name, what is read, what is fitted on, whether unknown objects take part, and the paper."""
    header = ("scorer", "reads", "fits on", "uses unknown", "paper")
    rows = tuple(
        (s.name, ", ".join(s.requires), s.fits_on, "yes" if s.uses_unknown else "no", s.paper)
        for s in scorers
    )
    return Table(header, rows)


def markdown(scorers: Iterable[Scorer]) -> str:
    """One section per scorer: definition, options with their defaults, source."""
    return "\n\n".join(_section(scorer) for scorer in scorers).replace("``", "`") + "\n"


def _section(scorer: Scorer) -> str:
    text = scorer.doc.partition("\n\n>>> ")[0]
    definition, _, options = text.partition("Args:")
    rows = [f"- `{name}={default!r}`" for name, default in scorer.options.items()]
    about = _explanations(options.split("\n"))
    bullets = [
        f"{row}: {about[name]}" if name in about else row
        for row, name in zip(rows, scorer.options, strict=True)
    ]
    parts = [
        f"### {scorer.name}",
        definition.strip(),
        "\n".join(bullets),
        f"Source: {scorer.paper}.",
    ]
    return "\n\n".join(part for part in parts if part)


def _explanations(lines: list[str]) -> dict[str, str]:
    """What the docstring says of each option; an option begins a line with its name and a colon."""
    found: dict[str, str] = {}
    name = ""
    for line in map(str.strip, filter(str.strip, lines)):
        head, colon, rest = line.partition(": ")
        if colon and head.isidentifier():
            name = head
            found[name] = rest
        elif name:
            found[name] += f" {line}"
    return found
