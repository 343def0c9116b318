"""The loop: it learns, it goes on after a kill to the same weights, and it says what is wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

import openset  # noqa: E402
from openset.detectors import ImageFiles, find, load, run  # noqa: E402
from openset.findings import InputError, UsageError  # noqa: E402
from openset.formats import read_annotations  # noqa: E402
from openset.nets.weights import read  # noqa: E402
from openset.training import Recipe, TrainingData, train  # noqa: E402
from openset.training._diverged import divergence_guard  # noqa: E402
from openset.training.loop import TrainingState  # noqa: E402
from scenes.training import LABELS, SCRIPT, log, make_data, recipe, same, trained, weights  # noqa: E402


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def whole(truth, tmp_path_factory):
    return trained(truth, tmp_path_factory.mktemp("whole") / "run")


def test_a_killed_training_goes_on_to_the_same_weights(truth, whole, tmp_path):
    folder = tmp_path / "run"
    command = [sys.executable, str(SCRIPT), str(folder), str(truth), "5"]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert read(folder / "checkpoint.pt")["step"] == 3
    assert not (folder / "model.pt").exists()
    again = trained(truth, folder)
    assert again.resumed == 3
    assert same(weights(again.folder), weights(whole.folder))
    assert same(weights(folder, "checkpoint.pt"), weights(whole.folder, "checkpoint.pt"))
    assert [row["step"] for row in log(folder)] == list(range(1, 9))
    assert log(folder) == log(whole.folder)


def test_the_rest_of_a_killed_write_is_cleared_away(truth, whole):
    (whole.folder / ".openset-killed").mkdir()
    os.utime(whole.folder / ".openset-killed", (0, 0))
    trained(truth, whole.folder)
    names = sorted(path.name for path in whole.folder.iterdir())
    assert names == ["checkpoint.pt", "log.jsonl", "model.pt", "run.json"]


def test_processes_that_decode_change_nothing(truth, whole, tmp_path):
    done = train(recipe(), TrainingData.of(truth), tmp_path / "run", device="cpu", workers=1)
    assert same(weights(done.folder), weights(whole.folder))


def test_a_finished_training_is_not_repeated(truth, whole):
    again = trained(truth, whole.folder)
    assert again.resumed == 8
    assert same(weights(again.folder), weights(whole.folder))


def test_a_seed_decides_everything(truth, whole, tmp_path):
    other = trained(truth, tmp_path / "other", seed=1)
    assert not same(weights(other.folder), weights(whole.folder))


def test_the_mean_of_weights_is_saved_and_differs_from_the_last(whole):
    assert not same(weights(whole.folder), weights(whole.folder, "checkpoint.pt"))


def test_it_learns_and_its_model_runs(truth, tmp_path):
    done = trained(truth, tmp_path / "run", steps=60, batch=4, lr=3e-3, flip=0.0, jitter=0.0)
    table = read_annotations(truth)
    found = run(load(str(done.model), device="cpu"), ImageFiles.of_annotations(table, truth.parent))
    assert found.labels == LABELS
    assert found.logits.shape[1] == 3
    result = openset.evaluate(table, found, known=list(LABELS), protocol="coco")
    assert float(result.value("ap_known")) > 0.4


@pytest.mark.parametrize("workers", [0, 1])
def test_an_image_that_cannot_be_decoded_is_named(tmp_path, workers):
    truth = make_data(tmp_path)
    (tmp_path / "5.png").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"OS603[\s\S]*5\.png"):
        train(recipe(), TrainingData.of(truth), tmp_path / "run", device="cpu", workers=workers)


def test_a_folder_of_another_training_is_refused(truth, whole):
    with pytest.raises(InputError, match=r"OS609[\s\S]*lr was 0.001, now 0.1"):
        trained(truth, whole.folder, lr=0.1)
    table = read_annotations(truth)
    with pytest.raises(InputError, match="another data"):
        train(recipe(), TrainingData.of(table.select(table.image < 4), truth.parent), whole.folder)


def test_a_checkpoint_that_does_not_say_whose_it_is_is_refused(truth, whole, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(whole.folder, folder)
    (folder / "run.json").unlink()
    with pytest.raises(InputError, match=r"OS609.*without run\.json"):
        trained(truth, folder, lr=0.1)
    assert not (folder / "run.json").exists()


def test_a_folder_of_an_older_version_that_knew_fewer_keys_is_gone_on_with(truth, whole, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(whole.folder, folder)
    about = json.loads((folder / "run.json").read_text())
    assert about["recipe"].pop("restarts") == 0
    (folder / "run.json").write_text(json.dumps(about))
    assert trained(truth, folder).resumed == whole.step
    with pytest.raises(InputError, match="restarts was 0, now 1"):
        trained(truth, folder, restarts=1)


def test_a_damaged_checkpoint_is_refused(truth, whole, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(whole.folder, folder)
    (folder / "checkpoint.pt").write_bytes(b"PK\x03\x04 cut off")
    with pytest.raises(InputError, match="OS604"):
        trained(truth, folder)


def test_a_loss_that_exploded_is_said_though_it_fell_again(truth, whole, tmp_path):
    assert not [one for one in whole.findings if one.code == "OS621"]
    assert log(whole.folder)[0]["step"] == 1
    done = trained(truth, tmp_path / "run", lr=2.0, steps=20)
    (said,) = [one for one in done.findings if one.code == "OS621"]
    worst = max(row["loss"] for row in log(done.folder))
    assert f"{worst:,.0f}" in said.message and "at step 1" in said.message
    again = trained(truth, tmp_path / "run", lr=2.0, steps=20)
    assert [one.code for one in again.findings] == [one.code for one in done.findings]


def test_pixels_that_changed_are_noticed(whole, tmp_path):
    from PIL import Image

    truth = make_data(tmp_path)
    folder = tmp_path / "run"
    shutil.copytree(whole.folder, folder)
    assert trained(truth, folder).resumed == 8  # the same pictures, elsewhere
    image = Image.open(tmp_path / "5.png").convert("RGB")
    image.putpixel((3, 3), (1, 2, 3))
    image.save(tmp_path / "5.png")
    with pytest.raises(InputError, match=r"OS613[\s\S]*5\.png"):
        trained(truth, folder)
    about = json.loads((folder / "run.json").read_text())
    del about["pictures"]  # an older version did not look
    (folder / "run.json").write_text(json.dumps(about))
    assert trained(truth, folder).resumed == 8


@pytest.mark.parametrize("part", ["model", "average"])
def test_weights_that_are_not_finite_are_not_gone_on_with(part, truth, whole, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(whole.folder, folder)
    held = read(folder / "checkpoint.pt")
    state = held["average"]["state"] if part == "average" else held["model"]
    name = next(name for name, value in state.items() if value.is_floating_point())
    state[name] = torch.full_like(state[name], float("nan"))
    torch.save(held, folder / "checkpoint.pt")
    with pytest.raises(InputError, match=rf"OS614[\s\S]*{name}"):
        trained(truth, folder)


def test_half_a_checkpoint_is_refused(truth, whole, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(whole.folder, folder)
    held = read(folder / "checkpoint.pt")
    for key in ("optimizer", "scaler", "average", "model"):
        torch.save({k: v for k, v in held.items() if k != key}, folder / "checkpoint.pt")
        with pytest.raises(InputError, match=rf"OS604[\s\S]*{key}"):
            trained(truth, folder)


def test_a_processor_that_stops_at_bfloat16_is_noticed_first(truth, tmp_path, monkeypatch):
    from openset.nets import device

    monkeypatch.setattr(device, "names_amx", lambda: True)
    monkeypatch.setattr(device, "BFLOAT16", "import os; os.kill(os.getpid(), 4)")
    with pytest.raises(InputError, match="OS616"):
        trained(truth, tmp_path / "run", precision="bfloat16")
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr(device, "BFLOAT16", "pass")
    device.refuse_broken_bfloat16()


def test_a_loss_that_is_not_finite_stops_and_keeps_the_last_checkpoint(truth, tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(InputError, match="OS608"):
        trained(truth, folder, lr=1e8, optimizer="sgd", clip=0.0, steps=30)
    if (folder / "checkpoint.pt").exists():
        kept = weights(folder, "checkpoint.pt")
        assert all(torch.isfinite(v).all() for n, v in kept.items() if "running" not in n)


@pytest.mark.parametrize("lr", [3.0, 1e3, 1e12])
def test_a_training_that_diverges_between_two_lines_of_the_log_says_so(truth, tmp_path, lr):
    chosen = recipe(lr=lr, optimizer="sgd", clip=0.0, ema=0.0, steps=60)
    with pytest.raises(InputError, match="OS608"):
        train(chosen, TrainingData.of(truth), tmp_path / "run", device="cpu", log_every=20)


def test_a_layer_that_overflows_with_finite_weights_is_named():
    network = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
    torch.nn.init.ones_(network[0].weight)
    torch.nn.init.constant_(network[1].weight, 3e38)
    step = lambda: torch.bincount(network(torch.full((1, 2), 9.0)).long().flatten())  # noqa: E731
    named = pytest.raises(InputError, match=r"OS608  step 5 failed[\s\S]*output of 1")
    with named, divergence_guard(network, 4, step):
        raise RuntimeError("Storage size calculation overflowed")


def test_what_fails_with_finite_numbers_is_no_divergence():
    network = torch.nn.Linear(2, 2)
    again = lambda: network(torch.ones(1, 2))  # noqa: E731
    with pytest.raises(RuntimeError, match="a bug"), divergence_guard(network, 4, again):
        raise RuntimeError("a bug")
    with pytest.raises(UsageError, match="no option"), divergence_guard(network, 4, None):
        raise UsageError("no option")


def test_what_cannot_be_trained_is_said(truth, tmp_path):
    data = TrainingData.of(truth)
    with pytest.raises(UsageError, match="cannot be trained"):
        train(recipe(detector="owlv2", options={}), data, tmp_path / "a")
    with pytest.raises(UsageError, match="nothing was learned before"):
        train(Recipe.of("vos-voc"), data, tmp_path / "b")
    assert not list(tmp_path.iterdir())


def test_two_processes_train_as_one_program(truth, tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone",
               str(SCRIPT), str(tmp_path / "run"), str(truth), "-1"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert [row["step"] for row in log(tmp_path / "run")] == list(range(1, 9))
    assert load(str(tmp_path / "run/model.pt"), device="cpu").labels == LABELS


def test_float16_is_float32_on_a_cpu_and_said(truth, tmp_path):
    said, kinds = [], set()

    def watch(_part, _given, output):
        kinds.update({output.dtype} if isinstance(output, torch.Tensor) else ())

    hook = torch.nn.modules.module.register_module_forward_hook(watch)
    try:
        chosen, data = recipe(precision="float16", steps=2), TrainingData.of(truth)
        train(chosen, data, tmp_path / "run", device="cpu", report=said.append)
    finally:
        hook.remove()
    assert kinds == {torch.float32} and [one.code for one in said] == ["OS643"]
    train(recipe(steps=2), data, tmp_path / "plain", device="cpu", report=said.append)
    assert len(said) == 1 and same(weights(tmp_path / "run"), weights(tmp_path / "plain"))


def test_a_class_without_an_object_is_said_before_the_first_step(truth, tmp_path):
    data, said = TrainingData.of(truth), []
    more = replace(data, labels=(*data.labels, "blue"))
    train(recipe(steps=1), more, tmp_path / "run", device="cpu", report=said.append)
    train(recipe(steps=1), data, tmp_path / "all", device="cpu", report=said.append)
    assert [(one.code, one.count, one.example) for one in said] == [("OS641", 1, "blue")]
    start = {"start": tmp_path / "all/model.pt", "report": said.append}  # it may have been learned
    train(recipe(steps=1), more, tmp_path / "next", device="cpu", **start)
    assert len(said) == 1


def test_half_precision_trains(truth, tmp_path):
    done = trained(truth, tmp_path / "run", precision="bfloat16", steps=2)
    assert all(torch.isfinite(v).all() for v in weights(done.folder).values())


def test_tensorboard_that_is_missing_is_a_finding(truth, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(InputError, match=r"OS601[\s\S]*tensorboard"):
        train(recipe(), TrainingData.of(truth), tmp_path / "run", device="cpu", tensorboard=True)


def test_biases_are_decayed_only_where_the_recipe_says_so():
    model = find("faster_rcnn").build(("red", "green"), device="cpu", backbone="small")
    names = {id(weight): name for name, weight in model.named_parameters()}

    def decayed(**changes):
        groups = TrainingState.of(recipe(**changes), model).optimizer.param_groups
        return {names[id(w)] for g in groups if g["weight_decay"] for w in g["params"]}

    plain, more = decayed(), decayed(decay_bias=True)
    assert plain and all(name.endswith("weight") for name in plain)
    added = more - plain
    assert added and all(name.endswith("bias") for name in added)
    assert not any("backbone.stem.1" in name for name in more)  # a norm


def test_a_step_that_cannot_be_compiled_is_refused_before_the_folder_is_made(truth, tmp_path):
    pytest.importorskip("transformers", reason="the transformers extra is not installed")
    chosen = recipe(detector="rt_detr", options={"size": "small"})
    with pytest.raises(UsageError, match="detector 'rt_detr' has no step that can be compiled"):
        train(chosen, TrainingData.of(truth), tmp_path / "run", device="cpu", compile=True)
    assert not (tmp_path / "run").exists()


@pytest.mark.skipif(shutil.which("g++") is None, reason="torch compiles with it")
@pytest.mark.parametrize("detector", ["fcos", "retinanet"])
def test_the_backbone_of_a_dense_detector_is_compiled_and_its_losses_are_the_same(detector, truth):
    made = []
    for compiled in (False, True):
        torch.manual_seed(0)
        options = {"backbone": "small", "shortest": 64, "longest": 64}
        model = find(detector).build(LABELS, device="cpu", **options).train()
        names = model.state_dict().keys()
        if compiled:
            model.compile_step()
        images = [torch.rand(3, 64, 64, generator=torch.Generator().manual_seed(1))] * 2
        target = {"boxes": torch.tensor([[5.0, 5, 40, 40]]), "labels": torch.tensor([1])}
        made.append(model(images, [target] * 2))
        assert model.state_dict().keys() == names
    for name, loss in made[0].items():
        torch.testing.assert_close(loss, made[1][name], rtol=1e-4, atol=1e-5)
