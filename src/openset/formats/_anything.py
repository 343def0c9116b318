"""The type of what only the reader can type: a decoded value, an option of some format."""

from __future__ import annotations

from typing import Any, TypeAlias

Anything: TypeAlias = Any
