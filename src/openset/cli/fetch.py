"""fetch: which files a benchmark needs, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.cli._terminal import wrapped

if TYPE_CHECKING:
    from openset.benchmarks.definition import Benchmark
    from openset.benchmarks.fetching import FoundSource

app = verb("fetch", panel="Data")


@app.default
def fetch(
    benchmark: str,
    /,
    *,
    out: Annotated[Path, Parameter(name=("--out", "-o"))] = Path(),
    splits: list[str] | None = None,
    download: Flag = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Say which files a benchmark needs, their licences, and whether they are whole; exit 1 if not.

    Args:
        benchmark: A name such as owod or osod3-animal, or a TOML file of your own.
        out: The folder where the files are, or are to be.
        splits: Only what these splits need, a,b,c.
        download: Download files whose terms allow it, and make worlds; else only look.
        output: How to speak.
    """
    from openset.benchmarks import definition, fetching
    from openset.cli._inputs import listed

    defined = definition.load(benchmark)
    if splits:
        defined = definition.only(defined, listed(splits))
    if download:
        with output.progress(len(defined.sources) + 1) as step:
            items = fetching.fetch(defined, out, say=step)
    else:
        items = fetching.look(defined, out)
    whole = all(item.state is fetching.Presence.THERE for item in items)
    return Answer(
        _text(defined, items, out, whole=whole),
        lambda: _document(defined, items),
        int(not whole),
    )


def _text(defined: Benchmark, items: Sequence[FoundSource], out: Path, *, whole: bool) -> str:
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
    if whole:
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
