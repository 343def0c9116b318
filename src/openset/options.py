"""Options: those that a function takes, and whether what is given has the types it states.

What is typed on a command line or stands in a TOML file is a number, a word, a list or nothing. A
word that is taken for true, or a fraction for a count, would change numbers without a sound.

Which values make sense is known to whoever takes them, who may say so by a `Range` for each name.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from openset.findings import UsageError
from openset.plugins import lookup

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


class Range(NamedTuple):
    """The numbers that an option may be; never NaN, and never infinite.

    Attributes:
        least: The smallest.
        most: The largest.
        open: Whether the smallest itself is none of them.
    """

    least: float = 0.0
    most: float = math.inf
    open: bool = False

    def holds(self, value: float) -> bool:
        """Whether a number is one of them."""
        low = value > self.least if self.open else value >= self.least
        return math.isfinite(value) and low and value <= self.most

    def __str__(self) -> str:
        """As a sentence goes on after "must be"."""
        low = f"above {self.least:g}" if self.open else f"at least {self.least:g}"
        return low if math.isinf(self.most) else f"{low} and at most {self.most:g}"


AMOUNT, POSITIVE = Range(), Range(open=True)
SHARE, COUNT = Range(most=1.0), Range(1)


def check_ranges(what: str, given: Mapping[str, Any], ranges: Mapping[str, Range]) -> None:
    """Refuse numbers that an option cannot be.

    >>> check_ranges("scorer 'knn'", {"k": 0}, {"k": COUNT})
    Traceback (most recent call last):
    ...
    openset.findings.UsageError: option k of scorer 'knn' must be at least 1, not 0
    """
    for name, value in given.items():
        if name in ranges and not ranges[name].holds(value):
            raise UsageError(f"option {name} of {what} must be {ranges[name]}, not {value!r}")


def options_of(function: Callable[..., Any], *, after: int, but: str = "") -> dict[str, Any]:
    """Names and defaults of the options of a function or class.

    Args:
        function: What takes them.
        after: How many parameters come before them.
        but: A further parameter that is not an option.

    >>> def knn(evidence, *, k: int = 10): ...
    >>> options_of(knn, after=1)
    {'k': 10}
    """
    parameters = list(inspect.signature(function).parameters.values())[after:]
    named = [one for one in parameters if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    found = {one.name: one.default for one in named if one.name != but}
    if any(default is inspect.Parameter.empty for default in found.values()):
        raise UsageError(f"every option of {function.__qualname__} needs a default")
    return found


def chosen_options(
    what: str,
    given: Mapping[str, Any],
    defaults: Mapping[str, Any],
    function: Callable[..., Any],
) -> dict[str, Any]:
    """All options of `what`, those not given by default; a wrong name or type is refused."""
    for name in given:
        lookup(defaults, name, f"option of {what}:")
    check_options(what, given, function)
    return {**defaults, **given}


def check_options(what: str, given: Mapping[str, Any], function: Callable[..., Any]) -> None:
    """Refuse options whose type is not that of the function's annotation.

    >>> def knn(*, k: int = 10): ...
    >>> check_options("scorer 'knn'", {"k": 2.5}, knn)
    Traceback (most recent call last):
    ...
    openset.findings.UsageError: option k of scorer 'knn' must be a whole number, not 2.5
    """
    for name, value in given.items():
        hint = _hint(function, name)
        if not is_of(value, hint):
            raise UsageError(f"option {name} of {what} must be {_in_words(hint)}, not {value!r}")


def _hint(function: Any, name: str) -> Any:
    """The type of one parameter; anything, if there is none that can be had while running."""
    alone = types.SimpleNamespace(__annotations__={name: function.__annotations__.get(name, Any)})
    try:
        return get_type_hints(alone, function.__globals__)[name]
    except NameError:
        return Any


def is_of(value: Any, hint: Any) -> bool:
    """Whether a plain value is of a type; whole numbers are numbers, true and false are not."""
    if hint is Any:
        return True
    if hint is int or hint is float:
        kind = Integral if hint is int else Real  # those of NumPy, too
        return isinstance(value, kind) and not isinstance(value, bool)
    if type(hint) is type:
        return isinstance(value, hint)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value in inner
    if origin in (Union, types.UnionType):
        return any(is_of(value, one) for one in inner)
    if origin in (tuple, Sequence):
        return isinstance(value, tuple | list) and all(is_of(item, inner[0]) for item in value)
    plain = origin or hint
    return not isinstance(plain, type) or isinstance(value, plain)


def _in_words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        *others, last = map(repr, inner)
        return f"{', '.join(others)} or {last}" if others else last
    if origin in (Union, types.UnionType):
        return " or ".join(_in_words(one) for one in inner if one is not types.NoneType)
    if origin in (tuple, Sequence):
        return "a list"
    return _WORDS.get(hint, f"a {getattr(hint, '__name__', hint)}")
