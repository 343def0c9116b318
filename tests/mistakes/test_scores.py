"""Scores, unknownness and the scores of classifiers that are not what they seem."""

from __future__ import annotations

import io

import numpy as np
import pytest

from scenes.mistakes import (
    EVALUATE,
    IDS,
    UNKNOWN,
    Mistake,
    answered,
    each,
    good,
    nothing,
    with_file,
)


def unknownness(sign=1.0, value=None):
    """A column that is high on unknown objects, times a sign."""

    def spoil(world):
        rng = np.random.default_rng(1)
        strange = {one["id"]: one["category_id"] not in IDS[:5] for one in world.gt["annotations"]}
        by_image: dict = {}
        for one in world.gt["annotations"]:
            by_image.setdefault(one["image_id"], []).append(one)
        for one in world.dt:
            near = [
                o
                for o in by_image[one["image_id"]]
                if abs(o["bbox"][0] - one["bbox"][0]) < 25
                and abs(o["bbox"][1] - one["bbox"][1]) < 25
            ]
            far = bool(near) and strange[near[0]["id"]]
            one["unknownness"] = (
                value if value is not None else float(sign * (rng.normal(0, 1) + 2 * far))
            )

    return spoil


def of_last_images(change, most=30, drop=0.0):
    """Another score for the last images, of a detector that has low ones; those below are lost."""

    def spoil(world):
        last = {one["id"] for one in world.gt["images"][-most:]}
        for one in world.dt:
            one["score"] = round(one["score"] ** 2, 5)
            if one["image_id"] in last:
                one["score"] = change(one["score"])
        world.dt = [one for one in world.dt if one["image_id"] not in last or one["score"] >= drop]

    return spoil


def in_order(slip, sign=-1):
    """Boxes image by image, the surest first, and a column that slipped by so many rows."""

    def spoil(world):
        world.dt.sort(key=lambda one: (one["image_id"], sign * one["score"]))
        scores = np.roll([one["score"] for one in world.dt], slip).tolist()
        for one, score in zip(world.dt, scores, strict=True):
            one["score"] = score

    return spoil


def sigmoid(score):
    return float(1 / (1 + np.exp(-score)))


def shuffled_alone(world):
    """A column that lost its index: scores of other rows, in no order."""
    order = np.random.default_rng(0).permutation(len(world.dt))
    scores = [world.dt[at]["score"] for at in order]
    for one, score in zip(world.dt, scores, strict=True):
        one["score"] = score


def sorted_alone(world):
    """Scores in falling order beside boxes in the order of the file, class by class."""
    world.dt.sort(key=lambda one: one["category_id"])
    for one, score in zip(world.dt, sorted(o["score"] for o in world.dt), strict=True):
        one["score"] = score


def in_images(world, kinds=4):
    """Detections by image; images differ in how sure the detector is."""
    of = {}
    for one in world.dt:
        of.setdefault(one["image_id"], []).append(one)
    for at, found in enumerate(of.values()):
        for one in found:
            one["score"] = round(one["score"] / (1 + at % kinds), 4)
    return of


def easy_and_hard(world):
    """Every second image has hardly a right box, and low scores."""
    for at, found in enumerate(in_images(world, 1).values()):
        found.sort(key=lambda one: -one["score"])
        for one in found[1:-2] if at % 2 else found[4:-1]:
            world.dt.remove(one)
        for one in found if at % 2 else ():
            one["score"] = round(one["score"] / 3, 4)


def sorted_in_images(world):
    """Scores in falling order within each image, beside boxes in any order."""
    rng = np.random.default_rng(0)
    for found in in_images(world, 1).values():
        scores = sorted((one["score"] for one in found), reverse=True)
        for at, score in zip(rng.permutation(len(found)), scores, strict=True):
            found[at]["score"] = score


def by_image_and_score(world):
    found = in_images(world).values()
    world.dt = [one for some in found for one in sorted(some, key=lambda one: -one["score"])]


def one_of_an_image(world):
    """All boxes of an image score alike, in ten steps."""
    for at, found in enumerate(in_images(world).values()):
        for one in found:
            one["score"] = 0.05 + at % 10 / 10


def softmax(logits):
    return np.exp(logits) / np.exp(logits).sum(1, keepdims=True)


def archive(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def classifier(seed=0, n=300, classes=6, right=0.9):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, n)
    named = np.where(rng.random(n) < right, label, rng.integers(0, classes, n))
    logits = rng.normal(0, 1, (n, classes))
    logits[np.arange(n), named] += 6
    return logits, label, rng.normal(0, 1, (n, classes)) + 1.5


K, L, U = classifier()
RECOGNISE = ("recognise", "s.npz", "--no-intervals")


def recognised(what, answer, says="", argv=RECOGNISE, **arrays):
    held = {"logits_k": K, "labels_k": L, "logits_u": U} | arrays
    held = {key: value for key, value in held.items() if value is not None}
    return Mistake(what, with_file("s.npz", archive(**held)), answer, argv, says)


ORDER = np.argsort(L, kind="stable")
SORTED = {"logits_k": K[ORDER], "labels_k": L[ORDER]}
HARD = SORTED | {"logits_k": np.where(L[ORDER, None] == 5, K[ORDER[::-1]], K[ORDER])}
OPEN = {"logits_k": None, "logits_u": None, "predicted_k": K.argmax(1)}
WEAK = classifier(1, right=0.2)
IDS_K = np.arange(len(K))
PART = np.concatenate([np.arange(len(K)), np.arange(0, len(K), 3)])
AGAIN = {"logits_k": K[PART], "labels_k": L[PART]}
MASKED = {
    "logits_k": np.c_[K, np.full(len(K), -np.inf)],
    "logits_u": np.c_[U, np.full(len(U), -np.inf)],
}


def share(logits):
    """One minus the largest probability."""
    odds = np.exp(logits - logits.max(1, keepdims=True))
    return 1 - odds.max(1) / odds.sum(1)


def decided(known, unknown):
    return {"openness_k": 1.0 * (known.max(1) < 4), "openness_u": 1.0 * (unknown.max(1) < 4)}


NAMES = np.array(["airplane", "bird", "cat", "dog", "frog", "hot dog"])


def rows(unknown="unknown", sep=","):
    """The same classifier as lines of a table."""
    lines = [sep.join(("label", "predicted", "openness"))]
    for logits, labels in ((K, NAMES[L]), (U, [unknown] * len(U))):
        named, openness = NAMES[logits.argmax(1)], -logits.max(1)
        cells = zip(labels, named, openness, strict=True)
        lines += [sep.join((label, name, f"{x:.6f}")) for label, name, x in cells]
    return lines


def columns(sep=","):
    """The logits of the same classifier as lines of a table."""
    lines = [sep.join(["label", *(f"logit:{at}" for at in range(6))])]
    for logits, labels in ((K, L), (U, [-1] * len(U))):
        pairs = zip(labels, logits, strict=True)
        lines += [sep.join([str(label), *(f"{x:.5f}" for x in row)]) for label, row in pairs]
    return lines


def table(what, answer, lines, says=""):
    text = lines if isinstance(lines, str) else "\n".join(lines) + "\n"
    return Mistake(what, with_file("s.csv", text), answer, ("recognise", "s.csv"), says)


ROWS, TEXT, LOGITS = rows(), "\n".join(rows()), "\n".join(columns())
FLOATS = [line.replace("-1,", "-1.0,", 1) for line in columns()]
TABLES = [
    table("a table", "accepted", ROWS),
    table("a table of logits", "accepted", columns()),
    table("without a last line end", "accepted", TEXT),
    table("labels that are 1.0", "accepted", FLOATS),
    table("Unknown, with a space", "accepted", rows("Unknown ")),
    table("header in capitals", "accepted", ["Label, Predicted, Openness", *ROWS[1:]]),
    table("unkown", "refused OS822", rows("unkown")),
    table("unknown is NaN", "refused OS822", rows("NaN")),
    table("unkown beside logits", "refused OS822", LOGITS.replace("\n-1,", "\nunkown,") + "\n"),
    table("unknown samples with their true class", "warned OS822", rows("zebra")),
    table("labels in capitals", "refused OS821", TEXT.replace("\nbird,", "\nBird,") + "\n"),
    table("labels with underscores", "refused OS821", TEXT.replace("\nhot dog", "\nhot_dog")),
    table("a label misspelt once", "accepted OS821", TEXT.replace("\nairp", "\nairrp", 1) + "\n"),
    table("cut in the last row", "refused OS102", TEXT[:-12], "middle of a row"),
    table("cut in the last number", "warned OS825", TEXT[:-3]),
    table("cut in the last logit", "warned OS825", LOGITS[:-3]),
    table(
        "a short row in the middle",
        "refused OS108",
        [*ROWS[:50], ROWS[50].rpartition(",")[0], *ROWS[51:]],
        "row 50",
    ),
    table("some labels lost", "warned OS826", TEXT.replace("\ncat,", "\n,", 9) + "\n"),
    table("joined with its header", "refused OS108", [*ROWS, *ROWS], "headers"),
    table("joined to itself", "warned OS820", [*ROWS, *ROWS[1:]]),
    table("semicolons", "refused OS807", rows(sep=";"), "semicolons"),
    table("tabs", "refused OS807", rows(sep="\t"), "tabs"),
    table(
        "decimal commas", "refused OS102", [r.replace(".", ",") for r in rows(sep=";")], "decimal"
    ),
    table("no header", "refused OS807", ROWS[1:], "no header"),
    table("a column twice", "refused OS432", ["label," + ROWS[0], *("x," + r for r in ROWS[1:])]),
]


def percent_on_a_part(world):
    """Two programs wrote the file, one of them in per cent."""
    half = sorted({one["image_id"] for one in world.dt})[::2]
    world.dt = [one | {"score": 100 * one["score"]} if one["image_id"] in half else one
                for one in world.dt]  # fmt: skip


def ranked_in_image(world):
    """The place in the image in place of the confidence."""
    seen = {}
    world.dt.sort(key=lambda one: -one["score"])
    for one in world.dt:
        seen[one["image_id"]] = seen.get(one["image_id"], 0) + 1
        one["score"] = float(seen[one["image_id"]])


CASES = [
    Mistake("scores of the row after", in_order(-1), "warned OS250", says="a row before"),
    Mistake("scores of the row before", in_order(1), "warned OS250", says="a row after"),
    Mistake("the surest first", in_order(0), "accepted"),
    Mistake("the surest last", in_order(0, 1), "accepted"),
    Mistake(
        "the sigmoid twice in a part",
        of_last_images(sigmoid),
        "warned OS229",
        says="went through the sigmoid twice",
    ),
    Mistake("a threshold in a part", of_last_images(lambda score: score, 30, 0.25), "warned OS229"),
    Mistake("a threshold in a tenth", of_last_images(lambda score: score, 10, 0.3), "accepted"),
    Mistake("upside down", each("score", lambda s: 1 - s), "warned OS318"),
    Mistake("sorted by themselves", sorted_alone, "warned OS332"),
    Mistake(
        "shuffled by themselves",
        shuffled_alone,
        "accepted OS332",
        says="they are random, or were written",
    ),
    Mistake("boxes in order of score", by_image_and_score, "accepted"),
    Mistake("one score for an image", one_of_an_image, "warned OS220"),
    Mistake(
        "one digit",
        each("score", lambda s: round(0.3 * s, 1)),
        "warned OS220",
        says="have 4 scores, in steps of 0.1",
    ),
    Mistake("two digits", each("score", lambda s: round(s, 2)), "accepted"),
    Mistake("256 steps", each("score", lambda s: round(256 * s) / 256), "accepted"),
    Mistake("negated", each("score", lambda s: -s), "refused OS208"),
    Mistake("percent", each("score", lambda s: 100 * s), "refused OS208", says="divide"),
    Mistake("percent on a part", percent_on_a_part, "refused OS208", says="these images alone"),
    Mistake("ranks in the image", ranked_in_image, "refused OS208", says="these are ranks"),
    Mistake("per mille", each("score", lambda s: round(1000 * s)), "refused OS208"),
    Mistake("sixteen bits", each("score", lambda s: round(65535 * s)), "refused OS208"),
    Mistake("bytes", each("score", lambda s: round(255 * s)), "refused OS208"),
    Mistake("logits", each("score", lambda s: float(np.log(s / (1.0001 - s)))), "refused OS208"),
    Mistake("log-probabilities", each("score", lambda s: float(np.log(s))), "refused OS208"),
    Mistake(
        "negative logarithms",
        each("score", lambda s: float(-np.log(s / 20))),
        "refused OS208",
        says="negative logarithms",
    ),
    Mistake("all zero", each("score", lambda s: 0.0), "warned OS209"),
    Mistake("all one, as integers", each("score", lambda s: 1), "warned OS209"),
    Mistake("rounded to 0 or 1", each("score", lambda s: round(s)), "warned OS220", says="cast"),
    Mistake("a decision", each("score", lambda s: 1.0 if s > 0.5 else 0.1), "accepted OS220"),
    Mistake("as text", each("score", lambda s: str(s)), "refused OS108"),
    Mistake("null", each("score", lambda s: None), "refused OS108|OS107"),
    Mistake("true and false", each("score", lambda s: s > 0.5), "refused OS108"),
    Mistake("a list of scores", each("score", lambda s: [s]), "refused OS108"),
    Mistake("a tiny bit above one", each("score", lambda s: min(1.0000001, s * 1.2)), "accepted"),
    Mistake(
        "called confidence",
        lambda w: [one.update(confidence=one.pop("score")) for one in w.dt],
        "refused OS107",
    ),
    Mistake("unknownness", unknownness(), "accepted"),
    Mistake("unknownness upside down", unknownness(-1.0), "warned OS319"),
    Mistake("unknownness of NaN", unknownness(value=float("nan")), "refused OS202"),
    Mistake("unknownness constant", unknownness(value=0.5), "warned OS339", says="by ties"),
    Mistake(
        "unknownness of two values",
        lambda w: [one.update(unknownness=float(one["category_id"] == UNKNOWN)) for one in w.dt],
        "accepted OS339",
    ),
    Mistake("minimum score in percent", nothing, "refused", ("--minimum-score", "30")),
    Mistake("minimum score above all", nothing, "refused OS402", ("--minimum-score", "1")),
    Mistake("minimum score is not a number", nothing, "usage", ("--minimum-score", "nan")),
    Mistake(
        "unknownness of a column that is not there",
        nothing,
        "usage",
        ("--unknownness", "strangeness"),
    ),
    recognised("classifier that is right", "accepted"),
    recognised("known and unknown exchanged", "warned OS812|OS813", logits_k=U, logits_u=K),
    recognised(
        "openness upside down", "warned OS812", **OPEN, openness_k=K.max(1), openness_u=U.max(1)
    ),
    recognised(
        "openness on two scales",
        "warned OS835",
        says="in one way",
        **OPEN | {"openness_k": share(K), "openness_u": -U.max(1)},
    ),
    recognised(
        "openness on two scales that rank well",
        "warned OS835",
        **OPEN | {"openness_k": -K.max(1), "openness_u": share(U)},
    ),
    recognised("openness of shares", "accepted", **OPEN, openness_k=share(K), openness_u=share(U)),
    recognised("openness right", "accepted", **OPEN, openness_k=-K.max(1), openness_u=-U.max(1)),
    recognised("labels one off", "refused OS814", labels_k=(L + 1) % 6),
    recognised("labels permuted", "refused OS814", labels_k=np.array([2, 0, 1, 5, 3, 4])[L]),
    recognised("two labels exchanged", "refused OS814", labels_k=np.array([1, 0, 2, 3, 4, 5])[L]),
    recognised("labels from 1", "refused OS803", labels_k=L + 1),
    recognised("labels one-hot", "refused OS802", labels_k=np.eye(6)[L]),
    recognised("labels as fractions", "refused", labels_k=L + 0.5),
    recognised("labels as 1.0", "accepted", labels_k=L.astype(float)),
    recognised("labels of another length", "refused OS802", labels_k=L[:-1]),
    recognised("logits transposed", "refused OS802", logits_k=K.T),
    recognised("logits of another number of classes", "refused OS802", logits_u=U[:, :4]),
    recognised("logits of NaN", "refused OS801", logits_k=np.where(K > 7, np.nan, K)),
    recognised(
        "probabilities as logits",
        "accepted",
        logits_k=softmax(K),
        logits_u=softmax(U),
    ),
    recognised(
        "probabilities as logits, for energies",
        "refused OS510",
        argv=(*RECOGNISE, "--openness", "energy"),
        logits_k=softmax(K),
        logits_u=softmax(U),
    ),
    recognised("unknown samples are known ones", "warned OS817", logits_u=K[:200]),
    recognised(
        "half of the unknown samples are known ones",
        "warned OS817",
        logits_u=np.concatenate([U[:100], K[:100]]),
    ),
    recognised("logits rounded", "accepted", logits_k=K.round(2), logits_u=U.round(2)),
    recognised(
        "labels of the second half shuffled",
        "warned OS818",
        labels_k=np.concatenate(
            [L[: len(L) // 2], np.random.default_rng(3).permutation(L[len(L) // 2 :])]
        ),
    ),
    recognised("sorted by class", "accepted", **SORTED),
    recognised("sorted, and the last class is never right", "accepted", **HARD),
    recognised("no unknown sample", "warned OS804", logits_u=U[:0]),
    recognised("unknown samples with known labels", "refused OS809", labels_u=L),
    recognised("other names of arrays", "refused OS807", logits_k=None, logits_known=K),
    recognised("a weak classifier", "accepted", logits_k=WEAK[0], labels_k=WEAK[1]),
    recognised(
        "a classifier that guesses",
        "accepted",
        logits_k=np.random.default_rng(5).permutation(K),
        logits_u=np.random.default_rng(6).permutation(K) + 0.001,
    ),
    recognised("labels shuffled", "warned OS819", labels_k=np.random.default_rng(5).permutation(L)),
    recognised("labels sorted, scores not", "warned OS819", "in order", labels_k=np.sort(L)),
    recognised("labels moved by a row", "refused OS819", "1 row up", labels_k=np.roll(L, 1)),
    recognised("labels turned round", "refused OS819", "from the end", labels_k=L[::-1]),
    recognised("labels that are all 0", "warned OS819", labels_k=np.zeros_like(L)),
    recognised(
        "every sample twice",
        "warned OS820",
        logits_k=np.concatenate([K, K]),
        labels_k=np.concatenate([L, L]),
        logits_u=np.concatenate([U, U]),
    ),
    recognised(
        "every sample again, rounded",
        "warned OS820",
        logits_k=np.concatenate([K, K.astype(np.float16)]),
        labels_k=np.concatenate([L, L]),
    ),
    recognised("a third of the samples again", "warned OS820", **AGAIN),
    recognised("ids that are there again", "warned OS820", ids_k=IDS_K // 2, ids_u=IDS_K + 300),
    recognised("ids of both kinds", "warned OS817", ids_k=IDS_K, ids_u=IDS_K + 200),
    recognised("ids", "accepted", ids_k=IDS_K, ids_u=IDS_K + 300),
    recognised("ids of another number", "refused OS802", ids_k=IDS_K[1:], ids_u=IDS_K),
    recognised(
        "a column of logits for unknown",
        "warned OS823",
        logits_k=np.c_[K, np.full(len(K), -3.0)],
        logits_u=np.c_[U, np.full(len(U), 9.0)],
    ),
    recognised(
        "a column of logits that is called unknown",
        "refused OS823",
        logits_k=np.c_[K, np.full(len(K), -3.0)],
        logits_u=np.c_[U, np.full(len(U), 9.0)],
        classes=np.array([*"abcdef", "Unknown"]),
    ),
    recognised("a decision as openness", "warned OS824", **OPEN, **decided(K, U)),
    recognised(
        "the true answer as openness",
        "warned OS824",
        **OPEN,
        openness_k=-K.max(1),
        openness_u=np.ones(len(U)),
    ),
    recognised("one openness", "warned OS805", **OPEN, openness_k=0 * L, openness_u=0 * L),
    recognised("logits that overflow", "refused OS801", logits_k=np.where(K > 6, np.inf, K)),
    recognised("classes that are masked", "warned OS808", **MASKED),
    recognised("complex logits", "refused OS802", logits_k=K + 0j),
    recognised(
        "percentages, for energies",
        "refused OS510",
        argv=(*RECOGNISE, "--openness", "energy"),
        logits_k=100 * softmax(K),
        logits_u=100 * softmax(U),
    ),
    recognised(
        "log-probabilities, for energies",
        "refused OS510",
        argv=(*RECOGNISE, "--openness", "energy"),
        logits_k=np.log(softmax(K)),
        logits_u=np.log(softmax(U)),
    ),
    recognised(
        "unknown samples of a known class without samples",
        "refused OS809",
        labels_k=np.where(L == 3, 4, L),
        labels_u=np.full(len(U), 3),
    ),
    recognised("one class for everything", "accepted", logits_k=K + 20 * np.eye(6)[0]),
    Mistake(
        "scores that are a picture", with_file("s.npz", b"\x89PNG\r\n\x1a\n"), "refused", RECOGNISE
    ),
    Mistake("scores that are detections", nothing, "refused", ("recognise", "dt.json")),
]


@pytest.mark.parametrize("case", [*CASES, *TABLES], ids=str)
def test_a_mistake_in_scores(case, here, openset):
    assert answered(case, here, openset) == ""


@pytest.mark.parametrize("wrong", [False, True])
def test_scores_that_were_sorted_within_images(wrong, here, openset):
    """All boxes together look ranked: easy images have higher scores than hard ones."""
    easy_and_hard(world := good(300))
    if wrong:
        sorted_in_images(world)
    world.write(here)
    done = openset(*EVALUATE)
    assert done.code == 0
    assert ("warning OS332" in done.err and "within an image" in done.err) is wrong
