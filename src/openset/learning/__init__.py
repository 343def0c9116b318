"""Learning: a detector that goes through the tasks of a benchmark, and what it then forgets.

``learn(bundle_of(folder), Plan(recipe), "out")`` trains on one task after the other, each from the
model of the one before, fine-tunes on exemplars in between, evaluates after each, and goes on where
it was stopped. `through_time` draws what came out.

Not a training loop (`openset.training`), and no method: what a detector does about forgetting and
about the unknown is the method's (`openset.methods`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openset.late import late

if TYPE_CHECKING:
    from openset.learning.chain import Plan, learn
    from openset.learning.figure import through_time
    from openset.learning.stages import Stage, bundle_of, stages_of

__all__ = ["Plan", "Stage", "bundle_of", "learn", "stages_of", "through_time"]
__getattr__ = late(
    __name__,
    {
        "Plan": "chain",
        "Stage": "stages",
        "bundle_of": "stages",
        "learn": "chain",
        "stages_of": "stages",
        "through_time": "figure",
    },
)
