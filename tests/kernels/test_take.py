"""take equals indexing, whatever the type and layout."""

import numpy as np
import pytest

from openset.kernels import take


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "uint16", "bool"])
@pytest.mark.parametrize("n", [0, 1, 70_000])
def test_equals_indexing(backend, dtype, n):
    random = np.random.default_rng(n)
    values = (random.random(500) * 100).astype(dtype)
    order = random.integers(0, 500, n).astype(np.int32)
    taken = take(values, order)
    assert taken.dtype == values.dtype
    assert taken.tobytes() == values[order].tobytes()


@pytest.mark.parametrize("width", [1, 3, 4, 5])
def test_rows_of_several_values(backend, width):
    values = np.arange(40 * width, dtype=np.uint16).reshape(40, width)
    order = np.array([39, 0, 7, 7], np.int32)
    assert take(values, order).tolist() == values[order].tolist()


def test_strided_columns(backend):
    values = np.arange(20.0).reshape(10, 2)[:, 1]
    assert take(values, np.array([9, 0], np.int32)).tolist() == [19.0, 1.0]


def test_outside_is_refused(backend):
    for bad in (5, -9):
        with pytest.raises(IndexError):
            take(np.arange(5.0), np.array([bad], np.int32))
