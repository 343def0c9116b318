"""Scores for tests: random ones, with and without ties, and counts the slow way; tiny pictures."""

import gzip

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from PIL import Image

from openset.recognition import Scores
from openset.recognition.data import OpenSplit, Samples
from openset.recognition.metrics import compute, table

STEADY = settings(max_examples=60, deadline=None, derandomize=True)


def value(name, scores, **params):
    """The number of a metric."""
    return compute(table()[name], scores, **params).value


def made(seed=0, n_known=60, n_unknown=50, n_classes=4, levels=None):
    """Scores of a fair classifier; `levels` rounds openness, which makes ties."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, n_classes, n_known)
    wrong = rng.random(n_known) < 0.2
    predicted = np.where(wrong, rng.integers(0, n_classes, n_known), label)
    known, unknown = rng.normal(0, 1, n_known), rng.normal(1, 1, n_unknown)
    if levels:
        known, unknown = (np.round(x * levels) / levels for x in (known, unknown))
    named = rng.integers(0, n_classes, n_unknown)
    return Scores(predicted, label, known, unknown, named, tuple("abcdefgh"[:n_classes]))


def dark_and_bright():
    """Two known classes of pictures, dark and bright, and an unknown one between."""

    def samples(levels, n):
        rng = np.random.default_rng(n)
        label = np.arange(n) % len(levels)
        noise = rng.integers(-20, 20, (n, 8, 8, 1))
        return Samples(
            (np.array(levels)[label][:, None, None, None] + noise).astype(np.uint8), label
        )

    known = (40, 210)
    return OpenSplit(
        "made", 0, (0, 1), (2,), samples(known, 64), samples(known, 40), samples((125,), 30)
    )


def cifar(folder, n=20):
    """Both CIFARs as their official binary files, with `n` rows a training file, of noise but for
    the first pixel, which is the same in all.
    """
    rng = np.random.default_rng(0)

    def rows(n, classes, skip):
        table = rng.integers(0, 256, (n, skip + 1 + 3072)).astype(np.uint8)
        table[:, skip] = np.arange(n) % classes
        table[:, skip + 1 :: 1024] = 10, 20, 30
        return table.tobytes()

    ten, hundred = folder / "cifar-10-batches-bin", folder / "cifar-100-binary"
    ten.mkdir()
    hundred.mkdir()
    for i in range(1, 6):
        (ten / f"data_batch_{i}.bin").write_bytes(rows(n, 10, 0))
    (ten / "test_batch.bin").write_bytes(rows(30, 10, 0))
    (hundred / "test.bin").write_bytes(rows(200, 100, 1))


def idx(path, array):
    """An IDX file of bytes, compressed if it is called so."""
    sizes = np.array([0x0800 + array.ndim, *array.shape], ">u4").tobytes()
    data = sizes + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def mnist(folder, suffix=""):
    """Its four official files, of noise."""
    rng = np.random.default_rng(0)
    for prefix, n in (("train", 40), ("t10k", 20)):
        label = np.arange(n) % 10
        idx(folder / f"{prefix}-images-idx3-ubyte{suffix}", rng.integers(0, 256, (n, 28, 28)))
        idx(folder / f"{prefix}-labels-idx1-ubyte{suffix}", label)


def svhn(folder):
    """Its two official files; every picture has the value of its class."""
    from scipy.io import savemat

    for part, n in (("train", 40), ("test", 20)):
        label = (np.arange(n) % 10 + 1)[:, None]  # 1 to 10; 10 is the digit 0
        images = np.broadcast_to(label.ravel().astype(np.uint8), (32, 32, 3, n))
        savemat(folder / f"{part}_32x32.mat", {"X": images, "y": label})


def picture(path, colour, size=(64, 64)):
    """A JPEG of one colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (colour, 0, 0)).save(path, format="JPEG")


def cub(folder):
    """Two birds of each of 200 species: one to train on, one to test on."""
    root = folder / "CUB_200_2011"
    lists = {"images.txt": [], "image_class_labels.txt": [], "train_test_split.txt": []}
    for at in range(400):
        klass = at % 200
        name = f"{klass + 1:03d}.Bird/{at}.jpg"
        picture(root / "images" / name, klass, (30 + at % 3, 20))
        for file, value in zip(lists, (name, klass + 1, int(at < 200)), strict=True):
            lists[file].append(f"{at + 1} {value}")
    for file, lines in lists.items():
        (root / file).write_text("\n".join(lines))


def tinyimagenet(folder):
    """Its official folders, with a picture of every class to train and one to test on."""
    root, names = folder / "tiny-imagenet-200", [f"n{i:08d}" for i in range(200)]
    root.mkdir()
    (root / "wnids.txt").write_text("\n".join(reversed(names)))
    for klass, name in enumerate(names):
        picture(root / "train" / name / "images" / f"{name}_0.JPEG", klass)
        picture(root / "val" / "images" / f"val_{klass}.JPEG", klass)
    lines = [f"val_{k}.JPEG\t{name}\t0\t0\t1\t1" for k, name in enumerate(names)]
    (root / "val" / "val_annotations.txt").write_text("\n".join(lines))


@st.composite
def small_scores(draw, ties=True, classes=3):
    """Few samples, so that every pair and every threshold can be tried."""
    size = st.integers(1, 9)
    n_known, n_unknown = draw(size), draw(size)
    klass = st.integers(0, classes - 1)

    def column(of, n):
        return draw(st.lists(of, min_size=n, max_size=n))

    if ties:
        openness = column(st.integers(-2, 2), n_known + n_unknown)
    else:
        openness = draw(st.permutations(range(n_known + n_unknown)))
    label, predicted = column(klass, n_known), column(klass, n_known)
    known, unknown = np.array(openness[:n_known], float), np.array(openness[n_known:], float)
    named = column(klass, n_unknown)
    return Scores(
        np.array(predicted), np.array(label), known, unknown, np.array(named), "abc"[:classes]
    )


def pairs(scores, only_correct=True, tie=0.5):
    """Pairs in the right order, one by one."""
    total = 0.0
    for r, right in zip(scores.openness, scores.correct, strict=True):
        for u in scores.unknown_openness:
            total += (right or not only_correct) * ((u > r) + tie * (u == r))
    return total / (scores.n_known * scores.n_unknown)


def counted(answers, truth, n_classes):
    """True and false positives and negatives of known classes, and of "unknown" (-1)."""
    classes = range(n_classes)
    tp = [sum(a == t == c for a, t in zip(answers, truth, strict=True)) for c in classes]
    fp = [sum(a == c != t for a, t in zip(answers, truth, strict=True)) for c in classes]
    fn = [sum(t == c != a for a, t in zip(answers, truth, strict=True)) for c in classes]
    rejected = sum(a == t == -1 for a, t in zip(answers, truth, strict=True))
    rejected_known = sum(a == -1 != t for a, t in zip(answers, truth, strict=True))
    return np.array(tp), np.array(fp), np.array(fn), rejected, rejected_known


def answers_of(scores, threshold):
    """What the classifier says, and what is true; -1 is "unknown"."""
    known = np.where(scores.openness > threshold, -1, scores.predicted)
    unknown = np.where(scores.unknown_openness > threshold, -1, scores.unknown_predicted)
    truth = np.concatenate([scores.label, np.full(scores.n_unknown, -1)])
    return np.concatenate([known, unknown]), truth


def over(a, b, empty=0.0):
    """A quotient, and `empty` for 0 / 0."""
    return np.array([x / y if y else empty for x, y in zip(np.ravel(a), np.ravel(b), strict=True)])


def from_counts(answers, truth, n_classes):
    """F-score, Youden's index and normalised accuracy from the printed formulas."""
    tp, fp, fn, true_unknown, false_unknown = counted(answers, truth, n_classes)
    tn = len(truth) - tp - fp - fn
    precision, recall = over(tp, tp + fp).mean(), over(tp, tp + fn).mean()
    pooled = over(tp.sum(), (tp + fp).sum())[0], over(tp.sum(), (tp + fn).sum())[0]
    n_unknown = int((truth == -1).sum())
    return {
        "f_score_macro": over(2 * precision * recall, precision + recall)[0],
        "f_score_micro": over(2 * pooled[0] * pooled[1], sum(pooled))[0],
        "youden_macro": recall + over(tn, tn + fp).mean() - 1,
        "youden_micro": pooled[1] + over(tn.sum(), (tn + fp).sum())[0] - 1,
        "aks": (tp + tn).sum() / (tp + tn + fp + fn).sum(),
        "aus_precision": over(true_unknown, true_unknown + false_unknown)[0],
        "aus_recall": true_unknown / n_unknown if n_unknown else None,
        "true_unknown": true_unknown,
        "counts": (tp.tolist(), fp.tolist(), fn.tolist()),
    }
