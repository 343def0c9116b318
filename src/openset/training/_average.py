"""The running mean of weights (EMA), which often detects better than the last weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Average:
    """A running mean of a network's weights and buffers.

    The decay grows with the number of updates, so that early weights are forgotten soon. What a
    method remembers (its buffers) is copied: the mean of a queue is no queue.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self.decay = decay
        self.updates = 0
        self.copied = {name for name, _ in network.named_buffers() if name.startswith("method.")}
        self.state = {name: value.detach().clone() for name, value in network.state_dict().items()}

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        """Move towards the weights of now."""
        self.updates += 1
        share = 1 - min(self.decay, (1 + self.updates) / (10 + self.updates))
        for name, value in network.state_dict().items():
            held = self.state[name]
            if held.is_floating_point() and name not in self.copied:
                held.lerp_(value, share)
            else:
                held.copy_(value)

    def state_dict(self) -> dict[str, int | dict[str, Tensor]]:
        """What a checkpoint holds."""
        return {"updates": self.updates, "state": self.state}

    def load_state_dict(self, held: dict[str, int | dict[str, Tensor]]) -> None:
        """Go on from a checkpoint."""
        updates, state = held["updates"], held["state"]
        assert isinstance(updates, int)
        assert isinstance(state, dict)
        self.updates = updates
        for name, value in state.items():
            self.state[name].copy_(value)
