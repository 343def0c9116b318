"""The nouns: annotations, detections, the vocabulary that gives labels their roles, and checks.

Tables are frozen structs of NumPy columns. Nothing here reads a file or computes a metric.
"""

from openset.tables.annotations import Annotations, Images
from openset.tables.detections import Detections
from openset.tables.head import Head
from openset.tables.logits import LogitLayout
from openset.tables.vocabulary import Role, Vocabulary

__all__ = ["Annotations", "Detections", "Head", "Images", "LogitLayout", "Role", "Vocabulary"]
