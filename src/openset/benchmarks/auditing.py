"""Auditing: every principle on one benchmark, with what was found, as text, Markdown or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from openset.benchmarks.bundle import Bundle
from openset.benchmarks.principles import Check, Principle, Verdict, principles
from openset.files import ImageFolder
from openset.plugins import lookup
from openset.render import Table
from openset.tables.names import MARKS, name_marks
from openset.version import __version__

SCHEMA = "openset.audit/1"
_ORDER = (Verdict.FAIL, Verdict.UNKNOWN, Verdict.PASS)


@dataclass(frozen=True)
class Judgement:
    """A principle and what its checks found."""

    principle: Principle
    checks: tuple[Check, ...]

    @property
    def name(self) -> str:
        """Name of the principle."""
        return self.principle.name

    @property
    def title(self) -> str:
        """The principle in a few words."""
        return self.principle.title

    @property
    def verdict(self) -> Verdict:
        """FAIL if anything fails, UNKNOWN if anything cannot be told, else PASS."""
        found = {check.verdict for check in self.checks}
        return next((verdict for verdict in _ORDER if verdict in found), Verdict.PASS)

    @property
    def fixes(self) -> list[str]:
        """What to do about what fails, each once."""
        failed = [check for check in self.checks if check.verdict is Verdict.FAIL]
        return list(dict.fromkeys(check.fix or self.principle.fix for check in failed))


@dataclass(frozen=True)
class Audit:
    """What an audit found out about a benchmark.

    Attributes:
        benchmark: Its name.
        judgements: Every principle that was asked.
        tested: Marks of some of its test images, for `report` to know them again.
    """

    benchmark: str
    judgements: tuple[Judgement, ...]
    tested: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether no principle is broken; what cannot be told breaks none."""
        return all(one.verdict is not Verdict.FAIL for one in self.judgements)

    def __getitem__(self, name: str) -> Judgement:
        return lookup({one.name: one for one in self.judgements}, name, "principle")

    def text(self) -> str:
        """For a terminal: each principle with its verdict, and below it what decided."""
        return "\n".join([f"audit of {self.benchmark}", *map(_text, self.judgements)])

    def markdown(self) -> str:
        """A table of verdicts and a list of all checks."""
        rows = tuple((one.title, one.verdict.value, _decisive(one)) for one in self.judgements)
        head = Table(("principle", "verdict", "because"), rows).markdown()
        return "\n".join([head.replace("---:", "---"), "", *map(_details, self.judgements)])

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "benchmark": self.benchmark,
            "passed": self.passed,
            "tested": list(self.tested),
            "principles": {one.name: _document(one) for one in self.judgements},
        }


def audit(bundle: Bundle, only: Sequence[str] = ()) -> Audit:
    """Check a benchmark against all principles.

    Args:
        bundle: The benchmark; see `openset.benchmarks.bundle` for where it comes from.
        only: Names of principles, if not all.
    """
    table = principles()
    chosen = [lookup(table, name, "principle") for name in only] or list(table.values())
    found = [Judgement(one, tuple(one.check(bundle))) for one in chosen]
    tested = name_marks(name for part in bundle.of_stage("test") for name in part.lines)
    return Audit(bundle.name, tuple(found), tuple(tested[:MARKS]))


def with_options(
    bundle: Bundle,
    *,
    images: Path | None = None,
    pretraining: Iterable[str] | None = None,
    hierarchy: Path | None = None,
    descriptions: Path | None = None,
    second: Path | None = None,
) -> Bundle:
    """A bundle with what only its user can know."""
    from openset.benchmarks.taxonomy import of_open_images
    from openset.benchmarks.unlabelled import read_second

    if images is not None:
        ImageFolder(images)  # refused where it is none
        bundle = replace(bundle, images=images)
    if pretraining is not None:
        bundle = replace(bundle, pretraining=tuple(pretraining))
    if hierarchy is not None:
        bundle = replace(bundle, taxonomy=of_open_images(hierarchy, descriptions))
    if second is not None:
        bundle = replace(bundle, second=read_second(second, bundle))
    return bundle


def page(audits: Sequence[Audit], *, lists: bool) -> str:
    """Audits as a Markdown page.

    Args:
        audits: What was found.
        lists: Whether published image lists were audited, without annotations.
    """
    names = " ".join(one.benchmark for one in audits)
    command = f"openset audit {names}{' --lists DIR' if lists else ''} -o audit.md"
    verdicts = tuple(
        (one.benchmark, *(judged.verdict.value for judged in one.judgements)) for one in audits
    )
    header = ("benchmark", *(judged.title for judged in audits[0].judgements))
    what = "the published image lists, without annotations" if lists else "the files as they are"
    stated = (
        "Which boxes a split shows, and what detectors were trained on before, is taken from the",
        "definition of the benchmark, as its paper and its code state it.",
    )
    lines = [
        "# Audit",
        "",
        f"Made by `{command}`: {what}.",
        "UNKNOWN is what cannot be told from them. What the principles ask is in",
        "[benchmarks](../benchmarks.md).",
        *(stated if lists else ()),
        "",
        Table(header, verdicts).markdown().replace("---:", "---"),
    ]
    for one in audits:
        lines += ["", f"## {one.benchmark}", "", one.markdown().rstrip()]
    return "\n".join([*lines, ""])


def documents(audits: Iterable[Audit]) -> dict[str, Any]:
    """Audits as JSON of a versioned schema, which `openset report --audit` reads."""
    found = [one.document() for one in audits]
    return {"schema": SCHEMA, "version": __version__, "audits": found}


def _grouped(checks: Iterable[Check]) -> dict[Check, list[str]]:
    """Checks that say the same of several splits, as one, with these splits."""
    found: dict[Check, list[str]] = {}
    for check in checks:
        places = found.setdefault(replace(check, where=""), [])
        places += [check.where] if check.where else []
    return found


def _merged(checks: Iterable[Check]) -> list[Check]:
    return [replace(one, where=", ".join(where)) for one, where in _grouped(checks).items()]


def _document(one: Judgement) -> dict[str, Any]:
    about = one.principle
    checks = [asdict(check) | {"where": where} for check, where in _grouped(one.checks).items()]
    said = {"title": about.title, "asks": about.summary, "fix": " ".join(one.fixes) or about.fix}
    return {"verdict": one.verdict.value, **said, "checks": checks}


def _question(check: Check) -> str:
    return f"{check.what} [{check.where}]" if check.where else check.what


def _text(one: Judgement) -> str:
    lines = [f"{one.verdict.value:<8}{one.title}"]
    for check in _merged(one.checks):
        if check.verdict is not Verdict.PASS:
            lines.append(f"  {check.verdict.value:<8}{_question(check)}: {check.said}")
            if check.examples:
                more = f" ({len(check.images)} images: -o FILE lists them)" * bool(check.images)
                lines.append(f"  {'':<8}first: {'; '.join(check.examples)}{more}")
    lines += [f"  fix: {fix}" for fix in one.fixes]
    return "\n".join(lines)


def _decisive(one: Judgement) -> str:
    """What the checks said that decided."""
    merged = _merged(one.checks)
    said = [f"{_question(c)}: {c.said}" for c in merged if c.verdict is one.verdict]
    if one.verdict is Verdict.PASS:
        return f"{len(said)} checks"
    more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
    return f"{said[0]}{more}"


def _details(one: Judgement) -> str:
    lines = [f"**{one.title}: {one.verdict.value}**", ""]
    for check in _merged(one.checks):
        first = f" First: {', '.join(f'`{example}`' for example in check.examples)}."
        tail = first if check.examples else ""
        tail += f" Images: {', '.join(check.images)}." * bool(check.images)
        lines.append(f"- {check.verdict.value}: {_question(check)}: {check.said}.{tail}")
    for fix in one.fixes:
        lines += ["", f"Fix: {fix}"]
    return "\n".join([*lines, ""])
