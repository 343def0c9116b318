"""build: a benchmark from official annotation files, or a world from a seed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.benchmarks.building import Built

app = verb("build", panel="Data")


@app.default
def build(
    benchmark: str,
    /,
    *,
    source: Path | None = None,
    out: Annotated[Path, Parameter(name=("--out", "-o"))],
    splits: list[str] | None = None,
    partial: Flag = False,
    option: list[str] | None = None,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Build a benchmark from official annotation files; exit 1 if counts are not as published.

    Makes a folder with one COCO file per split, the roles of labels stated in each. See
    `openset list benchmarks` and `openset fetch`.

    Args:
        benchmark: A name such as owod or osod3-animal:split1, or a TOML file of your own; or
            digits, a world with images of its own.
        source: The folder with the official files, if it is made from any.
        out: The folder to make.
        splits: Only these, a,b,c, and those that they are drawn beside; then only their sources are
            needed.
        partial: Build from a part of the data: images that lists name and no source has are left
            out, and counted.
        option: A parameter of the world, as name=value, such as images=50000 or seed=1.
        output: How to speak.
    """
    from openset.cli._inputs import listed, option_pairs
    from openset.cli._worlds import is_world, made

    if source is None and is_world(benchmark) and not splits:
        return made(benchmark, out, option_pairs(option), output)
    if option:
        raise UsageError(f"--option belongs to a world, and {benchmark} is made from files")
    from openset.benchmarks import building, definition
    from openset.benchmarks.sources import used

    defined = definition.load(benchmark)
    if splits:
        defined = definition.only(defined, listed(splits))
    if partial:
        defined = definition.partial(defined)
    with output.progress(1 + len(used(defined)) + len(defined.unrolled())) as step:
        built = building.build(defined, source, out, say=step)
    for finding in built.findings:
        output.report(finding)
    differs = any(finding.code == "OS907" for finding in built.findings)
    return Answer(_text(built), lambda: _document(built), int(differs))


def _text(built: Built) -> str:
    from openset.render import Table

    header = ("split", "kind", "task", "images", "known", "unknown", "published")
    rows = tuple(
        (
            name,
            about["kind"],
            str(about["task"]),
            *(str(about[key]) for key in ("images", "known", "unknown")),
            _published(about),
        )
        for name, about in built.manifest["splits"].items()
    )
    state = "is there already" if built.again else "is built"
    lines = [f"wrote {built.folder}: {built.manifest['benchmark']} {state}"]
    if rows:
        lines = [Table(header, rows).text(), *lines, f"next: openset audit {built.folder}"]
    return "\n".join(lines)


def _published(about: dict[str, Any]) -> str:
    if not about["expect"]:
        return "–"
    wrong = [key for key, count in about["expect"].items() if about[key] != count]
    return f"differs in {', '.join(wrong)}" if wrong else "agrees"


def _document(built: Built) -> dict[str, Any]:
    from dataclasses import asdict

    findings = [asdict(finding) for finding in built.findings]
    return {"out": str(built.folder), "bundle": built.manifest, "findings": findings}
