"""Bank: some embeddings of every class, kept as buffers, the same in all processes.

Nothing here waits for the device: rows that are not kept are written to a spare place.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from openset.nets.processes import everyones


class Bank(nn.Module):
    """So many rows for each class; the newest take the places of the oldest.

    Args:
        classes: Known classes.
        size: Rows of each.
        width: Of a row.
        wrap: Whether rows that reach the end of a class go on at its beginning; if not, they are
            dropped, and only the next step begins there.
    """

    held: Tensor
    place: Tensor
    filled: Tensor

    def __init__(self, classes: int, size: int, width: int, *, wrap: bool = True) -> None:
        super().__init__()
        self.classes, self.size, self.wrap = classes, size, wrap
        self.register_buffer("held", torch.zeros(classes * size + 1, width))  # the last is spare
        self.register_buffer("place", torch.zeros(classes, dtype=torch.long))
        self.register_buffer("filled", torch.zeros(classes, dtype=torch.long))

    @property
    def rows(self) -> Tensor:
        """All places: ``[classes, size, width]``."""
        return self.held[:-1].unflatten(0, (self.classes, self.size))

    @property
    def there(self) -> Tensor:
        """Which places have been written: ``[classes, size]``."""
        return torch.arange(self.size, device=self.filled.device) < self.filled[:, None]

    @property
    def full(self) -> Tensor:
        """Which classes have no empty place."""
        return self.filled >= self.size

    @torch.no_grad()
    def add(self, rows: Tensor, klass: Tensor, most: Tensor | int) -> None:
        """Keep rows, those of all processes in their order.

        Args:
            rows: ``[..., width]``.
            klass: The class of each, below 0 for rows to leave out.
            most: How many of each class are kept, the first.
        """
        rows, klass = rows.detach().flatten(0, -2).to(self.held), klass.flatten()
        # A class in a row: sums along rows are made in parallel, those down a column one by one.
        own = torch.arange(self.classes, device=klass.device)[:, None] == klass
        mine = klass.clamp(min=0)
        rank = (own.cumsum(1) - 1).gather(0, mine[None])[0]
        if isinstance(most, int):
            most = klass.new_full((self.classes,), most)
        count = torch.minimum(own.sum(1), most)
        at = self.place[mine] + rank
        kept = (klass >= 0) & (rank < most[mine])
        # Of more rows than there are places, the last stay.
        kept &= rank >= (count - self.size)[mine] if self.wrap else at < self.size
        self.held[torch.where(kept, mine * self.size + at % self.size, len(self.held) - 1)] = rows
        self.held[-1] = 0.0
        end = self.place + count
        self.filled.copy_(torch.maximum(self.filled, end.clamp(max=self.size)))
        self.place.copy_(end % self.size if self.wrap else torch.where(end < self.size, end, 0))

    def add_everyones(self, rows: Tensor, klass: Tensor, most: Tensor | int) -> None:
        """`add` what every process has."""
        self.add(everyones(rows), everyones(klass), most)
