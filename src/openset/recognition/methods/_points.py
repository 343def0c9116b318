"""Points: distances of embeddings to points that are learned, one or more per class."""

from __future__ import annotations

import torch
from torch import Tensor


def squared_distances(embedding: Tensor, points: Tensor) -> Tensor:
    """Squared distance of each row to each point, divided by their width."""
    squares = embedding.square().sum(1, keepdim=True) + points.square().sum(1)
    distance: Tensor = (squares - 2 * embedding @ points.T) / embedding.shape[1]
    return distance


def scattered(n: int, width: int) -> torch.nn.Parameter:
    """Points to begin with: a tenth of a normal deviate, as published."""
    return torch.nn.Parameter(0.1 * torch.randn(n, width))
