"""Unknownness that is not what its scorer makes of the logits beside it.

A file may keep both, and say in its ledger by which scorer: where columns of two files were put
together, or rows sorted, the numbers are those of other boxes, or of an earlier run.
"""

from __future__ import annotations

import numpy as np

from openset.findings import Finding, InputError, Level
from openset.scorers import ledger
from openset.tables import Detections

_ROWS, _FEWEST = 1000, 50  # boxes that are scored again, and that tell
_NEAR, _MOST = 0.01, 0.5  # of the deviation (half precision changes less), and of boxes


def of_other_logits(found: Detections) -> Finding | None:
    """OS516, if most unknownness is other than the scorer of the ledger makes of the logits.

    Asked of scorers alone that fit nothing and read logits only. What rules decide by a scorer of
    the same name is another thing, and has no options of a scorer.
    """
    from openset.scorers import table

    scored = [one for one in ledger.entries(found) if one.step == "score"]
    if found.logits is None or found.unknownness is None or not scored:
        return None
    last = scored[-1]
    record = table().get(last.name)
    if record is None or record.fits_on != "nothing" or set(record.requires) != {"logits"}:
        return None
    rows = np.arange(0, len(found), max(1, len(found) // _ROWS))
    if set(last.options) != set(record.options) or not record.rowwise or len(rows) < _FEWEST:
        return None
    few = found.select(rows)
    assert few.unknownness is not None
    try:
        again = record.fit(**last.options).score(few)
    except InputError:  # logits that no scorer can read are said elsewhere
        return None
    off = np.abs(again - few.unknownness) > _NEAR * max(float(again.std()), 1e-9)
    if off.mean() <= _MOST:
        return None
    at, many = int(off.argmax()), int(off.sum())
    said = f"unknownness of {many} of {len(rows)} detections is not what {last.name} makes of their"
    example = f"{few.unknownness[at]:.4g}, and {again[at]:.4g} by its logits"
    return Finding("OS516", Level.ERROR, f"{said} logits", many, example)
