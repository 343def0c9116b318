"""Every test of a kernel runs on both backends."""

import pytest

from openset import kernels
from openset.kernels import _library


@pytest.fixture(params=["native", "numpy"])
def backend(request, monkeypatch):
    if request.param == "native" and _library._load() is None:
        pytest.skip("the compiled kernels are not built")
    monkeypatch.setenv("OPENSET_KERNELS", request.param)
    assert kernels.backend() == request.param
    return request.param
