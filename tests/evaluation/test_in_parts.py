"""Parts give the numbers of the whole, and the same bytes on every engine."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest

import openset
from openset import engines
from openset.evaluation.run import Run, evaluate_all
from openset.findings import InputError, UsageError
from openset.formats import read_annotations, read_detections, write
from openset.formats.parts import Parts
from scenes import work
from scenes.builders import KNOWN, scene

OPTIONS = {"known": KNOWN, "force": True, "seed": 3}
ENGINES = [("local", 1), ("threads", 2), ("processes", 1), ("processes", 2), ("processes", 3)]
ENGINES += [("ray", 1), ("ray", 2)] if find_spec("ray") else []


@pytest.fixture
def tables():
    """Eleven images: some without objects, the last four without detections."""
    truth, found = scene(4, images=11).tables()
    return truth, found.select(np.isin(found.image, truth.images.id[:7]))


@pytest.fixture
def folders(tmp_path, tables):
    """The truth by twos, the detections by threes: uneven parts, and an empty one."""
    truth, found = tables
    write(truth, tmp_path / "gt.parts", per_part=2)
    write(found, tmp_path / "dt.parts", truth=truth, per_part=3)
    return tmp_path / "gt.parts", tmp_path / "dt.parts"


def whole(folders):
    """The same as tables: what one shot sees."""
    return read_annotations(folders[0]), read_detections(folders[1])


def numbers(result):
    """All but the findings, which batches word otherwise, and the names of the inputs."""
    document = json.loads(result.to_json(replicates=True))
    document["provenance"]["inputs"] = document["findings"] = None
    return document


@pytest.mark.parametrize("lean", [False, True])
@pytest.mark.parametrize("limit", [0, 1 << 20])
@pytest.mark.parametrize("protocol", ["default", "owod", "elephant", "vos"])
def test_numbers_are_those_of_the_whole(folders, protocol, limit, lean, monkeypatch):
    monkeypatch.setattr("openset.matching.spilling.LIMIT", limit)  # 0: all columns are in files
    in_parts = openset.evaluate(*folders, protocol=protocol, lean=lean, **OPTIONS)
    assert (in_parts.matches.lean is not None) == (lean and protocol in ("default", "vos"))
    assert numbers(in_parts) == numbers(
        openset.evaluate(*whole(folders), protocol=protocol, **OPTIONS)
    )


def test_rows_are_those_of_the_whole(folders):
    in_parts = openset.evaluate(*folders, intervals=False, **OPTIONS).matches
    at_once = openset.evaluate(*whole(folders), intervals=False, **OPTIONS).matches
    assert in_parts.row.tolist() == at_once.row.tolist()
    assert in_parts.objects.row.tolist() == at_once.objects.row.tolist()


@pytest.mark.parametrize(("name", "workers"), ENGINES)
def test_every_engine_gives_the_same_bytes(folders, tables, name, workers, request, tmp_path):
    if name == "ray":
        request.getfixturevalue("ray_here")
    engine = engines.find(name, workers)
    one = openset.evaluate(*folders, engine=engine, **OPTIONS)
    other = openset.evaluate(*folders, **OPTIONS)
    assert one.to_json(replicates=True) == other.to_json(replicates=True)
    lean = openset.evaluate(*folders, engine=engine, lean=True, **OPTIONS)
    assert lean.to_json(replicates=True) == other.to_json(replicates=True)
    # And with a ground truth that is no folder.
    held = openset.evaluate(tables[0], folders[1], engine=engine, **OPTIONS)
    assert numbers(held) == numbers(other) and held.findings == other.findings


def test_more_rows_than_can_be_counted_are_refused(folders, monkeypatch):
    monkeypatch.setattr("openset.matching.merge.MOST", 20)
    with pytest.raises(UsageError, match=r"at most 20 detections.*minimum_score"):
        openset.evaluate(*folders, **OPTIONS)


def test_three_lost_workers_change_nothing(folders, tmp_path):
    (tmp_path / "kills").mkdir()
    there = engines.find("processes", 2)

    def losing(function, items, workers):
        return there.apply(partial(work.killed, tmp_path / "kills", 3, function), items, workers)

    one = openset.evaluate(*folders, engine=replace(there, apply=losing), **OPTIONS)
    assert len([*(tmp_path / "kills").iterdir()]) >= 3
    other = openset.evaluate(*folders, **OPTIONS)
    assert one.to_json(replicates=True) == other.to_json(replicates=True)


def test_a_run_is_the_same_and_can_be_kept(folders, tmp_path):
    for name, engine in (("a", "local"), ("b", "processes")):
        run = evaluate_all(folders[0], {"m": folders[1]}, engine=engines.find(engine, 2), **OPTIONS)
        assert run.in_parts == (11, len(run.truth), len(run.detections["m"]))
        run.save(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes(), file
    loaded = Run.load(tmp_path / "a")
    assert loaded.evaluations["m"].matches.row.tolist() == run.evaluations["m"].matches.row.tolist()


def test_no_table_is_read_as_a_whole(folders, monkeypatch):
    monkeypatch.setattr("openset.evaluation.in_parts.read_annotations", None)
    monkeypatch.setattr("openset.evaluation.in_parts.read_detections", None)
    at_once, read = [], Parts.read_all
    monkeypatch.setattr(Parts, "read_all", lambda self: at_once.append(len(self)) or read(self))
    evaluate_all(folders[0], {"m": folders[1]}, intervals=False, **OPTIONS)
    assert len(at_once) == 8 and max(at_once) <= 2


def test_the_decoder_is_imported_by_workers_alone(folders):
    """Who only joins starts them sooner, and holds less."""
    paths = ", ".join(repr(str(folder)) for folder in folders)
    lines = ["import sys, openset", "from openset import engines"]
    options = "engine=engines.find('processes', 2), lean=True, force=True, intervals=False"
    lines += [f"openset.evaluate({paths}, known=['dog', 'cat', 'cow'], {options})"]
    lines += ["assert 'polars' not in sys.modules"]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)


def test_several_detectors(folders, tables, tmp_path):
    truth, found = tables
    write(found.select(found.score > 0.5), tmp_path / "few.parts", truth=truth, per_part=3)
    run = evaluate_all(
        folders[0], {"a": folders[1], "b": tmp_path / "few.parts"}, intervals=False, **OPTIONS
    )
    few = read_detections(tmp_path / "few.parts")
    alone = openset.evaluate(whole(folders)[0], few, intervals=False, **OPTIONS)
    assert numbers(run.evaluations["b"])["values"] == numbers(alone)["values"]
    write(found, tmp_path / "other.parts", truth=truth, per_part=4)
    with pytest.raises(InputError, match=r"(?s)OS364.*b is cut into other parts than a"):
        evaluate_all(folders[0], {"a": folders[1], "b": tmp_path / "other.parts"}, **OPTIONS)


def test_groups_and_options_are_of_images(folders):
    ids = whole(folders)[0].images.id.tolist()
    groups = {image: f"g{at // 2}" for at, image in enumerate(ids)}
    options = {"groups": groups, "minimum_score": 0.3, "drop_invalid": True, **OPTIONS}
    in_parts = openset.evaluate(*folders, **options)
    assert in_parts.provenance.groups_hash
    assert numbers(in_parts) == numbers(openset.evaluate(*whole(folders), **options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"minimum_score": "best"}, "all images at once"),
        ({"image_list": "list.txt"}, "all images at once"),
        ({"image_ids": "index"}, "in parts"),
    ],
)
def test_what_needs_all_images_is_refused(folders, options, words):
    with pytest.raises(UsageError, match=words):
        openset.evaluate(*folders, known=KNOWN, **options)


def test_an_engine_works_on_parts(tables):
    with pytest.raises(UsageError, match="--to parts"):
        openset.evaluate(*tables, known=KNOWN, engine=engines.find("processes"))


def fewer(truth):
    return truth.of_images(slice(0, 9))


def more(truth):
    ids = [*truth.images.id.tolist(), 9999]
    return replace(truth, images=openset.tables.Images(ids), id=None)


def another_order(truth):
    back = truth.images.select(np.arange(len(truth.images))[::-1])
    return replace(truth, images=back, image=len(back) - 1 - truth.image)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (fewer, "2 images of the parts are not in the ground truth"),
        (more, "1 images of the ground truth are in no part.*image 9999"),
        (another_order, "another order"),
    ],
)
def test_images_must_be_those_of_the_truth(folders, tables, change, words):
    with pytest.raises(InputError, match=f"(?s)OS364.*{words}"):
        openset.evaluate(change(tables[0]), folders[1], **OPTIONS)


def test_every_bad_part_is_named_and_all_are_tried(folders):
    for number in (0, 2):
        path = folders[1] / f"part-{number:05d}.parquet"
        path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError) as caught:
        openset.evaluate(*folders, engine=engines.find("processes", 2), **OPTIONS)
    said = [finding.message for finding in caught.value.findings]
    assert len(said) == 2 and "part-00000" in said[0] and "part-00002" in said[1]


def test_swapped_folders(folders):
    with pytest.raises(InputError, match="OS106"):
        openset.evaluate(folders[1], folders[0], **OPTIONS)
    with pytest.raises(InputError, match="OS105"):
        openset.evaluate(folders[1], folders[1], **OPTIONS)


def test_two_sets_are_read_as_tables(folders, tables, tmp_path):
    from openset.tables.sets import Pair

    other, found = scene(9, images=5).tables()
    shifted = replace(other, images=openset.tables.Images(other.images.id + 1000))
    moved = replace(found, image=found.image + 1000)
    write(moved, tmp_path / "ood.parts", truth=shifted, per_part=2)
    given = Pair(tables[0], shifted), Pair(folders[1], tmp_path / "ood.parts")
    held = (
        Pair(tables[0], shifted),
        Pair(whole(folders)[1], read_detections(tmp_path / "ood.parts")),
    )
    assert numbers(openset.evaluate(*given, **OPTIONS)) == numbers(
        openset.evaluate(*held, **OPTIONS)
    )
    with pytest.raises(UsageError, match="of one set"):
        openset.evaluate(given[0], folders[1], engine=engines.find("local"), **OPTIONS)


def test_workers_may_stand_in_another_folder(folders, monkeypatch):
    monkeypatch.chdir(folders[0].parent)
    (part,) = [Parts.open(folders[1].relative_to(folders[0].parent)).only(1)]
    monkeypatch.chdir("/")
    assert len(part.read(0))
