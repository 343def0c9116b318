"""Flags: options as the command line writes them.

Findings name options as Python does (``boxes='xyxy'``), since they are raised by functions; what
people read who came by the command line, a terminal or a report, says ``--boxes xyxy``.
"""

from __future__ import annotations

import re

# Options that findings name in Python's way, and what the command line calls them.
_FLAGS = {name: f"--{name}" for name in ("boxes", "known", "leaked", "protocol", "force", "truth")}
_FLAGS |= {name: f"--{name}" for name in ("batch", "device", "unreadable", "weights")}
_FLAGS |= {"unknownness": "--unknownness", "minimum_score": "--minimum-score"}
_FLAGS |= {"unknown_label": "--unknown-label", "groups": "--group-by", "image_ids": "--image-ids"}
_FLAGS |= {"category_ids": "--category-ids", "names": "--names", "drop_invalid": "--drop-invalid"}
_FLAGS |= {"head": "openset score --head", "keep": "openset score --known-share"}
_FLAGS |= {"format": "openset convert --from", "sizes": "openset convert --sizes"}
_WORD, _NUMBER = r"'[^'\n]+'", r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
_VALUE = rf"{_WORD}(?:(?:, | or ){_WORD})*|True|\.\.\.|{_NUMBER}"
_PLAIN = re.compile(r"'([\w.-]+)'")  # a shell leaves it as it is
_OPTION = re.compile(rf"\b({'|'.join(_FLAGS)})=({_VALUE})?(?=[\s,;:.)]|$)")


def as_flags(text: str) -> str:
    """Options as the command line writes them.

    >>> as_flags("boxes='xyxy' converts them; force=True goes on, known= names labels")
    '--boxes xyxy converts them; --force goes on, --known names labels'
    >>> as_flags("state the layout: boxes='xyxy', 'cxcywh' or 'xywh-norm'; known='voc20'")
    'state the layout: --boxes xyxy, cxcywh or xywh-norm; --known voc20'
    >>> as_flags("minimum_score=0.25 leaves them out")
    '--minimum-score 0.25 leaves them out'
    >>> as_flags("groups='*/' draws frames together")
    "--group-by '*/' draws frames together"
    >>> as_flags("unknown_label='novel object' says so")
    "--unknown-label 'novel object' says so"
    """
    return _OPTION.sub(_flag, text)


def _flag(found: re.Match[str]) -> str:
    value = found[2] or ""
    said = "" if value in ("True", "...") else _PLAIN.sub(r"\1", value)
    return f"{_FLAGS[found[1]]} {said}".rstrip()
