"""diagnose: why the numbers of a run are what they are, one question at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.cli._terminal import width, wrapped
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
    recall: list[str] | None = None,
    ratio: list[str] | None = None,
    chosen_at: list[str] | None = None,
    beta: list[str] | None = None,
    touch: str | None = None,
    iou: str | None = None,
    figures: list[str] | None = None,
    limit: int = 12,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Diagnose a detector of a run: kinds of errors and their cost, confusions, thresholds ...

    Args:
        run: The folder that `openset evaluate -o` wrote.
        question: Only these, a,b,c; all by default. See `openset list diagnosis`.
        model: Which detector; the first by default.
        recall: Recalls on closed-set images to read each class at, for errors, confusion,
            confusion_matrix and transfer: 0.1,0.3.
        ratio: Wild images per closed-set image for these and operating_points; 0 is the closed set:
            0,1 are the panels of Dhamija et al. All images by default.
        chosen_at: Ratios at which transfer chooses the thresholds that it judges at --ratio; 0 by
            default.
        beta: Weights of recall against precision for operating_points and transfer: 0.5,1,1.5.
        touch: Overlap with which a box is on an object, for errors, confusion, confusion_matrix and
            objectness; 0.1 by default.
        iou: Overlap with which a box is right, if not that of the run: all is matched again.
        figures: Also draw what has a chart, as pdf,svg,png, into the folder diagnosis of the run.
        limit: At most so many rows of each table; --json prints all.
        output: How to speak.
    """
    from openset.cli._inputs import listed
    from openset.diagnosis import table
    from openset.diagnosis.view import View
    from openset.evaluation.run import Run
    from openset.metrics import checked
    from openset.plugins import lookup
    from openset.vega import FORMATS

    if limit < 1:
        raise UsageError(f"--limit must be at least 1, not {limit}")
    asked = [lookup(table(), name, "question") for name in listed(question)]
    kinds = listed(figures)
    for kind in kinds:
        lookup(FORMATS, kind, "format of figures")
    levels = {"recalls": recall, "ratios": ratio, "chosen_at": chosen_at, "betas": beta}
    _refuse_unread(asked, [name for name, given in {**levels, "touch": touch}.items() if given])
    view = View(
        recalls=checked("recall", listed(recall)),
        ratios=checked("ratio", listed(ratio), zero=True),
        chosen_at=checked("ratio", listed(chosen_at), zero=True) or View().chosen_at,
        betas=checked("beta", listed(beta)),
    )
    if touch is not None:
        view = replace(view, touch=checked("touch", [touch])[0])
    one = _detector(Run.load(run), model, None if iou is None else checked("iou", [iou])[0])
    one = replace(one, view=view)
    with output.progress(len(asked or table())) as step:
        found = {}
        for each in asked or table().values():
            step(each.title)
            found[each] = _answer(each, one, asked=bool(asked))
    blocks = [_block(each, answer, limit) for each, answer in found.items()]
    drawn = _figures(found, run / "diagnosis", one, kinds)
    blocks += ["\n".join(f"wrote {path}" for path in drawn)] if drawn else []
    return Answer(
        "\n\n".join([f"{one.title} at score ≥ {one.score:.3g}, its operating point", *blocks]),
        lambda: {
            "model": one.name,
            "questions": {q.name: _plain(q, a) for q, a in found.items()},
            "figures": [str(path) for path in drawn],
        },
    )


def _refuse_unread(asked: Sequence[Question], given: Sequence[str]) -> None:
    """Refuse an option that would change nothing, as no question that was asked reads it."""
    from openset.diagnosis import table

    for name in given:
        if asked and not any(name in each.reads for each in asked):
            readers = ", ".join(each.name for each in table().values() if name in each.reads)
            flag = name.removesuffix("s").replace("_", "-")
            asked_for = ", ".join(each.name for each in asked)
            raise UsageError(f"--{flag} changes nothing about {asked_for}; it is for {readers}")


def _detector(run: Run, model: str | None, iou: float | None) -> Deployed:
    from openset.diagnosis.deployed import at_overlap, deployed
    from openset.plugins import lookup

    by_name = {one.name: one for one in deployed(run if iou is None else at_overlap(run, iou))}
    return lookup(by_name, run.names[0] if model is None else model, "model of the run")


def _figures(
    found: Mapping[Question, Diagnosis | str], folder: Path, one: Deployed, kinds: list[str]
) -> list[Path]:
    """Draw the answers that have a chart, one file per question and format."""
    if not kinds:
        return []
    from openset.cli._answer_charts import answer_chart
    from openset.vega import write_chart

    specs = {
        f"{one.index + 1}-{asked.name}": answer_chart(answer)
        for asked, answer in found.items()
        if not isinstance(answer, str)
    }
    return [
        write_chart(spec, folder / f"{name}.{kind}")
        for name, spec in specs.items()
        if spec is not None
        for kind in kinds
    ]


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
