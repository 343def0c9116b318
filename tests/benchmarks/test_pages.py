"""The page on benchmarks lists what there is; with OPENSET_PAGES=write its tables are made anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from openset.benchmarks import table
from openset.benchmarks.principles import principles
from openset.benchmarks.rules import rules

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
BLOCKS = {
    "image rules": lambda: {n: rules("image rule")[n].summary for n in sorted(rules("image rule"))},
    "class rules": lambda: {n: rules("class rule")[n].summary for n in sorted(rules("class rule"))},
    "principles": lambda: {name: one.summary for name, one in principles().items()},
    "catalogue": lambda: {name: entry.benchmark.summary for name, entry in table().items()},
}


@pytest.mark.parametrize("block", BLOCKS)
def test_tables_are_current(block):
    rows = "".join(f"| `{name}` | {what} |\n" for name, what in BLOCKS[block]().items())
    pattern = re.compile(rf"(<!-- {block} -->\n)(.*?)(<!-- end -->)", re.DOTALL)
    text = PAGE.read_text("utf-8")
    if os.environ.get("OPENSET_PAGES") == "write":
        PAGE.write_text(pattern.sub(lambda found: found[1] + rows + found[3], text), "utf-8")
    else:
        assert pattern.search(text)[2] == rows


def test_the_page_names_every_key():
    from openset.benchmarks.definition import Benchmark, Classes, Source, Split

    text = PAGE.read_text("utf-8")
    keys = [k for struct in (Benchmark, Classes, Source, Split) for k in struct.__struct_fields__]
    made = {"name", "kind", "world", "classes", "sources", "splits", "lists", "variants"}
    for key in set(keys) - made:
        assert re.search(rf"[`.]{key}`", text), key
