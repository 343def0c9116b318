"""ResultFolder: results of several models in one folder, readable without us.

An index, JSON of a versioned schema, names the files of every model, and their checksums: what was
changed or exchanged since is refused (OS427). One of them is
``<name>.result.json``: its numbers with every resample, so that `compare` is paired. The folder
appears whole or not at all, and gives way to a later one of its kind, never to anything else; one
that was made of something else is said (OS125). Names of models may be anything: file names are
made from them and stay inside the folder.

Not what else a kind of folder holds: that of detectors is a `Run`, that of classifiers
`openset.recognition.folder`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from openset.evaluation.result import Evaluation
from openset.evaluation.trainings import named_together
from openset.files import (
    clear_leftovers,
    digest,
    file_stems,
    note_read,
    note_replaced,
    replacing,
    safe_name,
    target_of,
)
from openset.findings import UsageError, refuse
from openset.json_text import plain
from openset.version import __version__
from openset.wording import some

E = TypeVar("E", bound=Evaluation)
RESULT = ".result.json"
FILES = "files"  # the key of the index that holds the checksum of every file
OF = "made_of"  # the key of the index that says of what inputs the result of every model is
_UNASKED = {"command", "truth_findings"}  # what else an index says which is no option
_OF_PAGES = {".css", ".jpg", ".pdf", ".png", ".svg"}
_FILES = {".json", ".html", ".csv", ".npz", ".parquet"}


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """A kind of folder.

    Attributes:
        what: What it holds, in a word or two.
        index: Name of the index.
        schema: Schema of the index.
        fix: What writes such a folder.
        parts: Names of what else is part of it.
        beside: Names of what else it may hold.
        endings: How files of a model end, after its stem.
    """

    what: str
    index: str
    schema: str
    fix: str
    parts: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    endings: tuple[str, ...] = (RESULT,)

    def save(self, folder: Path, write: Callable[[Path], None]) -> Path:
        """Fill a folder by `write`; an earlier one in the same place gives way to it."""
        earlier = self.refuse_other(folder)
        before = self.read(folder) if earlier else {}
        with replacing(folder, folder=True, empty=not earlier) as new:
            self._fill(new, write)
            differs = _differing(before, self.read(new)) if earlier else []
        if differs:
            command = before.get("command") or "an earlier call"
            note_replaced(
                f"replaced the {self.what} in {folder}, which differs in {', '.join(differs)} "
                f"({some([*before['models']], 3)}), made by: {command}"
            )
        return folder

    def _fill(self, new: Path, write: Callable[[Path], None]) -> None:
        """Write everything, and last into the index which bytes belong together."""
        new.mkdir()
        write(new)
        index = new / self.index
        document = json.loads(index.read_text("utf-8"))
        files = {path.name: digest(path) for path in sorted(new.iterdir()) if path != index}
        document |= {FILES: {self.index: _own_digest(document), **files}}
        index.write_text(json.dumps(document, indent=1) + "\n", "utf-8")

    def verify(self, folder: Path, only: str = "") -> None:
        """Refuse files that are not the ones that were written together.

        Args:
            folder: A folder of this kind.
            only: One file, if not all; nothing is said of one that is not part of the folder.
        """
        document = self.read(folder)
        every = [stem + end for stem in document["models"].values() for end in self.endings]
        wanted = [name for name in (self.index, *self.parts, *every) if only in ("", name)]
        held = document.get(FILES)
        held = held if isinstance(held, dict) else {}
        found = {
            name: digest(folder / name)
            for name in wanted
            if name != self.index and (folder / name).is_file()
        } | {self.index: _own_digest(document)}
        wrong = [name for name in wanted if found.get(name, "") != held.get(name)]
        if wrong:
            lost = [name for name in wrong if not (folder / name).is_file()]
            if lost == wrong:
                self._refuse_lost(folder, lost)
            several = len(wanted) > 1
            many = f"{len(wrong)} of {len(wanted)} files" if several else "a file"
            others = "are not those that were" if several else "is not the one that was"
            raise refuse(
                "OS427",
                f"{many} of the {self.what} in {folder} {others} written with it: "
                f"{', '.join(wrong[:5])}",
                count=len(wrong),
                example=str(folder / wrong[0]),
                fix=f"restore the files, or {self.fix} -o {folder}",
            )

    def _refuse_lost(self, folder: Path, names: Sequence[str]) -> None:
        """Refuse a folder that was copied in part."""
        raise refuse(
            "OS427",
            f"{some(names, 5)} of the {self.what} in {folder} {'is' if len(names) == 1 else 'are'} "
            "not there",
            count=len(names),
            example=str(folder / names[0]),
            cause="the folder was copied in part, or a .gitignore or a filter left files out",
            fix=f"copy all files of the folder, or {self.fix} -o {folder}",
        )

    def refuse_other(self, folder: Path) -> bool:
        """Whether there is an earlier one, and nothing else; refused if there is anything else."""
        target_of(folder, folder=True, empty=False)
        clear_leftovers(folder)
        if folder.suffix in _FILES and not folder.exists():
            raise UsageError(f"{folder} is to be a folder, and has the name of a file")
        if not self.is_in(folder):
            if folder.exists() and any(folder.iterdir()):
                message = f"{folder} holds something else than a {self.what}; choose another folder"
                raise UsageError(message)
            return False
        stems = self.read(folder)["models"].values()
        ours = {
            self.index,
            *self.parts,
            *self.beside,
            *(stem + end for stem in stems for end in self.endings),
        }
        others = sorted(_others(folder, ours))
        if others:
            raise UsageError(
                f"{folder} holds an earlier {self.what} and {others[0]!r}, which is not part of it;"
                " move that away, or choose another folder"
            )
        return True

    def is_in(self, folder: Path) -> bool:
        """Whether a folder has such an index."""
        return (folder / self.index).is_file()

    def write(
        self, folder: Path, results: Mapping[str, Evaluation], about: Mapping[str, Any]
    ) -> dict[str, str]:
        """Write the index and the results into a folder.

        Args:
            folder: An empty folder, such as `save` gives.
            results: The result of each model, by name.
            about: What else the index says.

        Returns:
            The stem of each model's files.
        """
        stems = file_stems(results)
        of = {name: _made_of(one, about) for name, one in results.items()}
        document = {"schema": self.schema, "version": __version__, **about, "models": stems, OF: of}
        (folder / self.index).write_text(json.dumps(plain(document), indent=1) + "\n", "utf-8")
        for name, stem in stems.items():
            results[name].to_json(folder / (stem + RESULT), replicates=True)
        return stems

    def read(self, folder: Path) -> dict[str, Any]:
        """What the index says, refused if it is not of the schema."""
        path = folder / self.index
        try:
            document = json.loads(path.read_text("utf-8"))
            note_read(path)
        except (FileNotFoundError, NotADirectoryError) as error:
            file = folder.is_file()
            inner = next(
                (folder.parent if file else folder).glob(self.index if file else f"*/{self.index}"),
                None,
            )
            raise refuse(
                "OS101",
                f"no {self.what} in {folder}: {self.index} is missing",
                cause="the folder was not written by an evaluation",
                fix=f"give {inner.parent}"
                if inner
                else f"{self.fix} -o {'FOLDER' if file else folder}",
            ) from error
        except (OSError, ValueError, RecursionError) as error:
            raise refuse("OS114", f"cannot read {path}: {error}") from error
        held = document.get("schema") if isinstance(document, dict) else None
        models = document.get("models") if isinstance(document, dict) else None
        if held != self.schema or not isinstance(models, dict):
            said = f"{path} is not a {self.what} of schema {self.schema}: {str(held)[:80]!r}"
            raise refuse("OS114", said)
        return {**document, "models": {name: safe_name(str(stem)) for name, stem in models.items()}}

    def files(self, folder: Path) -> dict[str, list[Path]]:
        """The files with the results of every method's trainings, by its name."""
        index = self.read(folder)
        stems, trainings = index["models"], index.get("trainings") or {}
        return {
            method: [folder / (stems[name] + RESULT) for name in names]
            for method, names in named_together(stems, trainings).items()
        }

    def results(self, folder: Path, kind: type[E]) -> dict[str, E]:
        """The result of each model, as it was written; `verify` says whether it was."""
        stems = self.read(folder)["models"]
        return {name: kind.from_json(folder / (stem + RESULT)) for name, stem in stems.items()}


def _others(folder: Path, ours: Collection[str]) -> Iterator[str]:
    """What is in a folder and no part of it; of the folders of a page, what is no picture."""
    for path in folder.iterdir():
        if path.name not in ours:
            yield path.name
        elif path.is_dir():
            inside = (p for p in path.rglob("*") if p.is_dir() or p.suffix not in _OF_PAGES)
            yield from (str(p.relative_to(folder)) for p in inside)


def _made_of(result: Evaluation, about: Mapping[str, Any]) -> dict[str, str]:
    """What a result was made of, in hashes: names of files may be others of the same content."""
    held = result.provenance
    of_inputs = {"version", "inputs", "counts", "truth_hash", "detections_hash"}
    options = {key: value for key, value in asdict(held).items() if key not in of_inputs}
    others = {key: value for key, value in about.items() if key not in _UNASKED}
    return {
        "ground truth": held.truth_hash,
        "detections": held.detections_hash,
        "options": _hash({**options, **others, "metrics": list(result.values)}),
    }


def _differing(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In what two folders of a kind differ, in words; nothing if they hold the same."""
    old, new = before.get(OF), now[OF]
    if not isinstance(old, dict) or old.keys() != new.keys():
        return ["the models"]
    kinds = {kind: None for one in new.values() for kind in one}
    differ = [kind for kind in kinds if any(new[n][kind] != old[n].get(kind) for n in new)]
    # Results name their inputs, which may be copies; tables are the same if their bytes are.
    held, tables = (
        before.get(FILES) or {},
        {k: v for k, v in now[FILES].items() if ".json" not in k},
    )
    return differ or ["its boxes"] * any(held.get(name) != tables[name] for name in tables)


def _own_digest(document: Mapping[str, Any]) -> str:
    """The SHA-256 of what an index says beside its checksums."""
    return _hash({key: value for key, value in document.items() if key != FILES})


def _hash(said: Mapping[str, Any]) -> str:
    import hashlib

    return hashlib.sha256(json.dumps(plain(said), sort_keys=True).encode()).hexdigest()
