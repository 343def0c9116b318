"""Entry: everything there is to say about one term, as a value.

An entry knows nothing of where its words come from (see `openset.explain._sources`) and shows them
in three ways: as text for a terminal, as Markdown for the documentation, as JSON for programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from openset.explain.example import Example

Kind = Literal["metric", "protocol", "error", "code", "taxonomy", "term"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The explanation of one term.

    Attributes:
        name: How it is asked for.
        kind: ``metric``, ``protocol``, ``error`` (type), ``code``, ``taxonomy`` or ``term``.
        title: How it is shown.
        summary: What it is, in a line.
        aliases: Other names.
        definition: Paragraphs.
        formula: In plain text.
        better: Which direction is an improvement: ``higher``, ``lower``, or nothing.
        range: Least and largest value, in words, or nothing.
        facts: What else there is, by name: the cause of a finding, the settings of a protocol.
        valid: For a problem of the taxonomy the metrics that answer it, and for a metric the
            problems that it answers, each with the reason.
        invalid: The same for those that do not.
        options: Parameters of a metric, and what they mean.
        example: A worked example.
        variants: Other numbers of the same name, and how they differ.
        avoid: What it must not be compared with, or taken for.
        quirks: Known defects of the code that a protocol reproduces, and what becomes of them.
        papers: Citations.
        see: Names of related entries.
    """

    name: str
    kind: Kind
    title: str
    summary: str
    aliases: tuple[str, ...] = ()
    definition: tuple[str, ...] = ()
    formula: str = ""
    better: str = ""
    range: str = ""
    facts: Pairs = ()
    valid: Pairs = ()
    invalid: Pairs = ()
    options: Pairs = ()
    example: Example | None = None
    variants: Pairs = ()
    avoid: tuple[str, ...] = ()
    quirks: Pairs = ()
    papers: tuple[str, ...] = ()
    see: tuple[str, ...] = ()

    def to_text(self, width: int = 80) -> str:
        """For a terminal of some width."""
        from openset.explain._layout import text

        return text(self, width)

    def to_markdown(self, level: int = 2) -> str:
        """A section with a heading of some level."""
        from openset.explain._layout import markdown

        return markdown(self, level)

    def to_json(self) -> dict[str, Any]:
        """A dictionary of strings, lists and dictionaries, all keys always there."""
        return {item.name: _plain(getattr(self, item.name)) for item in fields(self)}


def _plain(value: Any) -> Any:
    if isinstance(value, Example):
        return value.to_json()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value
