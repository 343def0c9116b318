"""Discovery: a new file is found, a name taken twice is refused, a misspelt one is explained.

That every kind of thing is found is in `test_one_of_each`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from openset.findings import UsageError
from openset.plugins import (
    DuplicateNameError,
    PluginError,
    discover,
    documents,
    lookup,
    modules,
    record_of,
    tag,
)

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
losses = model.train()([torch.rand(3, 64, 64)] * 2, [target] * 2)
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
    name = f"plugged_{request.node.name}".translate(str.maketrans("[]", "__"))
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


def test_what_another_package_broke_is_named(package, tmp_path):
    (tmp_path / f"{package.name}_bad.py").write_text("import nowhere_to_be_found\n")
    entry_point(package, package.name, f"more = {package.name}_bad")
    with pytest.raises(PluginError, match=r"'more'.*_bad.*nowhere_to_be_found"):
        discover(package.name, "thing")
    assert modules(package.name) == {"more": [f"{package.name}_bad"]}


@pytest.fixture
def files(package):
    """A folder of that package with a file in it, and one of another package."""
    for folder, stem in ((package / "own", "ant"), (package / "other", "bee")):
        folder.mkdir()
        (folder / f"{stem}.toml").write_text(stem)
    entry_point(package, f"{package.name}.own", f"more = {package.name}.other")
    return package


def held(package):
    return documents(f"{package.name}.own", lambda path: path.read_text())


def test_files_are_found_in_order_wherever_they_are(files):
    (files / "own" / "zebra.toml").write_text("zebra")
    (files / "own" / "notes.txt").write_text("")
    assert dict(held(files)) == {"ant": "ant", "bee": "bee", "zebra": "zebra"}
    assert list(held(files)) == sorted(held(files)) and len(held(files)) == 3


def test_two_files_of_one_name_are_in_nobody_elses_way(files):
    (files / "other" / "ant.toml").write_text("another ant")
    found = held(files)
    assert found["bee"] == "bee" and "ant" in found
    with pytest.raises(DuplicateNameError, match=r"'ant'.*own/ant.toml and .*other/ant.toml"):
        found["ant"]


def test_a_broken_file_is_named_and_in_nobody_elses_way(files):
    (files / "other" / "bad.toml").write_bytes(b"\xff")
    found = held(files)
    assert found["bee"] == "bee"
    with pytest.raises(PluginError, match=r"other/bad.toml cannot be used"):
        found["bad"]
    assert "cow" not in found
    with pytest.raises(KeyError):
        found["cow"]


def test_a_file_is_read_once(files):
    read = []
    found = documents(f"{files.name}.own", lambda path: read.append(path.stem))
    assert not read
    assert found["ant"] is found["ant"] is None
    assert read == ["ant"]


@pytest.mark.parametrize(
    ("module", "why"),
    [("no_such_package", "no such package"), ("{}.empty", "no .toml"), ("{}.alone", "no .toml")],
    ids=["absent", "empty", "alone"],
)
def test_an_entry_point_that_names_no_files(package, module, why):
    (package / "own").mkdir()
    (package / "own" / "ant.toml").write_text("")
    (package / "empty").mkdir()
    (package / "alone.py").write_text("")
    named = module.format(package.name)
    entry_point(package, f"{package.name}.own", f"more = {named}")
    with pytest.raises(PluginError, match=rf"'more'.*{named}.*{why}"):
        held(package)


VERB = """
from openset.cli import Answer, verb
app = verb("demo", panel="Other")

@app.default
def demo() -> Answer:
    return Answer("mine")
"""


def test_a_broken_verb_is_in_nobody_elses_way(package):
    (package / "broken.py").write_text("import nowhere_to_be_found\n")
    (package / "empty.py").write_text("")
    (package / "demo.py").write_text(VERB)
    names = ("broken", "empty", "demo")
    entry_point(package, "openset.cli", "\n".join(f"{n} = {package.name}.{n}" for n in names))

    def openset(*arguments):
        paths = [str(package.parent), *sys.path]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"}
        command = [sys.executable, "-m", "openset", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    shown = openset("--help")
    assert shown.returncode == 0
    assert "Evaluate detections" in shown.stdout and "nowhere_to_be_found" in shown.stdout
    assert openset("explain", "wi").returncode == 0
    for verb, why in (
        ("broken", "nowhere_to_be_found"),
        ("empty", "no attribute 'app'"),
        ("demo", "two plug-ins are called verb 'demo'"),
    ):
        done = openset(verb)
        assert (done.returncode, why in " ".join(done.stderr.split())) == (2, True), done.stderr
        assert "Traceback" not in done.stderr


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
