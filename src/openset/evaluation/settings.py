"""Settings: what an evaluation is asked for beside its two inputs, said once.

`evaluate`, `evaluate_all`, `Evaluator` and the command line take the same options and make one
`Settings` of them, which refuses what cannot be meant. Names of protocols and metrics are looked up
by `resolve`, since that takes imports which are better done while files are being read.

Not the inputs, and not what is done with them: see `openset.evaluation.run`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, get_args

from openset.findings import UsageError, refuse
from openset.options import check_options
from openset.plugins import lookup

if TYPE_CHECKING:
    from pathlib import Path

    from openset.matching import Protocol
    from openset.metrics import Metric
    from openset.tables import Annotations, Vocabulary
    from openset.tables.category_ids import Positions, Renamed
    from openset.tables.join import Leaked

T = TypeVar("T", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How detections are judged.

    Attributes:
        known: Which labels are known: a built-in (``voc20``, ``coco80``, ``owod-t1`` ...), labels,
            a vocabulary file, or None if the ground truth says so itself.
        protocol: Name of a preset, or a `Protocol`.
        metrics: Names of metrics; all of them by default. ``wilderness_impact@0.5`` is one at a
            level of its own.
        recall: Recalls to report Wilderness Impact, AWI and all else at that stands at a recall,
            each in a line of its own beside that of the protocol.
        ratio: Wilderness ratios to report Wilderness Impact at, likewise.
        tpr: True-positive rates to report false-positive rates at, likewise.
        intervals: Whether to compute 95 % intervals from 1,000 resamples.
        seed: Seed of the resamples; results of one seed are paired.
        force: Go on in spite of errors in the inputs, which become warnings.
        boxes: How the detections' boxes are written, if not ``xywh``: ``xyxy``, ``cxcywh``,
            ``yxyx`` ..., and what they are relative to, if not the image: ``xyxy-norm``,
            ``xyxy-norm-1000``, ``xyxy-letterbox-640`` ... (`openset.tables.boxes`).
        image_ids: What the detections call images by, if not by id: ``index``, ``number`` of the
            file name ... (`openset.tables.image_ids`).
        category_ids: What the labels of the detections mean, if not the ground truth's ids or
            names: ``index`` (its categories counted from 0), ``index1`` (from 1), ``known`` and
            ``known1`` (the list of known classes), or a mapping of ids or names to such, given as
            one or as a JSON or CSV file.
        names: Names of classes, where an input has their numbers alone: a list (from 0), a
            mapping, or a file (``data.yaml``, JSON, a name a line; `openset.formats.class_names`).
        leaked: Detections labelled with a class that is unknown here (the detector was taught it)
            count as ``unknown``, or ``drop`` them.
        unknown_label: Label, or category id, with which the detections say "unknown".
        unknownness: Where unknownness comes from: a scorer that needs no fit (it reads logits), or
            a column of the file; by default it is as the file has it.
        minimum_score: Detections with a lower score are left out before anything else; ``best`` is
            the t* of each detector, which maximises F1 on known classes (`best_threshold`).
        drop_invalid: Leave broken records out (not finite, of negative size, single scores outside
            0..1), which are errors otherwise; what is dropped is counted and named. More than half
            are not dropped.
        image_list: The benchmark's list of its images, one a line, for protocols that count an
            image as often as it is listed, unless the ground truth states it.
        groups: Which images resamples draw together, as frames of one video are: a column of the
            images, a regular expression with one group in brackets that is searched in file names,
            how file names begin (``"*/"``), or a mapping from image id to group.

    >>> Settings(seed=-1)
    Traceback (most recent call last):
    ...
    openset.findings.UsageError: a seed is 0 or more, not -1
    """

    known: Vocabulary | str | Path | Sequence[str] | None = None
    protocol: Protocol | str = "default"
    metrics: Sequence[str] | None = None
    recall: Sequence[float] = ()
    ratio: Sequence[float] = ()
    tpr: Sequence[float] = ()
    intervals: bool = True
    seed: int = 0
    force: bool = False
    boxes: str = "xywh"
    image_ids: str = "id"
    category_ids: str | Path | Mapping[Any, Any] | None = None
    names: str | Path | Sequence[str] | Mapping[Any, Any] | None = None
    leaked: Leaked = "unknown"
    unknown_label: str | int | None = None
    unknownness: str | None = None
    minimum_score: float | Literal["best"] | None = None
    drop_invalid: bool = False
    image_list: str | Path | None = None
    groups: str | Mapping[Any, Any] | None = None

    def __post_init__(self) -> None:
        from openset.tables.boxes import Convention
        from openset.tables.image_ids import READINGS
        from openset.tables.join import Leaked

        check_options("an evaluation", vars(self), Settings.__init__)
        if self.seed < 0:
            raise UsageError(f"a seed is 0 or more, not {self.seed}")
        if isinstance(self.minimum_score, float) and not math.isfinite(self.minimum_score):
            raise UsageError(f"minimum_score={self.minimum_score} is no number")
        Convention.of(self.boxes)
        lookup(READINGS, self.image_ids, "reading of image ids")
        lookup(dict.fromkeys(get_args(Leaked)), self.leaked, "value of leaked")

    @property
    def least_score(self) -> float | None:
        """The minimum score that was asked for, as a number; ``best`` is not one yet."""
        return None if self.minimum_score in (None, "best") else float(self.minimum_score)

    @classmethod
    def of(cls, settings: Self | None, options: Mapping[str, Any]) -> Self:
        """Settings with some options changed; a misspelt option gets a suggestion.

        >>> Settings.of(Settings(seed=3), {"force": True}).seed
        3
        >>> Settings.of(None, {"protocl": "owod"})
        Traceback (most recent call last):
        ...
        openset.findings.UsageError: unknown option 'protocl'. Did you mean 'protocol' ...
        """
        names = {item.name: None for item in fields(cls)}
        for name in options:
            lookup(names, name, "option")
        if not isinstance(settings, cls | None):
            raise UsageError(f"settings must be made by Settings(...), not {settings!r:.80}")
        return replace(settings or cls(), **options)

    @cached_property
    def rules(self) -> Protocol:
        """The protocol itself."""
        from openset.matching import Protocol

        return Protocol.of(self.protocol)

    @cached_property
    def measured(self) -> tuple[Metric, ...]:
        """The metrics themselves."""
        from openset.metrics import at_each, levels_of, named, table

        found, asked = table(), self._levels
        chosen = [named(found, name) for name in (found if self.metrics is None else self.metrics)]
        # Of all metrics, those with an interval; of those named, whatever takes the level.
        wanted = [one for one in chosen if one.resampled or self.metrics is not None]
        for name, levels in asked.items():
            if levels and not any(name in levels_of(one) for one in wanted):
                raise refuse("OS421", f"no metric that is asked for takes {name}", example=name)
        lines: dict[str, Metric] = {}
        for one in chosen:
            also = at_each(one, asked) if one in wanted else ()
            lines |= {line.name: line for line in (one, *also)}
        return tuple(lines.values())

    @property
    def _levels(self) -> dict[str, tuple[float, ...]]:
        """The levels that are asked for; refused if they cannot be levels."""
        from openset.metrics import checked

        given = {"recall": self.recall, "ratio": self.ratio, "tpr": self.tpr}
        return {name: checked(name, levels) for name, levels in given.items()}

    @cached_property
    def stated_ids(self) -> Positions | Renamed | None:
        """What category ids are said to mean, read if it is a file."""
        from openset.tables.category_ids import category_ids_of

        return None if self.category_ids is None else category_ids_of(self.category_ids)

    @cached_property
    def class_names(self) -> dict[int, str] | None:
        """Names of classes by number, read if they are in a file."""
        from openset.formats.class_names import class_names

        return None if self.names is None else class_names(self.names)

    @property
    def resamples(self) -> int:
        """How many resamples there are: none without intervals."""
        from openset.resampling.draws import RESAMPLES

        return RESAMPLES if self.intervals else 0

    def resolve(self) -> Self:
        """Refuse misspelt names now, before there is anything to wait for."""
        self.rules, self.measured, self.stated_ids, self.class_names  # noqa: B018 - kept for later
        return self

    def vocabulary(self, truth: Annotations) -> Vocabulary:
        """Roles of the labels: as stated, or as the ground truth says."""
        from openset.tables import Vocabulary

        return Vocabulary.of(self.known, truth)


def takes_settings(target: T) -> T:
    """Show every setting in the signature and the documentation of what takes ``**options``."""
    own = signature(target)
    given = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    options = [
        Parameter(item.name, Parameter.KEYWORD_ONLY, default=item.default, annotation=item.type)
        for item in fields(Settings)
    ]
    setattr(target, "__signature__", own.replace(parameters=[*given, *options]))  # noqa: B010
    described = (Settings.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    if target.__doc__:
        target.__doc__ = re.sub(r" *\*\*options: .*", lambda _: described, target.__doc__)
    return target
