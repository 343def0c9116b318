"""Readers: every reader of files, with a good file for it."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tools.fuzz import encoding, good
from tools.fuzz.damage import Calm, changed, damaged

from openset.findings import InputError, OpenSetError


@dataclass(frozen=True)
class Reader:
    """A reader under test.

    Attributes:
        name: What is printed.
        tree: A good file.
        encode: The files that hold a tree, by name; a ValueError where there are none.
        read: Reads the file or folder.
        refusal: What it may raise.
    """

    name: str
    tree: Any
    encode: Callable[[Any, random.Random], dict[str, bytes]]
    read: Callable[[Path], Any]
    refusal: type[Exception] = InputError

    @cached_property
    def is_folder(self) -> bool:
        """Whether its files make a folder."""
        return set(self.encode(self.tree, Calm())) != {"file"}

    def write(self, folder: Path, rng: random.Random) -> Path:
        """Write a damaged file below a folder, and say where it is."""
        files = self.encode(changed(self.tree, rng), rng)
        if not self.is_folder:
            (folder / "file").write_bytes(damaged(files["file"], rng))
            return folder / "file"
        for name, data in files.items():
            path = (folder / "data" / name).resolve()
            if (folder / "data").resolve() in path.parents:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(damaged(data, rng))
        return folder / "data"


def readers() -> Iterator[Reader]:
    """Every reader, with a good file."""
    from openset import evaluate, formats
    from openset.benchmarks import definition
    from openset.evaluation.learned import Learned
    from openset.evaluation.result import Evaluation
    from openset.formats.openimages import read_descriptions, read_hierarchy
    from openset.formats.sizes_file import read_sizes
    from openset.recognition.reading import read_scores
    from openset.scorers import load_head
    from openset.tables import Vocabulary
    from openset.training.recipe import Recipe

    result = json.loads(evaluate(good.TRUTH, good.RESULTS, intervals=False, force=True).to_json())
    read = _checked(formats.read)
    yield Reader("coco results", good.RESULTS, encoding.json_file, _agreed(read))
    yield Reader("coco evidence", good.EVIDENCE, encoding.json_file, _agreed(read))
    yield Reader("coco truth", good.TRUTH, encoding.json_file, _agreed(read))
    yield Reader("csv detections", good.ROWS, encoding.csv_file, read)
    yield Reader("csv objects", good.OBJECTS, encoding.csv_file, read)
    yield Reader("json lines", good.RESULTS, encoding.json_lines_file, read)
    yield Reader("open images", good.OPEN_IMAGES, encoding.csv_file, read)
    yield Reader("voc objects", {"a.xml": good.XML, "b.xml": good.XML}, encoding.voc_file, read)
    yield Reader(
        "voc results",
        {"comp4_det_test_dog.txt": [["a", 0.5, 1, 2, 3, 4]]},
        encoding.lines_file,
        read,
    )
    yield Reader("yolo objects", good.YOLO, encoding.yolo_file, read)
    yield Reader("yolo results", good.YOLO_FOUND, encoding.yolo_file, read)
    yield Reader("parquet truth", good.PARQUET_TRUTH, encoding.parquet_file, read)
    yield Reader("parquet detections", good.PARQUET_FOUND, encoding.parquet_file, read)
    yield Reader("sizes", good.YOLO["sizes.csv"], encoding.csv_file, read_sizes)
    yield Reader("hierarchy", good.HIERARCHY, encoding.json_file, read_hierarchy)
    yield Reader(
        "descriptions", [["/m/1", "dog"], ["/m/2", "cat"]], encoding.csv_file, read_descriptions
    )
    yield Reader("scores (npz, logits)", good.SCORES, encoding.arrays_file, read_scores)
    yield Reader("scores (npz)", good.OPENNESS, encoding.arrays_file, read_scores)
    yield Reader("scores (csv)", good.SCORE_ROWS, encoding.csv_file, read_scores)
    yield Reader("scores (csv, logits)", good.LOGIT_ROWS, encoding.csv_file, read_scores)
    yield Reader("head", good.ARCHIVE, encoding.arrays_file, load_head)
    yield Reader(
        "vocabulary",
        good.ROLES,
        encoding.toml_file,
        lambda path: Vocabulary.from_file(_named(path, ".toml")),
    )
    yield Reader(
        "recipe",
        good.RECIPE,
        encoding.toml_file,
        lambda path: Recipe.of(_named(path, ".toml")),
        OpenSetError,
    )
    yield Reader(
        "benchmark",
        good.BENCHMARK,
        encoding.toml_file,
        lambda path: definition.load(_named(path, ".toml")),
    )
    yield Reader("result", result, encoding.json_file, Evaluation.from_json)
    manifest, parts = _parts()
    yield Reader("parts", manifest, partial(_with_parts, parts), read)
    yield Reader("class names", ["dog", "cat"], encoding.json_file, _names)
    evidence = {"logits": [[0.1, 0.2]], "layout": "sigmoid", "classes": ["dog", "cat"]}
    yield Reader("evidence", evidence, encoding.arrays_file, _evidence, OpenSetError)
    yield Reader("learned", _chain(), encoding.json_file, Learned.load)


def _parts() -> tuple[dict[str, Any], dict[str, bytes]]:
    """A manifest, and the files beside it."""
    from openset import formats

    with TemporaryDirectory() as folder:
        place = Path(folder) / "found.parts"
        truth = formats.read_annotations(good.TRUTH)
        found = formats.read_detections(good.RESULTS)
        formats.write(found, place, truth=truth, per_part=1)
        files = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    return json.loads(files.pop("manifest.json")), files


def _with_parts(parts: dict[str, bytes], tree: Any, rng: random.Random) -> dict[str, bytes]:
    """A folder of parts; what is damaged is mostly its manifest."""
    return {**parts, **{"manifest.json": encoding.json_file(tree, rng)["file"]}}


def _names(path: Path) -> dict[int, str]:
    from openset.formats.class_names import class_names

    return class_names(_named(path, ".json"))


def _evidence(path: Path) -> Any:
    from openset.tables import Detections
    from openset.tables.evidence import read_evidence, with_evidence

    found = Detections([1], [0], [[0, 0, 9, 9]], [0.9], ("dog", "cat"))
    return with_evidence(found, **read_evidence(path))


def _chain() -> dict[str, Any]:
    from openset.evaluation.learned import Learned, Row

    numbers = {"ap_known": {"value": 0.5, "interval": [0.4, 0.6], "reason": ""}}
    called = {"cat": {"dog": 2}}
    row = Row("t1", 1, False, 3, {"dog": 4}, {"dog": 2}, numbers, {"dog": 0.5}, called=called)
    return Learned("mine", (("dog",), ("cat",)), {"recipe": "x"}, (row,)).document()


def _named(path: Path, ending: str) -> Path:
    return path.rename(path.with_suffix(ending))


def _checked(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Read a table and check it; what was recognised as nothing is read as what it was."""
    from openset import check
    from openset.tables import Annotations, Vocabulary

    def reading(path: Path) -> Any:
        table = read(path)
        if isinstance(table, Annotations):
            check(table, None, Vocabulary.of(["dog"], table))
        return table

    return reading


def _agreed(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Read by both readers, which must say the same."""

    def reading(path: Path) -> Any:
        said: list[Any] = []
        refused = None
        for backend in ("numpy", "native"):
            os.environ["OPENSET_KERNELS"] = backend
            try:
                said.append(_plain(read(path)))
            except InputError as error:
                refused = error
                said.append(str(error))
            finally:
                del os.environ["OPENSET_KERNELS"]
        if said[0] != said[1]:
            raise AssertionError(f"NumPy says {said[0]!s:.500}\ncompiled code {said[1]!s:.500}")
        if refused is not None:
            raise refused
        return said

    return reading


def _plain(value: Any) -> Any:
    """A table as text that two equal ones share."""
    if is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, np.ndarray):
        return str(value.dtype.kind), repr(value.tolist())
    return {k: _plain(v) for k, v in value.items()} if isinstance(value, dict) else repr(value)
