"""What an open-vocabulary detector is asked beside the known names, so that it can say "unknown".

A baseline that every paper of the open world compares with and that needs no training. Known names
alone leave it no way to say so: FMIYC's rows of OWLv2 find no unknown object for that reason.

- ``objectness``: how much a patch looks like an object, times how little like any known name.
- ``wildcard``: a text for any thing. YOLO-UniOW trains such an embedding on boxes of most classes
  that are unknown later; here it is a word.
- ``distractors``: names of other things (FOMO takes those of ImageNet).
- ``oracle``: the true names of the unknown classes, as in FOMO's own baseline. An upper bound: it
  is told what it must not know, and the ledger says so.

Not attributes from a language model (FOMO), and not an average of templates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from openset.findings import UsageError, refuse
from openset.scorers.ledger import LedgerEntry

if TYPE_CHECKING:
    from torch import Tensor

Reading = Literal["none", "objectness", "wildcard", "distractors", "oracle"]
WILDCARDS = ("object", "a thing")
DISTRACTORS = tuple(
    [
        "goldfish",
        "ostrich",
        "scorpion",
        "tarantula",
        "jellyfish",
        "snail",
        "lobster",
        "flamingo",
        "iguana",
        "beaver",
        "hamster",
        "porcupine",
        "accordion",
        "anchor",
        "balloon",
        "barrel",
        "basketball",
        "bathtub",
        "binoculars",
        "broom",
        "bucket",
        "candle",
        "cannon",
        "cauldron",
        "cradle",
        "drum",
        "envelope",
        "fountain",
        "guitar",
        "hammer",
        "harp",
        "hourglass",
        "lampshade",
        "lawn mower",
        "mailbox",
        "mask",
        "microphone",
        "padlock",
        "parachute",
        "pillow",
        "quilt",
        "radio",
        "screwdriver",
        "shovel",
        "sundial",
        "teapot",
        "thimble",
        "tripod",
        "whistle",
        "windmill",
    ]
)
_LISTS = {"wildcard": WILDCARDS, "distractors": DISTRACTORS}
_SURE = 1e-6  # a probability is kept so far from 0 and 1, so that it has a logit


@dataclass(frozen=True, slots=True)
class Prompts:
    """The texts that patches are compared with.

    Attributes:
        known: Names of the known classes.
        others: Texts that mean "unknown".
        reading: What is unknown.
        template: What a name is put into.
    """

    known: tuple[str, ...]
    others: tuple[str, ...]
    reading: Reading
    template: str

    @classmethod
    def of(
        cls, known: tuple[str, ...], reading: Reading, others: Sequence[str] | None, template: str
    ) -> Prompts:
        """Those of a reading; refused if it has no texts, or texts that are known names."""
        if template.count("{}") != 1:
            raise UsageError(f"template says where the name goes, by one {{}}, not {template!r}")
        asks = reading not in ("none", "objectness")
        if others is not None and not asks:
            raise UsageError(f"unknown={reading!r} compares with no other texts; others= has some")
        texts = tuple(others if others is not None else _LISTS.get(reading, ()))
        if asks and not texts:
            raise UsageError(f"others= says which texts mean unknown, for unknown={reading!r}")
        taken = {name.strip().lower() for name in known}
        same = [text for text in texts if text.strip().lower() in taken]
        if same:
            message = f"{len(same)} of {len(texts)} texts for the unknown are known classes"
            raise refuse("OS655", message, count=len(same), example=same[0])
        return cls(known, texts, reading, template)

    @property
    def says_unknown(self) -> bool:
        """Whether something can be unknown."""
        return self.reading != "none"

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts, those of known classes first; only names are put into the template."""
        wild = self.reading == "wildcard"
        others = self.others if wild else tuple(map(self.template.format, self.others))
        return (*map(self.template.format, self.known), *others)

    def taught(self, detector: str) -> tuple[LedgerEntry, ...]:
        """What the ledger says of a detector that is asked so."""
        oracle = self.reading == "oracle"
        told = ("told the names of unknown classes",) if oracle else ()
        leaks = ("weights that have seen the web", *told)
        asked = {"unknown": self.reading, "texts": list(self.texts), "template": self.template}
        name = detector if not self.says_unknown else f"{detector} ({self.reading})"
        return (LedgerEntry("taught", name, "the web", 0, 0, oracle, asked, leaks),)


def with_unknown(logits: Tensor, objectness: Tensor, prompts: Prompts) -> Tensor:
    """The logits of known names, and that of "unknown" after them.

    Args:
        logits: Of all texts, ``[..., patches, texts]``.
        objectness: Logits of the patches.
        prompts: Which text is which.
    """
    import torch

    if not prompts.says_unknown:
        return logits
    known, others = logits[..., : len(prompts.known)], logits[..., len(prompts.known) :]
    if prompts.reading == "objectness":
        best = known.sigmoid().amax(-1) if known.shape[-1] else torch.zeros_like(objectness)
        share = objectness.sigmoid() * (1 - best)
        return torch.cat([known, torch.logit(share, _SURE)[..., None]], -1)
    return torch.cat([known, others.amax(-1, keepdim=True)], -1)
