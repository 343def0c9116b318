"""The matching rules as loops over COCO records: slow, short, and written from the definitions."""

from __future__ import annotations

from collections import defaultdict

KNOWN = {3: 0, 7: 1, 8: 2}  # builders.KNOWN: dog, cat, cow
UNKNOWN = 3


def klass(record):
    return KNOWN.get(record["category_id"], UNKNOWN)


def ignored(record, flags):
    return any(record["iscrowd" if flag == "crowd" else flag] for flag in flags)


def overlap(found, record, region=False):
    (x, y, w, h), (a, b, c, d) = found["bbox"], record["bbox"]
    wide = max(0.0, min(x + w, a + c) - max(x, a))
    high = max(0.0, min(y + h, b + d) - max(y, b))
    shared = wide * high
    return shared / (w * h if region else w * h + c * d - shared)


def by_image(shown):
    """Per image: rows of objects, and rows of detections, in the order of the file."""
    objects, found = defaultdict(list), defaultdict(list)
    for row, record in enumerate(shown.truth["annotations"]):
        objects[record["image_id"]].append(row)
    for row, record in enumerate(shown.found):
        found[record["image_id"]].append(row)
    return objects, found


def coco(shown, iou, flags, *, limit=None, prefer_later=True, regions=True):
    """Best free object, counted ones first; falls back to the next. Returns row → outcome."""
    truth, found = shown.truth["annotations"], shown.found
    objects, rows = by_image(shown)
    outcome = {}
    for image in rows:
        for k in range(UNKNOWN + 1):
            here = [row for row in objects[image] if klass(truth[row]) == k]
            here.sort(key=lambda row: ignored(truth[row], flags))
            mine = sorted(
                (row for row in rows[image] if klass(found[row]) == k),
                key=lambda row: -found[row]["score"],
            )
            taken = set()
            for place, row in enumerate(mine):
                if limit is not None and place >= limit:
                    outcome[row] = ("ignored", -1)
                    continue
                best, chosen = min(iou, 1 - 1e-10), -1
                for at in here:
                    skip = ignored(truth[at], flags)
                    region = regions and skip and bool(truth[at]["iscrowd"])
                    if at in taken and not region:
                        continue
                    if chosen >= 0 and skip and not ignored(truth[chosen], flags):
                        break
                    value = overlap(found[row], truth[at], region)
                    if value < best or (value == best and chosen >= 0 and not prefer_later):
                        continue
                    best, chosen = value, at
                if chosen < 0:
                    outcome[row] = ("wrong", -1)
                else:
                    taken.add(chosen)
                    skip = ignored(truth[chosen], flags)
                    outcome[row] = ("ignored" if skip else "correct", chosen)
    return outcome


def voc(shown, iou, flags, *, inclusive=True):
    """Best object of the class, or nothing: no second choice."""
    truth, found = shown.truth["annotations"], shown.found
    objects, _ = by_image(shown)
    outcome, taken = {}, set()
    for row in sorted(range(len(found)), key=lambda row: -found[row]["score"]):
        record = found[row]
        same = [at for at in objects[record["image_id"]] if klass(truth[at]) == klass(record)]
        best = max(same, key=lambda at: overlap(record, truth[at]), default=-1)
        value = overlap(record, truth[best]) if best >= 0 else 0.0
        if not (value >= iou if inclusive else value > iou):
            outcome[row] = ("wrong", -1)
        elif ignored(truth[best], flags):
            outcome[row] = ("ignored", -1)
        elif best in taken:
            outcome[row] = ("wrong", -1)
        else:
            taken.add(best)
            outcome[row] = ("correct", best)
    return outcome


def elephant(shown, iou):
    """Best object of any class, in the order of the file; right if it is of the class and free."""
    truth, found = shown.truth["annotations"], shown.found
    objects, _ = by_image(shown)
    outcome, taken = {}, set()
    for row, record in enumerate(found):
        here = objects[record["image_id"]]
        best = max(here, key=lambda at: overlap(record, truth[at]), default=-1)
        near = best >= 0 and overlap(record, truth[best]) >= iou
        if near and klass(truth[best]) == klass(record) and best not in taken:
            taken.add(best)
            outcome[row] = ("correct", best)
        else:
            outcome[row] = ("wrong", -1)
    return outcome


def open_set_errors(shown, iou, *, flags=(), counts_ignored=True):
    """Rows of known-labelled detections whose best unknown object is near enough."""
    truth, found = shown.truth["annotations"], shown.found
    objects, _ = by_image(shown)
    rows = set()
    for row, record in enumerate(found):
        unknown = [at for at in objects[record["image_id"]] if klass(truth[at]) == UNKNOWN]
        best = max(unknown, key=lambda at: overlap(record, truth[at]), default=-1)
        if klass(record) == UNKNOWN or best < 0 or overlap(record, truth[best]) < iou:
            continue
        if counts_ignored or not ignored(truth[best], flags):
            rows.add(row)
    return rows
