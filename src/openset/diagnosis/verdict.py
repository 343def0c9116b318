"""Verdict: a run in a few sentences that an engineer understands.

Three answer: what becomes of unknown objects under the first detector, where it stands beside the
others (or, alone, in a wilder world), and what to do about it. What follows is to be minded: leaks
and the worst finding. Generated from the flow at the operating points, the standing, the advice,
the paired comparison and the findings. Every sentence names the section of the report that proves
it. Nothing is said that was not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from openset.diagnosis.absorption import Absorption, absorption
from openset.diagnosis.advice import Labels, best_move, labels_to_collect
from openset.diagnosis.deployed import LONGEST_NAME, Deployed, first_trainings
from openset.diagnosis.evidence import Spread, evidence_of
from openset.diagnosis.flow import Flow
from openset.diagnosis.presets import TPR
from openset.diagnosis.standing import Place, Standing, standing
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


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run says.

    Attributes:
        answers: What happens, where the first detector stands, and what to do; fewer where there is
            nothing to say.
        minded: Leaks, how the second of two differs, and the worst finding.
        standing: The detectors at a common operating point, if there are several.
    """

    answers: tuple[Sentence, ...]
    minded: tuple[Sentence, ...]
    standing: Standing | None = None


def verdict(
    models: Sequence[Deployed],
    absorbed: Absorption,
    board: Scoreboard | None,
    findings: Sequence[tuple[str, Finding]],
) -> Verdict:
    """What to know, most important first.

    Args:
        models: The detectors.
        absorbed: Where unknown objects go under the first.
        board: Their numbers, where two are to be compared.
        findings: What was found, with what it is about.
    """
    first, places = models[0], standing(models)
    where = _stands(places) if places else _wilderness(first)
    answers = (*_unknowns(first, absorbed), *where, *_to_do(first, absorbed))
    leaks = said_first({model.title: model.evaluation for model in models})
    minded = [Sentence(text, "provenance", "bad") for text in leaks]
    if board is not None and len(models) == 2:
        minded += _difference(board, 1)
    return Verdict(answers, (*minded, *_worst(findings)), places)


def in_short(run: Run) -> list[str]:
    """What unknown objects become under the first detector, and how the second differs from it."""
    models = first_trainings(run)[:2]
    first, board = models[0], run.board(headline=True)
    what = _unknowns(first, absorption(first))
    then = _difference(board, 1) if len(models) > 1 else _wilderness(first)
    return [*(sentence.text for sentence in (*what, *then)), *_background(run)]


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


def _stands(found: Standing) -> Iterator[Sentence]:
    """The detectors at a common known recall, group by group."""
    groups = [_together(group) for group in found.groups]
    least, *others = groups
    text = (
        f"Where all find {percent(found.recall)} of the known objects, fewest unknown objects get "
        f"a known name from {least}"
    )
    if others:
        text += f", before {', then '.join(others)}"
    if not found.tested:
        text += "; which of them differ was not tested"
    elif not others:
        text += ", which do not differ beyond what the choice of images explains"
    yield Sentence(f"{text}.", "flow")


def _together(group: Sequence[Place]) -> str:
    """Detectors that do not differ, with their shares."""
    return listed([f"{isolated(one.model.title)} ({percent(one.named)})" for one in group])


def _to_do(model: Deployed, absorbed: Absorption) -> Iterator[Sentence]:
    """A threshold or a scorer, and the labels to collect: what takes away more errors first."""
    flow = model.flow
    if not flow.unknown_wrong:
        return
    move, labels = best_move(model), labels_to_collect(absorbed)
    said = []
    if move:
        gain = flow.unknown_wrong - move.flow.unknown_wrong
        said.append((gain, f"{move.what[0].upper()}{move.what[1:]}: {_brought(flow, move.flow)}."))
    if labels:
        part = percent(labels.wrong / flow.unknown_wrong)
        text = f"Labels for {_labels(labels)} would take away up to {part} of these errors."
        said.append((labels.wrong, text))
    said.sort(key=lambda pair: -pair[0])
    if not move:
        said.append((0, f"No threshold keeps {percent(TPR)} of what is found and takes away any."))
    section = "absorption" if said[0][1].startswith("Labels") else "flow"
    yield Sentence(" ".join(text for _, text in said), section)


def _brought(before: Flow, after: Flow) -> str:
    """What a move does to errors, and to known objects."""
    wrong = (percent(one.unknown_as_known or 0.0) for one in (before, after))
    found = (percent(one.known_recall or 0.0) for one in (before, after))
    return (
        "the share of unknown objects under a known name falls from {} to {}, and known recall "
        "from {} to {}"
    ).format(*wrong, *found)


def _labels(labels: Labels) -> str:
    return listed([f"“{isolated(short(name, 40))}”" for name in labels.names])


def _wilderness(model: Deployed) -> Iterator[Sentence]:
    table_ = model.sliders
    if not table_.wild_images or not table_.closed_images:
        return
    i, j = model.position
    flows = [table_.count(i, j, weight) for weight in (0.0, 1.0)]
    closed, all_ = (flow.known_precision for flow in flows)
    if closed is None or all_ is None:
        return
    mixed = int((table_.wild & ~table_.unknown).sum())  # some protocols call such images wild
    some = f", which hold {grouped(mixed)} known objects"
    yield Sentence(
        f"The known classes of {isolated(model.title)} have a precision of {percent(closed)} on "
        f"{'closed-set images' if mixed else 'images that hold known objects'}, and of "
        f"{percent(all_)} with the {grouped(table_.wild_images)} wild images"
        f"{some if mixed else ' that hold none'}{_at_parity(model)}.",
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
    elif others := [one.title for one in board.lines if one.arrow and one.cells[at].star]:
        text = f"{second} differs from {first} in {listed(others)} ({board.star_means})."
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
