"""What is not imported in search of doctests.

Modules that rest on an extra, where that is not installed; and one that turns the Python that
imports it into another system's, for good (`tests/test_elsewhere.py` starts some for it).
"""

from importlib.util import find_spec

RESTS_ON = {
    "src/openset/detectors/_criteria.py": "transformers",
    "src/openset/integrations/_lightning_callback.py": "lightning",
    "src/openset/integrations/_open_set_metric.py": "torchmetrics",
}
collect_ignore = ["tests/scenes/elsewhere/sitecustomize.py"]
collect_ignore += [path for path, package in RESTS_ON.items() if not find_spec(package)]
