"""Two processes with a group of images each train as one process with two groups."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the torch extra is not installed")
pytest.importorskip("torchvision", reason="the torch extra is not installed")

from scenes.two_processes import found_by_two, write_found  # noqa: E402

CASES = {
    "vos": {"queue": 4, "start": 0.0},
    "opendet": {"queue": 6, "start": 0.0},
    "opendet_cwa": {"queue": 6, "start": 0.0, "anchor_weight": 0.1},
    "siren": {"inner": 4},
    "ore": {"items": 4, "start": 0.0},
    "recognition_loss": {"objective": "ce_plus"},
    "prob": {},
}
WIDTH, CLASSES, STEPS = 8, 3, 3


def regions(step, groups):
    """Those of some of two groups, at a step."""
    from openset.detectors import Regions

    chance = torch.Generator().manual_seed(step)
    label = torch.randint(-1, CLASSES, (2, 12), generator=chance)
    embedding = torch.randn(2, 12, WIDTH, generator=chance)[groups].requires_grad_()
    last = torch.randn(CLASSES + 2, WIDTH, generator=chance)
    overlap = torch.where(label >= 0, 0.55 + 0.4 * torch.rand(2, 12, generator=chance), 0.1)
    picked = label[groups], overlap[groups], overlap[groups]
    at = torch.arange(12).expand(2, -1)
    box = torch.stack([at * 5.0, at * 0.0, at * 5.0 + 20, at * 0.0 + 20], -1)
    places = box[groups], at[groups], box[groups, ::3]
    return Regions(embedding, embedding @ last.T, *picked, *places, lambda x: x @ last.T, 12)


def shown(name, step, groups):
    """Those regions, or queries that say the same."""
    from openset.detectors import Queries
    from openset.methods import table

    seen = regions(step, groups)
    return seen if "regions" in table()[name].needs else Queries(*seen[:4], (), seen.classify)


def stepped(name, groups):
    """Losses and gradients of each step, and what is remembered in the end."""
    from openset.methods import table

    torch.manual_seed(0)
    method, losses, slopes = table()[name].build(CLASSES, WIDTH, **CASES[name]), [], []
    if name == "vos":  # the same outliers for every group, or chance would tell them apart
        method.outliers = lambda count: method.bank.rows.mean(1).expand(count, -1, -1)
    for step in range(STEPS):
        method.zero_grad()
        found = method(shown(name, step, groups), 0.2)
        sum(found.values()).backward()
        losses.append({key: loss.item() for key, loss in found.items()})
        grads = [w.grad for w in method.parameters() if w.grad is not None]
        slopes.append(torch.cat([torch.zeros(1), *(g.flatten() for g in grads)]).tolist())
    memory = {key: value.tolist() for key, value in method.named_buffers()}
    return {"losses": losses, "slopes": slopes, "memory": memory}


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    return found_by_two(__file__, tmp_path_factory.mktemp("halves"))


@pytest.mark.parametrize("name", sorted(CASES))
def test_two_processes_with_a_group_each_are_one_with_two(halves, name):
    whole, (one, two) = stepped(name, slice(0, 2)), (half[name] for half in halves)
    assert one["memory"] == two["memory"] == whole["memory"]
    for step in range(STEPS):
        for key, loss in whole["losses"][step].items():
            mean = (one["losses"][step][key] + two["losses"][step][key]) / 2
            assert mean == pytest.approx(loss, rel=1e-4)
        slopes = (torch.tensor(half["slopes"][step]) for half in (one, two))
        mean = sum(slopes) / 2
        torch.testing.assert_close(mean, torch.tensor(whole["slopes"][step]), rtol=1e-3, atol=1e-5)
    assert any(whole["losses"][-1].values())


if __name__ == "__main__":
    write_found(lambda rank: {name: stepped(name, slice(rank, rank + 1)) for name in CASES})
