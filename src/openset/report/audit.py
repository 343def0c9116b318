"""Audit: the section of the page on the benchmark itself, from the file `openset audit -o` writes.

It shows what an audit found and judges nothing: the principles are in `openset.benchmarks`, whose
JSON is all that is shared with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from openset.diagnosis.verdict import Sentence
from openset.files import load
from openset.findings import Finding, Level, refuse
from openset.tables import Images
from openset.tables.names import MARKS, file_names, name_marks
from openset.wording import listed, short

_FEWEST = 3  # images of a run that should be among those of the audit
Verdict = Literal["PASS", "FAIL", "UNKNOWN", "note"]


class StoredCheck(msgspec.Struct, frozen=True):
    """One question, and its answer for some splits."""

    what: str
    verdict: Verdict
    said: str
    count: int
    examples: tuple[str, ...]
    where: tuple[str, ...]


class StoredJudgement(msgspec.Struct, frozen=True):
    """A principle, and what its checks found."""

    title: str
    asks: str
    fix: str
    verdict: Verdict
    checks: tuple[StoredCheck, ...]

    @property
    def because(self) -> str:
        """What decided, in a line."""
        decided = [check for check in self.checks if check.verdict == self.verdict]
        if self.verdict == "PASS" or not decided:
            return f"{len(decided)} check{'s' if len(decided) != 1 else ''}"
        more = f", and {len(decided) - 1} more" if len(decided) > 1 else ""
        return f"{decided[0].said}{more}"


class StoredAudit(msgspec.Struct, frozen=True):
    """All principles on one benchmark."""

    benchmark: str
    passed: bool
    principles: dict[str, StoredJudgement]
    tested: tuple[str, ...] = ()

    def of_other_images(self, images: Images) -> bool:
        """Whether these are no test images of the audit, as far as names say."""
        named, numbered = name_marks(file_names(images)), name_marks(map(str, images.id.tolist()))
        if not self.tested or not set(self.tested).isdisjoint((*named, *numbered)):
            return False
        # The lowest marks are kept: of a part of many test images, none may be low enough to tell.
        cut = len(self.tested) >= MARKS
        return sum(not cut or mark <= self.tested[-1] for mark in named or numbered) >= _FEWEST

    @property
    def summary(self) -> str:
        """How many principles hold."""
        count = Counter(one.verdict for one in self.principles.values())
        order: tuple[Verdict, ...] = ("FAIL", "UNKNOWN", "PASS")
        return ", ".join(f"{count[verdict]} {verdict}" for verdict in order)

    def failing(self) -> list[str]:
        """Titles of the principles that are broken."""
        return [one.title for one in self.principles.values() if one.verdict == "FAIL"]


class _File(msgspec.Struct, frozen=True):
    schema: Literal["openset.audit/1"]
    audits: tuple[StoredAudit, ...]


def read_audits(path: Path) -> tuple[StoredAudit, ...]:
    """The audits of a file that `openset audit -o` wrote."""
    try:
        return msgspec.json.decode(load(path), type=_File).audits
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        fix = "write one with openset audit ... -o audit.json"
        raise refuse("OS114", f"{path} is no audit: {error}", fix=fix) from error


def strange(audits: Sequence[StoredAudit], images: Images) -> Iterator[Finding]:
    """A finding for each audit that looked at other test images than those of the run."""
    for audit in audits:
        if audit.of_other_images(images):
            said = f"the audit of {audit.benchmark!r} is of other test images than the run's "
            said += f"{len(images)}: none has the name of one"
            yield Finding("OS918", Level.WARNING, said, len(images), audit.benchmark)


def sentences(audits: Sequence[StoredAudit], images: Images) -> Iterator[Sentence]:
    """What the verdict of the page says of benchmarks that fail, and of those that are others."""
    for audit in audits:
        if audit.of_other_images(images):
            name = short(audit.benchmark, 40)
            said = f"The audit on this page, of “{name}”, is of other test images than these."
            yield Sentence(said, "audit", "bad")
            continue
        if not audit.passed:
            name, broken = short(audit.benchmark, 40), listed(audit.failing())
            yield Sentence(f"The benchmark “{name}” fails its audit: {broken}.", "audit", "bad")
