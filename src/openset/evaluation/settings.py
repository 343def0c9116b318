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
from typing import TYPE_CHECKING, Any, Self, TypeVar, get_args

from openset.findings import UsageError
from openset.options import check_options
from openset.plugins import lookup

if TYPE_CHECKING:
    from pathlib import Path

    from openset.matching import Protocol
    from openset.metrics import Metric
    from openset.tables import Annotations, Vocabulary
    from openset.tables.join import Leaked

T = TypeVar("T", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How detections are judged.

    Attributes:
        known: Which labels are known: a built-in (``voc20``, ``coco80``, ``owod-t1`` ...), labels,
            a vocabulary file, or None if the ground truth says so itself.
        protocol: Name of a preset, or a `Protocol`.
        metrics: Names of metrics; all of them by default.
        intervals: Whether to compute 95 % intervals from 1,000 image resamples.
        seed: Seed of the resamples; results of one seed are paired.
        force: Go on in spite of errors in the inputs, which become warnings.
        boxes: How the detections' boxes are written, if not ``xywh``: ``xyxy``, ``cxcywh``, or one
            of the three with ``-norm``.
        leaked: Detections labelled with a class that is unknown here (the detector was taught it)
            count as ``unknown``, or ``drop`` them.
        unknown_label: Label, or category id, with which the detections say "unknown".
        unknownness: Where unknownness comes from: a scorer that needs no fit (it reads logits), or
            a column of the file; by default it is as the file has it.
        minimum_score: Detections with a lower score are left out before anything else.
        drop_invalid: Leave broken records out (not finite, of negative size, single scores outside
            0..1), which are errors otherwise; what is dropped is counted and named. More than half
            are not dropped.
        image_list: The benchmark's list of its images, one a line, for protocols that count an
            image as often as it is listed, unless the ground truth states it.

    >>> Settings(seed=-1)
    Traceback (most recent call last):
    ...
    openset.findings.UsageError: a seed is 0 or more, not -1
    """

    known: Vocabulary | str | Path | Sequence[str] | None = None
    protocol: Protocol | str = "default"
    metrics: Sequence[str] | None = None
    intervals: bool = True
    seed: int = 0
    force: bool = False
    boxes: str = "xywh"
    leaked: Leaked = "unknown"
    unknown_label: str | int | None = None
    unknownness: str | None = None
    minimum_score: float | None = None
    drop_invalid: bool = False
    image_list: str | Path | None = None

    def __post_init__(self) -> None:
        from openset.tables.boxes import CONVENTIONS
        from openset.tables.join import Leaked

        check_options("an evaluation", vars(self), Settings.__init__)
        if self.seed < 0:
            raise UsageError(f"a seed is 0 or more, not {self.seed}")
        if self.minimum_score is not None and not math.isfinite(self.minimum_score):
            raise UsageError(f"minimum_score={self.minimum_score} is no number")
        lookup(dict.fromkeys(CONVENTIONS), self.boxes, "box convention")
        lookup(dict.fromkeys(get_args(Leaked)), self.leaked, "value of leaked")

    @classmethod
    def of(cls, settings: Self | None, options: Mapping[str, Any]) -> Self:
        """Settings with some options changed; a misspelt option gets a suggestion.

        >>> Settings.of(Settings(seed=3), {"force": True}).seed
        3
        >>> Settings.of(None, {"protocl": "owod"})
        Traceback (most recent call last):
        ...
        openset.findings.UsageError: unknown option 'protocl'. Did you mean 'protocol'? ...
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
        from openset.metrics import table

        found = table()
        names = found if self.metrics is None else self.metrics
        return tuple(lookup(found, name, "metric") for name in names)

    @property
    def resamples(self) -> int:
        """How many resamples there are: none without intervals."""
        from openset.resampling.draws import RESAMPLES

        return RESAMPLES if self.intervals else 0

    def resolve(self) -> Self:
        """Refuse misspelt names now, before there is anything to wait for."""
        self.rules, self.measured  # noqa: B018 - kept for later
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
