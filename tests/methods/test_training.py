"""Trained with a method: off it is the base training; killed, it goes on; saved, it is back."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

import openset

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from torch import nn  # noqa: E402

import openset.scorers  # noqa: E402
from openset.detectors import ImageFiles, load, run  # noqa: E402
from openset.findings import InputError, UsageError  # noqa: E402
from openset.formats import read_annotations  # noqa: E402
from openset.methods.pad import Pad  # noqa: E402
from openset.training import Recipe, TrainingData, train  # noqa: E402
from openset.training._average import Average  # noqa: E402
from openset.training.loop import _foreseen, _prepared  # noqa: E402
from scenes.training import SCRIPT, log, make_data, recipe, same, trained, weights  # noqa: E402

METHOD = {"method": "recognition_loss", "method_options": {"objective": "arpl", "weight": 0.1}}


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def whole(truth, tmp_path_factory):
    return trained(truth, tmp_path_factory.mktemp("whole") / "run", **METHOD).folder


@pytest.fixture(scope="module")
def base(truth, tmp_path_factory):
    return trained(truth, tmp_path_factory.mktemp("base") / "run").folder


OFF = [
    ("recognition_loss", {"weight": 0.0}, ""),
    ("recognition_loss", {"start": 1.0}, ""),
    ("vos", {"weight": 0.0}, ""),
    ("vos", {"start": 1.0}, ""),
    ("siren", {"weight": 0.0}, ""),
    ("ore", {"top": 0, "weight": 0.0}, ""),
    ("ore", {"top": 0, "start": 1.0}, ""),
    ("pad", {"start": 1.0}, "pad_off"),
    ("opendet", {"weight": 0.0, "contrast": 0.0}, "opendet_off"),
    ("opendet_cwa", {"weight": 0.0, "contrast": 0.0, "anchor_weight": 0.0}, "opendet_cwa_off"),
]


OTHERWISE = {"pad": {"overlap": 1.01, "guide_overlap": 1.01, "start": 0.0}}


@pytest.mark.parametrize(("name", "options", "beside"), OFF)
def test_off_it_is_the_base_training_bit_for_bit(
    truth, base, tmp_path, name, options, beside, monkeypatch
):
    monkeypatch.setattr(Pad, "ranges", {})  # an overlap above 1 is refused: it confirms nothing
    off = trained(truth, tmp_path / "run", method=name, method_options=options).folder
    if beside:  # a head of its own: the base is that head with other losses off in another way
        other = OTHERWISE.get(name) or {**options, "weight": 1.0, "start": 1.0, "queue": 3}
        base = trained(truth, tmp_path / beside, method=name, method_options=other).folder
    for file in ("model.pt", "checkpoint.pt"):
        mine, theirs = (
            {key: value for key, value in weights(one, file).items() if "method." not in key}
            for one in (off, base)
        )
        assert same(mine, theirs)
    assert log(off) == log(base)
    assert name == "pad" or any(key.startswith("method.") for key in weights(off))


def test_it_is_trained_with_the_detector(whole, base):
    assert all(row["method_recognition"] > 0 for row in log(whole))
    names = {name for name in weights(whole) if name.startswith("method.objective.")}
    assert names
    assert not torch.equal(*(weights(f)["roi_heads.box_head.fc6.weight"] for f in (whole, base)))


def test_it_knows_how_far_the_training_is(truth, tmp_path):
    options = {"start": 0.5, "objective": "ce_plus"}
    done = trained(
        truth, tmp_path / "run", method="recognition_loss", method_options=options
    ).folder
    assert [row["step"] for row in log(done) if "method_recognition" in row] == [5, 6, 7, 8]


BANKS = [
    METHOD,
    {"method": "vos", "method_options": {"queue": 3, "start": 0.3}},
    {"method": "opendet", "method_options": {"queue": 5, "start": 0.3}},
    {"method": "opendet_cwa", "method_options": {"queue": 5, "start": 0.3}},
    {"method": "siren"},
    {"method": "ore", "method_options": {"items": 3, "start": 0.3, "every": 0.2}},
    {"method": "pad", "method_options": {"start": 0.3}},
    {"method": "cosine"},
    {"detector": "mask_rcnn", "method": "vos", "method_options": {"queue": 3, "start": 0.3}},
    {"detector": "mask_rcnn", "method": "siren", "ema": 0.0},
]
QUERIES = [
    {"detector": "rt_detr", "options": {"size": "small"}},
    {"detector": "deformable_detr", "options": {"size": "small", "queries": 20}},
]
ON_QUERIES = [
    {"method": "siren", "method_options": {"inner": 8}},
    {"method": "recognition_loss", "method_options": {"objective": "arpl"}},
    {"method": "prob", "method_options": {"group": 2}},
]
if find_spec("transformers"):
    BANKS += [{**detector, **one} for detector in QUERIES for one in ON_QUERIES]


OFF_ON_QUERIES = [
    ("siren", {"weight": 0.0}),
    ("recognition_loss", {"weight": 0.0}),
    ("prob", {"weight": 0.0, "empty": 0.0, "group": 2}),
]


@pytest.mark.skipif(not find_spec("transformers"), reason="the transformers extra is not installed")
@pytest.mark.parametrize("detector", QUERIES, ids=lambda one: one["detector"])
def test_off_it_is_the_base_training_of_queries_bit_for_bit(truth, tmp_path, detector):
    base = trained(truth, tmp_path / "base", **detector).folder
    for name, options in OFF_ON_QUERIES:
        chosen = {**detector, "method": name, "method_options": options}
        off = trained(truth, tmp_path / name, **chosen).folder
        for file in ("model.pt", "checkpoint.pt"):
            # beside a column "unknown" stand those of the known classes
            mine = {key.replace(".known.", "."): w for key, w in weights(off, file).items()}
            theirs = weights(base, file)
            added = {key for key in mine.keys() - theirs.keys() if ".unknown." not in key}
            assert added and all(key.startswith("method.") for key in added)
            assert same({key: mine[key] for key in theirs}, theirs)
        assert log(off) == log(base)


def named(chosen):
    return " ".join((chosen["method"], *filter(None, [chosen.get("detector")])))


@pytest.mark.parametrize("chosen", BANKS, ids=named)
def test_killed_it_goes_on_to_the_same_weights(truth, tmp_path, chosen):
    whole, folder = trained(truth, tmp_path / "whole", **chosen).folder, tmp_path / "run"
    command = [sys.executable, str(SCRIPT), str(folder), str(truth), "5", json.dumps(chosen)]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not (folder / "model.pt").exists()
    trained(truth, folder, **chosen)
    assert same(weights(folder), weights(whole))
    assert same(weights(folder, "checkpoint.pt"), weights(whole, "checkpoint.pt"))
    assert log(folder) == log(whole)
    added = {key for row in log(whole) for key in row if key.startswith("method_")}
    assert added or chosen["method"] in ("pad", "cosine")
    assert all(row[key] > 0 for row in log(whole)[3:] for key in added)


def test_a_class_that_vos_left_out_is_said(truth, tmp_path):
    options = {"queue": 500, "start": 0.3}
    done = trained(truth, tmp_path / "run", method="vos", method_options=options)
    assert [(one.code, one.count) for one in done.findings] == [("OS619", 2)]
    (said,) = json.loads((done.folder / "run.json").read_text())["findings"]
    assert said["code"] == "OS619" and "this is a detector without VOS" in said["message"]
    assert trained(truth, done.folder, method="vos", method_options=options).resumed == 8


def test_a_queue_that_the_training_cannot_fill_is_said_before_the_first_step(truth, tmp_path):
    def said(**options):
        chosen, found = recipe(method="vos", method_options=options), []
        at = tmp_path / str(len(list(tmp_path.iterdir())))
        train(chosen, TrainingData.of(truth), at, device="cpu", report=found.append)
        return [(one.code, one.count, one.fix) for one in found]

    # Eight images with 16 objects, each twice, and about three regions on each: 96 of both classes.
    (many,) = said(queue=96)
    assert many[:2] == ("OS619", 2) and "--method-option queue=" in many[2]
    assert said(queue=20) == []
    assert said(queue=500, start=1.0) == []
    assert said(queue=500, weight=0.0) == []


def test_the_forecast_is_near_what_is_seen(truth, tmp_path):
    found = []
    chosen = recipe(method="vos", method_options={"queue": 10_000})
    done = train(chosen, TrainingData.of(truth), tmp_path / "run", device="cpu",
                 report=found.append)  # fmt: skip
    said = float(re.search(r"about (\d+) regions", found[0].example)[1])
    seen = int(weights(done.folder)["method.bank.filled"][0])
    assert said / 3 <= seen <= 3 * said


ALONE = [
    ("siren", {}, True),
    ("siren", {"weight": 0.0}, False),
    ("recognition_loss", {"objective": "openauc"}, True),
    ("recognition_loss", {"objective": "softmax"}, True),
    ("recognition_loss", {"objective": "arpl"}, False),
    ("vos", {"queue": 3}, False),
    ("opendet", {}, False),
]


@pytest.mark.parametrize(("name", "options", "nothing"), ALONE)
@pytest.mark.parametrize("labels", [["red"], ["red", "green"]])
def test_a_method_that_one_class_teaches_nothing_is_said_before_the_first_step(
    truth, name, options, nothing, labels
):
    data = TrainingData.of(truth, labels=labels)
    chosen = recipe(method=name, method_options=options)
    state, _ = _prepared(chosen, data, "cpu", None, None)
    before = torch.get_rng_state()
    found = [one.code for one in _foreseen(state.model, chosen, data)]
    assert found == (["OS642"] if nothing and len(labels) == 1 else [])
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("detector", ["rt_detr", "deformable_detr"])
def test_it_is_said_of_queries_too(truth, detector):
    pytest.importorskip("transformers", reason="the transformers extra is not installed")
    data = TrainingData.of(truth, labels=["red"])
    for name, said in (("siren", ["OS642"]), ("recognition_loss", ["OS642"]), ("prob", [])):
        chosen = recipe(detector=detector, options={"size": "small"}, method=name,
                        method_options={"group": 1})  # fmt: skip
        state, _ = _prepared(chosen, data, "cpu", None, None)
        assert [one.code for one in _foreseen(state.model, chosen, data)] == said


def test_without_anchors_and_spectral_norm_it_is_opendet_bit_for_bit(truth, tmp_path):
    options = {"anchor_weight": 0.0, "spectral": False, "contrast": 0.1, "start": 0.3}
    mine = trained(truth, tmp_path / "cwa", method="opendet_cwa", method_options=options).folder
    plain = {"method": "opendet", "method_options": {"start": 0.3}}
    theirs = trained(truth, tmp_path / "opendet", **plain).folder
    assert same(weights(mine), weights(theirs)) and log(mine) == log(theirs)


def test_a_class_that_siren_never_saw_is_said(truth, tmp_path):
    data = TrainingData.of(truth)
    data = replace(data, labels=(*data.labels, "blue"))
    done = train(recipe(method="siren"), data, tmp_path / "run", device="cpu")
    assert [(one.code, one.example) for one in done.findings] == [("OS641", "blue")]


def test_a_detector_with_unknownness_is_evaluated_without_further_ado(truth, tmp_path):
    done = trained(truth, tmp_path / "run", method="siren", steps=30)
    assert done.findings == ()
    model = load(str(done.folder / "model.pt"), device="cpu", score=0.0)
    table = read_annotations(truth)
    found = run(model, ImageFiles.of_annotations(table, truth.parent))
    assert found.labels == ("red", "green") and np.isfinite(found.unknownness).all()
    assert found.attributes["projection"].shape == (len(found), 64)
    assert found.head is not None
    taught, said = openset.scorers.ledger.entries(found)
    assert (said.name, said.images, said.detections, said.leaks) == ("siren", 8, 16, ())
    assert taught.leaks  # these are the images of its training
    assert said.options["momentum"] == 0.95
    value = openset.evaluate(table, found, known=["red"]).value("auroc")
    assert 0 <= float(value) <= 1


def test_a_detector_that_says_unknown_is_evaluated_without_further_ado(truth, tmp_path):
    options = {"queue": 5, "start": 0.0, "weight": 5.0}
    changes = {"method": "opendet", "method_options": options, "steps": 30}
    done = trained(truth, tmp_path / "run", **changes)
    model = load(str(done.folder / "model.pt"), device="cpu", score=0.0)
    table = read_annotations(truth)
    found = run(model, ImageFiles.of_annotations(table, truth.parent))
    assert found.labels == ("red", "green", "unknown") and found.unknownness is not None
    assert found.layout.has_unknown and found.head is None
    assert (found.label == 2).any() and (found.label < 2).any()
    scored = openset.scorers.table()["energy"].fit().scored(found)
    rest = np.logaddexp.reduce(found.logits[:, :3].astype(float), axis=1)  # without "unknown"
    assert scored.unknownness == pytest.approx(-rest, rel=1e-5)
    result = openset.evaluate(table, found, known=["red", "green"])
    assert "opendet taught by the detector's training data (8 images)" in result.provenance.ledger
    scored = openset.evaluate(table, scored, known=["red", "green"]).provenance.ledger
    assert "opendet taught by the detector's training data (8 images); unknownness of" in scored


@pytest.mark.parametrize("name", ["vos", "cosine", "recognition_loss", "siren"])
def test_the_ledger_says_what_a_method_saw_whatever_scores_its_detections(name, truth, tmp_path):
    done = trained(truth, tmp_path / "run", method=name, steps=1)
    model = load(str(done.folder / "model.pt"), device="cpu", score=0.0)
    model.pictures = None  # the images of its training would be said, too
    table = read_annotations(truth)
    found = run(model, ImageFiles.of_annotations(table, truth.parent))
    said = f"{name} taught by the detector's training data (8 images); "
    assert openset.scorers.ledger.summary(found) == said + "no leak known"
    scored = openset.scorers.table()["energy"].fit().scored(found)
    line = openset.evaluate(table, scored, known=["red"]).provenance.ledger
    assert line.startswith(said + "unknownness of energy, which fits nothing")


def test_the_ledger_of_observations_says_that_they_fit_nothing(truth, tmp_path):
    done = trained(truth, tmp_path / "run", steps=1)
    options = {"passes": 2, "observations": True, "score": 0.0}
    model = load(str(done.folder / "model.pt"), device="cpu", **options)
    model.pictures = None
    table = read_annotations(truth)
    found = run(model, ImageFiles.of_annotations(table, truth.parent))
    (entry,) = openset.scorers.ledger.entries(found)
    assert (entry.step, entry.name) == ("score", "dropout_observations")
    assert entry.options == {"passes": 2}
    line = openset.evaluate(table, found, known=list(found.labels)).provenance.ledger
    assert line == "nothing was fitted; no leak known"


def test_two_processes_may_leave_its_weights_out_of_a_step(truth, tmp_path):
    # arpl_cs has weights that no loss on boxes reaches.
    changes = {"batch": 4, "steps": 4, "method": "recognition_loss",
               "method_options": {"objective": "arpl_cs", "start": 0.5}}  # fmt: skip
    given = [str(tmp_path / "run"), str(truth), "-1", json.dumps(changes)]
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone",
               str(SCRIPT), *given]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    rows = log(tmp_path / "run")
    assert [row["step"] for row in rows if "method_recognition" in row] == [3, 4]


def test_a_saved_model_has_it_again_and_runs(truth, whole):
    model = load(str(whole / "model.pt"), device="cpu")
    assert model.about["method"] == "recognition_loss"
    assert model.about["method_options"]["objective"] == "arpl"
    assert same(model.network.state_dict(), weights(whole))
    images = ImageFiles.of_annotations(read_annotations(truth), truth.parent)
    found = run(model, images)
    assert found.provenance["model"]["method"] == "recognition_loss"
    openness = model.method.objective.openness(
        model.method.objective.logits(torch.tensor(found.embedding))
    )
    assert len(openness) == len(found.score) and torch.isfinite(openness).all()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"detector": "fcos"}, "detector 'fcos' has none to show. Those that have: faster_rcnn"),
        ({"method": "recognition_los"}, "Did you mean 'recognition_loss'"),
        ({"method_options": {"weigth": 1.0}}, "Did you mean 'weight'"),
        ({"method_options": {"weight": "much"}}, "must be a number, not 'much'"),
        ({"method": "opendet", "method_options": {"queue": 0}}, "queue .* at least 1, not 0"),
        ({"method": "opendet", "method_options": {"start": 5.0}}, "at most 1, not 5.0"),
        ({"method_options": {"group": 3}}, "groups of 3 images, which a batch of 2"),
    ],
)
def test_what_cannot_be_trained_is_said_before_the_folder_is_made(truth, tmp_path, changes, said):
    with pytest.raises(UsageError, match=said):
        trained(truth, tmp_path / "run", **{**METHOD, **changes})
    assert not (tmp_path / "run").exists()


def test_options_of_another_method_are_not_kept():
    chosen = recipe(**METHOD)
    assert Recipe.of(chosen, method_options={"weight": 1.0}).method_options == {
        "objective": "arpl",
        "weight": 1.0,
    }
    assert Recipe.of(chosen, method="").method_options == {}
    with pytest.raises(InputError, match=r"OS612[\s\S]*no method"):
        recipe(method_options={"weight": 1.0})


def test_a_running_mean_of_weights_copies_what_a_method_remembers():
    network = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    network.method = nn.BatchNorm1d(2)
    network.method.running_mean.fill_(torch.nan)  # nothing remembered yet
    average = Average(network, 0.9)
    for module in (network[1], network.method):
        module.running_mean.fill_(4.0)
        nn.init.constant_(module.weight, 3.0)
    average.update(network)
    assert average.state["method.running_mean"].tolist() == [4.0, 4.0]
    assert 0 < average.state["1.running_mean"][0] < 4
    assert 1 < average.state["method.weight"][0] < 3


def advice(truth, folder, **changes):
    """A file of boxes for the images of a truth: those of its objects, moved a little."""
    table = read_annotations(truth)
    count = len(table.box)
    held = {"image": table.images.id[table.image], "label": np.zeros(count, int),
            "box": np.add(table.box, (1.0, 0, 0, 0)), "score": np.linspace(0.9, 0.1, count),
            "labels": ("object",)}  # fmt: skip
    openset.write(openset.Detections(**{**held, **changes}), folder / "advice.parquet")
    return str(folder / "advice.parquet")


def test_pad_is_advised_and_goes_on_with_the_same_advice_only(truth, tmp_path):
    file = advice(truth, tmp_path)
    chosen = {"method": "pad", "method_options": {"advisor": file, "start": 0.3}}
    folder = tmp_path / "run"
    done = trained(truth, folder, **chosen)
    assert all(len(boxes) == 2 for boxes in done.data.advised)
    other = trained(truth, tmp_path / "own", method="pad", method_options={"start": 0.3})
    assert not same(weights(folder), weights(other.folder))
    (folder / "model.pt").unlink()
    advice(truth, tmp_path, box=read_annotations(truth).box)
    with pytest.raises(InputError, match=r"OS609[\s\S]*data"):
        trained(truth, folder, **chosen)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"image": np.repeat(np.arange(90, 98), 2)}, r"OS672.*no boxes for 8 of 8"),
        ({"image": np.repeat([0, 0, 1, 2, 3, 4, 5, 6], 2)}, r"OS672.*for 1 of 8[\s\S]*image 7"),
        ({"box": np.tile([40.0, 40, 60, 60], (16, 1))}, r"OS673.*16 of 16[\s\S]*64 x 64 pixels"),
    ],
    ids=["other ids", "an image without", "other sizes"],
)
def test_bad_advice_is_said_before_the_folder_is_made(truth, tmp_path, changes, code):
    options = {"advisor": advice(truth, tmp_path, **changes)}
    with pytest.raises(InputError, match=code):
        trained(truth, tmp_path / "run", method="pad", method_options=options)
    assert not (tmp_path / "run").exists()
    if "for 1 of 8" in code:
        options["without"] = "accept"
        done = trained(truth, tmp_path / "run", method="pad", method_options=options)
        assert [len(boxes) for boxes in done.data.advised] == [4, 2, 2, 2, 2, 2, 2, 0]


def test_a_ground_truth_that_advises_is_a_leak(truth, tmp_path):
    options = {"advisor": str(truth), "start": 0.3}
    done = trained(truth, tmp_path / "run", method="pad", method_options=options)
    model = load(str(done.model), device="cpu", score=0.0)
    found = run(model, ImageFiles.of_annotations(read_annotations(truth), truth.parent))
    leaks = openset.scorers.ledger.summary(found).partition("LEAK:")[2]
    assert "advised by a ground truth" in leaks


def test_the_oracle_is_taught_unknown_objects_and_marked(truth, tmp_path):
    data = TrainingData.of(truth, labels=["red"], empty=True)
    with pytest.raises(InputError, match="OS674"):
        trained(truth, tmp_path / "none", method="oracle")
    assert not (tmp_path / "none").exists()
    done = train(recipe(method="oracle", steps=2), data, tmp_path / "run", device="cpu")
    taught = np.concatenate(done.data.classes)
    assert done.data.labels == ("red",) and set(taught.tolist()) == {0, 1} and len(taught) == 16
    assert "of other classes" not in done.data.left_out
    few = replace(data, others=())  # as a task has it: another file knows
    again = few.with_unknown(str(truth))
    assert all(map(np.array_equal, again.boxes, done.data.boxes))
    known = replace(few, labels=("red", "green")).with_unknown(str(truth))
    assert all(map(np.array_equal, known.boxes, few.boxes))
    with pytest.raises(InputError, match=r"OS674.*does not have 8 of 8 training images"):
        replace(few, files=ImageFiles(data.files.id + 90, data.files.path)).with_unknown(str(truth))
    model = load(str(done.model), device="cpu", score=0.0)
    assert model.network.roi_heads.box_predictor.cls_score.out_features == 3
    found = run(model, ImageFiles.of_annotations(read_annotations(truth), truth.parent))
    assert found.labels == ("red", "unknown")
    said = openset.scorers.ledger.summary(found)
    taught_by, _, leaks = said.partition("LEAK:")
    assert "oracle taught by" in taught_by and "taught the labels of unknown objects" in leaks
    scored = openset.scorers.table()["energy"].fit().scored(found)
    assert "taught the labels of unknown objects" in openset.scorers.ledger.summary(scored)
    plain = train(recipe(method="siren", steps=1), data, tmp_path / "plain", device="cpu")
    assert set(np.concatenate(plain.data.classes).tolist()) == {0}
