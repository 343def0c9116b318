"""What `openset learn` and `openset train` may change of a recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from openset.findings import UsageError

if TYPE_CHECKING:
    from openset.training import Recipe


def _help(text: str) -> Parameter:
    return Parameter(help=text)


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Changes:
    """Options of both verbs; each replaces what the recipe says."""

    batch: Annotated[int | None, _help("Images of a batch, over all processes.")] = None
    seed: Annotated[
        int | None,
        _help("Decides all that is random, from the initial weights on."),
    ] = None
    precision: Annotated[
        str | None,
        _help("float32, bfloat16 or float16; on a CPU float16 is float32."),
    ] = None
    option: Annotated[
        list[str] | None,
        _help("An option of the detector, as name=value, such as pretrained=resnet50.pth."),
    ] = None
    method: Annotated[
        str | None, _help("A name that `openset list methods` shows, trained with the detector.")
    ] = None
    method_option: Annotated[list[str] | None, _help("An option of the method, as name=value.")] = (
        None
    )

    def made(self, source: str) -> Recipe:
        """The recipe of a name or file, with these changes; its detector can be trained here."""
        from openset.cli._inputs import option_pairs
        from openset.detectors import find
        from openset.plugins import check_installed
        from openset.training import Recipe

        if Path(source).is_dir():
            raise UsageError(
                f"{source} is a folder, and no recipe: openset train RECIPE DATA -o DIR"
            )
        given = {
            "options": option_pairs(self.option),
            "method": self.method,
            "method_options": option_pairs(self.method_option, "--method-option"),
            "batch": self.batch,
            "seed": self.seed,
            "precision": self.precision,
        }
        recipe = Recipe.of(source, **{k: v for k, v in given.items() if v is not None})
        check_installed(f"recipe {source!r}", find(recipe.detector).requires)
        return recipe
