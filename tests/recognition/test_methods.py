"""Methods: losses by hand, batches that have no pair, and a training that repeats itself."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from openset.findings import InputError, UsageError  # noqa: E402
from openset.recognition import training  # noqa: E402
from openset.recognition.data import Samples  # noqa: E402
from openset.recognition.methods import table  # noqa: E402
from openset.recognition.training import Classifier, ClassifierRecipe, train  # noqa: E402
from openset.training.steps import advance  # noqa: E402
from scenes.recognition import dark_and_bright  # noqa: E402
from scenes.training import log  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")
METHODS = table()
every_method = pytest.mark.parametrize("name", METHODS)
WIDTH, CLASSES = 5, 3


def batch(n=8, seed=0):
    generator = torch.Generator().manual_seed(seed)
    embedding = torch.randn(n, WIDTH, generator=generator).requires_grad_()
    return embedding, torch.arange(n) % CLASSES


def built(name, **options):
    torch.manual_seed(1)
    return METHODS[name].build(CLASSES, WIDTH, **options)


def test_the_methods_are_there():
    wanted = {"softmax", "ce_plus", "gcpl", "rpl", "arpl", "arpl_cs", "openauc", "acc_auc"}
    assert wanted <= set(METHODS)


@every_method
def test_it_is_documented(name):
    record = METHODS[name]
    assert record.paper
    assert record.title
    assert record.summary.endswith(".")


@every_method
@pytest.mark.parametrize("n", [1, 2, 7, 8])
def test_the_loss_is_finite_and_reaches_every_weight(name, n):
    objective = built(name)
    embedding, label = batch(n)
    loss = objective.loss(embedding, label)
    loss.backward()
    assert torch.isfinite(loss)
    assert embedding.grad.abs().sum() > 0
    assert all(weight.grad is not None for weight in objective.parameters())


@every_method
def test_a_larger_openness_is_more_unknown(name):
    objective = built(name)
    logits = torch.tensor([[5.0, 0.0, 0.0], [0.5, 0.4, 0.3]])
    sure, unsure = objective.openness(logits)
    assert sure < unsure


@every_method
def test_misspelt_options_are_refused(name):
    with pytest.raises(UsageError):
        built(name, wieght=1.0)


def test_distances_and_losses_by_hand():
    embedding, label = (x.detach() for x in batch())
    x, y = embedding.numpy().astype(float), label.numpy()

    def entropy(logits):
        shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
        return -np.log((shifted / shifted.sum(axis=1, keepdims=True))[np.arange(len(y)), y]).mean()

    def distances(points):
        return ((x[:, None] - points) ** 2).mean(axis=2)

    arpl = built("arpl")
    points = arpl.points.detach().numpy().astype(float)
    own = distances(points)[np.arange(len(y)), y]
    bound = 0.1 * np.maximum(own + 1, 0).mean()
    expected = entropy(distances(points) - x @ points.T) + bound
    assert arpl.loss(embedding, label).item() == pytest.approx(expected, rel=1e-5)

    rpl = built("rpl")
    points = rpl.points.detach().numpy().astype(float)
    own = distances(points)[np.arange(len(y)), y]
    expected = entropy(distances(points)) + 0.1 * (own**2).mean()
    assert rpl.loss(embedding, label).item() == pytest.approx(expected, rel=1e-5)

    gcpl = built("gcpl")
    centres = gcpl.centres.detach().numpy().astype(float)
    expected = entropy(-distances(centres)) + 0.1 * ((x - centres[y]) ** 2).mean() / 2
    assert gcpl.loss(embedding, label).item() == pytest.approx(expected, rel=1e-5)


def test_several_reciprocal_points_are_averaged():
    objective = built("rpl", points=2)
    embedding = batch()[0].detach()
    points = objective.points.detach()
    each = ((embedding[:, None] - points) ** 2).mean(dim=2)
    assert torch.allclose(
        objective.logits(embedding), (each[:, 0::2] + each[:, 1::2]) / 2, atol=1e-6
    )


@pytest.mark.parametrize("name", ["arpl", "gcpl", "rpl", "openauc"])
def test_half_precision_ends_with_the_network(name):
    body, (images, label) = (
        torch.nn.Linear(4, WIDTH),
        (torch.randn(6, 4), torch.arange(6) % CLASSES),
    )
    objective = built(name)
    with torch.autocast("cpu", torch.bfloat16):
        embedding = body(images)
        torch.manual_seed(2)
        found = objective.losses(body, images, label)["loss"]
    assert embedding.dtype == torch.bfloat16
    torch.manual_seed(2)
    assert found.item() == objective.loss(embedding.float(), label).item()


@pytest.fixture(scope="module")
def split():
    return dark_and_bright()


QUICK = ClassifierRecipe(
    method="openauc", network="classifier8", epochs=3, batch=16, training={"lr": 0.02}
)


def test_a_training_learns_and_repeats(split):
    scores = [train(split, QUICK).scores(split) for _ in range(2)]
    assert scores[0].correct.mean() == 1
    assert np.array_equal(scores[0].openness, scores[1].openness)
    assert (scores[0].n_known, scores[0].n_unknown) == (40, 30)


@every_method
def test_every_method_trains(split, name):
    recipe = ClassifierRecipe.of(
        QUICK, method=name, epochs=2, shift=1, flip=0.5, training={"ema": 0.5}
    )
    assert np.isfinite(train(split, recipe).scores(split).openness).all()


def test_a_training_that_was_stopped_goes_on_to_the_same_weights(split, tmp_path, monkeypatch):
    whole = train(split, QUICK).scores(split)

    started = []

    def stops(state, plan, batches, **options):
        started.append(state.step)
        advance(state, plan, batches, **options, stop=lambda: state.step == 5)

    monkeypatch.setattr(training, "advance", stops)
    train(split, QUICK, folder=tmp_path)
    assert [row["step"] for row in log(tmp_path)] == [1, 5]
    resumed = train(split, QUICK, folder=tmp_path).scores(split)
    assert started == [0, 5]
    assert np.array_equal(whole.openness, resumed.openness)
    with pytest.raises(InputError, match="OS609"):
        train(split, ClassifierRecipe.of(QUICK, seed=1), folder=tmp_path)


def weights_of(trained):
    return [weight.detach().clone() for weight in trained.learner.network.state_dict().values()]


def test_augmenting_ahead_changes_chances_only(split):
    plain, ahead = (weights_of(train(split, QUICK, ahead=steps)) for steps in (1, 4))
    assert all(map(torch.equal, plain, ahead))  # nothing to draw: the same pictures
    moved = ClassifierRecipe.of(QUICK, shift=1, flip=0.5)
    plain, ahead = (weights_of(train(split, moved, ahead=steps)) for steps in (1, 4))
    assert not all(map(torch.equal, plain, ahead))


def test_a_training_that_augments_ahead_goes_on_in_the_middle(split, tmp_path, monkeypatch):
    recipe = ClassifierRecipe.of(QUICK, shift=2, flip=0.5)
    whole = train(split, recipe, ahead=4)

    def stops(state, plan, batches, **options):
        advance(state, plan, batches, **options, stop=lambda: state.step == 6)

    monkeypatch.setattr(training, "advance", stops)
    train(split, recipe, folder=tmp_path, ahead=4)
    resumed = train(split, recipe, folder=tmp_path, ahead=4)
    assert all(map(torch.equal, weights_of(whole), weights_of(resumed)))


def test_a_recording_leaves_the_network_as_it_was(split, monkeypatch):
    """What CUDA does, played on a CPU: the losses are tried, and called at every step."""
    tried = []

    def graphed(losses, sample, **_):
        for _ in range(3):
            losses(*sample)
        tried.append([part.shape for part in sample])

    monkeypatch.setattr(torch.cuda, "make_graphed_callables", graphed)
    monkeypatch.setattr(training, "GRAPHS", "cpu")
    recipe = ClassifierRecipe.of(QUICK, method="ce_plus", training={"precision": "float32"})
    plain = weights_of(train(split, recipe))
    recorded = weights_of(train(split, recipe, graphed=True))
    assert tried == [[(16, 1, 8, 8), (16,)]]
    assert all(map(torch.equal, plain, recorded))
    with pytest.raises(UsageError, match="one loss"):
        train(split, ClassifierRecipe.of(QUICK, method="arpl_cs"), graphed=True)


def test_a_recording_needs_a_gpu(split):
    with pytest.raises(UsageError, match="needs a GPU"):
        train(split, QUICK, device="cpu", graphed=True)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize("name", ["softmax", "ce_plus", "openauc", "arpl", "rpl", "gcpl"])
def test_a_recorded_step_is_the_step(split, name):
    recipe = ClassifierRecipe.of(QUICK, method=name, epochs=1)
    plain, graphed = (
        weights_of(train(split, recipe, device="cuda", graphed=g)) for g in (False, True)
    )
    for one, other in zip(plain, graphed, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)


def test_a_classifier_is_written_and_read(split, tmp_path):
    changes = {"method": "arpl_cs", "epochs": 1, "size": 12, "mean": [0.0], "std": [1.0]}
    made = train(split, ClassifierRecipe.of(QUICK, **changes))
    made.save(tmp_path / "model.pt")
    read = Classifier.load(tmp_path / "model.pt")
    assert np.array_equal(made.scores(split).openness, read.scores(split).openness)
    torch.save({"weight": torch.zeros(1)}, tmp_path / "other.pt")
    with pytest.raises(InputError, match="OS604"):
        Classifier.load(tmp_path / "other.pt")


@pytest.mark.parametrize(
    "damage",
    [
        {"shape": 3},
        {"shape": [1, 8]},
        {"shape": [1, 8, "8"]},
        {"shape": [1, 0, 8]},
        {"labels": 2},
        {"labels": []},
        {"labels": [0, 1]},
        {"recipe": 5},
        {"recipe": "digits-softmax"},
        {"recipe": {"epochs": "many"}},
        {"recipe": {"method": "softmacs"}},
        {"recipe": {"colour": 1}},
    ],
    ids=str,
)
def test_a_damaged_classifier_is_refused(damage, split, tmp_path):
    train(split, ClassifierRecipe.of(QUICK, epochs=1)).save(tmp_path / "model.pt")
    held = torch.load(tmp_path / "model.pt", weights_only=True)
    torch.save({**held, "openset": {**held["openset"], **damage}}, tmp_path / "model.pt")
    with pytest.raises(InputError, match="OS604"):
        Classifier.load(tmp_path / "model.pt")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda images, label: (images, label + 1), "OS803"),
        (lambda images, label: (images, label - 1), "OS803"),
        (lambda images, label: (images, label + 0.5), "OS803"),
        (lambda images, label: (images[:-5], label), "OS802"),
        (lambda images, label: (images, label[:-5]), "OS802"),
    ],
)
def test_labels_that_do_not_belong_to_the_pictures_are_refused(change, code, split):
    wrong = replace(split, train=Samples(*change(*split.train)))
    with pytest.raises(InputError, match=code):
        train(wrong, QUICK)


def test_labels_may_be_small_whole_numbers(split):
    small = Samples(split.train.images, split.train.label.astype(np.uint8))
    train(replace(split, train=small), ClassifierRecipe.of(QUICK, epochs=1))


def test_bad_recipes_are_refused(split):
    with pytest.raises(UsageError, match="softmax"):
        train(split, {"method": "softmacs"})
    with pytest.raises(UsageError, match="digits-softmax"):
        train(split, "digits-softmacs")
    with pytest.raises(InputError, match="epochs is 0"):
        ClassifierRecipe(epochs=0)
    with pytest.raises(UsageError, match="momentum"):
        ClassifierRecipe(training={"momentom": 1})
    with pytest.raises(UsageError, match="no sample"):
        train(replace(split, train=Samples(split.train.images[:0], split.train.label[:0])), QUICK)
    with pytest.raises(InputError, match="OS608"):
        train(split, ClassifierRecipe.of(QUICK, method="gcpl", training={"lr": 1e30}))
