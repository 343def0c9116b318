"""Detectors of transformers: RT-DETR, Deformable DETR, DETR and OWLv2.

A model is made from its configuration with random weights, or read from a local folder as the
library writes it (``config.json`` and ``model.safetensors``); nothing is downloaded. The public
weights of the first three have seen the classes of COCO, and those of OWLv2 much of the web: what
an evaluation calls unknown is not unknown to them.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from openset.detectors._spec import EvidenceName, Model, detector
from openset.detectors._vocabulary import Prompts, Reading
from openset.findings import InputError, UsageError, refuse
from openset.tables import LogitLayout

_NEEDS = ("torch", "torchvision", "transformers")
_QUERY: tuple[EvidenceName, ...] = ("logits", "embedding", "region")
Size = Literal["base", "small"]


@detector(
    "rt_detr",
    title="RT-DETR",
    paper="Zhao et al., DETRs Beat YOLOs on Real-time Object Detection, CVPR 2024",
    framework="transformers",
    keeps=(*_QUERY, "latent"),
    requires=_NEEDS,
    shows=("queries",),
)
def rt_detr(
    labels: tuple[str, ...],
    *,
    device: str | None = None,
    size: Size = "base",
    folder: str | None = None,
    side: int | None = None,
    score: float = 0.05,
) -> Model:
    """Queries that are classified by independent sigmoids; no non-maximum suppression.

    Args:
        labels: The classes.
        device: Where to run.
        size: ``base`` (ResNet-50, 300 queries) or ``small`` (for images of about 128 pixels).
        folder: A local folder with configuration and weights.
        side: Pixels of the square to which images are scaled.
        score: Boxes with a lower score are dropped.
    """
    from transformers import RTDetrConfig, RTDetrForObjectDetection, RTDetrResNetConfig

    from openset.detectors._queries import RTDetr

    if folder is not None:
        network = _stored(RTDetrForObjectDetection, folder, len(labels))
    else:
        body = RTDetrResNetConfig(**_SMALL_BODY) if size == "small" else RTDetrResNetConfig()
        body.out_features = ["stage2", "stage3", "stage4"]
        more: dict[str, Any] = _SMALL_RT_DETR if size == "small" else {}
        config = RTDetrConfig(
            backbone_config=body, freeze_backbone_batch_norms=False, num_labels=len(labels), **more
        )
        network = _full_norms(RTDetrForObjectDetection(config))
    pixels = side or (128 if size == "small" else 640)
    return RTDetr(network, labels, LogitLayout.SIGMOID, device, side=pixels, score=score)


def _full_norms(network: Any) -> Any:
    """Norms that begin with weights of 1, as the paper's code has them.

    The library draws those of encoder and projections around 0, of either sign. That is nothing to
    weights that are loaded; from nothing, the small model found 9 % where it now finds 44 % after
    800 steps (AP of known digits on validation images, the same seed).
    """
    from torch import nn

    for part in network.modules():
        if isinstance(part, nn.BatchNorm2d):
            nn.init.ones_(part.weight)
    return network


_SMALL_BODY = {
    "embedding_size": 32,
    "hidden_sizes": [32, 64, 96, 128],
    "depths": [1, 1, 1, 1],
    "layer_type": "basic",
}
_SMALL_RT_DETR = {
    "encoder_in_channels": [64, 96, 128],
    "encoder_hidden_dim": 64,
    "encoder_ffn_dim": 128,
    "encoder_attention_heads": 4,
    "hidden_expansion": 0.5,
    "d_model": 64,
    "num_queries": 30,
    "decoder_in_channels": [64, 64, 64],
    "decoder_ffn_dim": 128,
    "decoder_layers": 2,
    "decoder_attention_heads": 4,
    "num_denoising": 30,
}


@detector(
    "deformable_detr",
    title="Deformable DETR",
    paper="Zhu et al., Deformable DETR: Deformable Transformers for End-to-End Object Detection, "
    "ICLR 2021",
    framework="transformers",
    keeps=_QUERY,
    requires=_NEEDS,
    shows=("queries",),
)
def deformable_detr(
    labels: tuple[str, ...],
    *,
    device: str | None = None,
    size: Size = "base",
    folder: str | None = None,
    side: int | None = None,
    queries: int | None = None,
    pretrained: str | None = None,
    score: float = 0.05,
) -> Model:
    """Queries that look at a few points of several maps, classified by independent sigmoids.

    One stage, without refinement of boxes. The loss has the library's weights: 1 for classes, where
    the paper has 2.

    Args:
        labels: The classes.
        device: Where to run.
        size: ``base`` (ResNet-50, 300 queries) or ``small`` (for images of about 128 pixels).
        folder: A local folder with configuration and weights.
        side: Pixels of the shortest side of a scaled image.
        queries: Their number, if another.
        pretrained: A local file with the weights of torchvision's ResNet-50, or of DINO's, for the
            backbone of the base model.
        score: Boxes with a lower score are dropped.
    """
    from transformers import DeformableDetrConfig, DeformableDetrForObjectDetection, ResNetConfig

    from openset.detectors._queries import DeformableDetr
    from openset.detectors._resnet_names import load_resnet

    if pretrained and (folder is not None or size == "small"):
        taken = "folder, which has all weights" if folder is not None else "size='small'"
        raise UsageError(f"pretrained is not read beside {taken}: leave one of them out")
    if folder is not None:
        network = _stored(DeformableDetrForObjectDetection, folder, len(labels))
    else:
        body = ResNetConfig(**_SMALL_BODY) if size == "small" else ResNetConfig()
        body.out_features = ["stage2", "stage3", "stage4"]
        more: dict[str, Any] = dict(_SMALL_DETR if size == "small" else {})
        more |= {"num_queries": queries} if queries else {}
        config = DeformableDetrConfig(
            backbone_config=body, num_labels=len(labels), class_cost=2, auxiliary_loss=True, **more
        )
        network = _seldom(DeformableDetrForObjectDetection(config))
        if pretrained:
            load_resnet(network.model.backbone.model, pretrained)
    pixels = side or (128 if size == "small" else 800)
    return DeformableDetr(network, labels, LogitLayout.SIGMOID, device, side=pixels, score=score)


def _seldom(network: Any) -> Any:
    """A class is seldom there: the paper's initial bias of the classifier, which the library lacks.

    A focal loss that starts at even odds is swamped by background.
    """
    from torch import nn

    for layer in network.class_embed:
        nn.init.constant_(layer.bias, -math.log(99))
    return network


@detector(
    "detr",
    title="DETR",
    paper="Carion et al., End-to-End Object Detection with Transformers, ECCV 2020",
    framework="transformers",
    keeps=_QUERY,
    requires=_NEEDS,
)
def detr(
    labels: tuple[str, ...],
    *,
    device: str | None = None,
    size: Size = "base",
    folder: str | None = None,
    side: int | None = None,
    score: float = 0.05,
) -> Model:
    """Queries that are classified by a softmax with a no-object column at the end.

    Options are those of ``rt_detr``; ``side`` is the shortest side of a scaled image.
    """
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

    from openset.detectors._queries import Detr

    if folder is not None:
        network = _stored(DetrForObjectDetection, folder, len(labels))
    else:
        body = ResNetConfig(**_SMALL_BODY) if size == "small" else ResNetConfig()
        body.out_features = ["stage4"]
        more: dict[str, Any] = _SMALL_DETR if size == "small" else {}
        config = DetrConfig(backbone_config=body, num_labels=len(labels), **more)
        network = DetrForObjectDetection(config)
    layout = LogitLayout.SOFTMAX_BACKGROUND_LAST
    pixels = side or (128 if size == "small" else 800)
    return Detr(network, labels, layout, device, side=pixels, score=score)


_SMALL_DETR = {
    "d_model": 64,
    "num_queries": 30,
    "encoder_layers": 1,
    "encoder_ffn_dim": 128,
    "encoder_attention_heads": 4,
    "decoder_layers": 2,
    "decoder_ffn_dim": 128,
    "decoder_attention_heads": 4,
}


@detector(
    "owlv2",
    title="OWLv2",
    paper="Minderer et al., Scaling Open-Vocabulary Object Detection, NeurIPS 2023",
    framework="transformers",
    keeps=("logits", "embedding", "objectness", "region"),
    requires=_NEEDS,
    trainable=False,
)
def owlv2(
    labels: tuple[str, ...],
    *,
    device: str | None = None,
    size: Size = "base",
    folder: str | None = None,
    side: int | None = None,
    score: float = 0.1,
    unknown: Reading = "none",
    others: list[str] | None = None,
    template: str = "{}",
) -> Model:
    """Patches of an image, each compared with the texts of the labels: no training.

    Texts are the bare names, as in FMIYC. Without a folder there is no tokenizer: weights are
    random and texts are bytes, for tests. It can say "unknown" without training, too. The ledger
    states what it was asked, and that its weights have seen the web.

    Args:
        labels: The classes.
        device: Where to run.
        size: ``base`` or ``small``.
        folder: A local folder with configuration, weights and tokenizer.
        side: Pixels of the square to which images are scaled.
        score: Boxes with a lower score are dropped.
        unknown: What is unknown: ``none``; ``objectness``, an object that resembles no known name;
            or what one of `others` describes better than any known name: a ``wildcard`` for any
            thing, ``distractors`` (names of other things), or the ``oracle``, the true names of
            unknown classes, an upper bound that leaks.
        others: These texts; by default "object" and "a thing" for the wildcard, and 50 names of
            ImageNet, none of them in COCO, as distractors.
        template: What a name is put into, such as "a photo of a {}".
    """
    import torch
    from transformers import Owlv2Config, Owlv2ForObjectDetection

    from openset.detectors._queries import Owl

    prompts = Prompts.of(labels, unknown, others, template)
    texts = prompts.texts
    if folder is not None:
        network = _stored(Owlv2ForObjectDetection, folder, None)
        tokens = _tokens(folder, texts, network.config.text_config.max_position_embeddings)
        pixels = side or network.config.vision_config.image_size
    else:
        vision, text = _SMALL_OWL if size == "small" else ({}, {})
        width = text.get("hidden_size", 512)
        config = Owlv2Config(vision_config=vision, text_config=text, projection_dim=width)
        network = Owlv2ForObjectDetection(config)
        rows = [list(text.encode()[:15].ljust(16, b"\0")) for text in texts]
        tokens = {"input_ids": torch.tensor(rows)}
        pixels = config.vision_config.image_size
    given = (network, labels, LogitLayout.SIGMOID, device)
    return Owl(*given, side=pixels, score=score, tokens=tokens, prompts=prompts)


def _tokens(folder: str, texts: Sequence[str], most: int) -> dict[str, Any]:
    """Texts as the tokenizer in a folder has them; one that would be cut short is refused."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        asked = [*texts, "cat", "dog"]  # any tokenizer tells these two apart
        rows = [tuple(row) for row in tokenizer(asked)["input_ids"]]
    except Exception as error:  # its files may be of any library, and damaged anyhow
        raise _no_tokenizer(folder, str(error).partition("\n")[0][:200]) from error
    if len(set(rows)) < len(set(asked)):  # the library makes an empty one of no files at all
        by_tokens = dict(zip(rows, asked, strict=True))
        one = next(text for row, text in zip(rows, asked, strict=True) if by_tokens[row] != text)
        raise _no_tokenizer(folder, f"{one!r} is the same to it as another text")
    longest = max(range(len(texts)), key=lambda at: len(rows[at]))
    if len(rows[longest]) > most:
        raise UsageError(
            f"the text {texts[longest]!r} has {len(rows[longest])} tokens, and the model reads "
            f"{most}: a shorter template, or a shorter name"
        )
    given = {"padding": "max_length", "max_length": most, "return_tensors": "pt"}
    return dict(tokenizer(list(texts), **given))


def _no_tokenizer(folder: str, example: str) -> InputError:
    return refuse(
        "OS604",
        f"{folder} has no tokenizer that can be used",
        example=example,
        cause="weights that were saved without their tokenizer",
        fix=f"save it beside them: tokenizer.save_pretrained({folder!r})",
    )


_SMALL_OWL: tuple[dict[str, Any], dict[str, Any]] = (
    {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "image_size": 64}
    | {"num_attention_heads": 2, "patch_size": 16},
    {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "vocab_size": 256}
    | {"num_attention_heads": 2, "bos_token_id": 1, "eos_token_id": 2},
)


def names_in(folder: Path) -> tuple[str, ...] | None:
    """The classes that a stored model names in its configuration, None if it only numbers them.

    Where several have one name (DETR's COCO has eleven ``N/A``), it is followed by their number.
    """
    try:
        said = json.loads((folder / "config.json").read_text("utf-8"))["id2label"]
        names = [str(said[str(at)]) for at in range(len(said))]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not names or all(name == f"LABEL_{at}" for at, name in enumerate(names)):
        return None
    times = Counter(names)
    return tuple(name if times[name] == 1 else f"{name} {at}" for at, name in enumerate(names))


def _stored(kind: Any, folder: str, classes: int | None) -> Any:
    """A model from a local folder; only safetensors, never a pickle."""
    if not (Path(folder) / "config.json").is_file():
        raise refuse("OS101", f"{folder} is no folder with a config.json")
    try:
        network = kind.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    except (OSError, ValueError, RuntimeError) as error:
        example = str(error).partition("\n")[0]
        raise refuse("OS604", f"{folder} cannot be read", example=example) from error
    if classes is not None and network.config.num_labels != classes:
        raise UsageError(f"{folder} has {network.config.num_labels} classes, not {classes}")
    return network
