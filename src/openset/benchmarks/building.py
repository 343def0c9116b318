"""Building: from a definition and official annotation files to COCO files, one per split.

A built benchmark is a folder: ``bundle.json`` (classes, sources and splits, with counts and
checksums), one COCO file per split that states the roles of its labels, and ``vocabularies/`` with
the roles at each task. The folder appears whole or not at all. Until then the work lies in a hidden
folder beside it, where the next call goes on if one was interrupted. The same inputs give the same
bytes.

Images are not copied, and read only for their sizes where no file states these.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.benchmarks import sources as files
from openset.benchmarks.cutting import Shown, cut, joined
from openset.benchmarks.definition import (
    TESTS,
    Benchmark,
    Split,
    dictionaries,
    image_lists,
    list_folders,
    load,
)
from openset.benchmarks.manifest import (
    MANIFEST,
    SCHEMA,
    differences,
    edited,
    entry,
    in_training,
    left_out,
    lost_splits,
    read_manifest,
    renumbered,
    tested_and_trained,
    universe_of,
    vocabulary_toml,
    write_json,
)
from openset.benchmarks.pictures import folder_of, measured, unsized, without_sizes
from openset.benchmarks.pool import Pool, Universe, called, expanded
from openset.benchmarks.roles import Roles, resolve, spelling
from openset.benchmarks.rules import class_set, select
from openset.benchmarks.rules.listed import absent, find_list, with_times
from openset.benchmarks.tiers import named_in, showing, with_tiers
from openset.benchmarks.writing import write_truth
from openset.files import unwritable
from openset.findings import Finding, InputError, refuse
from openset.tables import Annotations, Vocabulary

Say = Callable[[str], None]
Done = dict[str, frozenset[str]]  # what images of the splits made so far go by


@dataclass(frozen=True)
class Built:
    """What was built.

    Attributes:
        folder: Where.
        manifest: What ``bundle.json`` says.
        findings: Counts that are not the published ones, and category ids that had to change.
        again: Whether it had been built before, and nothing was done.
    """

    folder: Path
    manifest: dict[str, Any]
    findings: tuple[Finding, ...] = ()
    again: bool = False


def build(
    benchmark: Benchmark | str | Path,
    source: str | Path | None,
    out: str | Path,
    *,
    say: Say = lambda words: None,
) -> Built:
    """Build a benchmark.

    Args:
        benchmark: A definition, the name of a catalogue entry, or a TOML file.
        source: The folder with the official files; None if the benchmark needs none.
        out: The folder to make; it must not exist, or hold this very benchmark.
        say: Called with a few words before each step.
    """
    definition = benchmark if isinstance(benchmark, Benchmark) else load(benchmark)
    out = Path(out)
    _refuse_variants(definition)
    paths = files.locate(definition, None if source is None else Path(source))
    folder = Path(source or ".")
    say("checksums")
    digests = {name: files.fingerprint(path) for name, path in paths.items()}
    for name, path in paths.items():
        files.verify(name, definition.sources[name], path, digests[name])
    identity = {
        "definition": definition.hash,
        "sources": digests,
        "lists": _list_digests(definition, folder),
        "pictures": [name for name in paths if folder_of(definition.sources[name], folder)],
    }
    if (out / MANIFEST).exists() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        again = _again(definition, out, identity)
        lost = lost_splits(out, again.manifest)
        if not lost:
            return again
    else:
        lost = None
    job = _Job(definition, folder, paths, identity, _workshop(out, identity), say)
    try:
        manifest = job.run()
        _put(job.work, out, lost)
    except (InputError, OSError) as error:
        shutil.rmtree(job.work, ignore_errors=True)
        if isinstance(error, OSError):
            raise unwritable(out, error) from error
        raise
    kept = () if lost is None else edited(out, manifest)
    return Built(out, manifest, (*_findings(manifest), *kept))


def _put(work: Path, out: Path, lost: Sequence[str] | None) -> None:
    """Put what was made in its place: all of it, or of a folder that has lost splits only these."""
    if lost is None:
        if out.exists():
            out.rmdir()
        work.replace(out)
        return
    for file in lost:
        (work / file).replace(out / file)
    shutil.rmtree(work)


def _list_digests(definition: Benchmark, folder: Path) -> dict[str, str]:
    """Checksums of the image lists and dictionaries that rules name."""
    found = {}
    for name in image_lists(definition):
        found[name] = files.fingerprint(find_list(name, list_folders(definition, folder)))
    return found | {name: files.fingerprint(folder / name) for name in dictionaries(definition)}


def _refuse_variants(definition: Benchmark) -> None:
    if definition.variants and not any(definition.classes.steps()):
        raise refuse(
            "OS901",
            f"{definition.name} has variants: {', '.join(definition.variants)}",
            cause="each is a benchmark of its own",
            fix=f"name one, such as {definition.name}:{definition.variants[0]}",
        )


def _again(definition: Benchmark, out: Path, identity: dict[str, Any]) -> Built:
    """What is there already, if it is this benchmark of these files."""
    manifest = read_manifest(out) if (out / MANIFEST).is_file() else {}
    if manifest.get("identity") != identity:
        held = manifest.get("benchmark", "other files")
        raise refuse("OS909", f"{out} holds {held}, not {definition.name} of these files")
    return Built(out, manifest, (*_findings(manifest), *edited(out, manifest)), again=True)


def _findings(manifest: dict[str, Any]) -> tuple[Finding, ...]:
    return (
        *differences(manifest),
        *tested_and_trained(manifest),
        *renumbered(manifest),
        *left_out(manifest),
        *without_sizes(manifest),
    )


def _workshop(out: Path, identity: dict[str, Any]) -> Path:
    """The hidden folder of an unfinished build, emptied if it was of something else."""
    work = out.parent / f".{out.name}.building"
    mark = work / "identity.json"
    text = json.dumps(identity, sort_keys=True)
    try:
        if not mark.is_file() or mark.read_text("utf-8") != text:
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            mark.write_text(text, "utf-8")
    except OSError as error:
        shutil.rmtree(work, ignore_errors=True)
        raise unwritable(out, error) from error
    return work


@dataclass(frozen=True)
class _Held:
    """What all splits of a build are made from.

    Attributes:
        unified: The tables of the sources.
        universe: What class rules choose from.
        roles: Who is known from which task on.
    """

    unified: files.Unified
    universe: Universe
    roles: Roles

    def tiers(
        self, split: Split, table: Annotations, vocabulary: Vocabulary, done: Done
    ) -> dict[str, NDArray[np.bool_]]:
        """Which images of a split belong to which of its tiers."""
        if isinstance(split.tiers, list):
            return {name: named_in(table, done, name) for name in split.tiers}
        universe = replace(self.universe, known=vocabulary.known)
        chosen = {name: class_set(universe, how) for name, how in split.tiers.items()}
        return {name: showing(table, labels, vocabulary) for name, labels in chosen.items()}


@dataclass(frozen=True)
class _Job:
    """One build."""

    definition: Benchmark
    folder: Path
    paths: dict[str, Path]
    identity: dict[str, Any]
    work: Path
    say: Say

    def run(self) -> dict[str, Any]:
        held = self._sources()
        splits: dict[str, Any] = {}
        done: Done = {}
        for name, split in self.definition.unrolled().items():
            self.say(name)
            splits[name] = self._split(name, split, held, done)
        self._write_vocabularies(held.roles)
        manifest = self._manifest(held, splits) | in_training(splits, done)
        for leftover in [*self.work.glob("*.done"), self.work / "identity.json"]:
            leftover.unlink()
        write_json(self.work / MANIFEST, manifest)
        return manifest

    def _sources(self) -> _Held:
        """All tables over one list of labels, and the roles of these."""
        definition = self.definition
        names, wanted = spelling(definition), _wanted(definition)
        tables = {}
        for key, path in self.paths.items():
            self.say(f"reading {path.name}")
            source = definition.sources[key]
            tables[key] = files.read(source, path, self.folder, wanted, names)
            if pictures := folder_of(source, self.folder):
                tables[key] = measured(tables[key], pictures, self.folder)
        splits = definition.splits.values()
        tested = {key for split in splits if split.kind in TESTS for key in split.sources}
        unified = files.unify(tables, names, wanted, ids=definition.ids, tested=tested)
        universe = Universe(
            labels=_universe(definition, unified.labels, names),
            spelling=names,
            lists=definition.lists,
            seed=definition.seed,
            supercategory=unified.supercategory,
            taxonomy=files.taxonomy(definition, self.folder),
            tables=unified.tables,
            folder=self.folder,
        )
        return _Held(unified, universe, resolve(definition, universe))

    def _split(self, name: str, split: Split, held: _Held, done: Done) -> dict[str, Any]:
        """Make a split, or take what an interrupted call has made; returns its entry."""
        from openset.formats import read_annotations

        file, mark = self.work / f"{name}.json", self.work / f"{name}.done"
        if mark.is_file() and file.is_file():
            done[name] = called(read_annotations(file))
            return dict(json.loads(mark.read_text("utf-8")))
        assert isinstance(split.task, int)
        vocabulary = held.roles.at(split.task)
        table = joined({key: held.unified.tables[key] for key in split.sources})
        pool = self._pool(name, table, vocabulary, done)
        images = select(pool, split.select)
        if not len(images):
            raise refuse("OS906", f"split {name!r} of {self.definition.name} has no image")
        made, dropped = cut(table, images, vocabulary, Shown.of(split))
        made = with_times(made, split.lists, list_folders(self.definition, self.folder))
        if split.tiers:
            made = with_tiers(made, held.tiers(split, made, vocabulary, done))
        write_truth(replace(made, info=self._info(name, split, made, vocabulary)), file)
        done[name] = called(made)
        about = entry(split, made, dict(dropped)) | {
            "file": file.name,
            "sha256": files.fingerprint(file),
        }
        if split.partial:
            about["absent"] = absent(table, split.lists, list_folders(self.definition, self.folder))
        write_json(mark, about)
        return about

    def _pool(
        self,
        name: str,
        table: Annotations,
        vocabulary: Vocabulary,
        done: Done,
    ) -> Pool:
        return Pool(
            table=table,
            vocabulary=vocabulary,
            images=np.arange(len(table.images)),
            split=name,
            seed=self.definition.seed,
            lists=self.definition.lists,
            files=list_folders(self.definition, self.folder),
            done=done,
        )

    def _info(
        self, name: str, split: Split, table: Annotations, vocabulary: Vocabulary
    ) -> dict[str, Any]:
        """What a file says of itself; tasks, so that evaluation tells previous from current."""
        info: dict[str, Any] = {
            "benchmark": self.definition.name,
            "split": name,
            "kind": split.kind,
            "task": split.task,
            "definition": self.identity["definition"],
            "sources": {key: self.identity["sources"][key] for key in split.sources},
            "seed": self.definition.seed,
        }
        if vocabulary.previous:
            info["openset"] = _task_ids(table, vocabulary)
        return info

    def _write_vocabularies(self, roles: Roles) -> None:
        folder = self.work / "vocabularies"
        folder.mkdir(exist_ok=True)
        for task in range(1, len(roles.tasks) + 1):
            text = vocabulary_toml(roles.at(task, f"{self.definition.name} task {task}"))
            (folder / f"task-{task}.toml").write_text(text, "utf-8")

    def _manifest(self, held: _Held, splits: dict[str, Any]) -> dict[str, Any]:
        from openset.version import __version__

        definition, unified = self.definition, held.unified
        sources = {
            key: {
                "path": path.relative_to(self.folder).as_posix(),
                "sha256": self.identity["sources"][key],
                "licence": definition.sources[key].licence,
                "images": len(unified.tables[key].images),
                "boxes": len(unified.tables[key]),
                "unsized": unsized(unified.tables[key]),
                "labels": universe_of(definition, key, unified.tables[key]),
            }
            for key, path in self.paths.items()
        }
        return {
            "schema": SCHEMA,
            "benchmark": definition.name,
            "paper": definition.paper,
            "openset": __version__,
            "identity": self.identity,
            "seed": definition.seed,
            "pretraining": definition.pretraining,
            "classes": held.roles.document(),
            "sources": sources,
            "splits": splits,
            "changed_ids": {
                key: {label: list(ids) for label, ids in changed.items()}
                for key, changed in unified.changed.items()
            },
        }


def _task_ids(table: Annotations, vocabulary: Vocabulary) -> dict[str, list[int]]:
    """Category ids of the classes of earlier tasks and of the current one."""
    assert table.category_id is not None
    ids = dict(zip(map(vocabulary.key, table.labels), table.category_id.tolist(), strict=True))
    groups = {"known_prev": vocabulary.previous, "known_cur": vocabulary.current}
    stated = {
        name: [ids[key] for key in map(vocabulary.key, labels) if key in ids]
        for name, labels in groups.items()
    }
    return {"known": [*stated["known_prev"], *stated["known_cur"]], **stated}


def _wanted(definition: Benchmark) -> tuple[str, ...]:
    """All labels that the definition lists by name."""
    classes = definition.classes
    groups = [*classes.steps(), classes.unknown, classes.ignored]
    listed = [name for group in groups if isinstance(group, list) for name in group]
    return expanded(listed, definition.lists)


def _universe(definition: Benchmark, labels: tuple[str, ...], names: Vocabulary) -> tuple[str, ...]:
    """Labels of the files, and those that sources state although no box has them."""
    stated = [k for key in files.used(definition) for k in universe_of(definition, key, None)]
    there = set(map(names.key, labels))
    return labels + tuple(k for k in dict.fromkeys(stated) if names.key(k) not in there)
