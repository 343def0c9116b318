"""LaRD: the entropy estimator, the densities, the components."""

from dataclasses import replace

import numpy as np
import pytest

from openset.findings import InputError, UsageError
from openset.scorers.lard import _kernel_density, sample_entropy
from scenes import scorers as scenes


def by_definition(samples, k):
    """Kozachenko and Leonenko in one dimension, with all distances."""
    from scipy.special import digamma

    distance = np.sort(np.abs(samples[:, None] - samples), axis=1)[:, k]
    constant = digamma(len(samples)) - digamma(k) + np.log(2)
    return constant + np.log(np.maximum(distance, 1e-5)).mean()


@pytest.mark.parametrize("count", [2, 3, 5, 6, 30])
def test_entropy_by_definition(count):
    samples = np.random.default_rng(count).normal(size=(4, count, 3))
    found = sample_entropy(samples)
    for row in range(4):
        for column in range(3):
            expected = by_definition(samples[row, :, column], min(5, count - 1))
            assert found[row, column] == pytest.approx(expected, rel=1e-5)


def test_entropy_of_a_normal():
    samples = np.random.default_rng(0).normal(size=(1, 20000, 1))
    assert sample_entropy(samples)[0, 0] == pytest.approx(1.4189, abs=0.03)
    wider = sample_entropy(samples * 4)[0, 0] - sample_entropy(samples)[0, 0]
    assert wider == pytest.approx(np.log(4), abs=1e-5)
    with pytest.raises(InputError, match=r"OS504.*two or more dropout passes"):
        sample_entropy(samples[:, :1])


@pytest.mark.parametrize("name", ["lard", "lard_entropy"])
@pytest.mark.parametrize("density", ["gaussian", "classes", "knn", "kde"])
def test_every_density(name, density):
    fitted = scenes.fitted(name, density=density, variance=1.0)
    known, far = scenes.scene(seed=1), scenes.scene(seed=1, unknown=True)
    held = {**far.attributes, "latent": far.attributes["latent"] + 9}
    moved = fitted.score(replace(far, attributes=held))
    assert scenes.auroc(fitted.score(known), moved) > 0.9


def test_kernel_density_by_hand():
    found = _kernel_density(np.array([[0.5]], np.float32), np.array([[0.0], [2.0]]))
    normal = np.exp(-0.5 * np.array([0.25, 2.25])) / np.sqrt(2 * np.pi)
    assert found == pytest.approx(-np.log(normal.mean()))


def test_components_explain_the_variance_asked_for():
    few = scenes.fitted("lard", variance=0.5).state.latent.components.shape[1]
    many = scenes.fitted("lard", variance=1.0).state.latent.components.shape[1]
    assert 1 <= few < many <= scenes.D


def test_what_it_refuses():
    with pytest.raises(UsageError, match=r"density of scorer 'lard' must be .*'knn' or 'kde'"):
        scenes.fitted("lard", density="flat")
    with pytest.raises(UsageError, match="variance"):
        scenes.fitted("lard", variance=0)
    with pytest.raises(InputError, match=r"OS504.*neighbour"):
        scenes.fitted("lard", density="knn", k=401)
    equal = scenes.scene(50).select(np.zeros(50, int))
    with pytest.raises(InputError, match=r"OS504.*latents are equal"):
        scenes.fitted("lard", equal)
