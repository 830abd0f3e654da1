import torch


class Trainer:
    def __init__(self, net, rate):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), lr=rate)

    def fit(self, batches):
        for x, y in batches:
            self.before()
            self.update(x, y)
            self.optimizer.step()

    def before(self):
        pass

    def update(self, x, y):
        raise NotImplementedError


class Clearing:
    def before(self):
        self.optimizer.zero_grad()
