"""Data specificity: no image is in two stages, none is twice in a split, by name and by content."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import PurePosixPath

from openset.benchmarks.bundle import Bundle, Part, repeated
from openset.benchmarks.drawn_alike import drawn_alike
from openset.benchmarks.principles import (
    Check,
    Verdict,
    failed,
    note,
    of_split,
    passed,
    principle,
    unknown,
)

_STAGES = ("train", "val", "test")
_COPIES = 3  # pairs of images with the same boxes; fewer may be chance
_EXPORTED = re.compile(r"([_.](jpe?g|png|bmp|webp|tiff?))?\.rf\.[0-9a-z]{8,}$")
_WORDS = "aug(mented)?|[hv]?flip(ped)?|mirror(ed)?|rot(ated?)?|noise|blur(red)?|bright(ness)?"
_AUGMENTED = re.compile(rf"([_.-](orig(inal)?|{_WORDS})[_-]?\d*)+$")


@principle(
    "data_specificity",
    "Data specificity",
    5,
    fix="Leave out of training and validation what is tested (`not_in`), and name every image "
    "once.",
)
def data_specificity(bundle: Bundle) -> Iterable[Check]:
    """Training, validation and test share no image, and no image is twice in one of them."""
    for part in bundle.parts:
        yield from of_split(part.name, [_once(part)])
    for here, there in combinations(_STAGES, 2):
        yield from _apart(bundle, here, there)
        yield from _called_alike(bundle, here, there)
        yield from _versions(bundle, here, there)
        if bundle.images is None:  # else the pictures themselves are compared
            yield from _drawn_alike(bundle, here, there)
    for part in bundle.parts:
        if part.kind == "finetune":
            yield from of_split(part.name, [_met_before(bundle, part)])
    for one in bundle.edited:
        check = failed("split files are as they were built", one.message, one.count, [one.example])
        yield replace(check, fix=one.fix)
    if bundle.images is None:
        yield note("images that look alike", "not looked for: the images are not at hand")
    else:
        yield from _by_content(bundle)


def _once(part: Part) -> Check:
    what = "no image is twice in a split"
    twice = repeated(part.lines)
    if not twice:
        return passed(what, f"{len(part.lines)} images")
    extra = len(part.lines) - len(part.names)
    said = f"{extra} of {len(part.lines)} lines repeat an image ({len(part.names)} unique)"
    return failed(what, said, extra, twice)


def _apart(bundle: Bundle, here: str, there: str) -> Iterator[Check]:
    """One check per pair of stages; what it says names the worst pair of splits."""
    what = f"{here} and {there} share no image"
    parts = bundle.of_stage(here), bundle.of_stage(there)
    absent = [stage for stage in (here, there) if stage in bundle.unlisted]
    lacking = [stage for stage, group in zip((here, there), parts, strict=True) if not group]
    if lacking and not absent:
        yield note(what, f"there is no {lacking[0]} split")
        return
    names = [frozenset().union(*(part.names for part in group)) for group in parts]
    both = sorted(names[0] & names[1])
    if not both and absent:
        yield unknown(what, f"not all {absent[0]} images are listed")
        return
    if not both:
        yield passed(what, f"{len(names[0])} and {len(names[1])} images")
        return
    pairs = [(len(a.names & b.names), a.name, b.name) for a in parts[0] for b in parts[1]]
    most, first, second = max(pairs)
    said = f"{len(both)} of {len(names[1])} {there} images are {here} images"
    yield failed(what, f"{said}; most in {first} and {second}: {most}", len(both), both)


def _called_alike(bundle: Bundle, here: str, there: str) -> Iterator[Check]:
    """Names that differ in suffix or case are one image; in folders, they may be."""
    what = f"{here} and {there} share no image under another name"
    names = [{n for part in bundle.of_stage(stage) for n in part.names} for stage in (here, there)]
    for plain, is_one in ((_without_suffix, True), (_stem, False)):
        held = {plain(name): name for name in sorted(names[0])}
        pairs = [(held[plain(n)], n) for n in sorted(names[1] - names[0]) if plain(n) in held]
        if not pairs:
            continue
        examples = [f"{a} and {b}" for a, b in pairs]
        if is_one:
            said = f"{len(pairs)} names differ in suffix or case only"
            yield failed(what, said, len(pairs), examples)
        else:
            said = f"{len(pairs)} names differ in their folders only, such as {examples[0]}"
            yield unknown(what, f"{said}; --images compares the pictures")
        return


def _versions(bundle: Bundle, here: str, there: str) -> Iterator[Check]:
    """Names that differ in what augmentation adds to them: versions of one photograph."""
    held, other = (
        {_original(n): n for part in bundle.of_stage(stage) for n in sorted(part.names)}
        for stage in (here, there)
    )
    shared = sorted(held.keys() & other.keys())
    both = [one for one in shared if _without_suffix(held[one]) != _without_suffix(other[one])]
    if both:
        examples = [f"{held[one]} and {other[one]}" for one in both]
        said = f"{len(both)} photographs are in both by the names of their versions, such as "
        said += f"{examples[0]}: versions were made before the split"
        what = f"{here} and {there} share no version of a photograph"
        yield Check(what, Verdict.UNKNOWN, said, len(both), tuple(examples[:5]))


def _drawn_alike(bundle: Bundle, here: str, there: str) -> Iterator[Check]:
    """Images of other names with the same boxes: copies, or frames of a camera that stands still.

    One or two may be chance.
    """
    pairs = drawn_alike(bundle.of_stage(here), bundle.of_stage(there))
    if len(pairs) >= _COPIES:
        examples = [f"{a} and {b}" for a, b in pairs]
        said = f"{len(pairs)} images have boxes of the other stage under another name, such as "
        said += f"{examples[0]}: the same photographs, or frames of one camera; --images compares "
        said += "the pictures"
        what = f"{here} and {there} share no image by its boxes"
        yield Check(what, Verdict.UNKNOWN, said, len(pairs), tuple(examples[:5]))


def _original(name: str) -> str:
    """The name without what marks a version: Roboflow's hash, or words of augmentation.

    >>> _original("a/000003_jpg.rf.2f1b9c7d2f1b9c7d.jpg"), _original("x_hflip.png")
    ('a/000003', 'x')
    """
    plain = _EXPORTED.sub("", _without_suffix(name))
    return _AUGMENTED.sub("", plain) or plain


def _without_suffix(name: str) -> str:
    return str(PurePosixPath(name).with_suffix("")).casefold()


def _stem(name: str) -> str:
    return PurePosixPath(name).stem.casefold()


def _met_before(bundle: Bundle, part: Part) -> Check:
    """Exemplars are kept from what was taught: a fine-tuning image is a training image."""
    what = "fine-tuning images are training images of that task or of earlier ones"
    trained = [p for p in bundle.parts if p.kind == "train" and p.task <= part.task]
    had = frozenset().union(*(one.names for one in trained))
    new = sorted(part.names - had)
    if not trained or "train" in bundle.unlisted:
        return unknown(what, "not all training images are at hand")
    if new:
        said = f"{len(new)} of {len(part.names)} images were in no training"
        return failed(what, said, len(new), new)
    return passed(what, f"{len(part.names)} images")


def _by_content(bundle: Bundle) -> Iterator[Check]:
    """The same questions, asked of the files and not of their names."""
    from openset.benchmarks.lookalikes import find, gather

    gathered = gather(bundle)
    what = "images are what their names say"
    if gathered.missing:
        said = f"{len(gathered.missing)} of {gathered.total} images are not in {bundle.images}"
        yield unknown(what, f"{said}, such as {gathered.missing[0]}")
    if gathered.damaged:
        n = len(gathered.damaged)
        yield failed("images can be read", f"{n} cannot", n, gathered.damaged)
    for kind, said in (("exact", "the same bytes"), ("near", "look alike")):
        pairs = find(gathered, exact=kind == "exact")
        across = [pair for pair in pairs if gathered.stages_differ(*pair)]
        names = [" = ".join(gathered.names[i] for i in pair) for pair in across]
        question = f"no two images of different stages have {said}".replace("have look", "look")
        if across:
            yield failed(question, f"{len(across)} pairs", len(across), names)
        elif gathered.names:
            yield passed(question, f"{len(gathered.names)} images")
        within = [pair for pair in pairs if not gathered.stages_differ(*pair)]
        if within and kind == "exact":
            names = [" = ".join(gathered.names[i] for i in pair) for pair in within]
            yield failed("no image is twice in a stage", f"{len(within)} pairs", len(within), names)
        elif within:
            yield note("images of one stage that look alike", f"{len(within)} pairs", len(within))
