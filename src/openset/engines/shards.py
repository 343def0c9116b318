"""Shards: a share of the parts, for programs that a scheduler starts many times.

``3/16`` is the third of sixteen. ``auto`` asks the scheduler: SLURM says both numbers to the tasks
of an array; an indexed job of Kubernetes says which one it is, so that ``auto/16`` says the other.
Shards take every sixteenth part, so that large parts side by side fall to different ones.

Not an engine: nobody waits for the others, and each needs nothing of them but the same plan.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from openset.findings import UsageError

AUTO = "auto"
_SLURM = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT")
_SLURM_FIRST = "SLURM_ARRAY_TASK_MIN"
_KUBERNETES = "JOB_COMPLETION_INDEX"


@dataclass(frozen=True, slots=True)
class Shard:
    """One share of several.

    Attributes:
        index: Which, from 0.
        count: Of how many.
    """

    index: int = 0
    count: int = 1

    @classmethod
    def of(cls, text: str, environment: Mapping[str, str] = os.environ) -> Self:
        """A share as it is typed, or as a scheduler says.

        >>> Shard.of("3/16")
        Shard(index=2, count=16)
        >>> Shard.of("auto", {"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "16",
        ...                   "SLURM_ARRAY_TASK_MIN": "1"})
        Shard(index=6, count=16)
        >>> Shard.of("auto/16", {"JOB_COMPLETION_INDEX": "0"})
        Shard(index=0, count=16)
        """
        which, _, of = text.partition("/")
        if which == AUTO:
            index, count = _scheduled(environment, of)
        elif re.fullmatch(r"\d+/\d+", text):
            index, count = int(which) - 1, int(of)
        else:
            raise UsageError(f"a shard is 3/16, the third of sixteen, or auto, not {text!r}")
        if not 0 <= index < count:
            raise UsageError(
                f"there is no shard {index + 1} of {count}: they are 1/{count} to {count}/{count}; "
                f"auto, or auto/{count}, takes a scheduler's own number, wherever that begins"
            )
        return cls(index, count)

    def mine(self, numbers: Sequence[int]) -> list[int]:
        """Those of some parts, by their numbers, that are this share's."""
        return [number for number in numbers if number % self.count == self.index]


def _scheduled(environment: Mapping[str, str], of: str) -> tuple[int, int]:
    """Index and number of shards, as the scheduler that started this program says."""
    try:
        if _SLURM[0] in environment:
            first = int(environment.get(_SLURM_FIRST, "0"))
            return int(environment[_SLURM[0]]) - first, int(of or environment[_SLURM[1]])
        if _KUBERNETES in environment and of:
            return int(environment[_KUBERNETES]), int(of)
    except (KeyError, ValueError) as error:
        raise UsageError(f"the scheduler's variables say no shard: {error}") from error
    raise UsageError(
        f"--shard auto needs {' and '.join(_SLURM)}, or with auto/N {_KUBERNETES}; none is set"
    )
