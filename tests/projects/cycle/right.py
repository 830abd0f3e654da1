import torch
from torch import nn


def activate(x):
    return torch.relu(x)


import left  # noqa: E402
from left import *  # noqa: E402, F403


class Right(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return activate(self.linear(x))


def train(net, x, optimizer):
    return left.step(net, x, optimizer)
