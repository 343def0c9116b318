"""Rules: the reusable pieces that benchmarks are written with.

Image rules choose images (``select = [{with = "known"}, {sample = 500}]``), class rules choose
labels (``known = {supercategory = ["animal"]}``). A rule is a function under `image_rule` or
`class_rule` in a file of this package (or an entry point in the group
``openset.benchmarks.rules``); `docs/benchmarks.md` lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from openset.findings import UsageError
from openset.plugins import lookup, records, tag

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from openset.benchmarks.pool import Pool, Universe

    Images = NDArray[np.intp]
F = TypeVar("F", bound=Callable[..., Any])
RuleKind = Literal["image rule", "class rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What is known about a rule.

    Attributes:
        name: Its key in a TOML file.
        takes: Type of its argument, for msgspec.
        apply: The function.
    """

    name: str
    takes: Any
    apply: Callable[..., Any]

    @property
    def summary(self) -> str:
        """The first line of its definition."""
        return (self.apply.__doc__ or "").strip().partition("\n")[0]


def image_rule(name: str, takes: Any) -> Callable[[F], F]:
    """Make a function of a `Pool` and an argument a rule that chooses (and orders) images."""
    return lambda apply: tag("image rule", Rule(name, takes, apply))(apply)


def class_rule(name: str, takes: Any) -> Callable[[F], F]:
    """Make a function of a `Universe` and an argument a rule that chooses labels."""
    return lambda apply: tag("class rule", Rule(name, takes, apply))(apply)


def rules(kind: RuleKind) -> Mapping[str, Rule]:
    """All rules of a kind, by name."""
    return records(__name__, kind)


def check_rule(rule: Mapping[str, Any], kind: RuleKind = "image rule") -> tuple[Rule, Any]:
    """The rule that a table with one key names, and its argument, of the right type."""
    import msgspec

    if len(rule) != 1:
        raise UsageError(f"a rule is a table with one key, but got {dict(rule)!r}")
    [(name, argument)] = rule.items()
    found = lookup(rules(kind), name, kind)
    try:
        return found, msgspec.convert(argument, found.takes)
    except msgspec.ValidationError as error:
        raise UsageError(f"{kind} {name!r}: {error}") from error


def select(pool: Pool, steps: list[dict[str, Any]]) -> Images:
    """The images that pass all rules, in the order that the last of them gives."""
    for step in steps:
        rule, argument = check_rule(step)
        pool = pool.narrowed(rule.apply(pool, argument))
    return pool.images


def class_set(universe: Universe, classes: list[str] | dict[str, Any]) -> tuple[str, ...]:
    """Labels: listed by name (``"@list"`` stands for a list), or chosen by a rule."""
    if isinstance(classes, list):
        return universe.named(classes)
    rule, argument = check_rule(classes, "class rule")
    return tuple(rule.apply(universe, argument))
