"""What `make dist` makes, without a network: archives that are complete, and run where nothing is.

`tools/try_install.py` does the same with an installer that fetches what the core needs; here that
comes from the environment of the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from tools.try_install import LEAST_BYTES

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.so", "*.egg-info")


def called(command: list[str], folder: Path, **more: str) -> str:
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    env |= {"OPENSET_NO_NATIVE": "1", "OPENSET_KERNELS": "numpy"} | more
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def built(what: str, source: Path, folder: Path) -> Path:
    """An archive of a source tree, made by the build backend that `pyproject.toml` names."""
    code = f"from setuptools import build_meta; print(build_meta.build_{what}({str(folder)!r}))"
    return folder / called([sys.executable, "-c", code], source).splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """A wheel made of the source archive alone."""
    pytest.importorskip("setuptools", minversion="77", reason="setuptools is not installed")
    folder = tmp_path_factory.mktemp("dist")
    tree = folder / "tree"
    shutil.copytree(ROOT / "src", tree / "src", ignore=LEFT_OUT)
    shutil.copytree(ROOT / "native", tree / "native")
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    with tarfile.open(built("sdist", tree, folder)) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    return built("wheel", source, folder)


def test_the_wheel_has_every_file_of_the_package(wheel):
    held = set(zipfile.ZipFile(wheel).namelist())
    kept = (path for path in (ROOT / "src" / "openset").rglob("*") if path.is_file())
    wanted = {
        path.relative_to(ROOT / "src").as_posix()
        for path in kept
        if "__pycache__" not in path.parts and path.suffix != ".so"
    }
    assert wanted - held == set()


def test_it_says_what_it_needs(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        told = Parser().parsestr(archive.read(name).decode())
    needs = [one for one in told.get_all("Requires-Dist") if "extra ==" not in one]
    assert {one.split(">=")[0] for one in needs} >= {"numpy", "polars", "vl-convert-python"}
    assert not any(one.startswith(("altair", "scikit-learn", "torch")) for one in needs)


def test_the_demo_runs_from_it(wheel, tmp_path):
    there = tmp_path / "installed"
    install = ["install", "--quiet", "--no-index", "--no-deps", "--target", str(there), str(wheel)]
    called([sys.executable, "-m", "pip", *install], tmp_path)
    where = called(
        [sys.executable, "-c", "import openset; print(openset.__file__)"],
        tmp_path,
        PYTHONPATH=str(there),
    )
    assert Path(where.strip()).is_relative_to(there)
    program = [sys.executable, "-m", "openset", "demo"]
    called([*program, "--photo", "-o", "photo"], tmp_path, PYTHONPATH=str(there))
    assert (tmp_path / "photo" / "photo.png").stat().st_size > 10_000
    called([*program, "-o", "demo"], tmp_path, PYTHONPATH=str(there))
    assert (tmp_path / "demo" / "run" / "report.html").stat().st_size > LEAST_BYTES
