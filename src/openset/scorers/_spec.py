"""What a scorer is: how unknown a detection looks, and what is known about the way to tell.

Two shapes, one record. A function of `Evidence` needs no fit. A frozen dataclass of arrays is what
a scorer has learned, with a class method `fit` and a method `score`. Either is tagged by
`@scorer(...)`, which says what it reads, what it fits on, and whether it sees unknown objects.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, Literal, Protocol, TypeVar, overload

import numpy as np

from openset.findings import Finding, Level, UsageError, refuse
from openset.options import chosen_options, options_of
from openset.plugins import tag
from openset.scorers import ledger
from openset.scorers._evidence import Column, gather
from openset.scorers._fitted import Fitted, Learned, Unknownness, widths_of
from openset.tables import Detections, Head
from openset.tables.vocabulary import is_unknown_spelling

FitsOn = Literal["nothing", "known training detections", "known and unknown detections"]
Family = Literal["output", "features", "output and features", "latent space"]
TRAINING: FitsOn = "known training detections"
TOLD: FitsOn = "known and unknown detections"
S = TypeVar("S")
Compute = Callable[..., Unknownness]


@dataclass(frozen=True, slots=True)
class Scorer:
    """What is known about a scorer beside its numbers.

    Attributes:
        name: How it is asked for.
        function: From evidence and options to unknownness; unused where there is a state.
        state: What it learns, for a scorer that fits.
        title: How it is shown.
        paper: Where it was defined.
        requires: Columns it reads to score; it gets no other.
        fit_requires: Columns it reads to fit, beside these.
        fits_on: What it must be fitted on.
        uses_unknown: Whether unknown objects take part in the fit.
        rowwise: Whether a detection's unknownness depends on that detection alone.
        rectified: Whether it was published for activations after a ReLU, which are not negative.
        options: Names and defaults of its options.
        doc: Definition and options.
    """

    name: str
    function: Compute
    state: type[Learned] | None
    title: str
    paper: str
    requires: tuple[Column, ...]
    fit_requires: tuple[Column, ...]
    fits_on: FitsOn
    uses_unknown: bool
    rowwise: bool
    rectified: bool
    options: Mapping[str, Any]
    doc: str

    def __reduce__(self) -> tuple[Callable[[str], Scorer], tuple[str]]:
        """By its name: another process has the same scorers."""
        from openset.scorers import find

        return find, (self.name,)

    @property
    def summary(self) -> str:
        """The first line of the definition."""
        return self.doc.partition("\n")[0]

    @property
    def family(self) -> Family:
        """What it looks at, in the families by which FMIYC averages methods."""
        if {"latent", "latent_samples"} & {*self.requires}:
            return "latent space"
        if "embedding" in self.requires:
            return "output and features" if "head" in self.requires else "features"
        return "output"

    def fit(
        self,
        detections: Detections | None = None,
        *,
        head: Head | None = None,
        force: bool = False,
        **options: Any,
    ) -> Fitted:
        """Make the scorer ready to score.

        Args:
            detections: Known training detections, for a scorer that fits on them.
            head: The detector's last layer, for a scorer that reads it, where the detections do
                not carry it.
            force: Fit even on test data or unknown objects; the ledger says so.
            **options: Options of the scorer.

        Raises:
            InputError: Evidence is missing or not finite, there is too little of it, or it is of
                the test set.
        """
        chosen = self._chosen(options)
        if self.fits_on == "nothing":
            return self._unfitted(head, chosen)
        none = refuse(
            "OS504",
            f"scorer {self.name!r} fits on {self.fits_on}; there are none",
            fix=f"openset score DETECTIONS --scorers {self.name} --fit TRAINING -o FOLDER fits it; "
            "evaluate what that writes",
        )
        if detections is None:
            raise none
        leaks = ledger.check_fit(  # of nothing left, too: it is the wrong file all the same
            f"scorer {self.name!r}", detections, uses_unknown=self.uses_unknown, force=force
        )
        if not len(detections):
            raise none
        leaks = (*leaks, ledger.TOLD) if self.uses_unknown else leaks
        columns = (*self.requires, *self.fit_requires)
        evidence = gather(self.name, detections, columns, head)
        assert self.state is not None
        images = np.unique(detections.image)
        split, used = ledger.split_of(detections), self.uses_unknown
        entry = ledger.LedgerEntry(
            "fit", self.name, split, len(images), len(detections), used, chosen, leaks
        )
        return Fitted(
            self,
            chosen,
            widths_of(evidence),
            entry,
            images,
            self.state.fit(evidence, **chosen),
            evidence.linear,
            (
                *self._untaught(detections),
                *self._undetermined(detections),
                *self._negative(detections),
            ),
        )

    def compute(self, detections: Detections, /, **options: Any) -> Unknownness:
        """Unknownness at once, from a scorer that has nothing to fit."""
        return self.fit(**options).score(detections)

    def _unfitted(self, head: Head | None, chosen: Mapping[str, Any]) -> Fitted:
        linear = head if "head" in self.requires else None
        entry = ledger.LedgerEntry("fit", self.name, "nothing", 0, 0, False, chosen)
        return Fitted(self, chosen, {}, entry, np.empty(0, np.int64), None, linear)

    def _chosen(self, options: Mapping[str, Any]) -> dict[str, Any]:
        makes = self.function if self.state is None else self.state.fit
        return chosen_options(f"scorer {self.name!r}", options, self.options, makes)

    def _untaught(self, detections: Detections) -> tuple[Finding, ...]:
        if "label" not in self.fit_requires:
            return ()
        there, names = set(np.unique(detections.label).tolist()), enumerate(detections.labels)
        absent = [n for i, n in names if i not in there and not is_unknown_spelling(n)]
        if not absent:
            return ()
        message = f"{len(absent)} classes have no training detection: {', '.join(absent[:5])}"
        return (Finding("OS508", Level.WARNING, message, len(absent), absent[0]),)

    def _undetermined(self, detections: Detections) -> tuple[Finding, ...]:
        """What is fitted on labels and embeddings has a covariance."""
        embedding = detections.embedding
        if (
            embedding is None
            or "embedding" not in self.requires
            or "label" not in self.fit_requires
        ):
            return ()
        width, count = int((np.ptp(embedding, axis=0) > 0).sum()), len(detections)
        if count > width:
            return ()
        message = f"{count} training detections, whose embeddings vary in {width} dimensions"
        return (Finding("OS512", Level.WARNING, message, count),)

    def _negative(self, detections: Detections) -> tuple[Finding, ...]:
        if not self.rectified or not has_negative(detections):
            return ()
        message = f"scorer {self.name!r} was made for activations after a ReLU; some are negative"
        return (Finding("OS509", Level.WARNING, message, len(detections)),)


def has_negative(detections: Detections) -> bool:
    """Whether some activation is negative: the embedding is not the output of a ReLU."""
    return detections.embedding is not None and bool((detections.embedding < 0).any())


class Marker(Protocol):
    """What `scorer` returns: it leaves a class as it is, and makes a function take detections."""

    @overload
    def __call__(self, target: type[S]) -> type[S]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, target: Compute) -> Compute: ...


def scorer(
    name: str,
    *,
    title: str = "",
    paper: str = "",
    requires: tuple[Column, ...] = ("logits",),
    fit_requires: tuple[Column, ...] = (),
    fits_on: FitsOn = "nothing",
    uses_unknown: bool = False,
    rowwise: bool = True,
    rectified: bool = False,
) -> Marker:
    """Make a function of evidence, or a dataclass that fits, a scorer under a name.

    A tagged function takes detections, and gets the evidence that it declares.
    """

    def mark(target: Any) -> Any:
        state = target if isinstance(target, type) else None
        if (state is None) != (fits_on == "nothing"):
            raise UsageError(f"scorer {name!r}: a class fits on something, a function on nothing")
        record = Scorer(
            name,
            target,
            state,
            title or name.replace("_", " "),
            paper,
            requires,
            fit_requires,
            fits_on,
            uses_unknown,
            rowwise,
            rectified,
            options_of(target if state is None else target.fit, after=1),
            inspect.cleandoc(target.__doc__ or ""),
        )
        return tag("scorer", record)(target if state is not None else _direct(record, target))

    return mark


def _direct(record: Scorer, function: Compute) -> Compute:
    @wraps(function)
    def called(detections: Detections, /, **options: Any) -> Unknownness:
        return record.compute(detections, **options)

    return called
