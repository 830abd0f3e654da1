import torch


def quiet(net, batches):
    net.eval()
    total = 0.0
    for x in batches:
        total += net(x).mean().item()
    return total


def loud(net, batches):
    net.eval()
    total = 0.0
    for x in batches:
        total += net(x).mean().item()  # want: eval-without-no-grad
    return total


def nobody(net, batches):
    net.eval()
    total = 0.0
    for x in batches:
        total += net(x).mean().item()  # want: eval-without-no-grad
    return total


def unclear(net, batches):
    net.eval()
    total = 0.0
    for x in batches:
        total += net(x).mean().item()  # want: eval-without-no-grad
    return total


class Judge:
    def __init__(self, net):
        self.net = net

    def score(self, batches):
        self.net.eval()
        return sum(self.net(x).mean().item() for x in batches)


def frozen(net, batches):
    net.eval()
    return [net(x).sum().item() for x in batches]
