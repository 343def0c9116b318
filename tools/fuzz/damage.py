"""Damage: changes of trees and of bytes, such as hands, programs and networks make."""

from __future__ import annotations

import gzip
import json
import random
from contextlib import suppress
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 1.5, -0.0, 3.0, 1e308, -1e308, 5e-324, float("nan"),
    float("inf"), 1 << 31, 10**12, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, -(1 << 63) - 1, 1 << 70,
    10**400, "", " ", "0", "1.5", "NaN", "x" * 300, "a/b", "../../x", "/etc/passwd", "..", "\0",
    'quo"te', "new\nline", "comma,semi;tab\t", "<b>&amp;</b>", "\ud800", "\U0001f600", "é", "-",
    "true", "unknown", [], {}, [[]], [None], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5], ["a"],
    [[1, 2], [3]], {"a": 1}, {"": None}, {"id": {"id": []}},
)  # fmt: skip
TOKENS = (
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u12", b"0", b"-", b"1e999", b"null",
    b"NaN", b" ", b"\n", b"\r", b"\t", b"\0", b"\xff", b"\xc3", b"\xf0\x9f", b"<", b"/>", b"&x;",
    b"[[[[[[[[", b"99999999999999999999", b"#", b"'", b"*a", b"&a ", b"- ", b"=",
)  # fmt: skip


def copied(tree: Any) -> Any:
    """Lists and objects anew, what they hold as it is: trees are copied for every case."""
    if isinstance(tree, dict):
        return {key: copied(value) for key, value in tree.items()}
    return [copied(value) for value in tree] if isinstance(tree, list) else tree


def changed(tree: Any, rng: random.Random) -> Any:
    """The tree with one to three changes."""
    tree = copied(tree)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        holder = [tree]
        _change(holder, 0, rng)
        tree = holder[0]
    return tree


def _change(parent: Any, key: Any, rng: random.Random) -> None:
    """Walk down to some value and change it, or its name, or what holds it."""
    value = parent[key]
    while isinstance(value, (dict, list)) and value and rng.random() < 0.85:
        parent, key = (
            value,
            rng.choice(list(value) if isinstance(value, dict) else range(len(value))),
        )
        value = parent[key]
    rng.choice(_CHANGES)(parent, key, rng)


def _odd(parent: Any, key: Any, rng: random.Random) -> None:
    parent[key] = copied(rng.choice(ODD))


def _near(parent: Any, key: Any, rng: random.Random) -> None:
    """Another type of the same value, or a number beside it."""
    value = parent[key]
    if isinstance(value, (bool, int, float)):
        parent[key] = rng.choice(
            (str(value), -value, value + 1, value + 0.5, [value], float(value))
        )
    elif isinstance(value, str):
        parent[key] = rng.choice(
            (value + rng.choice(" x0\"'\n,"), value[1:], [value], value.upper())
        )
    else:
        parent[key] = rng.choice(([value], json.dumps(value, default=str), {"0": value}, None))


def _leave_out(parent: Any, key: Any, rng: random.Random) -> None:
    if isinstance(parent, dict) or len(parent) > 1:
        del parent[key]


def _rename(parent: Any, key: Any, rng: random.Random) -> None:
    if isinstance(parent, dict):
        name = rng.choice((str(key) + "x", "", 'a"b', "x\ny", str(key).upper(), "é", "id", "label"))
        parent[name] = parent.pop(key) if rng.random() < 0.5 else copied(parent[key])


def _again(parent: Any, key: Any, rng: random.Random) -> None:
    if isinstance(parent, list):
        parent.insert(rng.randrange(len(parent) + 1), copied(parent[key]))


def _swap(parent: Any, key: Any, rng: random.Random) -> None:
    other = rng.choice(list(parent) if isinstance(parent, dict) else range(len(parent)))
    parent[key], parent[other] = parent[other], parent[key]


def _nest(parent: Any, key: Any, rng: random.Random) -> None:
    for _ in range(rng.choice((1, 2, 50, 3000) if rng.random() < 0.05 else (1, 2, 3))):
        parent[key] = [parent[key]]


_CHANGES = (_odd, _odd, _odd, _near, _near, _leave_out, _rename, _again, _swap, _nest)


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Bytes, in most cases as they are."""
    if rng.random() < 0.75:
        return data
    at = rng.randrange(len(data) + 1)
    how = rng.randrange(9)
    if how == 0:
        return data[:at]
    if how == 1:
        return data[:at] + rng.choice(TOKENS) + data[at:]
    if how == 2:
        return data[:at] + rng.choice(TOKENS) + data[at + rng.randrange(8) :]
    if how == 3:
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    if how == 4:
        packed = gzip.compress(data, 1, mtime=0)
        return packed if rng.random() < 0.5 else packed[: rng.randrange(len(packed))]
    if how == 5:
        return b"\xef\xbb\xbf" + data
    if how == 6:
        return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\n")))
    if how == 7:
        with suppress(UnicodeError):
            return data.decode().encode(rng.choice(("utf-16", "latin-1", "utf-32-le")))
    return data + data[at:]


class Calm(random.Random):
    """Nothing that is seldom happens."""

    def random(self) -> float:
        """Always the middle."""
        return 0.5
