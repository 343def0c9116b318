"""What the core install brings: few packages, and nothing in the core imports another."""

from __future__ import annotations

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.try_install import MOST_PACKAGES

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WITH_EXTRAS = {  # packages and files that say which extra they need, where one is missing
    "benchmarks/rules/clusters.py",
    "detectors",
    "engines/ray.py",
    "integrations",
    "learning",
    "methods",
    "nets",
    "recognition",
    "training",
}


def closure(wanted: list[str]) -> set[str]:
    """All that an installer brings for these, on this machine."""
    found: set[str] = set()
    waiting = [Requirement(one) for one in wanted]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name in found or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        waiting += [Requirement(text) for text in requires(name) or []]
    return found


def test_the_core_is_small():
    brought = {"openset", *closure(PROJECT["dependencies"])}
    assert len(brought) <= MOST_PACKAGES <= 25, sorted(brought)


def test_the_walk_goes_all_the_way():
    assert {"rich", "pygments", "markdown-it-py", "mdurl"} <= closure(["rich"])


def imported(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    plain = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    rest = {n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module and not n.level}
    return {name.partition(".")[0] for name in plain | rest}


def test_the_core_imports_what_it_brings():
    source = ROOT / "src" / "openset"
    brought = closure(PROJECT["dependencies"])
    ours = {*sys.stdlib_module_names, "openset"}
    belongs = packages_distributions()
    stray = {}
    for path in source.rglob("*.py"):
        place = path.relative_to(source)
        if {place.as_posix(), place.parts[0]} & WITH_EXTRAS:
            continue
        for name in imported(path) - ours:
            if not {canonicalize_name(one) for one in belongs.get(name, [name])} & brought:
                stray.setdefault(name, []).append(str(place))
    assert stray == {}
