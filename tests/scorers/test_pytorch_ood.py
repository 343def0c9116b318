"""Agreement with pytorch-ood 0.4 to 1e-5, where it has the method on tensors.

Its numbers for inputs made by a formula are frozen in ``pytorch_ood.json``, so that agreement is
tested without torch; with pytorch-ood installed the frozen numbers are tested as well. Regenerate:
``python tests/scorers/test_pytorch_ood.py`` in an environment that has it.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from openset import scorers
from openset.tables import Detections, Head, LogitLayout

FROZEN = Path(__file__).with_name("pytorch_ood.json")
N, M, D, C = 120, 12, 16, 5
CASES = {
    "msp": {},
    "max_logit": {},
    "entropy": {},
    "energy": {},
    "gen": {},
    "knn": {"k": 3},
    "mahalanobis": {},
    "relative_mahalanobis": {},
    "ddu": {"jitter": 1e-6},
    "vim": {"dimension": 8},
    "ash": {"percentile": 75.0},
    "dice": {"percentile": 70.0},
    "react": {"percentile": 90.0},
}
# They report minus the probability, the mean in place of the sum, and half the distance under the
# scatter, which is n times the covariance; the relative distance is not halved.
UNITS = {
    "msp": lambda value: value + 1,
    "gen": lambda value: value * C,
    "mahalanobis": lambda value: value * 2 * N,
    "relative_mahalanobis": lambda value: value * N,
}
VARIANTS = {"ash-p": ("ash", {"variant": "p"}), "ash-b": ("ash", {"variant": "b"})}


def formula(rows, columns, phase):
    """Numbers without a generator, whose stream might change."""
    at = np.arange(rows * columns, dtype=np.float64).reshape(rows, columns)
    return np.sin(at * 12.9898 + phase) * np.cos(at * at * 0.0078233 + phase)


def inputs():
    """Training and test embeddings, labels, and a head."""
    label = np.arange(N) % C
    classes = np.abs(formula(C, D, 1.0)) * 2
    train = np.maximum(classes[label] + formula(N, D, 2.0), 0).astype(np.float32)
    test = np.maximum(formula(M, D, 3.0) * 3 + 0.5, 0).astype(np.float32)
    weight, bias = formula(C, D, 4.0).astype(np.float32), formula(1, C, 5.0)[0].astype(np.float32)
    return train, label, test, Head(weight, bias, LogitLayout.SOFTMAX)


def detections(embedding, label, head):
    n = len(embedding)
    names = tuple("abcde")
    logits = head.logits(embedding)
    return Detections(
        np.arange(n), label, [[0, 0, 9, 9]] * n, np.ones(n), names,
        logits=logits, layout=head.layout, embedding=embedding,
    )  # fmt: skip


def ours(name):
    """Our scores."""
    method, more = VARIANTS.get(name, (name, {}))
    train, label, test, head = inputs()
    fit_on = detections(train, label, head)
    fitted = scorers.find(method).fit(fit_on, head=head, **CASES[method], **more)
    return fitted.score(detections(test, np.zeros(M), head))


def theirs():
    """The scores of pytorch-ood."""
    import torch
    from pytorch_ood import detector as ood

    train, label, test, head = inputs()
    Z, y, z = torch.tensor(train), torch.tensor(label), torch.tensor(test)
    w, b = torch.tensor(head.weight), torch.tensor(head.bias)
    logits = z @ w.T + b

    def last(maps):
        return maps.flatten(1) @ w.T + b

    maps, train_maps = z[:, :, None, None], Z[:, :, None, None]
    react = ood.ReAct(None, last, percentile=0.9).fit_feature_maps(train_maps, y)
    found = {
        "msp": ood.MaxSoftmax(None).predict_logits(logits),
        "max_logit": ood.MaxLogit(None).predict_logits(logits),
        "entropy": ood.Entropy(None).predict_logits(logits),
        "energy": ood.EnergyBased(None).predict_logits(logits),
        "gen": ood.GEN(None, gamma=0.1).predict_logits(logits),
        "knn": ood.KNN(None, k=3).fit_features(Z, y).predict_features(z),
        "mahalanobis": ood.Mahalanobis(None).fit_features(Z, y).predict_features(z),
        "relative_mahalanobis": ood.RMD(None).fit_features(Z, y).predict_features(z),
        "ddu": ood.GMM(None, reg=1e-6).fit_features(Z, y).predict_features(z),
        "vim": ood.ViM(None, d=8, w=w, b=b).fit_features(Z, y).predict_features(z),
        "dice": ood.DICE(None, w=w, b=b, p=0.7).fit_features(Z, y).predict_features(z),
        "react": react.predict_feature_maps(maps),
    }
    for letter, name in (("s", "ash"), ("p", "ash-p"), ("b", "ash-b")):
        shape = ood.ASH(None, last, f"ash-{letter}", 0.75)
        found[name] = shape.predict_feature_maps(maps)
    return {name: values.double().numpy().tolist() for name, values in found.items()}


@pytest.mark.parametrize("name", [*CASES, *VARIANTS])
def test_agrees(name):
    frozen = np.array(json.loads(FROZEN.read_text())[name])
    expected = UNITS.get(name, lambda value: value)(frozen)
    # Theirs is a difference of two distances in float32: 1e-5 holds in their unit.
    unit = N if name == "relative_mahalanobis" else 1
    assert ours(name) == pytest.approx(expected, rel=1e-5, abs=1e-5 * unit)


def test_frozen_numbers_are_theirs():
    pytest.importorskip("pytorch_ood", reason="needs pytorch-ood: pip install openset[torch]")
    frozen = json.loads(FROZEN.read_text())
    for name, values in theirs().items():
        # float32: the eigenvectors of ViM differ in the last digits from processor to processor.
        assert values == pytest.approx(frozen[name], rel=1e-5, abs=1e-5), name


def test_where_they_break():
    """A class without an example, and units that never fire in training."""
    train, label, test, head = inputs()
    rare = np.where(label == 2, 3, label)
    fitted = scorers.find("mahalanobis").fit(detections(train, rare, head))
    assert [f.code for f in fitted.findings] == ["OS508"]
    assert "c" in fitted.findings[0].message
    dead, fires = np.zeros((N, 10), np.float32), np.full((M, 10), 5.0, np.float32)
    wide = Head(np.pad(head.weight, ((0, 0), (0, 10))), head.bias, head.layout)
    with_dead = detections(np.hstack([train, dead]), label, wide)
    shown = detections(np.hstack([test, fires]), np.zeros(M), wide)
    for name in ("mahalanobis", "ddu"):
        plain = scorers.find(name).fit(detections(train, label, head))
        score = scorers.find(name).fit(with_dead).score(shown)
        assert score == pytest.approx(plain.score(detections(test, np.zeros(M), head)), rel=1e-6)


if __name__ == "__main__":
    FROZEN.write_text(json.dumps(theirs(), indent=1) + "\n")
