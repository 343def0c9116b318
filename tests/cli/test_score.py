"""score: files with unknownness, made by scorers that say what they were fitted on."""

from dataclasses import replace

import numpy as np
import pytest

from openset.formats import read_detections, write
from openset.scorers import ledger, save_head, table
from openset.tables import Annotations, Head, Images
from scenes.scorers import head, scene

EVERY = {name for name, one in table().items() if not one.uses_unknown}


@pytest.fixture
def files(here):
    write(scene(160, split="digits train"), here / "train.parquet")
    write(scene(80, seed=1, split="digits val"), here / "val.parquet")
    write(scene(60, seed=2, unknown=True, split="digits test"), here / "test.parquet")
    save_head(head(), here / "head.npz")
    save_head(Head(head().weight[:3], head().bias[:3], "sigmoid"), here / "other.npz")
    return here


def test_one_scorer_writes_one_file(openset, files):
    done = openset("score", "test.parquet", "--scorers", "energy", "-o", "energy.parquet")
    assert done.code == 0, done.err
    scored = read_detections(files / "energy.parquet")
    assert scored.unknownness is not None
    assert np.ptp(scored.unknownness) > 0
    assert "nothing was fitted; no leak known" in done.out
    assert done.out.splitlines()[-1] == "next: openset evaluate GT energy.parquet"


def test_all_that_the_evidence_allows(openset, files):
    options = ("--scorers", "all", "--fit", "train.parquet", "--head", "head.npz", "-o", "scored")
    done = openset("score", "test.parquet", *options)
    assert done.code == 0, done.err
    assert {path.stem for path in (files / "scored").iterdir()} == EVERY
    knn = read_detections(files / "scored" / "knn.parquet")
    assert ledger.summary(knn) == "knn fitted on digits train (40 images); no leak known"


def test_the_head_travels_with_the_detections(openset, files):
    from openset.evaluation.run import Run

    for name in ("train", "test"):
        path = files / f"{name}.parquet"
        write(replace(read_detections(path), head=head()), path)
    assert openset("convert", "test.parquet", "-o", "again.parquet").code == 0
    options = ("--scorers", "all", "--fit", "train.parquet", "-o", "scored")
    done = openset("score", "again.parquet", *options)
    assert done.code == 0, done.err
    assert {path.stem for path in (files / "scored").iterdir()} == EVERY
    vim = read_detections(files / "scored" / "vim.parquet")
    assert vim.head.equals(head())
    truth = Annotations(Images(np.unique(vim.image)), vim.labels, vim.image, vim.label, vim.box)
    write(truth, files / "truth.json")
    kept = ("--known", "dog,cat,cow,hen", "--no-intervals", "-o", "run")
    assert openset("evaluate", "truth.json", "scored/vim.parquet", *kept).code == 0
    assert Run.load(files / "run").detections["vim"].head.equals(head())
    done = openset("convert", "test.parquet", "-o", "t.json", "--truth", "truth.json", "--json")
    assert "head" in done.json["loses"]


def test_classes_that_are_left_out_were_taught_all_the_same(openset, files):
    asked = ("score", "test.parquet", "--scorers", "energy", "-o", "e.parquet", "--known")
    done = openset(*asked, "dog,cat")
    assert done.code == 0, done.err
    assert "LEAK: the detector was taught classes that are unknown here" in done.out
    assert ledger.entries(read_detections(files / "e.parquet"))[0].step == "taught"
    done = openset(*asked, ",".join(read_detections(files / "test.parquet").labels))
    assert "no leak known" in done.out


def test_another_head_than_the_detections_carry_is_refused(openset, files):
    carrying = replace(read_detections(files / "test.parquet"), head=head())
    write(carrying, files / "test.parquet")
    save_head(Head(head().weight, head().bias + 1e-6, head().layout), files / "near.npz")
    command = ("score", "test.parquet", "--scorers", "ash", "-o", "ash.parquet", "--head")
    assert openset(*command, "head.npz").code == 0
    done = openset(*command, "near.npz")
    assert done.code == 2 and "OS503" in done.err
    assert "not the one that the detections carry" in " ".join(done.err.split())


def test_all_goes_on_where_one_cannot_be_fitted(openset, files):
    few = read_detections(files / "train.parquet")
    write(few.select(np.unique(few.label, return_index=True)[1]), files / "few.parquet")
    options = ("--scorers", "all", "--fit", "few.parquet", "--minimum-score", "0", "-o", "scored")
    done = openset("score", "test.parquet", *options)
    assert done.code == 1, done.err
    made = {path.stem for path in (files / "scored").iterdir()}
    assert "energy" in made
    assert not {"knn", "mahalanobis"} & made
    assert "left out knn: OS504 the 10-th neighbour of 4 training detections" in done.out
    assert "knn" not in done.out.splitlines()[-1]
    told = openset("score", "test.parquet", *options, "--json").json
    assert told["exit_code"] == 1
    assert set(told["left_out"]) == EVERY - made - {"ash", "dice", "react", "vim"}


def test_all_that_cannot_be_calibrated_is_an_error(openset, files):
    options = (
        "--scorers",
        "all",
        "--calibrate",
        "val.parquet",
        "--known-share",
        "2",
        "-o",
        "scored",
    )
    done = openset("score", "test.parquet", *options)
    assert done.code == 2
    assert "--known-share must be in (0, 1]" in done.err


def test_all_without_training_data_leaves_out_what_fits(openset, files):
    assert openset("score", "test.parquet", "--scorers", "all", "-o", "scored").code == 0
    names = {path.stem for path in (files / "scored").iterdir()}
    assert {"msp", "energy"} <= names
    assert not {"knn", "mahalanobis", "vim"} & names


def test_calibration_calls_the_tail_unknown(openset, files):
    options = ("--fit", "train.parquet", "--calibrate", "val.parquet", "-o", "knn.parquet")
    done = openset("score", "test.parquet", "--scorers", "knn", *options, "--json")
    facts = done.json["scorers"]["knn"]
    scored = read_detections(files / "knn.parquet")
    beyond = scored.unknownness > facts["threshold"]
    unknown = np.array(scored.labels)[scored.label] == "unknown"
    assert beyond.any()
    assert (unknown == beyond).all()
    assert [entry["step"] for entry in facts["ledger"]] == ["fit", "score", "threshold"]


def test_options_reach_the_scorer(openset, files):
    both = {}
    for k in (1, 50):
        options = ("--fit", "train.parquet", "--option", f"k={k}", "-o", f"{k}.parquet")
        assert openset("score", "test.parquet", "--scorers", "knn", *options).code == 0
        both[k] = read_detections(files / f"{k}.parquet").unknownness
    assert (both[50] > both[1]).all()


def test_fits_on_what_found_its_object(openset, files):
    train = read_detections(files / "train.parquet")
    half = train.select(np.arange(0, len(train), 2))
    truth = Annotations(
        Images(np.unique(train.image)),
        train.labels,
        np.searchsorted(np.unique(train.image), half.image),
        half.label,
        half.box,
    )
    write(truth, files / "train.json")
    fit = ("--scorers", "knn", "--fit", "train.parquet", "--json")
    by_truth = openset(
        "score", "test.parquet", *fit, "--fit-truth", "train.json", "-o", "a.parquet"
    )
    assert by_truth.code == 0, by_truth.err
    fitted = by_truth.json["scorers"]["knn"]["ledger"][0]
    assert 0 < fitted["detections"] <= len(half)
    level = float(np.median(train.score))
    by_score = openset(
        "score", "test.parquet", *fit, "--minimum-score", str(level), "-o", "b.parquet"
    )
    fitted = by_score.json["scorers"]["knn"]["ledger"][0]
    assert fitted["detections"] == (train.score >= level).sum()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--scorers", "enrgy"), "Did you mean 'energy'"),
        (("--scorers", "knn"), "OS504"),
        (("--scorers", "knn", "--fit", "train.parquet", "--minimum-score", "2"), "OS504"),
        (("--scorers", "knn", "--fit-truth", "train.json"), "not given"),
        (("--scorers", "knn", "--fit", "test.parquet"), "test"),
        (("--scorers", "react", "--fit", "train.parquet"), "OS501"),
        (("--scorers", "energy", "--option", "temperature"), "name=value"),
        (("--scorers", "energy,msp", "--option", "temperature=2"), "one scorer"),
        (("--scorers", "all", "--option", "temperature=2"), "one scorer"),
        (("--scorers", "energy,msp"), "need a folder"),
        (("--scorers", "energy", "--head", "train.parquet"), "OS507"),
        (("--scorers", "react", "--fit", "train.parquet", "--head", "other.npz"), "OS503"),
        (("--scorers", "ash", "--head", "other.npz"), "OS503"),
        (("--scorers", "ddu", "--fit", "train.parquet", "--option", "prior=no"), "true or false"),
        (("--scorers", "knn", "--fit", "train.parquet", "--option", "k=2.5"), "a whole number"),
        (("--scorers", "energy", "--option", "temperature=abc"), "a number"),
    ],
)
def test_mistakes(openset, files, arguments, words):
    done = openset("score", "test.parquet", *arguments, "-o", "out.parquet")
    assert done.code == 2
    assert words in " ".join(done.err.split())
    assert not (files / "out.parquet").exists()


def test_detections_without_evidence(openset, here):
    plain = scene(8).select(np.arange(8))
    bare = replace(plain, logits=None, layout=None, embedding=None, attributes={})
    write(bare, here / "bare.parquet")
    done = openset("score", "bare.parquet", "--scorers", "energy", "-o", "out.parquet")
    assert done.code == 2
    assert "logits" in done.err


def test_what_was_fitted_stands_below_the_numbers(openset, files):
    from openset.examples import DIGITS, DIGITS_TRUTH

    done = openset("evaluate", DIGITS_TRUTH, DIGITS / "fcos.parquet", "--metrics", "auroc")
    below = " ".join(done.out.split("AUROC")[1].split())
    assert "fcos: knn fitted on digits train (2,400 images); quantile threshold from" in below
    assert below.index("no leak known") < below.index("At its operating point")


def test_a_column_is_not_what_the_ledger_speaks_of():
    from openset.evaluation.adjusting import with_unknownness

    scored = table()["energy"].fit().scored(scene(8))
    column = {"odd": np.arange(len(scored))}
    other = with_unknownness(replace(scored, attributes=column), "odd")
    assert ledger.entries(scored)
    assert not ledger.entries(other)
    assert (other.unknownness == column["odd"]).all()
    threshold = ledger.LedgerEntry("threshold", "quantile", "val", 4, 9)
    labelled = ledger.recorded(replace(scored, attributes=column), threshold)
    assert ledger.entries(with_unknownness(labelled, "odd")) == ledger.entries(labelled)


@pytest.mark.parametrize("flag", ["--fit", "--calibrate"])
def test_the_file_that_is_scored_is_no_file_to_fit_on(openset, files, flag):
    for name in ("train", "test"):  # which nobody says
        found = read_detections(files / f"{name}.parquet")
        write(replace(found, provenance={}), files / f"{name}.parquet")
    (files / "same.parquet").symlink_to(files / "test.parquet")
    asked = ("score", "test.parquet", "--scorers", "knn", "-o", "out.parquet")
    fit = ("--fit", "train.parquet") if flag == "--calibrate" else ()
    done = openset(*asked, *fit, flag, "same.parquet", "--minimum-score", "2")
    assert done.code == 2 and "error OS505" in done.err and not (files / "out.parquet").exists()


def test_a_test_set_of_which_nothing_is_left_is_a_test_set(openset, files):
    write(scene(60, seed=3, split="digits test"), files / "more.parquet")
    options = ("--scorers", "knn", "--fit", "more.parquet", "--minimum-score", "2")
    done = openset("score", "test.parquet", *options, "-o", "out.parquet")
    assert done.code == 2 and "error OS505" in done.err


def other_numbers(found):
    """The same images run again: other ids, another order, and float noise."""
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 1e-5, found.embedding.shape).astype(np.float32)
    again = replace(found, image=found.image + 900, embedding=found.embedding + noise)
    return again.select(rng.permutation(len(found)))


@pytest.mark.parametrize("flag", ["--fit", "--calibrate"])
@pytest.mark.parametrize("change", [lambda found: found, other_numbers], ids=["same", "again"])
def test_what_is_scored_is_seen_under_another_name_of_the_split(openset, files, flag, change):
    test = change(read_detections(files / "test.parquet"))
    train = read_detections(files / "train.parquet")
    write(ledger.of_split(test, "digits train"), files / "mine.parquet")
    ids = np.unique(test.image)  # integers from 1 are in every data set
    write(replace(train, image=np.resize(ids, len(train))), files / "train.parquet")
    asked = ("score", "test.parquet", "--scorers", "knn", "-o", "out.parquet")
    fit = ("--fit", "train.parquet") if flag == "--calibrate" else ()
    done = openset(*asked, *fit, flag, "mine.parquet")
    said = " ".join(done.err.split())
    assert done.code == 2 and not (files / "out.parquet").exists()
    assert "error OS505 60 of 60 detections of mine.parquet are among those to score" in said
    done = openset(*asked, *fit, flag, "mine.parquet", "--force", "--minimum-score", "0")
    assert "warning OS505" in done.err or "error OS505" in done.err
    assert "LEAK: fitted on test data" in " ".join(done.out.split())


@pytest.mark.parametrize("flag", ["--fit", "--calibrate"])
def test_a_detector_that_found_nothing_leaves_nothing_to_fit_on(openset, files, flag):
    found = read_detections(files / "train.parquet")
    write(found.select(np.zeros(len(found), bool)), files / "nothing.parquet")
    asked = ("score", "test.parquet", "--scorers", "knn", "-o", "out.parquet")
    fit = ("--fit", "train.parquet") if flag == "--calibrate" else ()
    done = openset(*asked, *fit, flag, "nothing.parquet")
    assert done.code == 2 and "there are none" in " ".join(done.err.split()), done.err
    assert not (files / "out.parquet").exists()


def test_a_detector_that_was_hardly_trained_says_nearly_the_same_of_any_image(openset, files):
    """As an RT-DETR does after four steps: queries have places, and nothing else."""
    for name in ("train", "test"):
        found = read_detections(files / f"{name}.parquet")
        rng, count = np.random.default_rng(len(name)), len(found)
        moved = {
            "box": np.resize(np.arange(40)[:, None] + [0.0, 0, 9, 9], (count, 4)),
            "score": (0.0985 + rng.uniform(0, 4e-4, count)).astype(np.float32),
            "embedding": 1 + rng.normal(0, 1e-3, found.embedding.shape).astype(np.float32),
            "logits": -2 + rng.normal(0, 1e-3, found.logits.shape).astype(np.float32),
        }
        write(replace(found, **moved), files / f"{name}.parquet")
    options = ("--scorers", "energy", "--calibrate", "train.parquet", "--minimum-score", "0")
    done = openset("score", "test.parquet", *options, "-o", "out.parquet")
    assert done.code == 0 and "OS505" not in done.err, done.err


def test_a_few_photographs_in_both_splits_are_told(openset, files):
    test = read_detections(files / "test.parquet")
    many = scene(4000, seed=9, split="digits train")
    for name in ("embedding", "logits"):
        getattr(many, name)[:12] = getattr(test, name)[:12]
    many.box[:12], many.score[:12] = test.box[:12], test.score[:12]
    few = scene(900, seed=2, unknown=True, split="digits test")
    for name in ("embedding", "logits"):
        getattr(few, name)[:60] = getattr(test, name)
    few.box[:60], few.score[:60] = test.box, test.score
    write(many, files / "train.parquet")
    write(few, files / "few.parquet")
    asked = ("score", "few.parquet", "--scorers", "knn", "-o", "out.parquet")
    done = openset(*asked, "--fit", "train.parquet")
    assert done.code == 0 and "warning OS505  12 of 4,000" in done.err, done.err


def test_boxes_that_meet_here_and_there_are_no_photograph_in_both_splits(openset, files):
    # At the start of a training: dull places look alike, one on many an image.
    test, many = scene(900, seed=2, unknown=True), scene(4000, seed=9, split="digits train")
    rows = np.arange(0, 600, 30)
    for name in ("embedding", "logits", "box", "score"):
        getattr(many, name)[rows] = getattr(test, name)[rows]
    write(replace(many, image=np.arange(4000) // 20), files / "train.parquet")
    write(replace(test, image=np.arange(900) // 20), files / "test.parquet")
    asked = (
        "score",
        "test.parquet",
        "--scorers",
        "knn",
        "--fit",
        "train.parquet",
        "-o",
        "o.parquet",
    )
    done = openset(*asked)
    assert done.code == 0 and "OS505" not in done.err, done.err


@pytest.mark.parametrize("flag", ["--fit", "--calibrate"])
def test_what_is_fitted_on_another_training_is_refused(openset, files, flag):
    again = Head(head().weight + 0.1, head().bias, head().layout)
    heads = {"train": head(), "val": head(), "test": head(), "other": again}
    for name, one in heads.items():
        found = read_detections(files / f"{'train' if name == 'other' else name}.parquet")
        write(replace(found, head=one), files / f"{name}.parquet")
    command = ("score", "test.parquet", "--scorers", "knn", "-o", "out.parquet")
    right = {"--fit": "train.parquet", "--calibrate": "val.parquet"}
    done = openset(*command, *(word for pair in right.items() for word in pair))
    assert done.code == 0 and "OS511" not in done.err
    wrong = [word for pair in (right | {flag: "other.parquet"}).items() for word in pair]
    done = openset(*command[:-1], "no.parquet", *wrong)
    assert done.code == 2 and "error OS511" in done.err and not (files / "no.parquet").exists()
    said = " ".join(done.err.split())
    assert "other.parquet is of another model than the detections: their last layers differ" in said
    done = openset(*command, *wrong, "--force")
    assert done.code == 0 and "OS511" in done.err


@pytest.mark.parametrize(
    ("maker", "said"),
    [
        ({"detector": "fcos"}, ["fcos, not yolo_onnx a.onnx"]),
        ({"detector": "yolo_onnx", "options": {"file": "/there/b.onnx"}}, ["yolo_onnx b.onnx"]),
        ({"detector": "yolo_onnx", "options": {"file": "/there/a.onnx", "score": 0.5}}, []),
        (None, []),
    ],
)
def test_what_another_detector_made_is_told(openset, files, maker, said):
    ours = {"detector": "yolo_onnx", "options": {"file": "a.onnx", "score": 0.1}}
    for name, model in {"test": ours, "train": maker}.items():
        found = read_detections(files / f"{name}.parquet")
        about = {**found.provenance, "model": model}
        write(replace(found, provenance=about), files / f"{name}.parquet")
    options = ("--scorers", "knn", "--fit", "train.parquet", "-o", "out.parquet")
    done = openset("score", "test.parquet", *options)
    assert done.code == 0, done.err
    assert ("warning OS511" in done.err) == bool(said)
    assert all(words in " ".join(done.err.split()) for words in said)


@pytest.mark.parametrize("flag", ["--fit", "--calibrate"])
@pytest.mark.parametrize(("weights", "code"), [("1d1d", 0), ("2e2e", 2)])
def test_other_weights_of_the_same_detector_are_told_without_a_last_layer(
    openset, files, flag, weights, code
):
    held = {"test": "1d1d", "train": "1d1d", "val": "1d1d", "other": weights}
    for name, hashed in held.items():
        found = read_detections(files / f"{'train' if name == 'other' else name}.parquet")
        about = {**found.provenance, "model": {"detector": "fcos"}, "weights": hashed}
        write(replace(found, head=None, provenance=about), files / f"{name}.parquet")
    given = {"--fit": "train.parquet", "--calibrate": "val.parquet", flag: "other.parquet"}
    options = [word for pair in given.items() for word in pair]
    done = openset("score", "test.parquet", "--scorers", "knn", "-o", "out.parquet", *options)
    said = " ".join(done.err.split())
    assert done.code == code and ("error OS511" in said) == (code == 2), done.err
    assert ("of another model than the detections: weights 2e2e, not 1d1d" in said) == (code == 2)


@pytest.mark.parametrize("flag", ["--fit", "--calibrate"])
def test_ground_truth_of_another_split_is_named(openset, files, flag):
    train = read_detections(files / "train.parquet")
    ids = np.unique(train.image)
    box = np.tile([0.0, 0.0, 9.0, 9.0], (len(ids), 1))
    truth = Annotations(Images(ids + 5000), ("dog", "unknown"), np.arange(len(ids)), ids * 0, box)
    write(truth, files / "other.json")
    given = {"--fit": "train.parquet", "--calibrate": "val.parquet", f"{flag}-truth": "other.json"}
    options = [word for pair in given.items() for word in pair]
    done = openset("score", "test.parquet", "--scorers", "knn", *options, "-o", "out.parquet")
    said = " ".join(done.err.split())
    assert done.code == 2 and "error OS403 other.json: " in said and "another split" in said
    first = ", ".join(map(str, (ids + 5000)[:3].tolist()))
    assert f"the ground truth has {first}" in said and "OS504" not in said


@pytest.fixture
def own(files):
    """Files whose detector says itself how unknown a box is."""
    for name in ("val", "test"):
        path = files / f"{name}.parquet"
        held = read_detections(path)
        write(replace(held, unknownness=1 - held.score), path)
    return files


OWN = ("score", "test.parquet", "--scorers", "own", "-o", "own.parquet")


@pytest.mark.parametrize("parted", [False, True])
def test_the_unknownness_that_detections_carry_gets_a_threshold(openset, own, parted):
    asked = list(OWN)
    if parted:
        held = read_detections(own / "test.parquet")
        images = Images(np.unique(held.image))
        write(Annotations(images, held.labels, held.image, held.label, held.box), own / "gt.json")
        into = ("-o", "test.parts", "--truth", "gt.json")
        assert openset("convert", "test.parquet", *into).code == 0
        asked[1], asked[-1] = "test.parts", "own.parts"
    done = openset(*asked, "--calibrate", "val.parquet")
    assert done.code == 0, done.err
    before, after = read_detections(own / "test.parquet"), read_detections(own / asked[-1])
    assert np.array_equal(before.unknownness, after.unknownness)
    val = read_detections(own / "val.parquet")
    limit = np.sort(val.unknownness)[int(np.ceil(0.95 * len(val))) - 1]
    called = np.array(after.labels)[after.label] == "unknown"
    assert called.any() and np.array_equal(called, before.unknownness > limit)
    (entry,) = ledger.entries(after)
    assert (entry.step, entry.split) == ("threshold", "digits val")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "--calibrate HELD-OUT says from where on"),
        (("--calibrate", "val.parquet", "--fit", "train.parquet"), "own is not fitted"),
        (("--calibrate", "val.parquet", "--option", "k=3"), "own has no options"),
        (("--calibrate", "train.parquet"), "OS501 the detections carry no unknownness"),
    ],
)
def test_what_own_cannot_be_asked_for_is_said(openset, own, more, said):
    done = openset(*OWN, *more)
    assert done.code == 2 and said in " ".join(done.err.split())
    assert not (own / "own.parquet").exists()


def test_the_unknownness_of_two_scorers_is_not_compared(openset, own):
    assert openset("score", "val.parquet", "--scorers", "msp", "-o", "msp.parquet").code == 0
    done = openset(*OWN, "--calibrate", "msp.parquet")
    assert done.code == 2 and "OS503" in done.err
    assert "that of msp, and that of the detector" in done.err
    assert openset("score", "test.parquet", "--scorers", "msp", "-o", "both.parquet").code == 0
    again = ("score", "both.parquet", *OWN[2:], "--calibrate", "msp.parquet")
    assert openset(*again).code == 0


@pytest.mark.parametrize("scaled", ["test", "train"])
def test_embeddings_of_length_one_on_one_side_are_told(openset, files, scaled):
    found = read_detections(files / f"{scaled}.parquet")
    length = np.linalg.norm(found.embedding, axis=1, keepdims=True)
    write(replace(found, embedding=found.embedding / length), files / f"{scaled}.parquet")
    command = ("score", "test.parquet", "--scorers", "mahalanobis", "--fit", "train.parquet")
    done = openset(*command, "-o", "o.parquet")
    assert done.code == 2 and "error OS513" in done.err and not (files / "o.parquet").exists()
    done = openset(*command, "-o", "o.parquet", "--force")
    assert done.code == 0 and "OS513" in done.err
    for name in {"test", "train"} - {scaled}:  # both alike
        found = read_detections(files / f"{name}.parquet")
        length = np.linalg.norm(found.embedding, axis=1, keepdims=True)
        write(replace(found, embedding=found.embedding / length), files / f"{name}.parquet")
    done = openset(*command, "-o", "p.parquet")
    assert done.code == 0 and "OS513" not in done.err


def test_fewer_detections_than_dimensions_are_told(openset, files):
    train = read_detections(files / "train.parquet")
    width = int((np.ptp(train.embedding, axis=0) > 0).sum())
    for rows, told in ((width, True), (width + 9, False)):
        write(train.select(np.arange(rows)), files / "few.parquet")
        for name in ("mahalanobis", "knn"):
            asked = ("score", "test.parquet", "--scorers", name, "--fit", "few.parquet", "-o")
            done = openset(*asked, f"{name}{rows}.parquet")
            assert done.code == 0 and ("OS512" in done.err) == (told and name == "mahalanobis")


def test_a_threshold_from_training_images_is_told(openset, files):
    for split, said in (("train", True), ("val", False)):
        into = ("-o", f"{split}-limit.parquet", "--calibrate", f"{split}.parquet")
        done = openset("score", "test.parquet", "--scorers", "energy", *into)
        assert done.code == 0 and ("warning OS515" in done.err) is said
