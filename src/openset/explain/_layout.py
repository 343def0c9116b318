"""Layout: an entry as sections, and the sections as text or Markdown.

Texts come with the marks of docstrings: two backticks or one around code, asterisks around an
emphasised word. Text loses them; Markdown keeps them, and escapes what only looks like one.
"""

from __future__ import annotations

import re
import textwrap
from typing import NamedTuple

from openset.explain.entry import Entry, Pairs
from openset.explain.example import Example

_EMPHASIS = re.compile(r"(?<![\w*])\*(\w(?:[^*]*\w)?)\*(?![\w*])")
_GLUE = "\N{NO-BREAK SPACE}"
_CODE = re.compile(r"``([^`]+)``|`([^`]+)`")


_TITLES = {
    "protocol": {"facts": "Settings that differ from default"},
    "error": {"formula": "Rule"},
    "code": {"facts": "What to do"},
    "taxonomy": {"valid": "Metrics that answer it", "invalid": "Metrics that do not"},
}


class Section(NamedTuple):
    """A heading, and what stands under it, in this order."""

    title: str
    paragraphs: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    pairs: Pairs = ()
    code: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


def sections(entry: Entry) -> list[Section]:
    """The sections of an entry that have anything to say."""
    title = _TITLES.get(entry.kind, {})
    shown = [
        Section("", paragraphs=(entry.summary, *entry.definition)),
        Section(title.get("formula", "Formula"), code=tuple(entry.formula.strip().splitlines())),
        Section(title.get("facts", "Facts"), pairs=entry.facts),
        Section("Options", pairs=entry.options),
        Section(title.get("valid", "Answers"), pairs=entry.valid),
        Section(title.get("invalid", "Does not answer"), pairs=entry.invalid),
        *([] if entry.example is None else [_example(entry.example)]),
        Section("Variants", pairs=entry.variants),
        Section("Do not compare with, or take for", items=entry.avoid),
        Section("Known defects", items=tuple(f"{what} → {here}" for what, here in entry.quirks)),
        Section("Papers", items=entry.papers),
        Section("See also", paragraphs=tuple(filter(None, [", ".join(entry.see)]))),
    ]
    return [section for section in shown if any(section[1:])]


def _example(example: Example) -> Section:
    results = (str(result) for result in example.results)
    lines = (*example.sketch.lines(), "", *results)
    return Section("Example", (example.sketch.about,), code=lines, after=(example.text,))


def _bounds(entry: Entry) -> str:
    """Direction and range."""
    better = f"{entry.better} is better" if entry.better else ""
    return " · ".join(filter(None, [better, entry.range]))


# ---------------------------------------------------------------------- text


def text(entry: Entry, width: int) -> str:
    """An entry for a terminal."""
    first = " · ".join(filter(None, [f"{entry.kind} {entry.name}", _bounds(entry)]))
    others = [alias for alias in entry.aliases if alias.lower() != entry.title.lower()]
    also = f"also: {', '.join(others)}" if others else ""
    head = [entry.title, *_wrapped(first, width, "  "), *_wrapped(also, width, "  ")]
    blocks = [_text_section(section, width) for section in sections(entry)]
    return "\n\n".join(["\n".join(head), *blocks])


def _text_section(section: Section, width: int) -> str:
    indent = "  " if section.title else ""
    blocks = ["\n".join(_wrapped(plain(x), width, indent)) for x in section.paragraphs]
    if section.items or section.pairs:
        lines = [line for item in section.items for line in _item(plain(item), width)]
        lines += [line for pair in section.pairs for line in _item(_pair(*pair), width)]
        blocks.append("\n".join(lines))
    if section.code:
        blocks.append("\n".join(line for code in section.code for line in _code(code, width)))
    blocks += ["\n".join(_wrapped(plain(x), width, indent)) for x in section.after]
    body = "\n\n".join(blocks)
    return f"{section.title}\n{body}" if section.title else body


def _pair(name: str, meaning: str) -> str:
    return plain(f"{name}: {meaning}")


def _wrapped(line: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        line, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _item(line: str, width: int) -> list[str]:
    return textwrap.wrap(
        line, width, initial_indent="  - ", subsequent_indent="    ", break_on_hyphens=False
    )


def _code(line: str, width: int) -> list[str]:
    if " | " in line:  # a sketch: objects and detections stay on one line each
        line = re.sub(r"(?<![,|]) (?!\|)", _GLUE, line)
    lines = textwrap.wrap(
        line, width, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False
    )
    return [line.replace(_GLUE, " ") for line in lines] or [""]


def plain(marked: str) -> str:
    """A text without the marks of code and emphasis.

    >>> plain("``a`` and `b`, *really*, FN*_u + FN*_k")
    'a and b, really, FN*_u + FN*_k'
    """
    parts = _CODE.split(marked)
    # Every third piece is prose, the two after it are code in either kind of backticks.
    prose = [
        _EMPHASIS.sub(r"\1", piece) if at % 3 == 0 else piece for at, piece in enumerate(parts)
    ]
    return "".join(piece for piece in prose if piece)


# ---------------------------------------------------------------------- Markdown


def markdown(entry: Entry, level: int) -> str:
    """An entry as a section of a page."""
    others = {name.lower(): name for name in (*entry.aliases, entry.title)}
    names = ", ".join(name for key, name in others.items() if key != entry.name.lower())
    lead = " · ".join(filter(None, [escaped(names), _bounds(entry)]))
    blocks = [f"{'#' * level} {entry.name}", *([f"*{lead}*"] if lead else [])]
    for section in sections(entry):
        blocks += _markdown_section(section)
    return "\n\n".join(blocks)


def _markdown_section(section: Section) -> list[str]:
    blocks = [f"**{section.title}**"] if section.title else []
    blocks += [escaped(paragraph) for paragraph in section.paragraphs]
    items = [escaped(item) for item in section.items]
    items += [f"`{name}`: {escaped(meaning)}" for name, meaning in section.pairs]
    if items:
        blocks.append("\n".join(f"- {item}" for item in items))
    if section.code:
        blocks.append("\n".join(["```text", *section.code, "```"]))
    return blocks + [escaped(paragraph) for paragraph in section.after]


def escaped(marked: str) -> str:
    r"""A text as Markdown: single backticks, and asterisks that are no emphasis escaped.

    >>> escaped("``a`` and *really*, FN*_u + FN*_k")
    '`a` and *really*, FN\\*_u + FN\\*_k'
    """
    parts = _CODE.split(marked)
    return "".join(_marked(piece, at % 3 == 0) for at, piece in enumerate(parts) if piece)


def _marked(piece: str, prose: bool) -> str:
    if not prose:
        return f"`{piece}`"
    kept = _EMPHASIS.sub("\0\\1\0", piece)
    return kept.replace("*", r"\*").replace("\0", "*").replace("<", r"\<")
