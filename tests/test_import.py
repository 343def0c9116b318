"""What an import costs and needs: nothing heavy, and numpy alone where detectors are trained."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import openset

SOURCE = str(Path(openset.__file__).parents[1])
HEAVY = (
    "polars",
    "scipy",
    "sklearn",
    "msgspec",
    "torch",
    "pandas",
    "pyarrow",
    "yaml",
    "defusedxml",
)

BLOCKER = f"""
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HEAVY!r}:
            raise ImportError(f"{{name}} is not installed")
sys.meta_path.insert(0, Blocker())
"""

IN_MEMORY = """
import numpy as np, openset
box = np.array([[0.0, 0.0, 9.0, 9.0], [20.0, 20.0, 40.0, 40.0]])
truth = [{"boxes": box, "labels": np.array([1, 2]), "image_id": 5}]
found = [{"boxes": box, "labels": np.array([1, 1]), "scores": np.array([0.9, 0.8]), "image_id": 5}]
result = openset.Evaluator(known=["1"]).update(truth, found).compute()
assert result.values["a_ose"].value == 1, result
assert repr(result) and result.to_json() and result.to_csv() and result.to_markdown()
"""


def run(code):
    """Run code in a fresh interpreter that sees this package and nothing of this process."""
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {SOURCE!r})\n{code}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_cheap():
    loaded = run("import openset; print(*sys.modules)").split()
    assert "openset" in loaded
    assert not {name.partition(".")[0] for name in loaded} & {*HEAVY, "numpy"}


@pytest.mark.parametrize(
    "code",
    [
        "import openset.kernels, openset.tables",
        "import openset.matching, openset.scorers, openset.evaluation, openset.resampling.images",
        "from openset.metrics import table; assert len(table()) > 20",
        IN_MEMORY,
    ],
    ids=["kernels and tables", "matching and evaluation", "all metrics", "evaluate in memory"],
)
def test_numpy_is_enough(code):
    run(BLOCKER + code)


def test_detectors_are_trained_without_the_packages_of_reports_and_files():
    pytest.importorskip("torch", reason="the torch extra is not installed")
    allowed = ("torch", "scipy")
    blocker = BLOCKER.replace(repr(HEAVY), repr(tuple(n for n in HEAVY if n not in allowed)))
    code = "import openset.training.loop, openset.recognition.training, openset.detectors\n"
    run(blocker + code + "from openset.methods import table; assert table()")


def test_the_blocker_blocks():
    run(
        BLOCKER
        + "try:\n    import polars\nexcept ImportError:\n    pass\nelse:\n    raise SystemExit(1)"
    )


def test_public_names_resolve():
    for name in openset.__all__:
        assert getattr(openset, name) is not None
    assert set(openset.__all__) <= set(dir(openset))
    # The list for type checkers names the same things.
    source = Path(openset.__file__).read_text("utf-8")
    block = source.partition("if TYPE_CHECKING:")[2].partition("\n\n")[0]
    listed = {
        name.strip()
        for line in block.splitlines()
        if " import " in line
        for name in line.partition(" import ")[2].split(",")
    }
    assert listed == set(openset.__all__) - {"__version__"}


def test_every_package_has_the_names_it_offers():
    pytest.importorskip("torch", reason="the torch extra is not installed")
    found = pkgutil.walk_packages(openset.__path__, "openset.")
    for package in (importlib.import_module(info.name) for info in found if info.ispkg):
        absent = [name for name in getattr(package, "__all__", ()) if not hasattr(package, name)]
        assert not absent, package.__name__


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="nonsense"):
        openset.nonsense  # noqa: B018
    assert not hasattr(openset, "evaluat")
