"""Findings: what is wrong with an input, said so that a person can act on it.

A finding carries a code, how many records it concerns, the first of them, the likely cause and the
fix. Findings are values: nothing here prints, and nothing is lost by turning one into a number.
Errors stop an evaluation (`InputError`) unless it is forced; warnings and notes travel with it.

Not a logging system, and not the place where checks live (see `openset.tables.check`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How serious a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or worth knowing, about an input.

    Attributes:
        code: Stable identifier such as ``OS203`` (see `openset.codes`).
        level: Error, warning or note.
        message: What was found, with counts.
        count: Number of records concerned.
        example: The first record concerned.
        cause: The likely cause.
        fix: What to do about it.
    """

    code: str
    level: Level
    message: str
    count: int = 1
    example: str = ""
    cause: str = ""
    fix: str = ""

    def __post_init__(self) -> None:
        """Take the catalogue's cause and fix where no better one is known."""
        from openset.codes import CODES

        entry = CODES.get(self.code)
        if entry is not None:
            object.__setattr__(self, "cause", self.cause or entry.cause)
            object.__setattr__(self, "fix", self.fix or entry.fix)

    @classmethod
    def of(cls, held: Mapping[str, Any]) -> Finding:
        """The finding that a file holds."""
        return cls(**{**held, "level": Level(held["level"])})

    def without_force(self) -> Finding:
        """The same for who cannot force anything: its fix is all but that way out.

        >>> Finding("OS232", Level.WARNING, "two in one", fix="part them; force=True goes on"
        ...     ).without_force().fix
        'part them'
        """
        return replace(self, fix=self.fix.partition("; force=True")[0])

    def __str__(self) -> str:
        head = f"{self.level} {self.code}  {self.message}"
        rows = [("first: ", self.example), ("likely cause: ", self.cause), ("fix: ", self.fix)]
        pad = " " * (len(str(self.level)) + len(self.code) + 3)
        return "\n".join([head, *(f"{pad}{name}{text}" for name, text in rows if text)])


class OpenSetError(Exception):
    """Base of every error that users of the package see."""


class InputError(OpenSetError, ValueError):
    """An input cannot be used; `findings` says why.

    >>> error = InputError([Finding("OS101", Level.ERROR, "no such file: gt.json")])
    >>> print(error)
    error OS101  no such file: gt.json
                 likely cause: ...
    """

    def __init__(self, findings: list[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(str(finding) for finding in findings))

    def __reduce__(self) -> tuple[type[InputError], tuple[list[Finding]]]:
        """From its findings, not from its text: engines bring it here from other processes."""
        return type(self), (list(self.findings),)


class UsageError(OpenSetError, ValueError):
    """An argument is wrong: a misspelt name, an impossible option."""


def refuse(
    code: str, message: str, *, count: int = 1, example: str = "", cause: str = "", fix: str = ""
) -> InputError:
    """Build the error for a single fatal finding about `count` records."""
    return InputError([Finding(code, Level.ERROR, message, count, example, cause, fix)])


def raise_all(errors: Sequence[InputError]) -> None:
    """One error for all of them, if there are any; each finding once."""
    if errors:
        raise InputError(list(dict.fromkeys(f for error in errors for f in error.findings)))
