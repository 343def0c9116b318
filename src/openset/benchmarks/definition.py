"""Definition: what a benchmark is, as data: one TOML file, read and checked.

A file names its sources (official annotation files), its classes (who is known, in which task, who
is unknown, who is ignored) and its splits (which images, by rules, and which boxes). `docs/
benchmarks.md` explains every key. Nothing here touches data: see `openset.benchmarks.building`.

A variant (``osod3-animal:split2``) is a table whose keys replace those of the file.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from openset.files import safe_name, safe_path, toml
from openset.findings import InputError, UsageError, refuse
from openset.plugins import lookup

Kind = Literal["train", "finetune", "val", "test", "id", "ood"]
TESTS: frozenset[Kind] = frozenset({"test", "id", "ood"})
_KEEP: Mapping[str, tuple[str, ...]] = {
    "train": ("new",),
    "finetune": ("known",),
    "val": ("known",),
    # Boxes on objects that do not count are neither right nor wrong, so a test must show these.
    "test": ("known", "unknown", "ignored"),
    "id": ("known", "ignored"),
    "ood": ("unknown", "ignored"),
}
# Long lists of labels are written as lists, everything else as one table with one rule.
ClassSet = list[str] | dict[str, Any]
Some = Annotated[list[str], msgspec.Meta(min_length=1)]
Group = Literal["known", "new", "previous", "unknown", "ignored"]
_UNKNOWN_KEY = re.compile(r"unknown field `(.+?)`")


class Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A file or folder that a benchmark is made from.

    Attributes:
        path: Where it lies below the source folder; the first that exists counts.
        format: Its format, if the content does not tell.
        options: What the format's reader takes; values that name files are relative, too.
        labels: The labels that its annotators looked for, if the file may not list them all.
        ids: A regular expression that its image ids match, to tell sources apart in image lists.
        used_only: Read only boxes of the listed labels (for files of many million rows).
        images: Read only images of these lists (for files of many million rows).
        pictures: Folders of which the first that exists holds its pictures, for sizes of images
            that the file does not state.
        url: Where it can be had.
        pictures_url: Where its images can be had, if that is elsewhere.
        licence: Under which terms.
        sha256: Of the file.
        size: Bytes of the file.
        download: Whether the terms allow `openset fetch` to download it.
        note: What else to know.
    """

    path: Some
    format: str | None = None
    options: dict[str, str] = {}
    labels: list[str] = []
    ids: str = ""
    used_only: bool = False
    images: list[str] = []
    pictures: list[str] = []
    url: str = ""
    pictures_url: str = ""
    licence: str = ""
    sha256: str = ""
    size: int = 0
    download: bool = False
    note: str = ""


class Classes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Who is known, unknown and ignored.

    Attributes:
        known: Known classes (one task).
        tasks: Or: the classes that each task adds.
        unknown: Unknown classes.
        ignored: Classes that do not count.
        rest: Role of labels that are not listed.
    """

    known: ClassSet = []
    tasks: list[ClassSet] = []
    unknown: ClassSet = []
    ignored: ClassSet = []
    rest: Literal["unknown", "ignored"] = "unknown"

    def steps(self) -> list[ClassSet]:
        """The classes that each task adds; a plain list of known classes is one task."""
        return self.tasks or [self.known]


class Split(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One set of images.

    Attributes:
        kind: What it is for; ``id`` are test images without, ``ood`` those of unknown objects only.
        source: Where its images are from.
        task: Its task, or tasks: then it is made once for each, as ``name-t1``, ``name-t2`` ...
        select: Rules that choose images, in order, each a table with one key.
        boxes: Which boxes are kept, of `Group`; by default what its kind may show.
        tiers: What the image column ``tier`` says: of earlier splits, which of them has an image;
            or of classes by tier, the nearest first, of which an image shows one.
        expect: Published counts (images, boxes, known, unknown); a list has one for each task.
        note: What else to know.
    """

    kind: Kind
    source: str | Some
    task: int | list[int] = 0
    select: list[dict[str, Any]] = []
    boxes: list[Group] = []
    tiers: list[str] | dict[str, ClassSet] = {}
    expect: dict[Literal["images", "boxes", "known", "unknown"], int | list[int]] = {}
    note: str = ""

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of its sources."""
        return (self.source,) if isinstance(self.source, str) else tuple(self.source)

    @property
    def lists(self) -> list[str]:
        """The image lists that its images are from."""
        return self._named("listed")

    @property
    def files(self) -> list[str]:
        """All image lists that its rules name."""
        return self._named("listed") + self._named("not_listed")

    def _named(self, rule: str) -> list[str]:
        found = [step.get(rule, []) for step in self.select]
        named = [one["files"] if isinstance(one, dict) else one for one in found]
        return [name for one in named for name in ([one] if isinstance(one, str) else one)]

    @property
    def partial(self) -> bool:
        """Whether its lists may name images that the data lack."""
        found = [step.get("listed") for step in self.select]
        return any(isinstance(one, dict) and one.get("partial") for one in found)

    @property
    def earlier(self) -> list[str]:
        """The splits that its rules name."""
        named: list[str] = []
        for step in self.select:
            for rule, value in step.items():
                if rule in ("not_in", "among"):
                    named += [value] if isinstance(value, str) else value
                elif rule == "wilderness":
                    named.append(value["beside"])
        return named

    @property
    def class_tiers(self) -> dict[str, ClassSet]:
        """Its tiers, where these are sets of classes."""
        return self.tiers if isinstance(self.tiers, dict) else {}

    @property
    def keep(self) -> tuple[str, ...]:
        """Which boxes are kept."""
        return tuple(self.boxes) or _KEEP[self.kind]


class Benchmark(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A benchmark as its file defines it.

    Attributes:
        name: Its name; with a variant, ``name:variant``.
        summary: One line.
        paper: Where it was published.
        licence: Terms of its own lists, if it has any.
        aliases: Other names by which people ask for it.
        kind: Boxes in images, or whole images with one class each.
        classes: Roles.
        sources: Files it is made from.
        splits: Sets of images.
        lists: Lists of classes, for ``"@name"``.
        synonyms: Groups of names that are one class.
        seed: Decides every random choice.
        ids: Images are called by the id in the source, by their file name's stem, or, where sources
            number theirs alike, by the source and its id: ``coco/17``.
        lists_in: Folders below the source folder where image lists may lie.
        pretraining: Data sets that detectors may have been trained on before.
        issues: What is known to be wrong with it.
        world: Parameters of the digits world that `openset fetch` makes in place of a download.
    """

    name: str
    summary: str
    classes: Classes
    paper: str = ""
    licence: str = ""
    aliases: list[str] = []
    kind: Literal["detection", "recognition"] = "detection"
    sources: dict[str, Source] = {}
    splits: dict[str, Split] = {}
    lists: dict[str, list[str]] = {}
    synonyms: list[Some] = []
    seed: int = 0
    ids: Literal["source", "stem", "both"] = "source"
    lists_in: list[str] = []
    pretraining: list[str] | None = None
    issues: list[str] = []
    variants: tuple[str, ...] = ()
    world: dict[str, Any] | None = None

    @property
    def tasks(self) -> int:
        """Number of tasks."""
        return len(self.classes.steps())

    @property
    def hash(self) -> str:
        """Twelve hexadecimal digits that change with the definition."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:12]

    def unrolled(self) -> dict[str, Split]:
        """The splits, those of several tasks once for each."""
        found: dict[str, Split] = {}
        for name, split in self.splits.items():
            tasks = [split.task or self.tasks] if isinstance(split.task, int) else split.task
            for place, task in enumerate(tasks):
                full = name if isinstance(split.task, int) else f"{name}-t{task}"
                if full in found:
                    raise UsageError(f"two splits are called {full!r}")
                found[full] = _of_task(split, task, place, len(tasks))
        return found


def only(benchmark: Benchmark, names: Sequence[str]) -> Benchmark:
    """A benchmark with some of its splits, and those that their rules need; in the file's order.

    Args:
        benchmark: The whole.
        names: Splits, as the file or as a build calls them: ``test``, or ``test-t2`` alone.
    """
    every = benchmark.unrolled()
    stems: dict[str, str] = {}
    for name, split in benchmark.splits.items():
        alone = msgspec.structs.replace(benchmark, splits={name: split})
        stems |= dict.fromkeys(alone.unrolled(), name)
    wanted: list[str] = []
    for name in names:
        if name not in benchmark.splits:
            lookup(every, name, f"split of {benchmark.name}")
        wanted += [full for full in every if name in (full, stems[full])]
    for name in wanted:  # grows while it is walked: what a split needs may need others
        wanted += [one for one in every[name].earlier if one in every and one not in wanted]
    kept = {name: every[name] for name in every if name in wanted}
    return msgspec.structs.replace(benchmark, splits=kept)


def partial(benchmark: Benchmark) -> Benchmark:
    """A benchmark whose lists may name images that the data lack."""

    def loose(rule: dict[str, Any]) -> dict[str, Any]:
        held = rule.get("listed")
        files = held["files"] if isinstance(held, dict) else held
        return rule if held is None else {"listed": {"files": files, "partial": True}}

    splits = {
        name: msgspec.structs.replace(split, select=[loose(rule) for rule in split.select])
        for name, split in benchmark.splits.items()
    }
    return msgspec.structs.replace(benchmark, splits=splits)


def _of_task(split: Split, task: int, place: int, tasks: int) -> Split:
    """A split of several tasks at one of them; ``{task}`` in its rules is the number."""
    for key, counts in split.expect.items():
        if isinstance(counts, list) and len(counts) != tasks:
            raise UsageError(f"expect.{key} has {len(counts)} counts for {tasks} tasks")
    select = json.loads(json.dumps(split.select).replace("{task}", str(task)))
    expect = {k: v[place] if isinstance(v, list) else v for k, v in split.expect.items()}
    return msgspec.structs.replace(split, task=task, select=select, expect=expect)


def load(name: str | Path) -> Benchmark:
    """A benchmark by the name of a catalogue entry or the path of a TOML file.

    Args:
        name: Such as ``owod``, ``osod3-animal:split2``, ``mine.toml`` or ``mine.toml:easy``.
    """
    text, _, variant = str(name).partition(":")
    path = find(text)
    try:
        table = toml(path.read_text("utf-8-sig"))
    except (OSError, ValueError) as error:
        raise refuse("OS901", f"cannot read {path}: {error}") from error
    table.setdefault("name", path.stem)
    benchmark = _converted(_with_variant(table, variant, path), path)
    _check(benchmark, path)
    return benchmark


def find(name: str) -> Path:
    """The TOML file of a catalogue entry, or a path to one's own."""
    from openset.benchmarks import files

    path = Path(name)
    if path.suffix == ".toml":
        if not path.is_file():
            raise refuse("OS101", f"no such benchmark file: {name}")
        return path
    return lookup(files(), name if name in files() else _meant(name), "benchmark")


def _meant(name: str) -> str:
    """The entry that has this name among its aliases, in any case; else the name as it is."""
    from openset.benchmarks import files

    for entry, path in files().items():
        aliases = tomllib.loads(path.read_text("utf-8")).get("aliases", [])
        if name.casefold() in map(str.casefold, aliases):
            return entry
    return name


def _with_variant(table: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    variants = table.pop("variants", {})
    if not isinstance(variants, dict) or not all(isinstance(v, dict) for v in variants.values()):
        raise refuse("OS901", f"{path}: variants must be tables: [variants.name]")
    table["variants"] = list(variants)
    if not name:
        return table
    chosen = lookup(variants, name, f"variant of {table['name']}")
    return _merged(table, chosen) | {"name": f"{table['name']}:{name}"}


def _merged(table: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """`table` with the keys of `other`, table by table; counts are replaced as a whole."""
    found = dict(table)
    for key, value in other.items():
        both = isinstance(value, Mapping) and isinstance(found.get(key), dict) and key != "expect"
        found[key] = _merged(found[key], value) if both else value
    return found


def _converted(table: dict[str, Any], path: Path) -> Benchmark:
    try:
        return msgspec.convert(table, Benchmark)
    except msgspec.ValidationError as error:
        raise refuse("OS901", f"{path}: {error}", fix=_suggestion(str(error))) from error


def _suggestion(message: str) -> str:
    """The key that was probably meant."""
    import difflib

    found = _UNKNOWN_KEY.search(message)
    if found is None:
        return ""
    structs = (Benchmark, Source, Classes, Split)
    keys = [key for struct in structs for key in struct.__struct_fields__]
    close = difflib.get_close_matches(found[1], keys, n=1)
    return f"did you mean {close[0]!r}?" if close else ""


def _check(benchmark: Benchmark, path: Path) -> None:
    """Refuse what is well formed but cannot be meant."""
    if benchmark.classes.known and benchmark.classes.tasks:
        raise refuse("OS901", f"{path}: classes have either known or tasks, not both")
    if not any(benchmark.classes.steps()) and not benchmark.variants:
        raise refuse("OS901", f"{path}: no class is known", fix="classes.known = ['dog', ...]")
    try:
        _check_rules(benchmark)
    except UsageError as error:
        raise refuse("OS901", f"{path}: {error}") from error
    _check_patterns(benchmark, path)
    for name in dictionaries(benchmark):
        safe_path(name)
    for source in benchmark.sources.values():
        for name in (*source.path, *source.images, *source.options.values()):
            safe_path(name)


def _check_rules(benchmark: Benchmark) -> None:
    """Refuse names of sources, rules and tasks that do not exist."""
    from openset.benchmarks.rules import check_rule

    classes = benchmark.classes
    for chosen in (*classes.steps(), classes.unknown, classes.ignored):
        if isinstance(chosen, dict):
            check_rule(chosen, "class rule")
    for name, split in benchmark.unrolled().items():
        safe_name(name)
        for source in split.sources:
            lookup(benchmark.sources, source, f"source of split {name!r}:")
        for rule in split.select:
            check_rule(rule)
        for chosen in split.class_tiers.values():
            if isinstance(chosen, dict):
                check_rule(chosen, "class rule")
        if not isinstance(split.task, int) or not 1 <= split.task <= benchmark.tasks:
            raise UsageError(f"split {name!r} is of task {split.task} of {benchmark.tasks}")


def dictionaries(benchmark: Benchmark, *, own: bool = True) -> tuple[str, ...]:
    """The files of WordNet that class rules name; without `own`, those of shipped synsets alone."""
    classes = benchmark.classes
    sets = [*classes.steps(), classes.unknown, classes.ignored]
    sets += [chosen for split in benchmark.splits.values() for chosen in split.class_tiers.values()]
    tiers = [chosen.get("tier") for chosen in sets if isinstance(chosen, dict)]
    rules = [tier for tier in tiers if isinstance(tier, dict) and (own or not tier.get("synsets"))]
    named = [tier.get("wordnet", "") for tier in rules]
    return tuple(dict.fromkeys(name for name in named if name))


def image_lists(benchmark: Benchmark) -> tuple[str, ...]:
    """The image lists that rules name."""
    splits = benchmark.unrolled().values()
    return tuple(dict.fromkeys(name for split in splits for name in split.files))


def list_folders(benchmark: Benchmark, folder: Path) -> tuple[Path, ...]:
    """Where image lists may lie."""
    return (folder, *(folder / name for name in benchmark.lists_in))


def _check_patterns(benchmark: Benchmark, path: Path) -> None:
    for name, source in benchmark.sources.items():
        try:
            re.compile(source.ids)
        except re.error as error:
            raise _bad_pattern(path, name, error) from error


def _bad_pattern(path: Path, name: str, error: re.error) -> InputError:
    return refuse("OS901", f"{path}: ids of source {name!r} is no regular expression: {error}")
