"""Integrations: our results in the hands of other people's tools, none of which we depend on.

One file per tool, found by discovery: ``from openset.integrations.wandb import to_wandb``. Each
takes the writer or run that you made; none of the packages is imported, here or there. `table()`
lists them with what they need, those of other packages too (entry points in the group
``openset.integrations``).
"""

from __future__ import annotations

from collections.abc import Mapping

from openset.integrations._numbers import numbers
from openset.integrations._page import log_page
from openset.integrations._spec import Integration, integration
from openset.plugins import records

__all__ = ["Integration", "integration", "log_page", "numbers", "table"]


def table() -> Mapping[str, Integration]:
    """Every integration, by name."""
    return records(__name__, "integration")
