"""Choosing: gamma and temperature of the gamma rule, on known classes alone.

Hosoya et al. (OSOD-III) do not say how they chose theirs, which differ from one data set to the
next; Tables 15 and 16 show that AP_unk doubles between them. Here the rule is chosen that makes
most unknown while it leaves a share of the AP_known that the detector has as it is. How much that
is, is one number under a softmax: regions whose two largest logits differ by less than
``T log(gamma)``. Labels of unknown objects are not looked at: AP_known is the same without them.

Not a search on the test set: apply each rule and evaluate them all for that, and say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import log

from openset.evaluation.one_shot import evaluate
from openset.evaluation.settings import Settings
from openset.findings import UsageError, refuse
from openset.scorers import ledger
from openset.scorers.gamma_rule import GammaRule
from openset.tables import Annotations, Detections


@dataclass(frozen=True, slots=True)
class Choice:
    """The rule that was chosen, and what it was chosen from.

    Attributes:
        rule: The rule.
        unchanged: AP_known with nothing unknown.
        tried: Each rule that was tried, with its AP_known.
    """

    rule: GammaRule
    unchanged: float
    tried: tuple[tuple[GammaRule, float], ...]


def choose(
    rules: Sequence[GammaRule],
    regions: Detections,
    truth: Annotations,
    *,
    share: float = 0.95,
    force: bool = False,
) -> Choice:
    """The rule with the largest margin ``T log(gamma)`` that leaves a share of AP_known.

    Args:
        rules: Rules to choose from, of any gammas and temperatures.
        regions: Pairs of a region and a class on held-out images, before suppression.
        truth: The known objects of these images; others are not looked at.
        share: Of the AP_known with nothing unknown, what must be left.
        force: Choose on test data, or in spite of errors in the files; the ledger says the former.
    """
    if not 0 < share <= 1:
        raise UsageError(f"share must be in (0, 1], not {share}")
    ledger.check_fit("gamma", regions, force=force)
    known = partial(_known, regions=regions, truth=truth, force=force)
    unchanged = known(replace(rules[0], gamma=1.0, temperature=1.0))
    tried = [(rule, known(rule)) for rule in rules]
    allowed = [one for one in tried if one[1] >= share * unchanged]
    if not allowed:
        rule, most = max(tried, key=lambda one: one[1])
        message = f"no gamma leaves {share:.0%} of an AP_known of {unchanged:.1%}"
        raise refuse("OS652", message, example=f"{rule}: {most:.1%}")
    best, _ = max(allowed, key=lambda one: (_margin(one[0]), one[1]))
    return Choice(best, unchanged, tuple(tried))


def _margin(rule: GammaRule) -> float:
    return rule.temperature * log(rule.gamma)


def _known(rule: GammaRule, regions: Detections, truth: Annotations, force: bool) -> float:
    asked = Settings(known=list(regions.labels), metrics=["ap_known"], intervals=False, force=force)
    result = evaluate(truth, rule.apply(regions), settings=asked)
    known = result.value("ap_known")
    if known.value is None:
        raise refuse("OS652", f"there is no AP_known: {known.reason}")
    return float(known.value)
