"""similarity: how near the OOD sets of a benchmark are to its known classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.cli._terminal import width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openset.benchmarks.similarity import Nearness

app = verb("similarity", panel="Data")


@app.default
def similarity(
    benchmark: Path,
    /,
    *,
    wordnet: Path | None = None,
    synsets: Path | None = None,
    embeddings: Path | None = None,
    top: int = 20,
    output: Output = Output(),  # noqa: B008 - frozen
) -> Answer:
    """Say how near the OOD sets of a benchmark are to what detectors were taught, tier by tier.

    By classes, in WordNet: the mean over known classes of the similarity to the most similar class
    of the set. By images: the mean over its images of the largest cosine to an ID image.

    Args:
        benchmark: A folder that openset build made.
        wordnet: The file data.noun of WordNet 3.0.
        synsets: A TOML file with the synsets of classes that are not of COCO: dodo = "01812337".
        embeddings: An .npz file with names (file-name stems) and embedding (one row each).
        top: How many classes of a set count, those with the most boxes.
        output: How to speak.
    """
    from dataclasses import asdict

    from openset.benchmarks.bundle import of_folder
    from openset.benchmarks.similarity import Look
    from openset.benchmarks.similarity import similarity as measured
    from openset.files import load_text, toml
    from openset.findings import UsageError

    if wordnet is None and embeddings is None:
        raise UsageError("give --wordnet data.noun, --embeddings FILE.npz, or both")
    own = {} if synsets is None else toml(load_text(synsets))
    found = measured(of_folder(benchmark), Look(wordnet, own, embeddings, top))
    return Answer(_text(found), lambda: {"sets": [asdict(one) for one in found]})


def _text(found: Sequence[Nearness]) -> str:
    from openset.render import Table

    header = ("set", "images", "classes", "Wu-Palmer", "path", "cosine")
    rows = tuple(
        (one.name, str(one.images), str(len(one.classes)), *map(_number, _values(one)))
        for one in found
    )
    return Table(header, rows).text(width())


def _values(one: Nearness) -> tuple[float | None, ...]:
    return one.wu_palmer, one.path, one.cosine


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
