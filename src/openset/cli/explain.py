"""explain: what a metric, a protocol, an error type or a finding means."""

from __future__ import annotations

from dataclasses import replace

from openset.cli._app import verb
from openset.cli._console import Answer, Output, width
from openset.flags import as_flags

app = verb("explain", panel="Understand")


@app.default
def explain(
    term: str,
    /,
    *more: str,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Explain a metric, a protocol, an error type, a finding code or a term.

    Args:
        term: Such as wi, a_ose, owod, OS203 or "wilderness ratio".
        more: Further words of the term.
        output: How to speak.
    """
    from openset.explain import lookup

    entry = lookup(" ".join([term, *more]))
    if entry.kind == "code":
        entry = replace(entry, facts=tuple((name, as_flags(text)) for name, text in entry.facts))
    return Answer(entry.to_text(min(width(), 100)), entry.to_json)
