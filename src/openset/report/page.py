"""Page: the HTML report of a run, in one file.

Opens from disk, needs no network and no server, and is byte-identical for identical runs. Every
name that came from a file is escaped where it enters the page; a content security policy forbids
the page all network access and every script but its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openset.diagnosis.absorption import absorption
from openset.diagnosis.breakdown import groupings
from openset.diagnosis.deployed import LONGEST_NAME, Deployed, first_trainings
from openset.diagnosis.per_class import per_class
from openset.diagnosis.verdict import verdict
from openset.evaluation.leaks import taught
from openset.evaluation.run import Run
from openset.evaluation.scoreboard import Scoreboard
from openset.evaluation.strata import strata_of
from openset.evaluation.trainings import Given
from openset.files import replacing
from openset.findings import Finding
from openset.report import scripts
from openset.report.audit import StoredAudit, sentences
from openset.report.charts import curve_figures
from openset.report.crops import Pixels
from openset.report.errors import NAMES as ERROR_NAMES
from openset.report.errors import errors
from openset.report.gallery import LIMIT, choose
from openset.report.pairs import pairs
from openset.report.payload import (
    figures_payload,
    gallery_payload,
    image_names,
    sliders_payload,
    strata_payload,
)
from openset.report.recognition import recognised
from openset.report.shell import fill
from openset.tables import Images
from openset.version import __version__
from openset.wording import distinct, grouped, listed, short

LIKELY = 0.8  # least chance of a background box to be an object, for "likely"
MOST_SUSPECTS = 1000
MOST_CLASSES = 100  # rows of a table by class
MOST_NAMES = 4  # in the title


@dataclass(frozen=True, slots=True)
class PageSection:
    """An entry of the page's navigation."""

    key: str
    short: str


SECTIONS = (
    PageSection("verdict", "Verdict"),
    PageSection("provenance", "Provenance"),
    PageSection("scoreboard", "Scoreboard"),
    PageSection("flow", "Operating point"),
    PageSection("curves", "Curves"),
    PageSection("absorption", "Where unknowns go"),
    PageSection("gallery", "Gallery"),
    PageSection("slices", "Strata"),
    PageSection("classes", "Classes"),
    PageSection("errors", "Errors"),
    PageSection("comparison", "Comparison"),
    PageSection("health", "Health"),
    PageSection("glossary", "Glossary"),
)
AUDIT, RECOGNITION = PageSection("audit", "Audit"), PageSection("recognition", "Recognition")
BROWSING = PageSection("images", "Every image")


@dataclass(frozen=True, slots=True)
class Beside:
    """What a page shows beside its detectors.

    Attributes:
        audits: Audits of the benchmark, for a section of their own.
        recognition: Results of classifiers by name, for a section of their own.
        browsing: The folder beside the page that has every image, for a section of its own; see
            `openset.report.browsing`, which writes it.
    """

    audits: Sequence[StoredAudit] = ()
    recognition: Mapping[str, Given] | None = None
    browsing: str = ""


def write(
    run: Run,
    path: Path,
    *,
    images: Path | None = None,
    crops: int = LIMIT,
    beside: Beside = Beside(),
) -> Path:
    """Write the report of a run.

    Args:
        run: Several detectors on one benchmark, evaluated.
        path: Where to write; the file appears whole or not at all.
        images: The folder of the images, for the gallery; without it the gallery draws boxes only.
        crops: Most examples in the gallery.
        beside: Sections that come from elsewhere.

    Returns:
        The path.
    """
    text = render(run, images=images, crops=crops, beside=beside)
    with replacing(Path(path), folder=False) as target:
        target.write_text(text, "utf-8", newline="\n")
    return Path(path)


def render(
    run: Run,
    *,
    images: Path | None = None,
    crops: int = LIMIT,
    beside: Beside = Beside(),
) -> str:
    """The report of a run, as text."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        library = pool.submit(scripts.library)  # takes a second and knows nothing of the run
        pixels = None if images is None else Pixels(Path(images))
        context = _context(run, first_trainings(run), pixels, crops)
        inline = [library.result(), scripts.own()]
    context |= _beside(context, beside, run.truth.images)
    return fill("page.html.j2", context, context.pop("payload"), inline)


def _beside(context: dict[str, Any], beside: Beside, images: Images) -> dict[str, Any]:
    """What changes with an audit of the benchmark, with results of classifiers, with all images."""
    shown = recognised(beside.recognition) if beside.recognition else None
    drawn = figures_payload([shown.figure] if shown else [])
    extra = [AUDIT] * bool(beside.audits) + [RECOGNITION] * bool(shown)
    *sections, health, glossary = context["sections"]
    payload = context["payload"]
    if beside.browsing:
        after = next(at for at, one in enumerate(sections, 1) if one.key == "gallery")
        sections.insert(after, BROWSING)
        payload = payload | {"browsing": beside.browsing}
    return {
        "audits": beside.audits,
        "recognised": shown,
        "browsing": beside.browsing,
        "sections": [*sections, *extra, health, glossary],
        "minded": (*context["verdict"].minded, *sentences(beside.audits, images)),
        "payload": payload | {"figures": payload["figures"] | drawn},
    }


def _context(
    run: Run, models: tuple[Deployed, ...], pixels: Pixels | None, crops: int
) -> dict[str, Any]:
    """Everything the templates show."""
    names = [model.title for model in models]
    figures = curve_figures(models)
    found, slices = _findings(run), groupings(models[0])
    gallery = gallery_payload(run, models, choose(models, crops), pixels)
    glossary = _glossary(run, models, found)
    origin = models[0].evaluation.provenance
    methods = distinct(run.results, LONGEST_NAME)
    results = dict(zip(methods, run.results.values(), strict=True))
    board = Scoreboard.of(results, force=True, paired=run.paired)
    return {
        "title": _title(methods, leaked=any(taught(one.evaluation.findings) for one in models)),
        "version": __version__,
        "sections": [s for s in SECTIONS if s.key != "comparison" or len(models) > 1],
        "headline": _headline(models[0]),
        "names": names,
        "models": models,
        "verdict": verdict(models, absorption(models[0]), board, found),
        "board": board,
        "resamples": origin.resamples,
        "iou": f"{run.protocol.iou[0]:g}",
        "figures": figures,
        "classes": [per_class(model).table(MOST_CLASSES) for model in models],
        "errors": errors(models),
        "gallery_note": _gallery_note(len(gallery["items"]), pixels),
        "strata": [grouping.title for grouping in slices],
        "by": strata_of(run, run.by) if run.by else None,
        "pairs": pairs(models, board, image_names(run)),
        "findings": found,
        "missing": [_missing_labels(model) for model in models],
        "origin": origin,
        "ledgers": [_ledger(model) for model in models],
        "command": run.command,
        "glossary": glossary,
        "terms": frozenset(entry.name for _, entries in glossary for entry in entries),
        "payload": {
            "sliders": sliders_payload(models),
            "figures": figures_payload(figures),
            "gallery": gallery,
            "strata": strata_payload(slices),
        },
    }


def _title(names: Sequence[str], *, leaked: bool) -> str:
    """The question of the page, or that it is none: the unknown classes were taught."""
    some = [short(name, 40) for name in names]
    who = listed(some) if len(some) <= MOST_NAMES else f"{len(some)} detectors"
    verb, subject = ("does", "it was") if len(names) == 1 else ("do", "they were")
    if leaked:
        return f"Not an open-set result: what {who} {verb} with objects of classes that were taught"
    return f"What {who} {verb} with objects {subject} never taught"


def _headline(model: Deployed) -> str:
    """What was evaluated, in one line."""
    origin = model.evaluation.provenance
    n = {name: grouped(count) for name, count in origin.counts.items()}
    parts = [
        f"protocol {origin.protocol}{' with deviations' if origin.deviations else ''}",
        f"{n['images']} images",
        f"{n['known_objects']} known objects of {n['known_classes']} classes",
        f"{n['unknown_objects']} unknown objects",
    ]
    return " · ".join(parts)


def _gallery_note(count: int, pixels: Pixels | None) -> str:
    picked = f"{count} examples, picked at the detectors' operating points"
    if pixels is None:
        return f"{picked}, drawn without pixels: give the images to see them."
    if pixels.missing == count:
        return f"{picked}, drawn without pixels: none of their images is in the folder given."
    missing = f" The images of {pixels.missing} were not found." if pixels.missing else ""
    return f"{picked}.{missing}"


def _findings(run: Run) -> list[tuple[str, Finding]]:
    """Findings with what they are about, the most serious first."""
    found = [("ground truth", finding) for finding in run.truth_findings]
    found += [(name, finding) for name, findings in run.findings.items() for finding in findings]
    rank = {"error": 0, "warning": 1, "note": 2}
    return sorted(found, key=lambda pair: rank[pair[1].level.value])


def _missing_labels(model: Deployed) -> dict[str, Any]:
    """How many boxes on the background are likely objects that nobody labelled."""
    from openset.diagnosis.missing_labels import missing_labels

    found = missing_labels(
        model.matches, model.detections, limit=MOST_SUSPECTS, minimum_score=model.score
    )
    likely = [suspect for suspect in found.suspects if suspect.probability >= LIKELY]
    labels = Counter(suspect.label for suspect in likely).most_common(3)
    return {
        "model": model.title,
        "candidates": found.candidates,
        "likely": len(likely),
        "more": len(likely) == MOST_SUSPECTS,
        "per_image": len(likely) / max(model.matches.n_images, 1),
        "labels": ", ".join(f"{label} ({n})" for label, n in labels) or "–",
    }


def _ledger(model: Deployed) -> str:
    """Where a detector's boxes come from, as its file says."""
    import json

    from openset.json_text import plain

    said = model.detections.provenance
    return short(json.dumps(plain(said), indent=1, sort_keys=True), 4000) if said else ""


def _glossary(
    run: Run, models: Sequence[Deployed], findings: Sequence[tuple[str, Finding]]
) -> list[tuple[str, list[Any]]]:
    """The explanations of what this report shows."""
    from openset.explain import entries

    metrics = {name.partition("@")[0] for name in models[0].evaluation.values}
    shown = {*metrics, *ERROR_NAMES, run.protocol.name, *(f.code for _, f in findings)}
    titles = {
        "metric": "Metrics",
        "error": "Error types",
        "taxonomy": "Open-set object detection, three problems",
        "term": "Terms",
        "protocol": "Protocol",
        "code": "Findings",
    }
    always = ("term", "taxonomy")
    found, known = [], entries()
    for kind, title in titles.items():
        chosen = [e for e in known if e.kind == kind and (kind in always or e.name in shown)]
        if chosen:
            found.append((title, chosen))
    return found
