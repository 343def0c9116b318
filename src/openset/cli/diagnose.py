"""diagnose: why the numbers of a run are what they are, one question at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._app import verb
from openset.cli._console import Answer, Output, width, wrapped
from openset.findings import InputError, OpenSetError, UsageError

if TYPE_CHECKING:
    from openset.diagnosis import Diagnosis, Question
    from openset.diagnosis.deployed import Deployed
    from openset.evaluation.run import Run

app = verb("diagnose", panel="Understand")
_INDENT = "  "


@app.default
def diagnose(
    run: Path,
    /,
    *,
    question: list[str] | None = None,
    model: str | None = None,
    limit: int = 12,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Diagnose a detector of a run: kinds of errors and their cost, confusions, thresholds ...

    Args:
        run: The folder that `openset evaluate -o` wrote.
        question: Only these, a,b,c; all by default. See `openset list diagnosis`.
        model: Which detector; the first by default.
        limit: At most so many rows of each table; --json prints all.
        output: How to speak.
    """
    from openset.cli._inputs import listed
    from openset.diagnosis import table
    from openset.evaluation.run import Run
    from openset.plugins import lookup

    if limit < 1:
        raise UsageError(f"--limit must be at least 1, not {limit}")
    asked = [lookup(table(), name, "question") for name in listed(question)]
    one = _detector(Run.load(run), model)
    with output.progress(len(asked or table())) as step:
        found = {}
        for each in asked or table().values():
            step(each.title)
            found[each] = _answer(each, one, asked=bool(asked))
    blocks = [_block(each, answer, limit) for each, answer in found.items()]
    return Answer(
        "\n\n".join([f"{one.title} at score ≥ {one.score:.3g}, its operating point", *blocks]),
        lambda: {"model": one.name, "questions": {q.name: _plain(q, a) for q, a in found.items()}},
    )


def _detector(run: Run, model: str | None) -> Deployed:
    from openset.diagnosis.deployed import deployed
    from openset.plugins import lookup

    by_name = {one.name: one for one in deployed(run)}
    return lookup(by_name, run.names[0] if model is None else model, "model of the run")


def _answer(question: Question, one: Deployed, *, asked: bool) -> Diagnosis | str:
    """The answer; or, unless just this was asked, why the files allow none."""
    try:
        return question.ask(one)
    except OpenSetError as error:
        if asked:
            raise
        if isinstance(error, InputError):
            return "; ".join(finding.message for finding in error.findings)
        return str(error)


def _block(question: Question, answer: Diagnosis | str, limit: int) -> str:
    """A question, what it is, and its answer as a table."""
    head = wrapped(f"{question.title} ({question.name}): {question.summary}", _INDENT)
    if isinstance(answer, str):
        return f"{head}\n{wrapped(f'no answer: {answer}', _INDENT)}"
    table = answer.table(limit)
    notes = (wrapped(note, _INDENT) for note in table.notes)
    return "\n".join([head, replace(table, notes=()).text(width()), *notes])


def _plain(question: Question, answer: Diagnosis | str) -> dict[str, Any]:
    """A question and its answer for programs: all rows, or the reason why there are none."""
    about = {"title": question.title, "summary": question.summary, "paper": question.paper}
    if isinstance(answer, str):
        return {**about, "rows": None, "notes": [], "reason": answer}
    return {**about, "rows": answer.rows(), "notes": answer.notes(), "reason": ""}
