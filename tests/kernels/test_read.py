import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from openset import kernels
from openset.kernels import ReadError, read_results, read_truth
from scenes.kernels import needs_native

RECORD = {"image_id": 3, "category_id": 1, "bbox": [0.5, 1, 2.25, 3e1], "score": 0.75}
TRUTH = {
    "info": {"year": 2026},
    "images": [{"id": 7, "width": 640, "height": 480.5, "file_name": 'ä/"7".jpg', "license": 1}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 2, "bbox": [1, 2, 3, 4], "area": 12.0}
        | {"iscrowd": 1, "segmentation": {"size": [4, 5], "counts": "ab}, {\\"}},
        {"id": 2, "image_id": 7, "category_id": 3, "bbox": [1, 2, 3, 4]},
    ],
    "categories": [{"id": 2, "name": "ü"}],
}


def random_records(n, **extra):
    random = np.random.default_rng(n)
    boxes = (random.random((n, 4)) * 500).tolist()
    scores = (random.random(n) * 10.0 ** -random.integers(0, 9, n)).tolist()
    ids = random.integers(-5, 99, (n, 2)).tolist()
    return [
        {"image_id": i, "category_id": c, "bbox": box, "score": score, **extra}
        for (i, c), box, score in zip(ids, boxes, scores, strict=True)
    ]


def assert_equals_json(columns, text):
    records = json.loads(text)
    assert columns.image_id.tolist() == [r["image_id"] for r in records]
    assert columns.category_id.tolist() == [r["category_id"] for r in records]
    assert columns.score.tolist() == [r["score"] for r in records]
    assert columns.box.tolist() == [r["bbox"] for r in records]


MANY = random_records(25_000)  # more than one block
HOSTILE = {"name": 'q"}, {"', "nested": [{"a": [2]}, {"b": "}, {"}]}
LAYOUTS = {
    "default": lambda: json.dumps(MANY),
    "compact": lambda: json.dumps(MANY, separators=(",", ":")),
    "indented": lambda: json.dumps(MANY, indent=2),
    "sorted": lambda: json.dumps(MANY, sort_keys=True),
    "spaces": lambda: " \n\t" * 9 + json.dumps(MANY) + "\r\n" * 9,
    "hostile": lambda: json.dumps(random_records(15_000, **HOSTILE)),
    "mixed": lambda: json.dumps(
        [dict(sorted(r.items())) if i % 3 else r for i, r in enumerate(MANY)]
    ),
    "one huge record": lambda: json.dumps(
        [*MANY[:3], RECORD | {"blob": list(range(400_000))}, *MANY[3:9000]]
    ),
    "space before": lambda: " " * (2 << 20) + json.dumps(MANY[:9]),
    "space within": lambda: json.dumps(MANY[:9]).replace("}, {", "}" + " " * 300_000 + ",\n{"),
    "empty": lambda: "[]",
    "empty with space": lambda: " [ \n] ",
    "integers": lambda: json.dumps([RECORD | {"bbox": [1, 2, 3, 4], "score": 1}] * 3),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_equal_json(backend, layout, tmp_path):
    text = LAYOUTS[layout]()
    path = tmp_path / "results.json"
    path.write_text(text)
    columns = read_results(path)
    assert_equals_json(columns, text)
    assert_same_but_tuples(columns, read_results(text.encode()))


def assert_same_but_tuples(one, other):
    for name in one._fields:
        a, b = getattr(one, name), getattr(other, name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), name
        else:
            assert a == b, name


def test_every_double_is_read_exactly(backend):
    bits = np.random.default_rng(0).integers(0, 2**63, 8000)
    values = bits.view(np.float64)
    values = values[np.isfinite(values)]
    short = np.random.default_rng(1).random(2000).astype(np.float32).astype(np.float64)
    for numbers in (values, -values, short):
        text = json.dumps([RECORD | {"score": number} for number in numbers.tolist()])
        assert (read_results(text.encode()).score == numbers).all()


@pytest.mark.parametrize(
    "number",
    (
        *(
            "0",
            "-0",
            "-0.0",
            "-0e5",
            "0.0",
            "1e5",
            "1E+5",
            "1e-5",
            "123456789012345678901234567890",
            "1e-400",
        ),
        *("2e-320", "0.1e1", "9007199254740993", "1.7976931348623157e308", "1" * 300),
        "0." + "0" * 400 + "1",
    ),
)
def test_number_forms(backend, number):
    text = json.dumps([RECORD]).replace("0.75", number)
    read, said = read_results(text.encode()).score, float(json.loads(number))
    assert read.tolist() == [said]
    assert np.signbit(read[0]) == np.signbit(said)  # -0 is a whole number, which has no sign there


def test_extra_keys_are_named_and_bulk_is_not(backend):
    records = [RECORD | {"segmentation": [[1, 2]], "ood_score": 1}, RECORD | {"é": 2, "id": {}}]
    for ascii_only in (True, False):
        text = json.dumps(records, ensure_ascii=ascii_only)
        assert read_results(text.encode()).extra_keys == ("ood_score", "é", "id")


def test_escaped_keys_are_understood(backend):
    text = json.dumps([RECORD]).replace("image_id", "im\\u0061ge_id")
    assert read_results(text.encode()).image_id.tolist() == [3]


def test_truth(backend, tmp_path):
    text = json.dumps(TRUTH, indent=1).encode()
    path = tmp_path / "truth.json"
    path.write_bytes(text)
    columns = read_truth(path)
    assert columns.image_ids.tolist() == [7]
    assert (columns.width.tolist(), columns.height.tolist()) == ([640.0], [480.5])
    assert columns.file_names == ['ä/"7".jpg']
    assert columns.id.tolist() == [1, 2]
    assert columns.image_id.tolist() == [7, 7]
    assert columns.category_id.tolist() == [2, 3]
    assert columns.box.tolist() == [[1, 2, 3, 4]] * 2
    assert columns.area[0] == 12
    assert np.isnan(columns.area[1])
    assert columns.crowd.tolist() == [True, False]
    assert columns.image_extra_keys == columns.annotation_extra_keys == ()
    assert columns.head == {"info": {"year": 2026}, "categories": [{"id": 2, "name": "ü"}]}
    assert_same_but_tuples(columns, read_truth(text))


def test_an_empty_key_is_a_key(backend):
    columns = read_truth(b'{"images": [{"id": 1, "": 2}], "annotations": [], "categories": []}')
    assert columns.image_extra_keys == ("",)


def test_truth_names_extra_keys(backend):
    images = [{"id": 1, "wild": 1}, {"id": 2, "split": "val"}]
    annotations = [TRUTH["annotations"][1] | {"difficult": 1}]
    columns = read_truth(json.dumps({"annotations": annotations, "images": images}).encode())
    assert columns.image_extra_keys == ("wild", "split")
    assert columns.annotation_extra_keys == ("difficult",)
    assert columns.file_names is None
    assert np.isnan(columns.width).all()
    assert columns.head == {}


GOOD = json.dumps([RECORD])
BAD_RESULTS = {
    "": "truncated",
    "  ": "truncated",
    "[": "truncated",
    GOOD[:-1]: "truncated",
    GOOD[:30]: "truncated",
    "{}": "not_a_list",
    "3": "not_a_list",
    "[3]": "not_an_object",
    GOOD[:-1] + ",]": "bad_syntax",
    GOOD.replace("}", ",}"): "bad_syntax",
    GOOD.replace(",", ",,", 1): "bad_syntax",
    GOOD.replace(":", "", 1): "bad_syntax",
    GOOD.replace("[0.5", "[0.5,"): "bad_syntax",
    GOOD.replace("0.75", "1."): "bad_number",
    GOOD.replace("0.75", "00.75"): "bad_number",
    GOOD.replace("0.75", "+1"): "bad_syntax",
    GOOD.replace("0.75", ".5"): "bad_syntax",
    GOOD.replace("0.75", "1e"): "bad_number",
    GOOD.replace("0.75", "1e999"): "bad_number",
    GOOD.replace("0.75", "1" * 5000): "bad_number",
    GOOD.replace("0.75", "NaN"): "nan",
    GOOD.replace("0.75", "-Infinity"): "nan",
    GOOD.replace("0.75", "null"): "null",
    GOOD.replace("0.75", "true"): "bad_type",
    GOOD.replace(": 3", ': "3"'): "string_id",
    GOOD.replace(": 3", ": 3.0"): "bad_number",
    GOOD.replace(": 3", ": 3e2"): "bad_number",
    GOOD.replace(": 3", ": 03"): "bad_number",
    GOOD.replace(": 3", ": 9007199254740993"): "bad_number",
    GOOD.replace(": 3", ": 99999999999999999999"): "bad_number",
    GOOD.replace(": 3", ": 3, \"image_id\": 3"): "duplicate_key",
    GOOD.replace("[0.5, 1, 2.25, 30.0]", "[0.5, 1, 2.25]"): "bad_box",
    GOOD.replace("[0.5, 1, 2.25, 30.0]", "[0.5, 1, 2.25, 30.0, 1]"): "bad_box",
    GOOD.replace("[0.5, 1, 2.25, 30.0]", "null"): "null",
    GOOD.replace("[0.5, 1, 2.25, 30.0]", "7"): "bad_type",
    GOOD.replace('"score"', '"confidence"'): "missing_key",
    GOOD.replace("}", ', "a": "\x01"}'): "bad_syntax",
    GOOD.replace("}", ', "a": "\\x"}'): "bad_syntax",
    GOOD.replace("}", ', "a": "\\u12g4"}'): "bad_syntax",
    GOOD.replace("}", ', "a": tru}'): "bad_syntax",
    GOOD.replace("}", ', "a": [1, 2}'): "bad_syntax",
    GOOD.replace("}", ', "a": {"b" 1}}'): "bad_syntax",
    GOOD.replace("}", ', "a": {"b": 1,}}'): "bad_syntax",
    GOOD.replace("}", ', "a": 01}'): "bad_number",
    GOOD.replace("}", ', "a": NaN}'): "nan",
    GOOD + "x": "trailing",
    GOOD + GOOD: "trailing",
    "\ufeff" + GOOD: "bom",
    GOOD.replace("}", ', "a": ' + "[" * 100_000 + "}"): "nesting",
    GOOD.replace("}", ', "a": ' + '{"a":' * 100_000 + "}"): "nesting",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD_RESULTS, ids=lambda text: text[:40] + text[-20:])
def test_bad_results_are_refused(backend, text):
    with pytest.raises(ReadError) as caught:
        read_results(text.encode())
    similar = {"bad_number", "bad_syntax"}  # json does not tell them apart
    expected = similar if BAD_RESULTS[text] in similar else {BAD_RESULTS[text]}
    if backend == "native":
        expected = {BAD_RESULTS[text]}
    assert caught.value.kind in expected


@pytest.mark.parametrize(
    "raw", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2"]
)
@pytest.mark.parametrize("where", ["skipped", "key"])
def test_bad_utf8_is_refused(backend, raw, where):
    extra = b', "a": "%s"}' % raw if where == "skipped" else b', "%s": 1}' % raw
    with pytest.raises(ReadError) as caught:
        read_results(GOOD.encode().replace(b"}", extra))
    assert caught.value.kind == "utf8"


@needs_native
def test_errors_are_located(monkeypatch):
    monkeypatch.setenv("OPENSET_KERNELS", "native")
    text = json.dumps(MANY)
    at = text.index('"score"', 2_200_000)
    with pytest.raises(ReadError) as caught:
        read_results((text[:at] + '"sc0re"' + text[at + 7 :]).encode())
    begin = text.rindex("{", 0, at)
    assert caught.value.offset == begin
    assert caught.value.record == text[:begin].count("{")
    assert str(caught.value) == f'record {caught.value.record}, byte {begin}: no "score"'


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[]", "not_an_object"),
        ("{}", "missing_key"),
        ('{"images": []}', "missing_key"),
        ('{"images": {}, "annotations": []}', "not_a_list"),
        ('{"images": [], "images": [], "annotations": []}', "duplicate_key"),
        ('{"images": [{}], "annotations": []}', "missing_key"),
        ('{"images": [{"id": 1, "id": 1}], "annotations": []}', "duplicate_key"),
        ('{"images": [{"id": "a"}], "annotations": []}', "string_id"),
        ('{"images": [{"id": 1, "width": null}], "annotations": []}', "null"),
        ('{"images": [{"id": 1, "file_name": 5}], "annotations": []}', "bad_type"),
        ('{"images": [{"id": 1, "file_name": ""}, {"id": 2}], "annotations": []}', "missing_key"),
        ('{"images": [3], "annotations": []}', "not_an_object"),
        ('{"images": [], "annotations": [{"id": 1}]}', "missing_key"),
        ('{"images": [], "annotations": [],}', "bad_syntax"),
        ('{"images": [], "annotations": []} {', "trailing"),
        ('{"images": [], "annotations": [], "info": NaN}', "nan"),
        ('{"images": [], "annotations": []', "truncated"),
        ('{"images": [], "annotations": [], "info": ' + "[" * 5000, "nesting"),
        ("{" * 5000, "bad_syntax"),
    ],
)
def test_bad_truth_is_refused(backend, text, kind):
    with pytest.raises(ReadError) as caught:
        read_truth(text.encode())
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    "crowds",
    ['"iscrowd": 0, "iscrowd": 0', '"iscrowd": true', '"iscrowd": 1.0', '"iscrowd": 2'],
)
def test_bad_crowds_are_refused(backend, crowds):
    one = '{"id": 1, "image_id": 7, "category_id": 2, "bbox": [1, 2, 3, 4]'
    text = f'{{"images": [], "annotations": [{one}, {crowds}}}, {one}}}]}}'
    with pytest.raises(ReadError):
        read_truth(text.encode())


def test_missing_file(backend, tmp_path):
    with pytest.raises(FileNotFoundError):
        read_results(tmp_path / "none.json")


def outcome(reader, text, name):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENSET_KERNELS", name)
        try:
            return reader(text)
        except ReadError:
            return None


SEEDS = {
    read_results: json.dumps([RECORD, RECORD | {"segmentation": [[1.5, 2]], "x": "é\\n"}]),
    read_truth: json.dumps(TRUTH, ensure_ascii=False),
}
SNIPPETS = st.sampled_from(
    (
        *(b",", b"}", b"{", b"[", b"]", b'"', b"\\", b"0", b"-", b".", b"e", b"1", b":", b" "),
        *(b"\x00", b"null", b"NaN", b"true", b"\xff", b"\xc3", b"\\u00e9", b"1e999"),
        *(b'"id":1,', b'"image_id":1,', b'"iscrowd":1,', b'"area":1,'),
    )
)


@needs_native
@settings(max_examples=300, deadline=None)
@given(
    reader=st.sampled_from([read_results, read_truth]),
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 12), st.one_of(st.just(b""), SNIPPETS)),
        min_size=1,
        max_size=3,
    ),
)
@example(read_results, [(1.0, 1, b"")])
@example(read_results, [(0.125, 0, b"\xff")])
def test_backends_agree_on_damaged_text(reader, edits):
    text = SEEDS[reader].encode()
    for place, removed, added in edits:
        at = int(place * len(text))
        text = text[:at] + added + text[at + removed :]
    native, twin = outcome(reader, text, "native"), outcome(reader, text, "numpy")
    assert (native is None) == (twin is None), text
    if native is not None:
        assert_same_but_tuples(native, twin)


@needs_native
@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60))
def test_backends_agree_on_noise(text):
    for reader in (read_results, read_truth):
        assert outcome(reader, text, "native") is outcome(reader, text, "numpy") is None or text


def test_backend_name():
    assert kernels.backend() in ("native", "numpy")
