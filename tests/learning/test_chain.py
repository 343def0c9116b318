"""The chain: task after task to one table, whatever stopped it on the way."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.evaluation.learned import Learned  # noqa: E402
from openset.evaluation.run import Run  # noqa: E402
from openset.evaluation.settings import Settings  # noqa: E402
from openset.findings import InputError, UsageError  # noqa: E402
from openset.formats import read_annotations, write  # noqa: E402
from openset.learning import bundle_of, stages_of  # noqa: E402
from openset.learning.exemplars import Exemplars  # noqa: E402
from openset.learning.stages import pooled  # noqa: E402
from openset.nets.weights import read, read_model  # noqa: E402
from openset.tables import Detections  # noqa: E402
from openset.tables.union import merged  # noqa: E402
from openset.training import Recipe  # noqa: E402
from scenes.learning import SCRIPT, learned, make_world, recipe  # noqa: E402
from scenes.training import log, same, weights  # noqa: E402

STAGES = ("t1", "t2", "t2-ft")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return make_world(tmp_path_factory.mktemp("world") / "world")


@pytest.fixture(scope="module")
def whole(world, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "out"
    assert learned(world, out).done
    return out


def test_a_model_starts_from_the_one_before_and_knows_more(whole):
    labels = [read_model(whole / name / "model.pt")[0]["labels"] for name in STAGES]
    assert labels[0] == ["zero", "one", "two"]
    assert labels[1] == labels[2] == [*labels[0], "three", "four", "five"]
    begun = [json.loads((whole / name / "run.json").read_text()).get("start") for name in STAGES]
    assert begun[0] is None and None not in begun[1:] and begun[1] != begun[2]


def test_the_table_has_a_row_per_stage_with_what_evaluate_says(whole):
    chain = Learned.load(whole)
    assert [row.name for row in chain.rows] == [*STAGES]
    for row in chain.rows:
        result = Run.load(whole / "evaluation" / row.name).evaluations["model"]
        assert row.value("a_ose") == result.values["a_ose"].value
        assert row.value("ap_known") == result.values["ap_known"].value
    assert chain.rows[0].value("ap_previous") is None and chain.rows[0].forgetting is None
    assert set(chain.rows[2].drops) == {"zero", "one", "two"}
    text = (whole / "learned.md").read_text()
    assert all(name in text for name in (*STAGES, "AP previous", "A-OSE", "forgetting"))


def test_a_task_shows_its_new_classes_alone_and_fine_tuning_all(whole):
    first, second, tuned = Learned.load(whole).rows
    assert set(second.objects) == {"three", "four", "five"}
    assert set(tuned.objects) == {*first.objects, *second.objects}
    assert all(tuned.objects.values())


def assert_ends_alike(world, out, whole):
    assert learned(world, out).done
    for name in STAGES:
        assert same(weights(out / name), weights(whole / name)), name
    assert (out / "learned.json").read_bytes() == (whole / "learned.json").read_bytes()


KILLS = 10


@pytest.fixture(scope="module")
def killed(world, tmp_path_factory):
    """Chains that were killed, each at a random moment of a training or an evaluation."""
    out = tmp_path_factory.mktemp("killed")
    command = [sys.executable, str(SCRIPT), str(world), str(out), str(KILLS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = [*(f"{name}/model.pt" for name in STAGES), *(f"evaluation/{name}" for name in STAGES)]
    done_by = {sum((out / str(at) / file).exists() for file in files) for at in range(KILLS)}
    assert len(done_by) >= 4, "the moments are all alike"
    return out


@pytest.mark.parametrize("at", range(KILLS))
def test_a_killed_chain_goes_on_to_the_same_weights_and_table(world, whole, killed, at):
    assert_ends_alike(world, killed / str(at), whole)


@pytest.mark.parametrize(("lost", "cut"), [(("t1", "t2", "t2-ft"), 0), (("t2", "t2-ft"), 1)])
def test_a_chain_that_ended_between_stages_goes_on(world, whole, tmp_path, lost, cut):
    """As a kill after the training of a stage and before its evaluation leaves it."""
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    for name in lost:
        shutil.rmtree(out / "evaluation" / name)
    for name in lost[1:]:
        shutil.rmtree(out / name)
    chain = Learned.load(out)
    replace(chain, rows=chain.rows[:cut]).save(out)
    assert_ends_alike(world, out, whole)


def test_a_chain_that_is_asked_to_end_ends_and_goes_on(world, whole, tmp_path):
    out = tmp_path / "out"
    asked = iter([False] * 6 + [True])  # not after a last step: five times, then in task 2
    went = learned(world, out, stop=lambda: next(asked))
    assert not went.done and [row.name for row in went.learned.rows] == ["t1"]
    assert read(out / "t2" / "checkpoint.pt")["step"] == 2
    assert_ends_alike(world, out, whole)


def test_two_processes_learn_one_chain(world, tmp_path):
    """One group of processes for all trainings and runs: it cannot be made a second time."""
    out = tmp_path / "out"
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    command = [*launch, "--standalone", str(SCRIPT), str(world), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [row.name for row in Learned.load(out).rows] == [*STAGES]


def test_what_is_done_is_not_done_again(world, whole, tmp_path, monkeypatch):
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    shutil.rmtree(out / "evaluation" / "t2")
    judged = []

    def noting(truth, found, **options):
        from openset.evaluation.run import evaluate_all

        judged.append(len(truth.images))
        return evaluate_all(truth, found, **options)

    monkeypatch.setattr("openset.learning.chain.evaluate_all", noting)
    steps = []
    assert learned(world, out, lambda stage, progress: steps.append(progress.step)).done
    assert not steps and len(judged) == 1
    assert (out / "learned.json").read_bytes() == (whole / "learned.json").read_bytes()
    learned(world, out, settings=Settings(intervals=False, protocol="owod"))
    assert len(judged) == 4  # what is asked otherwise is measured again


def test_other_test_pictures_are_measured_anew(world, whole, tmp_path):
    from PIL import Image

    here, out = tmp_path / "world", tmp_path / "out"
    shutil.copytree(world, here)
    shutil.copytree(whole, out)
    before = {at: (out / "evaluation" / at / "run.json").read_bytes() for at in STAGES}
    test = next(part for part in bundle_of(here).parts if (part.kind, part.task) == ("test", 1))
    name = str(test.table.images.file_name[0])
    with Image.open(here / name) as picture:
        Image.new("RGB", picture.size).save(here / name)
    steps = []
    assert learned(here, out, lambda stage, progress: steps.append(progress.step)).done
    assert not steps  # of training
    after = {at: (out / "evaluation" / at / "run.json").read_bytes() for at in STAGES}
    assert after["t1"] != before["t1"]


def test_another_chain_is_refused(world, whole):
    with pytest.raises(InputError) as error:
        learned(world, whole, recipe=recipe(lr=2e-3))
    assert error.value.findings[0].code == "OS609"


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (Exemplars("published", count=1), "count was 50, now 1"),
        (Exemplars("published", seed=7), "seed was 0, now 7"),
        (Exemplars("scored"), "rule was 'published', now 'scored'"),
        (Exemplars("none"), "rule was 'published', now 'none'"),
    ],
    ids=str,
)
def test_other_exemplars_are_refused(world, tmp_path, other, says):
    """A list, or a table, that is there would otherwise be that of the other rule."""
    made = Exemplars("published")
    asked = iter([False] * 5 + [True])
    out = tmp_path / "out"
    assert not learned(world, out, exemplars=made, stop=lambda: next(asked)).done
    before = (out / "learned.json").read_bytes()
    with pytest.raises(InputError, match="OS609") as error:
        learned(world, out, exemplars=other)
    assert error.value.findings[0].example == says
    assert (out / "learned.json").read_bytes() == before
    assert not learned(world, out, exemplars=made, stop=lambda: True).done  # the same goes on


def test_a_folder_of_more_tasks_is_refused(world, whole, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    held = Learned.load(out)
    replace(held, tasks=(*held.tasks, ("six",))).save(out)
    with pytest.raises(InputError, match=r"OS609.*other tasks"):
        learned(world, out)


def test_another_start_is_refused(world, whole, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(whole, out)
    shutil.rmtree(out / "t1")
    # As if the first task had been another: the second one did not start from this.
    for name in ("t2", "t2-ft"):
        about = json.loads((out / name / "run.json").read_text())
        (out / name / "run.json").write_text(json.dumps({**about, "start": "0" * 16}))
    with pytest.raises(InputError, match="another start"):
        learned(world, out)


@pytest.mark.parametrize("name", ["ore-digits", "pad-digits"])
def test_stages_have_what_the_recipe_of_a_method_says(world, tmp_path, name):
    changes = {"batch": 2, "options": {"shortest": 64, "longest": 64}}
    by = Recipe.of(name, **changes, method_options={}).scaled(6)
    learned(world, tmp_path / "out", recipe=by)
    for stage in STAGES:
        used = json.loads((tmp_path / "out" / stage / "run.json").read_text())["recipe"]
        wanted = by.at(int(stage[1]), finetune=stage.endswith("ft"))
        assert used["method_options"] == wanted.method_options
        assert (used["steps"], used["lr"]) == (wanted.steps, wanted.lr)
    if name.startswith("ore"):  # clusters in the tasks, and neither these nor a store afterwards
        found = ["method_clusters" in log(tmp_path / "out" / stage)[-1] for stage in STAGES]
        assert found == [True, True, False]
        task, tuned = (weights(tmp_path / "out" / stage) for stage in STAGES[1:])
        assert torch.equal(task["method.store.held"], tuned["method.store.held"])
        assert task["method.moves"] > 0 and tuned["method.moves"] == 0  # counted anew


def test_a_chain_without_exemplars_has_no_fine_tuning(world, tmp_path):
    went = learned(world, tmp_path / "out", exemplars=Exemplars("none"))
    assert [row.name for row in went.learned.rows] == ["t1", "t2"]
    assert went.learned.about["exemplars"]["rule"] == "none"


def test_a_benchmark_that_fails_its_audit_is_refused_before_training(world, tmp_path):
    folder = tmp_path / "world"
    shutil.copytree(world, folder)
    path = folder / "train-t2.json"
    held, test = (json.loads(p.read_text()) for p in (path, folder / "test-t2.json"))
    stolen = test["images"][0]
    held["images"].append(stolen)
    box = {**held["annotations"][0], "id": 10**6, "image_id": stolen["id"]}
    held["annotations"].append(box)
    path.write_text(json.dumps(held))
    with pytest.raises(InputError) as error:
        learned(folder, tmp_path / "out")
    assert error.value.findings[0].code == "OS667"
    assert not (tmp_path / "out").exists()
    assert learned(folder, tmp_path / "out", force=True).done


def advice(world, path, lacking=(), shift=0.0):
    """Boxes for the training images of both tasks, but for some."""
    pool = pooled(bundle_of(world), 2)
    image = pool.images.id[pool.image]
    rows = np.flatnonzero(~np.isin(image, lacking))
    boxes = pool.box[rows] + [shift, 0, 0, 0]
    score = np.full(len(rows), 0.5)
    write(Detections(image[rows], np.zeros(len(rows), int), boxes, score, ("object",)), path)
    return str(path)


@pytest.mark.parametrize("wrong", ["an image without advice", "advice of other sizes", "an option"])
def test_what_a_later_task_cannot_be_trained_with_is_said_before_the_first(world, tmp_path, wrong):
    first, second = (stage.table.images.id for stage in stages_of(bundle_of(world))[:2])
    only_later = np.setdiff1d(second, first)[:1]
    assert len(only_later)
    made = {"lacking": only_later if wrong.startswith("an image") else (),
            "shift": 50.0 * wrong.endswith("sizes")}  # fmt: skip
    file = advice(world, tmp_path / "advice.parquet", **made)
    told = {"later": {"steps": 4, "method_options": {"most": -1}}} if wrong == "an option" else {}
    by = recipe(method="pad", method_options={"advisor": file}, **told)
    code = {"an image without advice": "OS672", "advice of other sizes": "OS673"}.get(wrong, "")
    with pytest.raises((InputError, UsageError), match=code or "option most .* at least 1"):
        learned(world, tmp_path / "out", recipe=by)
    assert not (tmp_path / "out").exists()
    if wrong.startswith("an image"):
        every = advice(world, tmp_path / "advice.parquet")
        by = recipe(method="pad", method_options={"advisor": every})
        assert learned(world, tmp_path / "out", recipe=by).done


def test_an_oracle_is_told_by_another_file(tmp_path):
    """What becomes known is unknown before, and what never does is so to the end."""
    world = make_world(tmp_path / "world", train_unknowns="unlabelled")
    parts = [read_annotations(world / f"train-t{task}-complete.json") for task in (1, 2)]
    every = merged(parts, sorted({label for part in parts for label in part.labels}))
    write(every, tmp_path / "truth.json")
    by = recipe(method="oracle", method_options={"truth": str(tmp_path / "truth.json")})
    for row in learned(world, tmp_path / "out", recipe=by).learned.rows:
        about, _ = read_model(tmp_path / "out" / row.name / "model.pt")
        assert about["taught"]["objects"] > sum(row.objects.values())
    with pytest.raises(InputError, match="OS674"):
        learned(world, tmp_path / "none", recipe=recipe(method="oracle"))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("lost", ["test-t2", "train-t2"])
def test_pictures_that_a_later_task_lacks_are_said_before_the_first(world, tmp_path, lost):
    folder = tmp_path / "world"
    shutil.copytree(world, folder)
    held, first = (json.loads((folder / f"{n}.json").read_text()) for n in (lost, lost[:-1] + "1"))
    names = [one["file_name"] for one in held["images"]]
    alone = {*names} - {one["file_name"] for one in first["images"]} or {*names}
    (folder / sorted(alone)[0]).unlink()
    with pytest.raises(InputError) as error:
        learned(folder, tmp_path / "out")
    assert sorted(alone)[0] in str(error.value)
    assert not (tmp_path / "out").exists()


def test_boxes_that_the_policy_does_not_show_reach_no_training(world, tmp_path):
    """A train split that names an old class: its objects are left out, whatever the file has."""
    bundle = bundle_of(world)
    stage = stages_of(bundle)[1]
    assert stage.table is not None
    old = np.flatnonzero(stage.table.label == stage.table.labels.index("three"))
    label = stage.table.label.copy()
    label[old] = stage.table.labels.index("zero")
    changed = replace(stage, table=replace(stage.table, label=label))
    data = changed.data(world)
    taught = {data.labels[at] for classes in data.classes for at in classes.tolist()}
    assert taught == {"four", "five"}
    assert data.left_out["of other classes"] == len(old)


def test_a_stage_without_a_right_detection_expels_nothing_and_says_so(world, tmp_path):
    went = learned(world, tmp_path / "out", expel=True, phi=0.999)
    said = [one for one in went.findings if one.code == "OS671"]
    assert went.done and len(said) == len(STAGES)
    assert all(one.message.startswith(f"{at}: CEC") for one, at in zip(said, STAGES, strict=True))
    assert went.learned.about["expel"] == 0.999
    with pytest.raises(UsageError, match="phi must be"):
        learned(world, tmp_path / "other", expel=True, phi=1.5)
    assert not (tmp_path / "other").exists()


def test_classes_may_expel_what_is_unknown(world, tmp_path, monkeypatch):
    """A detector that finds every object, and is half as sure of what it does not know."""
    import openset.learning.chain as chain
    from openset.tables import LogitLayout

    asked = []

    def perfect(model, images, *, keep, split):
        asked.append(split)
        table = tables[frozenset(images.id.tolist())]
        known = np.array([model.labels.index(k) if k in model.labels else -1 for k in table.labels])
        label = known[table.label]
        sure = np.where(label < 0, 0.5, 0.9)
        logits = np.full((len(table), len(model.labels)), -9.0, np.float32)
        logits[np.arange(len(table)), np.maximum(label, 0)] = np.log(sure / (1 - sure))
        return Detections(
            table.images.id[table.image], np.maximum(label, 0), table.box, sure, model.labels,
            logits=logits, layout=LogitLayout.SIGMOID, provenance={"split": split},
        )  # fmt: skip

    bundle = bundle_of(world)
    every = [part.table for part in bundle.parts] + [pooled(bundle, task) for task in (1, 2)]
    tables = {frozenset(table.images.id.tolist()): table for table in every}
    monkeypatch.setattr(chain, "run", perfect)
    plain, expelled = (
        learned(world, tmp_path / str(expel), expel=expel).learned.rows[0]
        for expel in (False, True)
    )
    assert {"world train", "world val", "world test"} == set(asked)
    assert plain.value("a_ose") > 0 and expelled.value("a_ose") == 0
    assert expelled.value("unknown_recall") == 1.0
    assert expelled.value("ap_known") == pytest.approx(1.0)
