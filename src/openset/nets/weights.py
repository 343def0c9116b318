"""Weights: read, checked and written without ever unpickling an object.

Files are read with ``weights_only=True``: a checkpoint that would run code on loading is refused
(OS604), not loaded. A file may hold a state dictionary, or one under ``model`` or ``state_dict``.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from openset.files import replacing
from openset.findings import InputError, UsageError, refuse

Weights = dict[str, Tensor]
_COUNTER = "num_batches_tracked"
_NESTED = ("model", "state_dict", "model_state_dict")


def read(path: str | Path) -> dict[str, Any]:
    """The tensors and plain values of a checkpoint, or of a ``.safetensors`` file."""
    where = Path(path)
    if not where.is_file():
        raise refuse("OS101", f"no such file: {where}")
    try:
        if where.suffix == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(where))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about pickles, which are refused anyway
            held = torch.load(where, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise (_refused_text(where) if _is_text(where) else _unsafe(where, error)) from error
    except Exception as error:  # damaged bytes surface as nearly any exception of the reader
        raise refuse("OS604", f"{where} cannot be read", example=_first_line(error)) from error
    if not isinstance(held, dict):
        raise refuse("OS604", f"{where} holds a {type(held).__name__}, not weights")
    return held


def read_state(path: str | Path) -> Weights:
    """The state dictionary in a file."""
    return state_in(read(path), path)


def state_in(held: Mapping[str, Any], where: str | Path) -> Weights:
    """The state dictionary in what a file holds."""
    inner = next((held[key] for key in _NESTED if isinstance(held.get(key), dict)), held)
    state = {name: value for name, value in inner.items() if isinstance(value, Tensor)}
    if not state:
        raise refuse("OS604", f"{where} holds no weights", example=", ".join(map(str, held)))
    return state


def load_into(module: nn.Module, state: Mapping[str, Tensor], where: str | Path) -> None:
    """Copy weights into a module; every name and shape must be the module's."""
    own = module.state_dict()
    # A frozen batch norm does not count batches; files of a plain one do, and the reverse.
    names, given = ({n for n in held if not n.endswith(_COUNTER)} for held in (own, state))
    problems = [f"{name} is not in the file" for name in sorted(names - given)]
    problems += [f"{name} is not in the model" for name in sorted(given - names)]
    problems += [
        f"{name} is {tuple(state[name].shape)} in the file, {tuple(own[name].shape)} in the model"
        for name in sorted(names & given)
        if state[name].shape != own[name].shape
    ]
    if problems:
        _refuse_quantised(state, where)
        message = f"{where} does not fit: {len(problems)} weights differ"
        raise refuse("OS605", message, count=len(problems), example=problems[0])
    refuse_not_finite(state, where)
    module.load_state_dict({name: state.get(name, value) for name, value in own.items()})


def _refuse_quantised(state: Mapping[str, Tensor], where: str | Path) -> None:
    """Weights as small integers, with the scales that make numbers of them elsewhere."""
    whole = [n for n, v in state.items() if v.dtype in (torch.int8, torch.uint8) and v.ndim > 1]
    if whole:
        raise refuse(
            "OS605",
            f"{len(whole)} of {len(state)} weights of {where} are integers of 8 bits",
            count=len(whole),
            example=whole[0],
            cause="they were quantised; what they mean, scales beside them say",
            fix="multiply by the scales, and save float32 weights under the model's names",
        )


def refuse_not_finite(state: Mapping[str, Tensor], where: str | Path) -> None:
    """Refuse weights that are NaN or infinite."""
    bad = [n for n, v in state.items() if v.is_floating_point() and not torch.isfinite(v).all()]
    if bad:
        message = f"{len(bad)} of {len(state)} weights of {where} are NaN or infinite"
        raise refuse("OS614", message, count=len(bad), example=bad[0])


def write(held: Mapping[str, Any], path: str | Path) -> None:
    """Write tensors and plain values; the file appears whole or not at all."""
    with replacing(Path(path), folder=False) as part:
        torch.save(dict(held), part)


def write_model(model: Any, path: str | Path) -> None:
    """Write a model's weights, with what it takes to build it again."""
    if not isinstance(getattr(model, "network", None), nn.Module):
        raise UsageError(f"only torch models can be saved, not {type(model).__name__}")
    held = identity(model)
    pictures = getattr(model, "pictures", None)
    if pictures is not None:
        held["openset"]["pictures"] = torch.from_numpy(pictures)
    write({**held, "model": model.network.state_dict()}, path)


def identity(model: Any) -> dict[str, Any]:
    """What it takes to build a model again, beside its weights."""
    return {"openset": {**model.about, "labels": list(model.labels)}}


def read_model(path: str | Path) -> tuple[dict[str, Any], Weights]:
    """What `write_model` has written: detector, options and labels; and the weights."""
    held = read(path)
    about = held.get("openset")
    if "step" in held:  # the weights of one step; of a recipe with a running mean not what it makes
        raise refuse(
            "OS604",
            f"{path} is the checkpoint of a training, at step {held['step']}, and no model",
            cause="checkpoint.pt was given in place of model.pt",
            fix="give the folder, or its model.pt; where there is none yet, the same openset train "
            "command goes on and writes it",
        )
    if not isinstance(about, dict) or not {"detector", "options", "labels"} <= about.keys():
        raise refuse(
            "OS604",
            f"{path} does not say which detector it is",
            cause="weights of another library, or a plain state dictionary",
            fix="build the detector by name and pass the file as weights=",
        )
    return about, state_in(held, path)


def pictures_in(about: Mapping[str, Any]) -> NDArray[np.int64] | None:
    """Hashes of the pictures that weights were taught, if their file says them."""
    held = about.get("pictures")
    plain = isinstance(held, Tensor) and held.dtype == torch.int64 and held.ndim == 1
    return held.numpy() if isinstance(held, Tensor) and plain else None


def fingerprint(path: str | Path) -> str:
    """The same as `fingerprint_of`; the bytes of two files of one model may differ."""
    about, state = read_model(path)
    return fingerprint_of(about["labels"], state)


def fingerprint_of(labels: Sequence[str], state: Mapping[str, Tensor]) -> str:
    """A hash of a model's classes and weights."""
    import hashlib

    digest = hashlib.sha256("\0".join(map(str, labels)).encode())
    for name, value in state.items():
        flat = value.detach().cpu().contiguous().flatten()  # NumPy has no bfloat16, but its bytes
        digest.update(name.encode() + flat.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]


def _is_text(path: Path) -> bool:
    with path.open("rb") as stream:
        return all(32 <= byte < 127 or byte in b"\t\r\n" for byte in stream.read(64))


def _refused_text(where: Path) -> InputError:
    return refuse(
        "OS604",
        f"{where} is text, not weights",
        cause="model and data were exchanged, or a page of an error was saved under this name",
        fix="give the model before the data; or get the file anew",
    )


def _unsafe(where: Path, error: Exception) -> InputError:
    return refuse(
        "OS604",
        f"{where} is not a file of plain tensors",
        example=_what_is_in(error),
        cause="a checkpoint with pickled Python objects, which could run code; or a damaged file",
        fix="save the state dictionary alone: torch.save(model.state_dict(), path)",
    )


def _what_is_in(error: Exception) -> str:
    """The object that torch will not unpickle; its first line advises to load it all the same."""
    lines = [line.strip() for line in str(error).splitlines()]
    named = [line for line in lines if "unsupported" in line.lower()]
    return named[0][:200] if named else _first_line(error)


def _first_line(error: Exception) -> str:
    line = str(error).strip().partition("\n")[0][:200]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
