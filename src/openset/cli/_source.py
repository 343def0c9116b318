"""Source: which model `openset run` runs, and what it calls its classes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.detectors import Model
    from openset.tables import Annotations

Labels = tuple[str, ...] | None


def labels_of(source: Source, known: list[str] | None, truth: Annotations | None) -> Labels:
    """Labels for a detector: as given, as its own file names them, or as the truth has them."""
    from openset.cli._inputs import known_labels
    from openset.detectors import onnx, transformers
    from openset.tables import Vocabulary
    from openset.training.data import taught

    if known is not None:
        return Vocabulary.of(known_labels(known), truth).known
    model, weights = source.model, source.weights
    named = onnx.names_in(Path(model)) if model.endswith(".onnx") else None
    if weights is not None and weights.is_dir():
        named = transformers.names_in(weights)
    return named if named or truth is None else taught(truth)


def refuse_other_labels(model: str, own: Sequence[str], given: Sequence[str]) -> None:
    """Refuse labels that a model which says its own does not have: they would change nothing."""
    from openset.wording import some

    if set(own) != set(given):
        raise UsageError(
            f"{model} has {len(own)} labels of its own ({some(own, 3)}), and --known names "
            f"{len(given)} ({some(given, 3)}): leave --known out"
        )


@dataclass(frozen=True)
class Source:
    """Where a model comes from: what was typed, so that other processes can make it, too.

    Attributes:
        model: A folder, a file, or the name of a detector.
        weights: A file of weights for a name.
        labels: What it calls its classes, if it does not say so itself.
        device: Where it runs.
        options: Options of the detector, as JSON.
    """

    model: str
    weights: Path | None
    labels: Labels
    device: str | None
    options: str

    def __call__(self) -> Model:
        """The model."""
        from openset.cli._inputs import trained_model
        from openset.detectors import find, load
        from openset.nets.processes import own_device

        model, weights, labels = self.model, self.weights, self.labels
        options: dict[str, Any] = json.loads(self.options)
        path, place = Path(model), own_device(self.device)
        if path.suffix == ".onnx":
            record, options = find("yolo_onnx"), {**options, "file": model}
        elif path.is_dir() or path.suffix:
            if weights is not None:
                raise UsageError(f"--weights belongs to a detector by name; {model} has its own")
            return load(str(trained_model(path)), device=place, **options)
        else:
            record = find(model)
            if not record.learned:
                return record.build(labels or (model,), device=place, **options)
            options = _weighted(model, "folder" in record.options, weights, options)
        if labels is None:
            raise UsageError(
                f"--known says what {model} calls its classes, in its order: coco80 for most "
                "models of COCO, a file, or a,b,c"
            )
        file = str(weights) if weights is not None and "folder" not in options else None
        return record.build(labels, weights=file, device=place, **options)


def _weighted(
    name: str, has_folder: bool, weights: Path | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Options with the folder of a model of transformers; without weights they would be random."""
    if weights is None and not options.get("folder"):
        raise UsageError(f"--weights gives {name} its weights; without them it would guess")
    return {**options, "folder": str(weights)} if weights and has_folder else options
