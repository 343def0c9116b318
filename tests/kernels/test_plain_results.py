"""The NumPy reader of plain results against json, and against the compiled reader."""

import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openset.kernels import ReadError, read_results
from openset.kernels.numpy_twins import plain_results
from openset.kernels.numpy_twins.decimals import LONGEST, decode
from openset.kernels.numpy_twins.read import _count_keys
from scenes.kernels import needs_native

RECORD = {"image_id": 3, "category_id": 1, "bbox": [0.5, 1, 2.25, -30.125], "score": 0.75}
NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
TEXT = json.dumps([RECORD | {"image_id": i} for i in range(9)])
BAD_NUMBERS = (
    *("", "-", "+1", ".5", "1.", "01", "-01", "00", "1..2", "1.2.3", "1/2", "1 2", "0x1", "1_0"),
    *("1e", "1e999", "--1", "1-1", "NaN", "Infinity", "null", "true", '"1"', "[1]", "{}", "1]"),
    *("1" * 5000, "\x00", "1\f", "é", "1.5e", "1e+", ":;<=>", "-.5", "0.5-", "1234567/"),
)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(plain_results, "RECORDS_PER_BLOCK", 2)


def decode_all(numbers):
    lengths = np.array([len(number) for number in numbers])
    text = b" " * LONGEST + b"".join(numbers) + b" "
    end = LONGEST + np.cumsum(lengths)
    characters = np.frombuffer(text, np.uint8)
    words = np.array([text[e - LONGEST : e] for e in end]).view("<u8")
    return decode(characters, words, end - lengths, end)


def assert_decoded(numbers):
    found = decode_all(numbers)
    valid = [NUMBER.fullmatch(number) is not None for number in numbers]
    plain = [
        one and len(number.lstrip(b"-")) <= LONGEST
        for one, number in zip(valid, numbers, strict=True)
    ]
    assert found.plain.tolist() == plain
    chosen = [number for number, one in zip(numbers, plain, strict=True) if one]
    exact = np.array([float(number) for number in chosen])
    assert found.value[found.plain].tobytes() == exact.tobytes()
    assert found.whole[found.plain].tolist() == [b"." not in number for number in chosen]


def test_all_short_strings_are_decoded_or_left():
    alphabet = [bytes([c]) for c in b"0193.-+e/ :"]
    for length in range(1, 5):
        assert_decoded([b"".join(one) for one in itertools.product(alphabet, repeat=length)])


def test_long_strings_are_decoded_or_left():
    random = np.random.default_rng(0)
    characters = np.frombuffer(b"0123456789" * 3 + b"..-e\x00\xff", np.uint8)
    strings = [random.choice(characters, 5 + i % 6).tobytes() for i in range(20_000)]
    assert_decoded([string.replace(b"\x00", b"1") for string in strings])


def test_every_decimal_of_eight_characters_is_nearest():
    digits = np.random.default_rng(1).integers(0, 10**7, 50_000)
    numbers = [
        (b"%07d" % one)[: i % 7] + b"." + (b"%07d" % one)[i % 7 :]
        for i, one in enumerate(digits.tolist())
    ]
    assert_decoded([re.sub(rb"^0*(?=[0-9])", b"", number) for number in numbers])


LAYOUTS = {
    "default": {},
    "compact": {"separators": (",", ":")},
    "indented": {"indent": 2},
    "sorted": {"sort_keys": True},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_plain_layouts(layout, n, small_blocks):
    text = json.dumps(json.loads(TEXT)[:n], **LAYOUTS[layout])
    for one in (text, f"\n {text} \r\n"):
        columns = plain_results.read_results(memoryview(one.encode()))
        records = json.loads(one)
        assert columns.image_id.tolist() == [record["image_id"] for record in records]
        assert columns.category_id.tolist() == [record["category_id"] for record in records]
        assert columns.box.tolist() == [record["bbox"] for record in records]
        assert columns.score.tolist() == [record["score"] for record in records]
        assert {array.flags.c_contiguous for array in columns[:4]} == {True}
        assert [array.dtype.name for array in columns[:4]] == ["int64"] * 2 + ["float64"] * 2


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        json.dumps([RECORD]),
        json.dumps([RECORD, dict(sorted(RECORD.items())), RECORD]),
        json.dumps([RECORD, RECORD | {"id": 1}]),
        json.dumps([RECORD | {"id": 1}] * 2),
        json.dumps([RECORD | {"bbox": [1, 2, 3]}] * 2),
        json.dumps([RECORD | {"score": "0.5"}] * 2),
        json.dumps([RECORD | {"score": "0.5"}, RECORD]),
        TEXT.replace('"score"', '"sc0re"'),
        TEXT.replace("image_id", "im\\u0061ge_id"),
        TEXT.replace("}, {", "},  {", 1),
        TEXT.replace("}, {", "}\f, {"),
        TEXT.replace("}]", "}]]"),
        TEXT[:-1],
        TEXT[: TEXT.rindex('"score"')] + ",]",
        TEXT[: TEXT.rindex("{")] + ",,,,,,]",
        TEXT.replace('"image_id": 5', '"image_id": 9007199254740993'),
        TEXT.replace('"image_id": 8', '"image_id": 9007199254740993'),
        TEXT.replace('"image_id": 5', '"image_id": 5.0'),
    ],
)
def test_other_texts_are_left(text, small_blocks):
    assert plain_results.read_results(text.encode()) is None


@pytest.mark.parametrize("number", ["0", "-0", "-0.0", "1e5", "1E-5", "12345678.5", "1" * 30, " 7"])
@pytest.mark.parametrize("record", [0, 4, 8])
def test_rare_numbers_are_read(backend, number, record, small_blocks):
    parts = TEXT.split("0.75")
    text = "0.75".join(parts[: record + 1]) + number + "0.75".join(parts[record + 1 :])
    score = read_results(text.encode()).score
    assert score[record] == float(number)
    assert np.delete(score, record).tolist() == [0.75] * 8


@pytest.mark.parametrize("number", ["-7", "0", "123456789", "9007199254740992"])
def test_rare_ids_are_read(backend, number, small_blocks):
    text = TEXT.replace('"image_id": 4', f'"image_id": {number}')
    assert read_results(text.encode()).image_id[3:6].tolist() == [3, int(number), 5]


@pytest.mark.parametrize("number", BAD_NUMBERS)
@pytest.mark.parametrize("good", ["0.75", "-30.125", '"image_id": 4'])
def test_bad_numbers_are_refused(backend, number, good, small_blocks):
    bad = f'"image_id": {number}' if "image" in good else number
    at = TEXT.index(good, len(TEXT) // 3)
    with pytest.raises(ReadError):
        read_results((TEXT[:at] + bad + TEXT[at + len(good) :]).encode())


def test_empty_file_is_refused(backend, tmp_path):
    (tmp_path / "empty.json").write_bytes(b"")
    with pytest.raises(ReadError):
        read_results(tmp_path / "empty.json")


SNIPPETS = st.text('0123456789.,-e[]{}: "\n', max_size=4)


@needs_native
@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(TEXT)), st.integers(0, 4), SNIPPETS), max_size=2),
    st.sampled_from([1, 2, 100]),
)
def test_backends_agree_on_damaged_records(edits, block):
    text = TEXT
    for at, removed, added in edits:
        text = text[:at] + added + text[at + removed :]
    found = []
    for backend in ("native", "numpy"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OPENSET_KERNELS", backend)
            patch.setattr(plain_results, "RECORDS_PER_BLOCK", block)
            try:
                columns = read_results(text.encode())[:4]
                found.append([(array + 0).tobytes() for array in columns])  # + 0: -0 is 0
            except ReadError:
                found.append(None)
    assert found[0] == found[1], text


@given(st.lists(st.sampled_from(['"id"', '"i', 'd"', '"image_id"', " ", ": 1,", '"']), max_size=30))
def test_keys_are_counted(parts):
    text = "".join(parts).replace('"id"id"', "").encode()  # overlapping keys count once or twice
    keys = ["id", "image_id"]
    expected = [text.count(b'"%b"' % key.encode()) for key in keys]
    assert _count_keys(memoryview(text), keys) == expected
