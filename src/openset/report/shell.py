"""Shell: from a template and what it shows to the text of a page that is complete in one file.

Everything that came from elsewhere is escaped by the template. Trusted are only the style sheet,
the scripts, which the page's policy allows by their hashes, and the payload, which is escaped where
it is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openset.evaluation.numbers import number, signed
from openset.flags import as_flags
from openset.report import scripts
from openset.report.bars import difference_bar, value_bar
from openset.report.payload import embedded
from openset.wording import grouped, percent, short

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")


def fill(
    template: str, context: dict[str, Any], payload: dict[str, Any], inline: Sequence[str]
) -> str:
    """A page.

    Args:
        template: Name of the template.
        context: What it shows.
        payload: What its scripts read.
        inline: The scripts.
    """
    from markupsafe import Markup

    trusted = {
        "style": Markup(scripts.style()),  # noqa: S704 - our own files
        "scripts": [Markup(text) for text in inline],  # noqa: S704 - our own files
        "script_hashes": Markup(scripts.allowed(list(inline))),  # noqa: S704 - base64
        "payload": Markup(embedded(payload)),  # noqa: S704 - escaped there
    }
    return _environment().get_template(template).render(**context, **trusted)


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"short": short, "grouped": grouped, "as_flags": as_flags}
    environment.filters |= {"value_bar": value_bar, "difference_bar": difference_bar}
    environment.filters |= {"number": number, "signed": signed, "percent": percent}
    return environment
