"""Streaming: some boxes out of a CSV of Open Images with many million rows.

The file is scanned in batches and only rows of wanted labels, or of listed images, are kept, so
that memory grows with what a benchmark uses and not with the file. Images none of whose boxes are
wanted are not listed. Not for rules about images without boxes, nor about all labels of images that
no list names: those read the whole file (see `openset.formats.openimages`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from openset.benchmarks.pool import no_such_label
from openset.files import load_list
from openset.findings import refuse
from openset.formats.openimages import Groups, parent_of, read_descriptions, read_hierarchy
from openset.refusals import undecodable
from openset.tables import Annotations, Images, Vocabulary
from openset.tables.columns import text_column

_CORNERS = ("XMin", "XMax", "YMin", "YMax")


def read_boxes(
    path: Path,
    wanted: Iterable[str],
    spelling: Vocabulary,
    *,
    descriptions: Path | None = None,
    hierarchy: Path | None = None,
    sizes: Path | None = None,
    images: Sequence[Path] = (),
    groups: Groups = "crowds",
) -> Annotations:
    """Boxes of the wanted labels, by name; of the `images` that files list, if any are given.

    For listed images all labels that `descriptions` names are wanted. Images are 1 x 1 unless
    `sizes` says more. Boxes of groups (``IsGroupOf``) are crowds, or ordinary objects.
    """
    names = {} if descriptions is None else read_descriptions(descriptions)
    parents = {} if hierarchy is None else read_hierarchy(hierarchy)
    codes = sorted(names) if names and images else _codes(wanted, names, spelling)
    columns = _rows(path, codes, _listed(images))
    ids, image = _images(columns.pop("ImageID"))
    size = _sizes(sizes, ids)
    group = columns.pop("IsGroupOf", None)
    return Annotations(
        images=Images(ids, None, size[:, 0], size[:, 1]),
        labels=tuple(names.get(code, code) for code in codes),
        image=image,
        label=columns.pop("LabelName").to_physical().to_numpy().astype(np.int32),
        box=_boxes(columns, size, image),
        crowd=None if group is None or groups == "objects" else group.to_numpy() == 1,
        supercategory=tuple(parent_of(code, parents, names) for code in codes),
    )


def _boxes(columns: dict[str, Any], size: Any, image: Any) -> Any:
    """Boxes in pixels; a column is dropped as soon as it is used, for there are many rows."""
    box = np.empty((len(image), 4))
    for side, (low, high) in enumerate((("XMin", "XMax"), ("YMin", "YMax"))):
        box[:, side] = columns.pop(low).to_numpy()
        box[:, side + 2] = columns.pop(high).to_numpy()
        box[:, side + 2] -= box[:, side]
        for place in (side, side + 2):
            box[:, place] *= size[image, side]
    return box


def _codes(wanted: Iterable[str], names: Mapping[str, str], spelling: Vocabulary) -> list[str]:
    """Codes of labels by name, sorted; without names, labels are codes."""
    listed = tuple(wanted)
    if not names:
        return sorted(listed)
    by_name = {spelling.key(name): code for code, name in names.items()}
    lost = [name for name in listed if spelling.key(name) not in by_name]
    if lost:
        raise no_such_label(lost, names.values())
    return sorted(by_name[spelling.key(name)] for name in listed)


def _listed(files: Sequence[Path]) -> list[str]:
    return [line for file in files for line in load_list(file)]


def _rows(path: Path, codes: list[str], images: list[str]) -> dict[str, Any]:
    """The columns of the rows of some labels, and images, in the order of the file."""
    import polars as pl

    types: dict[str, Any] = dict.fromkeys(_CORNERS, pl.Float64)
    types |= {"ImageID": pl.String, "LabelName": pl.String, "IsGroupOf": pl.Int8}
    try:
        scan = pl.scan_csv(path, schema_overrides=types)
        there = scan.collect_schema().names()
        if lost := [name for name in ("ImageID", "LabelName", *_CORNERS) if name not in there]:
            raise refuse("OS107", f"{path} has no column {lost[0]!r}", example=f"{there[:12]}")
        columns = [name for name in types if name in there]
        rows = scan.filter(pl.col("LabelName").is_in(codes)).select(columns)
        if images:
            rows = rows.filter(pl.col("ImageID").is_in(images))
        # As an enumeration: fourteen million texts would be most of the memory.
        rows = rows.with_columns(pl.col("LabelName").cast(pl.Enum(codes)))
        frame = rows.collect(engine="streaming")
        return {name: frame.drop_in_place(name) for name in columns}
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        why = str(error).strip().partition("\n")[0]
        raise undecodable(
            str(path), why, cause="a truncated file, or none of Open Images"
        ) from error


def _images(ids: Any) -> tuple[Any, Any]:
    """Distinct ids in the order of the file, and the index of every row's image."""
    distinct = ids.unique(maintain_order=True)
    place = distinct.to_frame().with_row_index("place")
    index = ids.to_frame().join(place, on="ImageID", how="left", maintain_order="left")["place"]
    return text_column(distinct.to_list()), index.to_numpy().astype(np.int32)


def _sizes(path: Path | None, images: Any) -> Any:
    if path is None:
        return np.ones((len(images), 2))
    from openset.formats.sizes_file import read_sizes
    from openset.refusals import needs_sizes

    listed = read_sizes(path)
    lost = [name for name in images.tolist() if name not in listed]
    if lost:
        raise needs_sizes(str(path), len(lost), lost[0])
    return np.array([listed[name] for name in images.tolist()], np.float64).reshape(-1, 2)
