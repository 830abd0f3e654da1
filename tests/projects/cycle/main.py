import torch

from left import Left, step
from right import Right

torch.manual_seed(0)
SCALE = 2.0

if __name__ == "__main__":
    net = torch.nn.Sequential(Left(), Right())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        loss = step(net, torch.randn(4, 3), optimizer)
    print("RESULT", loss.item())
