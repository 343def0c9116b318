"""One file of each kind: the examples of CONTRIBUTING.md, verbatim, found and used.

Twice: as files of another installed package, behind entry points, and as files of this one. To test
another kind, put its example on the page and a function under `@example` here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import openset
from scenes.cli import write_scene

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text("utf-8")
BLOCK = re.compile(r"^```(?:python|toml)\n# (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = dict(BLOCK.findall(PAGE))
HOME = Path(openset.__file__).parent
QUICK = "--no-intervals"
CHECKS: dict[str, Callable[[Stranger], None]] = {}


@dataclass(frozen=True)
class Stranger:
    """Someone who has added one of each, in a folder with a scene of dogs, cats and zebras."""

    path: str
    folder: Path

    def run(self, *command):
        """Run Python with the additions in sight; its stdout."""
        environment = {**os.environ, "PYTHONPATH": self.path, "COLUMNS": "80", "NO_COLOR": "1"}
        return subprocess.run(
            [sys.executable, *map(str, command)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=self.folder,
            env=environment,
        )

    def openset(self, *arguments, code=0):
        """Run a command line."""
        done = self.run("-m", "openset", *arguments)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def json(self, *arguments, code=0):
        """Run a command line, for programs."""
        return json.loads(self.openset(*arguments, "--json", code=code))

    def python(self, code):
        """Run a few lines."""
        done = self.run("-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout


def example(path):
    """Make a function the test of an example of the page."""

    def mark(check):
        CHECKS[path] = check
        return check

    return mark


def entry_points(package):
    """What the metadata of a package says that has one of each."""
    groups: dict[str, set[str]] = {}
    for path in map(Path, EXAMPLES):
        folder = ".".join(path.parent.parts)
        module = f"{folder}.{path.stem}" if path.suffix == ".py" else folder
        name = path.stem.replace("-", "_")
        groups.setdefault(f"openset.{folder}", set()).add(f"{name} = {package}.{module}")
    return "\n".join("\n".join([f"[{group}]", *lines, ""]) for group, lines in groups.items())


def written(root):
    for path, text in EXAMPLES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        assert not file.exists(), f"{path} of the page is there already"
        file.write_text(text, "utf-8")


def another_package(folder):
    """A package of someone else, as an installer leaves it."""
    written(folder / "mylab")
    info = folder / "mylab-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mylab\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points("mylab"))
    return os.pathsep.join([str(folder), str(HOME.parent)])


def this_package(folder):
    """A copy of this one, with new files in its folders."""
    shutil.copytree(HOME, folder / "openset")
    written(folder / "openset")
    return str(folder)


@pytest.fixture(scope="module", params=[another_package, this_package], ids=lambda f: f.__name__)
def stranger(request, tmp_path_factory):
    """Someone who has added one of each."""
    path = request.param(tmp_path_factory.mktemp("additions"))
    folder = tmp_path_factory.mktemp("work")
    write_scene(folder)
    return Stranger(path, folder)


def test_every_example_of_the_page_is_used():
    assert EXAMPLES.keys() == CHECKS.keys()


def test_the_table_of_the_page_names_every_folder():
    listed = re.findall(r"^\| \[[^|]*\| `([a-z/_]+)/` \|", PAGE, re.MULTILINE)
    assert sorted(listed) == sorted(str(Path(path).parent) for path in EXAMPLES)
    assert all((HOME / folder).is_dir() for folder in listed)


@pytest.mark.parametrize("path", EXAMPLES)
def test_it_works(path, stranger):
    CHECKS[path](stranger)


@example("metrics/unknown_jaccard.py")
def metric(stranger):
    done = stranger.json("evaluate", "gt.json", "base.json", "--known", "dog,cat")
    value = done["models"]["base"]["values"]["unknown_jaccard"]
    low, high = value["interval"]
    assert 0 < low < value["value"] < high < 1


@example("formats/objects/herdnet.py")
def an_object_of_another_package(stranger):
    said = stranger.python(
        """
from types import SimpleNamespace as Object
from openset.formats import read_detections
cow = Object(corners=[1, 2, 5, 7], name="cow", sure=0.5)
print(read_detections([Object(photo="a.jpg", animals=[cow])]).box.tolist())
"""
    )
    assert said.strip() == "[[1.0, 2.0, 4.0, 5.0]]"


@example("formats/lines.py")
def file_format(stranger):
    names, keys = {1: "dog", 2: "cat", 9: "unknown"}, ("image_id", "category_id", "score", "bbox")
    records = json.loads((stranger.folder / "base.json").read_text())
    records = [{key: record[key] for key in keys} for record in records]
    rows = [[r["image_id"], names[r["category_id"]], r["score"], *r["bbox"]] for r in records]
    lines = ["#lines", *(" ".join(map(str, row)) for row in rows)]
    (stranger.folder / "said.lines").write_text("\n".join(lines))
    done = stranger.json("evaluate", "gt.json", "said.lines", "--known", "dog,cat", QUICK)
    [said] = done["models"].values()
    truth = stranger.folder / "gt.json"
    expected = openset.evaluate(truth, records, known=["dog", "cat"], intervals=False)
    numbers = {name: said["values"][name]["value"] for name in expected.values}
    assert numbers == {name: one.value for name, one in expected.values.items()}


@example("tables/vocabularies/farm.toml")
def vocabulary(stranger):
    entry = stranger.json("list", "vocabularies")["entries"]["farm"]
    assert entry["tasks"] == [["dog", "cat"]]
    done = stranger.json("evaluate", "gt.json", "base.json", "--known", "farm", QUICK)
    assert done["models"]["base"]["provenance"]["vocabulary"] == "farm"


@example("explain/texts/terms-farm.toml")
def explanation(stranger):
    text = stranger.openset("explain", "pasture")
    assert "shows animals and nothing else" in text and "Easy for a detector" in text
    assert stranger.openset("explain", "meadow") == text


@example("cli/count.py")
def verb(stranger):
    boxes = len(json.loads((stranger.folder / "gt.json").read_text())["annotations"])
    assert stranger.openset("count", "gt.json") == f"{boxes} boxes\n"
    assert stranger.json("count", "gt.json")["boxes"] == boxes
    assert "Count the boxes of a file." in stranger.openset("--help")


@example("diagnosis/crowded.py")
def diagnosis(stranger):
    assert "crowded" in stranger.json("list", "diagnosis")["entries"]
    known = ("--known", "dog,cat", QUICK)
    stranger.openset("evaluate", "gt.json", "base.json", *known, "-o", "crowded")
    text = stranger.openset("diagnose", "crowded", "--question", "crowded")
    counts = [int(n) for n in re.findall(r"^\d+ +(\d+)$", text, re.MULTILINE)]
    assert counts and counts == sorted(counts, reverse=True)


@example("scorers/margin.py")
def scorer(stranger):
    assert "margin" in stranger.openset("list", "scorers")
    source = HOME / "examples" / "digits" / "fcos.parquet"
    stranger.openset("score", source, "--scorers", "margin", "-o", "margin.parquet")
    scored = openset.read(stranger.folder / "margin.parquet")
    ordered = np.sort(openset.read(source).logits.astype(np.float64), axis=1)
    np.testing.assert_allclose(scored.unknownness, ordered[:, -2] - ordered[:, -1], rtol=1e-5)


@example("detectors/centre.py")
def detector(stranger):
    from PIL import Image

    entry = stranger.json("list", "detectors")["entries"]["centre"]
    assert entry["summary"] == "One box in the middle of every image, as a baseline."
    Image.new("RGB", (40, 20)).save(stranger.folder / "white.png")
    code = """
from openset.detectors import ImageFiles, find, run
model = find("centre").build(["dog"], share=0.25)
print(run(model, ImageFiles.of("white.png"), keep=()).box.tolist())
"""
    assert stranger.python(code) == "[[15.0, 7.5, 10.0, 5.0]]\n"


@example("methods/centre_loss.py")
def detector_method(stranger):
    pytest.importorskip("torchvision", reason="the torch extra is not installed")
    entry = stranger.json("list", "methods")["entries"]["centre_loss"]
    assert entry["paper"] == "Wen et al., ECCV 2016"
    code = """
import torch
from openset.detectors import carry, find
options = {"backbone": "small", "shortest": 64, "longest": 64}
model = find("faster_rcnn").build(["dog", "cat"], device="cpu", **options)
carry(model, "centre_loss", {"weight": 0.5})
target = {"boxes": torch.tensor([[8.0, 8.0, 40.0, 40.0]]), "labels": torch.tensor([1])}
losses = model.train()([torch.rand(3, 64, 64)] * 2, [target] * 2)
losses["method_centre"].backward()
print(model.about["method"], model.method.centre.grad.abs().sum().item() > 0)
"""
    assert stranger.python(code) == "centre_loss True\n"


@example("training/recipes/quick.toml")
def training_recipe(stranger):
    entry = stranger.json("list", "recipes")["entries"]["quick"]
    assert entry["summary"] == "faster_rcnn, 20 steps of 4 images"
    line = "from openset.training import Recipe; print(Recipe.of('quick', seed=3).lr)"
    assert stranger.python(line) == "0.005\n"


@example("worlds/dots.py")
def world(stranger):
    done = stranger.json("build", "dots", "--option", "images=6", "-o", "dots")
    assert done["splits"] == {"test": {"images": 6, "known": 3, "unknown": 3}}
    assert (stranger.folder / "dots" / "5.png").exists()


def farm(stranger):
    """Where the sources of benchmarks are."""
    folder = stranger.folder / "farm"
    folder.mkdir(exist_ok=True)
    shutil.copy(stranger.folder / "gt.json", folder / "farm.json")
    return folder


@example("benchmarks/catalogue/farmyard.toml")
def benchmark(stranger):
    assert "farmyard" in stranger.json("list", "benchmarks")["entries"]
    done = stranger.json("build", "farmyard", "--source", farm(stranger), "-o", "farmyard")
    about = done["bundle"]["splits"]["test"]
    assert about["images"] == 24 and about["known"] and about["unknown"]


def own_benchmark(stranger, name, source, select):
    """The benchmark of the page with another source and another choice of images."""
    text = EXAMPLES["benchmarks/catalogue/farmyard.toml"]
    changed = text.replace('path = ["farm.json"]', source)
    changed = changed.replace("{ annotated = true }", select)
    (stranger.folder / f"{name}.toml").write_text(changed)
    command = ["build", f"{name}.toml", "--source", farm(stranger), "-o", name]
    return stranger.json(*command)["bundle"]["splits"]["test"]


@example("benchmarks/rules/at_least.py")
def rule(stranger):
    truth = json.loads((stranger.folder / "gt.json").read_text())
    truth["annotations"].pop()  # of three in each of 24 images
    (farm(stranger) / "less.json").write_text(json.dumps(truth))
    source = 'path = ["less.json"]'
    assert own_benchmark(stranger, "two", source, "{ at_least = 2 }")["images"] == 24
    assert own_benchmark(stranger, "three", source, "{ at_least = 3 }")["images"] == 23


@example("benchmarks/readers/herd.py")
def reader(stranger):
    text = "a dog 0 0 9 9\na cow 9 9 20 20\nb cat 1 1 9 9\n"
    (farm(stranger) / "herd.txt").write_text(text)
    source = 'path = ["herd.txt"]\nformat = "herd"'
    about = own_benchmark(stranger, "herd", source, "{ with = 'known' }")
    assert (about["images"], about["known"], about["unknown"]) == (2, 2, 1)


@example("benchmarks/principles/test_size.py")
def principle(stranger):
    done = stranger.json("audit", "--test", "gt.json", "--known", "dog,cat", code=1)
    judged = done["audits"][0]["principles"]["test_size"]
    assert (judged["verdict"], judged["title"]) == ("FAIL", "Test size")
    assert judged["checks"][0]["count"] == 76


@example("recognition/metrics/openness_gap.py")
def recognition_metric(stranger):
    known, unknown = [[4.0, 0.0], [0.0, 3.0]], [[1.0, 0.5]]
    np.savez(stranger.folder / "scores.npz", logits_k=known, labels_k=[0, 1], logits_u=unknown)
    done = stranger.json("recognise", "scores.npz", "--metrics", "openness_gap")
    [said] = done["models"].values()
    assert said["values"]["openness_gap"]["value"] == 2.5


@example("recognition/methods/cosine.py")
def recognition_method(stranger):
    pytest.importorskip("torch", reason="the torch extra is not installed")
    code = """
import torch
from openset.recognition.methods import table
method = table()["cosine"].build(3, 4, scale=2.0)
embedding = torch.randn(5, 4)
assert method.logits(embedding).abs().max() <= 2.0001
method.loss(embedding, torch.tensor([0, 1, 2, 0, 1])).backward()
print(method.openness(method.logits(embedding)).shape[0], method.directions.grad is not None)
"""
    assert stranger.python(code) == "5 True\n"


@example("recognition/recipes/farm.toml")
def recognition_recipe(stranger):
    name = "openset.recognition.recipe"
    line = f"from {name} import ClassifierRecipe as R; print(R.of('farm-softmax').epochs)"
    assert stranger.python(line) == "10\n"


@example("recognition/data/stripes.py")
def data_set(stranger):
    code = """
from openset.recognition.data import open_split
split = open_split("stripes")
print(len(split.known), split.train.images.shape, len(split.test.label))
"""
    assert stranger.python(code) == "6 (30, 10, 10, 1) 30\n"


@example("engines/two_threads.py")
def engine(stranger):
    assert "two_threads" in stranger.json("list", "engines")["entries"]
    line = "from openset import engines; print(engines.find('two_threads').map(len, ['a', 'bb']))"
    assert stranger.python(line) == "[1, 2]\n"


@example("integrations/csv_rows.py")
def integration(stranger):
    entry = stranger.json("list", "integrations")["entries"]["csv_rows"]
    assert entry["installed"] is True
    code = """
import csv, sys, openset
from openset.integrations import table
from openset.examples import DETECTIONS, TRUTH
result = openset.evaluate(TRUTH, DETECTIONS, metrics=["a_ose"], intervals=False)
table()["csv_rows"].use(result, csv.writer(sys.stdout))
"""
    assert stranger.python(code).startswith("val/a_ose,")
