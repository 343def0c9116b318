"""Levels: a metric at a level of one's own, under a name that says which.

``wilderness_impact@0.5`` is Wilderness Impact at recall 0.5; ``wilderness_impact@0.5@ratio=1`` with
one wild image per closed-set image. A number without a word is the first level that the metric
takes. ``ap_unknown@ood`` is of the OOD set alone (`openset.tables.sets`). It is a metric like any
other, with an interval, and tells two rows of a table apart.

Not every option of a metric: those that papers tabulate. The others are asked for with
`Evaluation.value`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, update_wrapper
from inspect import signature
from itertools import chain, product
from typing import Any, cast

from openset.findings import Finding, InputError, Level, refuse
from openset.metrics._spec import Compute, Metric, on_set
from openset.plugins import lookup
from openset.tables.sets import SETS, Which

# The most that a level can be; each is above 0.
MOST = {"recall": 1.0, "ratio": math.inf, "tpr": 1.0}
WORDS = {"recall": "recall", "ratio": "ratio", "tpr": "TPR"}
# What else is given as levels, to questions and not to metrics.
_OTHER = {"beta": math.inf, "touch": 1.0, "iou": 1.0}
Levels = Mapping[str, float]


def levels_of(metric: Metric) -> tuple[str, ...]:
    """The levels that a metric takes; none if it stands at one already."""
    if "@" in metric.name:
        return ()
    return tuple(name for name in signature(metric.compute).parameters if name in MOST)


def named(table: Mapping[str, Metric], name: str) -> Metric:
    """A metric by name, maybe at a level."""
    base, *parts = name.split("@") if isinstance(name, str) else [name]
    metric = lookup(table, base, "metric")
    which = next((which for which in SETS if parts[-1:] == [which]), None)
    levels = parts if which is None else parts[:-1]
    if levels:
        metric = at_levels(metric, dict(_level(metric, part) for part in levels))
    return metric if which is None else at_set(metric, which)


def at_set(metric: Metric, which: Which) -> Metric:
    """A metric of one of two sets, whichever it is a number of by itself."""
    return metric._replace(
        name=f"{metric.name}@{which}",
        title=f"{metric.title}, {which.upper()}",
        compute=on_set(metric.compute, which),
        headline=True,
        of="both",  # its function looks at one of them
    )


def of_pair(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """The metrics of two sets: of some there is one number of each."""
    each = [[at_set(one, w) for w in SETS] if one.of == "each" else [one] for one in metrics]
    return tuple(chain.from_iterable(each))


def _level(metric: Metric, text: str) -> tuple[str, float]:
    """What ``0.5`` or ``recall=0.5`` means for a metric."""
    takes = levels_of(metric)
    key, equals, value = text.rpartition("=")
    if not takes or (equals and key not in takes):
        raise refuse("OS421", f"{metric.name} takes no {key or 'level'}", example=text)
    what = key or takes[0]
    return what, checked(what, [value])[0]


def at_levels(metric: Metric, levels: Levels) -> Metric:
    """A metric at some levels. Whoever asks for it wants to see it: it is one of the headline."""
    takes = levels_of(metric)
    ordered = {key: levels[key] for key in takes if key in levels}
    names = [f"@{'' if k == takes[0] else f'{k}='}{_digits(v)}" for k, v in ordered.items()]
    stem = metric.title.removesuffix(" at recall").rstrip("0123456789")
    said = ", ".join(f"{WORDS[k]} {_digits(v)}" for k, v in ordered.items())
    compute = update_wrapper(partial(metric.compute, **ordered), metric.compute)
    return metric._replace(
        name=metric.name + "".join(names),
        title=f"{stem} at {said}",
        compute=cast("Compute", compute),
        headline=True,
    )


def at_each(metric: Metric, asked: Mapping[str, Sequence[float]]) -> Iterator[Metric]:
    """A metric at every combination of the levels that are asked for and that it takes."""
    taken = {name: asked[name] for name in levels_of(metric) if asked.get(name)}
    if taken:
        for values in product(*taken.values()):
            yield at_levels(metric, dict(zip(taken, values, strict=True)))


def checked(what: str, values: Sequence[Any], *, zero: bool = False) -> tuple[float, ...]:
    """Levels as numbers; refused if one cannot be a level, or is there twice.

    Args:
        what: The level.
        values: As they were given.
        zero: Whether 0 is one, as the closed set is a wilderness ratio of its own.
    """
    limit = (MOST | _OTHER)[what]
    numbers = [_number(value) for value in values]
    wrong = [
        value
        for at, (value, number) in enumerate(zip(values, numbers, strict=True))
        if number is None
        or not (0 < number <= limit or (zero and number == 0))
        or number in numbers[:at]
    ]
    if wrong:
        most = "" if math.isinf(limit) else f" and at most {limit:g}"
        least = "of at least 0" if zero else "above 0"
        word = WORDS.get(what, what)
        message = f"{word} {wrong[0]!r:.40} must be a number {least}{most}, given once"
        first = f"{what}={wrong[0]!s:.40}"
        fix = f"give numbers {least}{most}, each once"
        raise InputError([Finding("OS420", Level.ERROR, message, len(wrong), first, fix=fix)])
    return tuple(number for number in numbers if number is not None)


def _number(value: Any) -> float | None:
    """A finite number, also where it is written as text."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and not isinstance(value, bool) else None


def _digits(value: float) -> str:
    """All digits of a number, and no more.

    >>> _digits(0.8), _digits(1.0)
    ('0.8', '1')
    """
    return repr(value).removesuffix(".0")
