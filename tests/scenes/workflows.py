"""Workflows: the commands that a page about a paper prints first, run on a small stand-in.

What is run is read from the page. Only what takes hours is replaced: a recipe by a tiny one of the
same name in the working directory, weights by none, and the device by this machine's processor.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parents[2] / "docs" / "papers"
BLOCK = re.compile(
    r"^## From the official files to the main table\n+```bash\n(.*?)^```", re.M | re.S
)
TINY = """
detector = "faster_rcnn"
{method}
steps = {steps}
batch = 2
[options]
backbone = "small"
shortest = 64
longest = 64
"""


def lines(paper: str) -> list[str]:
    """The lines of the way to the main table, as the page has them."""
    found = BLOCK.search((PAGES / f"{paper}.md").read_text("utf-8"))
    assert found, paper
    return found[1].splitlines()


def commands(paper: str) -> Iterator[list[str]]:
    """The words of each command."""
    for line in lines(paper):
        words = shlex.split(line, comments=True)
        assert words[0] == "openset", line
        yield words[1:]


def tiny(here: Path, recipe: str, method: str = "", steps: int = 2) -> None:
    """A recipe that `follow` takes in place of one of that name."""
    said = f'method = "{method}"' if method else ""
    (here / f"{recipe}.toml").write_text(TINY.format(method=said, steps=steps))


def follow(
    openset: Any,
    here: Path,
    paper: str,
    places: Mapping[str, str] = {},
    more: Mapping[str, tuple[str, ...]] = {},
) -> list[Any]:
    """Run the workflow of a page in a folder; what each command answered.

    Args:
        openset: Runs a command.
        here: Where, with the stand-in and tiny recipes in it.
        paper: The page.
        places: What words of the page stand for: SOURCES, PICTURES ...
        more: Words added to commands that have one: a verb, an option.
    """
    answers = []
    for command in commands(paper):
        words = [places.get(word, word) for word in command]
        if words[0] in ("train", "learn"):
            at = words.index("--recipe") + 1 if "--recipe" in words else 1
            words[at] += ".toml" if (here / f"{words[at]}.toml").is_file() else ""
        if "pretrained=resnet50.pth" in words:
            option = words.index("pretrained=resnet50.pth")
            del words[option - 1 : option + 1]
        if words[0] in ("train", "run", "learn"):
            words += ["--device", "cpu"]
        added = [each for word, others in more.items() if word in words for each in others]
        done = openset(*words, *added, "-q")
        assert done.code in (0, 1), (command, done.err)  # 1: not the published counts
        answers.append(done)
    return answers
