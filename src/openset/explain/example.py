"""Examples: a sketch, what happens in it, and the numbers that follow.

The numbers stand in the texts, where a reader finds them, and `Example.compute` derives them again
from the sketch with the function that is explained: a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from openset.explain.sketch import Sketch
from openset.plugins import lookup

TIDE = "tide"
TYPES = "errors"


@dataclass(frozen=True, slots=True)
class Result:
    """One number of an example.

    Attributes:
        value: The number, to four decimals; None where there is none.
        function: Name of a metric, or ``errors`` or ``tide`` for a number of a diagnosis.
        part: Which number of the diagnosis, such as ``localisation``.
        protocol: Preset under which it is computed.
        options: Options of the metric.
    """

    value: float | None
    function: str
    part: str = ""
    protocol: str = "default"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        call = f"{self.function}({options})" if options else self.function
        call += f"[{self.part}]" if self.part else ""
        call += f" under {self.protocol}" if self.protocol != "default" else ""
        return f"{call} = {'no value' if self.value is None else f'{self.value:.4g}'}"


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example.

    Attributes:
        sketch: What there is, and what the detector says.
        text: How the number comes about.
        results: The numbers, the one that is explained first.
    """

    sketch: Sketch
    text: str
    results: tuple[Result, ...]

    def compute(self) -> list[float | None]:
        """The numbers again, from the sketch."""
        return [_computed(self.sketch, result) for result in self.results]

    def to_json(self) -> dict[str, Any]:
        """As a plain dictionary."""
        return {
            "about": self.sketch.about,
            "images": self.sketch.lines(),
            "text": self.text,
            "results": [
                {"call": str(r).partition(" = ")[0], "value": r.value} for r in self.results
            ],
        }


def _computed(sketch: Sketch, result: Result) -> float | None:
    if result.function == TIDE:
        return _tide(sketch)[result.part]
    matches = sketch.matches(result.protocol)
    if result.function == TYPES:
        from openset.diagnosis.errors import errors

        return errors(matches, **result.options).totals[result.part]
    from openset.metrics import table

    value = lookup(table(), result.function, "metric").compute(matches, **result.options).value
    return None if value is None else float(value)


def _tide(sketch: Sketch) -> dict[str, float]:
    """Counts of the kinds of error and of the split of Cls, and the costs of the special ones."""
    from openset.diagnosis.tide import tide

    run = tide(*sketch.tables())
    return {**run.counts, **run.split, **run.special}
