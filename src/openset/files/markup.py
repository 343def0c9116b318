"""TOML and YAML of people: whatever is wrong with it is a ValueError, in bounded memory."""

from __future__ import annotations

from typing import Any

from openset.files.loading import HEAD

_ALIASED = 4  # times as much may stand in YAML with its aliases written out


def toml(text: str) -> dict[str, Any]:
    """TOML; a ValueError says whatever is wrong with it, also what nests deeper than Python."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def parse_yaml(text: str, *, as_text: bool = False) -> Any:
    """YAML; a ValueError says whatever is wrong, also aliases that stand for far more.

    Args:
        text: What to parse.
        as_text: Whether a number stays the text that it was written as.
    """
    import yaml

    try:
        loader = (yaml.BaseLoader if as_text else yaml.SafeLoader)(text)
        node = loader.get_single_node()
        if _written_out(node, {}) > _ALIASED * max(len(text), HEAD):
            raise ValueError("its aliases stand for far more than it holds")
        return None if node is None else loader.construct_document(node)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _written_out(node: Any, known: dict[int, int]) -> int:
    """How many characters and values there are with each alias in full; each node is seen once."""
    if node is None or isinstance(node.value, str):
        return 1 if node is None else 1 + len(node.value)
    if id(node) not in known:
        known[id(node)] = 0  # while it is counted: it may hold itself
        pairs = (one if isinstance(one, tuple) else (one,) for one in node.value)
        known[id(node)] = 1 + sum(_written_out(one, known) for pair in pairs for one in pair)
    return known[id(node)]
