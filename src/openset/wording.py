"""Wording: how names and numbers are written for people.

Names that came from a file stand on one line and are never long; shares, counts and lists are
written as people say them. Knows nothing of what is named or counted, and escapes nothing: that is
for whoever writes HTML or to a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from unicodedata import bidirectional

LONGEST = 120
SLIP = "a slip of the pen"  # how a cause begins that is one
COLUMN = 24  # of a name over a column of a terminal
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


def share(part: float, whole: float) -> str:
    r"""A share as people say it: "1 in 3" where that is close, else percent.

    >>> share(33, 100), share(0, 5), share(64, 100).replace("\xa0", " "), share(5, 5)
    ('1 in 3', 'none', '64 %', 'all')
    """
    if not whole or not part:
        return "none"
    ratio = part / whole
    if ratio == 1:
        return "all"
    near = round(1 / ratio)
    if 2 <= near <= 10 and abs(1 / near - ratio) < 0.012:
        return f"1 in {near}"
    return percent(ratio)


def percent(ratio: float) -> str:
    r"""A fraction in percent, with one decimal where it is small; the sign keeps to its number.

    >>> percent(0.6421).replace("\xa0", " "), percent(0.0312).replace("\xa0", " ")
    ('64 %', '3.1 %')
    """
    return f"{100 * ratio:.{int(0 < ratio < 0.1)}f}\u00a0%"


def spaced(count: float) -> str:
    """A count with a space between thousands, as terminals and files have it.

    >>> spaced(41812), spaced(-0.3)
    ('41 812', '0')
    """
    return f"{count:z,.0f}".replace(",", " ")


def grouped(count: int) -> str:
    """A count with a thin space between thousands, as pages have it: no line breaks there.

    >>> grouped(4697).replace("\u202f", "_")
    '4_697'
    """
    return spaced(count).replace(" ", "\u202f")


def listed(parts: Sequence[str]) -> str:
    """Words joined by commas and a last "and".

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def some(names: Iterable[str], limit: int = 5) -> str:
    """The first few names, and how many more there are.

    >>> some(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    listed = list(names)
    rest = len(listed) - limit
    return ", ".join(listed[:limit]) + (f" and {spaced(rest)} more" if rest > 0 else "")
