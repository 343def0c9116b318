"""evaluate tells object against background, where logits do."""

from openset.examples import DIGITS, DIGITS_TRUTH


def test_evaluate_tells_object_against_background(openset, here):
    files = [DIGITS / f"{name}.parquet" for name in ("faster_rcnn", "fcos")]
    done = openset("evaluate", DIGITS_TRUTH, *files, "--no-intervals", "--json")
    assert done.code == 0, done.err
    assert set(done.json["object_evidence"]) == {"faster_rcnn"}  # sigmoids have no background
    found = done.json["object_evidence"]["faster_rcnn"]
    per_class = [spread["count"] for spread in found["classes"].values()]
    assert len(per_class) == 6
    assert sum(per_class) == found["correct"]["count"] == sum(found["correct"]["histogram"])
    assert found["correct"]["mean"] > found["on_unknown"]["mean"]
    text = " ".join(openset("evaluate", DIGITS_TRUTH, files[0], "--no-intervals").out.split())
    share = f"{100 * found['correct']['negative']:.1f} % of {found['correct']['count']:,}"
    assert f"background is likelier than the class in {share} correct detections" in text
