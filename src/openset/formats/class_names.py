"""Class names: what the numbers of classes mean, where an input has numbers alone.

A list counts from 0, as networks do; a mapping says it itself. In a file: ``names`` of a
``data.yaml``, a JSON list or mapping, the ``categories`` of a COCO file by their ids, or text with
a name a line.

Not which of the classes are known (see `openset.tables.vocabulary`), and not the ids of a ground
truth in other words (`openset.tables.category_ids`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openset.files import load, load_text, parse_yaml
from openset.findings import InputError, refuse
from openset.json_text import decode
from openset.options import is_of
from openset.refusals import missing_key, shown, undecodable, wrong_type
from openset.tables.vocabulary import is_unknown_spelling

ClassNames = Sequence[str] | Mapping[int, str] | str | Path
_WHOLE = re.compile(r"-?\d+", re.ASCII)
MOST = 1 << 20  # classes: more would be room for nothing


def class_names(given: ClassNames) -> dict[int, str]:
    """Names by number.

    >>> class_names(["cat", "dog"])
    {0: 'cat', 1: 'dog'}
    >>> class_names({7: "cat"})
    {7: 'cat'}
    """
    if isinstance(given, (str, Path)):
        return numbered(_held(Path(given)), str(given))
    return numbered(given, "names=")


def numbered(names: Any, where: str) -> dict[int, str]:
    """Names by number, from a list or a mapping; refused if it is neither."""
    if isinstance(names, Mapping):
        whole = [key for key in names if isinstance(key, int) or _WHOLE.fullmatch(str(key))]
        keys = {key: int(key) for key in whole}
        odd = [key for key in names if key not in keys or not _has_room(keys[key], names[key])]
        if odd and odd[0] in keys:
            said = f"{where} numbers a class {odd[0]}, which no list of classes has room for"
            raise refuse("OS117", said, example=shown(names[odd[0]]))
        if odd:
            raise wrong_type(where, "names", "numbers and names", [], odd[0], len(odd))
        return {keys[key]: str(name) for key, name in names.items()}
    if isinstance(names, str) or not is_of(names, Sequence[str | int | float | bool]):
        raise wrong_type(where, "names", "a list of names", [], names, 1)
    return {at: str(name) for at, name in enumerate(names)}


def _has_room(number: int, name: Any) -> bool:
    """Whether a list has room for a class; "unknown" is often numbered below 0."""
    return number < MOST and (number >= 0 or is_unknown_spelling(str(name)))


def _held(path: Path) -> Any:
    """What a file says of names, by its ending."""
    if path.suffix in (".yaml", ".yml"):
        return _of_key(load_yaml(path), "names", path)
    if path.suffix != ".json":
        return [line.strip() for line in load_text(path).splitlines() if line.strip()]
    document = decode(load(path), str(path))
    if isinstance(document, dict) and "categories" in document:
        return {one["id"]: one["name"] for one in document["categories"]}
    return document


def load_yaml(file: Path) -> Mapping[str, Any]:
    """A mapping from a YAML file."""
    try:
        value = parse_yaml(load_text(file))
    except InputError:
        raise
    except ValueError as error:
        raise undecodable(str(file), error) from error
    if not isinstance(value, dict):
        raise wrong_type(str(file), "document", "a mapping", [], value, 1)
    return value


def _of_key(document: Mapping[str, Any], key: str, path: Path) -> Any:
    if key not in document:
        raise missing_key(str(path), key, [0], 1)
    return document[key]
