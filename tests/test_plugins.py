"""Discovery: a new file is found, a name taken twice is refused, a misspelt one is explained."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from openset.findings import UsageError
from openset.plugins import DuplicateNameError, discover, lookup, record_of, tag

METRIC = """
from openset.plugins import tag

class Record:
    name = {name!r}

@tag("thing", Record())
def {function}():
    return {name!r}
"""


ROOT = Path(__file__).parents[1]
# What is done with the example of a page, once it is installed.
USED = {
    "engines": "assert engines.find({name!r}).map(abs, [-1, 2]) == [1, 2]",
    "methods": """
import torch
from openset.detectors import carry, find
options = dict(backbone="small", shortest=64, longest=64)
model = find("faster_rcnn").build(("a", "b"), device="cpu", **options)
carry(model, {name!r}, dict(weight=1.0))
target = dict(boxes=torch.tensor([[8.0, 8, 40, 40]]), labels=torch.tensor([1]))
losses = model.train()([torch.rand(3, 64, 64)], [target])
losses["method_centre"].backward()
assert model.network.method.centre.grad[1].abs().sum() > 0
""",
    "integrations": """
import openset
from openset.examples import DETECTIONS, TRUTH
class Writer:
    def writerows(self, rows):
        assert "val/a_ose" in dict(rows)
        self.used = True
writer = Writer()
integrations.table()[{name!r}].use(openset.evaluate(TRUTH, DETECTIONS, known="voc20"), writer)
assert writer.used and integrations.table()[{name!r}].installed
""",
}


@dataclass(frozen=True)
class Record:
    name: str


@pytest.fixture
def package(tmp_path, monkeypatch, request):
    """An importable package; write modules into it, then `discover` it."""
    name = f"plugged_{request.node.name}"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for module in [m for m in sys.modules if m.partition(".")[0] == name]:
        del sys.modules[module]


def add(folder, module, name, function="thing"):
    (folder / f"{module}.py").write_text(METRIC.format(name=name, function=function))


def test_modules_are_found_in_order_and_private_ones_are_not(package):
    add(package, "zebra", "z")
    add(package, "ant", "a")
    add(package, "_hidden", "h")
    found = discover(package.name, "thing")
    assert list(found) == ["a", "z"]
    assert found["a"]() == "a"
    assert discover(package.name, "other kind") == {}


def test_two_of_one_name_are_refused(package):
    add(package, "ant", "same")
    add(package, "bee", "same")
    with pytest.raises(DuplicateNameError, match=r"'same'.*ant and .*bee"):
        discover(package.name, "thing")


def test_the_same_object_in_two_modules_is_one(package):
    add(package, "ant", "a")
    (package / "bee.py").write_text(f"from {package.name}.ant import thing\n")
    assert list(discover(package.name, "thing")) == ["a"]


def test_a_broken_module_is_not_hidden(package):
    (package / "bad.py").write_text("import nowhere_to_be_found\n")
    with pytest.raises(ImportError, match="nowhere_to_be_found"):
        discover(package.name, "thing")


def entry_point(folder, group, text):
    info = folder.parent / "offered-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{text}\n")


def test_an_installed_package_can_offer_plugins(package, tmp_path):
    add(package, "ant", "a")
    (tmp_path / f"{package.name}_more.py").write_text(METRIC.format(name="b", function="other"))
    entry_point(package, package.name, f"more = {package.name}_more")
    assert list(discover(package.name, "thing")) == ["a", "b"]


@pytest.mark.parametrize(
    ("page", "room", "name"),
    [
        ("engines", "engines", "two_threads"),
        ("methods", "methods", "centre_loss"),
        ("cli", "integrations", "csv"),
    ],
)
def test_the_example_of_a_page_is_found_in_another_package(tmp_path, page, room, name):
    """What the documentation shows, installed as a third party's, word for word."""
    if room == "methods":
        pytest.importorskip("torchvision", reason="the torch extra is not installed")
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    (example,) = [b for b in re.findall(r"```python\n(.*?)```", text, re.S) if f'("{name}"' in b]
    (tmp_path / "theirs.py").write_text(example)
    entry_point(tmp_path / "theirs", f"openset.{room}", "theirs = theirs")
    check = f"from openset import {room}\n{USED[room].format(name=name)}"
    paths = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    env = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-c", check]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=env
    )
    assert done.returncode == 0, done.stderr


def test_tags_carry_a_record():
    @tag("thing", Record("x"))
    def function():
        pass

    assert record_of(function) == Record("x")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("oword", "Did you mean 'owod'?"),
        ("cocoo", "Did you mean 'coco'?"),
        ("qqqqq", "unknown protocol 'qqqqq'. Known: coco, owod"),
    ],
)
def test_a_misspelt_name(name, hint):
    with pytest.raises(UsageError) as caught:
        lookup({"owod": 1, "coco": 2}, name, "protocol")
    assert hint in str(caught.value)


@pytest.mark.parametrize("name", [None, 3, 0.5, ("owod",), ["owod"]])
def test_a_name_of_another_type(name):
    with pytest.raises(UsageError, match="protocol"):
        lookup({"owod": 1}, name, "protocol")


def test_a_right_name():
    assert lookup({"owod": 1}, "owod", "protocol") == 1
