"""What tests of several folders ask for."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


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
