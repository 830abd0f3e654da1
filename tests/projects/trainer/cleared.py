import torch
from torch.nn import functional as F

from core.base import Clearing, Trainer


class Cleared(Clearing, Trainer):
    def update(self, x, y):
        loss = F.mse_loss(self.net(x), y)
        loss.backward()
        self.seen = torch.tensor(0.0)
