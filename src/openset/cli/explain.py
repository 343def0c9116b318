"""explain: what a metric, a protocol, an error type or a finding means."""

from __future__ import annotations

from openset.cli._app import verb
from openset.cli._console import Answer, Output, width

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
    return Answer(entry.to_text(min(width(), 100)), entry.to_json)
