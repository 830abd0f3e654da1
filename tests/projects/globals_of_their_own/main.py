import torch

import state

optimizer = None


def clear():
    return None


def train(net, clean):
    for _ in range(3):
        clean()
        loss = net(torch.ones(2, 3)).pow(2).mean()
        loss.backward()
        state.step()


def forgetful(net):
    for _ in range(3):
        clear()
        loss = net(torch.ones(2, 3)).pow(2).mean()
        loss.backward()  # want: missing-zero-grad
        state.step()


torch.manual_seed(0)
net = state.begin()
train(net, state.clear)
forgetful(net)
print("RESULT", net.weight.sum().item())
