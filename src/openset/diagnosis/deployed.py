"""Deployed: one detector of a run at its operating point, which every question is asked of.

The operating point has the best F1 over all boxes (`presets`); what is unknown is taken as the
detector labels it, or, if it labels nothing so, as the unknownness that keeps 95 % of the known
objects. Chosen on the data that it is shown on, so it flatters every detector alike.

Not the detector itself (`openset.detectors`), and not a threshold per class (`operating_point`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis._spec import question
from openset.diagnosis.flow import Called, Flow, Targets, called, fates, targets
from openset.diagnosis.presets import Preset, presets
from openset.diagnosis.sliders import Bytes, Sliders, rungs, score_levels, sliders
from openset.diagnosis.view import View
from openset.evaluation.result import Evaluation
from openset.evaluation.run import Run
from openset.findings import UsageError
from openset.matching import Matches, match
from openset.tables import Annotations, Detections
from openset.wording import distinct

LONGEST_NAME = 60


@dataclass(frozen=True, eq=False)
class Deployed:
    """A detector at its operating point.

    Attributes:
        name: What it is called in the run.
        title: What it is called where people read it: the same, unless that is too long.
        index: Its place in the run.
        run: The run, with the tables.
        evaluation: Its numbers.
        matches: What the numbers were computed from.
        levels: The ladder of scores that all detectors of the run share.
        place: Positions of the sliders to look at it at; its operating point by default.
        view: Recalls, ratios and overlaps for the questions that stand at such.
    """

    name: str
    title: str
    index: int
    run: Run
    evaluation: Evaluation
    matches: Matches
    levels: NDArray[np.float64]
    place: tuple[int, int] | None = None
    view: View = field(default_factory=View)

    @cached_property
    def detections(self) -> Detections:
        """What it said."""
        return self.run.detections[self.name]

    @property
    def truth(self) -> Annotations:
        """What there is."""
        return self.run.truth

    @cached_property
    def judged(self) -> Detections:
        """The detections that were matched, without evidence: what matching anew starts from."""
        bare = replace(self.detections, logits=None, layout=None, embedding=None, attributes={})
        return bare.select(np.sort(self.matches.row))

    @cached_property
    def sliders(self) -> Sliders:
        """Its boxes on the ladders of the sliders."""
        return sliders(self.matches, self.levels)

    @cached_property
    def presets(self) -> tuple[Preset, ...]:
        """Named positions; the first is the operating point."""
        return presets(self.sliders)

    @property
    def position(self) -> tuple[int, int]:
        """The operating point, as positions of the sliders."""
        if self.place is not None:
            return self.place
        first = self.presets[0]
        return first.i, first.j

    @property
    def score(self) -> float:
        """The minimum score at the operating point, or the lowest there is where it is higher."""
        least, scores = float(self.sliders.score[self.position[0]]), self.matches.score
        return max(least, float(scores.min())) if len(scores) else least

    @property
    def second(self) -> float:
        """The second threshold at the operating point."""
        return float(self.sliders.second[self.position[1]])

    @cached_property
    def flow(self) -> Flow:
        """What becomes of objects there."""
        return self.sliders.count(*self.position)

    @cached_property
    def targets(self) -> Targets:
        """The object each box speaks of."""
        return targets(self.matches)

    @cached_property
    def rungs(self) -> tuple[Bytes, Bytes]:
        """How high each box stands on the ladders of the sliders."""
        return rungs(self.matches, self.sliders.score, self.sliders.second)

    @cached_property
    def called(self) -> Called:
        """What boxes are called there."""
        return called(self.matches, self.score, self.second)

    @cached_property
    def fates(self) -> NDArray[np.int8]:
        """What becomes of each object there."""
        return fates(self.matches, self.called, self.targets)

    @cached_property
    def classes(self) -> tuple[str, ...]:
        """Known classes, then "unknown"."""
        return (*self.matches.vocabulary.known, "unknown")


@question("fates", title="What becomes of objects")
def fates_of_objects(one: Deployed) -> Flow:
    """Known and unknown objects by what they are called at the operating point."""
    return one.flow


def deployed(run: Run) -> tuple[Deployed, ...]:
    """The detectors of a run, on a common ladder of scores."""
    matched = {name: _matches(name, one) for name, one in run.evaluations.items()}
    levels = score_levels(np.concatenate([matches.score for matches in matched.values()]))
    shown = distinct(matched, LONGEST_NAME)
    return tuple(
        Deployed(
            name=name,
            title=shown[at],
            index=at,
            run=run,
            evaluation=run.evaluations[name],
            matches=matches,
            levels=levels,
        )
        for at, (name, matches) in enumerate(matched.items())
    )


def at_overlap(run: Run, iou: float) -> Run:
    """The detectors of a run, matched again with another overlap; their numbers stay."""
    rules = run.protocol.but(iou=(iou,))
    return replace(
        run,
        evaluations={
            name: replace(
                one,
                matches=match(
                    run.truth, run.detections[name], run.vocabulary, rules, leaked=run.leaked
                ),
            )
            for name, one in run.evaluations.items()
        },
    )


def first_trainings(run: Run) -> tuple[Deployed, ...]:
    """One detector for each method: its first training, where there are several."""
    firsts = [names[0] for names in run.methods.values()]
    return deployed(replace(run, evaluations={name: run.evaluations[name] for name in firsts}))


def _matches(name: str, evaluation: Evaluation) -> Matches:
    if evaluation.matches is None:
        raise UsageError(
            f"the result of {name!r} was read from a file without its matches; "
            "load the whole run folder, or evaluate again"
        )
    return evaluation.matches
