"""verify: derive the pages about papers again from their run files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output

if TYPE_CHECKING:
    from openset.papers import Checked

app = verb("verify", panel="Understand")


@app.default
def verify(
    pages: Path,
    /,
    *,
    runs: Path | None = None,
    write: Flag = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Derive every number, verdict and figure of a folder of pages again from its run files.

    Args:
        pages: The folder of pages, docs/papers of this project for one.
        runs: The folder of definitions (page.toml) and run files; by default what the pages name.
        write: Write the pages instead of comparing them.
        output: How to speak.
    """
    from openset.papers import source_of, verify, write_pages

    if write:
        written = [str(path) for path in write_pages(pages, runs or source_of(pages))]
        return Answer("\n".join(f"wrote {path}" for path in written), lambda: {"written": written})
    found = verify(pages, runs)
    return Answer(_text(found), lambda: _document(found), int(any(each.findings for each in found)))


def _text(found: list[Checked]) -> str:
    from openset.render import Table

    rows = [
        (
            each.name,
            str(sum(each.elements.values())),
            str(each.numbers),
            "differs" if each.findings else "as derived",
        )
        for each in found
    ]
    findings = [finding for each in found for finding in each.findings]
    wrong = [f"{finding.code}: {finding.message}" for finding in findings]
    wrong += [f"fix: {fix}" for fix in dict.fromkeys(finding.fix for finding in findings)]
    needs = [
        f"not made again here: {each.name}/{run}.json needs {', '.join(what)}"
        for each in found
        for run, what in each.needs.items()
    ]
    table = Table(("page", "tables and figures", "numbers", ""), tuple(rows))
    return "\n".join([table.text(), *wrong, *needs])


def _document(found: list[Checked]) -> dict[str, Any]:
    return {
        each.name: {
            "numbers": each.numbers,
            "elements": each.elements,
            "needs": {run: list(what) for run, what in each.needs.items()},
            "differs": [finding.message for finding in each.findings],
            "fix": list(dict.fromkeys(finding.fix for finding in each.findings)),
        }
        for each in found
    }
