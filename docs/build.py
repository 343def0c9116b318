"""Write the pages made from the code: ``python docs/build.py``; a test keeps them current.

The words come from `openset.explain`. Two pages are made whole; in the others a block between
``<!-- name -->`` and ``<!-- end -->`` (or the end of the page) is, and the rest is written by hand.
"""

import re
from pathlib import Path

from openset import codes
from openset.explain import Entry, entries
from openset.matching import Protocol
from openset.metrics import table
from openset.recognition import claims, flaws
from openset.recognition import table as recognition_table

FOLDER = Path(__file__).parent
MADE = "<!-- Made by docs/build.py from openset.explain; edit the docstrings and texts there. -->"

METRICS = f"""# Metrics

{MADE}

Every metric is a pure function of `Matches`; values are fractions, never percent; a number that
does not exist is `None` with the reason. `evaluate(..., metrics=[...])` chooses,
`result.value(name, **options)` asks with other parameters. Adding a metric is adding a file to
`openset/metrics/`, or an entry point in the group `openset.metrics`. Every example is computed by a
test; `openset.explain.lookup(name).example.compute()` does it again.

| metric | what | better | range | headline | interval |
| --- | --- | --- | --- | --- | --- |
"""

GLOSSARY = f"""# Glossary

{MADE}

What `openset.explain` knows beside [metrics](metrics.md), [protocols](protocols.md) and
[finding codes](checks.md): which problem asks for which metric, general terms, and the types of
errors of [diagnosis](diagnosis.md).
"""

NOTATION = """## How examples are written

One line is an image, its objects left of the bar and the detections right of it. `dog .9 on 1` says
dog with score 0.9 and fits the first object exactly, `on 2 at .6` overlaps the second with an IoU
of 0.6, `on nothing` is on no object; `u .4` is an unknownness; an image that begins with `twice:`
is on two lines of the benchmark's list. Every label that is not known is unknown."""


def metrics_page() -> str:
    found = entries("metric")
    rows = "\n".join(map(metric_row, found))
    blocks = [NOTATION, *(entry.to_markdown() for entry in found)]
    return METRICS + rows + "\n\n" + "\n\n".join(blocks) + "\n"


def metric_row(entry: Entry) -> str:
    yes = {True: "yes", False: ""}
    metric = table()[entry.name]
    span = entry.range.partition(",")[0]
    cells = [f"[`{entry.name}`](#{entry.name})", entry.title, entry.better or "–", span]
    return "| " + " | ".join([*cells, yes[metric.headline], yes[metric.resampled]]) + " |"


def glossary_page() -> str:
    parts = {"Problems": "taxonomy", "Terms": "term", "Types of errors": "error"}
    blocks = [GLOSSARY.rstrip()]
    for title, kind in parts.items():
        blocks += [f"## {title}", *(entry.to_markdown(3) for entry in entries(kind))]
    return "\n\n".join(blocks) + "\n"


def preset_table() -> str:
    rows = [
        f"| `{entry.name}` | {' | '.join(preset_cells(entry))} |" for entry in entries("protocol")
    ]
    return "\n".join(
        ["| preset | reproduces | matching | AP |", "| --- | --- | --- | --- |", *rows]
    )


def preset_cells(entry: Entry) -> list[str]:
    rules = Protocol.of(entry.name)
    matching = {"coco": "COCO", "voc": "VOC", "elephant": "best object of any class"}[rules.rule]
    matching += " on shifted boxes" if rules.geometry.startswith("shifted") else ""
    if len(rules.iou) == 1:
        matching += f", overlap {'≥' if rules.iou_inclusive else '>'} {rules.iou[0]:g}"
    overlaps = f", {len(rules.iou)} overlaps" if len(rules.iou) > 1 else ""
    return [entry.summary, matching, rules.interpolation + overlaps]


def defects() -> str:
    by_list: dict[tuple[tuple[str, str], ...], list[Entry]] = {}
    for entry in entries("protocol"):
        by_list.setdefault(entry.quirks, []).append(entry)
    return "\n\n".join(defect_list(found) for quirks, found in by_list.items() if quirks)


def defect_list(found: list[Entry]) -> str:
    names = ", ".join(f"`{entry.name}`" for entry in found)
    lines = [f"- {what} → {here}" for what, here in found[0].quirks]
    return "\n".join([f"**{found[0].title}** ({names})", "", *lines])


def recognition_rows() -> str:
    head = ["| metric | what | better | range |", "| --- | --- | --- | --- |"]
    rows = [
        f"| `{m.name}` | {m.summary} | {m.better} | {m.range[0]} to {m.range[1]} |"
        for m in recognition_table().values()
    ]
    return "\n".join(head + rows)


def flaws_page() -> str:
    page = (FOLDER / "metrics-flaws.md").read_text("utf-8")
    for name, make in (flaws.TABLES | claims.TABLES).items():
        page = filled(page, name, make().markdown())
    return page


def filled(page: str, name: str, block: str) -> str:
    """A page with one of its blocks written anew."""
    pattern = rf"<!-- {name} -->\n.*?(?=<!-- end -->|\Z)"
    new, count = re.subn(
        pattern, lambda _: f"<!-- {name} -->\n{block.rstrip()}\n", page, flags=re.S
    )
    if count != 1:
        raise SystemExit(f"a page should have one block {name!r}, and has {count}")
    return new


def pages() -> dict[str, str]:
    """All pages with anything made from the code, by file name."""
    protocols = (FOLDER / "protocols.md").read_text("utf-8")
    protocols = filled(filled(protocols, "presets", preset_table()), "defects", defects())
    recognition = (FOLDER / "recognition.md").read_text("utf-8")
    checks = filled((FOLDER / "checks.md").read_text("utf-8"), "codes", codes.markdown())
    return {
        "metrics.md": metrics_page(),
        "glossary.md": glossary_page(),
        "protocols.md": protocols,
        "checks.md": checks,
        "recognition.md": filled(recognition, "metrics", recognition_rows()),
        "metrics-flaws.md": flaws_page(),
    }


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
