"""FiftyOne: what became of every object and detection, as attributes to browse by in its app.

At the operating point of `openset.diagnosis.deployed` a detection is one of `WORDS`, an object one
of `openset.diagnosis.outcomes.FATES`. Detections of known classes also get their error type
(`openset.diagnosis.errors`), all get their unknownness, and samples the number of mistakes on them.

`to_fiftyone` writes into the data set that a run was made from; `as_fiftyone` makes a data set of
any run and a folder of images. The way in is `openset.formats.objects.fiftyone`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openset.findings import UsageError
from openset.formats.imagesize import image_size
from openset.formats.objects.fiftyone import FIELDS, ROW
from openset.integrations._spec import integration
from openset.tables.boxes import sizes
from openset.tables.join import join_images
from openset.tables.names import named

if TYPE_CHECKING:
    from openset.evaluation.run import Run
    from openset.tables import Annotations, Detections

WORDS = {
    "known": "known, right",
    "unknown": "unknown, found",
    "confused": "confused",
    "false": "on nothing",
    "": "not shown",
}
_MISTAKES = {"confused", "on nothing", "missed", "called another class"}
NAME = "openset"
_Told = dict[str, str | float]  # attributes of a box


@integration(
    "fiftyone",
    requires=("fiftyone",),
    summary="Outcome, error type and unknownness of every box, to browse by in its app.",
)
def to_fiftyone(
    run: Run,
    dataset: Any,
    *,
    model: str | None = None,
    fields: tuple[str, str] = (FIELDS["annotations"], FIELDS["detections"]),
    name: str = NAME,
) -> None:
    """Write what a detector of a run did into the data set that the run was made from.

    Args:
        run: What `openset.evaluation.run.evaluate_all` made of the data set.
        dataset: The data set, or a view.
        model: Which detector, the first by default.
        fields: The field with the ground truth, and the one with the detections.
        name: The attribute to write; ``<name>_error``, ``<name>_unknownness`` and, of a sample,
            ``<name>_mistakes`` go with it.
    """
    wanted = model or run.names[0]
    made = _outcomes(run, wanted)
    objects, boxes = (_by_id(table) for table in (run.truth, run.detections[wanted]))
    for sample in dataset.iter_samples():
        told = [
            (one, made.of_object(objects.get(str(one.id)), name))
            for one in _held(sample, fields[0])
        ]
        told += [
            (one, made.of_box(boxes.get(str(one.id)), name)) for one in _held(sample, fields[1])
        ]
        sample[f"{name}_mistakes"] = sum(_write(one, said) for one, said in told)
        sample.save()
    _offer(dataset)


def as_fiftyone(
    run: Run, images: str | Path | Sequence[str | Path], *, dataset: str | None = None
) -> Any:
    """A new data set of FiftyOne with the ground truth of a run and what its detectors said.

    Args:
        run: A run, as `evaluate_all` or `Run.load` gives it.
        images: The folder that file names are relative to, or several.
        dataset: What to call it; by default FiftyOne chooses.

    Returns:
        A ``fiftyone.Dataset``: objects in ``ground_truth``, detections in a field per detector.
        What became of an object is ``openset``, or ``openset_<field>`` where there are several.
    """
    import fiftyone

    from openset.nets.pictures import ImageFiles

    paths = ImageFiles.of_annotations(run.truth, images).path
    samples = [fiftyone.Sample(filepath=str(path.resolve())) for path in paths]
    made = {_field(name): (_outcomes(run, name), run.detections[name]) for name in run.names}
    said = {field: f"{NAME}_{field}" if len(made) > 1 else NAME for field in made}

    def of_object(row: int) -> _Told:
        each = (one.of_object(row, said[field]) for field, (one, _) in made.items())
        return {key: value for told in each for key, value in told.items()}

    _fill(samples, FIELDS["annotations"], _objects(run.truth, paths), of_object)
    for field, (outcomes, found) in made.items():
        boxes = _boxes(found, run.truth, paths)
        _fill(samples, field, boxes, partial(outcomes.of_box, name=NAME))
    done = fiftyone.Dataset(dataset)
    done.add_samples(samples)
    _offer(done)
    return done


@dataclass(frozen=True)
class _Outcomes:
    """What a detector did, by row of the ground truth and of its detections.

    Attributes:
        fate: What became of an object.
        kind: What a detection is.
        error: The error type of a detection that is called a known class.
        unknownness: That of every detection, if there is any.
    """

    fate: Mapping[int, str]
    kind: Mapping[int, str]
    error: Mapping[int, str]
    unknownness: NDArray[np.float64] | None

    def of_object(self, row: int | None, name: str) -> _Told:
        return {name: WORDS[""] if row is None else self.fate.get(row, WORDS[""])}

    def of_box(self, row: int | None, name: str) -> _Told:
        if row is None:
            return {name: WORDS[""]}
        told: _Told = {name: self.kind.get(row, WORDS[""])}
        if row in self.error:
            told[f"{name}_error"] = self.error[row]
        if self.unknownness is not None:
            told[f"{name}_unknownness"] = float(self.unknownness[row])
        return told


def _outcomes(run: Run, name: str) -> _Outcomes:
    from openset.diagnosis.deployed import deployed
    from openset.diagnosis.errors import types_of_boxes
    from openset.diagnosis.outcomes import fates_of, kinds_of_boxes

    one = next((one for one in deployed(run) if one.name == name), None)
    if one is None:
        raise UsageError(f"the run has no detector {name!r}, but {', '.join(run.names)}")
    matches = one.matches
    kinds = kinds_of_boxes(matches, one.called, one.targets)
    fates = fates_of(matches, one.called, one.targets)
    shown = one.called.known & (kinds != "")
    rows, types = matches.row[shown].tolist(), types_of_boxes(matches)[shown].tolist()
    return _Outcomes(
        fate=dict(zip(matches.objects.row.tolist(), fates.tolist(), strict=True)),
        kind={row: WORDS[kind] for row, kind in zip(matches.row.tolist(), kinds, strict=True)},
        error=dict(zip(rows, types, strict=True)),
        unknownness=one.detections.unknownness,
    )


def _by_id(table: Annotations | Detections) -> dict[str, int]:
    """The row of every box, by FiftyOne's id of it."""
    if ROW not in table.attributes:
        raise UsageError("the run was not made from a FiftyOne data set: as_fiftyone makes one")
    return {one: row for row, one in enumerate(table.attributes[ROW].tolist())}


def _held(sample: Any, field: str) -> list[Any]:
    labels = sample[field]
    return [] if labels is None else list(labels.detections)


def _write(one: Any, told: _Told) -> int:
    """Write attributes of a box; how many of them are a mistake."""
    for name, value in told.items():
        one[name] = value
    return sum(value in _MISTAKES for value in told.values())


def _offer(dataset: Any) -> None:
    """Let the app offer the attributes."""
    if hasattr(dataset, "add_dynamic_sample_fields"):
        dataset.add_dynamic_sample_fields()


def _field(model: str) -> str:
    """A field for a detector: FiftyOne takes letters, digits and underscores."""
    plain = re.sub(r"\W+", "_", model, flags=re.ASCII).strip("_")
    return plain if plain and not plain[0].isdigit() else f"model_{plain}"


_Row = tuple[int, int, dict[str, Any]]  # of the sample, of the table, and the label


def _objects(truth: Annotations, paths: Sequence[Path]) -> Iterator[_Row]:
    yield from _labels(truth.image, np.array(truth.labels)[truth.label], truth.box, truth, paths)


def _boxes(found: Detections, truth: Annotations, paths: Sequence[Path]) -> Iterator[_Row]:
    names, label = named(found, truth)
    image = join_images(truth, found.image)
    rows = _labels(image, np.array(names)[label], found.box, truth, paths)
    yield from ((at, row, {**one, "confidence": float(found.score[row])}) for at, row, one in rows)


def _labels(
    image: NDArray[Any],
    label: NDArray[Any],
    box: NDArray[np.float64],
    truth: Annotations,
    paths: Sequence[Path],
) -> Iterator[_Row]:
    """What FiftyOne says of every box on an image: its name, and shares of the image."""
    size = sizes(truth, np.arange(len(paths), dtype=np.int32))
    for at in np.flatnonzero(np.isnan(size).any(axis=1)).tolist():
        size[at] = image_size(paths[at]) or (np.nan, np.nan)
    for row in np.flatnonzero(image >= 0).tolist():
        at = int(image[row])
        share = (box[row] / np.tile(size[at], 2)).tolist()
        yield at, row, {"label": str(label[row]), "bounding_box": share}


def _fill(
    samples: Sequence[Any], field: str, rows: Iterable[_Row], tell: Callable[[int], _Told]
) -> None:
    """Put labels into a field of their samples, with what is told of them."""
    import fiftyone

    held: list[list[Any]] = [[] for _ in samples]
    mistakes = [0] * len(samples)
    for at, row, said in rows:
        one = fiftyone.Detection(**said)
        mistakes[at] += _write(one, tell(row))
        held[at].append(one)
    before = f"{NAME}_mistakes"
    for sample, boxes, more in zip(samples, held, mistakes, strict=True):
        sample[field] = fiftyone.Detections(detections=boxes)
        sample[before] = more + (sample[before] if sample.has_field(before) else 0)
