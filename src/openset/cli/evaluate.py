"""evaluate: detections against ground truth, as a table of models and metrics."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from openset.cli._app import verb
from openset.cli._console import Answer, Flag, Output
from openset.cli._engine import Where
from openset.cli._terminal import width
from openset.wording import spaced

if TYPE_CHECKING:
    from openset.diagnosis.per_class import PerClass
    from openset.evaluation.run import Run
    from openset.evaluation.strata import Strata
    from openset.tables.sets import Pair

app = verb("evaluate", panel="Measure")


@dataclass(frozen=True)
class Beside:
    """What is shown beside the scoreboard, where it is asked for."""

    strata: Strata | None = None
    classes: Mapping[str, PerClass] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """For programs: nothing of what was not asked for."""
        found: dict[str, Any] = {}
        if self.strata is not None:
            found["strata"] = {"by": self.strata.by, "models": self.strata.document()}
        if self.classes:
            found["per_class"] = {name: one.rows() for name, one in self.classes.items()}
        return found


@app.default
def evaluate(
    gt: Path,
    dt: list[Path],
    /,
    *,
    id_set: Annotated[Path | None, Parameter(name="--id")] = None,
    known: list[str] | None = None,
    protocol: str = "default",
    change: Annotated[list[str] | None, Parameter(name="--set")] = None,
    metrics: list[str] | None = None,
    recall: list[str] | None = None,
    ratio: list[str] | None = None,
    tpr: list[str] | None = None,
    out: Annotated[Path | None, Parameter(name=("--out", "-o"))] = None,
    unknown_label: str | None = None,
    unknownness: str | None = None,
    minimum_score: float | Literal["best"] | None = None,
    drop_invalid: Flag = False,
    image_list: Path | None = None,
    group_by: str | None = None,
    by: str | None = None,
    per_class: Flag = False,
    boxes: str = "xywh",
    image_ids: str = "id",
    category_ids: str | None = None,
    names: Path | None = None,
    leaked: Literal["unknown", "drop"] = "unknown",
    seed: int = 0,
    paired: Flag = False,
    no_intervals: Flag = False,
    where: Where = Where(),  # noqa: B008 - frozen
    force: Flag = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Evaluate detections against ground truth: a table of models and metrics.

    Args:
        gt: Ground truth, in any format that `openset list formats` names.
        dt: Detections, a file or folder per model; the others are compared with the first.
            NAME=FILE,FILE... is one method, trained several times. With --id, ID_FILE+OOD_FILE is
            one model's output on either set, where one file does not hold both.
        id_set: Ground truth of the in-distribution set, where GT is of out-of-distribution images
            (VOS, FMIYC): AUROC and FPR95 are of both, unknown objects of GT, known ones of this.
        known: Labels the detector was taught: voc20, coco80, owod-t1 ..., a file, or a,b,c.
            Without it the ground truth must say so.
        protocol: Rules of matching and counting; see `openset list protocols`.
        change: A field of the protocol to change, as name=value: recall=0.3, iou=0.5,0.75 ...; see
            `openset explain protocol`.
        metrics: Only these, a,b,c; "all" shows every one. See `openset list metrics`.
        recall: Recalls at which to report Wilderness Impact and its kin, too: 0.1,0.3,0.5.
        ratio: Wilderness ratios at which to report Wilderness Impact, too: 0.5,1.
        tpr: True-positive rates at which to report false-positive rates, too: 0.8,0.9.
        out: Folder to keep the run in, for `openset report`.
        unknown_label: Label, or category id, with which the detections say "unknown".
        unknownness: Where it comes from: a scorer (it reads logits), or a column of the file.
        minimum_score: Leave out detections with a lower score, before anything else; "best" is each
            model's t*, which maximises F1 on known objects (of the in-distribution set).
        drop_invalid: Leave out, and count, broken boxes: not finite, of negative size, with single
            scores outside 0..1. Without it they are errors.
        image_list: The benchmark's list of images, for protocols that count repeated lines.
        group_by: Images that resamples draw together, as frames of one video: a column of the image
            records (video_id), a regular expression with one (group) that is searched in file
            names, or how file names begin, * for anything but / ("*/", "video_*_").
        by: Also show the numbers of groups of images, each with its interval: a column of the image
            records, such as tier of openset build.
        per_class: Also show every class: AP, recall, confusions, absorbed unknown objects, and the
            score with the best F1. Of several trainings, the first.
        boxes: How boxes of detections are written: xywh, xyxy, cxcywh, yxyx ..., with -norm,
            -norm-1000, -letterbox-640 ... where they are not in pixels of the image.
        image_ids: What detections call images by: id, name, number (of the file name), index ...
        category_ids: What labels of detections mean, if not ids or names of the ground truth: index
            (its categories from 0), index1 (from 1), known, known1 (the list of known classes), a
            JSON or CSV file that maps them, or a COCO file whose categories they are.
        names: Names of classes where files have numbers alone: a data.yaml, JSON, or a name a line.
        leaked: Detections of classes that are unknown here count as unknown, or are dropped.
        seed: Seed of the resamples.
        paired: The trainings of all methods belong together, place by place: same seeds.
        no_intervals: Leave out the 95 % intervals, which take most of the time.
        where: Where parts are matched, if detections are folders of parts.
        force: Go on in spite of errors in the inputs.
        output: How to speak.
    """
    from openset.cli._config import command_line
    from openset.cli._inputs import edited_since, known_labels, listed, protocol_with
    from openset.evaluation.run import evaluate_all
    from openset.evaluation.settings import Settings
    from openset.evaluation.strata import strata_of
    from openset.metrics import checked
    from openset.tables.check import in_order
    from openset.tables.sets import Pair

    started, asked, files = perf_counter(), listed(metrics), _models(dt, out)
    settings = Settings(
        known=known_labels(known),
        protocol=protocol_with(protocol, change),
        metrics=None if not asked or asked == ["all"] else asked,
        recall=checked("recall", listed(recall)),
        ratio=checked("ratio", listed(ratio)),
        tpr=checked("tpr", listed(tpr)),
        intervals=not no_intervals,
        seed=seed,
        force=force,
        boxes=boxes,
        image_ids=image_ids,
        category_ids=category_ids,
        names=names,
        leaked=leaked,
        unknown_label=unknown_label,
        unknownness=unknownness,
        minimum_score=minimum_score,
        drop_invalid=drop_invalid,
        image_list=image_list,
        groups=group_by,
    )
    place = where.chosen()
    with output.progress(*_steps(files)) as step:
        truth = gt if id_set is None else Pair(id_set, gt)
        run = evaluate_all(
            truth,
            files,
            settings=settings,
            command=command_line(),
            step=step,
            engine=place,
            lean=out is None and by is None and not per_class,
        )
        of_built = [one for path in (gt, id_set) if path is not None for one in edited_since(path)]
        said = tuple(in_order([*run.truth_findings, *of_built]))
        run = replace(run, paired=paired, by=by or "", truth_findings=said)
        beside = Beside(None if by is None else strata_of(run, by), _classes(run, per_class))
        kept = None if out is None else run.save(out)
    _tell(run, gt, output, perf_counter() - started)
    text = "" if output.json else _text(run, asked, kept, beside)
    return Answer(text, lambda: document(run, kept, beside))


def _classes(run: Run, asked: bool) -> dict[str, PerClass]:
    """Every class of every method, if that is asked for."""
    from openset.diagnosis.deployed import first_trainings
    from openset.diagnosis.per_class import per_class

    return {one.title: per_class(one) for one in first_trainings(run)} if asked else {}


def _models(dt: list[Path], out: Path | None) -> dict[str, list[Path | Pair[Path]]]:
    """The detections by the names of their models; refuses early what could not be written."""
    from openset.cli._inputs import halves, methods
    from openset.evaluation.run import check_folder

    if out is not None:
        check_folder(out)
    return {name: list(map(halves, paths)) for name, paths in methods(dt).items()}


def _steps(files: dict[str, list[Path | Pair[Path]]]) -> tuple[int, str]:
    """How many steps there will be, and of what: for files one, and two per model; or parts."""
    from openset.evaluation.reading import are_parts

    given = [one for several in files.values() for one in several]
    if not are_parts(given):
        return 1 + 2 * len(given), ""
    from openset.formats.parts import Parts

    return 1 + len(given) + len(Parts.open(Path(str(given[0])))), "parts"


def _tell(run: Run, gt: Path, output: Output, seconds: float) -> None:
    """What was checked, and what was found, on stderr."""
    images, objects, boxes = map(spaced, run.sizes)
    output.say(
        f"checked {1 + len(run.names)} files, {images} images, "
        f"{objects} objects, {boxes} detections in {seconds:.1f} s"
    )
    for finding in run.truth_findings:
        output.report(finding, gt.name)
    for name, findings in run.findings.items():
        for finding in findings:
            output.report(finding, name)


def _text(run: Run, asked: list[str], out: Path | None, beside: Beside) -> str:
    import textwrap

    from openset.cli._lines import (
        class_lines,
        counts_line,
        dropped_lines,
        ledger_lines,
        protocol_line,
        sets_lines,
        strata_lines,
    )
    from openset.diagnosis.verdict import in_short
    from openset.evaluation.leaks import said_first

    columns = width()
    counts = next(iter(run.evaluations.values())).provenance.counts
    leaks = said_first(run.evaluations)
    first = [*leaks, protocol_line(run), counts_line(counts), *sets_lines(run), *dropped_lines(run)]
    head = [textwrap.fill(line, columns) for line in first]
    words = [textwrap.fill(sentence, columns) for sentence in in_short(run)]
    table = run.board(headline=not asked).text(columns, decimals=1)
    more = [*strata_lines(beside.strata, columns), *class_lines(beside.classes, columns)]
    below = [*more, *ledger_lines(run, columns)]
    return "\n".join([*head, "", table, *below, "", *words, next_command(out)])


def next_command(out: Path | None) -> str:
    """What to type next."""
    if out is None:
        return "next: keep it with -o run/, then: openset report run/ --images DIR --open"
    return f"next: openset report {shlex.quote(str(out))} --images DIR --open"


def document(run: Run, out: Path | None, beside: Beside = Beside()) -> dict[str, Any]:
    """The run for programs: the numbers of every model, and what was found."""
    from dataclasses import asdict

    from openset.diagnosis.evidence import evidence_of
    from openset.evaluation.leaks import said_first

    return {
        "leaks": said_first(run.evaluations),
        "models": {name: one.document() for name, one in run.evaluations.items()},
        "methods": {name: one.document() for name, one in run.results.items()},
        "differences": _differences(run),
        "object_evidence": {name: asdict(one) for name, one in evidence_of(run)},
        "findings": {name: [asdict(one) for one in said] for name, said in run.findings.items()},
        "truth_findings": [asdict(finding) for finding in run.truth_findings],
        **beside.document(),
        "out": None if out is None else str(out),
    }


def _differences(run: Run) -> dict[str, Any]:
    """Every model against the first one."""
    board = run.board()
    return {name: board.document(at) for at, name in enumerate(board.models) if at}
