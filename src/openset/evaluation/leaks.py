"""Leaks: what a detector has seen of what it is tested on, said before any number.

A detector that names classes which are unknown here was taught them: its numbers are not those of
an open set, however they were computed. A scorer or threshold that was fitted on test data makes
them too good. Whoever shows a result (terminal, JSON, page, `repr`) says so first, in these words.

Not the detection of leaks: labels are checked by `openset.tables.check`, fits by
`openset.scorers.ledger`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from openset.findings import Finding
from openset.wording import SLIP, isolated, short

if TYPE_CHECKING:
    from openset.evaluation.result import Evaluation

LEAK = "LEAK: "  # what a ledger says before it names one
NO_LEAK = "no leak known"
TAUGHT_CLASSES = "the detector was taught classes that are unknown here"
CODE = "OS305"
_CODES = (CODE, "OS333")  # labels that it names, or classes that its logits are of


def taught(findings: Sequence[Finding]) -> Finding | None:
    """The finding that a detector was taught unknown classes, if there is one."""
    return next((finding for finding in findings if finding.code in _CODES), None)


def said_first(results: Mapping[str, Evaluation]) -> list[str]:
    """A sentence for every detector that has seen what it is tested on."""
    found = []
    for name, one in results.items():
        leak, ledger = taught(one.findings), one.provenance.ledger
        if leak is not None:
            slip = f"First look at {leak.cause}. " if leak.cause.startswith(SLIP) else ""
            found.append(
                f"{slip}This is not an open-set result: {isolated(name)} was taught classes that "
                f"are unknown here; {short(leak.message, 300)}."
            )
        elif LEAK in ledger:
            found.append(f"The numbers of {isolated(name)} are too good: {short(ledger, 300)}.")
    return found


def together(ledgers: Sequence[str]) -> str:
    """The ledgers of all batches as one; that one batch leaks nothing acquits no other."""
    clauses = list(dict.fromkeys(c for line in ledgers if line for c in line.split("; ")))
    if any(clause.startswith(LEAK) for clause in clauses):
        clauses = [clause for clause in clauses if clause != NO_LEAK]
    return "; ".join(clauses)
