"""Processes: one, or those that ``torchrun`` has started, with no other code for either."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import nn

from openset.findings import UsageError


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among all.

    Attributes:
        rank: Number of this process.
        count: How many there are.
        local: Number of this process on its machine.
    """

    rank: int = 0
    count: int = 1
    local: int = 0

    @property
    def first(self) -> bool:
        """Whether this process writes files."""
        return self.rank == 0

    def device(self, asked: str | None) -> str | None:
        """The GPU of this process, unless a device was asked for."""
        several = self.count > 1 and asked is None and torch.cuda.is_available()
        return f"cuda:{self.local}" if several else asked

    def wrapped(self, model: nn.Module, device: torch.device) -> nn.Module:
        """A model whose gradients are averaged over all processes."""
        if self.count == 1:
            return model
        from torch.nn.parallel import DistributedDataParallel

        ids = [device] if device.type == "cuda" else None
        return DistributedDataParallel(model, device_ids=ids)

    def share(self, batch: int) -> int:
        """Images per process."""
        if batch % self.count:
            raise UsageError(f"a batch of {batch} cannot be shared by {self.count} processes")
        return batch // self.count

    def wait(self) -> None:
        """Until every process is here."""
        if self.count > 1:
            torch.distributed.barrier()


@contextmanager
def processes() -> Iterator[Processes]:
    """The processes of this training: many where ``WORLD_SIZE`` says so."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes()
        return
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    torch.distributed.init_process_group(backend)
    try:
        rank, local = torch.distributed.get_rank(), int(os.environ.get("LOCAL_RANK", "0"))
        yield Processes(rank, count, local)
    finally:
        torch.distributed.destroy_process_group()
