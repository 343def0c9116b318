"""explain: what a metric, a protocol, an error type, a finding or anything that is listed means."""

from __future__ import annotations

from dataclasses import replace

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.cli._terminal import width
from openset.findings import UsageError
from openset.flags import as_flags

app = verb("explain", panel="Understand")


@app.default
def explain(
    term: str,
    /,
    *more: str,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Explain a metric, a protocol, an error type, a finding code, a term, or a name of a list.

    Args:
        term: Such as wi, a_ose, owod, OS203 or "wilderness ratio"; or what `openset list` names.
        more: Further words of the term.
        output: How to speak.
    """
    from openset.explain import lookup

    asked = " ".join([term, *more])
    try:
        entry = lookup(asked)
    except UsageError:
        from openset.cli.list import named

        listed = named(asked)
        if listed is None:
            raise
        return listed
    if entry.kind == "code":
        entry = replace(entry, facts=tuple((name, as_flags(text)) for name, text in entry.facts))
    return Answer(entry.to_text(min(width(), 100)), entry.to_json)
