"""Device: where a network runs, and what happens when its memory runs out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from openset.findings import InputError, refuse

BFLOAT16 = "import torch; a = torch.ones(64, 64, dtype=torch.bfloat16); (a @ a).sum().item()"


def device_of(name: str | None) -> torch.device:
    """The device of a name, or a GPU where there is one; refused if it is not there."""
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        message = f"the device {name!r} is not there"
        raise refuse("OS606", message, example=str(error).partition("\n")[0]) from error
    return device


def refuse_broken_bfloat16() -> None:
    """Refuse a processor that names AMX and stops whoever uses it, before it stops us."""
    if names_amx() and not _computes_bfloat16():
        raise refuse("OS616", "this processor does not compute bfloat16, though it says so")


def names_amx() -> bool:
    """Whether the processor says that it multiplies matrices of bfloat16."""
    try:
        return "amx_bf16" in Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return False


def _computes_bfloat16() -> bool:
    """Whether a child process lives through it: the instruction cannot be tried in this one."""
    child = subprocess.run([sys.executable, "-c", BFLOAT16], capture_output=True, check=False)  # noqa: S603 - our own words
    return child.returncode >= 0


@contextmanager
def memory_guard(batch: int) -> Iterator[None]:
    """Turn memory that runs out into a finding that advises a smaller batch."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        raise _too_large(batch, error) from error


def _is_out_of_memory(error: Exception) -> bool:
    known = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return known or "not enough memory" in str(error) or "can't allocate memory" in str(error)


def _too_large(batch: int, error: Exception) -> InputError:
    fix = f"use a batch of {batch // 2}" if batch > 1 else "use smaller images, or a larger device"
    message = f"out of memory with {batch} images at a time"
    return refuse("OS607", message, example=str(error).partition("\n")[0], fix=fix)
