"""Divergence: a step that fails because its numbers are no numbers any more.

Losses are looked at where they are logged. Between two lines of the log boxes that are NaN may stop
a step first, in whatever meets them first: a pooling, a matching, an allocation. Its own error says
nothing that helps, so the numbers are looked at then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from openset.findings import OpenSetError, refuse


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
