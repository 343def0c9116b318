"""Papers: pages about published papers whose every number can be derived again.

A page is made from a definition (``page.toml``: what the paper shows and claims) and from run files
(one JSON per table or figure: what was measured here, from what, by which command). Nothing that
was measured is typed, verdicts on claims follow from intervals, and `verify` derives it all again.

Not an evaluation: run files are written by whoever measures (`Run.save`).
"""

from openset.papers.page import Page, read_page
from openset.papers.run_file import Column, Estimate, Run, read_run
from openset.papers.verifying import Checked, source_of, verify, write_pages

__all__ = [
    "Checked",
    "Column",
    "Estimate",
    "Page",
    "Run",
    "read_page",
    "read_run",
    "source_of",
    "verify",
    "write_pages",
]
