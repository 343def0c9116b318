"""Sources: official annotation files, found in a folder, read, and brought to one list of classes.

Data sets spell classes differently and number them differently. After `unify` all tables of a
benchmark share one list of labels (each class once, spelt as the benchmark spells it) and one id
per label. Detectors are judged by ids, so those of the data set that tests come from are kept, and
of several the one with the most labels; classes that only others have keep their ids where these
are free. What had to change is stated (`Unified.changed`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from openset.benchmarks.definition import Benchmark, Source, dictionaries
from openset.benchmarks.pool import image_names
from openset.benchmarks.taxonomy import Taxonomy, flaw_of_wordnet, of_open_images
from openset.files import digest
from openset.findings import refuse
from openset.tables import Annotations, Images, Vocabulary
from openset.tables.union import given_ids

_END = 1 << 12  # bytes at the ends of a file that tell whether it is whole
_FILES = ("hierarchy", "descriptions", "sizes")  # options that name files


def locate(benchmark: Benchmark, folder: Path | None) -> dict[str, Path]:
    """Where every source lies; those that are absent are refused, all at once."""
    if not used(benchmark):
        return {}
    if folder is None:
        raise refuse("OS902", f"{benchmark.name} is made from files", fix="give --source DIR")
    if not folder.is_dir():
        raise refuse("OS902", f"{folder} is no folder", fix="give the folder with --source")
    found: dict[str, Path] = {}
    lost: list[str] = []
    for name in used(benchmark):
        source = benchmark.sources[name]
        path = next((folder / p for p in source.path if (folder / p).exists()), None)
        if path is None:
            lost.append(f"{name}: {' or '.join(source.path)}")
        else:
            found[name] = path
        lost += [
            f"{name}: {file}" for file in _option_files(source) if not (folder / file).is_file()
        ]
    lost += [file for file in dictionaries(benchmark) if not (folder / file).is_file()]
    if lost:
        raise refuse(
            "OS902",
            f"{len(lost)} files of {benchmark.name} are not in {folder}",
            count=len(lost),
            example="; ".join(lost[:8]),
        )
    return found


def needed(benchmark: Benchmark) -> dict[str, Source]:
    """The sources that splits are made from, and those whose files these name; else all."""
    names = used(benchmark) or tuple(benchmark.sources)
    chosen = [benchmark.sources[name] for name in names]
    files = {file for source in chosen for file in _option_files(source)}
    files |= set(dictionaries(benchmark))
    return {
        name: source
        for name, source in benchmark.sources.items()
        if name in names or files & set(source.path)
    }


def _option_files(source: Source) -> list[str]:
    """The files that a source names beside its own."""
    return [v for k, v in source.options.items() if k in _FILES] + source.images


def used(benchmark: Benchmark) -> tuple[str, ...]:
    """Names of the sources that splits are made from."""
    splits = benchmark.splits.values()
    return tuple(dict.fromkeys(name for split in splits for name in split.sources))


def fingerprint(path: Path) -> str:
    """SHA-256 of a file; of a folder, that of the names and sizes of its files."""
    if path.is_file():
        return digest(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    lines = (f"{file.relative_to(path).as_posix()} {file.stat().st_size}\n" for file in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def verify(name: str, source: Source, path: Path, found: str) -> None:
    """Refuse a file that is not the one the benchmark was defined on."""
    flaw = _flaw(source, path)
    if flaw:
        raise refuse("OS913", f"source {name!r}, {path}, {flaw}", example=str(path))
    size = path.stat().st_size if path.is_file() else 0
    if source.size and path.is_file() and size != source.size:
        raise refuse(
            "OS903",
            f"{path} has {size} bytes, but source {name!r} has {source.size}",
            example="a half download" if size < source.size else "another version",
        )
    if source.sha256 and path.is_file() and found != source.sha256:
        raise refuse(
            "OS903", f"{path} is another file than source {name!r}", example=f"SHA-256 {found}"
        )


def _flaw(source: Source, path: Path) -> str:
    """What shows, without reading all of it, that a file or folder is not whole; or nothing."""
    if path.is_file():
        return _flaw_of_file(path)
    if not any(path.iterdir()):
        return "is an empty folder"
    split = source.options.get("split")
    if source.format == "voc" and split:
        wanted = path / "ImageSets" / "Main" / f"{split}.txt"
        if not wanted.is_file():
            return f"has no ImageSets/Main/{split}.txt: that archive is not unpacked there"
        if not any((path / "Annotations").glob("*.xml")):
            return "has no Annotations/*.xml"
    if source.format == "mtsd" and not (path / "splits" / f"{split}.txt").is_file():
        return f"has no splits/{split}.txt: the annotations are not unpacked there"
    return ""


_LISTED = {  # of folders with a file per picture: the lists of splits, and those files
    "voc": ("ImageSets/Main/{}.txt", "Annotations/{}.xml"),
    "mtsd": ("splits/{}.txt", "annotations/{}.json"),
}


def lacking(source: Source, path: Path, expected: int = 0) -> str:
    """What a folder lacks of the pictures that its own list has, or that a split is to have.

    Args:
        source: Its definition.
        path: Where it lies.
        expected: How many pictures a split is to have that is made from it.
    """
    split = source.options.get("split")
    if source.format not in _LISTED or not split or not path.is_dir():
        return ""
    listing, annotation = _LISTED[source.format]
    lines = (path / listing.format(split)).read_text("utf-8", "replace").splitlines()
    names = [line.split()[0] for line in lines if line.strip()]
    if len(names) < expected:
        return f"lists {len(names):,} pictures, of which {expected:,} are to be taken"
    for name in names:
        file = path / annotation.format(name)
        if not file.is_file():
            return f"has no {annotation.format(name)}, which its list has: part of it is missing"
        if not file.stat().st_size:
            return f"has an {annotation.format(name)} of 0 bytes"
    return ""


def _flaw_of_file(path: Path) -> str:
    size = path.stat().st_size
    if not size:
        return "has 0 bytes"
    if path.suffix == ".json":
        with path.open("rb") as file:
            head = file.read(_END).lstrip(b"\xef\xbb\xbf \t\r\n")
            file.seek(max(0, size - _END))
            tail = file.read().rstrip()
        if head[:1] + tail[-1:] not in (b"{}", b"[]"):
            return "is no whole JSON document: its first and last characters are no brackets"
    return flaw_of_wordnet(path) if path.name == "data.noun" else ""


def unpacked_from(source: Source, folder: Path) -> str:
    """What is to be said of the archive of a source that lies in the folder; else nothing."""
    name = source.url.rpartition("/")[2]
    packed = name.endswith((".zip", ".tar", ".tar.gz", ".tgz"))
    if not (packed and (folder / name).is_file()):
        return ""
    empty = not (folder / name).stat().st_size
    return f"{name} has 0 bytes" if empty else f"{name} is there, but not unpacked"


def read(
    source: Source, path: Path, folder: Path, wanted: Iterable[str], spelling: Vocabulary
) -> Annotations:
    """The annotations of a source.

    Args:
        source: Its definition.
        path: Where it lies.
        folder: What the files in its options are relative to.
        wanted: Labels to read, if it is defined to be read so.
        spelling: What spellings of a class share.
    """
    from openset.benchmarks import readers
    from openset.formats import read_annotations

    options: dict[str, Any] = {k: v for k, v in source.options.items() if k not in _FILES}
    own = readers.find(source.format, path)
    if own is not None:
        return own(path, **options)
    if path.suffix == ".csv" or path.name.endswith(".csv.gz"):
        options |= {k: folder / v for k, v in source.options.items() if k in _FILES}
        if source.used_only or source.images:
            from openset.benchmarks.streaming import read_boxes

            lists = [folder / name for name in source.images]
            return read_boxes(path, wanted, spelling, images=lists, **options)
    elif not path.is_dir():
        options.pop("split", None)  # a folder has several splits, a file is one
        return read_annotations(path)
    return read_annotations(path, format=source.format, **options)


def taxonomy(benchmark: Benchmark, folder: Path) -> Taxonomy:
    """The hierarchy that a source states, by names of labels."""
    for source in needed(benchmark).values():
        if "hierarchy" in source.options:
            names = source.options.get("descriptions")
            return of_open_images(folder / source.options["hierarchy"], names and folder / names)
    return Taxonomy()


@dataclass(frozen=True)
class Unified:
    """The tables of all sources over one list of labels.

    Attributes:
        labels: The list.
        supercategory: Super-classes by label.
        tables: By name of the source.
        changed: By source and label, the id of its file and the id here, where these differ.
    """

    labels: tuple[str, ...]
    supercategory: Mapping[str, str]
    tables: Mapping[str, Annotations]
    changed: Mapping[str, Mapping[str, tuple[int, int]]]


def unify(
    tables: Mapping[str, Annotations],
    spelling: Vocabulary,
    listed: Iterable[str],
    *,
    ids: str,
    tested: Iterable[str],
) -> Unified:
    """Bring tables to one list of labels, one id per label and, if asked, images named by stem.

    Args:
        tables: By name of the source.
        spelling: What spellings of a class share.
        listed: Labels that the benchmark names, whose spelling counts.
        ids: ``source``, ``stem``, or ``both``: name of the source and id.
        tested: Sources of test splits, whose category ids are kept.
    """
    names = {spelling.key(label): label for label in reversed(tuple(listed))}
    order: dict[str, str] = {}
    for table in tables.values():
        order |= {
            key: names.get(key, k) for k in table.labels if (key := spelling.key(k)) not in order
        }
    labels = tuple(order.values())
    stated = _stated_ids(tables, spelling, frozenset(tested))
    given = given_ids(stated.values(), order)
    above: dict[str, str] = {}
    for table in tables.values():
        pairs = zip(table.labels, table.supercategory, strict=True)
        above = {order[spelling.key(k)]: v for k, v in pairs if v} | above
    index = {key: place for place, key in enumerate(order)}
    found = {}
    for name, table in tables.items():
        remap = np.array([index[spelling.key(label)] for label in table.labels], np.int32)
        found[name] = replace(
            table,
            images=_named(table, ids, name),
            labels=labels,
            label=remap[table.label] if len(remap) else table.label,
            category_id=np.array([given[key] for key in order], np.int64),
            numbered=True,
            supercategory=tuple(above.get(label, "") for label in labels),
            role=(),
        )
    changed = {
        name: {order[key]: (id_, given[key]) for key, id_ in held.items() if id_ != given[key]}
        for name, held in stated.items()
    }
    return Unified(labels, above, found, {name: ids for name, ids in changed.items() if ids})


def _named(table: Annotations, ids: str, source: str) -> Images:
    """The images as a benchmark calls them."""
    if ids == "source":
        return table.images
    name = image_names(table)
    if ids == "both":
        name = np.strings.add(f"{source}/", table.images.id.astype(np.str_))
    return replace(table.images, id=name)


def _stated_ids(
    tables: Mapping[str, Annotations], spelling: Vocabulary, tested: frozenset[str]
) -> dict[str, dict[str, int]]:
    """The ids that files state, by source and class; what tests come from first, then the most."""
    stated: dict[str, dict[str, int]] = {}
    for name, table in tables.items():
        assert table.category_id is not None
        if table.numbered:
            stated[name] = {}
            for label, id_ in zip(table.labels, table.category_id.tolist(), strict=True):
                stated[name].setdefault(spelling.key(label), id_)
    first = sorted(stated, key=lambda name: (name not in tested, -len(stated[name])))
    return {name: stated[name] for name in first}
