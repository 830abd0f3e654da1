import right
from right import *  # noqa: F403

from torch import nn


class Left(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return right.activate(self.linear(x))


def step(net, x, optimizer):
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss
