"""Detections of the digits world in uneven parts: every engine keeps and shows the same bytes."""

from __future__ import annotations

import re
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest

from openset.examples import DIGITS, DIGITS_TRUTH
from openset.formats import read_annotations, read_detections, write
from openset.formats.manifest import SCHEMA, Manifest, Part
from openset.formats.parts import Parts
from scenes.files import contents

EDGES = (0, 1, 130, 130, 190, 300)  # one image; many; none; sixty without detections; the others
MUTE = slice(130, 190)
MODELS = ("faster_rcnn", "fcos")
ENGINES = [("threads", (2,)), ("processes", (1, 2, 3))]
ENGINES += [("ray", (1, 2))] if find_spec("ray") else []


@pytest.fixture
def digits(here):
    """The truth in parts of seventy images, the detections of two models in uneven ones."""
    truth = read_annotations(DIGITS_TRUTH)
    ids = truth.images.id
    write(truth, "gt.parts", per_part=70)
    cuts = [ids[start:end] for start, end in pairwise(EDGES)]
    plan = [Part(f"part-{at:05d}.parquet", cut.tolist()) for at, cut in enumerate(cuts)]
    for name in MODELS:
        found = read_detections(DIGITS / f"{name}.parquet")
        found = found.select(~np.isin(found.image, ids[MUTE]))
        parts = Parts.plan(here / f"{name}.parts", Manifest(SCHEMA, "detections", {}, plan))
        for number, cut in enumerate(cuts):
            parts.add(number, found.select(np.isin(found.image, cut)))
        assert [part.rows > 0 for part in parts.close().manifest.parts] == [1, 1, 0, 0, 1]
    return here


def without_engine(data):
    """Bytes without the words of the command that say where it ran, and their checksum."""
    return re.sub(rb'--engine \w+ --workers \d|"run.json": "\w+"', b"", data)


def kept(openset, here, engine, workers):
    """All that is said of an evaluation and of its run, and the files of these."""
    models = (f"{name}.parts" for name in MODELS)
    where = ("--engine", engine, "--workers", str(workers))
    lines = [
        ("evaluate", "gt.parts", *models, "-o", "run", *where),
        ("compare", *(f"run/{name}" for name in MODELS)),
        ("report", "run", "-o", "page.html"),
    ]
    done = [openset(*line) for line in lines]
    assert [one.code for one in done] == [0, 0, 0], done
    files = contents(here / "run") | {"page": (here / "page.html").read_bytes()}
    said = [one.out for one in done]
    return said, {name: without_engine(data) for name, data in files.items()}


@pytest.mark.parametrize(("engine", "workers"), ENGINES)
def test_every_engine_keeps_and_shows_the_same(digits, openset, engine, workers, request):
    if engine == "ray":
        request.getfixturevalue("ray_here")
    said, files = kept(openset, digits, "local", 1)
    assert len(files) == 7 and all(name in said[1] for name in MODELS)
    for number in workers:
        also_said, other = kept(openset, digits, engine, number)
        assert also_said == said
        assert [name for name in files if files[name] != other[name]] == []


def test_one_answer_without_a_run(digits, openset):
    """Of which no box is kept, and metrics see less."""
    command = ("evaluate", "gt.parts", "fcos.parts", "--json")
    there = openset(*command, "--engine", "processes", "--workers", "2")
    assert there.code == 0 and there.out == openset(*command).out
