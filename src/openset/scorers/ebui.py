"""EBUI: ORE's energy-based identifier, which is fitted on the labels of unknown objects.

Joseph et al., Towards Open World Object Detection, CVPR 2021. Energies of known and of unknown
validation objects follow a Weibull distribution each; a detection is called what its energy is
likelier under, and one that the detector itself calls unknown is dropped if that is known. With it
ORE* (`openset.methods.ore`) is ORE. Whoever has the labels of unknown objects has no open set: both
papers that evaluate it say so (Hosoya et al.; Zhao et al., RE-OWOD), and so does the ledger.

Energies are of the detections of a detector that is done, on objects they overlap; the published
code logs them while it trains on, and counts background that it called unknown. One temperature for
fit and test; the code has 1.5 and 1 (`fit_temperature=1.5`). Probabilities are exact, not sums of a
hundred densities, and the fits do not depend on where energies lie.

Not the scorer ``energy``, which is fitted on nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from openset.findings import Finding, UsageError, refuse
from openset.scorers import ledger
from openset.scorers._evidence import Evidence
from openset.scorers._fitted import Fitted, Unknownness
from openset.scorers._logits import logits_of
from openset.scorers._spec import TOLD, scorer
from openset.scorers.rule import decided
from openset.scorers.threshold import relabel
from openset.tables import Detections
from openset.tables.logits import free_energy

Array = NDArray[np.float64]
LEAST = 50  # detections of a kind
EVEN = 0.5  # where known and unknown are as likely
_NEAR = 0.5  # energies within which a detection's own is taken to lie
_TINY = 1e-300  # where neither is likely at all
_GAPS = (1e-2, 20.0)  # least and largest distance of a shift below the data, in deviations
_SHAPES = (1e-2, 1e3)
_HALVINGS = 40


@scorer(
    "ebui",
    title="EBUI",
    paper="Joseph et al., Towards Open World Object Detection, CVPR 2021",
    requires=("logits",),
    fit_requires=("of_unknown",),
    fits_on=TOLD,
    uses_unknown=True,
)
@dataclass(frozen=True, eq=False)
class EBUI:
    """How much likelier an energy is among unknown objects than among known ones.

    The share ``p_unknown / (p_unknown + p_known)`` of the probabilities that two Weibull
    distributions give to energies near that of the detection, ``T log sum exp(logit / T)`` of the
    known classes. ``openset score --rule ebui`` decides. Fitted on labels of unknown objects: a
    leak, which the ledger says.

    Args:
        temperature: T.
        fit_temperature: T of the fit, if it is another; 1.5 in the published code.
    """

    known: Array
    unknown: Array
    temperature: float

    @classmethod
    def fit(
        cls, evidence: Evidence, *, temperature: float = 1.0, fit_temperature: float | None = None
    ) -> EBUI:
        """Both distributions; refused on fewer than 50 detections of a kind."""
        told = evidence["of_unknown"].astype(bool)
        energy = _energy(evidence, temperature if fit_temperature is None else fit_temperature)
        few = {"known": int((~told).sum()), "unknown": int(told.sum())}
        short = [f"{count} of {kind} objects" for kind, count in few.items() if count < LEAST]
        if short:
            message = f"of {len(told)} detections only {' and '.join(short)}"
            raise refuse("OS675", message, count=min(few.values()), example=f"at least {LEAST}")
        return cls(weibull(energy[~told]), weibull(energy[told]), temperature)

    def score(self, evidence: Evidence) -> Unknownness:
        """The share of the unknown."""
        energy = _energy(evidence, self.temperature)
        known, unknown = (near(energy, fit) + _TINY for fit in (self.known, self.unknown))
        return unknown / (unknown + known)


def _energy(evidence: Evidence, temperature: float) -> Array:
    return -free_energy(logits_of(evidence, "drop"), "softmax", temperature)


def near(energy: Array, fit: Array) -> Array:
    """The probability of energies within a half of each."""
    low, high = (_below(energy + side, fit) for side in (-_NEAR, _NEAR))
    return np.maximum(high - low, 0.0)


def _below(energy: Array, fit: Array) -> Array:
    """The share of a Weibull distribution below each energy."""
    shape, scale, shift = fit
    reached = np.maximum(energy - shift, 0.0) / scale
    with np.errstate(over="ignore"):
        return -np.expm1(-(reached**shape))


def weibull(values: Array) -> Array:
    """Shape, scale and shift of the likeliest Weibull distribution.

    For each shift the others have one best value; the shift is sought by its distance below the
    least value, so that moving all values moves the shift alone.

    >>> chance = np.random.default_rng(0)
    >>> weibull(7 + 3 * chance.weibull(2.0, 20_000)).round(1).tolist()
    [2.0, 3.0, 7.0]
    """
    low = float(values.min())
    above = values - low
    spread = max(float(above.std()), 1e-6)

    def unlikely(exponent: float) -> float:
        return _fixed(above + spread * np.exp(exponent))[2]

    least, most = np.log(_GAPS).tolist()
    tried = np.linspace(least, most, 40)
    best = int(np.argmin([unlikely(one) for one in tried]))
    left, right = tried[max(0, best - 1)], tried[min(len(tried) - 1, best + 1)]
    for _ in range(_HALVINGS):
        third = (right - left) / 3
        if unlikely(left + third) < unlikely(right - third):
            right -= third
        else:
            left += third
    gap = spread * float(np.exp((left + right) / 2))
    shape, scale, _ = _fixed(above + gap)
    return np.array([shape, scale, low - gap])


def _fixed(values: Array) -> tuple[float, float, float]:
    """Shape and scale for values above a given shift, and how unlikely they are then."""
    top = float(values.max())
    log = np.log(values / top)
    mean = float(log.mean())
    low, high = np.log(_SHAPES)
    for _ in range(_HALVINGS):  # the slope of the likelihood grows with the shape
        middle = (low + high) / 2
        power = np.exp(np.exp(middle) * log)
        too_large = (power @ log) / power.sum() - np.exp(-middle) > mean
        low, high = (low, middle) if too_large else (middle, high)
    shape = float(np.exp((low + high) / 2))
    scale = float(np.exp(shape * log).mean()) ** (1 / shape)
    likely = np.log(shape / scale) + (shape - 1) * (mean - np.log(scale)) - 1 - np.log(top)
    return shape, scale * top, -float(likely)


@dataclass(frozen=True, slots=True, kw_only=True)
class EbuiRule:
    """EBUI decides: known stays known, unknown stays unknown, where both agree or it says so.

    Attributes:
        fitted: The scorer, with both distributions.
    """

    kind: ClassVar[str] = "ebui"

    fitted: Fitted

    def __str__(self) -> str:
        return f"temperature {self.temperature:g}"

    @property
    def temperature(self) -> float:
        """That of the energies it judges."""
        return cast(EBUI, self.fitted.state).temperature

    @property
    def file_name(self) -> str:
        """What its file is called."""
        return self.kind

    @property
    def swept(self) -> Mapping[str, float]:
        """Nothing is chosen; the first is what is said."""
        return {"temperature": self.temperature}

    @property
    def options(self) -> Mapping[str, Any]:
        """All of it."""
        return dict(self.fitted.options)

    @property
    def margin(self) -> float:
        """It has one."""
        return 0.0

    def idle(self) -> EbuiRule:
        """There is no such rule with nothing unknown."""
        raise UsageError("the rule ebui is fitted, and there is nothing in it to choose")

    def findings(self, detections: Detections) -> list[Finding]:
        """Nothing that the ledger does not say."""
        del detections
        return []

    def apply(self, detections: Detections, chosen_on: Detections | None = None) -> Detections:
        """Detections called what their energy is likelier of; scores stay.

        What the detector calls unknown and EBUI known is dropped.

        Args:
            detections: Detections with logits, of a detector with a column "unknown" or without.
            chosen_on: Nothing is chosen.
        """
        scored = self.fitted.scored(detections)
        assert scored.unknownness is not None
        keep = scored.unknownness > EVEN
        own = np.zeros(len(scored), bool)
        own[ledger.unknown_rows(scored)] = True
        kept = scored.select(keep | ~own)
        assert kept.unknownness is not None
        named = relabel(kept, kept.unknownness, EVEN)
        return ledger.recorded(named, decided(self, chosen_on, detections))
