"""Libraries around PyTorch that take over backward, step or clear: programs in the words of each, right and wrong.

A case is the body of a program under HEAD. A line that ends with `#- rule` is left out in a wrong program of its own,
one with `#2 rule` stands there twice, one with `#+ rule` is in the wrong program only; `#= rule: code` puts other code
in the place of the line. The right program must be silent, and a wrong one must be reported by that rule alone.

All of them are run: with the library itself where it can be installed, else with a stand-in that does what the
library's documentation says of backward, step, clear and recording (tests/standins/around).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from functools import cache
from pathlib import Path

import oracle
import pytest
from conftest import REQUIRE_TORCH

from adlint.config import Settings
from adlint.linter import fix, lint
from adlint.source import Source

STANDINS = Path(__file__).parent / "standins" / "around"
INSTALLED = ("accelerate", "lightning", "ignite", "skorch")
"""Libraries that are run themselves; of all others a stand-in is."""

HEAD = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = [torch.randn(2, 3) for _ in range(4)]
"""
RESULT = "RESULT = [float(one.detach().sum()) for one in model.parameters()]\n"
"""What a program comes to: the parameters of what it calls `model`."""

PYTORCH = {
    "scaler": """\
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    with torch.autocast("cpu"):
        loss = model(x).pow(2).mean()
    scaler.scale(loss).backward()  #2 double-backward
    scaler.unscale_(optimizer)  #- misplaced-clip
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    scaler.step(optimizer)  #- missing-step
    scaler.update()
""",
    "scaler, two optimizers": """\
other = nn.Linear(3, 1)
second = torch.optim.SGD(other.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    second.zero_grad()
    with torch.autocast("cpu"):
        first, other_loss = model(x).pow(2).mean(), other(x).pow(2).mean()
    scaler.scale(first).backward()
    scaler.scale(other_loss).backward()
    scaler.step(optimizer)  #- missing-step
    scaler.step(second)
    scaler.update()
""",
    "scaler, two losses of one network": """\
other = nn.Linear(1, 1)
second = torch.optim.SGD(other.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    second.zero_grad()
    with torch.autocast("cpu"):
        out = model(x)
        first, both = out.pow(2).mean(), other(out).pow(2).mean()
    scaler.scale(out.mean()).backward()  #+ shared-backward
    scaler.scale(first + both).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.step(second)
    scaler.update()
""",
    "scaler, accumulation": """\
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for i, x in enumerate(data):
    with torch.autocast("cpu"):
        loss = model(x).pow(2).mean() / 2
    scaler.scale(loss).backward()
    if (i + 1) % 2 == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()  #- missing-zero-grad
""",
    "unsynchronised": """\
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
model = nn.parallel.DistributedDataParallel(model)
for i, x in enumerate(data):
    if i % 2 == 0:
        with model.no_sync():
            (model(x).pow(2).mean() / 2).backward()
    else:
        (model(x).pow(2).mean() / 2).backward()
        optimizer.step()
        optimizer.zero_grad()  #- missing-zero-grad
""",
    "unsynchronised, two batches": """\
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
model = nn.parallel.DistributedDataParallel(model)
for first, last in zip(data[::2], data[1::2]):
    optimizer.zero_grad()  #- missing-zero-grad
    with model.no_sync():
        loss = model(first).pow(2).mean() / 2
        loss.backward()  #2 double-backward
    loss = model(last).pow(2).mean() / 2
    loss.backward()
    optimizer.step()  #- missing-step
""",
    "sharded": """\
from torch.distributed.fsdp import fully_shard
torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
fully_shard(model, mesh=torch.distributed.init_device_mesh("cpu", (1,)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()  #- missing-step
""",
    "closure": """\
optimizer = torch.optim.LBFGS(model.parameters())
for x in data:
    def closure():
        optimizer.zero_grad()  #- missing-zero-grad
        loss = model(x).pow(2).mean()
        loss.backward()  #2 double-backward
        return loss
    optimizer.step(closure)
""",
    "closure, of one forward": """\
optimizer = torch.optim.LBFGS(model.parameters())
for x in data:
    out = model(x)
    def closure():
        optimizer.zero_grad()
        out = model(x)  #- stale-forward
        loss = out.pow(2).mean()
        loss.backward()
        return loss
    optimizer.step(closure)
""",
    "sharpness-aware": """\
class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
    @torch.no_grad()
    def first_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * group["rho"])
        if zero_grad:
            self.zero_grad()
    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()
optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1)
for x in data:
    loss = model(x).pow(2).mean()
    loss.backward()  #2 double-backward
    optimizer.first_step(zero_grad=True)
    model(x).pow(2).mean().backward()
    optimizer.second_step(zero_grad=True)  #= missing-zero-grad: optimizer.second_step()
""",
    "thread": """\
import threading
def work(x):
    optimizer.zero_grad()  #- missing-zero-grad
    model(x).pow(2).mean().backward()
    optimizer.step()
for x in data:
    worker = threading.Thread(target=work, args=(x,))
    worker.start()
    worker.join()
""",
    "step hook": """\
optimizer.register_step_post_hook(lambda one, args, named: one.zero_grad())  #- missing-zero-grad
for x in data:
    model(x).pow(2).mean().backward()
    optimizer.step()
""",
    "own function": """\
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    loss = Square.apply(model(x)).mean()
    loss.backward()
    optimizer.step()
""",
    "distribution": """\
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    policy = torch.distributions.Normal(model(x), 1.0)
    action = policy.sample()
    loss = -policy.log_prob(action).mean()
    loss.backward()  #2 double-backward
    optimizer.step()
""",
    "averaged weights": """\
average = torch.optim.swa_utils.AveragedModel(model)
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    model(x).pow(2).mean().backward()
    optimizer.step()
    average.update_parameters(model)
""",
}

ACCELERATE = {
    "loop": """\
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
model, optimizer, data = accelerator.prepare(model, optimizer, torch.utils.data.DataLoader(data))
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    loss = model(x).pow(2).mean()
    accelerator.backward(loss)  #2 double-backward
    accelerator.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()  #- missing-step
""",
    "accumulate": """\
from accelerate import Accelerator
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model, optimizer, data = accelerator.prepare(model, optimizer, torch.utils.data.DataLoader(data))
for x in data:
    with accelerator.accumulate(model):
        loss = model(x).pow(2).mean()
        accelerator.backward(loss)  #2 double-backward
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()  #- missing-step
        optimizer.zero_grad()  #- missing-zero-grad
""",
    "clear and step where gradients are synchronised": """\
from accelerate import Accelerator
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model, optimizer = accelerator.prepare(model, optimizer)
for x in data:
    with accelerator.accumulate(model):
        output = model(x)
        loss = output.pow(2).mean()
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_value_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()  #- missing-zero-grad
""",
    "mixed precision": """\
from accelerate import Accelerator
accelerator = Accelerator(cpu=True, mixed_precision="bf16")
model, optimizer = accelerator.prepare(model, optimizer)
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    with accelerator.autocast():
        loss = model(x).pow(2).mean()
    accelerator.backward(loss)  #2 double-backward
    optimizer.step()
plain = accelerator.unwrap_model(model)
""",
    "not synchronised": """\
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
model, optimizer = accelerator.prepare(model, optimizer)
for first, last in zip(data[::2], data[1::2]):
    optimizer.zero_grad()  #- missing-zero-grad
    with accelerator.no_sync(model):
        accelerator.backward(model(first).pow(2).mean() / 2)
    accelerator.backward(model(last).pow(2).mean() / 2)
    optimizer.step()
""",
    "two networks": """\
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
judge = nn.Linear(1, 1)
other = torch.optim.SGD(judge.parameters(), lr=0.1)
model, judge, optimizer, other = accelerator.prepare(model, judge, optimizer, other)
for x in data:
    made = model(x)
    other.zero_grad()  #- foreign-grad
    accelerator.backward(judge(made.detach()).mean())
    other.step()
    optimizer.zero_grad()
    accelerator.backward(-judge(made).pow(2).mean())
    optimizer.step()
""",
    "evaluation": """\
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
model, data = accelerator.prepare(model, torch.utils.data.DataLoader(data))
model.eval()
found = []
for x in data:
    with torch.no_grad():  #= eval-without-no-grad: if True:
        out = model(x)
    found.append(accelerator.gather_for_metrics(out).mean().item())
""",
}

FABRIC = {
    "fabric": """\
from lightning.fabric import Fabric
fabric = Fabric(accelerator="cpu", devices=1)
fabric.launch()
model, optimizer = fabric.setup(model, optimizer)
data = fabric.setup_dataloaders(torch.utils.data.DataLoader(data))
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    loss = model(x).pow(2).mean()
    fabric.backward(loss)  #2 double-backward
    fabric.clip_gradients(model, optimizer, max_norm=1.0)
    optimizer.step()  #- missing-step
""",
    "fabric, without synchronisation": """\
from lightning.fabric import Fabric
fabric = Fabric(accelerator="cpu", devices=1)
model, optimizer = fabric.setup(model, optimizer)
for i, x in enumerate(data):
    with fabric.no_backward_sync(model, enabled=i % 2 == 0):
        fabric.backward(model(x).pow(2).mean() / 2)
    if i % 2 == 1:
        optimizer.step()
        optimizer.zero_grad()  #- missing-zero-grad
""",
    "fabric, set up apart": """\
import lightning as L
fabric = L.Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
model = fabric.setup_module(model)
optimizer = fabric.setup_optimizers(optimizer)
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    with fabric.autocast():
        loss = model(x).pow(2).mean()
    fabric.backward(loss)
    optimizer.step()
""",
    "fabric, evaluation": """\
import lightning as L
fabric = L.Fabric(accelerator="cpu", devices=1)
model = fabric.setup_module(model)
model.eval()
found = []
for x in data:
    with torch.no_grad():  #= eval-without-no-grad: if True:
        found.append(model(x).mean().item())
""",
}

TRAINER = (
    "L.Trainer(max_epochs=1, accelerator='cpu', devices=1, logger=False, enable_checkpointing=False, "
    "enable_progress_bar=False, enable_model_summary=False)"
)
CLASS = """\
import lightning as L
class Regression(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
"""
MANUAL = CLASS.replace("__init__()\n", "__init__()\n        self.automatic_optimization = False\n")
ARGUMENT = CLASS.replace("(self)", "(self, manual=True)", 1).replace(
    "__init__()\n", "__init__()\n        self.automatic_optimization = not manual\n"
)
FIT = f"""\
model = Regression()
{TRAINER}.fit(model, torch.utils.data.DataLoader(data), torch.utils.data.DataLoader(data))
"""
LIGHTNING = {
    "automatic": f"""\
{CLASS}\
    def training_step(self, batch, batch_idx):
        loss = self.net(batch).pow(2).mean()
        loss.backward()  #+ double-backward
        self.log("loss", loss)
        return loss
    def validation_step(self, batch, batch_idx):
        out = self.net(batch)
        self.log("gap", out.pow(2).mean())
        return out
    def on_validation_epoch_end(self):
        for x in data:
            self.net(x)
{FIT}""",
    "automatic, the loss in a dict": f"""\
{CLASS}\
    def training_step(self, batch, batch_idx):
        out = self.net(batch)
        loss = out.pow(2).mean()
        return {{"loss": loss, "out": out.detach()}}  #= backward-without-graph: return {{"loss": loss.detach()}}
    def validation_step(self, batch, batch_idx):
        self.net(batch)
{FIT}""",
    "automatic, a loss without a graph": f"""\
{CLASS}\
    def training_step(self, batch, batch_idx):
        loss = self.net(batch).pow(2).mean()
        return loss  #= backward-without-graph: return loss.detach()
    def validation_step(self, batch, batch_idx):
        self.net(batch)
{FIT}""",
    "automatic, one step for all": f"""\
{CLASS}\
    def shared_step(self, batch):
        return self.net(batch).pow(2).mean()
    def training_step(self, batch, batch_idx):
        return self.shared_step(batch)
    def validation_step(self, batch, batch_idx):
        self.log("gap", self.shared_step(batch))
    def test_step(self, batch, batch_idx):
        self.log("gap", self.shared_step(batch))
    def predict_step(self, batch, batch_idx):
        return self.net(batch)
{FIT}""",
    "automatic, own hooks": f"""\
{CLASS}\
    def training_step(self, batch, batch_idx):
        return self.net(batch).pow(2).mean()
    def optimizer_zero_grad(self, epoch, batch_idx, optimizer):
        optimizer.zero_grad()  #= missing-zero-grad: pass
    def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure):
        optimizer.step(closure=optimizer_closure)
    def on_before_optimizer_step(self, optimizer):
        nn.utils.clip_grad_norm_(self.parameters(), 1.0)
    def backward(self, loss):
        loss.backward()
    def validation_step(self, batch, batch_idx):
        self.net(batch)
{FIT}""",
    "manual": f"""\
{MANUAL}\
    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        opt.zero_grad()  #- missing-zero-grad
        loss = self.net(batch).pow(2).mean()
        self.manual_backward(loss)  #2 double-backward
        self.clip_gradients(opt, gradient_clip_val=0.5, gradient_clip_algorithm="norm")
        opt.step()  #- missing-step
    def validation_step(self, batch, batch_idx):
        self.log("gap", self.net(batch).pow(2).mean())
{FIT}""",
    "manual, accumulation": f"""\
{MANUAL}\
    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        loss = self.net(batch).pow(2).mean() / 2
        self.manual_backward(loss)
        if (batch_idx + 1) % 2 == 0:
            opt.step()
            opt.zero_grad()  #- missing-zero-grad
    def validation_step(self, batch, batch_idx):
        self.net(batch)
{FIT}""",
    "automatic, inputs made by an attack": f"""\
{CLASS}\
    def training_step(self, batch, batch_idx):
        inputs = batch.clone().requires_grad_()
        self.net(inputs).pow(2).mean().backward()
        inputs = (batch + 0.1 * inputs.grad.sign()).detach()
        self.zero_grad()
        return self.net(inputs).pow(2).mean()
    def validation_step(self, batch, batch_idx):
        self.net(batch)
{FIT}""",
    "automatic, a penalty on a gradient": f"""\
{CLASS}\
    def training_step(self, batch, batch_idx):
        inputs = batch.clone().requires_grad_()
        out = self.net(inputs)
        (slope,) = torch.autograd.grad(out.sum(), inputs, create_graph=True)
        return out.pow(2).mean() + slope.pow(2).mean()
    def validation_step(self, batch, batch_idx):
        self.net(batch)
{FIT}""",
    "automatic, a hook that evaluates": f"""\
{CLASS}\
    def training_step(self, batch, batch_idx):
        return self.net(batch).pow(2).mean()
    def on_train_epoch_end(self):
        self.net.eval()
        with torch.no_grad():  #= eval-without-no-grad: if True:
            for x in data:
                self.net(x)
        self.net.train()
    def validation_step(self, batch, batch_idx):
        self.net(batch)
{FIT}""",
    "manual, by a class attribute": f"""\
{CLASS}\
    automatic_optimization = False
    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        loss = self.net(batch).pow(2).mean()
        opt.zero_grad()  #- missing-zero-grad
        self.manual_backward(loss)
        opt.step()
        return loss
    def validation_step(self, batch, batch_idx):
        self.net(batch)
{FIT}""",
    "manual, by an argument": f"""\
{ARGUMENT}\
    def training_step(self, batch, batch_idx):
        loss = self.net(batch).pow(2).mean()
        if not self.automatic_optimization:
            opt = self.optimizers()
            opt.zero_grad()  #- missing-zero-grad
            self.manual_backward(loss)
            opt.step()
        return loss
    def validation_step(self, batch, batch_idx):
        self.net(batch)
{FIT}""",
    "a step for Fabric": f"""\
{CLASS}\
    def training_step(self, batch, batch_idx):
        return self.net(batch).pow(2).mean()
fabric = L.Fabric(accelerator="cpu", devices=1)
model = Regression()
net, optimizer = fabric.setup(model, model.configure_optimizers())
net.mark_forward_method("training_step")
for number, x in enumerate(data):
    optimizer.zero_grad()  #- missing-zero-grad
    loss = net.training_step(x, number)
    fabric.backward(loss)  #2 double-backward
    optimizer.step()
""",
    "evaluation by hand": f"""\
{CLASS}\
    def forward(self, x):
        return self.net(x)
    def training_step(self, batch, batch_idx):
        return self(batch).pow(2).mean()
    def validation_step(self, batch, batch_idx):
        self(batch)
{FIT}\
model.eval()
with torch.no_grad():  #= eval-without-no-grad: if True:
    found = [model(x).mean().item() for x in data]
""",
}

IGNITE = {
    "supervised": """\
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Loss
loss_fn = nn.MSELoss()
pairs = [(x, torch.zeros(2, 1)) for x in data]
trainer = create_supervised_trainer(model, optimizer, loss_fn)
evaluator = create_supervised_evaluator(model, metrics={"loss": Loss(loss_fn)})
@trainer.on(Events.EPOCH_COMPLETED)
def report(engine):
    evaluator.run(pairs)
    print(engine.state.epoch, evaluator.state.metrics["loss"])
trainer.run(pairs, max_epochs=2)
""",
    "process function": """\
from ignite.engine import Engine
def update(engine, batch):
    model.train()
    optimizer.zero_grad()  #- missing-zero-grad
    loss = model(batch).pow(2).mean()
    loss.backward()  #2 double-backward
    optimizer.step()  #- missing-step
    return loss.item()
trainer = Engine(update)
trainer.run(data, max_epochs=1)
""",
    "process function, cleared by a handler": """\
from ignite.engine import Engine, Events
def update(engine, batch):
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()
trainer = Engine(update)
@trainer.on(Events.ITERATION_COMPLETED)
def clear(engine):
    optimizer.zero_grad()  #= missing-zero-grad: pass
trainer.run(data, max_epochs=1)
""",
    "process function, cleared by an added handler": """\
from ignite.engine import Engine, Events
def update(engine, batch):
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()
trainer = Engine(update)
trainer.add_event_handler(Events.ITERATION_STARTED, lambda engine: optimizer.zero_grad())  #- missing-zero-grad
trainer.run(data, max_epochs=1)
""",
    "process function, in a maker": """\
from ignite.engine import Engine
def create(model, optimizer, loss_fn):
    def update(engine, batch):
        optimizer.zero_grad()  #- missing-zero-grad
        loss = loss_fn(model(batch), torch.zeros(2, 1))
        loss.backward()  #2 double-backward
        optimizer.step()
        return loss.item()
    return Engine(update)
create(model, optimizer, nn.MSELoss()).run(data)
""",
    "process function, accumulation": """\
from ignite.engine import Engine
def update(engine, batch):
    loss = model(batch).pow(2).mean() / 2
    loss.backward()
    if engine.state.iteration % 2 == 0:
        optimizer.step()
        optimizer.zero_grad()  #- missing-zero-grad
    return loss.item()
Engine(update).run(data, max_epochs=2)
""",
    "process function, stepped by a handler now and then": """\
from ignite.engine import Engine, Events
def update(engine, batch):
    loss = model(batch).pow(2).mean()
    loss.backward()
    return loss.item()
trainer = Engine(update)
@trainer.on(Events.ITERATION_COMPLETED(every=2))
def step(engine):
    optimizer.step()
    optimizer.zero_grad()  #- missing-zero-grad
trainer.run(data)
""",
    "process function, a handler of several events": """\
from ignite.engine import Engine, Events
def update(engine, batch):
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()
trainer = Engine(update)
@trainer.on(Events.STARTED | Events.ITERATION_COMPLETED)
def clear():
    optimizer.zero_grad()  #= missing-zero-grad: pass
trainer.run(data)
""",
    "process function, validated after each epoch": """\
from ignite.engine import Engine, Events
from ignite.metrics import RunningAverage
def update(engine, batch):
    model.train()
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()
def validate(engine, batch):
    model.eval()
    with torch.no_grad():  #= eval-without-no-grad: if True:
        return model(batch)
trainer, evaluator = Engine(update), Engine(validate)
RunningAverage(output_transform=lambda out: out).attach(trainer, "loss")
@trainer.on(Events.ITERATION_STARTED)
def clear():
    optimizer.zero_grad()  #= missing-zero-grad: pass
def report(engine, name):
    evaluator.run(data)
    print(name, engine.state.output)
trainer.add_event_handler(Events.EPOCH_COMPLETED, report, "epoch")
trainer.add_event_handler(Events.COMPLETED, lambda engine: evaluator.run(data))
trainer.run(data, max_epochs=2)
""",
    "process function, a method": """\
from ignite.engine import Engine, Events
class Work:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.trainer = Engine(self.update)
        self.trainer.add_event_handler(Events.ITERATION_COMPLETED, self.clear)
    def update(self, engine, batch):
        loss = self.model(batch).pow(2).mean()
        loss.backward()  #2 double-backward
        self.optimizer.step()
        return loss.item()
    def clear(self, engine):
        self.optimizer.zero_grad()  #= missing-zero-grad: pass
    def fit(self):
        self.trainer.run(data)
Work(model, optimizer).fit()
""",
    "process function, handlers attached elsewhere": """\
from ignite.engine import Engine
def update(engine, batch):
    loss = model(batch).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()
trainer = Engine(update)
made = __import__("types").ModuleType("made")
exec(
    "from ignite.engine import Events\\n"
    "def attach(engine, optimizer):\\n"
    "    engine.add_event_handler(Events.ITERATION_STARTED, lambda engine: optimizer.zero_grad())\\n",
    made.__dict__,
)
made.attach(trainer, optimizer)  #- missing-zero-grad
trainer.run(data)
""",
    "process function, two networks": """\
from ignite.engine import Engine
judge = nn.Linear(1, 1)
other = torch.optim.SGD(judge.parameters(), lr=0.1)
def update(engine, batch):
    made = model(batch)
    other.zero_grad()  #- foreign-grad
    judge(made.detach()).mean().backward()
    other.step()
    optimizer.zero_grad()  #- missing-zero-grad
    loss = -judge(made).pow(2).mean()
    loss.backward()
    optimizer.step()
    return {"loss": loss.item()}
Engine(update).run(data, max_epochs=2)
""",
    "process function, scaled": """\
from ignite.engine import Engine
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
def update(engine, batch):
    model.train()
    optimizer.zero_grad()  #- missing-zero-grad
    with torch.autocast("cpu"):
        loss = model(batch).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
Engine(update).run(data)
""",
    "evaluation by a process function": """\
from ignite.engine import Engine
def validate(engine, batch):
    model.eval()
    with torch.no_grad():  #= eval-without-no-grad: if True:
        return model(batch)
evaluator = Engine(validate)
evaluator.run(data)
""",
    "evaluation by a decorated process function": """\
from ignite.engine import Engine
@torch.no_grad()  #- eval-without-no-grad
def validate(engine, batch):
    model.eval()
    return model(batch)
evaluator = Engine(validate)
evaluator.run(data)
""",
}

NET = """\
import numpy as np
from skorch import NeuralNetRegressor
from skorch.dataset import unpack_data
inputs, targets = np.random.rand(8, 3).astype("float32"), np.zeros((8, 1), dtype="float32")
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
    def forward(self, X):
        return self.layer(X)
"""
TRAIN = """\
net = Regressor(Net, max_epochs=1, batch_size=4, verbose=0)
net.fit(inputs, targets)
model = net.module_
"""
SKORCH = {
    "loss": f"""\
{NET}\
class Regressor(NeuralNetRegressor):
    def get_loss(self, y_pred, y_true, X=None, training=False):
        loss = super().get_loss(y_pred, y_true, X=X, training=training)
        loss += 0.01 * sum(p.abs().sum() for p in self.module_.parameters())
        return loss
{TRAIN}""",
    "training step": f"""\
{NET}\
class Regressor(NeuralNetRegressor):
    def train_step_single(self, batch, **fit_params):
        self._set_training(True)
        Xi, yi = unpack_data(batch)
        y_pred = self.infer(Xi, **fit_params)
        loss = self.get_loss(y_pred, yi, X=Xi, training=True)
        loss.backward()  #2 double-backward
        return {{"loss": loss, "y_pred": y_pred}}
{TRAIN}""",
    "validation step": f"""\
{NET}\
class Regressor(NeuralNetRegressor):
    def validation_step(self, batch, **fit_params):
        self._set_training(False)
        Xi, yi = unpack_data(batch)
        with torch.no_grad():
            y_pred = self.infer(Xi, **fit_params)
            loss = self.get_loss(y_pred, yi, X=Xi, training=False)
        return {{"loss": loss, "y_pred": y_pred}}
{TRAIN}""",
    "training step with own optimizer calls": f"""\
{NET}\
class Regressor(NeuralNetRegressor):
    def train_step(self, batch, **fit_params):
        Xi, yi = unpack_data(batch)
        self.optimizer_.zero_grad()  #- missing-zero-grad
        y_pred = self.infer(Xi)
        loss = self.get_loss(y_pred, yi, X=Xi, training=True)
        loss.backward()
        self.optimizer_.step()
        return {{"loss": loss, "y_pred": y_pred}}
{TRAIN}""",
    "prediction": f"""\
{NET}\
class Regressor(NeuralNetRegressor):
    pass
{TRAIN}\
found = net.predict(inputs).mean()
""",
}

STOOD_IN = {
    "apex": """\
from apex import amp
model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    loss = model(x).pow(2).mean()
    with amp.scale_loss(loss, optimizer) as scaled_loss:
        scaled_loss.backward()  #2 double-backward
    nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
    optimizer.step()  #- missing-step
""",
    "apex, two losses": """\
from apex import amp
other = nn.Linear(3, 1)
second = torch.optim.SGD(other.parameters(), lr=0.1)
[model, other], [optimizer, second] = amp.initialize([model, other], [optimizer, second], num_losses=2)
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    second.zero_grad()
    with amp.scale_loss(model(x).pow(2).mean(), optimizer, loss_id=0) as scaled:
        scaled.backward()
    with amp.scale_loss(other(x).pow(2).mean(), second, loss_id=1) as scaled:
        scaled.backward()
    optimizer.step()
    second.step()
""",
    "deepspeed": """\
import deepspeed
engine, optimizer, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds.json")
for x in data:
    loss = engine(x).pow(2).mean()
    engine.backward(loss)  #2 double-backward
    engine.step()  #- missing-step
""",
    "deepspeed, an engine apart": """\
import deepspeed
def main(args):
    net = nn.Linear(3, 1)
    owned = filter(lambda p: p.requires_grad, net.parameters())
    model_engine, optimizer, _, scheduler = deepspeed.initialize(args=args, model=net, model_parameters=owned)
    for epoch in range(2):
        for step, batch in enumerate(data):
            loss = model_engine(batch).pow(2).mean()
            model_engine.backward(loss)  #2 double-backward
            model_engine.step()
    return net
model = main(None)
""",
    "deepspeed, two engines": """\
import deepspeed
other = nn.Linear(3, 1)
first, _, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config={})
second, _, _, _ = deepspeed.initialize(model=other, model_parameters=other.parameters(), config={})
for x in data:
    loss, other_loss = first(x).pow(2).mean(), second(x).pow(2).mean()
    first.backward(loss)  #2 double-backward
    second.backward(other_loss)
    first.step()  #- missing-step
    second.step()
""",
    "deepspeed, trained and evaluated": """\
import deepspeed
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config={})
for epoch in range(2):
    engine.train()
    for x in data:
        loss = engine(x).pow(2).mean()
        engine.backward(loss)
        engine.step()
    engine.eval()
    for x in data:
        with torch.no_grad():  #= eval-without-no-grad: if True:
            engine(x)
""",
    "deepspeed, evaluation": """\
import deepspeed
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config="ds.json")
engine.eval()
found = []
for x in data:
    with torch.no_grad():  #= eval-without-no-grad: if True:
        out = engine(x)
    found.append(out.mean().item())
""",
    "transformers": """\
from transformers import Trainer, TrainingArguments
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(inputs["x"])
        loss = nn.functional.mse_loss(outputs, labels)  #= backward-without-graph: loss = outputs.pow(2).mean().detach()
        loss.backward()  #+ double-backward
        return (loss, outputs) if return_outputs else loss
arguments = TrainingArguments(output_dir="out", num_train_epochs=1)
rows = [{"x": x, "labels": torch.zeros(2, 1)} for x in data]
trainer = Own(model=model, args=arguments, train_dataset=rows, eval_dataset=rows)
trainer.train()
trainer.evaluate()
""",
    "transformers, training step": """\
from transformers import Trainer, TrainingArguments
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(inputs["x"])
        loss = outputs.pow(2).mean()
        return (loss, outputs) if return_outputs else loss
    def training_step(self, model, inputs, num_items_in_batch=None):
        model.train()
        inputs = self._prepare_inputs(inputs)
        with self.compute_loss_context_manager():
            loss = self.compute_loss(model, inputs)
        self.accelerator.backward(loss)  #2 double-backward
        return loss.detach()
rows = [{"x": x, "labels": torch.zeros(2, 1)} for x in data]
Own(model=model, args=TrainingArguments(output_dir="out"), train_dataset=rows).train()
""",
    "transformers, prediction step": """\
from transformers import Trainer, TrainingArguments
class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(inputs["x"])
        loss = outputs.pow(2).mean()
        return (loss, outputs) if return_outputs else loss
    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        with torch.no_grad():  #= eval-without-no-grad: if True:
            loss, outputs = self.compute_loss(model, inputs, return_outputs=True)
        return loss.detach(), outputs, None
rows = [{"x": x, "labels": torch.zeros(2, 1)} for x in data]
trainer = Own(model=model, args=TrainingArguments(output_dir="out"), train_dataset=rows, eval_dataset=rows)
trainer.evaluate()
""",
    "fastai": """\
from fastai.callback.core import Callback
from fastai.data.core import DataLoaders
from fastai.learner import Learner
class Clip(Callback):
    def before_step(self):
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
    def after_loss(self):
        self.learn.loss_grad += 0.01 * sum(p.pow(2).sum() for p in self.model.parameters())
    def after_validate(self):
        print(self.learn.loss)
pairs = [(x, torch.zeros(2, 1)) for x in data]
learn = Learner(DataLoaders(pairs, pairs), model, loss_func=nn.MSELoss(), cbs=[Clip()])
learn.fit(2)
""",
    "fastai, a callback that accumulates": """\
from fastai.callback.core import Callback, CancelBatchException
from fastai.data.core import DataLoaders
from fastai.learner import Learner
class Accumulate(Callback):
    def before_fit(self):
        self.count = 0
    def after_loss(self):
        self.learn.loss_grad /= 2
    def before_step(self):
        self.count += 1
        if self.count % 2:
            raise CancelBatchException()
pairs = [(x, torch.zeros(2, 1)) for x in data]
learn = Learner(DataLoaders(pairs, pairs), model, loss_func=nn.MSELoss(), cbs=[Accumulate()])
learn.fit(1)
""",
    "fastai, backward in a callback": """\
from fastai.callback.core import Callback, CancelBackwardException
from fastai.data.core import DataLoaders
from fastai.learner import Learner
class Own(Callback):
    def before_backward(self):
        self.learn.loss_grad.backward()
        raise CancelBackwardException()  #- double-backward
pairs = [(x, torch.zeros(2, 1)) for x in data]
Learner(DataLoaders(pairs, pairs), model, loss_func=nn.MSELoss(), cbs=[Own()]).fit(1)
""",
    "mmengine": """\
from mmengine.optim import OptimWrapper
optim_wrapper = OptimWrapper(optimizer=optimizer)
for x in data:
    loss = model(x).pow(2).mean()
    optim_wrapper.update_params(loss)  #2 double-backward
""",
    "mmengine, step by step": """\
from mmengine.optim import OptimWrapper
optim_wrapper = OptimWrapper(optimizer=optimizer, clip_grad=dict(max_norm=1))
for x in data:
    with optim_wrapper.optim_context(model):
        loss = model(x).pow(2).mean()
    optim_wrapper.backward(loss)  #2 double-backward
    optim_wrapper.step()  #- missing-step
    optim_wrapper.zero_grad()  #- missing-zero-grad
""",
    "mmengine, training step": """\
from mmengine.model import BaseModel
from mmengine.optim import OptimWrapper
class Net(BaseModel):
    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    def forward(self, inputs, mode="tensor"):
        out = self.layer(inputs)
        return {"loss": out.pow(2).mean()} if mode == "loss" else out
    def train_step(self, data, optim_wrapper):
        with optim_wrapper.optim_context(self):
            losses = self(data, mode="loss")
        parsed, log = self.parse_losses(losses)
        optim_wrapper.update_params(parsed)  #2 double-backward
        return log
    def val_step(self, data):
        return self(data, mode="predict")
model = Net()
wrapper = OptimWrapper(optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
for x in data:
    model.train_step(x, wrapper)
""",
    "mmengine, mixed precision and evaluation": """\
from mmengine.optim import AmpOptimWrapper
wrapper = AmpOptimWrapper(optimizer=optimizer, loss_scale="dynamic")
for epoch in range(2):
    model.train()
    for x in data:
        with wrapper.optim_context(model):
            loss = model(x).pow(2).mean()
        wrapper.update_params(loss)
    model.eval()
    for x in data:
        with torch.no_grad():  #= eval-without-no-grad: if True:
            model(x)
""",
    "mmengine, two wrappers": """\
from mmengine.model import BaseModel
from mmengine.optim import OptimWrapper
class Pair(BaseModel):
    def __init__(self):
        super().__init__()
        self.maker, self.judge = nn.Linear(3, 3), nn.Linear(3, 1)
    def train_step(self, data, optim_wrapper):
        maker, judge = optim_wrapper["maker"], optim_wrapper["judge"]
        with judge.optim_context(self):
            loss = self.judge(self.maker(data).detach()).pow(2).mean()
        parsed, log = self.parse_losses({"loss": loss})
        judge.update_params(parsed)
        self.judge.requires_grad_(False)  #- foreign-grad
        with maker.optim_context(self):
            loss = -self.judge(self.maker(data)).pow(2).mean()
        maker.update_params(loss)  #2 double-backward
        self.judge.requires_grad_(True)
        return log
model = Pair()
wrappers = {
    "maker": OptimWrapper(optimizer=torch.optim.SGD(model.maker.parameters(), lr=0.1)),
    "judge": OptimWrapper(optimizer=torch.optim.SGD(model.judge.parameters(), lr=0.1)),
}
for x in data:
    model.train_step(x, wrappers)
""",
    "monai": """\
from monai.engines import SupervisedEvaluator, SupervisedTrainer
pairs = [{"image": x, "label": torch.zeros(2, 1)} for x in data]
evaluator = SupervisedEvaluator(device="cpu", val_data_loader=pairs, network=model)
trainer = SupervisedTrainer(
    device="cpu", max_epochs=2, train_data_loader=pairs, network=model, optimizer=optimizer,
    loss_function=nn.MSELoss(),
)
trainer.run()
evaluator.run()
""",
    "monai, own iteration": """\
from monai.engines import SupervisedTrainer
pairs = [{"image": x, "label": torch.zeros(2, 1)} for x in data]
class Own(SupervisedTrainer):
    def _iteration(self, engine, batchdata):
        engine.network.train()
        engine.optimizer.zero_grad()  #- missing-zero-grad
        loss = engine.loss_function(engine.network(batchdata["image"]), batchdata["label"])
        loss.backward()  #2 double-backward
        engine.optimizer.step()
        return {"loss": loss.item()}
Own(
    device="cpu", max_epochs=2, train_data_loader=pairs, network=model, optimizer=optimizer,
    loss_function=nn.MSELoss(),
).run()
""",
    "monai, iteration given": """\
from monai.engines import SupervisedTrainer
pairs = [{"image": x, "label": torch.zeros(2, 1)} for x in data]
def iteration(engine, batchdata):
    engine.network.train()
    engine.optimizer.zero_grad()  #- missing-zero-grad
    loss = engine.loss_function(engine.network(batchdata["image"]), batchdata["label"])
    loss.backward()  #2 double-backward
    engine.optimizer.step()
    return {"loss": loss.item()}
SupervisedTrainer(
    device="cpu", max_epochs=2, train_data_loader=pairs, network=model, optimizer=optimizer,
    loss_function=nn.MSELoss(), iteration_update=iteration,
).run()
""",
    "detectron2": """\
from detectron2.engine import SimpleTrainer
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
    def forward(self, batch):
        return {"loss": self.layer(batch).pow(2).mean()}
model = Net()
SimpleTrainer(model, data, torch.optim.SGD(model.parameters(), lr=0.1)).train(0, 4)
""",
    "detectron2, own step": """\
from detectron2.engine import SimpleTrainer
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)
    def forward(self, batch):
        return {"loss": self.layer(batch).pow(2).mean()}
class Own(SimpleTrainer):
    def run_step(self):
        assert self.model.training
        batch = next(self._data_loader_iter)
        losses = sum(self.model(batch).values())
        self.optimizer.zero_grad()  #- missing-zero-grad
        losses.backward()  #2 double-backward
        self.optimizer.step()  #- missing-step
model = Net()
Own(model, data, torch.optim.SGD(model.parameters(), lr=0.1)).train(0, 4)
""",
    "detectron2, evaluation": """\
from detectron2.evaluation import inference_on_dataset
found = inference_on_dataset(model, data, None)
""",
    "composer": """\
from composer import Trainer
from composer.models import ComposerModel
class Net(ComposerModel):
    def __init__(self):
        super().__init__()
        self.layer = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    def forward(self, batch):
        return self.layer(batch)
    def loss(self, outputs, batch):
        loss = outputs.pow(2).mean()
        loss.backward()  #+ double-backward
        return loss  #= backward-without-graph: return loss.detach()
    def eval_forward(self, batch, outputs=None):
        return outputs if outputs is not None else self.forward(batch)
model = Net()
Trainer(model=model, train_dataloader=data, eval_dataloader=data, max_duration="1ep",
        optimizers=torch.optim.SGD(model.parameters(), lr=0.1)).fit()
""",
    "opacus": """\
from opacus import PrivacyEngine
privacy = PrivacyEngine()
model, optimizer, data = privacy.make_private(
    module=model, optimizer=optimizer, data_loader=data, noise_multiplier=1.1, max_grad_norm=1.0,
)
for x in data:
    optimizer.zero_grad()  #- missing-zero-grad
    loss = model(x).pow(2).mean()
    loss.backward()  #2 double-backward
    optimizer.step()  #- missing-step
""",
    "opacus, by its budget": """\
from opacus import PrivacyEngine
privacy = PrivacyEngine()
model, optimizer, data = privacy.make_private_with_epsilon(
    data_loader=data, module=model, optimizer=optimizer, epochs=2, target_epsilon=3.0, target_delta=1e-5,
    max_grad_norm=1.0,
)
for x in data:
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()  #- missing-zero-grad
""",
    "catalyst": """\
from catalyst import dl
class Own(dl.Runner):
    def handle_batch(self, batch):
        loss = self.model(batch).pow(2).mean()
        self.batch_metrics.update({"loss": loss})
        if self.is_train_loader:
            self.engine.backward(loss)  #2 double-backward
            self.optimizer.step()  #- missing-step
            self.optimizer.zero_grad()  #- missing-zero-grad
Own().train(model=model, optimizer=optimizer, loaders={"train": data, "valid": data}, num_epochs=1)
""",
}

GROUPS = {
    "torch": PYTORCH,
    "accelerate": ACCELERATE,
    "lightning": {**FABRIC, **LIGHTNING},
    "ignite": IGNITE,
    "skorch": SKORCH,
    "": STOOD_IN,
}
RIGHT = {f"{group}: {name}" if group else name: text for group, some in GROUPS.items() for name, text in some.items()}
MARK = re.compile(r"  #(?P<how>[-2+=]) (?P<rule>[a-z-]*)(?:: (?P<code>.*))?$")


def right(way: str) -> str:
    """Return the program without a mistake: no marks, and none of the lines that only wrong ones have."""
    lines = RIGHT[way].split("\n")
    return HEAD + "\n".join(MARK.sub("", line) for line in lines if "  #+ " not in line)


def wrong(way: str, number: int) -> str:
    """Return the program with the mistake that the mark on one of its lines stands for."""
    made = []
    for index, line in enumerate(RIGHT[way].split("\n")):
        mark, plain = MARK.search(line), MARK.sub("", line)
        how = mark["how"] if mark else ""
        if index != number:
            made += [] if how == "+" else [plain]
        elif how == "=":
            assert mark is not None
            made.append(plain[: len(plain) - len(plain.lstrip())] + mark["code"])
        else:
            made += {"-": [], "2": [plain, plain], "+": [plain]}[how]
    return HEAD + "\n".join(made)


WRONG = [
    (way, number, mark["rule"])
    for way, text in RIGHT.items()
    for number, line in enumerate(text.split("\n"))
    if (mark := MARK.search(line))
]

MISSES = {
    ("torch: unsynchronised", "missing-zero-grad"): "the backward of one branch is applied in the other",
    ("torch: sharpness-aware", "missing-zero-grad"): "an optimizer that steps by another one over its own groups",
    ("torch: averaged weights", "missing-zero-grad"): "what is handed the network may clear its gradients",
    ("lightning: automatic, own hooks", "missing-zero-grad"): "that the framework's own clear is taken away",
    ("lightning: manual", "missing-step"): "another hook may step",
    ("lightning: manual, by an argument", "missing-zero-grad"): "hooks are repeated only where no condition is unknown",
    ("ignite: process function, stepped by a handler now and then", "missing-zero-grad"): "which batches are meant",
    ("ignite: process function, a handler of several events", "missing-zero-grad"): "which events are meant",
    ("skorch: training step with own optimizer calls", "missing-zero-grad"): "the optimizer is the library's own",
    ("transformers", "backward-without-graph"): "whether the network is trained is not known",
    ("transformers, prediction step", "eval-without-no-grad"): "one batch of a hook is no loop",
    ("fastai, backward in a callback", "double-backward"): "the loss is the library's own",
    ("monai, own iteration", "missing-zero-grad"): "network and optimizer are attributes of the library's engine",
    ("monai, iteration given", "missing-zero-grad"): "network and optimizer are attributes of the library's engine",
    ("detectron2, own step", "missing-zero-grad"): "network and optimizer are attributes of the library's trainer",
    ("detectron2, own step", "missing-step"): "network and optimizer are attributes of the library's trainer",
    ("composer", "double-backward"): "whether the network is trained is not known",
    ("composer", "backward-without-graph"): "whether the network is trained is not known",
    ("catalyst", "missing-step"): "network and optimizer are attributes of the library's runner",
    ("catalyst", "missing-zero-grad"): "network and optimizer are attributes of the library's runner",
}
"""What adlint does not follow, and why: it stays silent."""

RAISES = {
    "double-backward": "backward through the graph a second time",
    "shared-backward": "backward through the graph a second time",
    "stale-forward": "backward through the graph a second time",
    "backward-without-graph": "does not require grad",
}
"""What PyTorch says of a mistake; without a text, the program ends with other parameters, or records more."""


EVALUATIONS = {
    "accelerate: evaluation",
    "lightning: fabric, evaluation",
    "ignite: evaluation by a process function",
    "ignite: evaluation by a decorated process function",
    "deepspeed, evaluation",
    "transformers, prediction step",
    "detectron2, evaluation",
}
"""Programs that train nothing."""


def names(text: str) -> set[str]:
    return {one.name for one in lint(Source("program.py", text))}


def ready(way: str) -> None:
    """Import the library of a program, once for all the children that are made of this process."""
    needs = {"torch", *(name for name in INSTALLED if re.search(rf"(import|from) {name}\b", RIGHT[way]))}
    missing = sorted(name for name in needs if importlib.util.find_spec(name) is None)
    if missing and os.environ.get(REQUIRE_TORCH) == "1":
        pytest.fail(f"{missing} is not installed, and {REQUIRE_TORCH}=1 demands these tests", pytrace=False)
    if missing:
        pytest.skip(f"{missing} is not installed")
    for name in needs:
        importlib.import_module(name)


@cache
def outcome(text: str, count: bool = False) -> oracle.Outcome:
    """Run a program in a child; one of a library that is not installed finds the stand-ins."""
    installed = any(re.search(rf"(import|from) {name}\b", text) for name in INSTALLED)
    head = "" if installed else f"import sys; sys.path.insert(0, {str(STANDINS)!r})\n"
    return oracle.run(head + text + RESULT, count=count)


@pytest.mark.parametrize("way", RIGHT)
def test_right(way: str) -> None:
    """A right program is silent."""
    assert names(right(way)) == set()


@pytest.mark.parametrize("way", RIGHT)
def test_right_runs(way: str) -> None:
    """A right program runs through, and trains what it calls `model` if it steps anything."""
    ready(way)
    found = outcome(right(way))
    assert found.error is None, found.traceback
    assert oracle.differ(found.result, outcome(untrained(way)).result) is (way not in EVALUATIONS)


def untrained(way: str) -> str:
    """Return the right program where no optimizer changes anything."""
    still = (
        "torch.optim.SGD.step = torch.optim.LBFGS.step = lambda self, closure=None: closure and closure() and None\n"
    )
    return right(way).replace("torch.manual_seed(0)\n", f"{still}torch.manual_seed(0)\n", 1)


@pytest.mark.parametrize(("way", "number", "rule"), WRONG)
def test_wrong(way: str, number: int, rule: str) -> None:
    """A wrong program is reported by its rule alone; a known miss is silent."""
    assert names(wrong(way, number)) == (set() if (way, rule) in MISSES else {rule})


@pytest.mark.parametrize(("way", "number", "rule"), WRONG)
def test_wrong_goes_wrong(way: str, number: int, rule: str) -> None:
    """A wrong program raises what PyTorch says of such a mistake, or ends otherwise than the right one; an evaluation
    that records keeps tensors."""
    ready(way)
    text = wrong(way, number)
    if rule == "eval-without-no-grad":
        kept, none = outcome(text, count=True).saved, outcome(right(way), count=True).saved
        assert kept is not None
        assert none is not None
        assert kept > none
        return
    found = outcome(text)
    if found.error is not None:
        assert RAISES[rule] in found.error
    else:
        assert rule not in RAISES or way in REPEATABLE
        assert oracle.differ(found.result, outcome(right(way)).result)


REPEATABLE: set[str] = set()
"""Programs whose second backward adds to the first instead of raising."""


@pytest.mark.parametrize(("way", "number", "rule"), [one for one in WRONG if (one[0], one[2]) not in MISSES])
def test_mended(way: str, number: int, rule: str) -> None:
    """What adlint makes of a wrong program runs and is no longer reported, where it offers something."""
    ready(way)
    text = wrong(way, number)
    mended = fix(Source("program.py", text), Settings(), unsafe=True).text
    if mended != text:
        assert names(mended) == set()
        assert outcome(mended).error is None
