"""A term is found under any of its spellings, and a typo gets a suggestion."""

import importlib
import subprocess
import sys

import pytest

import openset.metrics
from openset.explain import entries, lookup
from openset.findings import UsageError
from openset.plugins import discover


@pytest.mark.parametrize(
    ("term", "name"),
    [
        ("wi", "wilderness_impact"),
        ("Wilderness-Impact", "wilderness_impact"),
        ("A-OSE", "a_ose"),
        ("aose", "a_ose"),
        ("fpr95", "fpr_at_95_tpr"),
        ("FPR@95", "fpr_at_95_tpr"),
        ("U-Recall", "unknown_recall"),
        ("mAP", "ap_known"),
        ("os203", "OS203"),
        ("osod iii", "OSOD-III"),
        ("OSOD3", "osod3"),
        ("near", "near, far, farther"),
        ("wilderness ratio", "wilderness_ratio"),
        ("operating_point", "operating point"),
        ("localization", "localisation"),
        ("CI", "bootstrap interval"),
        ("t*", "best_threshold"),
    ],
)
def test_spellings(term, name):
    assert lookup(term).name == name


def test_name_title_and_aliases_lead_to_their_entry():
    for entry in entries()[::3]:
        for spelling in (entry.name, entry.title, *entry.aliases):
            assert lookup(spelling.upper()) == entry


@pytest.mark.parametrize(
    ("typo", "hint"),
    [
        ("wildernes impact", "wilderness impact"),
        ("UNKNOWN-RECAL", "unknown_recall"),
        ("os2003", "os203"),
    ],
)
def test_a_typo_gets_a_suggestion(typo, hint):
    with pytest.raises(UsageError, match=f"unknown term.*{hint}"):
        lookup(typo)


def test_an_error_stays_short():
    with pytest.raises(UsageError) as raised:
        lookup("qqqqq")
    assert len(str(raised.value)) < 200


SOURCE = '''
"""A module."""
from openset.metrics import Value, metric

@metric("zz_boxes", title="boxes", better=None, unit="count", range=(0, None), paper="Nobody 2030")
def boxes(matches, *, least=0.0):
    """Number of boxes.

    All of them, `unknown` or not.

    Args:
        matches: Matched detections.
        least: Least score
            that counts.
    """
    return Value(float(len(matches)))
'''


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """A metric in a file that has just been added to the package."""
    (tmp_path / "zz_explained.py").write_text(SOURCE)
    monkeypatch.setattr(openset.metrics, "__path__", [*openset.metrics.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    discover.cache_clear()
    yield
    sys.modules.pop("openset.metrics.zz_explained", None)
    vars(openset.metrics).pop("zz_explained", None)
    discover.cache_clear()


@pytest.mark.usefixtures("plugin")
def test_a_new_metric_has_an_entry_from_its_docstring():
    entry = lookup("zz boxes")
    assert entry.kind == "metric"
    assert entry.summary == "Number of boxes."
    assert entry.definition == ("All of them, `unknown` or not.",)
    assert entry.options == (("least", "Least score that counts."),)
    assert entry.papers == ("Nobody 2030",)
    assert entry.range == "0 … ∞, a count"
    assert "All of them, unknown or not." in entry.to_text()
    assert lookup("boxes") == entry


def test_import_is_cheap():
    code = (
        "import sys, openset.explain as e; assert 'numpy' not in sys.modules;"
        "e.lookup('wi').to_text(); heavy = {'polars', 'scipy', 'sklearn', 'msgspec', 'PIL'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
