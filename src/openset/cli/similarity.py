"""similarity: how near the OOD sets of a benchmark are to its known classes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openset.cli._app import verb
from openset.cli._console import Answer, Output
from openset.cli._terminal import width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openset.benchmarks.bundle import Bundle
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
    images: list[Path] | None = None,
    weights: Path | None = None,
    option: list[str] | None = None,
    device: str | None = None,
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
        embeddings: An .npz file with names (file-name stems) and embedding (one row each); made
            and kept here with --images and --weights.
        images: Folders of the pictures, to embed them. Given several times where data sets are
            mixed.
        weights: A local file of a ResNet-50 that embeds them, under torchvision's keys.
        option: An option of that network, as name=value: stride=1x1 for weights of He et al.
        device: Such as cpu or cuda:1; by default a GPU where there is one.
        top: How many classes of a set count, those with the most boxes.
        output: How to speak.
    """
    from dataclasses import asdict

    from openset.benchmarks.bundle import of_folder
    from openset.benchmarks.similarity import Look
    from openset.benchmarks.similarity import similarity as measured
    from openset.files import load_text, toml
    from openset.findings import UsageError

    if (images is None) != (weights is None):
        raise UsageError("pictures are embedded by --images FOLDER and --weights FILE together")
    if wordnet is None and embeddings is None and images is None:
        raise UsageError("give --wordnet data.noun, --embeddings FILE.npz, or both")
    if images is not None and embeddings is None:
        raise UsageError("say where embeddings go: --embeddings FILE.npz")
    own = {} if synsets is None else toml(load_text(synsets))
    bundle = of_folder(benchmark)
    if images is not None and weights is not None and embeddings is not None:
        _embed(bundle, images, embeddings, weights, option, device)
    found = measured(bundle, Look(wordnet, own, embeddings, top))
    return Answer(_text(found), lambda: {"sets": [asdict(one) for one in found]})


def _embed(
    bundle: Bundle,
    folders: list[Path],
    out: Path,
    weights: Path,
    option: list[str] | None,
    device: str | None,
) -> None:
    """Keep the embeddings of the ID and OOD pictures of a benchmark."""
    import numpy as np

    from openset.benchmarks.pool import image_names
    from openset.cli._inputs import option_pairs
    from openset.detectors.embedding import embedded
    from openset.files import replacing
    from openset.nets.pictures import ImageFiles

    held: dict[str, np.ndarray] = {}
    for part in bundle.parts:
        if part.kind in ("id", "ood") and part.table is not None:
            names = image_names(part.table).tolist()
            if not held.keys() >= {*names}:  # a split of tiers has the pictures of others
                files = ImageFiles.of_annotations(part.table, folders)
                rows = embedded(files, weights, device=device, **option_pairs(option))
                held |= dict(zip(names, rows, strict=True))
    with replacing(out, folder=False) as draft, draft.open("wb") as stream:
        np.savez(stream, names=np.array([*held]), embedding=np.stack([*held.values()]))


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
