"""The audit's section of the page, from the file that `openset audit -o` writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from openset.benchmarks.auditing import Audit, Judgement, documents
from openset.benchmarks.principles import Check, Principle, Verdict, failed, note, passed, unknown
from openset.findings import InputError
from openset.report import audit as section
from openset.report.page import Beside, render
from openset.tables.names import MARKS, name_marks
from scenes.report_runs import run

HOSTILE = "<img src=x onerror=alert(1)>"


def judged(name: str, *checks: Check, title: str = "") -> Judgement:
    about = Principle(name, title or name.title(), 1, f"Mend `{name}`.", lambda bundle: ())
    return Judgement(about, checks)


def audits(title: str = "Data", example: str = "000042") -> list[Audit]:
    wrong = failed("images are apart", "17 of 40 images are in both", 17, [example])
    return [
        Audit(
            "mine",
            (
                judged("data", wrong, passed("once", "40 images"), title=title),
                judged("labels", unknown("annotated", "boxes are not at hand")),
                judged("tasks", passed("grow", "3 tasks"), note("extra", "2 stay")),
            ),
        )
    ]


def written(tmp_path: Path, found: list[Audit]) -> Path:
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(documents(found)))
    return path


@pytest.fixture(scope="module")
def made():
    return run(intervals=False, images=8)


@pytest.fixture(scope="module")
def page(made, tmp_path_factory):
    return render(
        made, beside=Beside(section.read_audits(written(tmp_path_factory.mktemp("a"), audits())))
    )


def part(page: str) -> str:
    """The section, without tags."""
    found = re.search(r'<section id="audit">.*?</section>', page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split())


def test_each_principle_has_its_verdict_evidence_and_fix(page):
    text = part(page)
    assert "mine: 1 FAIL, 1 UNKNOWN, 1 PASS" in text
    assert "FAIL Data 17 of 40 images are in both" in text
    assert "First of 17: 000042 ." in text
    assert "What to do: Mend data." in text
    assert "UNKNOWN Labels boxes are not at hand" in text
    assert "PASS Tasks 1 check " in text
    assert "Mend labels" not in text  # nothing to mend


def test_the_verdict_and_the_navigation_point_at_it(page):
    assert "The benchmark “mine” fails its audit: Data." in page
    assert '<a href="#audit">Audit</a>' in page
    assert "is not audited" not in page


def test_a_benchmark_that_passes_is_no_sentence(tmp_path, made):
    fine = [Audit("mine", (judged("tasks", passed("grow", "3 tasks")),))]
    read = section.read_audits(written(tmp_path, fine))
    assert list(section.sentences(read, made.truth.images)) == []


def marked(*names):
    marks = tuple(name_marks(names)[:MARKS])
    return [Audit("mine", (judged("tasks", passed("grow", "3 tasks")),), marks)]


def test_an_audit_of_other_images_is_led_with(tmp_path, made):
    images = made.truth.images
    read = section.read_audits(written(tmp_path, marked("voc1.jpg", "voc2.jpg")))
    (said,) = section.strange(read, images)
    assert said.code == "OS918" and "'mine'" in said.message
    (led,) = section.sentences(read, images)
    assert "is of other test images than these" in led.text
    assert "is of other test images" in render(made, beside=Beside(read))


@pytest.mark.parametrize("more", [0, 20_000])
def test_an_audit_of_more_images_than_the_run_s_is_its_own(more, tmp_path, made):
    names = [str(one) for one in made.truth.images.id] + [f"other{at}" for at in range(more)]
    read = section.read_audits(written(tmp_path, marked(*names)))
    assert not [*section.strange(read, made.truth.images)]


def test_without_an_audit_health_says_how_to_make_one(made):
    page = render(made)
    assert 'id="audit"' not in page
    assert "openset audit --train train.json --test" in page
    assert "--audit audit.json" in page


def test_hostile_names_stay_text(made, tmp_path):
    found = section.read_audits(written(tmp_path, audits(HOSTILE, HOSTILE)))
    page = render(made, beside=Beside(found))
    assert "<img src=x" not in page
    assert page.count("&lt;img src=x") >= 3


def test_what_is_written_is_what_is_read(tmp_path):
    (read,) = section.read_audits(written(tmp_path, audits()))
    assert read.failing() == ["Data"]
    first = read.principles["data"].checks[0]
    assert (first.count, first.examples, first.where) == (17, ("000042",), ())


def test_splits_that_fare_alike_are_said_once(tmp_path):
    places = [Check("once", Verdict.PASS, "40 images", where=f"t{i}") for i in (1, 2)]
    (read,) = section.read_audits(written(tmp_path, [Audit("mine", (judged("data", *places),))]))
    assert [check.where for check in read.principles["data"].checks] == [("t1", "t2")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        '{"schema": "openset.evaluation/1", "audits": []}',
        '{"schema": "openset.audit/1"}',
        '{"schema": "openset.audit/1", "audits": [{"benchmark": 3}]}',
        "\xff",
    ],
)
def test_files_that_are_no_audit(tmp_path, text):
    (tmp_path / "audit.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="OS114"):
        section.read_audits(tmp_path / "audit.json")


def test_no_such_file(tmp_path):
    with pytest.raises(InputError, match="OS101"):
        section.read_audits(tmp_path / "audit.json")


def test_it_fits_a_telephone(browser, page, tmp_path):
    (tmp_path / "page.html").write_text(page)
    context = browser.new_context(offline=True, viewport={"width": 360, "height": 700})
    opened = context.new_page()
    opened.goto((tmp_path / "page.html").as_uri())
    opened.wait_for_selector("html[data-ready=true]")
    assert opened.evaluate("document.documentElement.scrollWidth") == 360
    assert opened.locator("#audit details").first.get_attribute("open") == ""
    context.close()
