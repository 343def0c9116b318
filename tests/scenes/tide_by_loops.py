"""TIDE once more, an image, a detection and an object at a time: slow, and easy to compare with
the description in the paper's repository. Only for tests."""

from __future__ import annotations

from collections import defaultdict

ERRORS = ("Cls", "Loc", "Both", "Dupe", "Bkg", "Miss")


def overlap(a, b, *, region=False):
    w = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    h = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    common = max(w, 0) * max(h, 0)
    return common / (a[2] * a[3] if region else a[2] * a[3] + b[2] * b[3] - common)


def average_precision(points, positives):
    if positives == 0:
        return 0.0
    hits, precision, recall = 0, [], []
    for n, (_, right) in enumerate(sorted(points, key=lambda point: -point[0]), 1):
        hits += right
        precision.append(hits / n)
        recall.append(hits / positives)
    for i in range(len(precision) - 1, 0, -1):
        precision[i - 1] = max(precision[i - 1], precision[i])
    total = 0.0
    for step in range(101):
        reached = [p for p, r in zip(precision, recall, strict=True) if r >= step / 100]
        total += reached[0] if reached else 0.0
    return total / 101


def mean_ap(points, positives):
    by_class = defaultdict(list)
    for klass, score, right in points:
        by_class[klass].append((score, right))
    classes = {*by_class, *(c for c, n in positives.items() if n > 0)}
    values = [average_precision(by_class[c], positives.get(c, 0)) for c in classes]
    return sum(values) / len(values) if values else 0.0


def judge(images, iou=0.5, background=0.1):
    """Errors of images, each a triple of lists of dicts: detections, objects, regions."""
    errors, right, positives, free = [], [], defaultdict(int), defaultdict(int)
    for found, objects, regions in images:
        found = sorted(found, key=lambda d: -d["score"])[:100]
        for g in objects:
            positives[g["klass"]] += 1
            g.update(used=False, usable=False, best=(-1.0, None))
        for d in found:
            mine = [(overlap(d["box"], g["box"]), -i, g) for i, g in enumerate(objects)]
            d["same"] = [entry for entry in mine if entry[2]["klass"] == d["klass"]]
            d["rest"] = [entry for entry in mine if entry[2]["klass"] != d["klass"]]
            open_ = [entry for entry in d["same"] if not entry[2]["used"]]
            top = max(open_, key=lambda e: e[:2], default=(0, 0, None))
            d["right"] = top[0] >= iou
            if d["right"]:
                top[2]["used"] = True
                right.append((d["klass"], d["score"], True))
        for d in found:
            covers = (r for r in regions if r["klass"] in (-1, d["klass"]))
            covered = any(overlap(d["box"], r["box"], region=True) > iou for r in covers)
            d["ignored"] = covered and not d["right"]
            if not d["right"]:
                errors.append((d, *kind_of(d, iou, background)))
        for g in objects:
            free[g["klass"]] += not g["used"]
            if not g["used"] and not g["usable"]:
                errors.append((None, "Miss", g))
    return errors, right, positives, free


def kind_of(d, iou, background):
    zero = (0.0, 0, None)
    same = max(d["same"], key=lambda e: e[:2], default=zero)
    rest = max(d["rest"], key=lambda e: e[:2], default=zero)
    if background <= same[0] <= iou:
        return "Loc", offered(d, same[2])
    if rest[0] >= iou:
        return "Cls", offered(d, rest[2])
    if max((e[0] for e in d["same"] if e[2]["used"]), default=0) >= iou:
        return "Dupe", None
    return ("Bkg" if max(same[0], rest[0]) <= background else "Both"), None


def offered(d, g):
    if not g["used"]:
        g["usable"] = True
        if d["score"] > g["best"][0]:
            g["best"] = (d["score"], id(d))
    return g


def repaired(errors, right, positives, kind):
    points, positives = [], dict(positives)
    for d, name, g in errors:
        if name == "Miss":
            positives[g["klass"]] -= name == kind
        elif name != kind:
            if not d["ignored"]:
                points.append((d["klass"], d["score"], False))
        elif g is not None and not g["used"] and g["best"][1] == id(d):
            points.append((g["klass"], d["score"], True))
    return mean_ap(points + right, positives)


def tide_by_loops(images, iou=0.5, background=0.1):
    """Average precision, counts, main and special costs."""
    errors, right, positives, free = judge(images, iou, background)
    wrong = [(d["klass"], d["score"], False) for d, _, _ in errors if d and not d["ignored"]]
    # As published, the list stands in the order of images and scores, right and wrong mixed.
    flat = []
    for found, _, _ in images:
        for d in sorted(found, key=lambda d: -d["score"])[:100]:
            if not d["ignored"]:
                flat.append((d["klass"], d["score"], d["right"]))
    ap = mean_ap(flat, positives)
    behind = [(c, 0, False) for c, _, _ in wrong] + [(c, 1, True) for c, _, _ in right]
    found = {c: n - free[c] for c, n in positives.items()}
    return {
        "ap": ap,
        "counts": {k: sum(name == k for _, name, _ in errors) for k in ERRORS},
        "main": {k: max(repaired(errors, right, positives, k) - ap, 0) for k in ERRORS},
        "special": {
            "FalsePos": mean_ap(behind, positives) - ap,
            "FalseNeg": mean_ap(wrong + right, found) - ap,
        },
    }
