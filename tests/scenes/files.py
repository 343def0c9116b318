"""Files that commands read, and what a folder holds before and after them."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def write_evidence(folder: Path) -> None:
    """Scores of a classifier, and a detection with logits."""
    from openset import Detections, write

    logits, labels = np.eye(3)[[0, 1, 2, 0]], [0, 1, 2, 1]
    np.savez(folder / "s.npz", logits_k=logits, labels_k=labels, logits_u=logits / 2)
    held = {"logits": np.ones((1, 3), np.float32), "layout": "softmax"}
    write(Detections([10], [1], [[0, 0, 9, 9]], [0.5], **held), folder / "energy.parquet")


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of every file, by its place in a folder; those of killed writes apart."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".openset-" not in str(path)
    }
