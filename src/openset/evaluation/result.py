"""Evaluation: the numbers of one detector on one benchmark, and where they come from.

Immutable. Holds the matches it was computed from, so that a metric can be asked for with other
parameters; a result read back from JSON has the stored numbers only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from openset.evaluation.leaks import said_first
from openset.evaluation.provenance import Provenance
from openset.findings import Finding, InputError, UsageError, refuse
from openset.json_text import plain
from openset.matching import Matches
from openset.metrics import ByClass, Left, Metric, Value, named, table
from openset.plugins import lookup

if TYPE_CHECKING:
    import polars

    from openset.evaluation.scoreboard import Scoreboard

SCHEMA = "openset.evaluation/1"
# What a document raises that is not one of ours: values missing, of another kind, or too large.
_AMISS = (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All numbers of one detector on one benchmark.

    Attributes:
        values: Metric name → value.
        describe: Makes the provenance, when it is first asked for.
        findings: Warnings and notes about the inputs.
        replicates: Metric name → its number in every resample (empty without intervals).
        matches: What they were computed from; None for a result read from a file.
    """

    schema: ClassVar[str] = SCHEMA
    values: Mapping[str, Value]
    describe: Callable[[], Provenance]
    findings: tuple[Finding, ...] = ()
    replicates: Mapping[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)
    matches: Matches | None = field(default=None, repr=False, compare=False)

    @cached_property
    def provenance(self) -> Provenance:
        """Where the numbers come from: protocol, vocabulary, inputs, seed."""
        return self.describe()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What is known about every metric, by name, and of those at levels that are here."""
        known = table()
        levels = [name for name in self.values if "@" in name and name.split("@")[0] in known]
        return {**known, **{name: named(known, name) for name in levels}} if levels else known

    @property
    def source(self) -> Any:
        """What metrics are computed from; None for a result read from a file."""
        return self.matches

    @property
    def size(self) -> int:
        """How many things resamples are drawn from: groups, or else images."""
        counts = self.provenance.counts
        return int(counts.get("groups", counts["images"]))

    @property
    def drawn(self) -> str:
        """What these things are called."""
        return "groups" if self.provenance.groups_hash else "images"

    def value(self, name: str, **params: Any) -> Value:
        """The value of a metric, at the protocol's parameters or at given ones.

        Args:
            name: Name of the metric; a misspelt one gets a suggestion.
            params: Parameters of the metric, such as ``recall=0.5``; see its documentation.
        """
        if not params and name in self.values:
            return self.values[name]
        metric = lookup(self.metrics, name, "metric")
        if self.source is None:
            asked = ", ".join(f"{key}={value!r}" for key, value in params.items())
            raise UsageError(f"this result was read from a file and does not hold {name}({asked})")
        try:
            return metric.compute(self.source, **params)
        except TypeError as error:
            if "keyword argument" not in str(error):
                raise
            raise UsageError(f"metric {name!r}: {error}") from error

    def flat(self, prefix: str = "") -> dict[str, float]:
        """Numbers only, for experiment trackers; metrics without a number are left out."""
        pairs = self.values.items()
        return {prefix + name: float(v.value) for name, v in pairs if v.value is not None}

    def board(self, *, headline: bool = False) -> Scoreboard:
        """The numbers as a scoreboard of one model, which every table is a rendering of."""
        from openset.evaluation.scoreboard import Scoreboard  # imported when something is shown

        return Scoreboard.of({"value": self}, headline=headline)

    def __repr__(self) -> str:
        leaks = said_first({"the detector": self})
        return "\n".join([*leaks, self.headline(), "", self.board(headline=True).text()])

    def headline(self) -> str:
        """One line: the protocol and what was evaluated."""
        p, n = self.provenance, self.provenance.counts
        deviates = (
            f" with {len(p.deviations)} deviation{'s' * (len(p.deviations) > 1)}"
            if p.deviations
            else ""
        )
        parts = [
            f"protocol {p.protocol}{deviates}",
            f"{n['images']} images",
            f"{n['known_objects']} known and {n['unknown_objects']} unknown objects",
            f"{n['detections']} detections",
        ]
        if p.resamples:
            parts.append(f"{p.resamples} {'' if p.resampled else 'image '}resamples")
        if p.resamples and p.resampled:
            parts.append(p.resampled)
        return " · ".join(parts)

    def to_markdown(self, *, headline: bool = False) -> str:
        """The numbers as a Markdown table."""
        return self.board(headline=headline).table().markdown()

    def to_latex(self, *, headline: bool = True) -> str:
        """The numbers as a LaTeX tabular (booktabs)."""
        return self.board(headline=headline).table().latex()

    def to_csv(self) -> str:
        """The numbers as comma-separated values, unrounded."""
        return self.board().csv()

    def to_frame(self) -> polars.DataFrame:
        """The numbers as a polars data frame, one row per metric."""
        import polars

        from openset.evaluation.scoreboard import COLUMNS

        kinds = [polars.String, *[polars.Float64] * 3, polars.Int64, polars.String, polars.String]
        rows = [row[1:] for row in self.board().rows()]  # without the name of the model
        return polars.DataFrame(rows, dict(zip(COLUMNS, kinds, strict=True)), orient="row")

    def document(self, *, replicates: bool = False) -> dict[str, Any]:
        """The result as `to_json` writes it: mappings, lists, text and numbers."""
        document = {
            "schema": self.schema,
            "provenance": plain(asdict(self.provenance)),
            "values": {n: _value_fields(v, resamples=replicates) for n, v in self.values.items()},
            "findings": [plain(asdict(finding)) for finding in self.findings],
        }
        if replicates:
            document["replicates"] = {n: plain(v.tolist()) for n, v in self.replicates.items()}
        return document

    def to_json(self, path: str | Path | None = None, *, replicates: bool = False) -> str:
        """The result as JSON of a versioned schema; written to `path` if one is given.

        Args:
            path: Where to write; the file appears whole or not at all.
            replicates: Also keep every resample, which `compare` needs.
        """
        import json

        text = json.dumps(self.document(replicates=replicates), indent=1, allow_nan=False)
        if path is not None:
            from openset.files import replacing

            with replacing(Path(path), folder=False) as target:
                target.write_text(text + "\n", "utf-8")
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read a result back: from a file, or from the text itself."""
        import json

        from openset.files import note_read

        text = source if isinstance(source, str) and source.lstrip().startswith("{") else None
        try:
            if text is None:
                text = Path(source).read_text("utf-8")
                note_read(Path(source))
            document = json.loads(text)
            if document.get("schema") != cls.schema:
                raise refuse(
                    "OS114", f"not a result of schema {cls.schema}: {document.get('schema')!r}"
                )
            return cls._from_document(document)
        except InputError:
            raise
        except FileNotFoundError as error:
            raise refuse("OS101", f"no such file: {source}") from error
        except (OSError, *_AMISS) as error:
            raise refuse(
                "OS114", f"cannot read the result {str(source)[:80]!r}: {error}"
            ) from error

    @classmethod
    def _from_document(cls, document: dict[str, Any]) -> Self:
        values = {}
        for name, stored in document["values"].items():
            ends_, held = stored.pop("interval"), stored.pop("by_class", None)
            ends, by_class = tuple(ends_) if ends_ else None, held and ByClass.read(held)
            left = tuple(Left(**one) for one in stored.pop("left_out", ()))
            values[name] = Value(**stored, interval=ends, by_class=by_class, left_out=left)
        findings = map(Finding.of, document["findings"])
        replicates = {
            name: np.array([np.nan if x is None else x for x in numbers])
            for name, numbers in document.get("replicates", {}).items()
        }
        provenance = Provenance(**document["provenance"])
        return cls(values, lambda: provenance, tuple(findings), replicates)


def _value_fields(value: Value, *, resamples: bool) -> dict[str, Any]:
    held = {item.name: getattr(value, item.name) for item in fields(value)}
    held["left_out"] = [asdict(left) for left in value.left_out]
    if value.by_class is not None:
        held["by_class"] = value.by_class.document(resamples=resamples)
    return {name: plain(field) for name, field in held.items()}
