"""The page in a real browser: from disk, without network, against Python's numbers."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from openset.diagnosis.absorption import absorption
from openset.diagnosis.breakdown import breakdown
from openset.diagnosis.deployed import deployed
from openset.diagnosis.flow import operating_flow
from openset.evaluation.scoreboard import Scoreboard
from openset.render import Table
from openset.report import write
from openset.report.gallery import KINDS, choose
from openset.tables import Annotations, Detections, Vocabulary
from openset.tables.annotations import Images
from scenes.report_page import Page, settled
from scenes.report_runs import hostile, run

CELLS = [
    "known_right",
    "known_wrong",
    "known_unknown",
    "known_missed",
    "unknown_unknown",
    "unknown_wrong",
    "unknown_missed",
    "background_wrong",
    "background_unknown",
]


@pytest.fixture(scope="module")
def made():
    return run(3, images=60)


def moved(models, i: int, j: int):
    """Detectors where the sliders put them: the second one moves the first detector only."""
    places = [(i, j), *((i, model.position[1]) for model in models[1:])]
    return tuple(replace(model, place=place) for model, place in zip(models, places, strict=True))


def test_it_asks_for_nothing_and_complains_of_nothing(opened, file):
    for section in opened.page.query_selector_all("main > section"):
        section.scroll_into_view_if_needed()
    opened.page.wait_for_selector("[data-figure] svg")
    assert opened.complaints == []
    assert {url.split("#")[0] for url in opened.requests if not url.startswith("data:")} == {
        file.as_uri()
    }


FORBIDDEN = """action => new Promise(resolve => {
    document.addEventListener('securitypolicyviolation', e => resolve(e.effectiveDirective));
    setTimeout(() => resolve('allowed'), 2000);
    const made = {
        fetch: () => { fetch('https://example.org/x').catch(() => {}); },
        script: () => { const s = document.createElement('script');
            s.textContent = 'window.ran = 1';
            document.body.append(s); },
        image: () => { new Image().src = 'https://example.org/x.png'; },
    };
    made[action](); })"""


@pytest.mark.parametrize(
    ("action", "directive"),
    [("fetch", "connect-src"), ("script", "script-src-elem"), ("image", "img-src")],
)
def test_its_policy_forbids_network_and_foreign_scripts(browser, file, action, directive):
    page = browser.new_context().new_page()
    page.goto(file.as_uri())
    assert page.evaluate(FORBIDDEN, action) == directive
    assert page.evaluate("window.ran") is None
    page.context.close()


def test_sliders_count_what_python_counts(opened, made):
    first = deployed(made)[0]
    rng = np.random.default_rng(0)
    for _ in range(8):
        i, j = int(rng.integers(201)), int(rng.integers(len(first.sliders.second)))
        step = int(rng.integers(51))
        opened.move("score", i)
        opened.move("second", j)
        opened.move("ratio", step)
        ratio = float(f"{step * 0.1:.1f}")
        score, second = first.sliders.score[i], first.sliders.second[j]
        flow = operating_flow(first.matches, score, second, ratio)
        expected = {name: getattr(flow, name) for name in CELLS}
        assert opened.cells() == pytest.approx(expected, rel=1e-12)


def test_it_starts_at_the_operating_point_and_switches_detector(opened, made):
    first, second = deployed(made)
    assert opened.cells() == {name: getattr(first.flow, name) for name in CELLS}
    opened.page.keyboard.press("m")
    assert opened.cells() == {name: getattr(second.flow, name) for name in CELLS}
    assert opened.state()["m"] == "1"


def test_unknown_scores_instead_of_unknownness(browser, tmp_path):
    made = run(4, unknownness=False, models=1)
    page = Page(browser, write(made, tmp_path / "report.html"))
    page.move("score", 90)
    page.move("second", 40)
    found = made.evaluations["first"].matches
    flow = operating_flow(found, 90 / 200, 40 / 200)
    assert page.cells() == {name: getattr(flow, name) for name in CELLS}
    assert "labelled unknown" in page.page.text_content("[data-second-title]")
    page.context.close()


def test_state_survives_a_reload(opened):
    opened.move("score", 77)
    opened.move("second", 3)
    opened.move("ratio", 20)
    opened.page.select_option("#gallery-kind", "missed-unknown")
    opened.page.click("[data-action=all]")
    before = opened.cells()
    state = opened.state()
    assert (state["s"], state["u"], state["r"]) == ("77", "3", "2.0")
    opened.page.reload()
    opened.page.wait_for_selector("html[data-ready=true]")
    assert opened.cells() == before
    assert opened.page.input_value("#gallery-kind") == "missed-unknown"
    assert opened.page.is_visible("#board tr.more")


def test_nonsense_in_the_hash_is_harmless(browser, file):
    page = Page(browser, file, "#s=abc&u=-5&m=99&r=1e999&item=7777&sort=99-&kind=%3Cb%3E&hide=x")
    assert page.complaints == []
    assert sum(page.cells().values()) > 0
    page.context.close()


def test_a_number_of_where_unknowns_go_opens_its_examples(opened):
    opened.page.locator("#absorption").scroll_into_view_if_needed()
    opened.page.wait_for_selector("[data-cell-label]")
    cell = opened.page.query_selector("[data-cell-model='0'][data-cell-kind='unknown-as-known']")
    label, called = (cell.get_attribute(f"data-cell-{name}") for name in ("label", "called"))
    cell.click()
    assert opened.page.input_value("#gallery-kind") == "unknown-as-known"
    cards = opened.page.query_selector_all("#cards .card")
    assert cards
    for card in cards:
        assert label in card.text_content()
        assert called in card.text_content()
    top = opened.page.evaluate(
        "() => document.getElementById('gallery').getBoundingClientRect().top"
    )
    assert top < 900


def _absorbed(opened, model: int) -> list[tuple[str, ...]]:
    """A table of where unknowns go, as texts: header first, a dot for zero."""
    read = """table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))"""
    rows = opened.page.eval_on_selector(f"[data-absorption='{model}'] table", read)
    return [tuple(row) for row in rows]


def _assert_absorbed(opened, at, model) -> list[tuple[str, ...]]:
    expected = _expected(absorption(model))
    assert settled(opened, lambda: _absorbed(opened, at), expected) == expected
    return expected


def _expected(table) -> list[tuple[str, ...]]:
    others = (f"{table.others} others",) if table.others else ()
    header = ("unknown label", "objects", *table.classes, *others, "only unknown", "missed")
    rows = [header]
    for row in table.labels[:12]:
        counts = list(row.counts)
        if not table.others:
            del counts[-3]
        rows.append((row.label, str(row.total), *(str(n) if n else "·" for n in counts)))
    return rows


def test_where_unknowns_go_follows_the_sliders(opened, made):
    first, second = deployed(made)
    opened.page.locator("#absorption").scroll_into_view_if_needed()
    opened.page.wait_for_selector("[data-absorption='1'] tbody tr")
    _assert_absorbed(opened, 0, first)
    _assert_absorbed(opened, 1, second)
    seen = set()
    for i, j in ((10, 7), (110, 4), (60, 1)):
        opened.move("score", i)
        opened.move("second", j)
        for at, model in enumerate(moved((first, second), i, j)):
            seen.add(tuple(_assert_absorbed(opened, at, model)))
        where = opened.page.text_content("[data-absorption='0'] [data-where]")
        assert where.startswith(f"score ≥ {first.sliders.score[i]:.3g}, unknown: unknownness >")
    assert len(seen) > 3


def test_where_unknowns_go_by_unknown_scores(browser, tmp_path):
    made = run(4, unknownness=False, models=1)
    page = Page(browser, write(made, tmp_path / "report.html"))
    page.page.locator("#absorption").scroll_into_view_if_needed()
    page.page.wait_for_selector("[data-absorption='0'] tbody tr")
    for i, j in ((0, 0), (90, 40)):
        page.move("score", i)
        page.move("second", j)
        _assert_absorbed(page, 0, replace(deployed(made)[0], place=(i, j)))
    page.context.close()


def _strata(opened) -> dict[tuple[str, str, str], list[str]]:
    """The slices shown: by stratum, role and name, the counts of every detector in words."""
    read = """boxes => boxes.flatMap(box => [...box.querySelectorAll('table')].flatMap(table =>
        [...table.tBodies[0].rows].map(row => [box.querySelector('h3').textContent.slice(3),
        table.tHead.rows[0].cells[0].textContent.split(' ')[0], row.cells[0].title,
        [...row.cells].slice(1).map(cell => cell.title)])))"""
    return {tuple(row[:3]): row[3] for row in opened.page.eval_on_selector_all(".stratum", read)}


def _sliced(made, models) -> dict[tuple[str, str, str], list[str]]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for piece in breakdown(models):
        other = "" if piece.role == "unknown" else f"unknown {piece.unknown}, "
        said = f"right {piece.right}, wrong {piece.wrong}, {other}missed {piece.missed}"
        found.setdefault((piece.stratum, piece.role, piece.name), []).append(said)
    return found


def test_strata_follow_the_sliders(opened, made):
    models = deployed(made)
    opened.page.locator("#slices").scroll_into_view_if_needed()
    at_first = _sliced(made, models)
    assert settled(opened, lambda: _strata(opened), at_first) == at_first
    for i, j in ((10, 7), (110, 3)):
        opened.move("score", i)
        opened.move("second", j)
        there = _sliced(made, moved(models, i, j))
        assert settled(opened, lambda: _strata(opened), there) == there != at_first


def _sliders(opened) -> list[str]:
    return opened.page.evaluate(
        "() => ['s', 'u'].map(key => new URLSearchParams(location.hash.slice(1)).get(key))"
    )


def _cards(opened, kind: str, gone: int) -> tuple[int, bool]:
    """The cards of a kind, and whether so many are said to be left out.

    The page writes its state to the hash a little later, and may write over what is asked here.
    """
    opened.page.evaluate(
        """kind => { const asked = new URLSearchParams(location.hash.slice(1)).getAll('kind');
        if (!asked.includes(kind)) location.hash += `&kind=${kind}`; }""",
        kind,
    )
    said = opened.page.text_content("#gallery-count")
    return opened.page.locator("#cards .card").count(), f"{gone} more do" in said


def test_gallery_shows_what_occurs_at_the_thresholds(opened, made):
    models = deployed(made)
    items = choose(models, 240)
    opened.page.check("#gallery-every")
    opened.page.locator("#gallery").scroll_into_view_if_needed()
    for i, j in ((0, 8), (110, 4)):
        opened.move("score", i)
        opened.move("second", j)
        # A hash that does not hold them yet would move the sliders back.
        assert settled(opened, lambda: _sliders(opened), [str(i), str(j)]) == [str(i), str(j)]
        for kind in KINDS:
            occurring = set()
            for at, model in enumerate(moved(models, i, j)):
                boxes, objects = kind.find(model)
                occurring |= {(at, b, o) for b, o in zip(boxes, objects, strict=True)}
            mine = [item for item in items if item.kind == kind.name]
            left = [item for item in mine if (item.model, item.box, item.object) in occurring]
            gone = len(mine) - len(left)
            expected = (min(len(left), 48), bool(gone))
            assert settled(opened, lambda: _cards(opened, kind.name, gone), expected) == expected  # noqa: B023
    assert gone or len(left)


def test_gallery_by_keyboard(opened):
    opened.page.focus("#cards .card")
    opened.page.keyboard.press("ArrowRight")
    opened.page.keyboard.press("Enter")
    assert opened.page.is_visible("#lightbox[open]")
    first = opened.page.text_content("#lightbox dl")
    opened.page.keyboard.press("ArrowRight")
    assert opened.page.text_content("#lightbox dl") != first
    opened.page.keyboard.press("m")
    assert "boxes shownsecond" in opened.page.text_content("#lightbox dl")
    opened.page.keyboard.press("Escape")
    assert not opened.page.is_visible("#lightbox[open]")


def _copied(page: Page, kind: str) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.page.click(f"[data-copy={kind}]")
    page.page.wait_for_selector("#status.on")
    return page.page.evaluate("navigator.clipboard.readText()")


def _board(opened) -> list[list[str]]:
    read = """rows => rows.filter(r => !r.hidden).map(r => [r.dataset.title + ' ' + r.dataset.arrow,
        ...[...r.cells].filter(c => 'text' in c.dataset).map(c => c.dataset.text + c.dataset.mark +
        (c.dataset.interval ? ' ' + c.dataset.interval : ''))].map(t => t.trim()))"""
    return opened.page.eval_on_selector_all("#board tbody tr", read)


ENDS = ("", " low", " high")


def test_copies_are_those_of_our_tables(opened, made):
    rows = _board(opened)
    lines = [line for line in Scoreboard.of(made.results).headline_first() if line.headline]
    best = {
        (row, column)
        for row, line in enumerate(lines)
        for column, cell in enumerate(line.cells, start=1)
        if cell.best
    }
    expected = Table(("metric", "first", "second"), tuple(map(tuple, rows)), best=frozenset(best))
    assert _copied(opened, "latex") == expected.latex()
    assert best and expected.latex().count(r"\textbf{") == len(best)
    assert _copied(opened, "markdown") == expected.markdown()


def test_copied_csv_has_numbers_in_its_cells(opened, made):
    header, *rows = csv.reader(io.StringIO(_copied(opened, "csv")))
    assert header == ["metric", *(f"{n}{e}" for n in ("first", "second") for e in ENDS)]
    lines = [line for line in Scoreboard.of(made.results).headline_first() if line.headline]
    for line, (_, *cells) in zip(lines, rows, strict=True):
        values = [
            x for cell in line.cells for x in (cell.value.value, *(cell.value.interval or ("", "")))
        ]
        assert [float(x) if x else "" for x in cells] == ["" if x is None else x for x in values]


def test_sorting_and_hiding(opened):
    given = [row[0] for row in _board(opened)]
    opened.page.click("[data-sort='0']")
    assert [row[0] for row in _board(opened)] == sorted(given, key=str.lower, reverse=True)
    opened.page.click("[data-sort='0']")
    opened.page.click("[data-sort='0']")
    assert [row[0] for row in _board(opened)] == given
    opened.page.click("#board tbody tr:not([hidden]) [data-hide]")
    assert [row[0] for row in _board(opened)] == given[1:]
    opened.page.click("[data-action=unhide]")
    assert [row[0] for row in _board(opened)] == given


def _points(opened, mark: str) -> list[list[float]]:
    said = opened.page.eval_on_selector_all(mark, "es => es.map(e => e.ariaLabel)")
    return [[float(part.split(": ")[1]) for part in text.split("; ")[:2]] for text in said]


def test_the_oscr_marks_stand_where_python_counts(opened, made):
    opened.page.locator("[data-figure=oscr]").scroll_into_view_if_needed()
    mark = "[data-figure=oscr] path[aria-label^='x: ']"
    opened.page.wait_for_selector(mark, state="attached")
    for i, j in ((20, 7), (120, 4)):
        opened.move("score", i)
        opened.move("second", j)
        flows = [
            operating_flow(model.matches, model.score, model.second)
            for model in moved(deployed(made), i, j)
        ]
        expected = [
            pytest.approx([flow.unknown_as_known, flow.known_recall], abs=1e-9) for flow in flows
        ]
        assert settled(opened, lambda: _points(opened, mark), expected) == expected


def test_cursors_of_the_charts_follow_the_sliders(opened):
    opened.page.locator("#curves").scroll_into_view_if_needed()
    mark = "[data-figure=a-ose-score] .mark-rule.role-mark line"
    opened.page.wait_for_selector(mark, state="attached")

    def where(below: float) -> float:
        for _ in range(200):
            box = opened.page.locator(mark).first.bounding_box()  # None while it is drawn anew
            if box and box["x"] < below:
                return box["x"]
            opened.page.wait_for_timeout(50)
        return pytest.fail(f"no cursor left of {below}")

    opened.move("score", 180)
    opened.state()
    right = where(below=np.inf)
    opened.move("score", 20)
    assert where(below=right - 50) > 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_screens_do_not_scroll_sideways(browser, file, scheme):
    page = Page(browser, file, viewport={"width": 360, "height": 740}, color_scheme=scheme)
    for section in page.page.query_selector_all("main > section"):
        section.scroll_into_view_if_needed()
    page.page.wait_for_selector("[data-figure] svg")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.complaints == []
    page.context.close()


def test_print_layout(opened):
    opened.page.emulate_media(media="print")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.page.wait_for_selector("[data-figure=a-ose-recall] svg")
    assert not opened.page.is_visible("header nav")
    assert not opened.page.is_visible("[data-copy=latex]")
    assert opened.page.is_visible("#board")
    assert opened.page.is_visible("#glossary summary")
    assert not opened.page.is_visible("#score")
    assert opened.page.is_visible("#score-out")
    notes = "details.notes li"
    assert opened.page.is_visible(notes)
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not opened.page.is_visible(notes)
    opened.page.set_viewport_size({"width": 688, "height": 1000})  # A4 without its margins
    right = "tables => tables.map(table => table.getBoundingClientRect().right)"
    edges = opened.page.eval_on_selector_all("#board, .slices, .heat, .deltas", right)
    assert len(edges) > 6
    assert max(edges) <= 688
    assert opened.page.pdf(format="A4").startswith(b"%PDF")


def test_every_control_is_reached_by_tab(opened):
    opened.page.focus("[data-sort='0']")
    seen = set()
    for _ in range(90):
        opened.page.keyboard.press("Tab")
        seen.add(
            opened.page.evaluate("document.activeElement.id || document.activeElement.tagName")
        )
    assert {"score", "second", "ratio", "BUTTON"} <= seen


HOSTILE = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\"'`](x)\\u003c"


def test_hostile_names_do_nothing(browser, tmp_path):
    page = Page(browser, write(hostile(HOSTILE), tmp_path / "report.html"))
    for section in page.page.query_selector_all("main > section"):
        section.scroll_into_view_if_needed()
    page.page.wait_for_selector("[data-figure] svg")
    cell = page.page.query_selector("[data-cell-kind='unknown-as-known']")
    if cell:
        cell.click()
        assert page.page.query_selector_all("#cards .card")
    page.page.click("#cards .card")
    assert page.page.title().startswith("What A ")
    assert page.page.evaluate("document.images.length") == 0
    assert page.complaints == []
    assert HOSTILE[:20] in page.page.text_content("#lightbox dl")
    page.context.close()


def test_ten_kilobytes_of_name(browser, tmp_path):
    file = write(hostile("W" * 10_000), tmp_path / "report.html")
    page = Page(browser, file, viewport={"width": 360, "height": 740})
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.complaints == []
    page.context.close()


def test_a_hundred_thousand_boxes_move_at_interactive_speed(browser, tmp_path):
    from openset.evaluation.run import evaluate_all

    rng = np.random.default_rng(0)
    n, images = 100_000, 2000
    place = rng.integers(0, 400, (images * 5, 2))
    truth = Annotations(
        images=Images(np.arange(images)),
        labels=("dog", "cat", "zebra"),
        image=np.repeat(np.arange(images), 5),
        label=rng.integers(0, 3, images * 5),
        box=np.hstack([place, np.full((images * 5, 2), 60)]),
    )
    image = rng.integers(0, images, n)
    box = truth.box[image * 5 + rng.integers(0, 5, n)] + rng.normal(0, 10, (n, 4)) * [1, 1, 0, 0]
    labels = ("dog", "cat", "unknown")
    found = Detections(image, rng.integers(0, 3, n), box, rng.random(n), labels, rng.random(n))
    known = Vocabulary(tasks=(("dog", "cat"),))
    made = evaluate_all(truth, {"many": found}, known=known, intervals=False, metrics=["a_ose"])
    page = Page(browser, write(made, tmp_path / "report.html"))
    page.page.locator("#absorption").scroll_into_view_if_needed()
    times = page.page.evaluate(
        """async () => { const slider = document.getElementById('score'); const times = [];
        for (let at = 0; at <= 200; at += 4) { slider.value = at; const begin = performance.now();
        slider.dispatchEvent(new Event('input', {bubbles: true}));
        await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
        times.push(performance.now() - begin); } return times; }"""
    )
    # Alone it is 10 to 40 ms; other tests take turns on the cores with this one.
    assert np.quantile(times, 0.1) < 100
    assert (tmp_path / "report.html").stat().st_size < 2_500_000
    page.context.close()
