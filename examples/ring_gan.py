"""A generative adversarial network for points on a ring."""

import argparse
import math

import torch as th
import torch.nn.functional as F
from torch import nn


def ring(count: int, radius: float = 2.0, width: float = 0.1) -> th.Tensor:
    """Draw points near a circle."""
    angle = 2 * math.pi * th.rand(count)
    distance = radius + width * th.randn(count)
    return th.stack([distance * angle.cos(), distance * angle.sin()], dim=1)


def network(inputs: int, outputs: int, width: int = 48) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, outputs),
    )


class RingGAN:
    def __init__(self, latent: int = 4, rate: float = 2e-3):
        self.latent = latent
        self.generator = network(latent, 2)
        self.critic = network(2, 1)
        self.generator_optimizer = th.optim.Adam(self.generator.parameters(), lr=rate, betas=(0.5, 0.9))
        self.critic_optimizer = th.optim.Adam(self.critic.parameters(), lr=rate, betas=(0.5, 0.9))

    def draw(self, count: int) -> th.Tensor:
        return self.generator(th.randn(count, self.latent))

    def generator_step(self, count: int) -> float:
        loss = F.softplus(-self.critic(self.draw(count))).mean()
        loss.backward()
        self.generator_optimizer.step()
        self.generator_optimizer.zero_grad()
        return loss.item()

    def critic_step(self, real: th.Tensor) -> float:
        fake = self.draw(len(real)).detach()
        loss = F.softplus(-self.critic(real)).mean() + F.softplus(self.critic(fake)).mean()
        loss.backward()
        self.critic_optimizer.step()
        self.critic_optimizer.zero_grad()
        return loss.item()

    @th.no_grad()
    def distance_from_ring(self, count: int = 500, radius: float = 2.0) -> float:
        """Return how far generated points lie from the circle, on average."""
        return (self.draw(count).norm(dim=1) - radius).abs().mean().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    th.manual_seed(options.seed)
    gan = RingGAN()
    for step in range(1, options.steps + 1):
        generator_loss = gan.generator_step(options.batch)
        critic_loss = gan.critic_step(ring(options.batch))
        if step % 50 == 0:
            print(
                f"step {step}: generator {generator_loss:.3f}, critic {critic_loss:.3f}, "
                f"distance from the ring {gan.distance_from_ring():.3f}"
            )


if __name__ == "__main__":
    main()
