import torch
from torch import nn


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(3, 3)
        self.first, self.second = nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x):
        hidden = torch.sigmoid(self.trunk(x))
        return self.first(hidden).mean(), self.second(hidden).mean()
