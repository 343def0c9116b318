"""Processes: one, or those that ``torchrun`` has started, with no other code for either."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from openset.findings import UsageError

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among all.

    Attributes:
        rank: Number of this process.
        count: How many there are.
    """

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this process writes files."""
        return self.rank == 0

    def wrapped(self, model: nn.Module, device: torch.device, *, idle: bool = False) -> nn.Module:
        """A model whose gradients are averaged over all processes.

        Args:
            model: The model.
            device: Where it is.
            idle: Whether weights may take no part in a step, and then get no gradient.
        """
        if self.count == 1:
            return model
        from torch.nn.parallel import DistributedDataParallel

        ids = [device] if device.type == "cuda" else None
        return DistributedDataParallel(model, device_ids=ids, find_unused_parameters=idle)

    def share(self, batch: int) -> int:
        """Images per process."""
        if batch % self.count:
            raise UsageError(f"a batch of {batch} cannot be shared by {self.count} processes")
        return batch // self.count

    def part(self, count: int, batch: int) -> slice:
        """Which of `count` images are this process's; those of all processes are all, in order.

        Whole batches, so that every image is padded as in a single process, whatever their number.
        """
        batches = -(-count // batch)
        first, last = (batches * rank // self.count for rank in (self.rank, self.rank + 1))
        return slice(first * batch, min(last * batch, count))

    def gathered(self, mine: T) -> list[T]:
        """What every process has, in order."""
        if self.count == 1:
            return [mine]
        from torch import distributed

        parts: list[T] = [mine] * self.count
        distributed.all_gather_object(parts, mine)
        return parts

    def wait(self) -> None:
        """Until every process is here."""
        if self.count > 1:
            from torch import distributed

            distributed.barrier()


def everyones(mine: Tensor) -> Tensor:
    """The rows of all processes, in order; every process has as many. No gradient goes through."""
    from torch import distributed

    if not distributed.is_available() or not distributed.is_initialized():
        return mine
    import torch

    parts = [torch.empty_like(mine) for _ in range(distributed.get_world_size())]
    distributed.all_gather(parts, mine.detach().contiguous())
    return torch.cat(parts)


def shared(mine: Tensor) -> Tensor:
    """The mean over all processes of what each has. No gradient goes through."""
    return everyones(mine[None]).mean(0)


def number() -> int:
    """How many processes there are."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this process is the one that speaks and writes."""
    return os.environ.get("RANK", "0") == "0"


def own_device(asked: str | None) -> str | None:
    """The GPU of this process among several, unless a device was asked for."""
    if asked is not None or number() == 1:
        return asked
    import torch

    return f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if torch.cuda.is_available() else None


@contextmanager
def processes() -> Iterator[Processes]:
    """The processes of this program: many where ``WORLD_SIZE`` says so.

    Within another such context they are those of that one: a group cannot be made twice.
    """
    if number() == 1:
        yield Processes()
        return
    import torch
    from torch import distributed

    if distributed.is_initialized():
        yield Processes(distributed.get_rank(), number())
        return
    mine = own_device(None)
    if mine is not None:
        torch.cuda.set_device(mine)  # what is gathered travels by this process's own GPU
    distributed.init_process_group("gloo" if mine is None else "nccl")
    try:
        yield Processes(distributed.get_rank(), number())
    finally:
        distributed.destroy_process_group()
