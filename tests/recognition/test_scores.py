"""Scores and their files: bad input gets a finding with a code, never a number or a traceback."""

import numpy as np
import pytest

from openset.findings import InputError, UsageError
from openset.recognition import Scores, evaluate_recognition, read_scores
from openset.recognition.check import check

GOOD = {
    "predicted": [0, 1, 1],
    "label": [0, 1, 0],
    "openness": [0.1, 0.2, 0.6],
    "unknown_openness": [0.9, 0.3],
    "unknown_predicted": [1, 0],
    "classes": ("cat", "dog"),
}
LOGITS = {
    "logits_k": np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 4.0]]),
    "labels_k": np.array([0, 1, 0]),
    "logits_u": np.array([[0.5, 0.1], [0.2, 0.9]]),
}


def code_of(call):
    with pytest.raises(InputError) as caught:
        call()
    [finding] = caught.value.findings
    assert finding.cause
    assert finding.fix
    return finding.code, finding.count, finding.example


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"openness": [0.1, np.nan, np.nan]}, ("OS801", 2, "sample 1")),
        ({"unknown_openness": [np.nan, 1]}, ("OS801", 1, "sample 0")),
        ({"openness": ["a", "b", "c"]}, ("OS802", 1, "")),
        ({"openness": [[0.1], [0.2], [0.3]]}, ("OS802", 1, "")),
        ({"openness": [0.1, 0.2]}, ("OS802", 1, "")),
        ({"label": [0, 1]}, ("OS802", 1, "")),
        ({"predicted": [[0], [1], [1]]}, ("OS802", 1, "")),
        ({"unknown_predicted": [0]}, ("OS802", 1, "")),
        ({"label": [0, 2, -1]}, ("OS803", 2, "sample 1: 2")),
        ({"label": [0.0, 0.5, 1.0]}, ("OS803", 1, "")),
        ({"label": [0.0, 1e300, np.inf]}, ("OS803", 2, "sample 1: 1e+300")),
        ({"predicted": [0, 1, 7]}, ("OS803", 1, "sample 2: 7")),
        ({"unknown_predicted": [0, 9]}, ("OS803", 1, "sample 1: 9")),
    ],
)
def test_bad_columns_are_refused(change, code):
    assert code_of(lambda: Scores(**GOOD | change)) == code


def test_no_sample_at_all_is_refused():
    nothing = {"predicted": [], "label": [], "openness": [], "unknown_openness": []}
    change = nothing | {"unknown_predicted": None}
    assert code_of(lambda: Scores(**GOOD | change))[0] == "OS804"


def test_a_threshold_that_is_no_number_is_refused():
    with pytest.raises(UsageError):
        Scores(**GOOD, threshold=float("nan"))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"logits_k": LOGITS["logits_k"][:2]}, "OS802"),
        ({"logits_k": np.array([1.0, 2.0, 3.0])}, "OS802"),
        ({"logits_u": np.zeros((2, 3))}, "OS802"),
        ({"logits_u": np.array([[np.nan, 0.0]])}, "OS801"),
        ({"labels_k": np.array([1, 2, 1])}, "OS803"),
        ({"labels_u": np.array([5, 1])}, "OS809"),
        ({"classes": np.array(["cat"])}, "OS802"),
        ({"logits_k": np.array([["a", "b"]] * 3)}, "OS802"),
        ({"classes": np.array("cat")}, "OS802"),
        ({"classes": np.array([0.5, 1.5])}, "OS802"),
        ({"labels_u": np.array(5)}, "OS802"),
        ({"labels_u": np.array([5, 6, 7])}, "OS802"),
    ],
)
def test_bad_archives_are_refused(change, code, tmp_path):
    np.savez(tmp_path / "s.npz", **LOGITS | change)
    assert code_of(lambda: read_scores(tmp_path / "s.npz"))[0] == code


def test_infinite_openness_is_a_rank_like_any_other():
    one = Scores(**GOOD | {"openness": [-np.inf, 0.2, np.inf]})
    assert evaluate_recognition(one, intervals=False).value("openauc").value == 2 / 3


def test_archives_of_logits_and_of_openness_agree(tmp_path):
    np.savez(tmp_path / "logits.npz", **LOGITS, labels_u=np.array([7, 8]))
    one = read_scores(tmp_path / "logits.npz")
    arrays = {"openness_k": one.openness, "predicted_k": one.predicted, "labels_k": one.label}
    arrays |= {"openness_u": one.unknown_openness, "predicted_u": one.unknown_predicted}
    np.savez(tmp_path / "openness.npz", **arrays, classes=np.array(["0", "1"]))
    same(one, read_scores(tmp_path / "openness.npz"))
    assert one.openness.tolist() == [-2.0, -3.0, -4.0]
    energy = read_scores(tmp_path / "logits.npz", openness="energy")
    assert energy.openness[0] == pytest.approx(-np.log(np.exp(2) + 1))
    msp = read_scores(tmp_path / "logits.npz", openness="msp")
    assert msp.openness[0] == pytest.approx(1 / (np.exp(2) + 1))
    with pytest.raises(UsageError, match="max_logit"):
        read_scores(tmp_path / "logits.npz", openness="max_logits")


def same(one, other):
    for name in ("predicted", "label", "openness", "unknown_openness", "unknown_predicted"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.classes == other.classes


def test_tables_with_logits_and_with_openness(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("label,logit:cat,logit:dog\ncat,2,0\ndog,0,3\ncat,1,4\nunknown,.5,.1\n,.2,.9\n")
    one = read_scores(path)
    assert one.classes == ("cat", "dog")
    path.write_text(
        "label,predicted,openness\ncat,cat,-2\ndog,dog,-3\ncat,dog,-4\nunknown,cat,-.5\n-1,dog,-.9\n"
    )
    same(one, read_scores(path))
    path.write_text("label,predicted,openness\ncat,dog,0\nunknown,,1\n")
    assert read_scores(path).unknown_predicted is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "OS102"),
        ("label,openness\n1,2\n", "OS807"),
        ("label,predicted,openness\ncat,cat,high\n", "OS108"),
        ("label,predicted,openness\ncat,cat,nan\nunknown,cat,1\n", "OS801"),
        ("label,logit:cat\ndog,1\n", "OS803"),
        ("label,predicted,openness\n", "OS804"),
        ('label,predicted,openness\n"cat,cat,1\n', "OS"),
    ],
)
def test_bad_tables_are_refused(text, code, tmp_path):
    (tmp_path / "s.csv").write_text(text)
    assert code_of(lambda: read_scores(tmp_path / "s.csv"))[0].startswith(code)


def test_numbers_beyond_all_are_infinite_and_no_warning(tmp_path):
    large = "9" * 21 + "e308"  # so many digits, and NumPy warns
    text = f"label,predicted,openness\ncat,cat,1\nunknown,cat,{large}\n"
    (tmp_path / "s.csv").write_text(text)
    assert read_scores(tmp_path / "s.csv").unknown_openness.tolist() == [np.inf]


@pytest.mark.parametrize("named", ["", " ", "unknown", "Unknown", "UNK", "-1"])
def test_a_known_sample_without_a_class_is_refused_with_its_row(named, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(f"label,predicted,openness\nunknown,,2\ncat,cat,0\ncat,{named},1\n")
    assert code_of(lambda: read_scores(path)) == ("OS803", 1, f"row 3: {named.strip()!r}")


@pytest.mark.parametrize(
    "name", ["", "-1", "unknown", "Unknown", " unknown", "UNK", "unknown_object"]
)
def test_spellings_of_unknown_are_no_class(name, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text(f"label,predicted,openness\ncat,cat,0\ndog, dog,0\n{name},{name},2\n")
    found = read_scores(path)
    assert (found.classes, found.n_known, found.n_unknown) == (("cat", "dog"), 2, 1)
    assert found.unknown_predicted is None
    assert found.correct.all()
    path.write_text(f"label,logit:cat,logit:dog\ncat,2,0\n{name},0,1\n")
    assert read_scores(path).n_unknown == 1


def test_names_of_classes_may_be_bytes(tmp_path):
    np.savez(tmp_path / "s.npz", **LOGITS, classes=np.array([b"cat", "b\u00e4r".encode()]))
    assert read_scores(tmp_path / "s.npz").classes == ("cat", "b\u00e4r")


def test_other_files_are_refused(tmp_path):
    np.savez(tmp_path / "other.npz", weights=np.zeros(3))
    assert code_of(lambda: read_scores(tmp_path / "other.npz"))[0] == "OS807"
    assert code_of(lambda: read_scores(tmp_path / "absent.npz"))[0] == "OS101"
    assert code_of(lambda: read_scores(tmp_path))[0] == "OS103"
    whole = (tmp_path / "other.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"OS102.*cut.npz is the beginning of an .npz archive"):
        read_scores(tmp_path / "cut.npz")


def test_pickled_objects_are_never_loaded(tmp_path):
    bad = {**LOGITS, "labels_k": np.array([object()] * 3, dtype=object)}
    np.savez(tmp_path / "s.npz", **bad)
    assert code_of(lambda: read_scores(tmp_path / "s.npz"))[0] == "OS102"


@pytest.mark.parametrize(
    ("change", "codes"),
    [
        ({}, set()),
        ({"unknown_openness": [], "unknown_predicted": None}, {"OS804"}),
        ({"predicted": [], "label": [], "openness": []}, {"OS804"}),
        ({"openness": [1, 1, 1], "unknown_openness": [1, 1]}, {"OS805"}),
        ({"classes": ("cat", "dog", "cow")}, {"OS808"}),
    ],
)
def test_what_still_has_a_result_is_a_warning(change, codes):
    assert {finding.code for finding in check(Scores(**GOOD | change))} == codes


def test_one_class_is_a_warning():
    one = Scores([0], [0], [0.1], [0.3], None, ("cat",))
    assert [finding.code for finding in check(one)] == ["OS806"]


def test_probabilities_of_one_side_alone_are_refused():
    rng = np.random.default_rng(0)
    logits, shares = rng.normal(size=(30, 3)), rng.dirichlet(np.ones(3), 20)
    label = np.arange(30) % 3
    with pytest.raises(InputError, match="unknown samples alone, all 20 rows"):
        Scores.from_logits(logits, label, shares)
    with pytest.raises(InputError, match="of known samples alone, all 20 rows"):
        Scores.from_logits(shares, label[:20], logits)
    assert Scores.from_logits(shares, label[:20], shares).n_unknown == 20


def test_a_classifier_that_hardly_began_to_learn_is_not_refused():
    small = np.random.default_rng(0).uniform(0.005, 0.02, (400, 3))  # as ARPL's after one step
    assert Scores.from_logits(small, np.arange(400) % 3, small, openness="msp").n_known == 400


@pytest.mark.parametrize("unknown", [3, 5])
def test_logits_that_are_turned_are_told(unknown):
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="OS802") as caught:
        Scores.from_logits(rng.normal(size=(2, 5)), [0, 1, 1, 0, 1], rng.normal(size=(2, unknown)))
    assert "logits.T" in caught.value.findings[0].fix


def test_names_that_were_saved_as_objects_say_how_to_save_them(tmp_path):
    label = np.array(["a", "b"], dtype=object)
    np.savez(tmp_path / "a.npz", logits_k=np.eye(2), labels_k=label, logits_u=np.eye(2))
    with pytest.raises(InputError, match=r"OS102.*labels_k.npy holds Python objects") as caught:
        read_scores(tmp_path / "a.npz")
    assert "astype(str)" in caught.value.findings[0].fix
