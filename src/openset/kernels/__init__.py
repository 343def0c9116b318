"""Kernels: sorting, matching, accumulating, resampling and reading, on plain columns.

Each has a compiled form and a NumPy twin with the same results, bit for bit; `backend` says which
one runs. Nothing here knows what the columns mean to a metric.
"""

from __future__ import annotations

from openset.kernels._library import backend, threads
from openset.kernels.accumulate import PrecisionRecall, accumulate
from openset.kernels.match import BoxColumns, DetectionColumns, MatchColumns, ObjectColumns, match
from openset.kernels.operating_points import operating_points
from openset.kernels.order import class_order
from openset.kernels.ranked import Asked, Levels, ranked
from openset.kernels.read import ReadError, ResultColumns, TruthColumns, read_results, read_truth
from openset.kernels.resample import weighted_average_precision
from openset.kernels.take import take

__all__ = [
    "Asked",
    "BoxColumns",
    "DetectionColumns",
    "Levels",
    "MatchColumns",
    "ObjectColumns",
    "PrecisionRecall",
    "ReadError",
    "ResultColumns",
    "TruthColumns",
    "accumulate",
    "backend",
    "class_order",
    "match",
    "operating_points",
    "ranked",
    "read_results",
    "read_truth",
    "take",
    "threads",
    "weighted_average_precision",
]
