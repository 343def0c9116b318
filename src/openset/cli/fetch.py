"""fetch: which files a benchmark needs, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.cli._terminal import wrapped
from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.benchmarks.definition import Benchmark
    from openset.benchmarks.fetching import FoundSource

app = verb("fetch", panel="Data")


@app.default
def fetch(
    benchmarks: list[str],
    /,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))] = Path(),
    splits: list[str] | None = None,
    download: Flag = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Say which files a benchmark needs, their licences, and whether they are whole; exit 1 if not.

    Args:
        benchmarks: A name such as owod or osod3-animal, or a TOML file of your own; several are
            looked for in the same folder.
        out: The folder where the files are, or are to be.
        splits: Only what these splits need, a,b,c; of one benchmark.
        download: Download files whose terms allow it, and make worlds; else only look.
        output: How to speak.
    """
    from openset.benchmarks import definition
    from openset.cli._inputs import listed

    every = {name: definition.load(name) for name in benchmarks}
    if splits:
        if len(every) > 1:
            raise UsageError("--splits are of one benchmark; fetch the others separately")
        every = {name: definition.only(one, listed(splits)) for name, one in every.items()}
    found = [(one, _found(one, out, output, download=download)) for one in every.values()]
    whole = all(_whole(items) for _, items in found)
    text = "\n\n".join(_text(one, items, out) for one, items in found)
    documents = [_document(one, items) for one, items in found]
    return Answer(
        text,
        lambda: documents[0] if len(documents) == 1 else {"benchmarks": documents},
        int(not whole),
    )


def _found(defined: Benchmark, out: Path, output: Output, *, download: bool) -> list[FoundSource]:
    from openset.benchmarks import fetching

    if not download:
        return fetching.look(defined, out)
    with output.progress(len(defined.sources) + 1) as step:
        return fetching.fetch(defined, out, say=step)


def _whole(items: Sequence[FoundSource]) -> bool:
    from openset.benchmarks import fetching

    return all(item.state is fetching.Presence.THERE for item in items)


def _text(defined: Benchmark, items: Sequence[FoundSource], out: Path) -> str:
    lines = [wrapped(f"{defined.name}: {defined.summary}", "    ")]
    lines += [wrapped(f"paper: {defined.paper}", "    ")] * bool(defined.paper)
    lines += [wrapped(f"licence: {defined.licence}", "    ")] * bool(defined.licence)
    lines += [wrapped(f"known issue: {issue}", "    ") for issue in defined.issues]
    for item in items:
        lines.append(f"{item.state.value:<8}{item.path}")
        rows = {"why": item.why, "from": item.source.url, "licence": item.source.licence}
        rows |= {"pictures": item.source.pictures_url or " or ".join(item.source.pictures)}
        rows |= {"checksum": item.checksum, "note": item.source.note}
        lines += [f"        {key}: {value}" for key, value in rows.items() if value]
    if not items:
        lines.append("it needs no files")
    if _whole(items) and defined.kind == "recognition":
        data = defined.name.partition(":")[0].removeprefix("osr-")
        lines.append(f'next: openset.recognition.data.open_split("{data}", folder="{out}")')
    elif _whole(items):
        lines.append(f"next: openset build {defined.name} --source {out} -o DIR")
    elif defined.world is not None or any(item.source.download for item in items):
        lines.append(f"next: openset fetch {defined.name} -o {out} --download")
    return "\n".join(lines)


def _document(defined: Benchmark, items: Sequence[FoundSource]) -> dict[str, Any]:
    keys = ("url", "pictures_url", "licence", "sha256", "size", "download", "note")
    return {
        "benchmark": defined.name,
        "issues": list(defined.issues),
        "sources": {
            item.name: {"path": str(item.path), "state": item.state.value, "why": item.why}
            | {"checksum": item.checksum}
            | {key: getattr(item.source, key) for key in keys}
            for item in items
        },
    }
