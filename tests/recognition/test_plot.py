"""The curve of classifiers as a chart: a line per model, and none without unknown samples."""

from dataclasses import replace

import pytest

from openset.findings import UsageError
from openset.recognition.plot import oscr_plot, write_oscr_plot
from scenes.recognition import made


def test_a_plot_has_a_line_per_model_and_not_too_many_points():
    spec = oscr_plot({"one": made(1, 3000, 2000), "two": made(2)})
    rows = spec["data"]["values"]
    assert {row["model"] for row in rows} == {"one", "two"}
    one = [row for row in rows if row["model"] == "one"]
    assert len(one) <= 401
    assert (one[0]["x"], one[0]["y"], one[-1]["x"]) == (0, 0, 1)
    with pytest.raises(UsageError, match="no unknown sample"):
        write_oscr_plot({"one": _closed()}, "x.svg")


def _closed():
    return replace(made(), unknown_openness=[], unknown_predicted=None)
