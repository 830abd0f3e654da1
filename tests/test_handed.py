"""Functions that are handed what nobody can see: networks, optimizers, data and helpers come from another file.

Every program is linted without the part that calls it, and run with it: as it is, and with its clear taken out. Where
that changes what the parameters become, adlint must say so of the second, and it must say nothing of the first.
"""

from __future__ import annotations

import oracle
import pytest

from adlint.linter import lint
from adlint.source import Source

HEAD = """\
import atexit
import collections
import copy
import functools
import pprint
import queue
import random
import weakref

import torch
from torch import nn

"""
STAND_IN = """\
import sys, types

class Bar(list):
    def set_postfix(self, **values):
        pass

sys.modules["tqdm"] = types.SimpleNamespace(tqdm=Bar)
"""
ELSEWHERE = """\
torch.manual_seed(0)
data = [torch.randn(2, 3) for _ in range(3)]
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""
CLEARS = (
    "model.apply(clear)",
    "nn.Module.zero_grad(model)",
    "torch.optim.SGD.zero_grad(optimizer)",
    "self.optimizer.zero_grad()",
    "optimizer.zero_grad()",
    "model.zero_grad()",
    "nn.init.zeros_(one.grad)",
    "torch._foreach_zero_([one.grad])",
)

LOOP = """\
    for x in data:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
"""

HANDED = {
    "scaler": """\
def train(model, optimizer, scaler, data):
    for x in data:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
# elsewhere
train(net, optimizer, torch.amp.GradScaler('cpu'), data)
""",
    "scaler, unscaled": """\
def train(model, optimizer, scaler, data):
    for x in data:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
# elsewhere
train(net, optimizer, torch.amp.GradScaler('cpu'), data)
""",
    "optimizer built": """\
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
# elsewhere
train(net, data)
""",
    "optimizer built, scaler": """\
def train(model, data, scaler):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
# elsewhere
train(net, data, torch.amp.GradScaler('cpu'))
""",
    "step by an object": """\
def train(model, data, stepper):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        stepper.step(optimizer)
# elsewhere
class Stepper:
    def step(self, one):
        one.step()
train(net, data, Stepper())
""",
    "named parameters": """\
def train(model, data):
    optimizer = torch.optim.SGD([one for name, one in model.named_parameters()], lr=0.1)
LOOP
# elsewhere
train(net, data)
""",
    "trainable": """\
def train(model, data):
    model.requires_grad_(True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
# elsewhere
train(net, data)
""",
    "moved": """\
def train(model, data, device):
    model = model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = model(x.to(device)).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data, 'cpu')
""",
    "moved to the processor": """\
def train(model, data):
    model = model.cpu().float()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = model(x.cpu()).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data)
""",
    "logged, appended": """\
def train(model, data, log):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
LOOP
        log.info(loss)
        log.append(loss.item())
# elsewhere
class Log(list):
    def info(self, one):
        pass
train(net, data, Log())
""",
    "appended loss": """\
def train(model, data, log):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
        log.append(loss)
# elsewhere
train(net, data, [])
""",
    "progress": """\
from tqdm import tqdm
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in tqdm(data):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data)
""",
    "progress bar": """\
from tqdm import tqdm
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    bar = tqdm(data)
    for x in bar:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        bar.set_postfix(loss=loss.item())
# elsewhere
train(net, data)
""",
    "criterion": """\
def train(model, criterion, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = criterion(model(x), x[:, :1])
        loss.backward()
        optimizer.step()
# elsewhere
train(net, nn.MSELoss(), data)
""",
    "own loss": """\
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = model.loss(x)
        loss.backward()
        optimizer.step()
# elsewhere
class Net(nn.Linear):
    def loss(self, x):
        return self(x).pow(2).mean()
net = Net(3, 1)
train(net, data)
""",
    "part of a network": """\
def train(model, data):
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)
LOOP
# elsewhere
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 1)
    def forward(self, x):
        return self.head(x)
net = Net()
train(net, data)
""",
    "unwrapped": """\
def train(model, data):
    optimizer = torch.optim.SGD(model.module.parameters(), lr=0.1)
    model.module.train()
    for x in data:
        optimizer.zero_grad()
        loss = model.module(x).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(nn.DataParallel(net), data)
""",
    "in a list": """\
def train(models, data):
    optimizer = torch.optim.SGD(models[0].parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = models[0](x).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train([net], data)
""",
    "class of its parts": """\
class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
    def train(self, data):
        for x in data:
            self.optimizer.zero_grad()
            loss = self.model(x).pow(2).mean()
            loss.backward()
            self.optimizer.step()
# elsewhere
Trainer(net, optimizer).train(data)
""",
    "class that builds the optimizer": """\
class Trainer:
    def __init__(self, model):
        self.model, self.optimizer = model, torch.optim.SGD(model.parameters(), lr=0.1)
    def train(self, data):
        for x in data:
            self.optimizer.zero_grad()
            loss = self.model(x).pow(2).mean()
            loss.backward()
            self.optimizer.step()
# elsewhere
Trainer(net).train(data)
""",
    "backward by an object": """\
class Trainer:
    def __init__(self, model, fabric):
        self.model, self.fabric = model, fabric
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def train(self, data):
        for x in data:
            self.optimizer.zero_grad()
            loss = self.model(x).pow(2).mean()
            self.fabric.manual_backward(loss)
            self.optimizer.step()
# elsewhere
class Fabric:
    def manual_backward(self, loss):
        loss.backward()
Trainer(net, Fabric()).train(data)
""",
    "pickled": """\
import pickle
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
        pickle.dumps(model)
# elsewhere
train(net, data)
""",
    "optimizer by settings": """\
def train(model, data, settings):
    optimizer = torch.optim.SGD(model.parameters(), **settings)
LOOP
# elsewhere
train(net, data, {'lr': 0.1})
""",
    "hook before the forward": """\
def watch(module, given):
    print(module)
def train(data):
    model = nn.Linear(3, 1)
    model.register_forward_pre_hook(watch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
    return model
# elsewhere
torch.manual_seed(0)
net = train(data)
""",
    "cleared by what is applied": """\
def clear(one):
    one.zero_grad()


def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        model.apply(clear)
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data)
""",
    "cleared by a method of a class": """\
def clear(one):
    one.zero_grad()


def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        nn.Module.zero_grad(model)
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data)
""",
    "cleared by a method of the optimizer's class": """\
def clear(one):
    one.zero_grad()


def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        torch.optim.SGD.zero_grad(optimizer)
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data)
""",
    "hook that clears": """\
def watch(module, given):
    module.zero_grad()
def train(data):
    model = nn.Linear(3, 1)
    model.register_forward_pre_hook(watch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
    return model
# elsewhere
torch.manual_seed(0)
net = train(data)
""",
    "tensor handed": """\
def train(weight, data):
    weight.requires_grad_()
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = (x @ weight).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
weight = torch.ones(3, 1)
train(weight, data)
net = nn.ParameterList([weight])
""",
    "losses handed": """\
def train(model, losses, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = sum(one(model(x)) for one in losses)
        loss.backward()
        optimizer.step()
# elsewhere
train(net, [torch.mean], data)
""",
    "weight of a product": """\
def train(data):
    weight = nn.Parameter(torch.ones(3, 1))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = x.matmul(weight).pow(2).mean()
        loss.backward()
        optimizer.step()
    return weight
# elsewhere
net = nn.ParameterList([train(data)])
""",
    "method of its own kept": """\
import atexit
class Saver:
    def __init__(self, model):
        self.model = model
    def save(self):
        print(self.model)
def train(data):
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    atexit.register(Saver(model).save)
LOOP
    return model
# elsewhere
torch.manual_seed(0)
net = train(data)
""",
    "loss by a function": """\
def train(model, helper, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = helper(model, x)
        loss.backward()
        optimizer.step()
# elsewhere
train(net, lambda model, x: model(x).pow(2).mean(), data)
""",
    "part owned by the optimizer": """\
class Net(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return self.inner(x)
def train(inner, data):
    optimizer = torch.optim.SGD(inner.parameters(), lr=0.1)
    model = Net(inner)
LOOP
# elsewhere
train(net, data)
""",
    "network of a given part": """\
class Net(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
    def forward(self, x):
        return self.inner(x)
def train(inner, data):
    model = Net(inner)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
# elsewhere
train(net, data)
""",
    "loss of the library": """\
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x[:, :1].detach())
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data)
""",
    "norm measured": """\
import math
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        print(nn.utils.clip_grad_norm_(model.parameters(), math.inf))
        optimizer.step()
# elsewhere
train(net, data)
""",
    "limit handed": """\
def train(model, data, limit):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
# elsewhere
train(net, data, 1.0)
""",
    "flag for each parameter": """\
def train(model, data, flag):
    for one in model.parameters():
        one.requires_grad = flag
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
# elsewhere
train(net, data, True)
""",
    "flag for the network": """\
def train(model, data, flag):
    model.requires_grad_(flag)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
# elsewhere
train(net, data, True)
""",
    "flag for an own network": """\
def train(data, flag):
    model = nn.Linear(3, 1)
    model.requires_grad_(flag)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
    return model
# elsewhere
torch.manual_seed(0)
net = train(data, True)
""",
    "flag for a weight": """\
def train(data, flag):
    weight = torch.ones(3, 1)
    weight.requires_grad = flag
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = (x @ weight).pow(2).mean()
        loss.backward()
        optimizer.step()
    return weight
# elsewhere
net = nn.ParameterList([train(data, True)])
""",
    "network in itself": """\
def train(data):
    model = nn.Linear(3, 1)
    model.self = [model]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
    return model
# elsewhere
torch.manual_seed(0)
net = train(data)
""",
    "shared part": """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = self.a
    def forward(self, x):
        return self.b(self.a(x))
def train(data):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
    return model
# elsewhere
torch.manual_seed(0)
net = train(data)
""",
    "parameters out of a table": """\
def train(data):
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD({'params': model.parameters()}.values().__iter__().__next__(), lr=0.1)
LOOP
    return model
# elsewhere
torch.manual_seed(0)
net = train(data)
""",
    "checkpoint": """\
from torch.utils.checkpoint import checkpoint
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = checkpoint(model, x, use_reentrant=False).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data)
""",
    "checkpoint of a lambda": """\
from torch.utils.checkpoint import checkpoint
def train(data):
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = checkpoint(lambda x: model(x).pow(2), x, use_reentrant=False).mean()
        loss.backward()
        optimizer.step()
    return model
# elsewhere
torch.manual_seed(0)
net = train(data)
""",
    "recording by flag": """\
def train(model, data, flag):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        with torch.set_grad_enabled(flag):
            loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data, True)
""",
    "recording by settings": """\
def train(model, data, settings):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        with torch.set_grad_enabled(**settings):
            loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data, {'mode': True})
""",
    "thread": """\
import threading
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def work():
        for x in data:
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
# elsewhere
train(net, data)
""",
    "backward of the class": """\
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        torch.Tensor.backward(loss)
        torch.optim.Optimizer.step
        optimizer.step()
# elsewhere
train(net, data)
""",
    "methods of classes": """\
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = torch.Tensor.mean(nn.Module.__call__(model, x).pow(2))
        torch.Tensor.backward(loss)
        torch.optim.SGD.step(optimizer)
# elsewhere
train(net, data)
""",
    "backward of the library": """\
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        torch.autograd.backward(loss)
        optimizer.step()
# elsewhere
train(net, data)
""",
    "backward by settings": """\
def train(model, data, settings):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        torch.autograd.backward(loss, **settings)
        optimizer.step()
# elsewhere
train(net, data, {})
""",
    "chained": """\
import itertools
def train(model, other, data):
    optimizer = torch.optim.SGD(itertools.chain(model.parameters(), other), lr=0.1)
LOOP
# elsewhere
train(net, [], data)
""",
    "chained from a list": """\
import itertools
def train(model, data):
    optimizer = torch.optim.SGD(itertools.chain.from_iterable([model.parameters()]), lr=0.1)
LOOP
# elsewhere
train(net, data)
""",
    "chained, unpacked": """\
import itertools
def train(model, groups, data):
    optimizer = torch.optim.SGD(itertools.chain(*groups), lr=0.1)
LOOP
# elsewhere
train(net, [net.parameters()], data)
""",
    "parameters by settings": """\
def train(model, data, settings):
    optimizer = torch.optim.SGD(**settings)
LOOP
# elsewhere
train(net, data, {'params': net.parameters(), 'lr': 0.1})
""",
    "parallel by keyword": """\
def train(data):
    model = nn.parallel.DataParallel(module=nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
    return model
# elsewhere
torch.manual_seed(0)
net = train(data)
""",
    "parallel": """\
def train(model, data):
    model = nn.parallel.DataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
# elsewhere
train(net, data)
""",
    "wrapped by a function": """\
def train(model, data, wrap):
    model = wrap(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
LOOP
# elsewhere
train(net, data, lambda one: one)
""",
    "variable": """\
from torch.autograd import Variable
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        x = Variable(x)
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data)
""",
    "detach function": """\
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = (model(x) - torch.detach(x[:, :1])).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data)
""",
    "asked for a tensor": """\
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        if torch.is_tensor(loss):
            loss.backward()
        optimizer.step()
# elsewhere
train(net, data)
""",
    "grid": """\
def train(data):
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for x in data:
        optimizer.zero_grad()
        a, b = torch.meshgrid(weight, weight, indexing='ij')
        loss = (a * b).mean()
        loss.backward()
        optimizer.step()
    return weight
# elsewhere
net = nn.ParameterList([train(data)])
""",
    "unbound": """\
def train(data):
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for x in data:
        optimizer.zero_grad()
        a, b, c = torch.unbind(weight)
        loss = (a * b * c).mean()
        loss.backward()
        optimizer.step()
    return weight
# elsewhere
net = nn.ParameterList([train(data)])
""",
    "gradients initialised": """\
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        for one in model.parameters():
            if one.grad is not None:
                nn.init.zeros_(one.grad)
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
# elsewhere
train(net, data)
""",
    "gradients of an own network initialised": """\
def train(data):
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        for one in model.parameters():
            if one.grad is not None:
                nn.init.zeros_(one.grad)
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    return model
# elsewhere
torch.manual_seed(0)
net = train(data)
""",
    "gradients zeroed together": """\
def train(data):
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        for one in model.parameters():
            if one.grad is not None:
                torch._foreach_zero_([one.grad])
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
    return model
# elsewhere
torch.manual_seed(0)
net = train(data)
""",
    "gradients of another network": """\
def train(data):
    model, other = nn.Linear(3, 1), nn.Linear(3, 1)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    for x in data:
        model.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        for one, two in zip(model.parameters(), other.parameters()):
            two.grad = one.grad
        optimizer.step()
    return other
# elsewhere
torch.manual_seed(0)
net = train(data)
""",
}
"""Programs, where `LOOP` stands for the plain loop; what is below the line `# elsewhere` is in another file."""

MADE = {
    "weak reference": "held = weakref.ref(model)",
    "method kept": "atexit.register(model.eval)",
    "method of the optimizer kept": "atexit.register(optimizer.state_dict)",
    "partial kept": "atexit.register(functools.partial(print, model))",
    "lambda kept": "atexit.register(lambda: print(model))",
    "chosen": "model = random.choice([model])",
    "paired and shown": "pprint.pprint(zip([model], data))",
    "table shown": "pprint.pprint({'model': model})",
    "counted and shown": "pprint.pprint(enumerate([model]))",
    "queue": "models = queue.Queue()\nmodels.put(model)\nmodel = models.get()",
    "deque": "model = collections.deque([model]).popleft()",
    "table of lists": "nets = collections.defaultdict(list)\nnets['a'].append(model)\nmodel = nets['a'][0]",
    "table of tables": "nets = collections.defaultdict(dict)\nnets['a']['b'] = model\nmodel = nets['a']['b']",
    "namedtuple": "Parts = collections.namedtuple('Parts', 'net, data')\nmodel = Parts(model, data).net",
    "namedtuple of a list": (
        "Parts = collections.namedtuple('Parts', ['net', 'data'])\nmodel = Parts(net=model, data=data).net"
    ),
    "namedtuple by keyword": (
        "Parts = collections.namedtuple('Parts', field_names=('net', 'data'))\nmodel = Parts(net=model, data=data).net"
    ),
    "copied": "model = copy.copy(model)",
}
"""What is done with a network and its optimizer between building and training them."""

MAKE = """\
def train(data):
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {}
LOOP
    return model
# elsewhere
torch.manual_seed(0)
net = train(data)
"""
WAYS = HANDED | {name: MAKE.format(lines.replace("\n", "\n    ")) for name, lines in MADE.items()}

MISSES = {
    "scaler": "whoever hands the optimizer may clear it",
    "scaler, unscaled": "whoever hands the optimizer may clear it",
    "class of its parts": "whoever hands the optimizer may clear it",
    "network of a given part": "what is handed the network may clear its gradients",
    "chosen": "what a library chooses is unknown",
    "copied": "a copy of a network is taken to have parameters of its own",
}
"""What adlint does not follow, and why: it stays silent."""


@pytest.mark.parametrize("way", WAYS)
def test_ways(way: str) -> None:
    """A program with its clear is silent; without it, it is reported if and only if that trains otherwise."""
    pytest.importorskip("torch")
    right, calling = WAYS[way].replace("LOOP\n", LOOP).split("# elsewhere\n")
    wrong = right
    for clear in CLEARS:
        wrong = wrong.replace(clear, "pass")
    cleared, never = trained(right + ELSEWHERE + calling), trained(wrong + ELSEWHERE + calling)
    assert cleared is not None
    assert never is not None
    assert names(right) == set()
    reported = oracle.differ(cleared, never) and way not in MISSES
    assert names(wrong) == ({"missing-zero-grad"} if reported else set())


def names(code: str) -> set[str]:
    return {one.name for one in lint(Source("program.py", HEAD + code))}


def trained(code: str) -> tuple[float, ...] | None:
    """Return what a program has made of its parameters; None if it did not run through."""
    return oracle.run(f"{STAND_IN}{HEAD}{code}RESULT = [one.sum() for one in net.parameters()]\n").result
