"""run: a detector over images, and every everyday mistake as a finding."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torchvision")

import torch

from openset.detectors import carry, find, save
from openset.findings import InputError
from openset.formats import read_detections
from openset.scorers import ledger
from scenes.files import contents
from scenes.training import LABELS, make_data

SMALL = {"backbone": "small", "shortest": 64, "longest": 64}
OPTIONS = ("--option", "backbone=small", "--option", "shortest=64", "--option", "longest=64")
RUN = ("run", "model", "data/train.json", "-o", "found.parquet", "--device", "cpu")


pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with images, an untrained model that finds something, and its bare weights."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "data").mkdir()
    (folder / "model").mkdir()
    make_data(folder / "data")
    torch.manual_seed(0)
    model = find("faster_rcnn").build(LABELS, device="cpu", **SMALL)
    save(model, folder / "model" / "model.pt")
    torch.save(model.network.state_dict(), folder / "weights.pt")
    return folder


@pytest.fixture
def data(here, trained):
    import shutil

    shutil.copytree(trained, here, dirs_exist_ok=True)
    return here


def counts(done):
    """Numbers of boxes are torch's business, and differ between machines."""
    return type(done)(
        done.command, done.code, re.sub(r"found \d+ boxes", "found N boxes", done.out), done.err
    )


def test_a_trained_model_on_a_ground_truth(openset, data, snapshot):
    snapshot("run/done", counts(openset(*RUN)))
    found = read_detections(data / "found.parquet")
    assert found.labels == LABELS and set(found.image.tolist()) <= set(range(8))
    assert found.logits.shape[1] == 3 and found.embedding.shape[1] == 128
    assert ledger.split_of(found) == "data train"
    assert np.bincount(found.image).max() > 2


@pytest.fixture
def two(data):
    """The same pictures under two ground truths, of which one lies elsewhere."""
    (data / "more").mkdir()
    truth = json.loads((data / "data/train.json").read_text())
    truth["images"] = truth["images"][:3]
    shown = {image["id"] for image in truth["images"]}
    truth["annotations"] = [a for a in truth["annotations"] if a["image_id"] in shown]
    (data / "more/few.json").write_text(json.dumps(truth))
    return ("run", "model", "data/train.json", "more/few.json", "--images", "data", "-o", "found")


def test_several_ground_truths_are_run_over_by_one_model(openset, two, data, monkeypatch):
    from openset.cli._source import Source

    loaded, load = [], Source.__call__
    monkeypatch.setattr(Source, "__call__", lambda self: loaded.append(self) or load(self))
    done = openset(*two, "--device", "cpu", "--json").json
    assert len(loaded) == 1
    assert [each["out"] for each in done["runs"]] == ["found/train.parquet", "found/few.parquet"]
    assert openset(*RUN).code == 0
    one, same, few = (
        read_detections(data / name)
        for name in ("found.parquet", "found/train.parquet", "found/few.parquet")
    )
    assert contents(data / "found/train.parquet") == contents(data / "found.parquet")
    assert ledger.split_of(same) == ledger.split_of(one) == "data train"
    assert ledger.split_of(few) == "more few" and set(few.image.tolist()) <= {0, 1, 2}


def test_what_cannot_be_of_several_ground_truths_is_said(openset, two, data):
    said = {
        ("--split", "mine"): "--split names the images of one ground truth",
        ("-o", "found.parquet"): "2 ground truths need a folder to write to",
        ("data/images",): "several ground truths may be given, or photos once",
    }
    (data / "data/images").mkdir(exist_ok=True)
    for more, words in said.items():
        words_of = list(two[:-2]) if "-o" in more else list(two)
        if more == ("data/images",):
            words_of.insert(3, *more)
        else:
            words_of += more
        done = openset(*words_of, "--device", "cpu")
        assert done.code == 2 and words in done.err, done.err
    (data / "more/few.json").write_text(
        (data / "more/few.json").read_text().replace("0.png", "lost.png")
    )
    done = openset(*two, "--device", "cpu")
    assert done.code == 2 and not (data / "found").exists(), "refused before the first is run"


def test_score_and_options_change_a_trained_model(openset, data):
    command = (*RUN, "--minimum-score", "0.33", "--option", "most=2", "--split", "squares test")
    assert openset(*command).code == 0
    found = read_detections(data / "found.parquet")
    assert len(found) and (found.score >= 0.33).all() and np.bincount(found.image).max() <= 2
    assert found.provenance["split"] == "squares test"
    assert found.provenance["model"]["options"]["score"] == 0.33


def test_all_evidence_and_the_last_layer(openset, data):
    done = openset(*RUN, "--evidence", "all", "--json").json
    assert done["evidence"] == [
        "logits", "embedding", "head", "region", "objectness",
        "latent", "latent_samples", "shortcut", "logit_samples", "box_samples",
    ]  # fmt: skip
    found = read_detections(data / "found.parquet")
    found.head.check(found)
    assert found.head.weight.shape == (3, 128)


def test_passes_with_dropout_are_detected_by_their_means(openset, data):
    assert openset(*RUN, "--passes", "3").code == 0
    found = read_detections(data / "found.parquet")
    samples = found.attributes
    assert samples["logit_samples"].shape == (len(found), 3, 3)
    assert samples["box_samples"].shape == (len(found), 3, 4)
    assert found.box == pytest.approx(samples["box_samples"].mean(axis=1), abs=1e-3)
    assert found.provenance["model"]["options"]["passes"] == 3
    assert (
        openset("score", "found.parquet", "--scorers", "dropout_mean", "-o", "s.parquet").code == 0
    )
    bad = openset(*RUN, "--passes", "-1")
    assert bad.code == 2 and "passes must be at least 0" in bad.err


def test_every_pass_may_detect_for_itself(openset, data):
    assert openset(*RUN, "--passes", "3", "--observations").code == 0
    found = read_detections(data / "found.parquet")
    assert len(found) and (found.unknownness >= 0).all()
    judge = ("evaluate", "data/train.json", "found.parquet", "--known", "red,green", "--force")
    assert openset(*judge).code == 0
    bad = openset(*RUN, "--observations")
    assert bad.code == 2 and "observations are of passes" in bad.err


def test_only_some_evidence(openset, data):
    assert openset(*RUN, "--evidence", "logits").code == 0
    found = read_detections(data / "found.parquet")
    assert found.embedding is None and found.head is None


def test_a_folder_of_images_and_a_single_one(openset, data):
    assert openset("run", "model/model.pt", "data", *RUN[3:]).code == 0
    assert len(set(read_detections(data / "found.parquet").image.tolist())) == 8
    assert openset("run", "model", "data/3.png", *RUN[3:]).code == 0
    assert set(read_detections(data / "found.parquet").image.tolist()) == {"3"}


def test_a_detector_by_name_with_weights(openset, data):
    by_name = ("faster_rcnn", "data/train.json", "--weights", "weights.pt", *OPTIONS)
    assert openset("run", *by_name, "-o", "named.parquet", "--device", "cpu").code == 0
    assert openset(*RUN).code == 0
    named, loaded = (read_detections(data / name) for name in ("named.parquet", "found.parquet"))
    assert np.array_equal(named.logits, loaded.logits)


def test_an_exported_model(openset, data, monkeypatch):
    from openset import plugins
    from openset.detectors import onnx
    from scenes.exported_models import Session, yolox_output

    real = plugins.find_spec
    there = {"onnxruntime"}  # an extra
    monkeypatch.setattr(plugins, "find_spec", lambda name: name in there or real(name))
    monkeypatch.setattr(onnx, "_session", lambda path, device: Session(yolox_output()))
    done = openset(
        "run", "yolo.onnx", "data", "--known", "red,green", "--minimum-score", "0.3", *RUN[3:]
    )
    assert done.code == 0, done.err
    found = read_detections(data / "found.parquet")
    assert found.labels == LABELS and len(found) == 8
    assert found.logits.shape == (8, 2) and found.embedding is None


def test_a_folder_of_transformers(openset, data):
    pytest.importorskip("transformers")
    model = find("rt_detr").build(LABELS, device="cpu", size="small")
    model.network.save_pretrained(data / "stored")
    by_name = ("rt_detr", "data/train.json", "--weights", "stored", "--option", "side=64")
    done = openset(
        "run", *by_name, "--minimum-score", "0.001", "-o", "found.parquet", "--device", "cpu"
    )
    assert done.code == 0, done.err
    found = read_detections(data / "found.parquet")
    assert found.labels == LABELS and len(found) > 0
    assert found.provenance["model"]["options"]["folder"] == "stored"
    told = json.loads((data / "stored" / "config.json").read_text())
    told |= {"id2label": {"0": "N/A", "1": "N/A"}, "label2id": {"N/A": 0}}
    (data / "stored" / "config.json").write_text(json.dumps(told))
    photo = ("rt_detr", "data/1.png", *by_name[2:], "--minimum-score", "0", "--device", "cpu")
    done = openset("run", *photo)  # nobody says what its classes are but the folder
    assert done.code == 0, done.err
    assert read_detections(data / "1.parquet").labels == ("N/A 0", "N/A 1")


def test_a_data_yaml_says_where_its_images_are(openset, data):
    from openset.formats import read_annotations, write

    write(read_annotations(data / "data" / "train.json"), data / "set", format="yolo")
    (data / "set" / "images").mkdir()
    for picture in (data / "data").glob("*.png"):
        picture.rename(data / "set" / "images" / picture.name)
    (data / "elsewhere.yaml").write_text(f"path: set\nval: images\nnames: {list(LABELS)}\n")
    done = openset("run", "model", "elsewhere.yaml", "-o", "found.parquet", "--device", "cpu")
    assert done.code == 0, done.err
    assert set(read_detections(data / "found.parquet").image.tolist()) <= set("01234567")


def spoiled(*names, content=b"no image"):
    def spoil(here):
        for name in names:
            (here / "data" / name).write_bytes(content)

    return spoil


def missing(here):
    (here / "data" / "5.png").unlink()
    (here / "data" / "6.png").unlink()


def nothing(here):
    pass


def unfinished(here):
    (here / "model" / "model.pt").rename(here / "model" / "checkpoint.pt")


def pickled(here):
    torch.save({"model": Path("x")}, here / "model" / "model.pt")


def truncated(here):
    path = here / "model" / "model.pt"
    path.write_bytes(path.read_bytes()[:20_000])


def escaping(here):
    path = here / "data" / "train.json"
    document = json.loads(path.read_text())
    document["images"][0]["file_name"] = "../../etc/passwd.png"
    path.write_text(json.dumps(document))


NAMED = ("run", "faster_rcnn", "data", "-o", "found.parquet", "--device", "cpu", *OPTIONS)
MISTAKES = {
    "unknown-detector": (nothing, ("run", "faster_rnn", *RUN[2:])),
    "no-model": (nothing, ("run", "models/model.pt", *RUN[2:])),
    "empty-folder": (nothing, ("run", "data", *RUN[2:])),
    "unfinished-training": (unfinished, RUN),
    "pickled-model": (pickled, RUN),
    "truncated-model": (truncated, RUN),
    "bare-weights": (nothing, ("run", "weights.pt", *RUN[2:])),
    "no-weights": (nothing, NAMED),
    "no-labels": (nothing, (*NAMED, "--weights", "weights.pt")),
    "other-labels": (nothing, (*NAMED, "--weights", "weights.pt", "--known", "a,b,c")),
    "weights-of-a-model": (nothing, (*RUN, "--weights", "weights.pt")),
    "unknown-option": (nothing, (*RUN, "--option", "scor=0.1")),
    "unknown-evidence": (nothing, (*RUN, "--evidence", "logit")),
    "missing-images": (missing, RUN),
    "unreadable-images": (spoiled("3.png", "5.png"), RUN),
    "no-images": (nothing, ("run", "model", "model", *RUN[3:])),
    "no-truth": (nothing, ("run", "model", "data/tran.json", *RUN[3:])),
    "escaping-name": (escaping, RUN),
    "images-twice": (nothing, ("run", "model", "data", *RUN[3:], "--images", "data")),
    "no-gpu": (nothing, (*RUN[:-1], "cuda:7")),
    "no-batch": (nothing, (*RUN, "--batch", "0")),
    "not-parquet": (nothing, (*RUN[:4], "found.json")),
}
# What torch says of its devices and of broken bytes is its own business.
_TORCH = re.compile(r"(?<=\n    first )(.|\n)*?(?=\n    (cause|fix) )")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_said(name, openset, data, snapshot):
    spoil, command = MISTAKES[name]
    spoil(data)
    done = openset(*command)
    assert done.code == 2 and done.out == ""
    assert not (data / "found.parquet").exists()
    torchs = name in {"no-gpu", "pickled-model", "truncated-model"}
    err = _TORCH.sub("...", done.err) if torchs else done.err
    snapshot(f"run/{name}", type(done)(done.command, done.code, done.out, err))


def test_labels_that_a_trained_model_does_not_have(openset, data):
    done = openset(*RUN, "--known", "dog,cat")
    assert done.code == 2
    assert f"model has {len(LABELS)} labels of its own" in " ".join(done.err.split())
    assert "--known names 2 (dog, cat): leave --known out" in " ".join(done.err.split())
    assert not (data / "found.parquet").exists()
    assert openset(*RUN, "--known", ",".join(LABELS)).code == 0


def test_an_option_of_another_type(openset, data):
    done = openset(*RUN, "--option", "nms=abc")
    assert done.code == 2
    assert "option nms of detector" in done.err and "must be a number" in " ".join(done.err.split())


def test_bad_images_may_be_left_out_and_are_counted(openset, data, snapshot):
    spoiled("3.png", "5.png")(data)
    snapshot("run/skipped", counts(openset(*RUN, "--unreadable", "skip")))
    found = read_detections(data / "found.parquet")
    assert not {3, 5} & set(found.image.tolist())
    assert len(found.provenance["skipped_images"]) == 2


def test_a_detector_without_an_affine_last_layer(openset, data):
    model = find("fcos").build(LABELS, device="cpu", **SMALL)
    save(model, data / "model" / "model.pt")
    assert openset(*RUN).code == 0
    found = read_detections(data / "found.parquet")
    assert found.embedding is not None and found.head is None
    done = openset("score", "found.parquet", "--scorers", "ash", "-o", "ash.parquet")
    assert done.code == 2 and "OS501" in done.err and "affine map" in " ".join(done.err.split())


def test_memory_that_runs_out_advises_a_batch(openset, data, monkeypatch):
    from openset.detectors._rcnn import RegionModel

    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(RegionModel, "record", full)
    done = openset(*RUN, "--batch", "4")
    assert done.code == 2
    assert "OS607" in done.err and "batch of 2" in done.err


def test_without_torch_it_says_what_to_install(openset, data, monkeypatch):
    from openset import plugins

    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    done = openset(*RUN)
    assert done.code == 2
    assert "OS601" in done.err and "openset[torch]" in done.err


def test_a_model_file_without_onnxruntime_is_no_internal_error(monkeypatch, tmp_path):
    from openset import plugins
    from openset.detectors import onnx
    from openset.findings import InputError

    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="an ONNX model needs onnxruntime"):
        onnx._session(tmp_path / "x.onnx", None)


def test_without_onnxruntime_it_says_what_to_install(monkeypatch):
    from openset import plugins
    from openset.findings import InputError

    monkeypatch.setattr(plugins, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"openset\[onnx\]") as caught:
        plugins.check_installed("detector 'yolo_onnx'", ("onnxruntime",))
    assert "torch" not in str(caught.value)


def cut_some(folder):
    """Images of different sizes: what a batch pads them to depends on which are in it."""
    from PIL import Image

    for at in (1, 4, 5):
        picture = Image.open(folder / "data" / f"{at}.png")
        picture.crop((0, 0, 64, 40)).save(folder / "data" / f"{at}.png")


def in_two_processes(folder, *line):
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    done = subprocess.run(
        [*command, "-m", "openset", *line],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_several_processes_share_the_images(openset, data):
    cut_some(data)
    assert openset(*RUN, "--batch", "3").code == 0
    out = in_two_processes(data, *RUN[:3], "-o", "shared.parquet", *RUN[5:], "--batch", "3")
    assert out.count("wrote shared.parquet") == 1
    assert (data / "found.parquet").read_bytes() == (data / "shared.parquet").read_bytes()


PARTED = (*RUN[:3], "-o", "found.parts", *RUN[5:], "--batch", "3", "--per-part", "4")


def test_parts_hold_what_a_file_would(openset, data):
    cut_some(data)
    assert openset(*RUN, "--batch", "3").code == 0
    done = openset(*PARTED)
    assert done.code == 0 and "made 3 of 3 parts of found.parts" in done.out
    whole, parts = read_detections(data / "found.parquet"), read_detections(data / "found.parts")
    for name in ("image", "label", "box", "score", "logits", "embedding"):
        assert np.array_equal(getattr(whole, name), getattr(parts, name)), name
    assert whole.provenance == parts.provenance and parts.head.equals(whole.head)
    judge = ("evaluate", "data/train.json", "found.parts", "--known", "red,green", "--force")
    assert openset(*judge).code == 0
    shared = (*PARTED[:4], "shared.parts", *PARTED[5:])
    assert in_two_processes(data, *shared).count("all are done") == 1
    assert contents(data / "shared.parts") == contents(data / "found.parts")


def test_a_restart_of_parts_makes_what_is_missing(openset, data):
    assert openset(*PARTED, "--shard", "2/3").code == 0
    (made,) = (data / "found.parts").glob("*.parquet")
    before = made.stat().st_mtime_ns
    assert "made 2 of 3 parts" in openset(*PARTED).out
    assert made.stat().st_mtime_ns == before
    other = openset(*PARTED, "--minimum-score", "0.2")
    assert other.code == 2 and "OS361" in other.err
    assert "minimum score differs" in other.err and "not 0.2" in other.err
    other = openset(*PARTED, "--evidence", "logits")
    assert other.code == 2 and "keep differs" in other.err
    wrong = openset(*RUN, "--shard", "1/2")
    assert wrong.code == 2 and "found.parts" in wrong.err


ENGINES = [("local", 1), ("processes", 1), ("processes", 2)]
ENGINES += [("ray", 2)] if find_spec("ray") else []


def engine_of(name, workers, request):
    """How an engine is asked for; one Ray is there for all tests."""
    if name == "ray":
        request.getfixturevalue("ray_here")
    return ("--engine", name, "--workers", str(workers))


@pytest.mark.parametrize(("name", "workers"), ENGINES)
def test_every_engine_makes_the_same_parts(openset, data, name, workers, request):
    cut_some(data)
    assert openset(*PARTED).code == 0
    there = (*PARTED[:4], "there.parts", *PARTED[5:], *engine_of(name, workers, request))
    done = openset(*there)
    assert done.code == 0 and "made 3 of 3 parts of there.parts" in done.out, done.err
    assert contents(data / "there.parts") == contents(data / "found.parts")
    assert "made 0 of 3 parts" in openset(*there).out


def test_a_bad_image_in_another_process_is_said_here(openset, data):
    (data / "data" / "4.png").write_bytes(b"no picture")
    done = openset(*PARTED, "--engine", "processes", "--workers", "2")
    assert done.code == 2 and "OS603" in done.err
    assert len([*(data / "found.parts").glob("*.parquet")]) == 2


WITHOUT_TORCH = """import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name == "torch" else PathFinder.find_spec(name, path, target)

sys.meta_path[:] = [Without if one is PathFinder else one for one in sys.meta_path]
"""


def test_a_worker_without_torch_is_said_so(openset, data, monkeypatch, tmp_path_factory):
    """What is installed here need not be where a worker runs."""
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "sitecustomize.py").write_text(WITHOUT_TORCH)
    assert openset(*PARTED, "--shard", "1/3").code == 0
    with monkeypatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(elsewhere), *sys.path]))
        done = openset(*PARTED, "--engine", "processes", "--workers", "1")
    assert done.code == 2 and "OS601" in done.err and "torch" in done.err, done.err
    assert "Traceback" not in done.err
    assert "made 2 of 3 parts" in openset(*PARTED).out


def test_a_model_that_changed_meanwhile_is_refused(data, monkeypatch):
    from openset.detectors import Elsewhere, ImageFiles, load, part_plan, run_in_parts
    from openset.engines import find as engine
    from openset.formats.parts import Parts

    monkeypatch.chdir(data)
    model = load("model/model.pt", device="cpu")
    files = ImageFiles.of(data / "data")
    parts = Parts.plan(data / "found.parts", part_plan(model, files))
    other = partial(load, "model/model.pt", device="cpu", score=0.4)
    with pytest.raises(InputError, match=r"OS361.*another"):
        run_in_parts(model, files, parts, elsewhere=Elsewhere(engine("local"), other))
    assert Parts.open(data / "found.parts").missing


def test_parts_of_pictures_that_were_replaced_are_not_added_to(openset, data):
    from PIL import Image, ImageOps

    assert openset(*PARTED, "--shard", "1/3").code == 0
    before = contents(data / "found.parts")
    name = json.loads((data / "found.parts" / "manifest.json").read_text())["parts"][0]["images"][0]
    path = next((data / "data").glob(f"{name}.*"))
    kept = path.read_bytes()
    ImageOps.invert(Image.open(path).convert("RGB")).save(path)
    done = openset(*PARTED)
    said = " ".join(done.err.split())
    assert done.code == 2 and "OS613" in said and f"{path.name}, or one after it" in said
    assert contents(data / "found.parts") == before
    path.write_bytes(kept)
    assert "all are done" in openset(*PARTED).out
    path.unlink()
    Image.new("RGB", (9, 9)).save(path)
    assert "OS613" in openset(*PARTED).err  # nor are finished ones taken for those of others


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((*RUN, "--engine", "processes"), "parts are made there: -o found.parts"),
        ((*PARTED, "--engine", "threads"), "one thread at a time"),
        ((*PARTED, "--workers", "2"), "--workers belongs to an engine"),
    ],
)
def test_engines_that_make_no_sense(openset, data, command, words):
    done = openset(*command)
    assert done.code == 2 and words in " ".join(done.err.split())


def test_a_run_that_was_killed_goes_on(openset, data):
    """The program, and with it its workers, as soon as there is a part."""
    assert openset(*PARTED).code == 0
    there = (*PARTED[:4], "there.parts", *PARTED[5:], "--engine", "processes", "--workers", "2")
    command = [sys.executable, "-m", "openset", *there]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    while not [*(data / "there.parts").glob("*.parquet")] and process.poll() is None:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert openset(*there[:-4]).code == 0  # any engine goes on
    assert contents(data / "there.parts") == contents(data / "found.parts")


def test_a_bad_image_spoils_its_part_alone(openset, data):
    (data / "data" / "4.png").write_bytes(b"no picture")
    done = openset(*PARTED)
    assert done.code == 2 and "OS603" in done.err
    assert len([*(data / "found.parts").glob("*.parquet")]) == 2
    skipping = (*PARTED[:4], "skipped.parts", *PARTED[5:], "--unreadable", "skip")
    done = openset(*skipping)
    assert done.code == 0 and "OS603" in done.err and "4.png" in done.err
    assert "on 8 images, of which 1 cannot be decoded" in done.out
    assert "4.png" in read_detections(data / "skipped.parts").provenance["skipped_images"][0]
    manifest = json.loads((data / "skipped.parts" / "manifest.json").read_text("utf-8"))
    assert [len(part["skipped"]) for part in manifest["parts"]] == [0, 1, 0]
    again = openset(*skipping, "--json")
    assert again.json["made"] == 0 and "4.png" in again.json["skipped"][0]


def test_photos_in_parts_that_are_all_broken(openset, data):
    for path in (data / "data").glob("*.png"):
        path.write_bytes(b"no picture")
    done = openset(*PARTED[:4], "skipped.parts", *PARTED[5:], "--unreadable", "skip")
    assert done.code == 2 and "no image can be decoded" in done.err


def test_regions_become_detections_by_a_rule(openset, data):
    assert openset(*RUN).code == 0
    done = openset(*RUN[:3], "--regions", "-o", "regions.parquet", *RUN[5:])
    assert done.code == 0 and "--rule gamma" in done.out.splitlines()[-1]
    regions = read_detections(data / "regions.parquet")
    assert regions.embedding is None and "region" in regions.attributes
    assert regions.provenance["regions"] == {"score": 0.05, "nms": 0.5, "most": 100}
    rule = ("score", "regions.parquet", "--rule", "gamma", "-o", "rule.parquet")
    assert openset(*rule, "--option", "gamma=1").code == 0
    plain, again = (read_detections(data / name) for name in ("found.parquet", "rule.parquet"))
    assert len(regions) > len(plain)
    assert sorted(plain.score.tolist()) == sorted(again.score.tolist())


def test_pictures_of_another_size_than_the_ground_truth_says(openset, data):
    assert openset(*RUN).code == 0
    before = read_detections(data / "found.parquet")
    truth = json.loads((data / "data/train.json").read_text())
    for image in truth["images"]:
        image["width"], image["height"] = 2 * image["width"], 2 * image["height"]
    (data / "data/train.json").write_text(json.dumps(truth))
    done = openset(*RUN)
    after = read_detections(data / "found.parquet")
    assert done.code == 0 and "note OS342" in done.err
    np.testing.assert_allclose(after.box, 2 * before.box, rtol=1e-5)
    assert (after.score == before.score).all()
    assert len(after.provenance["resized_images"]) == len(truth["images"])
    truth["images"][0]["width"] *= 3
    (data / "data/train.json").write_text(json.dumps(truth))
    assert "1 also have another shape" in openset(*RUN).err.replace("\n    ", " ")


NEXT = {
    "": ((), "openset score found.parquet --scorers energy -o FILE.parquet"),
    "vos": (
        (),
        "openset score found.parquet --scorers own --calibrate HELD-OUT.parquet -o FILE.parquet",
    ),
    "siren": (
        (),
        "openset score found.parquet --scorers own --calibrate HELD-OUT.parquet -o FILE.parquet",
    ),
    "opendet": ((), "openset evaluate GT found.parquet"),
    "ore": ((), "openset evaluate GT found.parquet"),
    "pad": ((), "openset evaluate GT found.parquet"),
    "with passes": (
        ("--passes", "2"),
        "openset score found.parquet --scorers dropout_mean -o FILE.parquet",
    ),
    "with observations": (
        ("--passes", "2", "--observations", "--minimum-score", "0"),
        "openset score found.parquet --scorers own --calibrate HELD-OUT.parquet -o FILE.parquet",
    ),
    "with shortcuts": (
        ("--evidence", "logits,shortcut"),
        "openset score found.parquet --scorers safe --fit ATTACKED.parquet -o FILE.parquet",
    ),
}


@pytest.mark.parametrize("case", NEXT)
def test_what_comes_next_is_what_these_detections_are_for(openset, data, case):
    more, said = NEXT[case]
    if case and not case.startswith("with"):
        model = find("faster_rcnn").build(LABELS, device="cpu", **SMALL)
        carry(model, case, {})
        save(model, data / "model" / "model.pt")
    done = openset(*RUN, *more)
    assert done.code == 0, done.err
    assert " ".join(done.out.split()).endswith(f"next: {said}")
