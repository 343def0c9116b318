"""Parcels: every bit comes back, from fewer bytes where that is possible."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from openset.engines.parcel import Parcel

RNG = np.random.default_rng(0)
N = 4_000
COLUMNS = {  # and how many bytes a value may take
    "small whole numbers": (RNG.integers(0, 200, N), 1),
    "negative ones": (RNG.integers(-1, 30_000, N).astype(np.int32), 2),
    "large ones": (RNG.integers(0, 1 << 31, N), 4),
    "too large": (RNG.integers(-(1 << 60), 1 << 60, N), 8),
    "unsigned": (np.full(N, np.iinfo(np.uint64).max), 8),
    "float32": (RNG.random(N).astype(np.float32).astype(np.float64), 4),
    "five decimals": (RNG.integers(0, 100_000, N) / 1e5, 4),
    "two decimals, rows": ((RNG.integers(0, 60_000, (N // 4, 4)) / 100), 2),
    "any": (RNG.random(N), 8),
    "decimals, and one that has more": (np.append(np.round(RNG.random(N - 1), 3), 1 / 3), 8),
    "negative zero": (np.append(np.round(RNG.random(N - 1), 3), -0.0), 8),
    "infinite": (np.append(np.round(RNG.random(N - 1), 3), [np.inf]), 8),
    "no number": (np.full(N, np.nan), 4),
    "large decimals": (RNG.integers(0, 1 << 40, N) / 10, 8),
    "yes or no": (RNG.random((N // 2, 2)) < 0.3, 0.125),
    "few": (np.arange(3), 8),
    "none": (np.empty(0), 0),
    "text": (np.array(["a", "bc"] * N), 8),
    "every other": (np.arange(2 * N)[::2], 2),
}


@pytest.mark.parametrize("out_of_band", [True, False])
@pytest.mark.parametrize("name", COLUMNS)
def test_every_bit_comes_back(name, out_of_band):
    column, most = COLUMNS[name]
    buffers: list[pickle.PickleBuffer] = []
    callback = buffers.append if out_of_band else None
    pickled = pickle.dumps(Parcel({"one": (column, name)}), protocol=5, buffer_callback=callback)
    size = len(pickled) + sum(len(one.raw()) for one in buffers)
    back, said = pickle.loads(pickled, buffers=buffers).content["one"]
    assert said == name and back.dtype == column.dtype and back.shape == column.shape
    assert back.tobytes() == column.tobytes()
    assert size <= most * column.size + 700


def test_what_is_in_a_parcel_here_is_the_thing_itself():
    column = np.arange(N)
    assert Parcel(column).content is column
