"""Choosing: the gamma of the gamma rule, the alpha of CEC, on known classes alone.

The rule is chosen that makes most unknown, by its margin, while it leaves a share of the AP_known
that the detector has as it is. That is how Zhao et al. (RE-OWOD) chose alpha: known mAP may fall by
1 % on validation pictures. Hosoya et al. (OSOD-III) do not say how they chose gamma, which differs
from one data set to the next; Tables 15 and 16 show that AP_unk doubles between them. Labels of
unknown objects are not looked at: AP_known is the same without them.

Not a search on the test set: apply each rule and evaluate them all for that, and say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from openset.evaluation.one_shot import evaluate
from openset.evaluation.settings import Settings
from openset.findings import UsageError, refuse
from openset.scorers import ledger
from openset.scorers.rule import Rule, known_names, of_knowns
from openset.tables import Annotations, Detections

R = TypeVar("R", bound=Rule)


@dataclass(frozen=True, slots=True)
class Choice(Generic[R]):
    """The rule that was chosen, and what it was chosen from.

    Attributes:
        rule: The rule.
        unchanged: AP_known with nothing unknown.
        tried: Each rule that was tried, with its AP_known.
    """

    rule: R
    unchanged: float
    tried: tuple[tuple[R, float], ...]


def choose(
    rules: Sequence[R],
    found: Detections,
    truth: Annotations,
    *,
    share: float = 0.95,
    force: bool = False,
) -> Choice[R]:
    """The rule with the largest margin that leaves a share of AP_known.

    Args:
        rules: Rules to choose from, all of one kind.
        found: What the rules read, on held-out images.
        truth: The known objects of these images; others are not looked at.
        share: Of the AP_known with nothing unknown, what must be left.
        force: Choose on test data, or in spite of errors in the files; the ledger says the former.
    """
    if not 0 < share <= 1:
        raise UsageError(f"share must be in (0, 1], not {share}")
    by = next(iter(rules[0].swept))
    ledger.check_fit(by, of_knowns(found), force=force)
    known = partial(_known, found=found, truth=truth, force=force)
    unchanged = known(rules[0].idle())
    tried = [(rule, known(rule)) for rule in rules]
    allowed = [one for one in tried if one[1] >= share * unchanged]
    if not allowed:
        rule, most = max(tried, key=lambda one: one[1])
        message = f"no {by} leaves {share:.0%} of an AP_known of {unchanged:.1%}"
        raise refuse("OS652", message, example=f"{rule}: {most:.1%}")
    best, _ = max(allowed, key=lambda one: (one[0].margin, one[1]))
    return Choice(best, unchanged, tuple(tried))


def _known(rule: Rule, found: Detections, truth: Annotations, force: bool) -> float:
    known = list(known_names(found))
    asked = Settings(known=known, metrics=["ap_known"], intervals=False, force=force)
    result = evaluate(truth, rule.apply(found), settings=asked)
    left = result.value("ap_known")
    if left.value is None:
        raise refuse("OS652", f"there is no AP_known: {left.reason}")
    return float(left.value)
