"""The sections of the report, before they are a page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from openset.evaluation.comparison import against_first
from openset.findings import Finding, Level
from openset.report.absorption import absorption
from openset.report.breakdown import breakdown
from openset.report.charts import curve_figures
from openset.report.crops import Scenes
from openset.report.curves import oscr
from openset.report.flow import IGNORED, RIGHT, UNKNOWN, WRONG, called, fates, targets
from openset.report.gallery import KINDS, choose, is_right
from openset.report.model import models_of
from openset.report.names import distinct
from openset.report.pairs import pairs
from openset.report.slice_charts import slice_figures
from openset.report.verdict import verdict
from scenes.report_runs import run


@pytest.fixture(scope="module")
def made():
    return run(3, images=60)


@pytest.fixture(scope="module")
def models(made):
    return models_of(made)


def _title(models, at: int, title: str):
    return replace(models[at], title=title)


# ---------------------------------------------------------------------- where unknowns go


def test_absorption_is_the_unknown_row_of_the_flow(models):
    for model in models:
        table = absorption(model)
        counts = np.array([row.counts for row in table.rows])
        assert counts.sum(axis=1).tolist() == [row.total for row in table.rows]
        assert counts[:, :-2].sum() == model.flow.unknown_wrong
        assert counts[:, -2].sum() == model.flow.unknown_unknown
        assert counts[:, -1].sum() == model.flow.unknown_missed


def test_absorption_names_the_class_of_the_best_box(models):
    model = models[0]
    matches, table = model.matches, absorption(model)
    wrong = np.flatnonzero((model.fates == WRONG) & (matches.objects.klass == matches.n_known))
    names = []
    for at in wrong.tolist():
        boxes = np.flatnonzero(model.called.known & (model.targets.known == at))
        names.append(model.classes[matches.klass[boxes[np.argmax(matches.score[boxes])]]])
    for column, name in enumerate(table.classes):
        assert sum(row.counts[column] for row in table.rows) == names.count(name)


# ---------------------------------------------------------------------- strata


def test_slices_of_a_stratum_add_up_to_the_flow(made, models):
    slices = breakdown(made.truth, models)
    assert {"object size", "crowding", "kind of image"} <= {piece.stratum for piece in slices}
    for stratum in ("crowding", "kind of image"):
        for model in models:
            mine = [p for p in slices if p.stratum == stratum and p.model == model.title]
            known = [p for p in mine if p.role == "known"]
            unknown = [p for p in mine if p.role == "unknown"]
            assert sum(p.right for p in known) == model.flow.known_right
            assert sum(p.unknown for p in known) == model.flow.known_unknown
            assert sum(p.right for p in unknown) == model.flow.unknown_unknown
            assert sum(p.missed for p in unknown) == model.flow.unknown_missed


def test_attributes_are_strata(made):
    truth = made.truth
    tier = np.where(truth.label % 2 == 0, "near", "far")
    lens = np.where(np.arange(len(truth.images)) % 2, "wide", "tele")
    images = replace(truth.images, attributes={"lens": lens})
    tagged = replace(truth, attributes={"tier": tier}, images=images)
    slices = breakdown(tagged, models_of(made))
    names = [p.name for p in slices if p.stratum == "tier" and p.role == "known"]
    assert names[:2] == ["near", "far"]
    assert {p.name for p in slices if p.stratum == "lens"} == {"wide", "tele"}


# ---------------------------------------------------------------------- gallery


def test_gallery_shows_what_its_kinds_say(models):
    items = choose(models, 240)
    assert len(items) <= 240
    assert {item.kind for item in items} >= {"unknown-as-known", "missed-unknown"}
    for item in items:
        model = models[item.model]
        objects, matches = model.matches.objects, model.matches
        if item.kind == "unknown-as-known":
            assert objects.klass[item.object] == matches.n_known
            assert model.called.known[item.box]
        if item.kind == "missed-unknown":
            assert item.box == -1
            assert model.fates[item.object] == 3
        if item.kind == "known-as-unknown":
            assert model.fates[item.object] == UNKNOWN
            assert objects.klass[item.object] < matches.n_known
        if item.kind == "wrong-class":
            assert objects.klass[item.object] not in (matches.klass[item.box], matches.n_known)
        if item.kind.endswith("on-nothing"):
            assert item.object == -1
        if item.kind == "models-disagree":
            other = models[1 - item.model]
            assert is_right(model)[item.object]
            assert not is_right(other)[item.object]


def test_gallery_spreads_over_pairs_of_labels(models):
    model = models[0]
    kind = KINDS[0]
    boxes, objects = kind.find(model)
    cells = {
        (model.matches.objects.label[o], model.matches.klass[b])
        for b, o in zip(boxes, objects, strict=True)
    }
    shown = [item for item in choose((model,), 240) if item.kind == kind.name]
    first = shown[: len(cells)]
    seen = {(model.matches.objects.label[i.object], model.matches.klass[i.box]) for i in first}
    assert len(seen) > len(cells) / 2


def test_regions_hold_their_box_and_stay_in_the_image(made, models):
    scenes = Scenes(made, models)
    for item in choose(models, 60):
        left, top, width, height = scenes.region(item)
        assert left >= 0
        assert top >= 0
        assert left + width <= 200
        assert top + height <= 160
        focused = [box for box in scenes.boxes(item) if box[-1]]
        assert len(focused) == (item.box >= 0) + (item.object >= 0)


# ---------------------------------------------------------------------- scoreboard and pairs


def test_pairs_count_every_object_once(made, models):
    (pair,) = pairs(models, [str(i) for i in made.truth.images.id])
    by_role = {split.role: split for split in pair.splits}
    flow = models[0].flow
    for role, total in (("known", flow.known), ("unknown", flow.unknown)):
        split = by_role[role]
        assert split.both + split.first + split.second + split.neither == total
    assert by_role["known"].both + by_role["known"].first == flow.known_right
    assert any(line.cells[1].difference.interval for line in pair.board.lines)


# ---------------------------------------------------------------------- words


def compared(models):
    return against_first([model.evaluation for model in models], force=True)


def test_verdict_says_the_flow(models):
    tables = [absorption(model) for model in models]
    finding = Finding("OS305", Level.WARNING, "many <b> labels", 7)
    said = verdict(
        models,
        tables,
        compared(models),
        [("first", finding)],
    )
    first = said[0].text
    assert models[0].title in first
    assert f"score ≥ {models[0].score:.3g}" in first
    assert said[-1].text.startswith("Mind the data of first: OS305")
    assert {sentence.section for sentence in said} <= {"absorption", "flow", "comparison", "health"}


def test_without_intervals_the_verdict_says_nothing_of_differences():
    made = run(3, images=40, models=2, intervals=False)
    models = models_of(made)
    tables = [absorption(model) for model in models]
    said = verdict(models, tables, compared(models), [])
    assert "comparison" not in {sentence.section for sentence in said}


def test_names_of_the_other_direction_keep_to_themselves(models):
    tables = [absorption(models[0])]
    named = replace(tables[0], classes=("\u05d7\u05ea\u05d5\u05dc", *tables[0].classes[1:]))
    text = verdict(models[:1], [named], [None], [])[0].text
    assert "\u2068\u05d7\u05ea\u05d5\u05dc\u2069" in text
    assert "\u2068" not in verdict(models[:1], tables, [None], [])[0].text


def test_long_names_stand_in_one_column_of_the_legend(models):
    from openset.report.charts import _by_model

    for names, columns in ((["a", "b"], 2), (["a" * 30, "b"], 1)):
        assert _by_model(names)[0].to_dict()["legend"]["columns"] == columns


def test_verdict_of_a_detector_that_never_says_unknown():
    made = run(3, images=40, unknownness=False, models=1)
    detections = made.detections["first"]
    only_known = detections.select(detections.label != 20)
    from openset.evaluation.run import evaluate_all

    again = evaluate_all(made.truth, {"a": only_known}, known=made.vocabulary, intervals=False)
    models = models_of(again)
    said = verdict(models, [absorption(models[0])], [None], [])
    assert "never says “unknown”" in said[0].text
    assert not models[0].sliders.says_unknown


def test_long_names_of_detectors_stay_apart():
    assert len(set(distinct(["x" * 500, "x" * 501, "x" * 502], 60))) == 3
    made = run(0, models=2, names=("n" * 300, "n" * 301), intervals=False)
    models = models_of(made)
    assert [model.name for model in models] == list(made.names)
    assert models[0].title != models[1].title


# ---------------------------------------------------------------------- charts


def test_every_curve_has_points_of_every_detector(models):
    drawn = {figure.name: figure for figure in curve_figures(models)}
    spec = drawn["precision-recall-known"].spec
    rows = next(
        layer["data"]["values"] for layer in spec["layer"] if "values" in layer.get("data", {})
    )
    assert {row["model"] for row in rows} == {model.title for model in models}
    missing = [figure for figure in drawn.values() if figure.spec is None]
    assert all(figure.missing for figure in missing)


def test_oscr_counts_objects_along_the_score(models):
    rows = oscr(models)
    for model in models:
        mine = [row for row in rows if row["model"] == model.title]
        assert len(mine) == len(model.sliders.score)
        for row in mine[::40]:
            matches = model.matches
            call, target = called(matches, row["level"], None), targets(matches)
            fate = fates(matches, call, target)
            unknown = (matches.objects.klass == matches.n_known) & (fate != IGNORED)
            known = ~unknown & (fate != IGNORED)
            assert row["x"] == round((unknown & (fate == WRONG)).sum() / unknown.sum(), 5)
            assert row["y"] == round((known & (fate == RIGHT)).sum() / known.sum(), 5)
        for axis in ("x", "y"):
            assert np.all(np.diff([row[axis] for row in mine]) <= 0)


def test_cursors_start_at_the_operating_point(models):
    spec = next(f for f in curve_figures(models) if f.name == "precision-recall-known").spec
    cursor = next(
        layer["data"]["values"]
        for layer in spec["layer"]
        if layer.get("data", {}).get("name") == "cursor"
    )
    assert [row["x"] for row in cursor] == [round(m.flow.known_recall, 5) for m in models]


def test_slices_are_figures_too(made, models):
    drawn = slice_figures(breakdown(made.truth, models))
    assert all(figure.spec["facet"] for figure in drawn)
    assert len({figure.name for figure in drawn}) == len(drawn)
