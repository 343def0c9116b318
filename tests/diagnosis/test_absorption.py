"""Where unknown objects go, label by label."""

from __future__ import annotations

import numpy as np

from openset.diagnosis.absorption import absorption
from openset.diagnosis.flow import WRONG


def test_absorption_is_the_unknown_row_of_the_flow(models):
    for model in models:
        table = absorption(model)
        counts = np.array([row.counts for row in table.labels])
        assert counts.sum(axis=1).tolist() == [row.total for row in table.labels]
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
        assert sum(row.counts[column] for row in table.labels) == names.count(name)


def test_absorption_as_rows(models):
    found = absorption(models[0])
    rows = found.rows()
    assert sum(row["known name"] for row in rows) == models[0].flow.unknown_wrong
    for row, one in zip(rows, found.labels, strict=True):
        assert row["known name"] + row["only unknown"] + row["missed"] == row["objects"]
        most = max(one.counts[: len(found.classes)])
        assert row["most often"] is None if not most else f"({most})" in row["most often"]
