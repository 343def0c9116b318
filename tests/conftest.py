"""What tests of several folders ask for."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

# Some virtual machines name AMX among the processor's abilities and stop whoever uses it; and the
# same kernels everywhere give the same last digits. Read by torch when it first computes.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")


@pytest.fixture(scope="session")
def one_torch_thread():
    """One thread of torch: tests run beside each other, and bits do not depend on the machine."""
    if find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
