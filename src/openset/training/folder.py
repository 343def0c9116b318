"""The folder of a training: what is in it, and whether it is of this very training.

```
run.json        recipe, labels, data, pictures and versions; once it is done, what was found
checkpoint.pt   the last state; from here a stopped training goes on
log.jsonl       losses, one line per logged step
model.pt        the trained detector, once it is done: openset.detectors.load reads it
```
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from openset.files import clear_leftovers, load_text, replacing
from openset.findings import Finding, InputError, refuse
from openset.nets import weights
from openset.version import __version__

_DAMAGED = "the checkpoint of this training is damaged: a full disk, or a copy that was stopped"
_ANEW = "bring {0} back from a copy; or remove it: the same command then trains from step 0"
_LOST = "a checkpoint was copied here, or the file was deleted"
_ELSEWHERE = "choose another folder, bring the file back, or delete the checkpoint"


class RunFolder:
    """The files of one training."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.checkpoint = self.path / "checkpoint.pt"
        self.model = self.path / "model.pt"
        self.log = self.path / "log.jsonl"
        self.about = self.path / "run.json"

    def claim(self, wanted: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        """Make the folder that of a training; refused if it is another's.

        Args:
            wanted: From `about_run`.
            defaults: Keys of a recipe that an older version did not know, and so did not write.
        """
        clear_leftovers(self.path)
        if self.about.exists():
            held = _parsed(self.about)
            recipe = held.get("recipe")
            held["recipe"] = _plain(defaults) | (recipe if isinstance(recipe, dict) else {})
            held.setdefault("weights", wanted.get("weights"))  # older versions did not say it
            keys = ("recipe", "labels", "data", "start", "weights")
            differs = [key for key in keys if held.get(key) != wanted.get(key)]
            if differs:
                what = _difference(held["recipe"], wanted["recipe"]) or ", ".join(differs)
                message = f"{self.path} holds the training of another {', '.join(differs)}"
                raise refuse("OS609", message, count=len(differs), example=what)
            _refuse_other_pictures(held.get("pictures"), wanted.get("pictures"), self.path)
            return
        if self.checkpoint.exists():
            message = f"{self.path} holds a checkpoint without {self.about.name}: whose is unknown"
            raise refuse(
                "OS609", message, example=self.checkpoint.name, cause=_LOST, fix=_ELSEWHERE
            )
        with replacing(self.about, folder=False) as part:
            part.write_text(json.dumps(wanted, indent=2) + "\n", "utf-8")

    def note(self, findings: Sequence[Finding]) -> None:
        """Write what is to be known of the training into ``run.json``."""
        held = {**_parsed(self.about), "findings": [asdict(one) for one in findings]}
        with replacing(self.about, folder=False) as part:
            part.write_text(json.dumps(held, indent=2) + "\n", "utf-8")

    def save(self, held: Mapping[str, Any]) -> None:
        """Replace the checkpoint, at once."""
        weights.write({**held, "run": self._run()}, self.checkpoint)

    def _run(self) -> Any:
        """Which training the folder is of, as it was written at its start."""
        return _parsed(self.about).get("run") if self.about.exists() else None

    def resume(self, *, cut_log: bool) -> dict[str, Any] | None:
        """The checkpoint, if there is one; one process cuts the log back to it."""
        held = self._read() if self.checkpoint.exists() else None
        if held is not None:
            self._refuse_foreign(held)
        if cut_log:
            self._cut_log(0 if held is None else int(held["step"]))
        return held

    def _read(self) -> dict[str, Any]:
        try:
            return weights.read(self.checkpoint)
        except InputError as error:
            found = error.findings[0]
            raise damaged(self.checkpoint, found.message, found.example) from error

    def _refuse_foreign(self, held: Mapping[str, Any]) -> None:
        step = held.get("step")
        if not isinstance(step, int) or step < 0:
            raise damaged(self.checkpoint, f"{self.checkpoint} is no checkpoint of a training")
        if held.get("run") != self._run():
            message = f"{self.checkpoint} was written by another training than {self.about.name} is"
            raise refuse("OS617", message, example=f"step {step} of {held.get('run')}")

    def logged(self) -> list[dict[str, Any]]:
        """What the log says, line by line."""
        if not self.log.exists():
            return []
        return [row for row in map(_row, load_text(self.log).splitlines()) if row]

    def _cut_log(self, step: int) -> None:
        if not self.log.exists():
            return
        rows = [json.dumps(row) + "\n" for row in self.logged() if row["step"] <= step]
        with replacing(self.log, folder=False) as part:
            part.write_text("".join(rows), "utf-8")


def damaged(checkpoint: Path, message: str, example: str = "") -> InputError:
    """The refusal of a checkpoint from which no training can go on."""
    fix = _ANEW.format(checkpoint)
    return refuse("OS604", message, example=example, cause=_DAMAGED, fix=fix)


def _refuse_other_pictures(held: Any, wanted: Any, folder: Path) -> None:
    """Refuse images whose files changed; an older version did not look at them."""
    if not isinstance(held, dict) or not isinstance(wanted, dict):
        return
    changed = [name for name, digest in wanted.items() if held.get(name) != digest]
    if changed:
        message = f"images are not those that the training in {folder} began with"
        raise refuse("OS613", message, count=len(changed), example=f"{changed[0]}, or one after it")


def _row(line: str) -> dict[str, Any] | None:
    """A line of the log, if it is one; the last may be cut off."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        return None
    return row if isinstance(row, dict) and isinstance(row.get("step"), int) else None


def about_run(
    recipe: Mapping[str, Any], labels: Sequence[str], data: Any, start: str = "", **more: Any
) -> dict[str, Any]:
    """What ``run.json`` says: recipe, labels and a fingerprint of the data are the training.

    So is `start`, the hash of the model it starts from, if there is one. Checkpoints repeat the
    hash of these, so that one of another training is told apart.
    """
    import hashlib

    import torch

    versions = {"openset": __version__, "torch": str(torch.__version__)}
    training = {"recipe": recipe, "labels": list(labels), "data": data}
    training |= {"start": start} if start else {}
    run = hashlib.sha256(json.dumps(training, sort_keys=True).encode()).hexdigest()[:16]
    return _plain({**training, **more, "versions": versions, "run": run})


def _plain(held: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON gives it back."""
    plain: dict[str, Any] = json.loads(json.dumps(held))
    return plain


def _parsed(path: Path) -> dict[str, Any]:
    try:
        held = json.loads(load_text(path))
    except json.JSONDecodeError as error:
        raise refuse("OS609", f"{path} cannot be read: {error}") from error
    return held if isinstance(held, dict) else {}


def _difference(held: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    changed = [key for key in wanted if held.get(key) != wanted[key]]
    return ", ".join(f"{key} was {held.get(key)!r}, now {wanted[key]!r}" for key in changed)
