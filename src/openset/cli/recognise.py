"""recognise: open-set recognition of classifiers, from the scores that they gave to samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output

if TYPE_CHECKING:
    from openset.evaluation.scoreboard import Scoreboard
    from openset.evaluation.trainings import Trainings
    from openset.findings import Finding
    from openset.recognition import Recognition

app = verb("recognise", panel="Measure")


@app.default
def recognise(
    scores: list[Path],
    /,
    *,
    openness: str = "max_logit",
    threshold: float | None = None,
    metrics: list[str] | None = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    plot: Path | None = None,
    seed: int = 0,
    no_intervals: Flag = False,
    force: Flag = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Measure open-set recognition: does a classifier reject what it was not taught?

    Args:
        scores: A file per classifier, .npz or CSV; the others are compared with the first.
            NAME=FILE,FILE... is one method, trained several times.
        openness: What makes it if a file has logits: max_logit, msp or energy.
        threshold: Openness above which samples are rejected; by default the best for each metric.
        metrics: Only these, a,b,c; "all" shows every one.
        out: Folder to keep the numbers of every classifier in, for `compare` and `report`.
        plot: File to draw the OSCR curves to: .pdf, .svg or .png.
        seed: Seed of the resamples.
        no_intervals: Leave out the 95 % intervals, which take most of the time.
        force: Go on in spite of errors in the scores, and of different samples or classes.
        output: How to speak.
    """
    from openset.cli._inputs import listed, methods
    from openset.evaluation.scoreboard import Scoreboard
    from openset.evaluation.trainings import findings_of, methods_of
    from openset.recognition import evaluate_recognition, read_scores
    from openset.recognition.folder import FOLDER

    if out is not None:
        FOLDER.refuse_other(out)
    asked, files = listed(metrics), methods(scores)
    chosen = None if not asked or asked == ["all"] else asked
    found: dict[str, list[Recognition]] = {name: [] for name in files}
    with output.progress(sum(map(len, files.values()))) as step:
        for name, path in ((name, path) for name, paths in files.items() for path in paths):
            step(name)
            read = replace(read_scores(path, openness=openness), threshold=threshold)
            found[name].append(
                evaluate_recognition(
                    read, metrics=chosen, intervals=not no_intervals, seed=seed, force=force
                )
            )
    for (name, at), finding in _of_each_other(found, force=force):
        one = found[name][at]
        found[name][at] = replace(one, findings=(*one.findings, finding))
    together = methods_of(found, force=force)
    said = findings_of(together)
    for name, results in found.items():
        for finding in (*(f for one in results for f in one.findings), *said.get(name, ())):
            output.report(finding, name)
    # Which refuses what must not be compared, before anything is written.
    board = Scoreboard.of(together, headline=not asked, force=force)
    written = _write(found, out, plot)
    text = "\n".join([_text(found, board), *(f"wrote {path}" for path in written)])
    return Answer(text, lambda: _document(together, written))


def _of_each_other(
    found: Mapping[str, Sequence[Recognition]], *, force: bool
) -> list[tuple[tuple[str, int], Finding]]:
    """What the scores of several classifiers say of each other, by name and training.

    Names of classes, or an order of samples, that are not the first one's keep any two from being
    compared; of a file whose labels are in no order at all (OS819) nothing more is said. Trainings
    are held against those in the same place, since they may be of several splits of the classes; of
    what else can be told, the first ones are.
    """
    from openset.evaluation.steps import settle
    from openset.recognition.together import in_another_order, repeated_scores

    first, *others = found
    moved: dict[tuple[str, int], Finding] = {}
    for name in others:
        for at, (one, other) in enumerate(zip(found[first], found[name], strict=False)):
            wrong = _kept_apart(first, one, other)
            if wrong is not None:
                moved[name, at] = settle([wrong], force)[0]
    firsts = {name: one[0].scores for name, one in found.items() if (name, 0) not in moved}
    alike = {name: scores for name, scores in firsts.items() if scores is not None}
    if len(alike) < 2:
        return [*moved.items()]
    of_first = {**repeated_scores(alike), **in_another_order(alike)}
    return [*moved.items(), *(((name, 0), one) for name, one in of_first.items())]


def _kept_apart(first: str, one: Recognition, other: Recognition) -> Finding | None:
    from openset.recognition.together import kept_apart

    drawn = any(finding.code == "OS819" for finding in (*one.findings, *other.findings))
    if drawn or one.scores is None or other.scores is None:
        return None
    return kept_apart(first, one.scores, other.scores)


def _write(
    found: Mapping[str, Sequence[Recognition]], out: Path | None, plot: Path | None
) -> list[Path]:
    written = []
    if out is not None:
        from openset.cli._config import command_line
        from openset.recognition.folder import save

        written.append(save(found, out, command=command_line()))
    if plot is not None:
        from openset.evaluation.trainings import apart
        from openset.recognition.plot import write_oscr_plot

        flat, _ = apart(found)
        models = {name: result.scores for name, result in flat.items() if result.scores}
        written.append(write_oscr_plot(models, plot))
    return written


def _text(found: Mapping[str, Sequence[Recognition]], board: Scoreboard) -> str:
    """What each was evaluated on, and the table of all."""
    from openset.cli._terminal import width

    heads = [f"{name}: {results[0].headline()}" for name, results in found.items()]
    return "\n".join([*heads, "", board.text(width(), decimals=1)])


def _document(together: Mapping[str, Trainings], written: list[Path]) -> dict[str, Any]:
    from openset.evaluation.trainings import apart

    flat, _ = apart({name: one.results for name, one in together.items()})
    return {
        "models": {name: result.document() for name, result in flat.items()},
        "methods": {name: one.document() for name, one in together.items()},
        "written": [str(path) for path in written],
    }
