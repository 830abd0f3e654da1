"""A network that solves the damped oscillator u'' + c u' + k u = 0; nothing in this script is misused."""

import argparse
import math

import torch
from torch import nn

DAMPING, STIFFNESS = 0.4, 4.0


def exact(time: torch.Tensor) -> torch.Tensor:
    """Return the solution for u(0) = 1, u'(0) = 0."""
    rate = DAMPING / 2
    frequency = math.sqrt(STIFFNESS - rate**2)
    return torch.exp(-rate * time) * (torch.cos(frequency * time) + rate / frequency * torch.sin(frequency * time))


class Field(nn.Module):
    def __init__(self, width: int = 24):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, time):
        return self.layers(time)


def derivative(values: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(values.sum(), time, create_graph=True)[0]


def residual_loss(field: Field, time: torch.Tensor) -> torch.Tensor:
    time = time.clone().requires_grad_(True)
    u = field(time)
    velocity = derivative(u, time)
    return (derivative(velocity, time) + DAMPING * velocity + STIFFNESS * u).pow(2).mean()


def start_loss(field: Field) -> torch.Tensor:
    origin = torch.zeros(1, 1, requires_grad=True)
    u = field(origin)
    return ((u - 1) ** 2 + derivative(u, origin) ** 2).mean()


def warm_up(field: Field, steps: int, batch: int, horizon: float) -> None:
    """Follow the gradient of random collocation points."""
    optimizer = torch.optim.Adam(field.parameters(), lr=5e-3)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        physics, start = residual_loss(field, horizon * torch.rand(batch, 1)), start_loss(field)
        (physics + 10 * start).backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: residual {physics.item():.4f}, start {start.item():.4f}")


def refine(field: Field, rounds: int, time: torch.Tensor) -> None:
    """Polish on a fixed grid with a quasi-Newton method."""
    optimizer = torch.optim.LBFGS(field.parameters(), max_iter=10, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = residual_loss(field, time) + 10 * start_loss(field)
        loss.backward()
        return loss

    for number in range(1, rounds + 1):
        print(f"round {number}: loss {optimizer.step(closure).item():.4f}")


def error(field: Field, time: torch.Tensor) -> float:
    field.eval()
    with torch.no_grad():
        worst = max((field(part) - exact(part)).abs().max().item() for part in time.split(50))
    field.train()
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--horizon", type=float, default=2.0)
    options = parser.parse_args()

    torch.manual_seed(0)
    field = Field()
    grid = torch.linspace(0, options.horizon, 100).unsqueeze(1)
    warm_up(field, options.steps, batch=32, horizon=options.horizon)
    refine(field, options.rounds, grid)
    print(f"largest error: {error(field, grid):.3f}")


if __name__ == "__main__":
    main()
