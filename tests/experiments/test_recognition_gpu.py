"""The GPU example: it runs without a GPU, and where little more than torch is installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the torch extra is not installed")
EXAMPLE = Path(__file__).parents[2] / "experiments" / "recognition_gpu.py"
BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("msgspec", "polars", "torchvision", "PIL", "cyclopts"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocked())
"""


def test_a_trial_needs_little_more_than_torch():
    settings = {"data": "digits", "folder": "", "epochs": 1}
    settings |= {"device": "cpu", "precision": "float32", "compiled": False}
    code = f"{BLOCKED}\nimport json, runpy\nmain = runpy.run_path({str(EXAMPLE)!r})\n"
    code += f"print(json.dumps(main['_trained']({settings!r}, 'openauc_hinge', 0)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    row = json.loads(done.stdout)
    assert (row["method"], row["trial"], row["pictures"]) == ("openauc_hinge", 0, 12 * 64)
    assert 0 < row["openauc"] < 100


def test_the_page_says_which_means_are_near_the_papers(tmp_path):
    trained = {"openauc_sd": 0.1, "paper": 99.4, "trials": []}
    methods = {
        "arpl": trained | {"openauc_mean": 98.5},
        "openauc": trained | {"openauc_mean": 98.3},
    }
    run = {
        "data": "mnist",
        "device": "a card",
        "settings": {"epochs": 5, "methods": "arpl,openauc", "processes": 3},
    }
    run |= {"methods": methods, "seconds": 60.4, "pictures_per_second": 1234}
    run |= {"tflops": 1.25, "share_of_peak": 0.0016}
    (tmp_path / "a.json").write_text(json.dumps(run))
    command = [sys.executable, EXAMPLE.with_name("recognition_gpu_page.py"), tmp_path / "a.json"]
    subprocess.run([*command, "--page", tmp_path / "page.md"], check=True)
    page = (tmp_path / "page.md").read_text()
    assert "| ARPL | 5 | 98.50 ± 0.10 | 99.4 | -0.90 | yes |" in page
    assert "| OpenAUC | 5 | 98.30 ± 0.10 | 99.4 | -1.10 | no |" in page
    assert "| ARPL; OpenAUC | a card | 60 | 1,234 | 1.2 | 0.2 % |" in page
    assert "--epochs 5 --methods arpl,openauc --processes 3" in page
