"""Rules: what is unknown in a stage, where a rule decides it and not the detector.

CEC (RE-OWOD) expels finished boxes by means of all training images so far; the gamma rule
(OSOD-III) makes boxes of regions before suppression. Both are chosen on known objects of the
validation split.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from openset.benchmarks.bundle import Bundle
from openset.evaluation.choosing import choose
from openset.findings import Finding, InputError, Level, UsageError
from openset.learning.stages import Stage, of_kind, pooled
from openset.matching import right_detections
from openset.scorers import find
from openset.scorers.cec import ALPHAS, CecRule
from openset.scorers.gamma_rule import GAMMAS, GammaRule
from openset.tables import Annotations, Detections

_LEFT = 0.99  # of AP_known, what CEC must leave
_NOTHING_RIGHT = ("OS504", "OS671")  # no detection of a known object, or none that overlaps enough
_FIX = "train for longer, or give a smaller --phi"
Gamma = float | Literal["chosen"]
Detect = Callable[[Annotations, str], Detections]
Decided = tuple[Detections, tuple[Finding, ...]]


def expelled(
    bundle: Bundle, stage: Stage, found: Detections, detect: Detect, phi: float
) -> Decided:
    """Detections that no class keeps are unknown; alpha costs 1 % of AP_known at most.

    Args:
        bundle: The benchmark.
        stage: Which stage.
        found: What its model finds on the test.
        detect: What it finds on other images of a split.
        phi: Right are training detections that overlap their object by more.
    """
    pool = pooled(bundle, stage.task)
    right = right_detections(pool, detect(pool, "train"))
    try:
        fitted = find("cec").fit(right, phi=phi)
    except InputError as error:
        if error.findings[0].code not in _NOTHING_RIGHT:
            raise
        return found, (_nothing_expelled(stage, error.findings[0]),)
    held = of_kind(bundle, "val", stage.task)
    rule, seen = CecRule(fitted=fitted), None
    if held is not None and held.table is not None:
        seen = detect(held.table, "val")
        rules = [replace(rule, alpha=alpha) for alpha in ALPHAS]
        rule = choose(rules, seen, held.table, share=_LEFT).rule
    said = rule.findings(found)
    named = (replace(one, message=f"{stage.name}: {one.message}", fix=_FIX) for one in said)
    return rule.apply(found, seen), tuple(named)


def by_gamma(
    bundle: Bundle, stage: Stage, regions: Detections, detect: Detect, gamma: Gamma, *, force: bool
) -> Decided:
    """Regions of two likely classes are unknown: by a gamma that is given, or chosen on val.

    Args:
        bundle: The benchmark.
        stage: Which stage.
        regions: What its model finds on the test, before suppression.
        detect: The same of other images of a split.
        gamma: The least ratio of the two.
        force: Choose in spite of errors in the files.
    """
    if gamma != "chosen":
        rule = GammaRule(gamma=gamma)
        return rule.apply(regions, None), tuple(rule.findings(regions))
    held = of_kind(bundle, "val", stage.task)
    if held is None or held.table is None:
        raise UsageError(
            f"gamma is chosen on a split of kind val, which {bundle.name} lacks: --gamma"
        )
    seen = detect(held.table, "val")
    rules = [GammaRule(gamma=one) for one in GAMMAS]
    chosen = choose(rules, seen, held.table, force=force).rule
    return chosen.apply(regions, seen), tuple(chosen.findings(regions))


def _nothing_expelled(stage: Stage, why: Finding) -> Finding:
    said = f"{stage.name}: CEC expels nothing: {why.message}"
    return Finding("OS671", Level.WARNING, said, why.count, fix=_FIX)
