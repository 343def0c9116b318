"""Which golden numbers the tests of detection metrics leave to others, and why."""

import re

from scenes import (  # noqa: F401 - the imports fill the table of rules
    golden_coco,
    golden_diagnosis,
    golden_elephant,
    golden_ood,
    golden_paper,
    golden_traps,
    golden_voc,
)
from scenes.golden import EXPECTED

RECOGNITION = "open-set recognition, compared with these numbers by its own tests"
EXCLUDED = {
    r"_meta": "says with which versions the numbers were made",
    r"osr/.*": RECOGNITION,
    r"P\d.*": RECOGNITION,
    r"trap/(arpl|osr|openauc)/.*": RECOGNITION,
}


AS_IS = "the order of ties depends on NumPy and the CPU; the stable twin is the target"


def excluded(key):
    """Why a key is not tested here, or nothing."""
    for pattern, reason in EXCLUDED.items():
        if re.fullmatch(pattern, key):
            return reason
    return AS_IS if "/as_is/" in key and key.replace("as_is", "stable") in EXPECTED else ""
