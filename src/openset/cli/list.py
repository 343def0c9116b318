"""list: what there is to choose from, as discovered: metrics, formats, protocols and so on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.cli._terminal import width
from openset.cli._words import option_rows, verb_rows
from openset.findings import OpenSetError, UsageError

app = verb("list", panel="Understand")
Rows = Mapping[str, Mapping[str, Any]]
# Packages whose `table()` may list their plug-ins.
_PACKAGES = (
    "metrics",
    "diagnosis",
    "scorers",
    "detectors",
    "methods",
    "worlds",
    "benchmarks",
    "engines",
    "integrations",
)

_FIELDS = (
    "title",
    "better",
    "unit",
    "requires",
    "keeps",
    "trainable",
    "shows",
    "fits_on",
    "family",
    "needs",
    "evidence",
    "leaks",
    "installed",
    "paper",
    "headline",
)
# What each topic is.
_TOPICS = {
    "metrics": "what is measured of detectors",
    "diagnosis": "what `openset diagnose` can be asked",
    "scorers": "how unknown a detection looks: `openset score`, evaluate --unknownness",
    "detectors": "what `openset run` runs and `openset train` trains",
    "methods": "what `openset train --method` adds to a detector",
    "worlds": "scenes from a seed, for `openset build`",
    "benchmarks": "splits, for `openset build`, `audit` and `fetch`",
    "engines": "where independent pieces of work run",
    "integrations": "tools that an evaluation runs in, or that take its numbers",
    "codes": "what can be wrong with an input",
    "formats": "files that are read and written",
    "protocols": "rules of matching and counting: evaluate --protocol",
    "recognition": "metrics of classifiers, their methods and recipes",
    "recipes": "trainings of detectors, for `openset train`",
    "vocabularies": "sets of known labels: --known",
    "principles": "what a benchmark must hold to: `openset audit`",
    "rules": "how benchmarks choose images and classes, and `openset score --rule` unknown objects",
    "readers": "official files of benchmarks that no format reads",
    "layouts": "what the columns of logits are",
    "options": "of verbs, scorers, detectors, methods and worlds",
    "verbs": "what openset is asked to do",
}
# What the list itself says below a summary, and how it is called there, by topic.
_SHOWN: Mapping[str, Mapping[str, str]] = {
    "diagnosis": {"paper": "paper"},
    "detectors": {"keeps": "keeps", "requires": "needs", "shows": "shows", "paper": "paper"},
    "integrations": {"requires": "needs", "installed": "installed"},
    "methods": {
        "needs": "needs",
        "evidence": "evidence",
        "leaks": "leaks",
        "paper": "paper",
    },
    "recipes": {"differs": "not as in the paper", "paper": "paper"},
    "scorers": {
        "family": "family",
        "requires": "reads",
        "fits_on": "fits on",
        "paper": "paper",
    },
}


@app.default
def list_(
    topic: str | None = None,
    /,
    *,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """List what there is to choose from: metrics, scorers, detectors, recipes, formats ...

    Args:
        topic: What to list; without it, the topics.
        output: How to speak.
    """
    from openset.plugins import lookup

    known = topics()
    if topic is None:
        names = {name: {"summary": _TOPICS[name]} for name in known}
        text = f"{_text(names, {})}\nnext: openset list TOPIC, or openset explain NAME"
        return Answer(text, lambda: {"topics": sorted(names)})
    rows = lookup(known, topic, "topic")()
    return Answer(
        _text(rows, _SHOWN.get(topic, {})), lambda: {"topic": topic, "entries": dict(rows)}
    )


def named(name: str) -> Answer | None:
    """All that the lists say under a name, in any case; None if no list has it."""
    from fnmatch import fnmatchcase

    key = spelt(name)
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for topic, rows in topics().items():
        if key == spelt(topic):
            found.setdefault("TOPIC", {})[topic] = {"summary": _TOPICS[topic]}
        with suppress(OpenSetError):  # a list that cannot be made has not the name
            for entry, row in rows().items():
                if fnmatchcase(key, spelt(entry)):  # recipes of one data set are a pattern
                    found.setdefault(topic, {})[entry] = row
    blocks = [
        f"{_text(rows, _SHOWN.get(at, {}))}\nsee: openset list {at}".replace(" TOPIC", f" {key}")
        for at, rows in found.items()
    ]
    return Answer("\n\n".join(blocks), lambda: {"listed": found}) if found else None


def spelt(name: str) -> str:
    """A name as it is compared: in any case, however its words are joined, with or without kind.

    >>> spelt("--Minimum score"), spelt("method arpl"), spelt("recipes cub-*")
    ('minimum_score', 'arpl', 'cub_*')
    """
    bare = name.strip().lower().removeprefix("method ").removeprefix("recipes ")
    return bare.replace(" ", "_").replace("-", "_").lstrip("_")


def topics() -> dict[str, Callable[[], Rows]]:
    """What can be listed, and how."""
    found: dict[str, Callable[[], Rows]] = {}
    for package in _PACKAGES:
        if _has_table(package):
            found[package] = partial(_plugins, package)
    found |= {"codes": _codes, "formats": _formats, "protocols": _protocols}
    found |= {"methods": _methods} if "methods" in found else {}
    found["recognition"] = _recognition
    found |= {"recipes": _recipes, "vocabularies": _vocabularies}
    found |= {"principles": _principles, "rules": _rules, "readers": _readers}
    return found | {"layouts": _layouts, "options": option_rows, "verbs": verb_rows}


def _has_table(package: str) -> bool:
    try:
        return hasattr(import_module(f"openset.{package}"), "table")
    except ImportError:  # an extra is not installed
        return False


def _plugins(package: str) -> Rows:
    """The plug-ins of a package: their records have a summary, and may have more."""
    try:
        table = import_module(f"openset.{package}").table()
    except ImportError as error:
        raise UsageError(f"{package} need an extra: {error}; try openset[torch]") from error
    return {
        name: {"summary": record.summary}
        | {field: getattr(record, field) for field in _FIELDS if hasattr(record, field)}
        for name, record in sorted(table.items())
    }


def _methods() -> Rows:
    """The plug-ins, and what the rows of the papers' tables are made from."""
    from openset.papers.rows import ROWS

    rows = {
        name: {
            "summary": "what rows of its tables are made from",
            "rows": {row: str(made) for row, made in table.rows.items()},
            "paper": table.paper,
        }
        for name, table in ROWS.items()
    }
    return {**_plugins("methods"), **rows}


def _recognition() -> Rows:
    """Metrics; methods, some of which have the name of a metric; recipes by data set."""
    from importlib.util import find_spec

    rows = dict(_plugins("recognition"))
    if find_spec("torch") is None:
        return rows | {"methods": {"summary": "need torch: pip install 'openset[torch]'"}}
    methods = _plugins("recognition.methods")
    return {**rows, **{f"method {name}": row for name, row in methods.items()}, **_by_data_set()}


def _by_data_set() -> Rows:
    """Which methods have a recipe; its name is that of the data set and of the method."""
    from openset.recognition.recipe import ClassifierRecipe

    methods: dict[str, list[str]] = {}
    for name, recipe in ClassifierRecipe.presets().items():
        methods.setdefault(name.removesuffix(f"-{recipe.method}"), []).append(recipe.method)
    return {
        f"recipes {data}-*": {"summary": ", ".join(sorted(names)), "methods": sorted(names)}
        for data, names in sorted(methods.items())
    }


def _formats() -> Rows:
    from openset.formats import formats
    from openset.plugins import record_of

    records = [record_of(cls) for cls in formats().values()]
    return {
        r.name: {
            "summary": r.summary,
            "holds": sorted(r.holds),
            "suffixes": list(r.suffixes),
            "loses": sorted(r.loses),
        }
        for r in records
    }


def _protocols() -> Rows:
    from openset.matching.protocol import PRESETS

    rows = {}
    for name, protocol in PRESETS.items():
        differs = protocol.diff("default")
        fields = ", ".join(differs) or "none"
        changes = {field: pair[0] for field, pair in differs.items()}
        rows[name] = {"summary": f"differs from default in: {fields}", "changes": changes}
    rows["default"]["summary"] = "what we recommend where the references disagree"
    return rows


def _principles() -> Rows:
    from openset.benchmarks.principles import principles

    return {
        name: {"summary": one.summary, "title": one.title, "fix": one.fix}
        for name, one in principles().items()
    }


def _rules() -> Rows:
    """Rules of benchmarks, and those of `openset score`, by what their classes say."""
    from openset.benchmarks.rules import rules
    from openset.scorers.cec import CecRule
    from openset.scorers.ebui import EbuiRule
    from openset.scorers.gamma_rule import GammaRule

    scoring = {"gamma": GammaRule, "cec": CecRule, "ebui": EbuiRule}
    of_images = {name: ("select", one.summary) for name, one in rules("image rule").items()}
    of_classes = {name: ("classes", one.summary) for name, one in rules("class rule").items()}
    of_scores = {
        name: ("openset score --rule", (one.__doc__ or "").partition("\n")[0])
        for name, one in scoring.items()
    }
    found: dict[str, dict[str, Any]] = {}
    for name, (where, summary) in [*of_images.items(), *of_classes.items(), *of_scores.items()]:
        before = found.get(name, {}).get("summary", "")  # some choose images, and classes too
        said = f"{where}: {summary}"
        found[name] = {"summary": f"{before}; {said}" if before else said}
    return dict(sorted(found.items()))


def _readers() -> Rows:
    from openset.benchmarks import readers
    from openset.plugins import discover

    return {
        name: {"summary": (function.__doc__ or "").partition("\n")[0]}
        for name, function in sorted(discover(readers.__name__, "reader").items())
    }


def _layouts() -> Rows:
    from openset.tables import LogitLayout

    return {str(layout): {"summary": layout.summary} for layout in LogitLayout}


def _vocabularies() -> Rows:
    from openset.tables.vocabulary import vocabularies

    rows = {}
    for name, vocabulary in vocabularies().items():
        tasks = vocabulary.tasks
        sizes = " + ".join(str(len(task)) for task in tasks)
        known = [label for task in tasks for label in task]
        rows[name] = {"summary": f"{sizes} known: {', '.join(known)}", "tasks": tasks}
    return rows


def _codes() -> Rows:
    from openset.codes import CODES

    return {
        c.code: {"summary": c.title, "meaning": c.meaning, "fix": c.fix} for c in CODES.values()
    }


def _recipes() -> Rows:
    from openset.training import Recipe

    return {
        name: {
            "summary": f"{recipe.detector}, {recipe.steps} steps of {recipe.batch} images",
            "differs": recipe.differs,
            "paper": recipe.paper,
        }
        for name, recipe in Recipe.presets().items()
    }


def _text(rows: Rows, shown: Mapping[str, str]) -> str:
    """Name and summary, and some more below; what is long goes on below itself."""
    import textwrap

    wide = max(map(len, rows)) + 2
    columns = max(width(), wide + 30)
    lines = []
    for name, row in rows.items():
        lines.append(f"{name:<{wide}}{row['summary']}")
        said = {title: _words(row.get(field, "")) for field, title in shown.items()}
        more = {title: words for title, words in said.items() if words}
        more |= row.get("rows", {})
        lines += [f"{'':<{wide}}{title}: {words}" for title, words in more.items()]
    return "\n".join(textwrap.fill(line, columns, subsequent_indent=" " * wide) for line in lines)


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else ", ".join(map(str, value))
