"""Openness: what a linear classifier's logits say of how unknown a sample looks."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Score = Literal["logit", "probability"]


def improbability(logits: Tensor) -> Tensor:
    """Minus the largest softmax probability."""
    return -torch.softmax(logits, dim=1).amax(dim=1)
