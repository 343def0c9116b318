"""Divergence: a step that fails because its numbers are no numbers any more.

Losses are looked at where they are logged. They may be numbers and still say that all is lost: a
network that blew up often dies, and its losses fall again, since it finds nothing any more.

Between two lines of the log boxes that are NaN may stop a step first, in whatever meets them first:
a pooling, a matching, an allocation. Its own error says nothing that helps, so the numbers are
looked at then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from openset.findings import Finding, Level, OpenSetError, refuse

# Times what the untrained network loses. It says every class as often as any other; to lose so much
# more, a network must be sure of what is wrong, far beyond what gradients of such losses ask for.
_EXPLODED = 100.0


def exploded(rows: Sequence[Mapping[str, Any]]) -> Finding | None:
    """OS621, if some loss of a log is far above that of the first step."""
    if not rows or rows[0]["step"] != 1:  # of an older version
        return None
    first = float(rows[0]["loss"])
    high = [row for row in rows if row["loss"] > _EXPLODED * max(first, 1.0)]
    if not high:
        return None
    worst = max(high, key=lambda row: float(row["loss"]))
    part = max((key for key in worst if key.startswith("loss_")), key=lambda key: worst[key])
    said = f"the loss was {worst['loss']:,.0f} at step {worst['step']}, and {first:.3g} at step 1: "
    said += "training has diverged, and what it left may find nothing"
    return Finding("OS621", Level.WARNING, said, len(high), f"{part} {worst[part]:,.0f}")


@contextmanager
def divergence_guard(
    network: nn.Module, step: int, again: Callable[[], Any] | None
) -> Iterator[None]:
    """Turn what fails into a finding, if weights or what layers give are NaN or infinite.

    Args:
        network: What is trained.
        step: Steps that are done.
        again: Makes the losses of the same batch again, so that its layers can be looked at; None
            looks at weights alone, as where other processes would have to take part.
    """
    try:
        yield
    except OpenSetError:
        raise
    except Exception as error:
        full = isinstance(error, MemoryError | torch.OutOfMemoryError)
        bad = _not_finite(network, None if full else again)
        if bad is None:
            raise
        message = f"step {step + 1} failed, since its numbers are not finite"
        raise refuse("OS608", message, example=bad) from error


def _not_finite(network: nn.Module, again: Callable[[], Any] | None) -> str | None:
    """Where the first numbers are that are not finite, if there are any."""
    try:
        for name, weight in network.named_parameters():
            if not torch.isfinite(weight).all():
                return f"weight {name}"
        return None if again is None else _overflown(network, again)
    except RuntimeError:  # a device that has failed answers nothing any more
        return None


def _overflown(network: nn.Module, again: Callable[[], Any]) -> str | None:
    """The first layer with weights whose output is not finite."""
    names = {part: name for name, part in network.named_modules() if [*part.parameters(False)]}
    found: list[str] = []

    def look(part: nn.Module, _given: Any, output: Any) -> None:
        bad = isinstance(output, Tensor) and not torch.isfinite(output).all()
        if bad and part in names:
            found.append(f"output of {names[part]}")

    hook = register_module_forward_hook(look)
    try:
        with torch.no_grad(), torch.compiler.set_stance("force_eager"):
            again()
    except Exception:  # noqa: S110 - it fails as it did before; what it computed until then counts
        pass
    finally:
        hook.remove()
    return found[0] if found else None
