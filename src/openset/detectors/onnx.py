"""Exported models: YOLO-type detectors in ONNX files, run by onnxruntime.

For exports without post-processing of their own, in the layouts of YOLOX and YOLOv8 (see `_yolo`).
A file of weights and a graph, nothing is unpickled. Most public YOLO weights have seen the classes
of COCO.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from openset.detectors import _yolo
from openset.detectors._found import Filters, Found
from openset.detectors._spec import EvidenceName, Model, detector
from openset.findings import UsageError, refuse
from openset.plugins import check_installed, lookup
from openset.tables import LogitLayout
from openset.tables.overlap import class_wise_nms

_CANDIDATES = 1000  # before suppression, which compares all pairs


@detector(
    "yolo_onnx",
    title="YOLO (ONNX)",
    paper="Ge et al., YOLOX, 2021; exports in the layout of YOLOv8",
    framework="onnxruntime",
    keeps=("logits", "objectness", "region"),
    requires=("onnxruntime",),
    trainable=False,
)
def yolo_onnx(
    labels: tuple[str, ...],
    *,
    device: str | None = None,
    file: str = "",
    layout: Literal["yolox", "yolov8"] | None = None,
    bgr: bool | None = None,
    side: int = 640,
    score: float = 0.05,
    nms: float = 0.65,
    most: int = 100,
) -> Model:
    """An exported model: independent sigmoids at every location, from a file.

    The score is class times objectness where there is one. There are no embeddings: the graph ends
    behind the last layer.

    Args:
        labels: The classes, in the order of the file (`names_in`).
        device: ``cuda`` to ask for a GPU; by default the CPU.
        file: The ONNX file.
        layout: What inputs and outputs mean; by default the shape of the output tells.
        bgr: Whether colours go in as BGR; by default as YOLOX does (yes) or YOLOv8 (no).
        side: Pixels of the canvas, where the file leaves them open.
        score: Boxes with a lower score are dropped.
        nms: Boxes of one class that overlap more are dropped.
        most: Most boxes of an image.
    """
    if layout is not None:
        lookup(_yolo.LAYOUTS, layout, "layout")
    if not file:
        raise UsageError("file= names the ONNX file of the exported model")
    session = _session(Path(file), device)
    family = layout or recognised(session, side)
    flipped = family == "yolox" if bgr is None else bgr
    filters = {"score": score, "nms": nms, "most": most}
    return OnnxModel(session, labels, family, flipped, side, filters)


def names_in(file: Path) -> tuple[str, ...] | None:
    """The classes that an export of ultralytics names in its metadata, None if it names none."""
    from ast import literal_eval

    told = _session(file, None).get_modelmeta().custom_metadata_map.get("names", "")
    try:
        names = literal_eval(told)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(names, dict) or sorted(names) != list(range(len(names))):
        return None
    return tuple(str(names[at]) for at in range(len(names)))


def recognised(session: Any, side: int = 640) -> str:
    """The layout of an export, from the shape of what it says of an empty canvas."""
    entry = session.get_inputs()[0]
    open_ = (1, 3, side, side)
    fixed = [n if isinstance(n, int) else d for n, d in zip(entry.shape, open_, strict=True)]
    output = np.asarray(session.run(None, {entry.name: np.zeros(fixed, np.float32)})[0])
    rows = len(_yolo.grid((fixed[2], fixed[3]))[0])
    if output.ndim == 3 and rows in output.shape[1:]:
        return "yolov8" if output.shape[2] == rows else "yolox"
    raise refuse(
        "OS611",
        f"the output has shape {output.shape}, which is of no known layout",
        example=f"{rows} locations are expected",
        cause="an export with suppression inside, or of another task",
        fix="export without it: nms=False, end2end=False",
    )


class OnnxModel:
    """A session with labels."""

    about: Mapping[str, Any]

    def __init__(
        self,
        session: Any,
        labels: tuple[str, ...],
        layout: str,
        bgr: bool,
        side: int,
        filters: Mapping[str, Any],
    ) -> None:
        self.session, self.labels, self.bgr, self.filters = session, labels, bgr, filters
        self.layout = LogitLayout.SIGMOID
        self.about = {}
        self.exported = _yolo.LAYOUTS[layout]
        self.input = session.get_inputs()[0]
        shape = self.input.shape
        if len(shape) != 4 or (shape[1] not in (3, "3") and isinstance(shape[1], int)):
            raise refuse("OS611", f"the input has shape {shape}, not images, 3, height, width")
        height, width = (n if isinstance(n, int) else side for n in shape[2:])
        self.size = (int(height), int(width))
        self.batch = shape[0] if isinstance(shape[0], int) else None

    def found(
        self, images: Sequence[NDArray[np.uint8]], keep: frozenset[EvidenceName]
    ) -> list[Found]:
        """What is found on some RGB images, with the evidence asked for."""
        centred = self.exported.centred
        canvases = [_yolo.placed(image, self.size, centred=centred) for image in images]
        step = self.batch or max(len(images), 1)
        outputs = [
            output
            for start in range(0, len(canvases), step)
            for output in self._outputs(canvases[start : start + step])
        ]
        together = zip(outputs, canvases, images, strict=True)
        return [self._kept(*item, keep) for item in together]

    def head(self) -> None:
        """None: the graph ends behind the last layer."""

    @contextmanager
    def unsuppressed(self) -> Iterator[Filters]:
        """The best pairs of a location and a class, as before suppression."""
        held = self.filters
        self.filters = {**held, "nms": 1.0, "most": _CANDIDATES}
        try:
            yield Filters(**held)
        finally:
            self.filters = held

    def load_state(self, state: Mapping[str, Any], where: str) -> None:
        """Refused: the weights are in the ONNX file."""
        raise UsageError("the weights of an exported model are in its file: file=")

    def _outputs(self, canvases: Sequence[_yolo.Placed]) -> NDArray[np.float64]:
        pixels = np.stack([item.canvas for item in canvases]).astype(np.float32)
        pixels = pixels[..., ::-1] if self.bgr else pixels
        pixels = pixels / np.float32(255) if self.exported.unit else pixels
        missing = (self.batch or len(canvases)) - len(canvases)
        if missing:
            pixels = np.concatenate([pixels, np.zeros((missing, *pixels.shape[1:]), np.float32)])
        feed = {self.input.name: np.ascontiguousarray(pixels.transpose(0, 3, 1, 2))}
        output = np.asarray(self.session.run(None, feed)[0], np.float64)
        self._check(output)
        return output[: len(canvases)]

    def _check(self, output: NDArray[np.float64]) -> None:
        rows = len(_yolo.grid(self.size)[0])
        locations = output.shape[1] if not self.exported.centred else output.shape[-1]
        classes = self.exported.classes(output.shape) if output.ndim == 3 else -1
        if output.ndim != 3 or classes < 1 or locations != rows:
            message = f"the output has shape {output.shape}, which is not of this layout"
            raise refuse("OS611", message, example=f"{rows} locations are expected")
        if classes != len(self.labels):
            message = f"the model has {classes} classes, but {len(self.labels)} labels were given"
            raise refuse("OS605", message, fix="give the labels in the order of the model")

    def _kept(
        self,
        output: NDArray[np.float64],
        canvas: _yolo.Placed,
        image: NDArray[np.uint8],
        keep: frozenset[EvidenceName],
    ) -> Found:
        raw = self.exported.read(output, self.size)
        sure = 1.0 if raw.objectness is None else raw.objectness[:, None]
        scores = raw.classes * sure
        place, label = np.nonzero(scores > self.filters["score"])
        best = np.argsort(-scores[place, label], kind="stable")[:_CANDIDATES]
        place, label = place[best], label[best]
        box = canvas.restored(raw.corners[place], image)
        sized = np.concatenate([box[:, :2], box[:, 2:] - box[:, :2]], axis=1)
        rows = class_wise_nms(
            np.zeros(len(place), np.int64),
            sized,
            label,
            scores[place, label],
            overlap=self.filters["nms"],
            limit=self.filters["most"],
        )
        place, label = place[rows], label[rows]
        evidence: dict[str, Any] = {"region": place}
        if raw.objectness is not None:
            evidence["objectness"] = raw.objectness[place].astype(np.float32)
        logits = _yolo.inverse_sigmoid(raw.classes[place]) if "logits" in keep else None
        kept: dict[str, Any] = {name: values for name, values in evidence.items() if name in keep}
        score = scores[place, label].astype(np.float32)
        return Found(box[rows].astype(np.float32), score, label, logits, attributes=kept)


def _session(path: Path, device: str | None) -> Any:
    check_installed("an ONNX model", ("onnxruntime",))
    import onnxruntime

    if not path.is_file():
        raise refuse("OS101", f"no such file: {path}")
    provider = "CUDAExecutionProvider" if device and "cuda" in device else "CPUExecutionProvider"
    if provider not in onnxruntime.get_available_providers():
        raise refuse("OS606", f"onnxruntime has no {provider}", fix="pip install onnxruntime-gpu")
    try:
        return onnxruntime.InferenceSession(str(path), providers=[provider])
    except Exception as error:  # onnxruntime's errors have no common base but Exception
        example = str(error).partition("\n")[0][:200]
        cause, fix = "a truncated download or copy, or another file", "export or copy it again"
        message = f"{path} is not an ONNX model"
        raise refuse("OS604", message, example=example, cause=cause, fix=fix) from error
