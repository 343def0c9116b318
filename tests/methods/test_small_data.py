"""What methods do to features, in seconds: three clusters are taught, a fourth is never shown.

Not a detector: a small network makes embeddings of points, as the box head of one does of regions.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from torch.nn import functional  # noqa: E402

from openset.methods import table  # noqa: E402
from scenes.sampled import sampled  # noqa: E402

INPUTS, WIDTH, CLASSES, STEPS = 6, 16, 3, 600
CENTRES = 3.0 * torch.eye(INPUTS)[: CLASSES + 1]  # the last one is the unknown class


def points(label, chance):
    """Of a class each; the background lies around the origin."""
    middle = torch.where(label[..., None] >= 0, CENTRES[label.clamp(min=0)], 0.0)
    return middle + 0.7 * torch.randn(*label.shape, INPUTS, generator=chance)


class Cosines(torch.nn.Module):
    """The last layer of OpenDet: scaled cosines."""

    def __init__(self, columns):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(columns, WIDTH))

    def forward(self, rows):
        return 20 * functional.normalize(rows, dim=-1) @ functional.normalize(self.weight, dim=-1).T


class World:
    """A network that is taught by a method."""

    def __init__(self, name, last, seed=0, **options):
        torch.manual_seed(seed)
        self.body = torch.nn.Sequential(
            torch.nn.Linear(INPUTS, 32), torch.nn.ReLU(), torch.nn.Linear(32, WIDTH)
        )
        self.last = last()
        self.method = table()[name].build(CLASSES, WIDTH, **options)
        parts = (self.body, self.last, self.method)
        weights = [weight for part in parts for weight in part.parameters()]
        self.optimizer, self.chance = torch.optim.Adam(weights, 3e-3), torch.Generator()

    def step(self, at, steps):
        # Eight groups of few objects: an outlier of each class is not lost among them.
        label = torch.randint(-1, CLASSES, (8, 8), generator=self.chance.manual_seed(at))
        embedding = self.body(points(label, self.chance))
        logits = self.last(embedding)
        overlap = torch.where(label >= 0, 0.9, 0.1)
        seen = sampled(embedding, logits, label, self.last, overlap=overlap)
        loss = functional.cross_entropy(logits.flatten(0, 1), label.flatten() + 1)
        loss = loss + sum(self.method(seen, at / steps).values())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def trained(self, steps=STEPS):
        for at in range(steps):
            self.step(at, steps)
        return self

    @torch.no_grad()
    def embedded(self, label):
        return self.body(points(torch.as_tensor(label), self.chance.manual_seed(10**6)))


def auroc(unknown, known):
    return (unknown[:, None] > known).float().mean().item()


KNOWN = torch.arange(300) % CLASSES
UNKNOWN = torch.full((300,), CLASSES)


def vos(seed, weight):
    last = lambda: torch.nn.Linear(WIDTH, CLASSES + 1)  # noqa: E731
    return World("vos", last, seed, queue=100, start=0.3, weight=weight).trained()


# That energies of objects end above those of outliers is not among these: on such points it depends
# on the seed, since the judge of energies may learn either sign.
@pytest.mark.parametrize("seed", range(4))
def test_vos_ranks_the_unknown_as_the_base_does_and_keeps_the_classes(seed):
    scores, right = [], []
    for weight in (0.0, 0.1):
        world = vos(seed, weight)
        known, unknown = (world.last(world.embedded(label)) for label in (KNOWN, UNKNOWN))
        scores.append(auroc(*(-one[:, 1:].logsumexp(-1) for one in (unknown, known))))
        right.append((known[:, 1:].argmax(-1) == KNOWN).float().mean().item())
        assert world.method.bank.full.all() == (weight > 0)
    assert scores[1] > scores[0] - 0.02
    assert right[1] > right[0] - 0.02


def cosines(world):
    """Mean cosine of embeddings of one class less that of two classes."""
    with torch.no_grad():
        rows = functional.normalize(world.method.encoder(world.embedded(KNOWN)), dim=-1)
    alike = KNOWN[:, None] == KNOWN
    apart = rows @ rows.T
    return (apart[alike].mean() - apart[~alike].mean()).item()


@pytest.mark.parametrize("seed", range(4))
def test_opendet_draws_classes_together_and_finds_the_unknown(seed):
    options = {"queue": 32, "remembered": 8, "start": 0.1}
    world = World("opendet", lambda: Cosines(CLASSES + 2), seed, **options)
    before = cosines(world)
    world.trained()
    assert cosines(world) > before + 0.1
    known, unknown = (world.last(world.embedded(label)) for label in (KNOWN, UNKNOWN))
    unsure = [one.softmax(-1)[:, -1] for one in (unknown, known)]
    assert auroc(*unsure) > 0.6
    assert (known[:, 1:-1].argmax(-1) == KNOWN).float().mean() > 0.9
