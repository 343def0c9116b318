"""Traps: tiny inputs on which published evaluators do something that their names do not say.

Where the original crashes, or marks a perfect detection wrong, the row says what we do instead.
"""

import numpy as np

from openset import scorers
from openset.matching import Protocol, match
from openset.matching.curves import curve, envelope
from openset.metrics.average_precision import _POINTS
from openset.tables import Annotations, Detections, Images, Vocabulary
from openset.tables.check import check
from openset.tables.logits import LogitLayout
from scenes.golden import EXPECTED, behaviour, compute, golden, printed

BOX = (100, 100, 100, 100)
FAR = (400, 400, 50, 50)


def trap(name):
    return golden("trap/" + name.replace("+", r"\+").replace(".", r"\."))


def tables(objects, detections, known=("dog",), images=(1,), **columns):
    """Tables of (image, label, box[, flag]) and (image, label, box, score)."""
    labels = tuple(dict.fromkeys([*known, "unknown"]))
    names = [label for _, label, *_ in objects]
    flags = [set(row[3:]) for row in objects]
    truth = Annotations(
        Images(list(images)),
        labels,
        [list(images).index(image) for image, *_ in objects],
        [labels.index(name) for name in names],
        [box for _, _, box, *_ in objects],
        crowd=["crowd" in flag for flag in flags],
        difficult=["difficult" in flag for flag in flags],
    )
    found = Detections(
        [image for image, *_ in detections],
        [labels.index(label) for _, label, *_ in detections],
        [box for _, _, box, _ in detections],
        [score for *_, score in detections],
        labels,
        **columns,
    )
    return truth, found, Vocabulary.of(list(known))


def matched(objects, detections, protocol="owod", **options):
    return match(*tables(objects, detections, **options), protocol)


def shift(box, dx):
    return (box[0] + dx, *box[1:])


# ---------------------------------------------------------------------- OWOD


HALF = ([(1, "dog", (0, 0, 20, 20))], [(1, "dog", (0, 0, 20, 10), 0.9)])
NO_OBJECT = ([], [(1, "dog", BOX, 0.9)])
THREE = ([(1, "unknown", BOX)], [(1, "dog", shift(BOX, d), 0.9 - d / 100) for d in (0, 2, 4)])


@trap("owod/iou_exactly_0.5_is_FP")
def exactly_half():
    return compute("ap_known", matched(*HALF))


@trap("owod/no_gt_with_dets_area_AP")
def no_object_area():
    return compute("ap_known", matched(*NO_OBJECT))


@trap("owod/no_gt_with_dets_11pt_AP")
def no_object_points():
    rules = Protocol.of("owod").but(interpolation="11-point")
    return compute("ap_known", matched(*NO_OBJECT, rules))


@trap("owod/no_dets_AP,nd")
def no_detection():
    matches = matched([(1, "dog", BOX)], [])
    assert compute("wilderness_impact", matches).value is None  # no class has detections
    return [compute("ap_known", matches).value, len(matches)]


@trap("owod/aose_counts_detections_not_objects")
def errors_are_detections():
    matches = matched(*THREE)
    assert compute("a_ose_objects", matches).value == 1
    return [compute("a_ose", matches).value, int(matches.positives[-1])]


@trap("owod/wi_denominator_contains_open_set_fps")
def denominator():
    matches = matched(*THREE)
    assert compute("wilderness_impact", matches).value == 1.0
    assert compute("wilderness_impact", matches, variant="nearest-recall").value is None  # x / 0
    errors, all_counted = matches.open_set_errors, ~matches.outcome().ignored
    return [np.cumsum(mask).astype(float).tolist() for mask in (all_counted, errors)]


@trap("owod/true_positive_also_counted_as_open_set_error")
def true_and_error():
    objects = [(1, "dog", BOX), (1, "unknown", shift(BOX, 10))]
    matches = matched(objects, [(1, "dog", BOX, 0.9)])
    return [compute("ap_known", matches).value, compute("a_ose", matches).value]


@trap("owod/difficult_unknown_counts_in_AOSE_not_in_n_unk")
def difficult_unknown():
    case = ([(1, "unknown", BOX, "difficult")], [(1, "dog", BOX, 0.9)])
    matches = matched(*case)
    assert compute("a_ose", matched(*case, "osod3-voc")).value == 1  # knows crowds only
    assert compute("a_ose", matched(*case, "paper")).value is None  # none is left to be wrong on
    return [compute("a_ose", matches).value, int(matches.positives[-1])]


@trap("voc_vs_coco/argmax_already_taken")
def taken():
    objects = [(1, "dog", BOX), (1, "dog", shift(BOX, 25))]
    found = [(1, "dog", BOX, 0.95), (1, "dog", shift(BOX, 10), 0.8)]
    names = ("recall_known", "precision_known")
    assert [compute(name, matched(objects, found, "coco")).value for name in names] == [1, 1]
    return [compute(name, matched(objects, found)).value for name in names]


@trap("voc_vs_coco/argmax_is_difficult")
def difficult_first():
    objects = [(1, "dog", shift(BOX, 8), "difficult"), (1, "dog", shift(BOX, -20))]
    found = [(1, "dog", BOX, 0.99)]
    assert compute("recall_known", matched(objects, found, "default")).value == 1
    matches = matched(objects, found)
    counted = int((~matches.outcome().ignored).sum())
    values = (compute("recall_known", matches).value, compute("precision_known", matches).value)
    return [[values[0]], [values[1]], [float(counted)]]


@behaviour("trap/owod/detection_on_image_outside_imageset")
def unlisted_image():
    """A KeyError there; here a finding, and the detection takes no part."""
    case = tables([(1, "dog", BOX)], [(1, "dog", BOX, 0.9), (7, "dog", BOX, 0.8)])
    assert "OS403" in [finding.code for finding in check(*case)]
    assert len(match(*case, "owod")) == 1


@trap("owod_vs_opendet/cocofied_names")
def synonyms():
    truth = Annotations(Images([1]), ("airplane",), [0], [0], [BOX])
    found = Detections([1], [0], [BOX], [0.9], ("aeroplane",))
    case = (truth, found, Vocabulary.of(["aeroplane"]))
    return [compute("ap_known", match(*case, name)).value for name in ("owod", "opendet")]


@trap("owod/WI_nearest_recall_first_index")
def first_index():
    boxes = [(x, 0, 50, 50) for x in range(0, 500, 100)]
    objects = [(1, "dog", box) for box in boxes]
    objects += [(1, "unknown", shift(boxes[1], 5)), (1, "unknown", FAR)]
    found = [(1, "dog", boxes[i], 0.9 - i / 10) for i in range(3)] + [(1, "dog", FAR, 0.1)]
    return compute("wilderness_impact", matched(objects, found))


@trap("owod/WI_nan_recall_uses_index0")
def nan_recall():
    objects = [(1, "dog", BOX), (1, "unknown", FAR)]
    found = [
        (1, "dog", (300, 0, 50, 50), 0.9),
        (1, "dog", BOX, 0.8),
        (1, "cat", FAR, 0.9),
        (1, "cat", BOX, 0.8),
    ]
    return compute("wilderness_impact", matched(objects, found, known=("dog", "cat")))


@trap("owod/WI_ratio_of_means_vs_mean_of_ratios")
def ratio_of_means():
    objects = [(1, "dog", BOX), (1, "cat", (0, 0, 50, 50)), (1, "unknown", FAR)]
    wrong = [(1, "dog", (600 + 60 * i, 0, 50, 50), 0.9 - i / 100) for i in range(8)]
    found = [(1, "dog", FAR, 0.95), *wrong, (1, "dog", BOX, 0.5)]
    found += [(1, "cat", FAR, 0.9), (1, "cat", (0, 0, 50, 50), 0.8)]
    matches = matched(objects, found, known=("dog", "cat"))
    assert abs(compute("wilderness_profile", matches, threshold=0.0).value - 0.3) < 1e-9
    return compute("wilderness_impact", matches)


# ---------------------------------------------------------------------- FMIYC


@trap("fmiyc/detections_on_gt_less_images_are_dropped")
def empty_images():
    found = [(1, "unknown", BOX, 0.9), (2, "unknown", BOX, 0.8), (2, "unknown", FAR, 0.7)]
    case = ([(1, "unknown", BOX)], found)
    counted = matched(*case, "owod", images=(1, 2))
    assert abs(compute("unknown_precision", counted).value - 1 / 3) < 1e-9
    return printed(compute("unknown_precision", matched(*case, "fmiyc", images=(1, 2))), "fmiyc")


@trap("fmiyc/off_by_one_perfect_small_box_missed")
def small_box():
    small = (50, 50, 2, 2)
    case = ([(1, "unknown", small)], [(1, "unknown", small, 0.9)])
    assert compute("unknown_recall", matched(*case, "owod")).value == 1
    return printed(compute("unknown_recall", matched(*case, "fmiyc")), "fmiyc")


@trap("fmiyc/perfect_box_iou")
def perfect_box():
    box = (50, 50, 8, 8)
    matches = matched([(1, "unknown", box)], [(1, "unknown", box, 0.9)], "fmiyc")
    return float(matches.columns.iou_same[0])


@trap("fmiyc/nOSE_can_exceed_100")
def nose_above_one():
    assert compute("nose", matched(*THREE, "paper")).value == 1
    matches = matched(*THREE, "fmiyc")
    return [compute("a_ose", matches).value, printed(compute("nose", matches), "fmiyc")]


@trap("fmiyc/background_argmax_becomes_unknown")
def background():
    layout = LogitLayout.SOFTMAX_BACKGROUND_LAST
    found = Detections([1], [0], [BOX], [0.5], ("a", "b"), logits=[[0, 1, 2]], layout=layout)
    new = scorers.relabel(found, [0.0], 1.0, label="logits", names=("a", "b"))
    assert new.labels[2] == "unknown"
    return new.label.tolist()


# ---------------------------------------------------------------------- Elephant


@trap("elephant/iou_exactly_0.5_is_correct")
def elephant_half():
    return matched(*HALF, "elephant").outcome().correct.tolist()


@trap("elephant/argmax_class_checked_after_iou")
def other_class_nearer():
    objects = [(1, "dog", shift(BOX, 4)), (1, "cat", shift(BOX, 1))]
    matches = matched(objects, [(1, "dog", BOX, 0.9)], "elephant", known=("dog", "cat"))
    assert 0.9 < matches.columns.iou_same[0] < matches.columns.iou_known[0]
    return matches.outcome().correct.tolist()


@behaviour("trap/elephant/only_crowd_image")
def only_crowd():
    """A crash there; here the crowd is an object as the protocol has it: it ignores nothing."""
    matches = matched([(1, "dog", BOX, "crowd")], [(1, "dog", BOX, 0.9)], "elephant")
    assert matches.outcome().correct.tolist() == [True]


@behaviour("trap/elephant/crowd_misaligns_class_ids")
def crowd_before():
    """A crowd shifts the class ids there and a perfect detection is wrong; here it is right."""
    objects = [(1, "cat", FAR, "crowd"), (1, "dog", BOX)]
    matches = matched(objects, [(1, "dog", BOX, 0.9)], "elephant", known=("dog", "cat"))
    assert matches.outcome().correct.tolist() == [True]


@behaviour("trap/elephant/sparse_category_ids")
def sparse_ids():
    """A KeyError there; here category ids may be any integers."""
    truth = Annotations(Images([1]), ("dog", "cat"), [0], [1], [BOX], category_id=[900, 3])
    found = Detections([1], [3], [BOX], [0.9])
    matches = match(truth, found, Vocabulary.of(["dog", "cat"]), "elephant")
    assert matches.outcome().correct.tolist() == [True]


@trap("elephant/image_without_annotations_is_mixed_unknown")
def empty_is_wild():
    matches = matched([(1, "dog", BOX)], [], "elephant", images=(1, 2))
    assert not matches.wild[0]
    return bool(matches.wild[1])


@trap("elephant/wilderness_levels_are_fp32")
def float32_levels():
    """How many of 500 wild images take part at ratio 0.7: the last with a say on the curve."""
    return [
        float(np.float32(0.7)),
        last_image_at_seven_tenths(True),
        last_image_at_seven_tenths(False),
    ]


def last_image_at_seven_tenths(numpy1):
    rules = Protocol.of("elephant").but(numpy1_levels=numpy1)
    objects = [(i, "dog" if i < 500 else "unknown", BOX) for i in range(1000)]
    right = [(i, "dog", BOX, 0.5) for i in range(500)]
    for count in (350, 349):
        wrong = [(500 + count - 1, "dog", BOX, 0.9)]
        matches = matched(objects, right + wrong, rules, images=range(1000))
        if compute("wilderness_curve", matches).parts["0.7"] > 0:
            return count
    return None


@trap("elephant/torch_arange_points")
def points():
    grid = _POINTS["11-point-float32"]
    return [len(grid), float(grid[3]), float(grid[7])]


@behaviour("trap/elephant/sentinel_recall1_precision0")
def unreached_recall():
    """The published arrays without their sentinels, at the hits; 0 where recall never gets."""
    boxes = [(x, 0, 50, 50) for x in range(0, 600, 60)]
    found = [(1, "dog", boxes[i], score) for i, score in ((0, 0.9), (1, 0.8), (2, 0.6))]
    case = ([(1, "dog", box) for box in boxes], [*found, (1, "dog", FAR, 0.7)])
    matches = matched(*case, "elephant")
    precision, recall, unreached = EXPECTED["trap/elephant/sentinel_recall1_precision0"]["value"]
    curves = curve(matches)
    hits = [1, 2, 4]  # beside them stand sentinels, and the miss
    assert envelope(curves.precision, curves.start).tolist() == [precision[i] for i in hits]
    assert np.float32(curves.hits / 10).tolist() == [recall[i] for i in hits]
    # Eleven recall points: 1 at 0, .1 and .2, then .75, then seven times the precision of no hit.
    expected = (1 + 1 + 1 + 0.75 + 7 * unreached) / 11
    assert abs(compute("ap_known", matches).value - expected) < 1e-6


# ---------------------------------------------------------------------- separation, thresholds


def separation(name, known, unknown, protocol):
    """A metric of knownness scores on one closed and one wild image."""
    values = np.array([*known, *unknown], float)
    found = [(1 if i < len(known) else 2, "dog", BOX, 0.9) for i in range(len(values))]
    objects = [(1, "dog", BOX), (2, "unknown", BOX)]
    matches = matched(objects, found, protocol, images=(1, 2), unknownness=-values)
    return compute(name, matches).value


@trap("vos/fpr95_plateau_end_vs_start")
def plateau():
    known, unknown = [*np.linspace(2, 4, 19), 1.0], [1.5, 0.0]
    return [separation("fpr_at_95_tpr", known, unknown, name) for name in ("vos", "default")]


@trap("vos/fpr95_uses_nearest_recall_even_below_95")
def nearest_below():
    known, unknown = [*np.linspace(2, 4, 10), 1.0], [1.0, 0.0]
    return [separation("fpr_at_95_tpr", known, unknown, name) for name in ("vos", "default")]


@trap("vos/t_star base, +class without GT, class with FP only")
def t_star():
    objects = [(1, "dog", BOX), (1, "cat", FAR)]
    found = [(1, "dog", BOX, 0.7), (1, "cat", FAR, 0.5)]
    wrong = [(1, "cow", (0, 0, 9, 9), 0.6)]
    cases = [
        (objects, found, ("dog", "cat")),
        (objects, found, ("dog", "cat", "cow")),
        ([*objects, (1, "cow", BOX)], found + wrong, ("dog", "cat", "cow")),
    ]
    matches = [matched(o, d, "vos", known=known) for o, d, known in cases]
    for case in matches:  # by default, classes without a true positive have no say
        assert abs(compute("best_threshold", case).value - 0.6) < 1e-9
    return [compute("best_threshold", case, classes="published").value for case in matches]


def three_of_ten(protocol):
    boxes = [(x, 0, 50, 50) for x in range(0, 600, 60)]
    found = [(1, "dog", box, 0.9) for box in boxes[:3]]
    return compute("ap_known", matched([(1, "dog", box) for box in boxes], found, protocol)).value


@trap("voc11/np.arange_fp_error")
def eleven_points():
    return [float(_POINTS["11-point"][3]), 11 * three_of_ten("opendet-2007")]


@golden("trap/voc11/elephant_fp32_bins", tolerance=1e-6)
def eleven_points_float32():
    return 11 * three_of_ten("elephant")


@behaviour("trap/torchmetrics>=0.11/sigmoid_saturation")
def no_sigmoid():
    """Energies saturate in torchmetrics' sigmoid and tie; here they are ranked as they are."""
    value = separation("auroc", [125, 90, 60], [120, 100, 80, 50], "default")
    assert abs(value - EXPECTED["trap/torchmetrics>=0.11/sigmoid_saturation"]["value"][1]) < 1e-12
