"""build: a benchmark from official annotation files, or a world from a seed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.cli._engine import Where
from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.benchmarks.building import Built
    from openset.benchmarks.definition import Benchmark

app = verb("build", panel="Data")
ALL = "all"


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
    where: Where = Where(),  # noqa: B008 - frozen
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Build a benchmark from official annotation files; exit 1 if counts are not as published.

    Makes a folder with one COCO file per split, the roles of labels stated in each. See
    `openset list benchmarks` and `openset fetch`.

    Args:
        benchmark: A name such as owod or osod3-animal:split1, or a TOML file of your own; or
            digits, a world with images of its own. NAME:all builds every variant, each in a
            folder of its own below --out.
        source: The folder with the official files, if it is made from any.
        out: The folder to make.
        splits: Only these, a,b,c, and those that they are drawn beside; then only their sources are
            needed.
        partial: Build from a part of the data: images that lists name and no source has are left
            out, and counted.
        option: A parameter of the world, as name=value, such as images=50000 or seed=1.
        where: Where the images of a world are made.
        output: How to speak.
    """
    from openset.benchmarks import definition
    from openset.cli._inputs import listed, option_pairs
    from openset.cli._worlds import is_world, made

    if source is None and is_world(benchmark) and not splits:
        return made(benchmark, out, option_pairs(option), where, output)
    where.refuse(f"images of a world are made there, and {benchmark} is cut from files in one pass")
    if option:
        raise UsageError(f"--option belongs to a world, and {benchmark} is made from files")

    def make(named: str, target: Path, about: str = "") -> Built:
        defined = definition.load(named)
        defined = definition.only(defined, listed(splits)) if splits else defined
        defined = definition.partial(defined) if partial else defined
        return _built(defined, source, target, output, about)

    name, _, variant = benchmark.partition(":")
    if variant == ALL:
        every = _all(name, out, make)
        text = "\n\n".join(map(_text, every.values()))
        return Answer(text, lambda: _documents(every), int(any(map(_differs, every.values()))))
    built = make(benchmark, out)
    return Answer(_text(built), lambda: _document(built), int(_differs(built)))


def _all(name: str, out: Path, make: Callable[[str, Path, str], Built]) -> dict[str, Built]:
    """Every variant of a benchmark, each in a folder of its name."""
    from openset.benchmarks import definition

    variants = definition.load(name).variants
    if not variants:
        raise UsageError(f"{name} has no variants: openset build {name}")
    return {v: make(f"{name}:{v}", out / v, v) for v in variants}


def _built(
    defined: Benchmark, source: Path | None, out: Path, output: Output, about: str = ""
) -> Built:
    """One benchmark; what was found says what it is about, if there are several."""
    from openset.benchmarks import building
    from openset.benchmarks.sources import used

    with output.progress(1 + len(used(defined)) + len(defined.unrolled())) as step:
        built = building.build(defined, source, out, say=step)
    for finding in built.findings:
        output.report(finding, about)
    return built


def _differs(built: Built) -> bool:
    return any(finding.code == "OS907" for finding in built.findings)


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


def _documents(made: dict[str, Built]) -> dict[str, Any]:
    return {"variants": {name: _document(built) for name, built in made.items()}}


def _document(built: Built) -> dict[str, Any]:
    from dataclasses import asdict

    findings = [asdict(finding) for finding in built.findings]
    return {"out": str(built.folder), "bundle": built.manifest, "findings": findings}
