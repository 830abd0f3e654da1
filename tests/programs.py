"""A training script with one misuse, and what its safe fix makes of it."""

GOOD = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for _ in range(3):
    inputs, targets = torch.randn(8, 3), torch.randn(8, 1)
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
"""
LINE = 13
BAD = GOOD.replace("    loss.backward()\n", "    loss.backward()\n    loss.backward()\n")
