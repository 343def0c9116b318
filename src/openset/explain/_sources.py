"""Sources: where the words of entries come from, one function per kind.

What the code says (docstrings of metrics, the list of presets, the catalogue of codes) is taken
from there; `texts/` holds the rest. A metric of another package therefore has an entry as soon as
it has a docstring.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from openset.explain._docstrings import items, parse, sentence
from openset.explain._layout import plain
from openset.explain._texts import citations, common, texts
from openset.explain.entry import Entry, Kind
from openset.explain.example import TIDE, TYPES

if TYPE_CHECKING:
    from openset.codes import Code
    from openset.matching import Protocol
    from openset.metrics import Metric


def metrics() -> Iterator[Entry]:
    """One entry per metric, found by discovery."""
    from openset.metrics import table

    for metric in table().values():
        yield _metric(metric, texts("metrics").get(metric.name, {}))


def _metric(metric: Metric, text: Mapping[str, Any]) -> Entry:
    doc = parse(metric.doc)
    fields = common(text, metric.name)
    if text.get("variants_in_module"):
        module = sys.modules[metric.compute.__module__]
        listed = items(module.__doc__ or "")
        fields["variants"] = tuple((name, sentence(meaning)) for name, meaning in listed.items())
    return Entry(
        name=metric.name,
        kind="metric",
        title=metric.title,
        summary=doc.summary,
        definition=doc.paragraphs,
        better=metric.better or "",
        range=f"{span(metric)}, {_UNITS[metric.unit]}",
        valid=_problems(metric.name, "valid"),
        invalid=_problems(metric.name, "invalid"),
        options=tuple(pair for pair in doc.options if pair[0] != "matches"),
        papers=citations(metric.paper) or tuple(filter(None, [metric.paper])),
        **fields,
    )


_UNITS = {"fraction": "a fraction", "count": "a count", "score": "a number"}


def span(metric: Metric) -> str:
    """The range of a metric.

    >>> from openset.metrics import table
    >>> span(table()["a_ose"])
    '0 … ∞'
    """
    low, high = metric.range
    return f"{'-∞' if low is None else f'{low:g}'} … {'∞' if high is None else f'{high:g}'}"


def _problems(name: str, key: str) -> tuple[tuple[str, str], ...]:
    """The problems of the taxonomy that a metric answers or does not, with the reason."""
    problems = texts("taxonomy").items()
    return tuple((problem, text[key][name]) for problem, text in problems if name in text[key])


def protocols() -> Iterator[Entry]:
    """One entry per preset."""
    from openset.matching import protocol

    listed = items(protocol.__doc__ or "")
    for preset in protocol.PRESETS.values():
        yield _protocol(
            preset, listed.get(preset.name, ""), texts("protocols").get(preset.name, {})
        )


def _protocol(preset: Protocol, line: str, text: Mapping[str, Any]) -> Entry:
    like = texts("protocols").get(text.get("like", ""), {})
    quirks = text.get("quirks", like.get("quirks", ()))
    changes = _default().diff(preset).items()
    summary = text.get("summary", sentence(line))
    return Entry(
        name=preset.name,
        kind="protocol",
        title=text.get("title", preset.name),
        summary=summary,
        definition=tuple(text.get("definition", ())),
        facts=tuple((name, _value(new)) for name, (_, new) in changes),
        quirks=tuple((what, here) for what, here in quirks),
        papers=citations(summary),
        **common(text),
    )


def _default() -> Protocol:
    from openset.matching import Protocol

    return Protocol.of("default")


def _value(value: object) -> str:
    """A setting in words that are short."""
    if not isinstance(value, tuple):
        return f"{value:g}" if isinstance(value, float) else str(value)
    words = [_value(item) for item in value]
    if len(words) > 4:
        words = [words[0], "…", words[-1]]
    return "(" + ", ".join(words) + ")"


def errors() -> Iterator[Entry]:
    """One entry per type of error: Dhamija's, then TIDE's."""
    from openset.diagnosis import errors as types
    from openset.diagnosis import tide

    for name in types.ERROR_TYPES:
        yield _error(name, TYPES, types.__doc__ or "")
    for name in (*tide.ERRORS, "FalsePos", "FalseNeg"):
        yield _error(name, TIDE, tide.__doc__ or "")


_FAMILIES = {
    TYPES: ("type of detection at a recall", "Dhamija et al., Hoiem et al."),
    TIDE: ("TIDE's kind of error", "Bolya et al."),
}
_THRESHOLDS = (
    "Here fg is the IoU of a match (0.5), and bg the IoU up to which all is background (0.1)."
)


def _error(name: str, function: str, docstring: str) -> Entry:
    text = texts("errors").get(name, {})
    family, source = _FAMILIES[function]
    rule = text.get("rule") or items(docstring).get(name, "")
    note = [_THRESHOLDS] if "bg" in rule or "fg" in rule else []
    return Entry(
        name=name,
        kind="error",
        title=f"{name} ({family})",
        summary=text.get("summary", sentence(rule)),
        definition=(*text.get("definition", ()), *note),
        papers=citations(source),
        **common(text, function, name) | {"formula": plain(rule)},
    )


def codes() -> Iterator[Entry]:
    """One entry per finding code."""
    from openset.codes import CODES

    yield from map(_code, CODES.values())


def _code(code: Code) -> Entry:
    naming = [name for name, text in texts("terms").items() if code.code in text.get("see", ())]
    return Entry(
        name=code.code,
        kind="code",
        title=f"{code.code}: {code.title}",
        summary=code.meaning,
        facts=(("group", code.group), ("likely cause", code.cause), ("fix", code.fix)),
        see=tuple(naming),
    )


def taxonomy() -> Iterator[Entry]:
    """One entry per problem that detectors are evaluated for."""
    for name, text in texts("taxonomy").items():
        entry = _written(name, "taxonomy", text)
        valid, invalid = (tuple(text[key].items()) for key in ("valid", "invalid"))
        definition = (f"It asks: {text['asks']}", *entry.definition)
        yield replace(entry, definition=definition, valid=valid, invalid=invalid)


def terms() -> Iterator[Entry]:
    """One entry per general term."""
    for name, text in texts("terms").items():
        yield _written(name, "term", text)


def _written(name: str, kind: Kind, text: Mapping[str, Any]) -> Entry:
    """An entry that is all text."""
    return Entry(
        name=name,
        kind=kind,
        title=text.get("title", name),
        summary=text["summary"],
        definition=tuple(text.get("definition", ())),
        papers=tuple(c for source in text.get("papers", ()) for c in citations(source)),
        **common(text),
    )


SOURCES: Mapping[str, Callable[[], Iterator[Entry]]] = {
    "metric": metrics,
    "protocol": protocols,
    "error": errors,
    "code": codes,
    "taxonomy": taxonomy,
    "term": terms,
}
