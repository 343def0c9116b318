"""Doctests of a module that rests on an extra are left out where that is not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("transformers") else ["src/openset/detectors/_criteria.py"]
