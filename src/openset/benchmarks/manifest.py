"""Manifest: what a built benchmark says of itself, in ``bundle.json`` and its vocabularies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np

from openset.benchmarks.definition import TESTS, Benchmark, Group, Kind, Some, Split
from openset.benchmarks.pool import expanded, in_both
from openset.files import digest, safe_name
from openset.findings import Finding, InputError, Level, refuse
from openset.tables import Annotations, Vocabulary
from openset.tables.vocabulary import Role

SCHEMA = 1
MANIFEST = "bundle.json"
_SHOWN = 5  # files that are named


class _Classes(msgspec.Struct):
    tasks: list[list[str]]
    unknown: list[str]
    ignored: list[str]
    rest: Literal["unknown", "ignored"]
    synonyms: list[Some]


class _Source(msgspec.Struct):
    labels: list[str]


class _Split(msgspec.Struct):
    kind: Kind
    task: Annotated[int, msgspec.Meta(ge=1)]
    keep: list[Group]
    file: str
    images: int
    dropped: dict[str, int]
    expect: dict[str, int]


class _Manifest(msgspec.Struct):
    """What must be in a manifest to be read again; there is more for people."""

    benchmark: str
    identity: dict[str, Any]
    classes: _Classes
    sources: dict[str, _Source]
    splits: dict[str, _Split]
    pretraining: list[str] | None


def lost_splits(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Files of splits that were built and are not there any more."""
    files = [str(about["file"]) for about in manifest["splits"].values()]
    return [file for file in files if not (folder / safe_name(file)).is_file()]


def edited_splits(folder: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Files of splits whose bytes are not those that were built; lost ones are none of them."""
    stated = {about["file"]: about.get("sha256", "") for about in manifest["splits"].values()}
    there = {file: safe_name(file) for file in stated if (folder / safe_name(file)).is_file()}
    return [file for file, name in there.items() if stated[file] not in ("", digest(folder / name))]


def command_of(name: str, folder: Path) -> str:
    """The command that builds a benchmark; one of somebody's own has a TOML file somewhere."""
    from openset.benchmarks import files

    what = name if name.partition(":")[0] in files() else f"{name}.toml"
    return f"openset build {what} --source DIR -o {folder}"


def edited(folder: Path, manifest: Mapping[str, Any]) -> tuple[Finding, ...]:
    """OS919, if files of a benchmark that was built were changed since."""
    files = edited_splits(folder, manifest)
    if not files:
        return ()
    said = f"{len(files)} of {len(manifest['splits'])} splits of {folder} have other bytes than "
    said += f"were built: {', '.join(files[:_SHOWN])}{' ...' * (len(files) > _SHOWN)}"
    return (
        Finding(
            "OS919",
            Level.WARNING,
            said,
            len(files),
            files[0],
            fix=mending(files, command_of(manifest["benchmark"], folder)),
        ),
    )


def mending(files: Sequence[str], command: str) -> str:
    """How to have edited splits again as they were built, and keep what is there."""
    what = files[0] if len(files) == 1 else "these files"
    them = "it is" if len(files) == 1 else "they are"
    return f"move {what} elsewhere, and {them} made again by: {command}"


def edited_since(path: Path) -> tuple[Finding, ...]:
    """OS919, if a file is of a benchmark that was built, and was changed since."""
    folder = path.parent
    try:
        manifest = read_manifest(folder)
    except InputError:  # no benchmark, or one that nothing can be said of
        return ()
    held = {k: v for k, v in manifest["splits"].items() if v["file"] == path.name}
    return edited(folder, {**manifest, "splits": held})


def read_manifest(folder: Path) -> dict[str, Any]:
    """What ``bundle.json`` says."""
    from openset.files import load as load_bytes
    from openset.json_text import decode

    data = load_bytes(folder / MANIFEST)
    try:
        document = decode(data, str(folder / MANIFEST))
    except InputError as error:
        raise _damaged(folder, f"is damaged: {error.findings[0].message}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise _damaged(folder, "is not of a benchmark built by this version")
    try:
        msgspec.convert(document, _Manifest)
    except msgspec.ValidationError as error:
        raise _damaged(folder, f"is damaged: {error}") from error
    return document


def _damaged(folder: Path, why: str) -> InputError:
    """Nothing is built into a folder whose manifest cannot be read: it has to go first."""
    return refuse(
        "OS912",
        f"{folder / MANIFEST} {why}",
        example=MANIFEST,
        cause="edited by hand, cut off, or of another version",
        fix=f"move {folder} elsewhere, and build it again: openset build NAME --source DIR "
        f"-o {folder}",
    )


def universe_of(definition: Benchmark, source: str, table: Annotations | None) -> list[str]:
    """The labels that annotators of a source looked for: stated, else those that it has."""
    stated = expanded(definition.sources[source].labels, definition.lists)
    if stated or table is None:
        return list(stated)
    there = np.bincount(table.label, minlength=len(table.labels)) > 0
    return [label for label, found in zip(table.labels, there, strict=True) if found]


def entry(split: Split, table: Annotations, dropped: dict[str, int]) -> dict[str, Any]:
    """What the manifest says of a split."""
    counts = np.bincount(table.label, minlength=len(table.labels))
    by_role = {role.value: 0 for role in Role}
    for role, count in zip(table.role, counts.tolist(), strict=True):
        by_role[role] += count
    origins = table.images.attributes["source"]
    return {
        "kind": split.kind,
        "task": split.task,
        "keep": list(split.keep),
        "images": len(table.images),
        "boxes": len(table) - by_role[Role.IGNORED],  # those that count, as papers count them
        **by_role,
        "dropped": dropped,
        "sources": {key: int((origins == key).sum()) for key in split.sources},
        "expect": split.expect,
    }


def differences(manifest: dict[str, Any]) -> tuple[Finding, ...]:
    """A warning for every split whose counts are not the published ones."""
    found = []
    for name, held in manifest["splits"].items():
        wrong = {k: v for k, v in held["expect"].items() if held[k] != v}
        if wrong:
            words = ", ".join(f"{held[k]} {k} in place of {v}" for k, v in wrong.items())
            found.append(Finding("OS907", Level.WARNING, f"split {name}: {words}", len(wrong)))
    return tuple(found)


def in_training(
    splits: Mapping[str, Mapping[str, Any]], names: Mapping[str, frozenset[str]]
) -> dict[str, Any]:
    """What a manifest says of tests whose images are in training; nothing if none is."""
    tests = [name for name in splits if splits[name]["kind"] in TESTS]
    trained = [name for name in splits if splits[name]["kind"] in ("train", "finetune")]
    pairs = [(a, b, in_both(names[a], names[b])) for a in tests for b in trained]
    said = [[test, train, count] for test, train, count in pairs if count]
    return {"in_training": said} if said else {}


def tested_and_trained(manifest: Mapping[str, Any]) -> tuple[Finding, ...]:
    """A warning for every test that has images of a training split."""
    splits = manifest["splits"]
    return tuple(
        Finding(
            "OS920",
            Level.WARNING,
            f"{count} of {splits[test]['images']} images of split {test} are in split {train}, "
            "which is trained on",
            count,
            f"{test} and {train}",
            fix=f"add {{ not_in = '{test}' }} to the rules of {train}, behind it in the file; "
            "nothing, if the benchmark was published so",
        )
        for test, train, count in manifest.get("in_training", ())
    )


def renumbered(manifest: dict[str, Any]) -> tuple[Finding, ...]:
    """A finding for every source whose category ids are not those of its file.

    A detector may have learnt the ids of a file that is tested on: that is a warning.
    """
    splits = [held for held in manifest["splits"].values() if held["kind"] in TESTS]
    tested = {name for held in splits for name in held["sources"]}
    found = []
    for name, ids in manifest.get("changed_ids", {}).items():
        label, (old, new) = next(iter(ids.items()))
        found.append(
            Finding(
                "OS320",
                Level.WARNING if name in tested else Level.NOTE,
                f"{len(ids)} labels of source {name} have other category ids than in its file",
                len(ids),
                f"{label}: {old} in the file, {new} here",
            )
        )
    return tuple(found)


def left_out(manifest: dict[str, Any]) -> tuple[Finding, ...]:
    """A warning for every split whose lists name images that the data lack."""
    return tuple(
        Finding(
            "OS915",
            Level.WARNING,
            f"split {name}: {len(held['absent'])} listed images are in no source and left out",
            len(held["absent"]),
            held["absent"][0],
        )
        for name, held in manifest["splits"].items()
        if held.get("absent")
    )


def vocabulary_toml(vocabulary: Vocabulary) -> str:
    """A vocabulary as the TOML file that ``--known`` takes."""
    lines = [f"name = {json.dumps(vocabulary.name)}"]
    lines += [f"tasks = {json.dumps([list(task) for task in vocabulary.tasks])}"]
    lines += [f"unknown = {json.dumps(sorted(vocabulary.unknown))}"]
    lines += [f"ignored = {json.dumps(sorted(vocabulary.ignored))}"]
    lines += [f"rest = {json.dumps(str(vocabulary.rest))}"]
    extra = [list(group) for group in vocabulary.synonyms]
    return "\n".join([*lines, f"synonyms = {json.dumps(extra)}", ""])


def write_json(path: Path, document: Any) -> None:
    """Write JSON so that the file is whole or absent."""
    from openset.files import replacing

    with replacing(path, folder=False) as target:
        target.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
