"""merge: the parts of several shards as one folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.findings import refuse

app = verb("merge", panel="Data")


@app.default
def merge(
    folders: list[Path],
    /,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Join the parts that shards have made, each in a folder of its own.

    All must be of one plan: the same model, options and images. Shards that wrote into one folder
    need no merge.

    Args:
        folders: Folders of parts, of `openset run --shard` or `openset score --shard`.
        out: Folder to write; may be one of a merge that lacked some parts.
        output: How to speak.
    """
    from openset.cli._parts import answer
    from openset.formats.parts import is_parts, merged

    for folder in folders:
        if not is_parts(folder):
            raise refuse("OS104", f"{folder} is no folder of parts: it has no manifest.json")
    made = merged(folders, out)
    return answer(made, len(made))
