"""Write the pages made from the code: ``python docs/build.py``; a test keeps them current."""

from pathlib import Path

from openset.metrics import Metric, table

HEAD = """# Metrics

<!-- Made by docs/build.py from the docstrings; edit those. -->

Every metric is a pure function of `Matches`; values are fractions, never percent; a number that
does not exist is `None` with the reason. `evaluate(..., metrics=[...])` chooses,
`result.value(name, **options)` asks with other parameters. Adding a metric is adding a file to
`openset/metrics/`, or an entry point in the group `openset.metrics`.

| metric | better | range | headline | interval |
| --- | --- | --- | --- | --- |
"""


def span(metric: Metric) -> str:
    low, high = ("" if end is None else f"{end:g}" for end in metric.range)
    return f"{low or '-∞'} … {high or '∞'}"


def row(metric: Metric) -> str:
    yes = {True: "yes", False: ""}
    cells = [f"[`{metric.name}`](#{metric.name})", metric.better or "–", span(metric)]
    return "| " + " | ".join([*cells, yes[metric.headline], yes[metric.resampled]]) + " |"


def section(metric: Metric) -> str:
    paper = f"\n\nSource: {metric.paper}." if metric.paper else ""
    lines = [line.strip() for line in metric.doc.splitlines()]
    return f"## {metric.name}\n\n" + "\n".join(lines).replace("Args:", "Options:\n") + paper


def metrics_page() -> str:
    metrics = list(table().values())
    rows = "\n".join(row(metric) for metric in metrics)
    return HEAD + rows + "\n\n" + "\n\n".join(section(metric) for metric in metrics) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("metrics.md").write_text(metrics_page(), "utf-8")
