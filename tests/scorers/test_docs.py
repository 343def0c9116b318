"""The page on scorers lists them all, as they declare themselves; imports stay light."""

import subprocess
import sys
from pathlib import Path

from openset import scorers
from scenes import scorers as scenes

ROOT = Path(__file__).parents[2]
LIGHT = """
import sys
for name in ("msgspec", "polars", "cyclopts", "rich", "PIL", "scipy", "sklearn", "torch"):
    sys.modules[name] = None
from openset import scorers
from scenes import scorers as scenes
for name in scorers.table():
    scenes.fitted(name).scored(scenes.scene(split="test"))
"""


def test_page_is_current():
    page = (ROOT / "docs/scorers.md").read_text("utf-8")
    head, _, body = page.partition("<!-- scorers -->\n")
    assert head
    made = scorers.listing().markdown() + "\n\n" + scorers.markdown()
    assert body.strip() == made.strip(), "write listing() and markdown() into docs/scorers.md"


def test_every_option_is_on_the_page():
    text = scorers.markdown()
    for name, record in scorers.table().items():
        section = text.partition(f"### {name}\n")[2].partition("\n### ")[0]
        assert section.startswith("\n" + record.summary.replace("``", "`"))
        for option, default in record.options.items():
            assert f"- `{option}={default!r}`: " in section


def test_numpy_is_enough():
    folder, source = Path(scenes.__file__).parents[1], ROOT / "src"
    code = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(source)!r}]\n{LIGHT}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
