"""Carry: a method becomes a part of a detector's network, by its name; what it saw is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from openset.findings import Finding, Level, UsageError, refuse
from openset.plugins import discover, lookup, record_of
from openset.tables.vocabulary import Vocabulary, is_unknown_spelling

if TYPE_CHECKING:
    from openset.detectors._torch import TorchModel
    from openset.scorers.ledger import LedgerEntry

_NOTHING = "nothing"  # what most methods leak


def carry(model: TorchModel, name: str, options: Mapping[str, Any]) -> None:
    """Make a method a part of a model's network, so that it is trained and saved with it.

    Raises:
        UsageError: There is no such method or option, or the detector cannot carry it.
        InputError: A class is called "unknown".
    """
    known = _found(name)
    _refuse_unfit(known, model.about["detector"])
    said = [label for label in model.labels if is_unknown_spelling(label)]
    if known.make.unknown and said:
        message = f"a class to teach is called {said[0]!r}, as the method calls what is of no class"
        raise refuse("OS618", message, count=len(said), example=said[0])
    head = model.head()
    assert head is not None
    model.take(known.build(len(model.labels), head.weight.shape[1], **options))
    model.about = {**model.about, "method": name, "method_options": {**known.options, **options}}


def refuse_other_method(
    held: Mapping[str, Any], state: Mapping[str, Any], model: TorchModel, where: str
) -> None:
    """Refuse weights that were trained with another method, or with none where that does not fit.

    Those of another may have the same names and shapes, and still be no start: a column "unknown"
    that was taught otherwise, an inner layer that was drawn elsewhere.

    Args:
        held: What the file says of its model; empty where it says nothing.
        state: Its weights.
        model: What is to have them.
        where: The file.
    """
    theirs, ours = held.get("method"), model.about.get("method")
    if theirs == ours or not held:
        return
    if theirs is None and state.keys() == model.network.state_dict().keys():
        return
    said, mine = (f"method {name!r}" if name else "no method" for name in (theirs, ours))
    raise refuse(
        "OS605",
        f"{where} was trained with {said}, and this is a training with {mine}",
        example=f"{said} there, {mine} here",
        cause="the model of another method",
        fix=f"--method {theirs}, or other weights"
        if theirs
        else "--weights in place of --from: it starts a method from a plain detector",
    )


def of_other_classes(held: Mapping[str, Any], labels: Sequence[str], where: str) -> list[Finding]:
    """What there is to say of weights that were trained on other classes than these.

    Raises:
        InputError: The classes are the same in another order, or a method remembers what it saw of
            them: each would begin as another.
    """
    theirs = [str(label) for label in held.get("labels", labels)]
    key = Vocabulary(tasks=()).key
    one, two = [key(label) for label in theirs], [key(label) for label in labels]
    if one == two:
        return []
    count, first = _differing(theirs, labels)
    fix = f"--known {','.join(theirs)}"
    if two[: len(one)] == one:
        fix = "--from in place of --weights: the head grows by the classes that are new"
    if sorted(one) == sorted(two):
        said, cause = f"{where} was taught these classes in another order", "labels were sorted"
        raise refuse("OS664", said, count=count, example=first, cause=cause, fix=fix)
    said = f"{where} was taught other classes"
    if "method" in held:
        cause = f"what {held['method']} remembers of its classes would be taken for that of others"
        fix += ", or weights of a detector without a method"
        raise refuse("OS664", said, count=count, example=first, cause=cause, fix=fix)
    said += ": each begins as the one in its place"
    return [Finding("OS664", Level.WARNING, said, count, first, fix=fix)]


def _differing(theirs: Sequence[str], ours: Sequence[str]) -> tuple[int, str]:
    """How many classes are others, and the first."""
    pairs = [*zip_longest(theirs, ours)]
    at, pair = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
    count = sum(there != here for there, here in pairs)
    there, here = ("missing" if label is None else repr(label) for label in pair)
    return count, f"class {at} is {there} there, {here} here"


def trained_on(about: Mapping[str, Any]) -> LedgerEntry | None:
    """What a model's method was trained on, for the ledger of its detections.

    It stays with them, whatever scores them later: the method shaped the logits and embeddings too.
    """
    from openset.scorers.ledger import LedgerEntry

    if "method" not in about:
        return None
    name, options, taught = about["method"], about["method_options"], about.get("taught", {})
    own = _found(name).leaks
    leaks = (*(() if own == _NOTHING else (own,)), *taught.get("leaks", ()))
    return LedgerEntry(
        "taught",
        name,
        "the detector's training data",
        taught.get("images", 0),
        taught.get("objects", 0),
        bool(leaks),
        options,
        leaks,
    )


def _found(name: str) -> Any:
    # By name, not by import: methods stand above detectors and training, since they use what
    # recognition has, and recognition uses training. A third party's is found the same way.
    return record_of(lookup(discover("openset.methods", "method"), name, "method"))


def _refuse_unfit(known: Any, detector: str) -> None:
    from openset.detectors import table

    fit = [name for name, one in table().items() if set(known.needs) & set(one.shows)]
    if detector not in fit:
        needs, able = " or ".join(known.needs), ", ".join(fit) or "no detector"
        raise UsageError(
            f"method {known.name!r} needs the {needs} that a detector samples in training; "
            f"detector {detector!r} has none to show. Those that have: {able}"
        )
