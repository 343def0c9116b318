"""Every test here trains or runs networks."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def one_thread(one_torch_thread):
    """One thread of torch for all of them."""
