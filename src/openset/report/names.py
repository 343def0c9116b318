"""Names: how anything that came from a file is shown: on one line, and never long."""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import bidirectional

LONGEST = 120
FIRST_STRONG, POP = "\u2068", "\u2069"  # Unicode's isolates


def short(name: object, longest: int = LONGEST) -> str:
    """A name on one line, cut in the middle if it is long.

    >>> short("a" * 50, 11)
    'aaaaa…aaaaa'
    """
    text = " ".join(str(name).split()) or "(no name)"
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def isolated(name: str) -> str:
    """A name that may stand in a sentence of the other direction without moving its numbers.

    >>> isolated("cat"), len(isolated("\u05d7\u05ea\u05d5\u05dc"))
    ('cat', 6)
    """
    if not any(bidirectional(letter) in ("R", "AL") for letter in name):
        return name
    return f"{FIRST_STRONG}{name}{POP}"


def distinct(names: Iterable[str], longest: int) -> list[str]:
    """Short names that differ if the names do.

    >>> distinct(["a" * 50, "a" * 60, "b"], 11)
    ['aaaaa…aaaaa', 'aaaaa…aaaaa (2)', 'b']
    """
    found: list[str] = []
    for name in (short(name, longest) for name in names):
        again = sum(other == name or other.startswith(f"{name} (") for other in found)
        found.append(f"{name} ({again + 1})" if name in found else name)
    return found
