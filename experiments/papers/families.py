"""Families: how scorers do on near, far and farther photographs (FMIYC, Section 5.3).

Detectors that learned VOC 2007 (``experiments/photographs.py``) see two sets: VOC 2007 test is in
distribution; pictures of COCO val2017 without any of its classes are not, in the tiers of
``openset build fmiyc-coco``. As in the paper, boxes count from a detector's t* on, and those are
unknown that look more so than 95 % of the boxes on the ID set do, which is where FPR95 stands.

A number is the mean over trainings, and its interval holds pictures and trainings; so do those of
means over the scorers of a family, and of differences. Tiers share the ID set, but not resamples:
intervals of their differences are rather too wide. Not the paper's detectors, which see larger
pictures, nor its tiers, which are picked by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from photographs import (
    Found,
    made_by,
    of_voc,
    part,
    read_found,
    refuse_missing,
    tail_of,
    tail_unknown,
)
from record import Recorder, number

from openset import scorers
from openset.evaluation.run import evaluate_all
from openset.evaluation.strata import nearest_first
from openset.evaluation.trainings import Trainings
from openset.files import digest
from openset.formats import read_annotations
from openset.metrics import Metric
from openset.papers import Column, Estimate
from openset.resampling.intervals import Ends, interval, judged
from openset.resampling.trainings import spread
from openset.tables import Annotations, Detections
from openset.tables.sets import Pair

PAPERS = ("msp", "energy", "gen", "knn", "ddu", "mahalanobis", "vim", "ash", "dice", "react")
OTHERS = ("max_logit", "entropy", "gamma_ratio")  # not in the paper, and in no mean
FAMILIES = {"output": "output", "features": "features", "output and features": "mixed"}
DETECTORS = {
    "base": "Faster R-CNN",
    "vos": "Faster R-CNN, VOS",
    "siren": "Faster R-CNN, SIREN",
    "opendet": "OpenDet",
    "opendet_cwa": "OpenDet CWA",
}
PROTOCOL = "fmiyc"
SILENT = "images_without_predictions"
HERE = (
    "PYTHONPATH=experiments python experiments/papers/fmiyc.py --data DATA --wordnet data.noun "
    "--found FOUND --photos PHOTOS"
)
RULE = (
    "Boxes count from t* on, and are unknown if they look more so than 95 % of those on the ID "
    "set. Intervals hold pictures and trainings."
)
WIDE = "Tiers share the ID set, which is not made use of: intervals are rather too wide."
BY = f"Protocol `{PROTOCOL}`: AP_U at an overlap of 0.5, nOSE counts boxes."
TIMES = {1: "once", 2: "twice"}
Row = list[str | float | Estimate | None]


class Method(NamedTuple):
    """A detector, and the scorer that calls its boxes unknown; without one, it does so itself."""

    detector: str
    scorer: str = ""

    @property
    def title(self) -> str:
        """The name of the scorer."""
        return scorers.find(self.scorer).title

    @property
    def family(self) -> str:
        """What the scorer looks at."""
        return FAMILIES[scorers.find(self.scorer).family]


SCORERS = tuple(Method("base", name) for name in (*PAPERS, *OTHERS))
GEN = Method("base", "gen")
TABLE_4 = {
    "GEN": GEN,
    "Energy": Method("base", "energy"),
    "VOS": Method("vos", "energy"),
    "SIREN": Method("siren", "siren_knn"),
    "OpenDet": Method("opendet"),
    "OpenDet CWA": Method("opendet_cwa"),
}
AGAINST = {
    "VOS": ("GEN", "SIREN"),
    "SIREN": ("GEN",),
    "OpenDet": ("GEN",),
    "OpenDet CWA": ("GEN", "OpenDet"),
}
"""Trained detectors, and what each is compared with."""


@dataclass(frozen=True)
class Number:
    """A number of one method.

    Attributes:
        metric: What it is.
        runs: Its value in every training.
        drawn: Its mean over trainings in every resample of pictures.
    """

    metric: Metric
    runs: NDArray[np.float64]
    drawn: NDArray[np.float64]

    @classmethod
    def of(cls, method: Trainings, name: str) -> Number | None:
        """A metric of a method; None where a training has no value."""
        runs = [value for value in method.runs(name) if value is not None]
        if len(runs) < len(method):
            return None
        return cls(method.metrics[name], np.array(runs), method.replicates[name])

    @property
    def value(self) -> float:
        """The mean over trainings."""
        return float(self.runs.mean())


def estimate(of: Number | None) -> Estimate | float | None:
    """A number with its interval."""
    if of is None:
        return None
    training, metric = spread(of.runs.tolist()), of.metric
    return rounded(of.value, interval(of.drawn, of.value, metric.scale, metric.range, training))


def mean(several: Sequence[Number | None]) -> Number | None:
    """The mean over methods of the same trainings; None where one has no value."""
    kept = [one for one in several if one is not None]
    if len(kept) < len(several):
        return None
    runs, drawn = np.mean([one.runs for one in kept], 0), np.mean([one.drawn for one in kept], 0)
    return Number(kept[0].metric, runs, drawn)


def minus(one: Number | None, other: Number | None, *, same_images: bool) -> Number | None:
    """The difference of two numbers of the same trainings."""
    if one is None or other is None:
        return None
    # Two further on, as in a comparison of results of different images, lest draws meet.
    drawn = one.drawn - (other.drawn if same_images else np.roll(other.drawn, 2))
    return Number(one.metric, one.runs - other.runs, drawn)


def difference(of: Number | None) -> Estimate | float | None:
    """A difference with its interval."""
    return None if of is None else _judged(of.value, of.drawn, [of.runs])


def less(one: Number | None, other: Number | None) -> Estimate | float | None:
    """The difference of two numbers of one set of pictures, whatever trainings they are of."""
    if one is None or other is None:
        return None
    return _judged(one.value - other.value, one.drawn - other.drawn, [one.runs, other.runs])


def _judged(
    value: float, drawn: NDArray[np.float64], runs: Sequence[NDArray[np.float64]]
) -> Estimate | float | None:
    spreads = [known for known in (spread(one.tolist()) for one in runs) if known is not None]
    said = judged(drawn, value, spreads)
    return rounded(value, said[0] if said else None)


def rounded(value: float, ends: Ends | None) -> Estimate | float | None:
    """Five digits: more than is shown, and run files stay small."""
    return number(round(value, 5), None if ends is None else [round(end, 5) for end in ends])


Numbers = Mapping[str, Number | None]


@dataclass(frozen=True)
class Detector:
    """The trainings of one detector.

    Attributes:
        found: What each found on the pictures of both sets.
        alone: What they are on the ID set, with all of their boxes.
    """

    found: tuple[Found, ...]
    alone: Trainings

    def called(self, scorer: str, known: Annotations) -> list[Detections]:
        """The boxes of each training from its t* on, and what a scorer calls unknown.

        Args:
            scorer: Its name; without one, boxes are labelled as the detector says.
            known: The ID set.
        """
        least = [t for t in self.alone.runs("best_threshold") if t is not None]
        kept = [some(one, one.boxes.score >= t) for one, t in zip(self.found, least, strict=True)]
        return [_by_tail(one, scorer, known) if scorer else one.boxes for one in kept]


def _by_tail(one: Found, scorer: str, known: Annotations) -> Detections:
    score = one.scores[scorer]
    tail = tail_of(score[np.isin(one.boxes.image, known.images.id)])
    assert tail is not None, "nothing was found on the ID set"
    return tail_unknown(one.boxes, score, tail)


def some(one: Found, rows: NDArray[np.bool_]) -> Found:
    """Some of the boxes."""
    scores = {name: column[rows] for name, column in one.scores.items()}
    return replace(one, boxes=one.boxes.select(rows), scores=scores)


@dataclass(frozen=True)
class Photographs:
    """Two sets of photographs, and what detectors found on them.

    Attributes:
        known: The ID set.
        ood: The OOD set.
        tiers: Its parts, nearest first.
        folder: Where ``experiments/photographs.py find`` wrote.
    """

    known: Annotations
    ood: Annotations
    tiers: Mapping[str, Annotations]
    folder: Path

    @classmethod
    def of(cls, truth: Annotations, tiered: Annotations, folder: Path) -> Photographs:
        """The sets, in pixels of the pictures that detectors saw.

        Args:
            truth: Test pictures of VOC and COCO, as ``experiments/photographs.py`` made them.
            tiered: The OOD set of ``openset build fmiyc-coco``.
            folder: What detectors found.
        """
        assert tiered.images.file_name is not None
        stems = [Path(str(name)).stem for name in tiered.images.file_name]
        tier = dict(zip(stems, tiered.images.attributes["tier"].tolist(), strict=True))
        column = np.array([tier.get(str(id_), "") for id_ in truth.images.id])
        names = sorted(set(tier.values()), key=nearest_first)
        tiers = {name: part(truth, column == name) for name in names}
        return cls(part(truth, of_voc(truth)), part(truth, column != ""), tiers, folder)

    @property
    def files(self) -> list[Path]:
        """What the trainings of all detectors found."""
        return [path for name in DETECTORS for path in self._of(name)]

    @property
    def trained(self) -> str:
        """How often each detector was trained."""
        times = {title: len(self._of(name)) for name, title in DETECTORS.items()}
        said = (f"{title} {TIMES.get(n, f'{n} times')}" for title, n in times.items() if n)
        rows = (
            f"{title}: {made_by(name)}" for name, title in DETECTORS.items() if not times[title]
        )
        lacking = "; ".join(rows)
        return f"Trained: {', '.join(said)}." + (f" Not trained: {lacking}." if lacking else "")

    def _of(self, name: str) -> list[Path]:
        return sorted(self.folder.glob(f"{name}-*.npz"))

    @cached_property
    def detectors(self) -> dict[str, Detector]:
        """All detectors that were trained, by name."""
        found = {name: [self._read(path) for path in self._of(name)] for name in DETECTORS}
        found = {name: several for name, several in found.items() if several}
        boxes = {name: [one.boxes for one in several] for name, several in found.items()}
        alone = self.judged(None, boxes, ["ap_known", "best_threshold"])
        return {name: Detector(tuple(found[name]), alone[name]) for name in found}

    def _read(self, path: Path) -> Found:
        one = read_found(path)
        one = replace(one, boxes=replace(one.boxes, unknownness=None))
        return some(one, np.isin(one.boxes.image, self._ids(self.ood)))

    def _ids(self, ood: Annotations | None) -> NDArray[np.str_]:
        sets = [self.known] if ood is None else [self.known, ood]
        return np.concatenate([table.images.id for table in sets])

    def called(self, methods: Iterable[Method]) -> dict[str, list[Detections]]:
        """The boxes of each training of some methods."""
        return {
            str(one): self.detectors[one.detector].called(one.scorer, self.known) for one in methods
        }

    def judged(
        self,
        ood: Annotations | None,
        called: Mapping[str, Sequence[Detections]],
        metrics: Sequence[str],
    ) -> dict[str, Trainings]:
        """Methods on the ID set, and on an OOD set where one is given."""
        ids = self._ids(ood)
        there = {
            name: [one.select(np.isin(one.image, ids)) for one in several]
            for name, several in called.items()
        }
        if ood is None:  # mAP and t*, which the paper's evaluator of open sets has not
            return evaluate_all(self.known, there, known="voc20", metrics=metrics).results
        pair = Pair(self.known, ood)
        return evaluate_all(pair, there, known="voc20", metrics=metrics, protocol=PROTOCOL).results


@dataclass(frozen=True)
class Measured:
    """Numbers of methods on tiers, and the run files that are made of them.

    Attributes:
        to: Where they go.
        photos: What was measured on.
        shown: The metrics, each with its column.
    """

    to: Recorder
    photos: Photographs
    shown: Mapping[str, Column]

    @property
    def tiers(self) -> tuple[str, ...]:
        """Names of the tiers, nearest first."""
        return tuple(self.photos.tiers)

    @property
    def points(self) -> list[Column]:
        """Columns of differences."""
        return [Column(each.name, "points") for each in self.shown.values()]

    @cached_property
    def methods(self) -> dict[tuple[Method, str], Numbers]:
        """Every number of every method on every tier."""
        wanted = dict.fromkeys([*SCORERS, *self.table_4.values()])
        called = self.photos.called(wanted)
        found: dict[tuple[Method, str], Numbers] = {}
        for tier, ood in self.photos.tiers.items():
            results = self.photos.judged(ood, called, list(self.shown))
            for one in wanted:
                found[one, tier] = {name: Number.of(results[str(one)], name) for name in self.shown}
        return found

    @property
    def table_4(self) -> dict[str, Method]:
        """The methods of Table 4 whose detector was trained."""
        there = self.photos.detectors
        return {name: one for name, one in TABLE_4.items() if one.detector in there}

    @cached_property
    def members(self) -> dict[str, list[Method]]:
        """The paper's scorers of every family."""
        of_paper = [one for one in SCORERS if one.scorer in PAPERS]
        return {
            family: [one for one in of_paper if one.family == family]
            for family in FAMILIES.values()
        }

    @cached_property
    def families(self) -> dict[tuple[str, str], Numbers]:
        """The mean over the scorers of a family, on every tier."""
        return {
            (family, tier): {
                name: mean([self.methods[one, tier][name] for one in members])
                for name in self.shown
            }
            for family, members in self.members.items()
            for tier in self.tiers
        }

    def save(
        self,
        name: str,
        columns: Sequence[Column],
        rows: Sequence[Row],
        *notes: str,
        by: Sequence[str] = (BY,),
    ) -> None:
        """Write a run file; `by` says by which protocol."""
        self.to.commands = [HERE]
        self.to.inputs = {f"$FOUND/{path.name}": digest(path) for path in self.photos.files}
        self.to.save(name, columns, rows, *notes, *by, needs=("data", "training", "gpu"))

    def of_families(self, name: str, metrics: Sequence[str]) -> None:
        """Figures 4 and 5: means over the scorers of a family."""
        rows: list[Row] = [
            [family, tier, *estimates(held, metrics), self._best(family, tier)]
            for (family, tier), held in self.families.items()
        ]
        members = "; ".join(
            f"{family}: {', '.join(one.title for one in of)}" for family, of in self.members.items()
        )
        columns = [Column("family"), Column("tier"), *(self.shown[each] for each in metrics)]
        self.save(name, [*columns, Column("best by AUROC")], rows, f"Means. {members}.", RULE)

    def _best(self, family: str, tier: str) -> str:
        held = {one.title: self.methods[one, tier]["auroc"] for one in self.members[family]}
        return max(held, key=lambda name: number_of(held[name]))

    def of_scorers(self) -> None:
        """What the means are made of, and scorers beside them."""
        rows: list[Row] = [
            [one.title, tier, *estimates(self.methods[one, tier], self.shown), one.family]
            for one in SCORERS
            for tier in self.tiers
        ]
        columns = [Column("scorer"), Column("tier"), *self.shown.values(), Column("family")]
        self.save("scorers", columns, rows, RULE)

    def of_table_4(self) -> None:
        """Table 4: two scorers, and detectors that were trained for the open set."""
        rows: list[Row] = [
            [name, tier, *estimates(self.methods[one, tier], self.shown)]
            for name, one in self.table_4.items()
            for tier in self.tiers
        ]
        columns = [Column("method"), Column("tier"), *self.shown.values()]
        self.save("methods", columns, rows, RULE, self.photos.trained)

    def between_tiers(self) -> None:
        """How much the numbers of a family differ between tiers, and whether families agree."""
        near, far, farther = self.tiers
        rows: list[Row] = []
        for one, other in ((near, far), (far, farther), (near, farther)):
            gaps = {family: self._gap(family, one, other) for family in FAMILIES.values()}
            agree = {
                name: minus(gaps["mixed"][name], gaps["features"][name], same_images=True)
                for name in self.shown
            }
            gaps["mixed less features"] = agree
            rows += [
                [family, f"{one} less {other}", *map(difference, gap.values())]
                for family, gap in gaps.items()
            ]
        columns = [Column("family"), Column("tiers"), *self.points]
        self.save("between-tiers", columns, rows, WIDE)

    def _gap(self, family: str, one: str, other: str) -> Numbers:
        a, b = self.families[family, one], self.families[family, other]
        return {name: minus(a[name], b[name], same_images=False) for name in self.shown}

    def between_families(self) -> None:
        """How much families differ on a tier, paired over pictures and trainings."""
        rows: list[Row] = []
        for family in ("features", "mixed"):
            for tier in self.tiers:
                a, b = self.families[family, tier], self.families["output", tier]
                gap = [minus(a[name], b[name], same_images=True) for name in self.shown]
                rows.append([f"{family} less output", tier, *map(difference, gap)])
        columns = [Column("families"), Column("tier"), *self.points]
        self.save("between-families", columns, rows)

    def between_methods(self) -> None:
        """How much GEN differs from other scorers, and trained detectors from GEN."""
        rows: list[Row] = []
        for scorer in SCORERS:
            for tier in self.tiers if scorer.scorer in PAPERS and scorer != GEN else ():
                a, b = self.methods[GEN, tier], self.methods[scorer, tier]
                apart = [minus(a[name], b[name], same_images=True) for name in self.shown]
                rows.append([f"GEN less {scorer.title}", tier, *map(difference, apart)])
        there = self.table_4
        pairs = [(one, other) for one, several in AGAINST.items() for other in several]
        for one, other in pairs:
            for tier in self.tiers if {one, other} <= there.keys() else ():
                a, b = (self.methods[there[name], tier] for name in (one, other))
                gap = [less(a[name], b[name]) for name in self.shown]
                rows.append([f"{one} less {other}", tier, *gap])
        columns = [Column("methods"), Column("tier"), *self.points]
        self.save("between-methods", columns, rows, self.photos.trained)

    def silence(self) -> None:
        """Table 1: pictures on which nothing scores as much as t*, by tier."""
        methods = [Method(name) for name in self.photos.detectors]
        called = self.photos.called(methods)
        sets = {"all": self.photos.ood, **self.photos.tiers}
        found = {
            tier: self.photos.judged(ood, called, [SILENT, "nose"]) for tier, ood in sets.items()
        }
        rows: list[Row] = []
        for one in methods:
            held = {tier: results[str(one)] for tier, results in found.items()}
            known = Number.of(held["all"], f"{SILENT}@id")
            ood = {tier: Number.of(each, f"{SILENT}@ood") for tier, each in held.items()}
            least = self.photos.detectors[one.detector].alone.values["best_threshold"].value
            nearest, *_, last = self.tiers
            row: Row = [DETECTORS[one.detector], least, *map(estimate, (known, *ood.values()))]
            row.append(difference(minus(ood["all"], known, same_images=True)))
            row.append(difference(minus(ood[last], ood[nearest], same_images=False)))
            rows.append(row)
        columns = [Column("detector"), Column("t*", "score", 3), Column("ID set", "%")]
        columns += [Column("OOD set", "%"), *(Column(tier, "%") for tier in self.tiers)]
        columns += [Column(name, "points") for name in ("OOD less ID", "farther less near")]
        self.save("silent-photographs", columns, rows, self.photos.trained)

    def precision(self) -> None:
        """Table 3: mean average precision on the ID set."""
        rows: list[Row] = []
        for name, detector in self.photos.detectors.items():
            rows.append([DETECTORS[name], estimate(Number.of(detector.alone, "ap_known"))])
        self.save(
            "precision", [Column("detector"), Column("mAP", "%")], rows, self.photos.trained, by=()
        )


def number_of(held: Number | None) -> float:
    """The value, the least where there is none."""
    return -np.inf if held is None else held.value


def estimates(held: Numbers, metrics: Iterable[str]) -> Row:
    """Some numbers with their intervals."""
    return [estimate(held[name]) for name in metrics]


def photographs(to: Recorder, shown: Mapping[str, Column]) -> None:
    """Write all run files about photographs.

    Args:
        to: A recorder with the options ``found`` and ``photos``, whose work folder has the OOD set.
        shown: The metrics, each with its column.
    """
    refuse_missing(Path(to.options["photos"]), Path(to.options["found"]))
    truth = read_annotations(Path(to.options["photos"]) / "test.json")
    tiered = read_annotations(to.work / "bench" / "ood.json")
    measured = Measured(to, Photographs.of(truth, tiered, Path(to.options["found"])), shown)
    measured.precision()
    measured.silence()
    measured.of_families("families-separation", ("auroc", "fpr_at_95_tpr"))
    measured.of_families(
        "families-open-set", ("ap_unknown", "unknown_recall", "unknown_precision", "nose")
    )
    measured.of_scorers()
    measured.of_table_4()
    measured.between_tiers()
    measured.between_families()
    measured.between_methods()
