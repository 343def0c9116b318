"""attack: training images changed to deceive a detector, for the scorer SAFE."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.findings import UsageError

app = verb("attack", panel="Models")


@app.default
def attack(
    model: str,
    data: Path,
    /,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    images: Path | None = None,
    step: float = 8.0,
    most: int = 100,
    minimum_score: float | None = None,
    split: str | None = None,
    device: str | None = None,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Features of training images, and of the same images changed to deceive the detector.

    The scorer safe learns to tell one from the other; it needs no unknown object.

    Args:
        model: A folder or model.pt that `openset train` has made, of a two-stage detector.
        data: The ground truth that it was trained on.
        out: File to write, as Parquet.
        images: What the names of images are relative to; by default the folder of the data.
        step: By how much every value of a picture changes, of 255.
        most: Boxes that are kept of an image, those with the highest scores: features are large.
        minimum_score: Boxes with a lower score are dropped.
        split: What the images are called, for the ledger of scorers; by default folder and file.
        device: Such as cpu or cuda:1; by default a GPU where there is one.
        output: How to speak.
    """
    from openset.cli._inputs import tell_about, trained_model
    from openset.cli.run import _split
    from openset.detectors import ImageFiles, TorchModel, load
    from openset.detectors import attack as attack_model
    from openset.formats import read_annotations, write
    from openset.formats.yolo import image_folder

    if out.suffix != ".parquet":
        raise UsageError(f"features are written as Parquet: {out.name} should end in .parquet")
    truth = read_annotations(data)
    tell_about(output, truth, data)
    files = ImageFiles.of_annotations(truth, images or image_folder(data))
    options = {} if minimum_score is None else {"score": minimum_score}
    loaded = load(str(trained_model(Path(model))), device=device, **options)
    assert isinstance(loaded, TorchModel)  # nothing else is saved
    with output.track(len(files)) as at:
        found = attack_model(
            loaded,
            files,
            truth,
            step=step / 255,
            most=most,
            split=split or _split(data),
            progress=lambda done, of: at(done, "images"),
        )
    write(found, out, format="parquet")
    next_ = f"next: openset score TEST.parquet --scorers safe --fit {out} --minimum-score 0.05"
    lines = [f"{len(found)} boxes on {len(files)} images, each twice", f"wrote {out}", next_]
    facts = {"out": str(out), "detections": len(found), "provenance": dict(found.provenance)}
    return Answer("\n".join(lines), lambda: facts)
