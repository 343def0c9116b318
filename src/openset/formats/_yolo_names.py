"""Names of the classes of a YOLO folder: ``data.yaml``, or the ``classes.txt`` of labelling tools.

Lines have numbers alone, so that a list in another order makes every class another one. Where two
lists are there, or a list and ``nc``, they must say the same of the numbers that occur: which of
them is right, nothing tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.files import visible
from openset.findings import InputError, refuse
from openset.formats.class_names import class_names, load_yaml, numbered

CLASSES = "classes.txt"
_OWN = "data"
_FIX = "take away the list that is not of these labels, or say which one is: names="


def yaml_in(folder: Path) -> Path | None:
    """The ``data.yaml`` of a folder, or another that has names: trainings write ``args.yaml``."""
    found = sorted([*visible(folder, "*.yaml"), *visible(folder, "*.yml")])
    own = [file for file in found if file.stem == _OWN]
    if len(own) == 1:
        return own[0]
    held = {file: load_yaml(file) for file in own or found}
    lists = [file for file, config in held.items() if own or "names" in config]
    for file in lists[1:]:
        _refuse_other_yaml(lists[0], file, held)
    return lists[0] if lists else None


def _refuse_other_yaml(one: Path, other: Path, held: Mapping[Path, Mapping[str, Any]]) -> None:
    """Refuse two YAML files that name classes otherwise: either may be that of the labels."""
    names = [numbered(held[file].get("names", ()), str(file)) for file in (one, other)]
    apart = [key for key in {**names[0], **names[1]} if names[0].get(key) != names[1].get(key)]
    if apart:
        ours, theirs = (each.get(apart[0], "nothing") for each in names)
        raise refuse(
            "OS121",
            f"{one.parent} has {one.name} and {other.name}, which name {len(apart)} classes "
            "otherwise",
            count=len(apart),
            example=f"class {apart[0]}: {ours} in {one.name}, {theirs} in {other.name}",
            fix=f"give the file that is of these labels in place of the folder, such as {one}",
        )


def names_of(
    root: Path, labels: Path, config: Mapping[str, Any] | None, given: Any
) -> tuple[str, ...] | None:
    """Names of classes, a number that has none is called by itself; None if nothing names them."""
    if given is not None:
        table = class_names(given)
    elif config is not None and config.get("names") is not None:
        table = numbered(config["names"], str(root))
        _refuse_other_count(table, config.get("nc"), root)
    elif (beside := _list_beside(root, labels)) is not None:
        table = class_names(beside)
    else:
        return None
    return tuple(table.get(key, str(key)) for key in range(max(table, default=-1) + 1))


def nameless(root: Path) -> InputError:
    """The refusal of labels whose classes nothing names."""
    return refuse(
        "OS107",
        f"nothing names the classes of {root}: no names in a data.yaml, and no {CLASSES}",
        cause="labels were copied without the file that lists their classes",
        fix="pass names= (a list, or the data.yaml the detector was trained with)",
    )


def _refuse_other_count(table: Mapping[int, str], nc: Any, root: Path) -> None:
    """Refuse names that are not as many as ``nc`` says, as trainings of YOLO do."""
    if type(nc) is not int or nc in (len(table), max(table, default=-1) + 1):
        return
    raise refuse(
        "OS121",
        f"the YAML file of {root} has nc: {nc}, and {len(table)} names",
        example=f"the last name is {table[max(table)]!r}" if table else "",
        cause="names, or nc, are of another data set",
        fix="write the names of these labels in the order of their numbers, and nc as many; "
        "or leave nc out",
    )


def refuse_other_list(
    root: Path, labels: Path, names: Sequence[str], used: NDArray[np.int64]
) -> None:
    """Refuse a ``classes.txt`` that calls classes of the labels otherwise than ``data.yaml``."""
    beside = _list_beside(root, labels)
    if beside is None:
        return
    other, there = class_names(beside), np.unique(used).tolist()
    apart = [key for key in there if key in other and _key(other[key]) != _key(names[key])]
    if apart:
        first = apart[0]
        raise refuse(
            "OS121",
            f"{beside} names {len(apart)} of {len(there)} classes otherwise than the YAML file of "
            f"{root}",
            count=len(apart),
            example=f"class {first}: {other[first]} there, {names[first]} in the YAML file",
            fix=_FIX,
        )


def _key(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def _list_beside(root: Path, labels: Path) -> Path | None:
    """The ``classes.txt`` of labelling tools, beside the labels or above them."""
    places = (labels / CLASSES, root / CLASSES)
    return next((file for file in places if file.is_file()), None)
