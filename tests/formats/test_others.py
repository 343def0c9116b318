"""What is particular to VOC, YOLO, Open Images and CSV: conventions, options, side files."""

import struct
import zlib

import numpy as np
import pytest

import openset
from openset.formats import read, write
from openset.formats.imagesize import image_size
from openset.formats.openimages import ancestors, read_descriptions, read_hierarchy

XML = """<annotation><filename>0001.jpg</filename>
<size><width>100</width><height>80</height></size>
<object><name>dog</name><truncated>1</truncated><difficult>1</difficult>
<bndbox><xmin>1</xmin><ymin>11</ymin><xmax>100</xmax><ymax>80</ymax></bndbox>
<part><name>head</name><bndbox><xmin>1</xmin></bndbox></part></object></annotation>"""


def test_voc_pixels(tmp_path):
    folder = tmp_path / "VOC2007" / "Annotations"
    folder.mkdir(parents=True)
    (folder / "0001.xml").write_text(XML)
    (folder / "0002.xml").write_text("<annotation/>")
    main = tmp_path / "VOC2007" / "ImageSets" / "Main"
    main.mkdir(parents=True)
    (main / "test.txt").write_text("0002\n")
    table = read(tmp_path / "VOC2007")
    assert table.box.tolist() == [[0, 10, 100, 70]]
    assert table.difficult.tolist() == table.attributes["truncated"].tolist() == [True]
    assert table.images.id.tolist() == ["0001", "0002"]
    assert read(folder).labels == ("dog",)
    assert read(tmp_path / "VOC2007", split="test").images.id.tolist() == ["0002"]


def test_voc_results(tmp_path):
    (tmp_path / "comp4_det_test_dining_table.txt").write_text("0001 0.5 1.0 11.0 100.0 80.0\n")
    (tmp_path / "comp4_det_test_dog.txt").write_text("")
    table = read(tmp_path)
    assert table.labels == ("dining_table", "dog")
    assert table.box.tolist() == [[0, 10, 100, 70]]
    assert table.image.tolist() == ["0001"]


def png(width, height):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress(b"\0" * ((width + 1) * height))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels)


def jpeg(width, height):
    comment = b"\xff\xfe" + struct.pack(">H", 6) + b"\xff\xd8\xff\xc0"
    tables = b"\xff\xc4" + struct.pack(">H", 3) + b"\0"
    frame = b"\xff\xc2" + struct.pack(">HBHH", 11, 8, height, width) + b"\0" * 4
    return b"\xff\xd8" + comment + tables + b"\xff" + frame


def test_image_sizes(tmp_path):
    for name, data, size in (
        ("a.png", png(31, 17), (31, 17)),
        ("a.jpg", jpeg(640, 48), (640, 48)),
        ("b.jpg", jpeg(640, 48)[:20], None),
        ("c.jpg", b"\xff\xd8\xff", None),
        ("d.jpg", b"", None),
        ("e.png", b"\x89PNG\r\n\x1a\n", None),
    ):
        (tmp_path / name).write_bytes(data)
        assert image_size(tmp_path / name) == size, name
    assert image_size(tmp_path / "absent.png") is None


def test_image_sizes_agree_with_pillow(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for suffix in ("png", "jpg", "bmp", "gif"):
        image.new("RGB", (37, 21)).save(tmp_path / f"a.{suffix}")
        assert image_size(tmp_path / f"a.{suffix}") == (37, 21)


def yolo_folder(root, line):
    for folder in ("images/val", "labels/val"):
        (root / folder).mkdir(parents=True)
    (root / "images/val/one.png").write_bytes(png(200, 100))
    (root / "images/val/two.jpg").write_bytes(jpeg(50, 50))
    (root / "labels/val/one.txt").write_text(line)
    (root / "data.yaml").write_text("path: .\nval: images/val\nnames: {0: cat, 1: dog}\n")


def test_yolo_tree(tmp_path):
    yolo_folder(tmp_path, "1 0.5 0.5 0.1 0.2\n")
    for path in (tmp_path, tmp_path / "data.yaml"):
        table = read(path)
        assert table.box.tolist() == [[90, 40, 20, 20]]
        assert table.labels == ("cat", "dog")
        assert table.images.id.tolist() == ["one", "two"]
        assert table.images.file_name.tolist() == ["one.png", "two.jpg"]
    with pytest.raises(openset.InputError, match="OS107"):
        read(tmp_path, split="train")


@pytest.mark.parametrize(("line", "refused"), [("0 50 40 20 20", True), ("0 1.2 0.5 0.9 1", False)])
def test_yolo_in_pixels_is_refused(tmp_path, line, refused):
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "a.txt").write_text(f"{line}\n")
    (tmp_path / "data.yaml").write_text("names: [cat]\nval: images\n")
    (tmp_path / "sizes.csv").write_text("image,width,height\na,100,80\n")
    if not refused:
        assert len(read(tmp_path)) == 1
        return
    with pytest.raises(openset.InputError, match="OS431") as caught:
        read(tmp_path)
    assert "box 0: 50 40 20 20" in caught.value.findings[0].example


def test_yolo_predictions_without_yaml(tmp_path):
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "one.txt").write_text("1 0.5 0.5 0.1 0.2 0.75\n")
    table = read(tmp_path, names=["cat", "dog"], sizes={"one": (200, 100)})
    assert table.box.tolist() == [[90, 40, 20, 20]]
    assert (table.score.tolist(), table.image.tolist()) == ([0.75], ["one"])
    (tmp_path / "s.csv").write_text("image,width,height\none,200,100\n")
    assert len(read(tmp_path, names=["cat", "dog"], sizes=tmp_path / "s.csv")) == 1


BOXES = """ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,\
IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside
0001,xclick,/m/cat,1,0.25,0.75,0.5,1,0,-1,1,0,0
0002,xclick,/m/dog,1,0,1,0,1,1,0,0,0,0
"""
HIERARCHY = """{"LabelName": "/m/root", "Subcategory": [
 {"LabelName": "/m/animal", "Subcategory": [{"LabelName": "/m/cat"}, {"LabelName": "/m/dog"}]},
 {"LabelName": "/m/pet", "Subcategory": [{"LabelName": "/m/cat"}],
  "Part": [{"LabelName": "/m/ear"}]}]}"""


def test_open_images(tmp_path):
    (tmp_path / "boxes.csv").write_text(BOXES)
    (tmp_path / "names.csv").write_text("label,class\n/m/cat,Cat\n/m/dog,Dog\n/m/animal,Animal\n")
    (tmp_path / "tree.json").write_text(HIERARCHY)
    (tmp_path / "sizes.csv").write_text(
        "ImageID,width,height\n0001,200,100\n0002,10,10\n0003,5,5\n"
    )
    plain = read(tmp_path / "boxes.csv")
    assert plain.box.tolist() == [[0.25, 0.5, 0.5, 0.5], [0, 0, 1, 1]]
    assert plain.images.width.tolist() == [1, 1]
    assert plain.images.id.tolist() == ["0001", "0002"]
    assert plain.labels == ("/m/cat", "/m/dog")
    table = read(
        tmp_path / "boxes.csv",
        sizes=tmp_path / "sizes.csv",
        descriptions=tmp_path / "names.csv",
        hierarchy=tmp_path / "tree.json",
    )
    assert table.box.tolist() == [[50, 50, 100, 50], [0, 0, 10, 10]]
    assert table.labels == ("Cat", "Dog")
    assert table.supercategory == ("Animal", "Animal")
    assert table.crowd.tolist() == [True, False]
    assert len(table.images) == 3
    assert table.attributes["IsTruncated"].tolist() == [-1, 0]
    assert table.attributes["Source"].tolist() == ["xclick", "xclick"]
    parents = read_hierarchy(tmp_path / "tree.json")
    assert ancestors(parents, "/m/cat") == ("/m/animal", "/m/pet", "/m/root")
    assert read_descriptions(tmp_path / "names.csv")["/m/cat"] == "Cat"
    (tmp_path / "sizes.csv").write_text("0001,200,100\n")
    with pytest.raises(openset.InputError, match="OS110"):
        read(tmp_path / "boxes.csv", sizes=tmp_path / "sizes.csv")


@pytest.mark.parametrize(
    "text",
    [
        "image,label,x,y,w,h,score\n0001,dog,1,2,3,4,0.5\n",
        "file_name;class;xmin;ymin;xmax;ymax;confidence\n0001;dog;1;2;4;6;0.5\n",
        "Image_ID\tName\tX1\tY1\tX2\tY2\tConf\n0001\tdog\t1\t2\t4\t6\t0.5\n",
        'image,label,bbox,score\n0001,dog,"[1, 2, 3, 4]",0.5\n',
        '{"image": "0001", "label": "dog", "bbox": [1, 2, 3, 4], "score": 0.5}\n',
        '{"image": "0001", "label": "dog", "x": 1, "y": 2, "w": 3, "h": 4, "score": 0.5}\n',
        "\ufeffimage,label,x,y,w,h,score\r\n0001,dog,1,2,3,4,0.5\r\n",
    ],
)
def test_table_headers(text, tmp_path):
    (tmp_path / "a").write_bytes(text.encode())
    table = read(tmp_path / "a")
    assert table.image.tolist() == ["0001"]
    assert table.labels == ("dog",)
    assert table.box.tolist() == [[1, 2, 3, 4]]
    assert table.score.tolist() == [0.5]


def test_table_category_ids(tmp_path):
    (tmp_path / "a").write_text("image,category_id,x,y,w,h,score\n7,90,1,2,3,4,0.5\n")
    table = read(tmp_path / "a")
    assert (table.labels, table.label.tolist(), table.image.tolist()) == ((), [90], [7])
    (tmp_path / "b").write_text("image,category_id,x,y,w,h,extra\n7,90,1,2,3,4,x\n9,,,,,,\n")
    truth = read(tmp_path / "b")
    assert (truth.labels, truth.category_id.tolist()) == (("90",), [90])
    assert truth.images.id.tolist() == [7, 9]
    assert truth.attributes["extra"].tolist() == ["x"]


def test_many_images_in_parquet(tmp_path):
    count = 20_000
    images = openset.tables.Images(np.arange(count), np.array([f"{i}.jpg" for i in range(count)]))
    table = openset.Annotations(images, ("a",), [0], [0], [[0, 0, 1, 1]])
    write(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").images.file_name.tolist() == images.file_name.tolist()
