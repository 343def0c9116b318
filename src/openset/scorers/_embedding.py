"""Embedding: as the detector made it, or scaled to length one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def prepared(embedding: NDArray[np.float32], normalize: bool) -> NDArray[np.float32]:
    """Embeddings as they are, or scaled to length one."""
    if not normalize:
        return embedding
    length = np.sqrt(np.einsum("ij,ij->i", embedding, embedding, dtype=np.float64))[:, None]
    return np.asarray(embedding / np.maximum(length, 1e-12), np.float32)
