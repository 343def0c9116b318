"""The section on errors: the numbers of diagnosis, for every detector."""

from __future__ import annotations

import re

import numpy as np
import pytest

from openset.diagnosis.deployed import deployed
from openset.diagnosis.errors import ERROR_TYPES, errors
from openset.diagnosis.tide import tide
from openset.evaluation.run import evaluate_all
from openset.report import errors as section
from openset.report.page import render
from openset.wording import grouped
from scenes.report_runs import hostile, run


@pytest.fixture(scope="module")
def made():
    return run(3, images=40, intervals=False)


def test_types_are_those_of_the_diagnosis(made):
    models = deployed(made)
    shown = section.errors(models)
    for at, model in enumerate(models):
        found = errors(model.matches)
        assert [line.name for line in shown.types] == list(ERROR_TYPES)
        numbers = [line.cells[at][0] for line in shown.types]
        assert numbers == [grouped(n) for n in found.totals.values()]


def test_costs_are_those_of_tide(made):
    models = deployed(made)
    shown = section.errors(models)
    for at, model in enumerate(models):
        found = tide(model.truth, model.detections, model.matches.vocabulary)
        by_name = {line.name: line for line in shown.costs}
        for name, cost in found.main.items():
            assert by_name[name].cells[at] == (f"{100 * cost:.2f}", grouped(found.counts[name]))
        for name, cost in found.split_cost.items():
            assert by_name[name].part and by_name[name].cells[at][0] == f"{100 * cost:.2f}"
        assert shown.ap[at] == f"{100 * found.ap:.2f}"


def test_classes_without_enough_recall_are_named(made):
    said = made.detections["first"]
    both = {"shy": said.select(np.arange(3)), "first": said}
    models = deployed(evaluate_all(made.truth, both, known=made.vocabulary, intervals=False))
    unreached = dict(section.errors(models).unreached)
    assert unreached["shy"].startswith(made.vocabulary.known[0])


def test_names_on_the_page_lead_to_the_glossary(made):
    page = render(made)
    body = page[page.index('<section id="errors">') :]
    body = body[: body.index("</section>")]
    links = re.findall(r'href="#(term-[^"]+)"', body)
    assert {f"term-{name}" for name in section.NAMES} == set(links)
    assert all(f'id="{link}"' in page for link in links)


def test_hostile_names_stay_text():
    name = "<img src=x onerror=alert(1)>"
    page = render(hostile(name))
    body = page[page.index('<section id="errors">') :]
    assert "<img" not in body[: body.index("</section>")]
