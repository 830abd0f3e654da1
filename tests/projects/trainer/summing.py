import torch
from torch.nn import functional as F

from core.base import Trainer


class Summing(Trainer):
    def update(self, x, y):
        loss = F.mse_loss(self.net(x), y)
        loss.backward()  # want: missing-zero-grad
        self.seen = torch.tensor(0.0)
