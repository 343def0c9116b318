"""FiftyOne: what became of every object and detection, as attributes to browse by in its app.

At the operating point of `openset.diagnosis.deployed` a detection is one of `WORDS`, an object one
of `openset.diagnosis.outcomes.FATES`. Detections also get their unknownness, samples the number of
mistakes on them. The way in is `openset.formats.objects.fiftyone`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openset.findings import UsageError
from openset.formats.objects.fiftyone import FIELDS, ROW
from openset.integrations._spec import integration

if TYPE_CHECKING:
    from openset.evaluation.run import Run

WORDS = {
    "known": "known, right",
    "unknown": "unknown, found",
    "confused": "confused",
    "false": "on nothing",
    "": "not shown",
}
_MISTAKES = {"confused", "on nothing", "missed", "called another class"}


@integration(
    "fiftyone",
    requires=("fiftyone",),
    summary="Outcome and unknownness of every box, to browse by in its app.",
)
def to_fiftyone(
    run: Run,
    dataset: Any,
    *,
    model: str | None = None,
    fields: tuple[str, str] = (FIELDS["annotations"], FIELDS["detections"]),
    name: str = "openset",
) -> None:
    """Write what a detector of a run did into the data set that the run was made from.

    Args:
        run: What `openset.evaluation.run.evaluate_all` made of the data set.
        dataset: The data set, or a view.
        model: Which detector, the first by default.
        fields: The field with the ground truth, and the one with the detections.
        name: The attribute to write; ``<name>_unknownness`` and ``<name>_mistakes`` go with it.
    """
    boxes, objects, strange = _outcomes(run, model or run.names[0])
    for sample in dataset.iter_samples():
        mistakes = 0
        for one, outcomes in (
            *((one, objects) for one in _held(sample, fields[0])),
            *((one, boxes) for one in _held(sample, fields[1])),
        ):
            outcome = outcomes.get(str(one.id), WORDS[""])
            mistakes += outcome in _MISTAKES
            one[name] = outcome
            if str(one.id) in strange:
                one[f"{name}_unknownness"] = strange[str(one.id)]
        sample[f"{name}_mistakes"] = mistakes
        sample.save()
    if hasattr(dataset, "add_dynamic_sample_fields"):
        dataset.add_dynamic_sample_fields()  # so that the app offers the attributes


def _held(sample: Any, field: str) -> list[Any]:
    labels = sample[field]
    return [] if labels is None else list(labels.detections)


def _outcomes(
    run: Run, name: str
) -> tuple[Mapping[str, str], Mapping[str, str], Mapping[str, float]]:
    """What became of boxes and of objects, and unknownness, by FiftyOne's ids."""
    from openset.diagnosis.deployed import deployed
    from openset.diagnosis.outcomes import fates_of, kinds_of_boxes

    one = next((one for one in deployed(run) if one.name == name), None)
    if one is None:
        raise UsageError(f"the run has no detector {name!r}, but {', '.join(run.names)}")
    if ROW not in one.detections.attributes or ROW not in run.truth.attributes:
        raise UsageError("the run was not made from a FiftyOne data set")
    matches = one.matches
    ids = one.detections.attributes[ROW]
    kinds = kinds_of_boxes(matches, one.called, one.targets)
    boxes = zip(ids[matches.row].tolist(), kinds.tolist(), strict=True)
    fates = fates_of(matches, one.called, one.targets).tolist()
    objects = zip(run.truth.attributes[ROW][matches.objects.row].tolist(), fates, strict=True)
    strange = one.detections.unknownness
    values = {} if strange is None else dict(zip(ids.tolist(), strange.tolist(), strict=True))
    return {box: WORDS[kind] for box, kind in boxes}, dict(objects), values
