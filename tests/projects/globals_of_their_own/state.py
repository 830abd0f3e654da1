import torch

optimizer = None
net = torch.nn.Linear(3, 1)


def begin():
    global optimizer
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    return net


def clear():
    optimizer.zero_grad()


def step():
    optimizer.step()


def keep():
    return None
