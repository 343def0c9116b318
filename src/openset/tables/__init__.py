"""The nouns: annotations, detections, the vocabulary that gives labels their roles, and checks.

Tables are frozen structs of NumPy columns. Nothing here reads a file or computes a metric.
"""

from openset.tables.annotations import Annotations, Images
from openset.tables.detections import Detections, LogitLayout
from openset.tables.vocabulary import Role, Vocabulary

__all__ = ["Annotations", "Detections", "Images", "LogitLayout", "Role", "Vocabulary"]
