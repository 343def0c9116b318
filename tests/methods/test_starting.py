"""Started from another model: what is remembered stays, and that of other classes is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from openset.findings import InputError, Level  # noqa: E402
from openset.training import TrainingData, train  # noqa: E402
from openset.training.loop import _foreseen, _prepared  # noqa: E402
from scenes.training import make_data, recipe, trained  # noqa: E402

METHODS = {
    "vos": {"queue": 5, "start": 0.3},
    "opendet": {"queue": 5, "start": 0.3},
    "opendet_cwa": {"queue": 5, "start": 0.3},
    "siren": {"inner": 4},
    "ore": {"items": 5, "start": 0.3},
    "pad": {"start": 0.3},
    "cosine": {},
    "recognition_loss": {"objective": "arpl"},
}
COUNTS = {"placed", "moves"}  # of the steps of a training


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def model(truth, tmp_path_factory):
    """The file of a model with a method, or with none; each is trained once."""
    made = {}

    def of(method):
        if method not in made:
            folder = tmp_path_factory.mktemp("model") / "run"
            made[method] = str(trained(truth, folder, **asked(method)).model)
        return made[method]

    return of


def asked(method):
    return {"method": method, "method_options": METHODS[method]} if method else {}


def started(truth, method, labels=("red", "green"), **which):
    data = replace(TrainingData.of(truth), labels=labels)
    return _prepared(recipe(**asked(method)), data, "cpu", *which.values())[0].model


@pytest.mark.parametrize("way", ["weights", "from"])
@pytest.mark.parametrize("method", ["vos", "opendet", "opendet_cwa", "siren", "ore"])
def test_what_it_remembers_of_its_classes_stays_with_the_weights_that_made_it(
    truth, model, method, way
):
    file = model(method)
    held = torch.load(file, weights_only=True)["model"]
    given = (file, None) if way == "weights" else (None, file)
    labels = ("red", "green") if way == "weights" else ("red", "green", "blue")
    one = started(truth, method, labels, weights=given[0], start=given[1]).method
    memory = dict(one.named_buffers())
    kept = [name for name in memory if name not in COUNTS and f"method.{name}" in held]
    assert kept
    for name in kept:
        before, after = held[f"method.{name}"], memory[name]
        if "held" in name:
            before, after = before[:10], after[:10]  # five of each of the two
        elif name != "anchor":
            before, after = before[:2], after[:2]
        assert before.any() and torch.equal(before, after)
    assert not any(memory[name].any() for name in COUNTS & memory.keys())


def test_a_queue_that_the_other_model_filled_is_no_forecast(truth, model):
    asked_for = recipe(**asked("vos"), steps=1)
    data = TrainingData.of(truth)
    few = replace(data, classes=tuple(one[:0] for one in data.classes))  # a task of other classes
    said = []
    for file in (None, model("vos")):
        state, _ = _prepared(asked_for, data, "cpu", file, None)
        said.append([one.code for one in _foreseen(state.model, asked_for, few)])
    assert said == [["OS619"], []]


OTHERS = [
    ("opendet", "opendet_cwa"),
    ("opendet_cwa", "opendet"),
    ("opendet", "cosine"),
    ("pad", ""),
    ("pad", "recognition_loss"),
    ("vos", "siren"),
]


@pytest.mark.parametrize("way", ["weights", "start"])
@pytest.mark.parametrize(("theirs", "ours"), OTHERS)
def test_the_model_of_another_method_is_refused(truth, model, tmp_path, theirs, ours, way):
    said = rf"OS605[\s\S]*trained with method '{theirs}', and this is a training with .*{ours}"
    with pytest.raises(InputError, match=said):
        train(recipe(**asked(ours)), TrainingData.of(truth), tmp_path / "run", device="cpu",
              **{way: model(theirs)})  # fmt: skip
    assert not (tmp_path / "run").exists()


def test_an_oracle_is_not_started_from_pad_though_all_names_and_shapes_agree(truth, model):
    data = TrainingData.of(truth)
    with pytest.raises(InputError, match=r"OS605[\s\S]*method 'pad'.*method 'oracle'"):
        _prepared(recipe(method="oracle"), data, "cpu", model("pad"), None)


@pytest.mark.parametrize("method", ["", *METHODS])
def test_the_same_classes_in_another_order_are_refused(truth, model, tmp_path, method):
    data = replace(TrainingData.of(truth), labels=("green", "red"))
    with pytest.raises(InputError, match=r"OS664.*in another order[\s\S]*--known red,green"):
        train(recipe(**asked(method)), data, tmp_path / "run", device="cpu", weights=model(method))
    assert not (tmp_path / "run").exists()


def test_other_classes_are_refused_with_a_method_and_said_without(truth, model):
    other = replace(TrainingData.of(truth), labels=("cat", "dog"))
    with pytest.raises(InputError, match=r"OS664[\s\S]*what vos remembers of its classes"):
        _prepared(recipe(**asked("vos")), other, "cpu", model("vos"), None)
    more = replace(other, labels=("red", "green", "blue"))
    with pytest.raises(InputError, match=r"OS664[\s\S]*--from in place of --weights"):
        _prepared(recipe(**asked("vos")), more, "cpu", model("vos"), None)
    less = replace(other, labels=("red",))
    with pytest.raises(InputError, match=r"class 1 is 'green' there, missing here"):
        _prepared(recipe(**asked("vos")), less, "cpu", model("vos"), None)
    _, (said,) = _prepared(recipe(), other, "cpu", model(""), None)
    assert (said.code, said.level, said.count) == ("OS664", Level.WARNING, 2)
    assert said.example == "class 0 is 'red' there, 'cat' here"


def test_a_plain_detector_and_another_spelling_are_a_start(truth, model, tmp_path):
    found = []
    data = replace(TrainingData.of(truth), labels=("Red", "green"))
    train(recipe(steps=1, **asked("vos")), data, tmp_path / "run", device="cpu",
          weights=model(""), report=found.append)  # fmt: skip
    assert "OS664" not in [one.code for one in found]
    assert _prepared(recipe(**asked("vos")), data, "cpu", model("vos"), None)[1] == []
