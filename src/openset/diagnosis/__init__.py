"""Diagnosis: what becomes of objects under a detector, and why. One question a file.

`table()` lists all questions, built in or from third parties (entry points in the group
``openset.diagnosis``). Adding a question is adding a file. Nothing is drawn here: `openset.report`
and ``openset diagnose`` show what is found.
"""

from __future__ import annotations

from collections.abc import Mapping

from openset.diagnosis._spec import Diagnosis, Question, question
from openset.plugins import records

__all__ = ["Diagnosis", "Question", "question", "table"]


def table() -> Mapping[str, Question]:
    """Every question, by name, in the order of the files they live in."""
    return records(__name__, "question")
