"""Verdict: a run in a few sentences that an engineer understands.

Generated from the flow at the operating points, the paired comparison and the findings. Every
sentence names the section of the report that proves it. Nothing is said that was not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from openset.diagnosis.absorption import Absorption, absorption
from openset.diagnosis.deployed import LONGEST_NAME, Deployed, first_trainings
from openset.diagnosis.evidence import Spread, evidence_of
from openset.diagnosis.flow import Flow
from openset.evaluation.leaks import CODE as LEAK
from openset.evaluation.leaks import said_first
from openset.evaluation.run import Run
from openset.evaluation.scoreboard import Scoreboard
from openset.findings import Finding, Level
from openset.metrics import table
from openset.wording import grouped, isolated, listed, percent, share, short

NOTABLE = 0.05  # share of unknown objects, or loss of precision, that is pointed out
_COMPARED = ("nose", "unknown_recall", "ap_known", "ap_unknown", "wilderness_impact", "auroc")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and the section that proves it."""

    text: str
    section: str
    tone: str = "plain"


def verdict(
    models: Sequence[Deployed],
    absorptions: Sequence[Absorption],
    board: Scoreboard,
    findings: Sequence[tuple[str, Finding]],
) -> tuple[Sentence, ...]:
    """What to know, most important first; findings come with what they are about."""
    leaks = said_first({model.title: model.evaluation for model in models})
    said = [Sentence(text, "provenance", "bad") for text in leaks]
    for model, table_ in zip(models, absorptions, strict=True):
        said += [*_unknowns(model, table_), *(_wilderness(model) if len(models) < 3 else ())]
    for at in range(1, len(models)):
        said += _difference(board, at)
    return (*said, *_worst(findings))


def in_short(run: Run) -> list[str]:
    """What unknown objects become under the first detector, and how the second differs from it."""
    models = first_trainings(run)[:2]
    said = verdict(models, [absorption(model) for model in models], run.board(headline=True), ())
    by_section = {sentence.section: sentence.text for sentence in reversed(said)}
    last = "comparison" if len(models) > 1 else "flow"
    found = [by_section[name] for name in ("health", "absorption", last) if name in by_section]
    return [*found, *_background(run)]


def _background(run: Run) -> list[str]:
    """How often background is the likelier on known and unknown objects, where logits tell."""
    for name, found in evidence_of(run):
        if found.correct.count and found.on_unknown.count:
            known, unknown = (_negative(spread) for spread in (found.correct, found.on_unknown))
            return [
                f"{isolated(name)}: background is likelier than the class in {known} correct "
                f"detections and in {unknown} on unknown objects."
            ]
    return []


def _negative(spread: Spread) -> str:
    return f"{percent(spread.negative or 0.0)} of {grouped(spread.count)}"


def _unknowns(model: Deployed, absorbed: Absorption) -> Iterator[Sentence]:
    flow = model.flow
    if not flow.unknown:
        yield Sentence(
            f"There is no unknown object in the ground truth, so {isolated(model.title)} was not "
            "put to the question.",
            "health",
            "bad",
        )
        return
    wrong = share(flow.unknown_wrong, flow.unknown)
    seen = percent(flow.unknown_unknown / flow.unknown) if flow.unknown_unknown else "none"
    lost = percent(flow.unknown_missed / flow.unknown) if flow.unknown_missed else "none"
    if model.sliders.says_unknown:
        rest = f", calls {seen} only unknown and misses {lost}"
    else:
        rest = " and is silent about the others; it never says “unknown”"
    yield Sentence(
        f"At its operating point ({_thresholds(model)}) {isolated(model.title)} gives {wrong} of "
        f"the unknown objects a known name{_mostly(absorbed)}{rest}.",
        "absorption",
        "bad" if flow.unknown_wrong > NOTABLE * flow.unknown else "plain",
    )


def _thresholds(model: Deployed) -> str:
    """The operating point in words; a second threshold only where it does something."""
    packed = model.sliders
    score = f"score ≥ {model.score:.3g}"
    if not packed.says_unknown or model.position[1] == packed.rest:
        return score
    if not packed.by_score and model.position[1] == 0:
        return f"{score}, unknown: all"
    what = "score ≥" if packed.by_score else "unknownness >"
    return f"{score}, unknown: {what} {model.second:.3g}"


def _mostly(absorbed: Absorption) -> str:
    if not absorbed.classes:
        return ""
    known = sum(sum(row.counts[:-2]) for row in absorbed.labels)
    first = sum(row.counts[0] for row in absorbed.labels)
    name = isolated(short(absorbed.classes[0], 40))
    return f" (most often “{name}”, {share(first, known)} of those)"


def _wilderness(model: Deployed) -> Iterator[Sentence]:
    table_ = model.sliders
    if not table_.wild_images or not table_.closed_images:
        return
    i, j = model.position
    flows = [table_.count(i, j, weight) for weight in (0.0, 1.0)]
    closed, all_ = (flow.known_precision for flow in flows)
    if closed is None or all_ is None:
        return
    yield Sentence(
        f"The known classes of {isolated(model.title)} have a precision of {percent(closed)} on "
        f"images that hold known objects, and of {percent(all_)} with the "
        f"{grouped(table_.wild_images)} wild images that hold none{_at_parity(model)}.",
        "flow",
        "bad" if closed - all_ > NOTABLE else "plain",
    )


def _at_parity(model: Deployed) -> str:
    """Precision if every second image were wild, unless that is nearly so."""
    table_ = model.sliders
    if not 0 < table_.ratio < 0.8:
        return ""
    flow: Flow = table_.count(*model.position, 1 / table_.ratio)
    if flow.known_precision is None:
        return ""
    return f"; if every second image were wild it would be {percent(flow.known_precision)}"


def _difference(board: Scoreboard, at: int) -> Iterator[Sentence]:
    """In what a method differs from the first: where the scoreboard has a star."""
    if not any(line.cells[at].p is not None for line in board.lines):
        return  # without p-values nothing can be said
    better: list[str] = []
    worse: list[str] = []
    for name in _COMPARED:
        cell = board.cell(name, at)
        difference = cell.difference if cell is not None and cell.star else None
        if difference is None or difference.better is None:
            continue
        size = abs(difference.difference or 0.0)
        metric = table()[name]
        text = f"{metric.title} by {100 * size:.1f} points"
        (better if difference.better else worse).append(text)
    first, second = (isolated(short(board.models[i], LONGEST_NAME)) for i in (0, at))
    if better or worse:
        parts = [f"better in {listed(better)}"] if better else []
        parts += [f"worse in {listed(worse)}"] if worse else []
        text = f"{second} is {', but '.join(parts)} than {first} ({board.star_means})."
    else:
        text = f"{second} and {first} do not differ beyond what {board.chance_explains}."
    yield Sentence(text, "comparison")


def _worst(findings: Sequence[tuple[str, Finding]]) -> Iterator[Sentence]:
    """The most serious finding, and how many more there are; leaks were said before."""
    serious = [
        pair for pair in findings if pair[1].level is not Level.NOTE and pair[1].code != LEAK
    ]
    if serious:
        rank = {Level.ERROR: 0, Level.WARNING: 1, Level.NOTE: 2}
        about, worst = min(serious, key=lambda pair: (rank[pair[1].level], -pair[1].count))
        others = len(serious) - 1
        more = f"; {others} more finding{'s' if others > 1 else ''} below" if others else ""
        why = f" (likely cause: {short(worst.cause, 200)})" if worst.cause else ""
        where = f"Mind the data of {isolated(short(about, LONGEST_NAME))}"
        text = f"{where}: {worst.code}, {short(worst.message, 300)}{why}{more}."
        yield Sentence(text, "health", "bad")
