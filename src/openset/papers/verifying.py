"""Verifying: derive a folder of pages again from their run files, and say where they differ.

Derived are tables, numbers in sentences, verdicts and figures. What a run file itself was made
from is named: some of it takes data, a training or a GPU, which nothing here has. Inputs that lie
in the repository do not: their bytes must be those that the run file remembers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from openset.files import digest, load_text, replacing
from openset.findings import Finding, InputError, Level, refuse
from openset.papers import figures
from openset.papers.markdown import errata, markdown, pictures
from openset.papers.page import POINTER, Figure, Page, read_pages
from openset.papers.run_file import Run

SHOWN = 90  # letters of a line that differs
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MADE_FROM = re.compile(r"<!-- made from (\S+) by ")
ERRATA = "errata.md"


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found about one page.

    Attributes:
        name: The page.
        numbers: How many numbers its run files hold; of the errata, how many their texts take.
        elements: How many tables and figures of the paper it lists, by status.
        needs: Run files that take more than the repository to make again, with what.
        findings: Where it differs.
    """

    name: str
    numbers: int
    elements: dict[str, int]
    needs: dict[str, tuple[str, ...]]
    findings: tuple[Finding, ...] = ()


def write_pages(folder: Path, runs: Path) -> list[Path]:
    """Write the pages of all definitions below a folder, their figures, and the errata."""
    pages = read_pages(runs)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {f"{page.name}.md": _text(page, folder, runs) for page in pages}
    texts[ERRATA] = errata(pages, _seen_from(folder, runs))
    for name, text in texts.items():
        with replacing(folder / name, folder=False) as draft:
            draft.write_text(text, "utf-8")
    for page in pages:
        for run, figure, name in _figures(page):
            if not figures.is_current(page.runs[run], figure, folder / name):
                figures.draw(page.runs[run], figure, folder / name)
    return [folder / name for name in texts]


def verify(folder: Path, runs: Path | None = None) -> list[Checked]:
    """Derive every page of a folder again.

    Args:
        folder: The pages.
        runs: Definitions and run files; by default where the pages say.

    Raises:
        InputError: There is nothing to verify, or a source is wrong.
    """
    for each in (folder, *([] if runs is None else [runs])):
        if not each.is_dir():
            raise refuse("OS101", f"no such folder: {each}")
    runs = source_of(folder) if runs is None else runs
    pages = read_pages(runs)
    if not pages:
        raise InputError([_nothing(f"no page is defined below {runs}")])
    root = _repository(pages, runs)
    checked = [_checked(page, folder, runs, root) for page in pages]
    found = _differs(folder / ERRATA, errata(pages, _seen_from(folder, runs)))
    return [*checked, Checked("errata", sum(map(_pointers, pages)), {}, {}, tuple(found))]


def _pointers(page: Page) -> int:
    """How many numbers the errata of a paper take from its run files."""
    texts = [text for each in page.definition.erratum for text in (each.says, each.found)]
    return sum(len(POINTER.findall(text)) for text in texts)


def _checked(page: Page, folder: Path, runs: Path, root: Path | None) -> Checked:
    statuses = [each.status for each in page.definition.element]
    found = list(_differs(folder / f"{page.name}.md", _text(page, folder, runs)))
    for run, figure, name in _figures(page):
        if not figures.is_current(page.runs[run], figure, folder / name):
            found.append(_stale(folder / name, f"does not show what {run}.json holds"))
    found += _outdated(page, folder, runs, root) if root else []
    found += _unsummed(page, folder, runs, root)
    return Checked(
        page.name,
        sum(run.numbers for run in page.runs.values()),
        {each: statuses.count(each) for each in dict.fromkeys(statuses)},
        {name: run.needs for name, run in page.runs.items() if run.needs},
        tuple(found),
    )


def _inside(page: Page) -> Iterator[tuple[str, str, str]]:
    """Run file, name and checksum of every input that lies beside the run files, not in $DATA."""
    for run, held in page.runs.items():
        for name, of in held.inputs.items():
            if not name.startswith("$") and _DIGEST.fullmatch(of):
                yield run, name, of


def _repository(pages: Sequence[Page], runs: Path) -> Path | None:
    """The folder that inputs are named from: the nearest above that has one of them.

    Nothing where the run files were copied without what they were made from.
    """
    names = {name for page in pages for _, name, _ in _inside(page)}
    above = (runs.resolve(), *runs.resolve().parents)
    return next((each for each in above if any((each / name).is_file() for name in names)), None)


def _outdated(page: Page, folder: Path, runs: Path, root: Path) -> Iterator[Finding]:
    for run, name, of in _inside(page):
        file = root / name
        if not file.is_file() or digest(file) != of:
            now = f"has now {digest(file)[:8]}…" if file.is_file() else "is not there"
            yield Finding(
                "OS955",
                Level.ERROR,
                f"{runs / page.name / run}.json was made from {name} of {of[:8]}…, which {now}",
                example=name,
                fix=f"{page.definition.measured_by}; openset verify {folder} --write",
            )


def _unsummed(page: Page, folder: Path, runs: Path, root: Path | None) -> Iterator[Finding]:
    """Run files that rest on files whose checksum they do not hold."""
    for run, held in page.runs.items():
        summed = {name for name, of in held.inputs.items() if _DIGEST.fullmatch(of)}
        lacking = [name for name in _named(held, root) if name not in summed] if root else []
        if "data" in held.needs and not summed:
            lacking.append("data")
        if lacking:
            yield Finding(
                "OS955",
                Level.ERROR,
                f"{runs / page.name / run}.json was made from {lacking[0]}, "
                "of which it holds no checksum",
                count=len(lacking),
                example=lacking[0],
                fix=f"{page.definition.measured_by}; openset verify {folder} --write",
            )


def _named(run: Run, root: Path) -> list[str]:
    """Files of the repository that the commands of a run file read: all they name but scripts.

    A name without a folder is a file of one's own, `data.noun`: whoever follows the page has put
    it where the commands are typed.
    """
    words = [word for command in run.commands for word in command.split()]
    names = map(Path, dict.fromkeys(word.rpartition("=")[2] for word in words))
    return [
        name.as_posix()
        for name in names
        if len(name.parts) > 1 and name.suffix not in ("", ".py") and (root / name).is_file()
    ]


def _text(page: Page, folder: Path, runs: Path) -> str:
    return markdown(page, _seen_from(folder, runs / page.name))


def _figures(page: Page) -> Iterator[tuple[str, Figure, str]]:
    for each in page.definition.element:
        for name, figure in pictures(page, each).items():
            yield str(each.run), figure, name


def _seen_from(folder: Path, source: Path) -> str:
    return Path(os.path.relpath(source, folder)).as_posix()


def source_of(folder: Path) -> Path:
    """Where the pages of a folder come from: the parent of what the first of them names."""
    for page in sorted(folder.glob("*.md")):
        found = _MADE_FROM.search(page.read_text("utf-8", "replace"))  # no input: it is rewritten
        if found and page.name != ERRATA:
            return (folder / found[1]).parent
    raise InputError([_nothing(f"no page of {folder} names its run files")])


def _differs(path: Path, wanted: str) -> Iterator[Finding]:
    if not path.is_file():
        yield _stale(path, "is not there")
        return
    there, derived = (_anywhere(text).splitlines() for text in (load_text(path), wanted))
    pairs = enumerate(zip(there, derived, strict=False), 1)
    wrong = [(number, old, new) for number, (old, new) in pairs if old != new]
    if wrong or len(there) != len(derived):
        number, old, new = wrong[0] if wrong else (min(len(there), len(derived)) + 1, "", "")
        count = len(wrong) + abs(len(there) - len(derived))
        says, derives = _where_they_part(old, new)
        yield _stale(path, f"line {number} says {says!r}, the run files {derives!r}", count)


def _anywhere(text: str) -> str:
    """A page without the place of its run files, which may lie elsewhere."""
    return _MADE_FROM.sub("<!-- made by ", text)


def _where_they_part(old: str, new: str) -> tuple[str, str]:
    """As much of two lines as can be shown, from a little before they differ."""
    ends = zip(f"{old}\0", f"{new}\1", strict=False)  # so that one of them differs
    same = next(at for at, (one, other) in enumerate(ends) if one != other)
    start = max(0, same - SHOWN // 3) if max(len(old), len(new)) > SHOWN else 0
    shown = [("…" * bool(start)) + line[start : start + SHOWN] for line in (old, new)]
    return shown[0], shown[1]


def _nothing(what: str) -> Finding:
    cause, fix = "another folder was given", "give the folder of page.toml files with --runs"
    return Finding("OS952", Level.ERROR, what, cause=cause, fix=fix)


def _stale(path: Path, why: str, count: int = 1) -> Finding:
    fix = f"openset verify {path.parent} --write"
    return Finding("OS951", Level.ERROR, f"{path} {why}", count=count, example=str(path), fix=fix)
