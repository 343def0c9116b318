"""recognise: open-set recognition of classifiers, from the scores that they gave to samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output

if TYPE_CHECKING:
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
        openness: What makes it if a file has logits: max_logit, msp or energy.
        threshold: Openness above which samples are rejected; by default the best for each metric.
        metrics: Only these, a,b,c; "all" shows every one.
        out: Folder to keep the numbers of every classifier in, for `compare` and `report`.
        plot: File to draw the OSCR curves to: .pdf, .svg or .png.
        seed: Seed of the resamples.
        no_intervals: Leave out the 95 % intervals, which take most of the time.
        force: Compare classifiers in spite of different samples or classes.
        output: How to speak.
    """
    from openset.cli._inputs import listed, model_names
    from openset.recognition import evaluate_recognition, read_scores
    from openset.recognition.folder import FOLDER

    if out is not None:
        FOLDER.refuse_other(out)
    asked = listed(metrics)
    chosen = None if not asked or asked == ["all"] else asked
    found = {}
    with output.progress(len(scores)) as step:
        for name, path in model_names(scores).items():
            step(name)
            read = replace(read_scores(path, openness=openness), threshold=threshold)
            found[name] = evaluate_recognition(
                read, metrics=chosen, intervals=not no_intervals, seed=seed
            )
    for name, result in found.items():
        for finding in result.findings:
            output.report(finding, name)
    text = _text(found, bool(asked), force)  # which refuses what must not be compared
    written = _write(found, out, plot)
    text = "\n".join([text, *(f"wrote {path}" for path in written)])
    return Answer(text, lambda: _document(found, written))


def _write(found: Mapping[str, Recognition], out: Path | None, plot: Path | None) -> list[Path]:
    written = []
    if out is not None:
        from openset.cli._config import command_line
        from openset.recognition.folder import save

        written.append(save(found, out, command=command_line()))
    if plot is not None:
        from openset.recognition.plot import write_oscr_plot

        models = {name: result.scores for name, result in found.items() if result.scores}
        written.append(write_oscr_plot(models, plot))
    return written


def _text(found: Mapping[str, Recognition], every: bool, force: bool) -> str:
    """What each was evaluated on, and the table of all."""
    from openset.cli._console import width
    from openset.evaluation.scoreboard import Scoreboard

    heads = [f"{name}: {result.headline()}" for name, result in found.items()]
    board = Scoreboard.of(found, headline=not every, force=force)
    return "\n".join([*heads, "", board.text(width(), decimals=1)])


def _document(found: Mapping[str, Recognition], written: list[Path]) -> dict[str, Any]:
    import json

    models = {name: json.loads(result.to_json()) for name, result in found.items()}
    return {"models": models, "written": [str(path) for path in written]}
