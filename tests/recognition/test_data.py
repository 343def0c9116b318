"""Data sets: files in their official layout, made small; the published splits; bad files."""

import hashlib
import json

import numpy as np
import pytest
from PIL import Image

from openset.findings import InputError, UsageError
from openset.recognition.data import open_split, table
from openset.recognition.data._split import _classes
from openset.recognition.data.cifar import HUNDRED, TEN
from scenes.recognition import cifar, cub, mnist, svhn, tinyimagenet

# How many trials each has, and a hash of their classes: known, then unknown ones, in order.
SPLITS = {
    ("cifar+10", "all"): (5, "a724680fff9205a3"),
    ("cifar+50", "all"): (5, "e48e92870022dc04"),
    ("cifar10", "all"): (5, "ecee0dfb449a603d"),
    ("cub", "all"): (1, "669b77fb519a5df1"),
    ("cub", "easy"): (1, "2f1279e3c7bb72f5"),
    ("cub", "medium"): (1, "4c08811a12fc579b"),
    ("cub", "hard"): (1, "4d60dccf673a051d"),
    ("digits", "all"): (5, "06be5b9455dc31b8"),
    ("fashion_mnist", "all"): (5, "06be5b9455dc31b8"),
    ("mnist", "all"): (5, "06be5b9455dc31b8"),
    ("svhn", "all"): (5, "6f6fd120bf3da6b3"),
    ("tinyimagenet", "all"): (5, "e9cc49d63376885d"),
}
RNG = np.random.default_rng(0)


def test_the_embedded_digits_need_no_file():
    parts = [open_split("digits", trial=trial) for trial in range(5)]
    for split in parts:
        assert len(split.known) == 6
        assert sorted(split.known + split.unknown) == list(range(10))
        assert set(split.train.label) == set(split.test.label) == set(range(6))
        assert set(split.unknown_test.label) == set(split.unknown)
        assert split.train.images.dtype == np.uint8
        assert split.train.images.max() == 255
    assert len({split.known for split in parts}) == 5


def test_train_and_test_digits_are_all_digits_once():
    split = open_split("digits")
    assert len(split.train.label) + len(split.test.label) == 1077
    assert len(split.unknown_test.label) == 216


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_mnist(tmp_path, suffix, name):
    mnist(tmp_path, suffix)
    split = open_split(name, folder=tmp_path, trial=2)
    assert split.known == (5, 8, 3, 2, 4, 6)
    assert split.train.images.shape == (24, 28, 28, 1)
    assert split.test.label.tolist() == [3, 2, 4, 0, 5, 1] * 2  # digits 2, 3, 4, 5, 6, 8 in turn
    assert set(split.unknown_test.label) == {0, 1, 7, 9}


def test_svhn(tmp_path):
    svhn(tmp_path)
    split = open_split("svhn", folder=tmp_path)
    assert split.train.images.shape == (24, 32, 32, 3)
    zero = split.unknown_test.images[split.unknown_test.label == 0]
    assert len(zero) == 2
    assert (zero == 10).all()  # what the file calls 10


def test_cifar_and_its_open_sets(tmp_path):
    cifar(tmp_path)
    split = open_split("cifar10", folder=tmp_path)
    assert split.train.images.shape == (60, 32, 32, 3)
    assert split.train.images[0, 0, 0].tolist() == [10, 20, 30]
    for name, classes in (("cifar+10", 10), ("cifar+50", 50)):
        split = open_split(name, folder=tmp_path, trial=4)
        assert split.known == (1, 0, 9, 8)
        assert len(set(split.unknown_test.label)) == classes
        assert len(split.unknown_test.label) == 2 * classes
    with pytest.raises(UsageError, match="no published split"):
        open_split("cifar100", folder=tmp_path)


def png(path, colour, size=(32, 32)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (colour, 20, 30)).save(path)


def class_folders(root, names, inside="{name}"):
    """A copy of CIFAR as people have it: red says which class a picture is of."""
    for part, n in (("train", 2), ("test", 1)):
        for klass, name in enumerate(names):
            folder = root / part / inside.format(name=name, klass=klass, group=klass % 3)
            for at in range(n):
                png(folder / f"{at:04d}.png", klass)


LAYOUTS = {
    "named": "{name}",
    "numbered": "{klass}",
    "padded numbers": "{klass:03d}",
    "in superclasses": "group{group}/{name}",
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("deeper", ["", "CIFAR-master"])
def test_cifar_from_class_folders(tmp_path, layout, deeper):
    class_folders(tmp_path / "ten" / deeper, TEN, LAYOUTS[layout])
    class_folders(tmp_path / "hundred" / deeper, HUNDRED, LAYOUTS[layout])
    where = {"folder": tmp_path / "ten", "unknown_folder": tmp_path / "hundred"}
    split = open_split("cifar+10", trial=1, **where)
    assert split.train.images.shape == (8, 32, 32, 3)
    assert (split.train.images[:, 0, 0, 0] == np.array(split.known)[split.train.label]).all()
    assert (split.unknown_test.images[:, 0, 0, 0] == split.unknown_test.label).all()
    assert set(split.unknown_test.label) == set(split.unknown)


def test_both_cifars_may_lie_side_by_side_and_spell_as_they_like(tmp_path):
    class_folders(tmp_path / "cifar10", [name.title() for name in TEN])
    class_folders(tmp_path / "cifar100", [name.replace("_", " ") for name in HUNDRED])
    split = open_split("cifar+50", folder=tmp_path)
    assert set(split.test.images[:, 0, 0, 0]) == set(split.known)
    assert set(split.unknown_test.images[:, 0, 0, 0]) == set(split.unknown)


def test_class_folders_that_are_not_whole_are_named(tmp_path):
    class_folders(tmp_path, TEN)
    folder = tmp_path / "train" / "airplane"
    (folder / "notes.txt").write_text("no picture")
    open_split("cifar10", folder=tmp_path)
    picture = (folder / "0001.png").read_bytes()
    (folder / "0001.png").write_bytes(b"")  # a download that stopped at once
    refused("OS811", lambda: open_split("cifar10", folder=tmp_path))
    (folder / "0001.png").write_bytes(picture[:60])
    refused("OS811", lambda: open_split("cifar10", folder=tmp_path))
    png(folder / "0001.png", 1, size=(64, 64))
    refused("64 by 64 pixels, not 32", lambda: open_split("cifar10", folder=tmp_path))
    for path in folder.glob("*.png"):
        path.unlink()
    refused(r"OS815[\s\S]*holds no picture", lambda: open_split("cifar10", folder=tmp_path))
    folder.rename(folder.with_name("aeroplane"))
    refused(
        r"no folder 'airplane'; 'aeroplane' is near", lambda: open_split("cifar10", folder=tmp_path)
    )


def test_folders_that_are_numbered_from_one_are_no_cifar(tmp_path):
    class_folders(tmp_path, [str(klass + 1) for klass in range(10)])
    refused("OS815", lambda: open_split("cifar10", folder=tmp_path))


@pytest.mark.parametrize("inside", [True, False])
def test_the_pickled_version_is_named(tmp_path, inside):
    pickled = tmp_path / "cifar-10-batches-py"
    pickled.mkdir()
    (pickled / "data_batch_1").write_bytes(b"\x80\x02}q\x01")
    where = tmp_path if inside else pickled
    refused("OS816", lambda: open_split("cifar10", folder=where))


def test_tinyimagenet(tmp_path):
    tinyimagenet(tmp_path)
    split = open_split("tinyimagenet", folder=tmp_path)
    assert split.train.images.shape == (20, 64, 64, 3)
    assert split.unknown_test.images.shape[0] == 180
    reds = split.test.images.mean(axis=(1, 2))[:, 0]
    assert np.abs(reds - np.array(split.known)[split.test.label]).max() < 6


def test_cub(tmp_path):
    cub(tmp_path)
    split = open_split("cub", folder=tmp_path, level="hard", size=16)
    assert (len(split.train.label), len(split.unknown_test.label)) == (100, 34)
    assert split.train.images.shape[1:] == (16, 16, 3)
    assert not set(split.known) & set(split.unknown)
    assert len(open_split("cub", folder=tmp_path, size=8).unknown) == 100


def test_a_balanced_split_has_as_many_known_as_unknown_samples(tmp_path):
    split = open_split("digits", balanced=True)
    assert len(split.test.label) == len(split.unknown_test.label) == 216
    assert set(split.test.label) == set(range(6))


@pytest.mark.parametrize(("name", "level"), SPLITS)
def test_the_classes_of_every_split(name, level):
    trials, expected = SPLITS[name, level]
    found = [_classes(table()[name], trial, level) for trial in range(trials)]
    for known, unknown in found:
        assert len({*known}) == len(known)
        assert len({*unknown}) == len(unknown)
    assert hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16] == expected
    with pytest.raises(UsageError, match=f"trials 0 to {trials - 1}"):
        _classes(table()[name], trials, level)


def test_every_data_set_but_one_of_unknown_samples_has_a_split():
    assert {name for name, _ in SPLITS} == set(table()) - {"cifar100"}


def refused(code, call):
    with pytest.raises(InputError, match=code):
        call()


def test_missing_files_are_named(tmp_path):
    for name, record in table().items():
        if not record.embedded and name != "cifar100":
            refused("OS810", lambda name=name: open_split(name, folder=tmp_path))
            with pytest.raises(UsageError, match="folder="):
                open_split(name)


def test_damaged_files_are_named(tmp_path):
    mnist(tmp_path)
    images = tmp_path / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-1])
    refused("OS811", lambda: open_split("mnist", folder=tmp_path))
    images.write_bytes(b"\0\0")
    refused("OS811", lambda: open_split("mnist", folder=tmp_path))
    for name in ("train_32x32.mat", "test_32x32.mat"):
        (tmp_path / name).write_bytes(b"no mat file at all" * 20)
    refused("OS811", lambda: open_split("svhn", folder=tmp_path))
    (tmp_path / "data_batch_1.bin").write_bytes(b"123")
    for i in range(2, 6):
        (tmp_path / f"data_batch_{i}.bin").write_bytes(b"123")
    refused("OS811", lambda: open_split("cifar10", folder=tmp_path))


def test_damaged_pictures_and_lists_are_named(tmp_path):
    cub(tmp_path)
    root = tmp_path / "CUB_200_2011"
    (root / "images" / "001.Bird" / "0.jpg").write_bytes(b"no picture")
    refused("OS811", lambda: open_split("cub", folder=tmp_path))
    lines = (root / "images.txt").read_text().splitlines()
    (root / "images.txt").write_text("\n".join(["1 ../../secret.jpg", *lines[1:]]))
    refused("leaves the folder", lambda: open_split("cub", folder=tmp_path))
    (root / "images.txt").write_text("\n".join(lines[1:]))
    refused("same images", lambda: open_split("cub", folder=tmp_path))


@pytest.mark.parametrize(
    "wrong", [{"trial": 5}, {"trial": -1}, {"level": "hard"}, {"level": "harder"}]
)
def test_impossible_splits_are_refused(wrong):
    with pytest.raises(UsageError):
        open_split("digits", **wrong)


def test_a_misspelt_data_set_gets_a_suggestion():
    with pytest.raises(UsageError, match="digits"):
        open_split("digit")
