"""Images are the same, and in the same order, whoever decodes them."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from openset.findings import InputError
from openset.nets import pictures
from openset.nets.pictures import ImageFiles, batches


@pytest.fixture
def folder(tmp_path) -> Path:
    chance = np.random.default_rng(0)
    for at in range(11):
        pixels = chance.integers(0, 255, (8 + at, 12, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{at:02}.png")
    (tmp_path / "05.png").write_text("no picture")
    return tmp_path


def told(folder: Path, size: int, **how: int) -> list[tuple[object, object]]:
    read = batches(ImageFiles.of_folder(folder), size, 2, **how)
    return [(id_, found) for some in read for id_, found in some]


@pytest.mark.parametrize("size", [1, 4, 16])
def test_processes_decode_what_threads_decode(folder, size):
    one, two = told(folder, size), told(folder, size, processes=2)
    assert [id_ for id_, _ in one] == [id_ for id_, _ in two] == [f"{at:02}" for at in range(11)]
    for (_, a), (_, b) in zip(one, two, strict=True):
        if isinstance(a, InputError):
            assert isinstance(b, InputError) and a.findings == b.findings
        else:
            np.testing.assert_array_equal(a, b)


def test_one_that_cannot_be_decoded_comes_as_its_finding(folder):
    bad = [found for _, found in told(folder, 4, processes=2) if isinstance(found, InputError)]
    assert [error.findings[0].code for error in bad] == ["OS603"]
    assert "05.png" in bad[0].findings[0].example


def test_a_process_that_is_lost_is_a_finding_and_the_next_run_has_others(folder):
    read = batches(ImageFiles.of_folder(folder), 4, 2, processes=2)
    next(read)
    for child in multiprocessing.active_children():
        child.kill()
    with pytest.raises(InputError) as lost:
        list(read)
        list(batches(ImageFiles.of_folder(folder), 4, 2, processes=2))  # if all was decoded before
    assert lost.value.findings[0].code == "OS367"
    assert len(told(folder, 4, processes=2)) == 11


def test_decoders_that_were_lost_meanwhile_are_a_finding(folder):
    pool = pictures._decoders(2)
    (job,) = [pool.submit(os.getpid)]
    os.kill(job.result(), signal.SIGKILL)
    while not pool._broken:
        time.sleep(0.01)
    with pytest.raises(InputError) as lost:
        list(batches(ImageFiles.of_folder(folder), 4, 2, processes=2))
    assert lost.value.findings[0].code == "OS367"
    assert len(told(folder, 4, processes=2)) == 11
