import torch


def prepare(net, optimizer):
    net.train()
    optimizer.zero_grad()


def report(net, optimizer, loss):
    print(len(list(net.parameters())), optimizer.param_groups[0]["lr"], float(loss.detach()))


def objective(net):
    return net(torch.ones(2, 3)).pow(2).mean()
