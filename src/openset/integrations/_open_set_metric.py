"""OpenSetMetric: an evaluation as a ``torchmetrics.Metric``, for `integrations.torchmetrics`.

States are flat tensors of rows, which torchmetrics gathers from all processes. An image that two
processes have seen, as samplers pad with, counts once if targets have an ``image_id``. Kept apart
because a class needs its base when it is made: nothing else here imports torchmetrics.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torchmetrics import Metric

from openset.evaluation import Evaluation, evaluate
from openset.evaluation.settings import Settings
from openset.findings import UsageError
from openset.formats.loops import batch
from openset.formats.memory import BoxFormat, to_annotations, to_detections
from openset.tables import Annotations, Detections

Rows = NDArray[np.float64]
# Place and process of an image, then what a row says.
_WIDTHS = {"images": 3, "objects": 9, "found": 9}


class OpenSetMetric(Metric):
    """Known and unknown objects over a validation set.

    Args:
        box_format: How boxes are written, ``xyxy`` by default.
        settings: Options made before, which those given by name change.
        **options: What `openset.evaluate` takes, by name: ``known``, ``names``, ``metrics`` ...
    """

    full_state_update = False
    is_differentiable = False

    def __init__(
        self,
        *,
        box_format: BoxFormat | None = None,
        settings: Settings | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        # A copy, since what `resolve` looks up cannot be sent to another process.
        self.settings = replace(Settings.of(settings, {"intervals": False, **options}).resolve())
        self.box_format = box_format
        self.evaluation: Evaluation | None = None
        self._seen = 0  # never goes back: a row must not be taken for one of an earlier batch
        for name in _WIDTHS:
            self.add_state(name, default=[], dist_reduce_fx="cat")
        self.set_dtype(torch.float64)  # ids of images, and what a process without images sends

    def update(self, preds: Any, target: Any) -> None:
        """Add a batch: a prediction and a target per image, in one order."""
        given = batch(target, preds, box_format=self.box_format)
        images = len(given.truth.images)
        ids = np.full(images, np.nan) if given.ids is None else _numbers(given.ids)
        here = np.column_stack([self._seen + np.arange(images), np.full(images, _rank())])
        self._seen += images
        truth, found = given.truth, given.detections
        assert truth.category_id is not None
        flags = np.column_stack([np.asarray(truth.crowd), np.asarray(truth.difficult)])
        strange = np.nan if found.unknownness is None else found.unknownness
        scores = np.column_stack([found.score, np.broadcast_to(strange, len(found))])
        rows = {
            "images": [here, ids],
            "objects": [here[truth.image], self._classes(truth), truth.box, flags],
            "found": [here[found.image], self._said(found), found.box, scores],
        }
        for name, columns in rows.items():
            flat = torch.from_numpy(np.column_stack(columns).astype(np.float64).reshape(-1))
            getattr(self, name).append(flat.to(_exact(self.device)))

    def compute(self) -> dict[str, torch.Tensor]:
        """A number per metric over all that was seen; what has none is left out."""
        parts = {name: self._rows(name) for name in _WIDTHS}
        if not len(parts["images"]):
            raise UsageError("nothing to compute: call update() first")
        self.evaluation = evaluate(*_tables(parts, self.settings), settings=self.settings)
        flat, place = self.evaluation.flat(), _exact(self.device)
        return {
            name: torch.tensor(value, dtype=torch.float64, device=place)
            for name, value in flat.items()
        }

    def _rows(self, name: str) -> Rows:
        held = getattr(self, name)
        parts = [held] if isinstance(held, torch.Tensor) else held
        flat = [part.detach().cpu().numpy().astype(np.float64).reshape(-1) for part in parts]
        return np.concatenate([np.empty(0), *flat]).reshape(-1, _WIDTHS[name])

    def _classes(self, truth: Annotations) -> Rows:
        """Class numbers of objects; names have those that ``names=`` gives them."""
        assert truth.category_id is not None
        if truth.numbered:
            return truth.category_id[truth.label].astype(np.float64)
        return self._numbered(truth.labels)[truth.label]

    def _said(self, found: Detections) -> Rows:
        numbers = found.label.astype(np.float64)
        return self._numbered(found.labels)[found.label] if found.labels else numbers

    def _numbered(self, labels: tuple[str, ...]) -> Rows:
        numbers = {name: number for number, name in (self.settings.class_names or {}).items()}
        absent = [name for name in labels if name not in numbers]
        if absent:
            raise UsageError(f"label {absent[0]!r} has no number: names= lists all classes")
        return np.array([numbers[name] for name in labels], np.float64)


def _exact(device: torch.device) -> torch.device:
    """Where numbers of double precision are kept: Apple's GPUs have none."""
    return torch.device("cpu") if device.type == "mps" else device


def _rank() -> int:
    there = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_rank() if there else 0


def _numbers(ids: list[Any]) -> Rows:
    if not all(isinstance(one, (int, float)) for one in ids):
        raise UsageError(f"image_id must be a number to be gathered, not {ids[0]!r:.80}")
    return np.array(ids, np.float64)


def _tables(parts: dict[str, Rows], settings: Settings) -> tuple[Annotations, Detections]:
    """Rows of all processes as tables, every image once."""
    order = np.lexsort((parts["images"][:, 1], parts["images"][:, 0]))
    images = parts["images"][order]
    stated = ~np.isnan(images[:, 2])
    if stated.any() and not stated.all():
        raise UsageError("some targets have an image_id and others have none")
    ids = images[:, 2].astype(np.int64) if stated.all() else np.arange(len(images))
    first = np.sort(np.unique(ids, return_index=True)[1])
    place = {(seen, rank): at for at, (seen, rank, _) in enumerate(images.tolist())}
    kept = np.isin(np.arange(len(images)), first)
    objects, found = (_on(parts[name], place, kept, ids) for name in ("objects", "found"))
    truth = {**objects[0], "crowd": objects[1][:, 0] > 0, "difficult": objects[1][:, 1] > 0}
    said = {**found[0], "score": found[1][:, 0]}
    if len(found[1]) and not np.isnan(found[1][:, 1]).any():
        said["unknownness"] = found[1][:, 1]
    names = settings.class_names
    return to_annotations({**truth, "images": ids[first]}, names=names), to_detections(said)


def _on(rows: Rows, place: dict[Any, int], kept: Any, ids: Any) -> tuple[dict[str, Any], Rows]:
    """Image, label and box of the rows on images that are kept, and their last two columns."""
    at = np.array([place[seen, rank] for seen, rank in rows[:, :2].tolist()], np.int64)
    mask = kept[at] if len(at) else np.zeros(0, bool)
    rows = rows[mask]
    columns = {"image": ids[at[mask]], "label": rows[:, 2].astype(np.int64), "box": rows[:, 3:7]}
    return columns, rows[:, 7:]
