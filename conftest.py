"""Doctests of a module that rests on an extra are left out where that is not installed."""

from importlib.util import find_spec

RESTS_ON = {
    "src/openset/detectors/_criteria.py": "transformers",
    "src/openset/integrations/_lightning_callback.py": "lightning",
    "src/openset/integrations/_open_set_metric.py": "torchmetrics",
}
collect_ignore = [path for path, package in RESTS_ON.items() if not find_spec(package)]
