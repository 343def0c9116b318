"""Training data: what is taught, in which order, and how images are changed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.findings import InputError, UsageError  # noqa: E402
from openset.formats import read_annotations  # noqa: E402
from openset.tables import Annotations, Images  # noqa: E402
from openset.training._augment import zoomed  # noqa: E402
from openset.training.data import Order, TrainingData, Views, resident  # noqa: E402
from scenes.training import make_data, recipe  # noqa: E402


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


def some(folder, **columns):
    names = ["0.png", "1.png", "2.png"]
    held = {"image": [0, 0, 1, 1, 2], "label": [0, 1, 0, 0, 1], "role": ("known", "unknown")}
    held |= {
        "box": np.array([[0, 0, 9, 9], [1, 1, 5, 5], [2, 2, 0, 4], [3, 3, 4, 4], [0, 0, 1, 1]])
    }
    held |= {"crowd": [False, False, False, True, False], **columns}
    return Annotations(Images([4, 5, 6], np.array(names)), ("cat", "elk"), **held)


def test_only_known_objects_with_an_area_are_taught(truth):
    data = TrainingData.of(some(truth.parent), truth.parent)
    assert data.labels == ("cat",)
    assert data.files.id.tolist() == [4]
    assert data.boxes[0].tolist() == [[0, 0, 9, 9]]
    assert data.left_out == {"of other classes": 2, "crowd": 1, "without area": 1}
    assert len(TrainingData.of(some(truth.parent), truth.parent, empty=True)) == 3
    both = TrainingData.of(some(truth.parent), truth.parent, labels=("elk", "cat"))
    assert both.classes[0].tolist() == [1, 0]


def test_only_what_a_task_may_show_is_taught(truth):
    """The file has cats and elks; of four classes the task shows the elks."""
    labels = ("cow", "cat", "elk", "yak")
    data = TrainingData.of(some(truth.parent), truth.parent, labels=labels, shown=("elk",))
    assert data.labels == labels
    assert {int(k) for classes in data.classes for k in classes} == {2}
    assert data.left_out == {"of other classes": 3}
    with pytest.raises(UsageError, match="Did you mean 'elk'"):
        TrainingData.of(some(truth.parent), truth.parent, labels=labels, shown=("elks",))


@pytest.mark.parametrize(
    ("layout", "code"),
    [
        (lambda box: box / 64, "OS203"),
        (lambda box: np.hstack([box[:, :2], box[:, :2] + box[:, 2:]]), "OS204"),
    ],
    ids=["shares", "corners"],
)
def test_boxes_of_another_layout_are_not_taught(layout, code, truth):
    table = read_annotations(truth)
    with pytest.raises(InputError, match=code):
        TrainingData.of(replace(table, box=layout(table.box)), truth.parent)
    assert len(TrainingData.of(table, truth.parent)) == 8


def test_bad_ground_truth_is_refused(truth):
    folder = truth.parent
    box = some(folder).box.copy()
    box[1, 2] = np.nan
    with pytest.raises(InputError, match="OS201"):
        TrainingData.of(some(folder, box=box), folder)
    with pytest.raises(InputError, match="OS610"):
        TrainingData.of(some(folder, label=[1] * 5), folder)
    with pytest.raises(InputError, match="OS602"):
        TrainingData.of(some(folder), folder / "elsewhere")
    with pytest.raises(UsageError, match="Did you mean 'cat'"):
        TrainingData.of(some(folder), folder, labels=["cats"])
    with pytest.raises(UsageError, match="folder="):
        TrainingData.of(some(folder))


def test_every_image_is_seen_once_an_epoch_in_another_order():
    order = Order(count=10, batch=4, seed=1)
    seen = [item for step in range(5) for item in order.images(step)]
    first, second = (([i for e, i in seen if e == epoch]) for epoch in (0, 1))
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    assert list(order.steps(2, 4)) == [order.images(2), order.images(3)]


def test_processes_share_every_batch():
    whole = Order(count=7, batch=4, seed=3)
    parts = [Order(7, 4, 3, rank, 2) for rank in (0, 1)]
    for step in range(6):
        assert parts[0].images(step) + parts[1].images(step) == whole.images(step)


def test_views_depend_on_the_epoch_and_nothing_else(truth):
    views = Views(TrainingData.of(truth), recipe())
    first, other, again = (views[seen][0] for seen in ((0, 3), (1, 3), (0, 3)))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert first.dtype == torch.float32
    assert 0 <= first.min() <= first.max() <= 1


def test_a_flip_moves_boxes_with_their_pixels(truth):
    data = TrainingData.of(truth)
    flipped, plain = (Views(data, recipe(flip=f, jitter=0.0))[(0, 2)] for f in (1.0, 0.0))
    assert torch.equal(flipped[0], plain[0].flip(-1))
    (x1, y1, x2, y2), (a1, b1, a2, b2) = flipped[1]["boxes"][0], plain[1]["boxes"][0]
    assert (x1, y1, x2, y2) == (64 - a2, b1, 64 - a1, b2)
    colour = int(plain[1]["labels"][0])
    assert flipped[0][colour, int(y1) + 1, int(x1) + 1] > 0.8


def test_boxes_are_scaled_to_pictures_of_another_size(truth):
    """Annotated at twice the width and three times the height, or at a size that is not said."""
    table = read_annotations(truth)
    box = table.box * [2, 3, 2, 3]
    width, height = (np.full(len(table.images), 64.0 * by) for by in (2, 3))
    images = replace(table.images, width=width, height=height)
    data = TrainingData.of(replace(table, images=images, box=box, area=None), truth.parent)
    plain = TrainingData.of(truth)
    for at in range(len(data)):
        one, two = (Views(each, recipe(flip=1.0))[(0, at)][1]["boxes"] for each in (data, plain))
        assert len(one) and torch.allclose(one, two)
    (said,) = data.resized()
    assert said.code == "OS342" and "also have another shape" in said.message
    assert plain.resized() == ()
    unsaid = replace(table.images, width=None, height=None)
    data = TrainingData.of(replace(table, images=unsaid), truth.parent)
    assert data.resized() == ()
    assert torch.equal(
        Views(data, recipe())[(0, 1)][1]["boxes"], Views(plain, recipe())[(0, 1)][1]["boxes"]
    )


def test_boxes_of_the_pictures_with_sizes_of_larger_ones_are_named(truth):
    table = read_annotations(truth)
    box = np.tile(table.box, (8, 1))
    box[::4] = [0, 20, 9, 9]  # objects at the borders of pictures of 64 pixels
    box[1::4] = [20, 0, 9, 9]
    images = replace(
        table.images, width=[250.0] * len(table.images), height=[250.0] * len(table.images)
    )
    rows = {name: np.tile(getattr(table, name), 8) for name in ("image", "label")}
    wrong = Annotations(images, table.labels, *rows.values(), box, role=table.role)
    (said,) = TrainingData.of(wrong, truth.parent).resized()
    assert said.code == "OS241", said


def test_the_fingerprint_tells_data_apart(truth):
    table = read_annotations(truth)
    same, less = TrainingData.of(truth), TrainingData.of(table.select(np.arange(15)), truth.parent)
    assert same.fingerprint() == TrainingData.of(table, truth.parent).fingerprint()
    assert same.fingerprint() != less.fingerprint()


def test_coco_files_are_read_where_msgspec_is_missing(truth, monkeypatch):
    whole = TrainingData.of(truth).fingerprint()
    monkeypatch.setitem(sys.modules, "msgspec", None)
    assert TrainingData.of(truth).fingerprint() == whole


def test_images_that_are_held_give_the_same_views(truth):
    data, chosen = TrainingData.of(truth), recipe(zoom=2.0)
    held = Views(data, chosen, resident(data, torch.device("cpu")))
    for seen in ((0, 0), (3, 1), (1, 5)):
        (image, objects), (same, others) = Views(data, chosen)[seen], held[seen]
        assert torch.equal(image, same)
        assert torch.equal(objects["boxes"], others["boxes"])


def test_images_that_cannot_be_held_are_named_together(tmp_path):
    data = TrainingData.of(make_data(tmp_path))
    for name in ("3.png", "5.png"):
        (tmp_path / name).write_bytes(b"no image")
    with pytest.raises(InputError) as caught:
        resident(data, torch.device("cpu"))
    assert [Path(f.example).name for f in caught.value.findings] == ["3.png", "5.png"]


def test_a_zoom_moves_boxes_with_their_pixels():
    down, right = torch.meshgrid(torch.arange(80), torch.arange(100), indexing="ij")
    image = torch.stack([right, down]).to(torch.uint8)  # every pixel says where it was
    box, chance, widths = torch.tensor([[40.0, 30, 60, 50]]), np.random.default_rng(1), set()
    for _ in range(50):
        window, (moved,), (seen,) = zoomed(image, box, 2.0, chance)
        widths.add(window.shape[-1])
        left, top, end, bottom = (int(edge) for edge in moved)
        if seen:
            assert window[0, top, end - 1] - window[0, top, left] == end - 1 - left
            assert window[0, top, left] >= 40
            assert window[1, bottom - 1, left] <= 49
    assert 50 <= min(widths) < 70 < 150 < max(widths) <= 200


def test_an_object_that_a_zoom_cuts_off_is_not_taught():
    image, boxes = torch.zeros(3, 100, 100, dtype=torch.uint8), torch.tensor([[0.0, 0, 10, 10]])
    chance = np.random.default_rng(0)
    seen = [zoomed(image, boxes, 4.0, chance)[1:] for _ in range(50)]
    areas = [(box[0, 2] - box[0, 0]) * (box[0, 3] - box[0, 1]) for box, _ in seen]
    assert all(bool(kept) == (area > 30) for area, (_, kept) in zip(areas, seen, strict=True))
    assert 0 < sum(bool(kept) for _, kept in seen) < 50
