"""Lines about a run that stand above and below its scoreboard: rules, counts, what was fitted."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import replace

from openset.diagnosis.per_class import PerClass
from openset.evaluation.provenance import Provenance
from openset.evaluation.run import Run
from openset.evaluation.strata import Strata
from openset.wording import COLUMN, short, spaced


def protocol_line(run: Run) -> str:
    """What the numbers were computed under, in one line."""
    protocol, one = run.protocol, next(iter(run.evaluations.values())).provenance
    overlaps = protocol.iou
    iou = f"{overlaps[0]:g}" if len(overlaps) == 1 else f"{overlaps[0]:.2f}:{overlaps[-1]:.2f}"
    parts = [
        f"protocol {one.protocol}"
        + (
            f" with {len(one.deviations)} deviation{'s' * (len(one.deviations) > 1)}"
            * bool(one.deviations)
        ),
        f"IoU {iou}",
        f"known: {one.counts['known_classes']} class{'es' * (one.counts['known_classes'] != 1)}"
        + f" ({one.vocabulary})" * bool(one.vocabulary),
        _resamples(one),
    ]
    return " · ".join(parts)


def _resamples(origin: Provenance) -> str:
    if not origin.resamples:
        return "no intervals"
    said, drawn = f"95 % intervals from {origin.resamples}", origin.resampled
    if drawn:
        return f"{said} resamples, seed {origin.seed} ({drawn})"
    return f"{said} image resamples, seed {origin.seed}"


def ledger_lines(run: Run, width: int) -> list[str]:
    """What was fitted on which data, as the models' files say; models that say the same share."""
    said: dict[str, list[str]] = {}
    for name, one in run.evaluations.items():
        said.setdefault(one.provenance.ledger, []).append(short(name, COLUMN))
    lines = [f"{', '.join(names)}: {text}" for text, names in said.items() if text]
    return [textwrap.fill(line, width, subsequent_indent="   ") for line in lines]


def counts_line(counts: Mapping[str, int]) -> str:
    """What is in the ground truth."""
    return (
        f"{spaced(counts['images'])} images · {spaced(counts['known_objects'])} known and "
        f"{spaced(counts['unknown_objects'])} unknown objects"
    )


def sets_lines(run: Run) -> list[str]:
    """Which numbers are of which set, where there are two."""
    matches = next(iter(run.evaluations.values())).matches
    ood = None if matches is None else matches.ood
    if ood is None:
        return []
    of_ood = int(ood.sum())
    return [
        f"two sets: {spaced(len(ood) - of_ood)} ID and {spaced(of_ood)} OOD images; numbers about "
        "known classes are of ID, about unknown objects of OOD, AUROC, FPR95 and all others of both"
    ]


def strata_lines(strata: Strata | None, width: int) -> list[str]:
    """The numbers of every model, stratum by stratum."""
    if strata is None:
        return []
    lines = []
    for name in strata.results:
        title = [short(name, COLUMN)] if len(strata.results) > 1 else []
        lines += ["", *title, strata.table(name, decimals=1).text(width)]
    return lines


def class_lines(answers: Mapping[str, PerClass], width: int) -> list[str]:
    """Every class of every model."""
    lines = []
    for name, answer in answers.items():
        title = [short(name, COLUMN)] if len(answers) > 1 else []
        table = answer.table()
        notes = [textwrap.fill(note, width) for note in table.notes]
        lines += ["", *title, replace(table, notes=()).text(width), *notes]
    return lines


def dropped_lines(run: Run) -> list[str]:
    """What was left out of the files because it is broken, and was asked to be."""
    by_file = {"ground truth": run.truth_findings, **run.findings}
    return [
        f"{short(name, COLUMN)}: {finding.message}"
        for name, findings in by_file.items()
        for finding in findings
        if finding.code == "OS428"
    ]
