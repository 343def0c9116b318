"""Docstrings as data: the summary, the paragraphs, the options, and the items of a list."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

_NAME = r"(?:``[^`]+``|\*[^*]+\*)"
_ITEM = re.compile(rf"- ({_NAME}(?:, {_NAME})*): (.*)")
_OPTION = re.compile(r"(\w+): (.*)")


class Doc(NamedTuple):
    """What a docstring says.

    Attributes:
        summary: The first paragraph.
        paragraphs: The others, list items as paragraphs of their own; examples left out.
        options: Names and meanings under "Args:".
    """

    summary: str
    paragraphs: tuple[str, ...]
    options: tuple[tuple[str, str], ...]


def parse(docstring: str) -> Doc:
    r"""Take a docstring in Google's style apart.

    >>> parse("One line.\n\n    More.\n\n    Args:\n        x: A number.")
    Doc(summary='One line.', paragraphs=('More.',), options=(('x', 'A number.'),))
    """
    summary, *paragraphs = _prose(docstring) or [""]
    return Doc(summary, tuple(paragraphs), tuple(_options(docstring)))


def items(docstring: str) -> dict[str, str]:
    r"""The items of lists such as ``- *name*: text``; one text may have several names.

    >>> items("Head.\n\n- *a*: first;\n- ``b``, ``c``: second,\n  and more.")
    {'a': 'first', 'b': 'second, and more', 'c': 'second, and more'}
    """
    found: dict[str, str] = {}
    for paragraph in _prose(docstring):
        item = _ITEM.match(paragraph)
        if item:
            names = [name.strip("`*") for name in re.findall(_NAME, item[1])]
            found |= dict.fromkeys(names, item[2].rstrip(";."))
    return found


def sentence(text: str) -> str:
    """A text with a capital at its beginning and a full stop at its end.

    >>> sentence("it claimed an object")
    'It claimed an object.'
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def _prose(docstring: str) -> list[str]:
    """Paragraphs and list items, each on one line; neither sections nor examples."""
    text = inspect.cleandoc(docstring).partition("\nArgs:\n")[0]
    blocks = [block for block in re.split(r"\n\s*\n|\n(?=- )", text) if block.strip()]
    return [" ".join(block.split()) for block in blocks if not block.lstrip().startswith(">>>")]


def _options(docstring: str) -> list[tuple[str, str]]:
    section = inspect.cleandoc(docstring).partition("\nArgs:\n")[2]
    lines = section.split("\n\n")[0]
    options = re.split(r"\n(?=    \w)", lines) if lines else []
    pairs = (_OPTION.fullmatch(" ".join(option.split())) for option in options)
    return [(pair[1], pair[2]) for pair in pairs if pair]
