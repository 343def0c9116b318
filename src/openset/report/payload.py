"""Payload: what the page's scripts work on, as JSON inside of the page.

Columns travel as base64 of little-endian bytes. The text is safe inside of a script element: no
name, however hostile, can close it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openset.diagnosis.breakdown import Grouping
from openset.diagnosis.deployed import Deployed
from openset.diagnosis.flow import MISSED, RIGHT, UNKNOWN
from openset.diagnosis.sliders import Claims
from openset.evaluation.run import Run
from openset.json_text import plain
from openset.matching import Matches
from openset.report.charts import Figure
from openset.report.crops import Pixels, Surroundings, View
from openset.report.curves import roc
from openset.report.gallery import DISAGREE, KINDS, Item
from openset.wording import short


def embedded(document: object) -> str:
    """JSON that may stand between script tags.

    >>> "<" in embedded({"name": "</script><b>"})
    False
    """
    text = json.dumps(plain(document), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def sliders_payload(models: Sequence[Deployed]) -> dict[str, Any]:
    """What the operating point needs."""
    table = models[0].sliders
    return {
        "unknown": _bytes(table.unknown.astype(np.uint8)),
        "wild": _bytes(table.wild.astype(np.uint8)),
        "closedImages": table.closed_images,
        "wildImages": table.wild_images,
        "ratio": table.ratio,
        **_unknown_labels(models[0]),
        "models": [_model(model) for model in models],
    }


def _unknown_labels(model: Deployed) -> dict[str, Any]:
    """The labels of unknown objects, and which object has which; and what they may be called."""
    objects = model.matches.objects
    unknown = (objects.klass == model.matches.n_known) & ~objects.ignored
    labels, place = np.unique(objects.label[unknown], return_inverse=True)
    return {
        "labels": [short(model.matches.labels[at]) for at in labels.tolist()],
        "label": _bytes(place.astype("<u2")),
        "classes": [short(name) for name in model.matches.vocabulary.known],
    }


def _model(model: Deployed) -> dict[str, Any]:
    table, curve = model.sliders, roc(model)
    return {
        "name": model.title,
        "score": table.score.tolist(),
        "second": table.second.tolist(),
        "byScore": table.by_score,
        "rest": table.rest,
        "saysUnknown": table.says_unknown,
        "start": list(model.position),
        "presets": [
            {"name": p.name, "title": p.title, "i": p.i, "j": p.j, "ownRatio": p.own_ratio}
            for p in model.presets
        ],
        "right": _claims(table.right),
        "wrong": _claims(table.wrong),
        "wrongClass": _bytes(table.wrong.klass.astype("<u2")),
        "alien": _claims(table.alien),
        "boxes": _bytes(table.boxes),
        "times": _bytes(table.times.astype("<u4")),
        "roc": None if curve is None else [curve.false.tolist(), curve.true.tolist()],
    }


def _claims(claims: Claims) -> dict[str, str]:
    return {"sizes": _bytes(claims.sizes), "s": _bytes(claims.s), "u": _bytes(claims.u)}


def _bytes(column: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(column).tobytes()).decode("ascii")


def figures_payload(figures: Sequence[Figure]) -> dict[str, Any]:
    """The charts, by name."""
    return {f.name: {"cursor": f.cursor, "spec": f.spec} for f in figures if f.spec}


def strata_payload(groupings: Sequence[Grouping]) -> list[dict[str, Any]]:
    """Ways to slice the objects: names, and which object is in which slice."""
    return [{"names": one.names, "place": _bytes(one.place)} for one in groupings]


def image_names(run: Run) -> list[str]:
    """What images are called: their file names, or else their ids."""
    images = run.truth.images
    names = images.id if images.file_name is None else images.file_name
    return [
        str(name) or str(id_) for name, id_ in zip(names.tolist(), images.id.tolist(), strict=True)
    ]


def gallery_payload(
    run: Run, models: Sequence[Deployed], items: Sequence[Item], pixels: Pixels | None
) -> dict[str, Any]:
    """The gallery: its kinds, and its items with their crops and boxes."""
    names, around = image_names(run), Surroundings(run, models)
    kinds = [{"name": k.name, "title": k.title, "note": k.note} for k in KINDS]
    kinds.append(
        {
            "name": DISAGREE,
            "title": "Detectors disagree",
            "note": "One of the first two detectors gets the object right, the other does not.",
        }
    )
    return {"kinds": kinds, "items": [_item(item, around, names, pixels) for item in items]}


def seen(around: Surroundings, view: View, names: Sequence[str]) -> dict[str, Any]:
    """A part of an image: its name, its place, and the boxes in it."""
    found: dict[str, Any] = {
        "image": short(names[view.image]),
        "region": [round(value, 1) for value in view.region],
        "boxes": around.boxes(view),
    }
    cut = around.cut(view)
    return found | {"cut": cut} if any(cut) else found


FATES = {"missed-unknown": MISSED, "known-as-unknown": UNKNOWN, "unknown-found": UNKNOWN}


def _fate(item: Item, matches: Matches) -> dict[str, int]:
    """The object an item is about, where the item stands or falls with what becomes of it.

    With detectors that disagree, also the one that the object must not fare as well with.
    """
    place = {"object": int(np.count_nonzero(~matches.objects.ignored[: item.object]))}
    if item.kind == DISAGREE:
        unknown = matches.objects.klass[item.object] == matches.n_known
        return place | {"fate": UNKNOWN if unknown else RIGHT, "unlike": 1 - item.model}
    return place | {"fate": FATES[item.kind]} if item.kind in FATES else {}


def _item(
    item: Item, around: Surroundings, names: Sequence[str], pixels: Pixels | None
) -> dict[str, Any]:
    model, view = around.models[item.model], around.view(item)
    matches = model.matches
    found: dict[str, Any] = {
        "model": item.model,
        "kind": item.kind,
        **seen(around, view, names),
        "label": "",
        "called": "",
    }
    if item.object >= 0:
        found["label"] = short(matches.labels[matches.objects.label[item.object]])
        found |= _fate(item, matches)
    if item.box >= 0:
        unknown = bool(model.called.unknown[item.box])
        found |= {"unknown": unknown, "rungs": [int(one[item.box]) for one in model.rungs]}
        name = "unknown" if unknown else model.classes[matches.klass[item.box]]
        found |= {"called": short(name), "score": round(float(matches.score[item.box]), 3)}
        if matches.unknownness is not None:
            found["unknownness"] = float(f"{matches.unknownness[item.box]:.4g}")
    if pixels is not None:
        piece = pixels.crop(names[view.image], view.region, around.size(view.image))
        found["crop"] = None if piece is None else base64.b64encode(piece).decode("ascii")
    return found
