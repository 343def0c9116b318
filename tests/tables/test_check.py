"""One row per code, clean input, odd input, and the catalogue in step with its uses."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openset.codes import CODES, GROUPS, markdown
from openset.findings import Level
from openset.tables import Annotations, Detections, Images, Vocabulary
from openset.tables.check import check, check_detections, check_truth, in_order, no_match
from openset.tables.groups import GROUP
from openset.tables.written import Written

ROOT = Path(__file__).parents[2]
KNOWN = Vocabulary.of(["dog", "cat"])
ERROR, WARNING, NOTE = Level.ERROR, Level.WARNING, Level.NOTE
BOXES = np.array(
    [[10, 10, 50, 40], [300, 200, 80, 60], [500, 300, 100, 150], [400, 20, 120, 90]], float
)


def truth(**changes):
    images = Images([11, 12], ["a.jpg", "b.jpg"], np.full(2, 640.0), np.full(2, 480.0))
    table = Annotations(
        images,
        ("dog", "cat", "zebra", "unknown"),
        [0, 0, 1, 1],
        [0, 1, 2, 3],
        BOXES,
        category_id=[1, 2, 3, 4],
    )
    return replace(table, **changes)


def many_images():
    """The same objects among images that have none, so that most have no detection."""
    return truth(images=Images([11, 12, 13, 14, 15]))


def detections(**changes):
    table = Detections([11, 11, 12, 12], [1, 2, 4, 4], BOXES + 1, [0.9, 0.8, 0.3, 0.2])
    return replace(table, **changes)


def column(base, row, at, value):
    changed = np.array(base, float)
    changed[row, at] = value
    return changed


def corners(boxes):
    return np.hstack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]])


NORMAL = BOXES / [640, 480, 640, 480]
NO_SIZES = Images([11, 12])
NO_WIDTH = Images([11, 12], None, [640.0, 0.0], [480.0, 480.0])
CENTRES = np.array([[320, 240, 600, 400], [320, 240, 640, 480], [400, 240, 300, 400]], float)
MANY = Detections(np.full(101, 11), np.ones(101), np.arange(404).reshape(-1, 4) + 1, np.arange(101))

FRAMES = Images(np.arange(11, 21), [f"clip {k}/{i:04d}.jpg" for k in "ab" for i in range(5)])


def grouped(*names):
    return Images([11, 12], attributes={GROUP: np.array(names)})


# code, level, count, total, ground truth, detections, vocabulary
ROWS = [
    ("OS201", ERROR, 1, 4, truth(), detections(box=column(BOXES, 2, 1, np.nan)), KNOWN),
    ("OS201", ERROR, 1, 4, truth(box=column(BOXES, 2, 3, np.inf)), detections(), KNOWN),
    ("OS202", ERROR, 1, 4, truth(), detections(score=[0.1, np.nan, 0.2, 0.3]), KNOWN),
    ("OS202", ERROR, 2, 4, truth(), detections(unknownness=[0, np.nan, np.inf, 1]), KNOWN),
    ("OS203", ERROR, 4, 4, truth(), detections(box=NORMAL), KNOWN),
    ("OS203", ERROR, 4, 4, truth(images=NO_SIZES), detections(box=NORMAL), KNOWN),
    ("OS203", ERROR, 4, 4, truth(box=NORMAL), detections(), KNOWN),
    ("OS204", ERROR, 3, 4, truth(), detections(box=corners(BOXES)), KNOWN),
    ("OS204", ERROR, 3, 4, truth(images=NO_SIZES), detections(box=corners(BOXES)), KNOWN),
    ("OS204", ERROR, 3, 4, truth(box=corners(BOXES)), detections(), KNOWN),
    ("OS205", ERROR, 1, 4, truth(), detections(box=column(BOXES, 1, 2, -5)), KNOWN),
    ("OS205", ERROR, 4, 4, truth(), detections(box=BOXES * [1, 1, -1, -1]), KNOWN),
    ("OS206", WARNING, 1, 4, truth(), detections(box=column(BOXES, 1, 3, 0)), KNOWN),
    ("OS207", WARNING, 1, 4, truth(), detections(box=column(BOXES, 1, 2, 900)), KNOWN),
    ("OS207", WARNING, 1, 4, truth(), detections(box=column(BOXES, 1, 0, -400)), KNOWN),
    ("OS208", WARNING, 1, 101, truth(), replace(MANY, score=np.linspace(0, 1.01, 101)), KNOWN),
    ("OS208", ERROR, 4, 4, truth(), detections(score=[90, 80, 3, 20]), KNOWN),
    ("OS208", ERROR, 2, 4, truth(), detections(score=[-3, 0.8, 0.3, 4]), KNOWN),
    ("OS209", WARNING, 4, 4, truth(), detections(score=np.ones(4)), KNOWN),
    ("OS339", WARNING, 4, 4, truth(), detections(unknownness=np.ones(4)), KNOWN),
    ("OS210", WARNING, 1, 5, truth(), detections().select(np.array([0, 1, 2, 3, 1])), KNOWN),
    ("OS211", WARNING, 1, 4, truth(area=[4e5, 1, 1, 1]), detections(), KNOWN),
    ("OS212", ERROR, 2, 4, truth(area=[1, -1, 1, np.nan]), detections(), KNOWN),
    ("OS213", WARNING, 1, 2, truth(images=NO_WIDTH), detections(), KNOWN),
    ("OS302", WARNING, 4, 4, truth(label=[0, 0, 1, 1]), detections(), KNOWN),
    ("OS303", WARNING, 4, 4, truth(label=[2, 2, 3, 3]), detections(), KNOWN),
    ("OS303", ERROR, 4, 4, truth(crowd=np.ones(4)), detections(), KNOWN),
    ("OS304", NOTE, 1, 2, truth(label=[0, 0, 2, 3]), detections(), KNOWN),
    ("OS305", WARNING, 2, 4, truth(), detections(label=[1, 2, 3, 3]), KNOWN),
    ("OS306", WARNING, 1, 4, truth(), detections(label=[1, 2, 4, 99]), KNOWN),
    ("OS306", ERROR, 4, 4, truth(), detections(label=[77, 77, 78, 99]), KNOWN),
    ("OS306", ERROR, 4, 4, truth(), detections(label=[0, 0, 1, 1], labels=("c0", "c1")), KNOWN),
    ("OS307", ERROR, 4, 4, truth(), detections(label=[0, 1, 3, 3]), KNOWN),
    ("OS307", ERROR, 4, 4, truth(category_id=[1, 2, 3, 21]), detections(label=[0, 1, 20, 20]),
     KNOWN),
    ("OS307", ERROR, 4, 4, truth(category_id=[1, 3, 7, 90]), detections(), KNOWN),
    ("OS307", ERROR, 4, 4, truth(category_id=[0, 1, 2, 3]), detections(), KNOWN),
    ("OS308", NOTE, 1, 2, truth(), detections(label=[1, 1, 4, 4]), KNOWN),
    ("OS309", NOTE, 4, 4, truth(), detections(label=[1, 2, 1, 2]), KNOWN),
    ("OS310", NOTE, 1, 3, truth(), detections(), Vocabulary.of(["dog", "cat", "yak"])),
    ("OS310", ERROR, 2, 2, truth(), detections(), Vocabulary.of(["ox", "yak"])),
    ("OS311", WARNING, 2, 2, truth(labels=("dog", "cat", "Unk", "unknown")), detections(), KNOWN),
    ("OS312", NOTE, 1, 4, truth(), detections(), replace(KNOWN, ignored=frozenset({"zebra"}))),
    ("OS313", WARNING, 1, 1, truth(labels=("tv", "cat", "tvmonitor", "unknown")), detections(),
     Vocabulary.of(["tv", "cat"])),
    ("OS315", ERROR, 4, 4, truth(numbered=False), detections(), KNOWN),
    ("OS327", ERROR, 3, 4, truth(), detections(label=[1, 1, 2, 4]), Vocabulary.of(["zebra"])),
    ("OS327", ERROR, 1, 2, truth(role=("known", "unknown", "unknown", "")), detections(), KNOWN),
    ("OS310", WARNING, 1, 2, truth(), detections(), Vocabulary.of(["dog", "zebr"])),
    ("OS212", WARNING, 4, 4, truth(area=[0, 0, 0, 0]), detections(), KNOWN),
    ("OS401", ERROR, 2, 2, truth().select(np.zeros(4, bool)), detections(), KNOWN),
    ("OS402", ERROR, 0, 0, truth(), detections().select(np.zeros(4, bool)), KNOWN),
    ("OS403", WARNING, 1, 4, truth(), detections(image=[11, 11, 12, 99]), KNOWN),
    ("OS403", ERROR, 4, 4, truth(), detections(image=[7, 8, 9, 9]), KNOWN),
    ("OS403", ERROR, 3, 4, many_images(), detections(image=[11, 97, 98, 99]), KNOWN),
    ("OS403", WARNING, 3, 4, truth(), detections(image=[11, 97, 98, 99]), KNOWN),
    ("OS404", NOTE, 1, 2, truth(), detections(image=[11, 11, 11, 11]), KNOWN),
    ("OS405", NOTE, 1, 2, truth(image=[0, 0, 0, 0]), detections(), KNOWN),
    ("OS406", WARNING, 1, 4, truth(id=[3, 1, 2, 3]), detections(), KNOWN),
    ("OS407", NOTE, 1, 4, truth(id=[0, 1, 2, 3]), detections(), KNOWN),
    ("OS408", NOTE, 1, 2, truth(), MANY, KNOWN),
    ("OS412", NOTE, 2, 10, truth(images=FRAMES), detections(), KNOWN),
    ("OS413", ERROR, 1, 2, truth(images=grouped("a", "")), detections(), KNOWN),
    ("OS414", WARNING, 2, 2, truth(images=grouped("a", "a")), detections(), KNOWN),
    ("OS416", NOTE, 2, 2, truth(images=grouped("a", "b")), detections(), KNOWN),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "level", "count", "total", "gt", "dt", "vocabulary"),
    ROWS,
    ids=[f"{row[0]}-{row[1]}-{at}" for at, row in enumerate(ROWS)],
)
def test_code(code, level, count, total, gt, dt, vocabulary):
    hits = [finding for finding in check(gt, dt, vocabulary) if finding.code == code]
    assert len(hits) == 1
    (hit,) = hits
    assert (hit.level, hit.count) == (level, count)
    assert hit.example
    assert hit.cause
    assert hit.fix
    assert str(total) in hit.message
    if code != "OS309":  # counts those that are not there
        assert str(count) in hit.message


def test_every_code_of_check_has_a_row():
    # By vocabularies and by evaluations.
    elsewhere = {"OS301", "OS410", "OS411", "OS415", "OS214", "OS314"}
    elsewhere |= {"OS326", "OS328", "OS329", "OS427", "OS428", "OS429"}
    elsewhere |= {"OS417", "OS418", "OS419", "OS420", "OS421"}
    elsewhere |= {
        "OS316",
        "OS317",
        "OS318",
        "OS319",
        "OS320",
        "OS431",
        "OS432",
        "OS446",
    }  # ... by labels, and by benchmarks
    elsewhere |= {"OS331", "OS332", "OS349"}  # mistakes/test_classes.py, mistakes/test_scores.py
    elsewhere |= {"OS338", "OS350"}  # mistakes/test_classes.py
    elsewhere |= {"OS472"}  # mistakes/test_annotated.py
    elsewhere |= {"OS228"}  # mistakes/test_boxes_and_images.py
    elsewhere |= {"OS439"}  # mistakes/test_exports.py
    elsewhere |= {"OS447"}  # mistakes/test_runs.py
    elsewhere |= {f"OS44{i}" for i in range(6)}  # of two sets: test_sets.py, test_pairs.py
    larger = {
        "OS215",
        "OS216",
        "OS217",
        "OS219",
        "OS230",
        "OS231",
        "OS232",
        "OS233",
        "OS470",
        "OS423",
        "OS424",
        "OS425",
        "OS426",
        "OS430",
    }  # of many images
    larger |= {"OS433", "OS434", "OS435", "OS436", "OS437", "OS438", "OS448"}  # of a part of them
    elsewhere |= {"OS330"}  # likewise
    elsewhere |= {"OS346", "OS347"}  # mistakes/test_labels_and_boxes.py
    elsewhere |= {f"OS34{i}" for i in range(6)}  # test_origins, test_evidence, cli/test_run
    elsewhere |= {f"OS36{i}" for i in range(9)}  # test_parts.py, test_engines.py
    elsewhere |= {f"OS38{i}" for i in range(6)}  # test_calibration, test_selection, test_joining
    elsewhere |= {"OS387", "OS390", "OS391", "OS392"}  # cli/test_photos.py
    elsewhere |= {"OS393", "OS394"}  # cli/test_report.py
    elsewhere |= {"OS371", "OS372", "OS373", "OS375"}  # mistakes/test_unknownness.py
    elsewhere |= {"OS374"}  # mistakes/test_written_otherwise.py
    elsewhere |= {"OS240", "OS348", *(f"OS45{i}" for i in (1, 2, 3, 4, 6))}  # test_annotated.py
    elsewhere |= {
        "OS218",
        "OS229",
        "OS250",
        "OS251",
        "OS460",
        "OS220",
        "OS471",
    }  # below, and in mistakes
    elsewhere |= {"OS334", "OS336"}  # mistakes/test_names.py
    elsewhere |= {"OS337"}  # mistakes/test_two_names.py
    elsewhere |= {"OS335", "OS455"}  # mistakes/test_left_out.py
    elsewhere |= {"OS463", "OS464"}  # evaluation/test_pairs.py, mistakes/test_made_alike.py
    elsewhere |= {"OS465"}  # mistakes/test_everyday.py
    elsewhere |= {"OS468"}  # mistakes/test_twice.py
    elsewhere |= {"OS466", "OS467"}  # mistakes/test_data_sets.py, mistakes/test_classes.py
    elsewhere |= {"OS226", "OS227"}  # mistakes/test_one_each.py
    elsewhere |= {"OS225", "OS377", "OS458", "OS459"}  # mistakes/test_one_each.py
    elsewhere |= {"OS245", "OS246"}  # mistakes/test_half_right.py
    elsewhere |= {"OS241"}  # test_smaller_pictures.py
    elsewhere |= {"OS333", "OS461", "OS462"}  # cli/test_leaks.py, mistakes/test_formats.py
    tested = (
        {row[0] for row in ROWS} | elsewhere | larger
    )  # test_readings.py, test_sides.py, test_twice.py
    assert {code for code in CODES if code[2] in "234"} == tested


@pytest.mark.parametrize(
    ("missing", "level"), [((0,), WARNING), ((11,), NOTE), ((7, 8, 9, 10, 11), WARNING)]
)
def test_classes_that_are_never_named(missing, level):
    names = tuple(f"class {i:02d}" for i in range(12))
    labels = np.sort(np.append(np.zeros(30, int), np.tile(np.arange(12), 3)))
    images, box = np.arange(len(labels)) + 1, np.tile([10.0, 10, 50, 50], (len(labels), 1))
    gt = Annotations(Images(images), names, np.arange(len(labels)), labels, box)
    found = np.repeat(np.setdiff1d(np.arange(12), missing), 40)
    rows = np.arange(len(found)) % len(images)
    score = np.linspace(0.1, 0.9, len(found))
    dt = Detections(images[rows], found, box[rows] + rows[:, None], score, names)
    (finding,) = (one for one in check(gt, dt, Vocabulary.of(names)) if one.code == "OS308")
    assert (finding.level, finding.count) == (level, len(missing))
    assert f"comp4_det_test_{names[missing[0]]}.txt" in finding.cause


def test_no_match():
    finding = no_match(41812)
    assert (finding.code, finding.level, finding.count) == ("OS410", ERROR, 41812)
    assert "41 812" in finding.message
    assert "boxes='xyxy'" in finding.fix


def test_clean_input_has_no_findings():
    assert check(truth(), detections(), KNOWN) == []
    assert check(truth(), None, KNOWN) == []


def test_both_parts_are_the_whole():
    gt, dt = truth(id=[0, 0, 1, 2]), detections(label=[1, 2, 3, 99])
    of_truth = check_truth(gt, KNOWN)
    written = Written(dt)
    of_detections = check_detections(gt, KNOWN, written, written.read(gt, KNOWN))
    assert of_truth and of_detections
    assert in_order(of_truth + of_detections) == check(gt, dt, KNOWN)
    assert of_truth == check(gt, None, KNOWN)


def test_errors_come_first_and_order_is_stable():
    gt = truth(id=[0, 0, 1, 2], label=[0, 0, 1, 1])
    findings = check(gt, detections(score=np.full(4, np.nan), image=[11, 99, 99, 99]), KNOWN)
    levels = [finding.level for finding in findings]
    assert levels == sorted(levels, key=[ERROR, WARNING, NOTE].index)
    assert set(levels) == {ERROR, WARNING, NOTE}
    codes = [finding.code for finding in findings if finding.level == WARNING]
    assert codes == sorted(codes)


def codes_of(findings, *levels):
    return {finding.code for finding in findings if finding.level in (levels or Level)}


def test_one_mistake_is_one_error():
    for box in (NORMAL, corners(BOXES)):
        assert len(codes_of(check(truth(), detections(box=box), KNOWN), ERROR, WARNING)) == 1


@pytest.mark.parametrize(
    ("layout", "box"),
    [
        ("xyxy-norm", corners(BOXES)),
        ("xywh-norm", BOXES),
        ("cxcywh-norm", np.hstack([BOXES[:, :2] + BOXES[:, 2:] / 2, BOXES[:, 2:]])),
    ],
)
def test_normalised_boxes_name_the_layout(layout, box):
    (finding,) = check(truth(), detections(box=box / [640, 480, 640, 480]), KNOWN)
    assert f"boxes={layout!r}" in finding.fix


def test_centres_are_named():
    dt = Detections([11, 11, 11], [1, 2, 4], CENTRES, [0.1, 0.2, 0.3])
    finding = next(f for f in check(truth(), dt, KNOWN) if f.code == "OS207")
    assert "boxes='cxcywh'" in finding.fix


def test_ground_truth_in_another_layout_is_not_offered_an_option():
    finding = next(f for f in check(truth(box=NORMAL), None, KNOWN) if f.code == "OS203")
    assert "converts detections only" in finding.fix


def test_sizes_that_are_partly_unknown():
    images = Images([11, 12], width=[640, np.nan], height=[480, np.nan])
    assert check(truth(images=images), detections(), KNOWN) == []


def test_leak_names_classes_by_count():
    dt = detections(label=[0, 2, 2, 1], labels=("dog", "giraffe", "zebra"))
    finding = next(f for f in check(truth(), dt, KNOWN) if f.code == "OS305")
    assert "zebra (2), giraffe (1)" in finding.message
    assert "leaked='drop'" in finding.fix
    assert "trained on them" in finding.cause


def test_rare_background_class_is_not_another_numbering():
    dt = Detections(
        np.tile([11, 12], 500), np.r_[0, np.tile([1, 2, 3], 333)], np.tile(BOXES, (250, 1)),
        np.linspace(0, 1, 1000),
    )  # fmt: skip
    codes = codes_of(check(truth(), dt, KNOWN))
    assert "OS307" not in codes
    assert "OS306" in codes


def test_wild_ground_truth_may_lack_every_known_label():
    gt = truth(labels=("unknown",), label=[0] * 4, category_id=[4], role=(), supercategory=())
    findings = check(gt, detections(label=[4] * 4), KNOWN)
    assert codes_of(findings, ERROR) == set()
    assert codes_of(findings, WARNING) == {"OS303"}


def test_duplicates_on_other_images_do_not_count():
    dt = detections(image=["x", "y", "z", "w"], box=BOXES[[0, 0, 0, 0]], label=[1] * 4)
    assert "OS210" not in codes_of(check(truth(), dt, KNOWN))


def test_large_files_are_examined_in_part():
    rows = np.arange(120_000)
    box = np.stack([rows % 300, rows // 300, rows % 7 + 1, rows % 5 + 1], 1).astype(float)
    dt = Detections(np.repeat([11, 12], 60_000), rows % 2 + 1, box, rows / len(rows))
    finding = next(f for f in check(truth(), dt.select(np.r_[0, rows]), KNOWN) if f.code == "OS210")
    assert "1 of 50 000 detections examined" in finding.message


def test_crowded_images_are_examined_in_part():
    gt = replace(truth(), images=Images(np.arange(600)))
    rows = np.arange(600 * 101)
    box = np.stack([rows % 97, rows % 89, rows % 7 + 1, rows % 5 + 1], 1)
    dt = Detections(rows // 101, np.ones(len(rows)), box, rows / len(rows))
    finding = next(f for f in check(gt, dt, KNOWN) if f.code == "OS408")
    assert "500 of 500 images examined" in finding.message


values = st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, 640.0, 1e308, -1e308, np.nan, np.inf, -np.inf])
# NumPy drops a NUL at the end of a word: two words would be one.
words = st.text(st.characters(exclude_characters="\0"), max_size=2)
image_ids = st.one_of(st.integers(-3, 12), st.sampled_from([2**62, -(2**62)]), words)


@st.composite
def tables(draw):
    n_images, n_labels = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    n = draw(st.integers(0, 4)) if n_images and n_labels else 0
    m = draw(st.integers(0, 5))
    many = lambda size, what: draw(st.lists(what, min_size=size, max_size=size))  # noqa: E731
    boxes = lambda size: np.array(many(4 * size, values), float).reshape(size, 4)  # noqa: E731
    names = many(n_labels, st.sampled_from(["dog", "cat", "unknown", "Unk", "", "x"]))
    kind = draw(st.sampled_from([st.integers(-3, 9), words]))
    unique = draw(st.lists(kind, min_size=n_images, max_size=n_images, unique=True))
    gt = Annotations(
        Images(unique, None, many(n_images, values), many(n_images, values)),
        tuple(names),
        many(n, st.integers(0, max(n_images - 1, 0))),
        many(n, st.integers(0, max(n_labels - 1, 0))),
        boxes(n),
        area=many(n, values),
        id=many(n, st.integers(-1, 3)),
        category_id=draw(
            st.lists(st.integers(-1, 99), min_size=n_labels, max_size=n_labels, unique=True)
        ),
    )
    labelled = draw(st.sampled_from([(), ("dog",), ("unk", "unknown", "y")]))
    label = st.integers(0, len(labelled) - 1) if labelled else st.integers(-2, 99)
    dt = Detections(
        many(m, image_ids), many(m, label), boxes(m), many(m, values), labels=labelled,
        unknownness=draw(st.sampled_from([None, np.zeros(m)])),
    )  # fmt: skip
    known = draw(st.sampled_from([(), ("dog",), ("dog", "cat"), ("ox",)]))
    ignored = draw(st.sampled_from([frozenset(), frozenset({"x"})]))
    return gt, dt, Vocabulary(tasks=(known,), ignored=ignored)


@settings(max_examples=200, deadline=None)
@given(tables())
def test_never_raises(case):
    gt, dt, vocabulary = case
    for given_dt in (dt, None):
        findings = check(gt, given_dt, vocabulary)
        assert all(f.code in CODES and f.example and f.fix and f.cause for f in findings)
        assert findings == check(gt, given_dt, vocabulary)


def used_codes():
    texts = {p: p.read_text() for p in (ROOT / "src").rglob("*.py") if p.name != "codes.py"}
    calls = "\n".join(texts.values())
    return set(re.findall(r'"(OS\d{3})"', calls))


def test_every_code_used_is_in_the_catalogue():
    assert used_codes() <= CODES.keys()


def test_every_code_in_the_catalogue_is_used():
    unused = CODES.keys() - used_codes()
    readers = any((ROOT / "src/openset/formats").glob("[a-z]*.py"))
    assert {code for code in unused if readers or code[2] != "1"} == set()


def test_catalogue_is_complete():
    for code, entry in CODES.items():
        assert code == entry.code
        assert entry.group in GROUPS.values()
        assert all([entry.title, entry.meaning, entry.cause, entry.fix])
        assert "|" not in "".join([entry.title, entry.meaning, entry.cause, entry.fix])


def test_docs_list_the_catalogue():
    page = (ROOT / "docs/checks.md").read_text()
    head, _, body = page.partition("<!-- codes -->\n")
    assert head
    assert body.strip() == markdown().strip(), "write openset.codes.markdown() into docs/checks.md"


def scored(score):
    """Findings about a cut, of detections with these scores."""
    rng = np.random.default_rng(0)
    box = np.hstack([rng.uniform(0, 200, (len(score), 2)), rng.uniform(20, 200, (len(score), 2))])
    found = Detections([11] * len(score), [1] * len(score), box, score)
    return [one for one in check(truth(), found, KNOWN) if one.code == "OS218"]


SCORES = np.random.default_rng(0).beta(0.3, 1.2, 20_000)  # most are low, as of a detector


@pytest.mark.parametrize(("cut", "level"), [(0.15, NOTE), (0.25, WARNING), (0.5, WARNING)])
def test_scores_that_were_cut(cut, level):
    (finding,) = scored(SCORES[cut <= SCORES])
    assert finding.level is level
    assert f"no score is below {cut:.2f}" in finding.message
    assert f"minimum_score={cut:g} " in finding.fix


def test_scores_that_are_low_high_by_nature_or_few_are_not_cut():
    assert scored(SCORES) == []
    assert scored(SCORES[SCORES >= 0.05]) == scored(SCORES[SCORES >= 0.1]) == []
    high = np.random.default_rng(0).normal(0.8, 0.06, 1000).clip(0, 1)
    assert high.min() > 0.5
    assert scored(high) == []
    assert scored(SCORES[SCORES >= 0.5][:90]) == []


@pytest.mark.parametrize(("far", "level"), [(1, NOTE), (10, WARNING)])
def test_a_few_boxes_far_outside_are_not_clipped_and_no_other_layout(far, level):
    rng = np.random.default_rng(0)
    box = np.hstack([rng.uniform(0, 200, (100, 2)), rng.uniform(20, 200, (100, 2))])
    box[:far, 2] = 900
    found = Detections([11] * 100, [1] * 100, box, rng.random(100))
    (finding,) = [one for one in check(truth(), found, KNOWN) if one.code == "OS207"]
    assert (finding.level, finding.count) == (level, far)
    assert ("not clipped" in finding.cause) == (level is NOTE)


def lvis(absent, partly=("[]", "[]")):
    """Two images and three classes, of which one is on the first image and none on the second."""
    asked = {"neg_category_ids": np.array(absent), "not_exhaustive_category_ids": np.array(partly)}
    images = Images([1, 2], None, [90, 90], [90, 90], attributes=asked)
    return Annotations(images, ("dog", "cat", "unknown"), [0], [0], [[0, 0, 9, 9]])


@pytest.mark.parametrize(
    ("truth", "images"),
    [
        (lvis(["[2,3]", "[1,2,3]"]), 0),  # every class was looked for
        (lvis(["[2]", "[1,2,3]"]), 1),
        (lvis(["", "[]"]), 2),
        (lvis(["[2,3]", "[1,2,3]"], ["[1]", "[]"]), 1),
    ],
)
def test_federated_annotation_is_said(truth, images):
    said = [one for one in check(truth, None, Vocabulary.of(["dog"])) if one.code == "OS460"]
    assert [one.count for one in said] == [images] * bool(images)
    assert all(one.level is Level.WARNING for one in said)
