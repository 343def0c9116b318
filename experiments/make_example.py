"""Make the embedded example from a golden input: energy as unknownness, its tail called unknown.

The threshold keeps 90 % of the detections on every second closed-set image; those images then leave
the example, so that nothing is evaluated on what it was fitted on.
"""

import gzip
import json
from pathlib import Path

import numpy as np

from openset.formats import read_annotations, read_detections
from openset.scorers.energy import energy
from openset.scorers.threshold import quantile_threshold
from openset.tables import Detections, LogitLayout

SOURCE = Path("tests/golden/inputs/small/wild")
TARGET = Path("src/openset/examples")


def main() -> None:
    """Write both files of the example, from the repository's root."""
    truth_file = json.loads((SOURCE / "gt.json").read_text())
    records = json.loads((SOURCE / "dt.json").read_text())
    logits = np.load(SOURCE / "logits.npz", allow_pickle=False)["logits"]
    plain = read_detections(SOURCE / "dt.json")
    layout = LogitLayout.SOFTMAX_BACKGROUND_LAST
    detections = Detections(
        plain.image, plain.label, plain.box, plain.score, logits=logits, layout=layout
    )
    unknownness = energy(detections, background="drop")
    images = read_annotations(SOURCE / "gt.json").images
    closed = images.id[images.attributes["wild"] == 0]
    held_out = set(closed[::2].tolist())
    fit = np.isin(detections.image, closed[::2])
    threshold = quantile_threshold(unknownness[fit], keep=0.9)
    for record, value in zip(records, unknownness.tolist(), strict=True):
        record["unknownness"] = round(value, 4)
        if value > threshold:
            record["category_id"] = truth_file["info"]["openset"]["unknown_id"]
    truth_file["images"] = [i for i in truth_file["images"] if i["id"] not in held_out]
    truth_file["annotations"] = [
        a for a in truth_file["annotations"] if a["image_id"] not in held_out
    ]
    write("truth.json.gz", truth_file)
    write("detections.json.gz", [r for r in records if r["image_id"] not in held_out])


def write(name: str, document: object) -> None:
    """Write compressed JSON, the same bytes every time."""
    text = json.dumps(document, separators=(",", ":")).encode()
    with (TARGET / name).open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as file:
        file.write(text)


if __name__ == "__main__":
    main()
