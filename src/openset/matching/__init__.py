"""Matching: tables become `Matches`, once, under a `Protocol`.

Everything in which published evaluators differ is a field of the protocol; everything that a
metric may ask is a column of the matches. No metric touches boxes.
"""

from openset.matching.matcher import match
from openset.matching.matches import Matches
from openset.matching.protocol import Protocol
from openset.matching.right import right_detections, told_detections

__all__ = ["Matches", "Protocol", "match", "right_detections", "told_detections"]
