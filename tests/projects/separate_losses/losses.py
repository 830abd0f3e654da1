import torch
from torch import nn


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, out, other):
        return {"main": (out * self.scale).pow(2).mean(), "side": other.pow(2).mean()}
