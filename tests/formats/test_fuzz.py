"""A short and steady part of ``make fuzz``: no damaged file leaves a reader but as a refusal."""

import pytest
from tools.fuzz.readers import readers
from tools.fuzz.running import bounded, tried

from openset.kernels import _library

CASES = 120


@pytest.mark.parametrize("reader", list(readers()), ids=lambda reader: reader.name)
def test_a_damaged_file_is_read_or_refused(reader):
    if reader.name.startswith("coco") and _library._load() is None:
        pytest.skip("the compiled kernels are not built")
    with bounded():
        outcome = tried(reader, 2026, lambda done: done < CASES)
    assert not outcome.failures, "\n".join(outcome.failures[:3])
    assert outcome.said["read"] and outcome.said["refused"]
