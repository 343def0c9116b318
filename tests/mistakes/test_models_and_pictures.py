"""What is given in place of a model, and pictures that are not as a detector reads them."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision")

from PIL import Image  # noqa: E402

from openset.detectors import find, load, save  # noqa: E402
from openset.files import alone  # noqa: E402
from openset.findings import InputError  # noqa: E402
from openset.formats import read_annotations  # noqa: E402
from openset.nets.pictures import ImageFiles, batches, decode  # noqa: E402
from scenes.training import LABELS, make_data, trained, weights  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")


@pytest.fixture(scope="module")
def origin(tmp_path_factory, one_torch_thread):
    home = tmp_path_factory.mktemp("origin")
    trained(make_data(home), home / "run")
    return home


def refused(code, function, *given, **more):
    with pytest.raises(InputError, match=code) as caught:
        function(*given, **more)
    (finding,) = caught.value.findings
    return finding


def test_a_checkpoint_is_no_model(origin):
    finding = refused("OS604", load, str(origin / "run/checkpoint.pt"))
    assert "at step 8" in finding.message and "model.pt" in finding.fix


def test_a_training_that_was_killed_before_its_first_checkpoint_is_not_finished(tmp_path):
    from openset.cli._inputs import trained_model

    (tmp_path / "log.jsonl").touch()
    assert "not finished" in refused("OS101", trained_model, tmp_path).message
    (tmp_path / "log.jsonl").rename(tmp_path / "other.jsonl")
    assert "has no model.pt" in refused("OS101", trained_model, tmp_path).message


def test_a_ground_truth_in_place_of_a_model_is_told_from_a_pickle(origin):
    assert "is text" in refused("OS604", load, str(origin / "train.json")).message
    (origin / "bad.pt").write_bytes(b"\x80\x02cposix\nsystem\nq\x00.")
    assert "is text" not in refused("OS604", load, str(origin / "bad.pt")).message


def test_weights_of_eight_bits_are_told(origin, tmp_path):
    held = weights(origin / "run")
    name = next(name for name, value in held.items() if value.ndim == 4)
    small = {**held, name: held[name].to(torch.int8), f"{name}_scale": torch.ones(3)}
    torch.save(small, tmp_path / "small.pt")
    options = {"backbone": "small", "weights": str(tmp_path / "small.pt"), "device": "cpu"}
    finding = refused("OS605", find("faster_rcnn").build, LABELS, **options)
    assert "integers of 8 bits" in finding.message and finding.example == name


def test_two_trainings_in_one_folder_are_refused_and_the_first_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("openset.files.locks._PATIENCE", 0.1)
    data = make_data(tmp_path)
    with alone(tmp_path / "run"):
        finding = refused("OS622", trained, data, tmp_path / "run", steps=1)
    assert "started twice" in finding.cause
    assert not (tmp_path / "run/run.json").exists()
    assert trained(data, tmp_path / "run", steps=1).step == 1
    assert trained(data, tmp_path / "run", steps=1).resumed == 1  # whoever ended lets others in


def test_what_a_killed_training_had_started_is_waited_for(tmp_path):
    import subprocess
    import sys

    script = "import sys,time; from openset.files import alone; from pathlib import Path\n"
    script += "with alone(Path(sys.argv[1])): print(flush=True); time.sleep(1)"
    command = [sys.executable, "-c", script, str(tmp_path / "run")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"\n"
        with alone(tmp_path / "run"):
            assert other.wait(5) == 0


@pytest.mark.parametrize("kind", ["png", "tiff"])
def test_sixteen_bits_are_read_as_their_upper_eight(kind, tmp_path):
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16)
    Image.fromarray(grey).save(tmp_path / "grey.png")
    Image.fromarray(grey.astype(np.uint16) * 257).save(tmp_path / f"deep.{kind}")
    assert (decode(tmp_path / f"deep.{kind}") == decode(tmp_path / "grey.png")).all()


def test_sixteen_bits_are_shown_as_their_upper_eight(tmp_path):
    from openset.report.crops import Pixels

    Image.fromarray(np.full((30, 20), 100 * 257, np.uint16)).save(tmp_path / "a.png")
    crop = Pixels(tmp_path).crop("a.png", (0, 0, 20, 30), (20, 30))
    with Image.open(io.BytesIO(crop)) as seen:
        assert abs(np.asarray(seen).mean() - 100) < 3


def test_numbers_of_no_known_range_are_refused(tmp_path):
    Image.fromarray(np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)).save(tmp_path / "a.tiff")
    assert "32 bits" in refused("OS603", decode, tmp_path / "a.tiff").example


def named(folder, change):
    document = json.loads((folder / "train.json").read_text())
    for image in document["images"]:
        image["file_name"] = change(image["file_name"])
    (folder / "named.json").write_text(json.dumps(document))
    return ImageFiles.of_annotations(read_annotations(folder / "named.json"), folder)


def test_backslashes_of_windows_lead_to_the_pictures(tmp_path):
    (tmp_path / "a").mkdir()
    make_data(tmp_path / "a")
    (tmp_path / "a/train.json").rename(tmp_path / "train.json")
    assert named(tmp_path, lambda name: f"a\\{name}").path[3] == tmp_path / "a/3.png"
    refused("OS113", named, tmp_path / "a" / ".." / "a" / "..", lambda name: f"..\\{name}")


def test_pictures_with_another_ending_are_named(tmp_path):
    make_data(tmp_path)
    finding = refused("OS602", named, tmp_path, lambda name: name.replace(".png", ".JPG"))
    assert "0.png is there" in finding.cause and ".png for .JPG" in finding.fix
    assert not refused("OS602", named, tmp_path, lambda name: f"none-{name}").cause.count("there")


def turned(path, tag):
    """A picture of 20 x 30 that lies on its side; with a tag that says so, or without."""
    upright = np.arange(30 * 20 * 3, dtype=np.uint8).reshape(30, 20, 3)
    said = Image.Exif()
    if tag:
        said[0x0112] = tag
    Image.fromarray(upright).transpose(Image.Transpose.ROTATE_90).save(path, exif=said)
    return upright


@pytest.mark.parametrize(
    ("tag", "stated", "upright"),
    [
        (6, (20, 30), True),
        (6, (30, 20), False),  # boxes are on the pixels as they are stored
        (6, (40, 60), False),  # a larger picture was annotated
        (6, (np.nan, np.nan), False),
        (0, (20, 30), False),
        (3, (20, 30), False),  # half a turn, after which it lies as before
    ],
)
def test_a_picture_is_turned_where_that_gives_it_the_stated_size(tag, stated, upright, tmp_path):
    pixels = turned(tmp_path / "a.png", tag)
    files = ImageFiles(np.array([1]), (tmp_path / "a.png",), np.array([stated], float))
    (((_, seen),),) = batches(files, 4, 1)
    assert seen.shape == (pixels.shape if upright else (20, 30, 3))
    assert files.actual(0) == seen.shape[1::-1]
    assert not upright or (seen == pixels).all()


def test_turned_pictures_are_taught_and_cut_as_they_were_annotated(tmp_path):
    from openset.report.crops import Pixels
    from openset.tables import Annotations, Images
    from openset.training import TrainingData

    turned(tmp_path / "a.png", 6)
    images = Images([1], ["a.png"], [20], [30])
    data = TrainingData.of(Annotations(images, ("a",), [0], [0], [[2, 3, 9, 20]]), tmp_path)
    assert not data.resized()
    crop = Pixels(tmp_path).crop("a.png", (0, 0, 20, 30), (20, 30))
    with Image.open(io.BytesIO(crop)) as seen:
        assert seen.size == (20, 30)


def test_pictures_of_another_shape_are_said_where_numbers_are_made():
    from openset.tables import Annotations, Detections, Images
    from openset.tables.picture_sizes import at_stated_size

    truth = Annotations(Images([1], ["a"], [20], [30]), ("a",), [0], [0], [[2, 3, 9, 20]])

    def said(noted):
        about = {"resized_images": noted, "images": 1}
        found = Detections([1], [0], [[2, 3, 9, 20]], [0.5], ("a",), provenance=about)
        return at_stated_size(found, truth)[1]

    (finding,) = said([["a", 1.5, 2 / 3]])
    assert (finding.code, finding.level.value) == ("OS342", "warning")
    assert "exchanged in the ground truth" in finding.cause
    assert "exchanged" not in said([["a", 1.5, 1.0]])[0].cause
    assert said([["a", 0.5, 0.5]]) == []  # as `run` has said, and nothing is wrong
    for nonsense in ("a", [1], [["a", "b", 1]], [["a", 0, 0]], None, []):
        assert said(nonsense) == []


def test_a_model_is_a_model(tmp_path):
    model = find("faster_rcnn").build(LABELS, device="cpu", backbone="small")
    save(model, tmp_path / "model.pt")
    assert load(str(tmp_path / "model.pt"), device="cpu").labels == LABELS
