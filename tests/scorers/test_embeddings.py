"""Embedding scorers: numbers by hand, invariances of the papers, and what breaks elsewhere."""

from dataclasses import replace

import numpy as np
import pytest

from openset import scorers
from openset.findings import InputError, UsageError
from openset.scorers._neighbours import Bank
from openset.tables import Detections, Head, LogitLayout
from scenes import scorers as scenes

SOFTMAX = LogitLayout.SOFTMAX


def points(embedding, label=None):
    n = len(embedding)
    label = [0] * n if label is None else label
    return Detections(
        [1] * n, label, [[0, 0, 9, 9]] * n, [0.5] * n, ("a", "b"), embedding=embedding
    )


def with_embedding(detections, change):
    return replace(detections, embedding=change(detections.embedding.astype(np.float64)))


# ---------------------------------------------------------------------- kNN


def test_knn_by_hand():
    train = points([[1, 0], [0, 2], [-3, 0]])
    test = points([[5, 0], [1, 1]])
    first = scorers.find("knn").fit(train, k=1).score(test)
    assert first == pytest.approx([0, np.sqrt(2 - np.sqrt(2))], abs=1e-7)
    second = scorers.find("knn").fit(train, k=2).score(test)
    assert second == pytest.approx([np.sqrt(2), np.sqrt(2 - np.sqrt(2))])
    raw = scorers.find("knn").fit(train, k=3, normalize=False).score(test)
    assert raw == pytest.approx([8, np.sqrt(17)])


def test_knn_forgets_lengths():
    fitted, test = scenes.fitted("knn"), scenes.scene(seed=1)
    longer = with_embedding(test, lambda z: z * np.linspace(0.1, 50, len(z))[:, None])
    assert fitted.score(longer) == pytest.approx(fitted.score(test), abs=1e-6)


def test_fewer_than_k_neighbours():
    train = points([[1, 0], [0, 2], [-3, 0]])
    with pytest.raises(InputError, match=r"OS504.*4-th neighbour of 3[\s\S]*smaller k"):
        scorers.find("knn").fit(train, k=4)
    with pytest.raises(UsageError, match="at least 1"):
        scorers.find("knn").fit(train, k=0)


@pytest.mark.parametrize("shape", ["clustered", "even", "repeated", "flat", "thin"])
@pytest.mark.parametrize("k", [1, 10, 700])
def test_neighbours_are_exact(shape, k):
    rng, width = np.random.default_rng(0), 2 if shape == "flat" else 16
    centres = rng.normal(size=(9, width)) * (8 if shape in ("clustered", "repeated") else 0)

    def draw(n):
        noise = np.round(rng.normal(size=(n, width)), 0 if shape == "repeated" else 9)
        noise *= np.arange(1, width + 1) ** -1.5 if shape == "thin" else 1
        return (centres[rng.integers(0, 9, n)] + noise + 100).astype(np.float32)

    train = draw(3000)
    test = np.vstack([draw(200), draw(5) + 30, train[:50]])
    wide = test[:, None].astype(np.float64) - train
    exact = np.partition(np.sqrt((wide**2).sum(axis=-1)), k - 1, axis=1)[:, k - 1]
    bank = Bank.of(train)
    assert len(bank.radii) > 5
    assert np.sort(bank.original, axis=0) == pytest.approx(np.sort(train, axis=0), abs=1e-4)
    assert (bank.leading > 0) == (shape in ("clustered", "repeated", "thin"))
    assert bank.distance(test, k) == pytest.approx(exact, rel=1e-5, abs=1e-5)


# ---------------------------------------------------------------------- Gaussians


def test_mahalanobis_by_hand():
    # Class means 0 and 10 on the first axis; variances 1 and 4 around them.
    cross = np.array([[1, 2], [1, -2], [-1, 2], [-1, -2]], float)
    other = cross + np.array([10, 0])
    train = points(np.vstack([cross, other, other]), [0] * 4 + [1] * 8)
    fitted = scorers.find("mahalanobis").fit(train)
    assert fitted.score(points([[3, 4], [9, 0]])) == pytest.approx([9 + 4, 1])


def test_mahalanobis_is_affine_invariant():
    train, test = scenes.scene(400, seed=9), scenes.scene(seed=1, unknown=True)
    matrix = np.random.default_rng(0).normal(size=(scenes.D, scenes.D))

    def change(z):
        return z @ matrix + 3

    plain = scorers.find("mahalanobis").fit(train).score(test)
    changed = scorers.find("mahalanobis").fit(with_embedding(train, change))
    assert changed.score(with_embedding(test, change)) == pytest.approx(plain, rel=1e-3)


def test_mahalanobis_may_forget_lengths():
    train, test = scenes.scene(400, seed=9), scenes.scene(seed=1, unknown=True)
    for name in ("mahalanobis", "relative_mahalanobis"):
        fitted = scorers.find(name).fit(train, normalize=True)
        longer = with_embedding(test, lambda z: z * np.arange(1, len(z) + 1)[:, None])
        assert fitted.score(longer) == pytest.approx(fitted.score(test), rel=1e-4, abs=1e-4)
        plain = scorers.find(name).fit(train)
        assert plain.score(longer) != pytest.approx(plain.score(test), rel=0.1)


def test_relative_mahalanobis_by_hand():
    # Around their means the classes have variances 1 and 4, and together 26 and 4.
    cross = np.array([[1, 2], [1, -2], [-1, 2], [-1, -2]], float)
    train = points(np.vstack([cross, cross + np.array([10, 0])]), [0] * 4 + [1] * 4)
    fitted = scorers.find("relative_mahalanobis").fit(train)
    to_class, to_all = [9 + 4, 1], [(3 - 5) ** 2 / 26 + 4, (9 - 5) ** 2 / 26]
    found = fitted.score(points([[3, 4], [9, 0]]))
    assert found == pytest.approx(np.subtract(to_class, to_all))


def test_ddu_by_hand():
    train = points([[-1.0], [1], [8], [12], [10], [10]], [0, 0, 1, 1, 1, 1])
    density = [
        np.log(w) - 0.5 * (np.log(2 * np.pi * var) + (3 - mean) ** 2 / var)
        for w, mean, var in ((1 / 3, 0, 1), (2 / 3, 10, 2))
    ]
    fitted = scorers.find("ddu").fit(train, jitter=0.0)
    assert fitted.score(points([[3.0]])) == pytest.approx(-np.logaddexp(*density))
    alike = scorers.find("ddu").fit(train, jitter=0.0, prior=False)
    density = [density[0] + np.log(3), density[1] + np.log(1.5)]
    assert alike.score(points([[3.0]])) == pytest.approx(-np.logaddexp(*density))


def test_ddu_survives_classes_of_one_example():
    train = points(np.vstack([np.eye(5), np.eye(5) * 2, [[9] * 5]]), [0] * 10 + [1])
    near, far = scorers.find("ddu").fit(train).score(points([[9] * 5, [90] * 5]))
    assert near < far
    with pytest.raises(InputError, match=r"OS504.*jitter"):
        scorers.find("ddu").fit(train, jitter=0.0)
    with pytest.raises(InputError, match=r"OS504.*all training embeddings are equal"):
        scorers.find("ddu").fit(points(np.ones((5, 2))))


def test_classes_without_example_are_told():
    train = scenes.scene(400, seed=9)
    some = train.select(train.label != 2)
    for name in ("mahalanobis", "ddu", "lard"):
        fitted = scenes.fitted(name, some)
        (finding,) = fitted.findings
        assert (finding.code, finding.count, finding.example) == ("OS508", 1, "cow")
        assert np.isfinite(fitted.score(scenes.scene())).all()
    assert scenes.fitted("knn", some).findings == ()
    never = replace(train, labels=(*train.labels, "unknown"))
    assert scenes.fitted("ddu", never).findings == ()


# ---------------------------------------------------------------------- heads


def test_negative_activations_are_told():
    signed = with_embedding(scenes.scene(400, seed=9), lambda z: z - 1)
    for name in ("dice", "react"):
        bare = replace(signed, logits=None)
        (finding,) = scorers.find(name).fit(bare, head=scenes.head()).findings
        assert (finding.code, finding.count) == ("OS509", 400)
    assert scenes.fitted("dice").findings == scenes.fitted("knn", signed).findings == ()
    left_out = set(scorers.table()) - set(scorers.suited(signed, scenes.head()))
    assert left_out == {"ash", "dice", "react"}


def small(embedding, weight, bias=None):
    bias = np.zeros(len(weight)) if bias is None else bias
    return points(embedding), Head(weight, bias, SOFTMAX)


def lse(*values):
    return np.log(np.exp(values).sum())


def test_ash_by_hand():
    found, head = small([[4.0, 3, 2, 1]], [[1, 0, 0, 1], [0, 1, 1, 0]])

    def ash(variant):
        return scorers.find("ash").compute(found, head=head, variant=variant, percentile=50)

    scale = np.exp(10 / 7)
    assert ash("p") == pytest.approx(-lse(4, 3))
    assert ash("s") == pytest.approx(-lse(4 * scale, 3 * scale))
    assert ash("b") == pytest.approx(-lse(5, 5))
    negative, _ = small([[-4.0, -3, -2, -1e-9]], head.weight)
    for variant in "spb":
        value = scorers.find("ash").compute(negative, head=head, variant=variant, percentile=75)
        assert np.isfinite(value).all()
    silent, _ = small(np.zeros((1, 4)), head.weight)
    assert scorers.find("ash").compute(silent, head=head) == pytest.approx(-lse(0, 0))
    with pytest.raises(UsageError, match="variant"):
        ash("x")


def test_react_by_hand():
    train, head = small([[1.0, 2], [3, 4]], np.eye(2))
    fitted = scorers.find("react").fit(train, head=head, percentile=100)
    assert fitted.score(points([[9, 1], [2, 9]])) == pytest.approx([-lse(4, 1), -lse(2, 4)])
    half = scorers.find("react").fit(train, head=head, percentile=50)
    assert half.score(points([[9.0, 1]])) == pytest.approx(-lse(2.5, 1))


def test_react_without_a_clip_is_energy():
    test = scenes.scene(seed=1)
    unclipped = replace(with_embedding(scenes.scene(400), lambda z: z * 100), logits=None)
    fitted = scorers.find("react").fit(unclipped, head=scenes.head(), percentile=100)
    energy = scorers.find("energy").compute(test)
    assert fitted.score(test) == pytest.approx(energy, rel=1e-5)
    dropped = scorers.find("react").fit(
        unclipped, head=scenes.head(), percentile=100, background="drop"
    )
    without = scorers.find("energy").compute(test, background="drop")
    assert dropped.score(test) == pytest.approx(without, rel=1e-5)


def test_dice_by_hand():
    # Contributions 1*1, 2*1 and 1*3, 2*-1: the median is 1.5, and two weights stay.
    train, head = small([[0.0, 2], [2, 2]], [[1, 1], [3, -1]], [0.5, 0])
    fitted = scorers.find("dice").fit(train, head=head, percentile=50)
    assert fitted.score(points([[5.0, 7]])) == pytest.approx(-lse(7.5, 15))
    clipped = scorers.find("dice").fit(train, head=head, percentile=50, clip=100)
    assert clipped.score(points([[5.0, 7]])) == pytest.approx(-lse(2.5, 6))
    all_but_least = scorers.find("dice").fit(train, head=head, percentile=0)
    assert all_but_least.score(points([[5.0, 7]])) == pytest.approx(-lse(12.5, 15))


def test_vim_by_hand():
    # Knowns vary most along the first axis; the origin, where the logit vanishes, is (2, 0).
    train, head = small([[0.0, 1], [8, -1]], [[1.0, 0]], [-2])
    fitted = scorers.find("vim").fit(train, head=head, dimension=1)
    length = {
        tuple(z): abs((np.array(z) - [2, 0]) @ fitted.state.residual[:, 0])
        for z in [(0.0, 1.0), (8.0, -1.0), (4.0, 3.0)]
    }
    alpha = np.mean([-2, 6]) / np.mean([length[0, 1], length[8, -1]])
    expected = alpha * length[4, 3] - 2
    assert fitted.score(points([[4.0, 3]])) == pytest.approx(expected)
    assert abs(fitted.state.residual[1, 0]) > abs(fitted.state.residual[0, 0])


def test_vim_keeps_its_sign_where_logits_are_negative():
    train, head = small([[0.0, 1], [8, -1]], [[1.0, 0]], [-2])
    low = Head(head.weight, head.bias - 20, LogitLayout.SIGMOID)
    fitted = scorers.find("vim").fit(train, head=low, dimension=1, activation="sigmoid")
    near, far = fitted.score(points([[4.0, 0], [4, 9]]))
    assert near < far


def test_vim_refuses():
    train, head = small([[1.0, 0], [3, 0]], [[1.0, 0]])
    with pytest.raises(InputError, match=r"OS504.*no residual"):
        scorers.find("vim").fit(train, head=head, dimension=1)
    with pytest.raises(UsageError, match="from 1 to 1"):
        scorers.find("vim").fit(train, head=head, dimension=2)


@pytest.mark.parametrize("name", ["ash", "react", "dice"])
def test_percentiles_are_checked(name):
    with pytest.raises(UsageError, match="percentile"):
        scenes.fitted(name, percentile=101).score(scenes.scene())


@pytest.mark.parametrize("name", ["ash", "react", "dice", "vim"])
def test_background_row_is_where_the_layout_says(name):
    first = LogitLayout.SOFTMAX_BACKGROUND_FIRST
    for background in ("keep", "drop"):
        values = [
            scenes.fitted(name, layout=layout, background=background).score(
                scenes.scene(layout=layout)
            )
            for layout in (scenes.LAYOUT, first)
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_head_is_checked():
    head = scenes.head()
    head.check(scenes.scene())
    with pytest.raises(InputError, match=r"OS503.*24 dimensions, the head 3"):
        small_head = Head(np.ones((5, 3)), np.zeros(5), scenes.LAYOUT)
        scorers.find("ash").compute(scenes.scene(), head=small_head)
    with pytest.raises(InputError, match=r"OS503.*does not reproduce"):
        Head(head.weight[::-1], head.bias, head.layout).check(scenes.scene())
    with pytest.raises(InputError, match=r"OS503.*softmax-background-first"):
        scenes.head(LogitLayout.SOFTMAX_BACKGROUND_FIRST).check(scenes.scene())
    with pytest.raises(UsageError, match="one weight row and one bias"):
        Head(np.ones((2, 3)), np.zeros(3), SOFTMAX)
    with pytest.raises(UsageError, match="NaN"):
        Head([[np.nan]], [0], SOFTMAX)


def test_a_head_of_another_detector_is_refused_by_fit_and_score():
    train, test = scenes.scene(400, seed=9), scenes.scene(seed=1)
    own = scenes.head()
    other = Head(own.weight[::-1], own.bias, own.layout)
    sigmoid = Head(own.weight[:3], own.bias[:3], "sigmoid")
    for name in ("dice", "react", "vim"):
        for wrong in (other, sigmoid):
            with pytest.raises(InputError, match="OS503"):
                scorers.find(name).fit(train, head=wrong)
    with pytest.raises(InputError, match=r"OS503.*5 softmax-background-last.*3 sigmoid"):
        scorers.find("ash").fit(head=sigmoid).score(test)
    fitted = scorers.find("react").fit(replace(train, logits=None), head=other)
    with pytest.raises(InputError, match=r"OS503.*does not reproduce"):
        fitted.score(test)


MORE = {"ash": {}, "dice": {"percentile": 75}, "react": {}, "vim": {}}  # of few weights, fewer go


@pytest.mark.parametrize("name", MORE)
def test_the_head_comes_with_the_detections(name, tmp_path):
    train, test = (replace(scenes.scene(400, seed=seed), head=scenes.head()) for seed in (9, 1))
    assert name in scorers.suited(train)
    given = scorers.find(name).fit(scenes.scene(400, seed=9), head=scenes.head(), **MORE[name])
    carried = scorers.find(name).fit(train, **MORE[name])
    carried.save(tmp_path / "fitted.npz")
    for fitted in (carried, scorers.load(tmp_path / "fitted.npz")):
        assert np.array_equal(fitted.score(test), given.score(scenes.scene(400, seed=1)))
        assert fitted.scored(test).head is test.head


def test_two_heads_that_differ_are_refused():
    own = scenes.head()
    other = Head(own.weight, own.bias + 1e-6, own.layout)  # it reproduces the logits well enough
    train, test = (replace(scenes.scene(400, seed=seed), head=own) for seed in (9, 1))
    wrong = "OS503.*not the one that the detections carry"
    for name in ("dice", "react", "vim"):
        with pytest.raises(InputError, match=wrong):
            scorers.find(name).fit(train, head=other)
        with pytest.raises(InputError, match=wrong):
            scorers.find(name).fit(train, **MORE[name]).score(replace(test, head=other))
    with pytest.raises(InputError, match=wrong):
        scorers.find("ash").compute(test, head=other)
    far = Head(own.weight[::-1], own.bias, own.layout)
    with pytest.raises(InputError, match=r"OS503.*does not reproduce"):
        scorers.find("ash").compute(replace(test, head=far))


@pytest.mark.parametrize("name", ["mahalanobis", "relative_mahalanobis"])
def test_no_spread_within_classes_has_no_distance(name):
    scene = scenes.scene(400)
    _, one_each = np.unique(scene.label, return_index=True)
    for train in (scene.select(one_each), scene.select(np.zeros(9, int))):
        with pytest.raises(InputError, match=r"OS504.*do not differ from the mean"):
            scorers.find(name).fit(train)
