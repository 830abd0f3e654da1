import torch
from helpers import objective, prepare, report


def careful(net, optimizer):
    for _ in range(3):
        prepare(net, optimizer)
        loss = objective(net)
        loss.backward()
        optimizer.step()
        report(net, optimizer, loss)


def careless(net, optimizer):
    for _ in range(3):
        loss = objective(net)
        loss.backward()  # want: missing-zero-grad
        optimizer.step()
        report(net, optimizer, loss)


torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
careful(net, optimizer)
careless(net, optimizer)
print("RESULT", net.weight.sum().item())
