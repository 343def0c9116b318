"""evaluate: one detector on one benchmark, in one shot.

What `evaluate_all` does, less the tables: they are gone before anything is measured, so that large
files take the memory of their matches only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openset.evaluation.reading import Input, Reading, are_parts
from openset.evaluation.settings import Settings, takes_settings

if TYPE_CHECKING:
    from openset.engines import Engine
    from openset.evaluation.result import Evaluation


@takes_settings
def evaluate(
    gt: Input,
    dt: Input,
    *,
    engine: Engine | None = None,
    lean: bool = False,
    settings: Settings | None = None,
    **options: Any,
) -> Evaluation:
    """Evaluate detections against ground truth.

    Args:
        gt: Ground truth: a file or folder in any known format, a table, or torchvision targets; or
            a `Pair` of such, of an in-distribution and an out-of-distribution set.
        dt: Detections, likewise.
        engine: Where parts are matched, if `dt` is a folder of parts (`openset.engines.find`).
        lean: Whether matches of parts hold what metrics read, in a quarter of the memory, and
            nothing for diagnosis.
        settings: Options made before, which those given by name change.
        **options: What `Settings` holds, by name.

    Returns:
        The numbers, with protocol, provenance and findings.

    Raises:
        InputError: When an input cannot be used; the findings say why.
        UsageError: When an option cannot be meant.
    """
    asked = Settings.of(settings, options)
    if engine is not None or are_parts([dt]):
        return _in_parts(gt, dt, asked, engine, lean)
    reading = Reading(gt, {"": dt}, asked.class_names)
    # Imported while the files are being read: it takes as long.
    from openset.evaluation.run import examine_all
    from openset.evaluation.steps import evaluation_of

    # Of the two only the matches stay, which hold all that metrics need.
    (matched,) = examine_all(reading, asked)[1].values()
    return evaluation_of(matched, asked)


def _in_parts(
    gt: Input, dt: Input, settings: Settings, engine: Engine | None, lean: bool
) -> Evaluation:
    from openset.engines import beside
    from openset.evaluation.run import examined
    from openset.evaluation.steps import evaluation_of

    (matched,) = examined(gt, {"": dt}, settings, engine, lean=lean)[1].values()
    return evaluation_of(matched, settings, engine=beside(engine))
