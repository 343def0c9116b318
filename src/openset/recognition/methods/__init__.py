"""Recognition methods: what turns embeddings into logits, an openness and a loss. Needs torch.

One file a method, found by discovery; `table()` lists them. All train on known classes only, and
work on embeddings, so that they fit any network, and the box head of a detector, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from openset.plugins import records
from openset.recognition.methods._spec import Objective, RecognitionMethod, method

__all__ = ["Objective", "RecognitionMethod", "method", "table"]


def table() -> Mapping[str, RecognitionMethod]:
    """Every recognition method, by name."""
    return records(__name__, "recognition method")
