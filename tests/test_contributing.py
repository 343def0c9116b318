"""CONTRIBUTING.md is a map: what it names is there, and what is there is on it, in order.

Its examples are tested by `test_one_of_each`, its walk by `test_walk`.
"""

from __future__ import annotations

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOME = ROOT / "src" / "openset"
PAGE = re.sub(r"```.*?```", "", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), flags=re.S)
CODE = re.findall(r"`([^`\n]+)`", PAGE)
PATHS = [name for name in CODE if re.fullmatch(r"[\w./-]+(/|\.py|\.md|\.toml)", name)]
MODULES = [name for name in CODE if re.fullmatch(r"openset(\.[a-z_]+)+", name)]
OFFERED = {"openset.evaluate"}  # functions of the package, not modules


def on_the_map():
    """Packages and root modules in the order of the table."""
    table = PAGE[PAGE.index("| `src/openset/` |") : PAGE.index("| folder |")]
    cells = [line.split("|")[1] for line in table.splitlines()[2:] if line.startswith("|")]
    return [
        name.removesuffix(".py") for cell in cells for name in re.findall(r"`(\w[\w.]+)`", cell)
    ]


def layers():
    """The contract: names of each layer, from top to bottom."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    layered = next(one for one in contracts["contracts"] if one["type"] == "layers")
    return [re.split(r"\s*[|:]\s*", layer) for layer in layered["layers"]]


def test_the_page_names_many_things():
    assert len(PATHS) > 40 and MODULES


@pytest.mark.parametrize("path", sorted(set(PATHS)))
def test_a_path_is_there(path):
    assert any((start / path).exists() for start in (ROOT, HOME)), path


@pytest.mark.parametrize("name", sorted(set(MODULES) - OFFERED))
def test_a_module_is_there(name):
    assert find_spec(name) is not None


def test_every_package_and_root_module_is_on_the_map():
    packages = {path.parent.name for path in HOME.glob("*/__init__.py")}
    modules = {path.stem for path in HOME.glob("*.py") if not path.stem.startswith("__")}
    assert sorted(on_the_map()) == sorted(packages | modules)


def test_the_map_has_the_order_of_the_contract():
    place = {name: at for at, layer in enumerate(layers()) for name in layer}
    found = on_the_map()
    assert found == sorted(found, key=place.__getitem__)


def test_every_folder_is_on_the_map():
    table = PAGE[PAGE.index("| folder |") : PAGE.index("## A walk")]
    named = set(re.findall(r"^\| `(\w+)/`", table, flags=re.M))
    assert named == {"native"} | {path.parent.name for path in ROOT.glob("[a-z]*/*.py")}


def test_every_decorator_that_the_page_names_is_offered():
    """`@metric` of a row is found in the package that the row says to put a file into."""
    rows = re.findall(r"^\| \[[^|]+\| `([\w/]+)/` \|(.*)\|$", PAGE, flags=re.M)
    assert len(rows) > 15
    for folder, holds in rows:
        for name in re.findall(r"`@(\w+)`", holds):
            text = (HOME / folder / "__init__.py").read_text("utf-8")
            assert re.search(rf"\b{name}\b", text), (folder, name)
