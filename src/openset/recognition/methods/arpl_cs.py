"""ARPL+CS: ARPL, and a generator of confusing samples that must be near no class.

A GAN makes pictures that look real and that the classifier cannot name; the classifier learns to
keep them equally far from all reciprocal points, with a batch norm of their own.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from openset.findings import UsageError
from openset.recognition.methods._gan import Discriminator, Generator, noise_for
from openset.recognition.methods._points import squared_distances
from openset.recognition.methods._spec import method
from openset.recognition.methods.arpl import PAPER, Arpl
from openset.recognition.networks.auxiliary import doubled, false_pictures


@method("arpl_cs", title="ARPL+CS", paper=PAPER)
class ArplCs(Arpl):
    """ARPL with confusing samples from a GAN and an auxiliary batch norm.

    Every step trains discriminator, generator and classifier; the published code goes through each
    epoch once so and once more without false pictures. The GAN has Adam optimisers of its own,
    which are not in checkpoints: after a stop they begin anew.

    Args:
        n_classes: Known classes.
        width: Width of the embedding.
        weight: Of the bound.
        margin: Added to the bound: 1 in the published code, 0 in the paper.
        temperature: Divides the logits in the loss.
        beta: Weight of the confusion, for the generator and for the classifier.
        rate: Of the GAN's Adam optimisers, with betas of 0.5 and 0.999.
    """

    def __init__(
        self,
        n_classes: int,
        width: int,
        weight: float = 0.1,
        margin: float = 1.0,
        temperature: float = 1.0,
        beta: float = 0.1,
        rate: float = 2e-4,
    ) -> None:
        super().__init__(n_classes, width, weight, margin, temperature)
        self.beta, self.rate = beta, rate
        self.generator: nn.Module | None = None
        self.discriminator: nn.Module | None = None
        self._optimizers: tuple[torch.optim.Adam, torch.optim.Adam] | None = None

    def adapted(self, network: nn.Module, shape: tuple[int, int, int]) -> nn.Module:
        """The network with auxiliary batch norms; the GAN is made for the pictures' shape."""
        # Weights of the GAN ask for no gradient outside of its own steps: its optimisers, not the
        # classifier's, move them.
        self.generator = Generator(shape).requires_grad_(False)
        self.discriminator = Discriminator(shape).requires_grad_(False)
        return doubled(network)

    def losses(self, network: nn.Module, images: Tensor, label: Tensor) -> dict[str, Tensor]:
        """ARPL's loss on the pictures, and how sure the classifier is of false ones."""
        false = self._imagined(network, images)
        confusion = self.confusion(_aside(network, false))
        return {**super().losses(network, images, label), "confusion": self.beta * confusion}

    def confusion(self, embedding: Tensor) -> Tensor:
        """How sure the classifier is of samples: the exponential of minus their mean entropy."""
        share = torch.log_softmax(squared_distances(embedding, self.points), dim=1)
        return torch.exp((share.exp() * share).sum(dim=1).mean())

    def _imagined(self, network: nn.Module, images: Tensor) -> Tensor:
        """One step of the GAN; the false pictures, for the classifier."""
        generator, discriminator = self.generator, self.discriminator
        if generator is None or discriminator is None:
            raise UsageError("arpl_cs needs pictures: train it with openset.recognition.training")
        judge, maker = self._optimizers or self._made()
        with torch.autocast(images.device.type, enabled=False):
            noise = noise_for(images)
            with torch.no_grad():
                false = generator(noise)
            _step(judge, discriminator, lambda: _told(discriminator, images, false))

            def confusing() -> Tensor:
                made = generator(noise)
                real = _judged(discriminator(made), 1.0)
                return real + self.beta * self.confusion(_aside(network, made))

            _step(maker, generator, confusing)
            return generator(noise)

    def _made(self) -> tuple[torch.optim.Adam, torch.optim.Adam]:
        assert self.generator is not None
        assert self.discriminator is not None
        judge, maker = (
            torch.optim.Adam(module.parameters(), self.rate, (0.5, 0.999))
            for module in (self.discriminator, self.generator)
        )
        self._optimizers = (judge, maker)
        return self._optimizers


def _aside(network: nn.Module, pictures: Tensor) -> Tensor:
    with false_pictures(network):
        embedding: Tensor = network(pictures)
        return embedding.float()


def _told(discriminator: nn.Module, real: Tensor, false: Tensor) -> Tensor:
    """How badly real and false pictures are told apart."""
    return _judged(discriminator(real), 1.0) + _judged(discriminator(false), 0.0)


def _judged(logit: Tensor, truth: float) -> Tensor:
    target = torch.full_like(logit, truth)
    return nn.functional.binary_cross_entropy_with_logits(logit, target)


def _step(optimizer: torch.optim.Adam, module: nn.Module, loss: Callable[[], Tensor]) -> None:
    """Move the weights of one module, and no other's."""
    module.requires_grad_(True)
    weights = list(module.parameters())
    for weight, gradient in zip(weights, torch.autograd.grad(loss(), weights), strict=True):
        weight.grad = gradient
    optimizer.step()
    module.requires_grad_(False)
    for weight in weights:
        weight.grad = None
