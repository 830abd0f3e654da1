"""What is reported of small programs, and what the fixes make of them: all of it run under PyTorch.

A case is the body of a program under HEAD. The sign before a line tells whether a fix takes it out (`-`) or puts it in
(`+`); `<` and `>` are what a person would do where adlint offers nothing. `#: rule` is what is reported on a line, with
a question mark if only as possible; `#: raises` is where the program stops, if nothing is reported there.
"""

from __future__ import annotations

from dataclasses import dataclass

import oracle
import pytest

from adlint.config import Settings
from adlint.linter import fix, lint
from adlint.source import Source

HEAD = """\
import copy
import random

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(4, 3), torch.randn(4, 1)
few = x[x[:, 0] > 9]
data = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(4)]
loss_fn = nn.MSELoss()
scaler = torch.amp.GradScaler("cpu")
"""
RESULT = """
RESULT = [
    number.detach().sum()
    for one in (*globals().values(),)
    if isinstance(one, (nn.Module, torch.Tensor))
    for number in (
        (torch.tensor(float(one.training)), *one.parameters())
        if isinstance(one, nn.Module)
        else [one] if one.is_leaf and one.requires_grad else []
    )
]
"""

RAISES = {
    "coin": """
 def loss_of(x):
     if random.random() < 2:
         return torch.tensor(0.0)
     return loss_fn(model(x), y)
 loss_of(x).backward()  #: backward-without-graph?
""",
    "coin, conditional": """
 loss = torch.tensor(0.0) if random.random() < 2 else loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph?
""",
    "number": """
 loss = torch.tensor(0.0)
 loss.backward()  #: backward-without-graph?
""",
    "item": """
 loss = loss_fn(model(x), y)
-loss = torch.tensor(loss.item())
 loss.backward()  #: backward-without-graph
""",
    "item, of a function": """
 def loss_of():
     return loss_fn(model(x), y).item()
 loss = torch.tensor(loss_of())
 loss.backward()  #: backward-without-graph
""",
    "float": """
 loss = loss_fn(model(x), y)
-loss = torch.tensor(float(loss))
 loss.backward()  #: backward-without-graph
""",
    "float of two": """
 a, b = loss_fn(model(x), y), model(x).mean()
 loss = torch.tensor(float(a) + float(b))
 loss.backward()  #: backward-without-graph
""",
    "item method": """
-loss = loss_fn(model(x), y).item()
+loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "numpy": """
 loss = torch.tensor(loss_fn(model(x), y).detach().cpu().numpy())
 loss.backward()  #: backward-without-graph
""",
    "from_numpy": """
 loss = torch.from_numpy(model(x).detach().numpy()).mean()
 loss.backward()  #: backward-without-graph
""",
    "keyword": """
 loss = loss_fn(model(x), y)
-loss = torch.tensor(data=loss)
 loss.backward()  #: backward-without-graph
""",
    "stack": """
 a, b = loss_fn(model(x), y), model(x).mean()
-loss = torch.tensor([a, b]).sum()
+loss = torch.stack([a, b]).sum()
 loss.backward()  #: backward-without-graph
""",
    "stack of one": """
 a = loss_fn(model(x), y)
 loss = torch.tensor([a]).sum()
 loss.backward()  #: backward-without-graph
""",
    "stack of expressions": """
 a = loss_fn(model(x), y)
 loss = torch.tensor([a * 2, a]).sum()
 loss.backward()  #: backward-without-graph
""",
    "detach in the call": """
 out = model(x)
-loss = loss_fn(out.detach(), y)
+loss = loss_fn(out, y)
 loss.backward()  #: backward-without-graph
""",
    "data": """
-out = model(x).data
+out = model(x)
 loss = loss_fn(out, y)
 loss.backward()  #: backward-without-graph
""",
    "data later": """
 out = model(x)
-loss = loss_fn(out.data, y)
+loss = loss_fn(out, y)
 loss.backward()  #: backward-without-graph
""",
    "detach_": """
 out = model(x)
 out.detach_()
 loss = loss_fn(out, y)
 loss.backward()  #: backward-without-graph
""",
    "detach by function": """
 out = torch.Tensor.detach(model(x))
 loss = loss_fn(out, y)
 loss.backward()  #: backward-without-graph
""",
    "detach in a function": """
 def forward(x):
-    return model(x).detach()
+    return model(x)
 loss = loss_fn(forward(x), y)
 loss.backward()  #: backward-without-graph
""",
    "detach with cpu": """
-out = model(x).cpu().detach()
+out = model(x).cpu()
 loss = loss_fn(out, y)
 loss.backward()  #: backward-without-graph
""",
    "with": """
-with torch.no_grad():
-    loss = loss_fn(model(x), y)
+loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "with, long": """
-with torch.no_grad():
-    out = model(x)
-    out = out * 2
-    loss = loss_fn(out, y)
+out = model(x)
+out = out * 2
+loss = loss_fn(out, y)
 loss.backward()  #: backward-without-graph
""",
    "with, two items": """
 with torch.no_grad(), torch.autocast("cpu"):
     loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "decorated": """
 @torch.no_grad()
 def loss_of():
     return loss_fn(model(x), y)
 loss_of().backward()  #: backward-without-graph
""",
    "decorated, whole": """
-@torch.no_grad()
 def train():
     loss = loss_fn(model(x), y)
     loss.backward()  #: backward-without-graph
 train()
""",
    "decorated, forward": """
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.layer = nn.Linear(3, 1)
-    @torch.no_grad()
     def forward(self, x):
         return self.layer(x)
 loss = loss_fn(Net()(x), y)
 loss.backward()  #: backward-without-graph
""",
    "generator": """
 def losses():
     with torch.no_grad():
         yield loss_fn(model(x), y)
 for loss in losses():
     loss.backward()  #: backward-without-graph
""",
    "inference": """
-with torch.inference_mode():
-    loss = loss_fn(model(x), y)
+loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "set": """
 torch.set_grad_enabled(False)
 loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "set, with": """
-with torch.set_grad_enabled(False):
-    loss = loss_fn(model(x), y)
+loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "named scope": """
 scope = torch.no_grad()
 with scope:
     loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "entered": """
 scope = torch.no_grad()
 scope.__enter__()
 loss = loss_fn(model(x), y)
 scope.__exit__(None, None, None)
 loss.backward()  #: backward-without-graph
""",
    "argmax": """
 loss = model(x).argmax().float()
 loss.backward()  #: backward-without-graph
""",
    "frozen": """
 model.requires_grad_(False)
 loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "compare": """
 loss = (model(x) > 0).float().mean()
 loss.backward()  #: backward-without-graph
""",
    "caught, other": """
 try:
-    loss_fn(model(x).detach(), y).backward()  #: backward-without-graph
+    loss_fn(model(x), y).backward()
 except KeyError:
     pass
""",
    "carried": """
 h = torch.zeros(4, 3)
 for x, y in data:
+    h = h.detach()
     optimizer.zero_grad()
     h = torch.tanh(model(x) + h)
     loss = h.mean()
     loss.backward()  #: carried-graph
     optimizer.step()
""",
    "carried, tuple of tuples": """
 cell = nn.LSTMCell(3, 3)
 opt = torch.optim.SGD(cell.parameters(), lr=0.1)
 states = ((torch.zeros(4, 3), torch.zeros(4, 3)), (torch.zeros(4, 3), torch.zeros(4, 3)))
 for x, y in data:
+    states = tuple(tuple(part.detach() for part in parts) for parts in states)
     opt.zero_grad()
     a = cell(x, states[0])
     b = cell(a[0], states[1])
     states = (a, b)
     b[0].mean().backward()  #: carried-graph
     opt.step()
""",
    "carried, list of tuples": """
 cell = nn.LSTMCell(3, 3)
 opt = torch.optim.SGD(cell.parameters(), lr=0.1)
 states = [(torch.zeros(4, 3), torch.zeros(4, 3)), (torch.zeros(4, 3), torch.zeros(4, 3))]
 for x, y in data:
+    states = [tuple(part.detach() for part in parts) for parts in states]
     opt.zero_grad()
     a = cell(x, states[0])
     b = cell(a[0], states[1])
     states = [a, b]
     b[0].mean().backward()  #: carried-graph
     opt.step()
""",
    "carried, dict": """
 cell = nn.GRUCell(3, 3)
 opt = torch.optim.SGD(cell.parameters(), lr=0.1)
 state = {"h": torch.zeros(4, 3)}
 for x, y in data:
+    state = {key: part.detach() for key, part in state.items()}
     opt.zero_grad()
     state = {"h": cell(x, state["h"])}
     state["h"].mean().backward()  #: carried-graph
     opt.step()
""",
    "carried, dict of tuples": """
 cell = nn.LSTMCell(3, 3)
 opt = torch.optim.SGD(cell.parameters(), lr=0.1)
 state = {"h": (torch.zeros(4, 3), torch.zeros(4, 3))}
 for x, y in data:
+    state = {key: tuple(part.detach() for part in parts) for key, parts in state.items()}
     opt.zero_grad()
     state = {"h": cell(x, state["h"])}
     state["h"][0].mean().backward()  #: carried-graph
     opt.step()
""",
    "carried, dict key": """
 cell = nn.GRUCell(3, 3)
 opt = torch.optim.SGD(cell.parameters(), lr=0.1)
 state = {"h": torch.zeros(4, 3)}
 for x, y in data:
+    state = {key: part.detach() for key, part in state.items()}
     opt.zero_grad()
     state["h"] = cell(x, state["h"])
     state["h"].mean().backward()  #: carried-graph
     opt.step()
""",
    "carried, list entry": """
 past = []
 for x, y in data:
     optimizer.zero_grad()
     past.append(model(x))
     loss = sum(past).mean()
     loss.backward()  #: carried-graph
     optimizer.step()
+    past = [part.detach() for part in past]
""",
    "carried, list of pairs": """
 past = []
 for x, y in data:
     optimizer.zero_grad()
     past.append((model(x), y))
     loss = sum(loss_fn(a, b) for a, b in past)
     loss.backward()  #: carried-graph
     optimizer.step()
""",
    "carried, extend": """
 past = []
 for x, y in data:
     optimizer.zero_grad()
     past.extend([model(x)])
     loss = sum(past).mean()
     loss.backward()  #: carried-graph
     optimizer.step()
+    past = [part.detach() for part in past]
""",
    "carried, augmented list": """
 past = []
 for x, y in data:
     optimizer.zero_grad()
     past += [model(x)]
     loss = sum(past).mean()
     loss.backward()  #: carried-graph
     optimizer.step()
+    past = [part.detach() for part in past]
""",
    "carried, sum": """
 total = 0
 for x, y in data:
     optimizer.zero_grad()
     total += loss_fn(model(x), y)
     total.backward()  #: carried-graph
     optimizer.step()
+    total = total.detach()
""",
    "carried, starred": """
 cell = nn.LSTMCell(3, 3)
 opt = torch.optim.SGD(cell.parameters(), lr=0.1)
 h, c = torch.zeros(4, 3), torch.zeros(4, 3)
 for x, y in data:
+    h = h.detach()
     opt.zero_grad()
     h, *c = cell(x, (h, c if isinstance(c, torch.Tensor) else c[0]))
     h.mean().backward()  #: carried-graph
     opt.step()
+    c = [part.detach() for part in c]
""",
    "carried, inner loop": """
 h = torch.zeros(4, 3)
 for x, y in data:
+    h = h.detach()
     optimizer.zero_grad()
     for _ in range(2):
         h = torch.tanh(model(x) + h)
     loss = h.mean()
     loss.backward()  #: carried-graph
     optimizer.step()
""",
    "carried, attribute target": """
 class State:
     pass
 state = State()
 state.h = torch.zeros(4, 3)
 for x, y in data:
+    state.h = state.h.detach()
     optimizer.zero_grad()
     state.h = torch.tanh(model(x) + state.h)
     loss = state.h.mean()
     loss.backward()  #: carried-graph
     optimizer.step()
""",
    "carried, sometimes": """
 h = torch.zeros(4, 3)
 for i, (x, y) in enumerate(data):
     h = torch.tanh(model(x) + h)
     if i % 2 == 1:
         optimizer.zero_grad()
         loss = h.mean()
         loss.backward()  #: carried-graph
+        h = h.detach()
         optimizer.step()
""",
    "carried, in a function": """
 h = torch.zeros(4, 3)
 def turn(x):
     global h
     optimizer.zero_grad()
     h = torch.tanh(model(x) + h)
     loss = h.mean()
     loss.backward()  #: carried-graph
     optimizer.step()
 for x, y in data:
+    h = h.detach()
     turn(x)
""",
    "no step, scaled": """
 for x, y in data:
     optimizer.zero_grad()
     scaler.scale(loss_fn(model(x), y)).backward()  #: missing-step
+    scaler.step(optimizer)
     scaler.update()  #: raises
""",
    "grad of a result, leaf inside": """
-w = torch.ones(3, 1, requires_grad=True) * 0.1
+w = torch.ones(3, 1) * 0.1
+w.requires_grad_()
 loss_fn(x @ w, y).backward()
 print(w.grad.sum())  #: non-leaf-grad
""",
    "grad of a result, leaf method": """
-w = torch.ones(3, 1).requires_grad_() * 0.1
+w = torch.ones(3, 1) * 0.1
+w.requires_grad_()
 loss_fn(x @ w, y).backward()
 print(w.grad.sum())  #: non-leaf-grad
""",
    "grad of a result, Parameter": """
-w = nn.Parameter(torch.ones(3, 1)) * 0.1
+w = nn.Parameter(torch.ones(3, 1) * 0.1)
 loss_fn(x @ w, y).backward()
 print(w.grad.sum())  #: non-leaf-grad
""",
    "grad of a result, Parameter, keyword": """
 w = nn.Parameter(data=torch.ones(3, 1)) * 0.1
 loss_fn(x @ w, y).backward()
 print(w.grad.sum())  #: non-leaf-grad
""",
    "grad of a result, two steps": """
-w = torch.ones(3, 1, requires_grad=True)
+w = torch.ones(3, 1)
 w = w * 0.1
+w.requires_grad_()
 loss_fn(x @ w, y).backward()
 print(w.grad.sum())  #: non-leaf-grad
""",
    "grad of a result, branch": """
 scale = 1
 if scale:
     w = torch.ones(3, 1, requires_grad=True)
 w = w * 0.1
 loss_fn(x @ w, y).backward()
 print(w.grad.sum())  #: non-leaf-grad
""",
    "rebound": """
 w = torch.zeros(3, 1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w, y).backward()
-    w = w - 0.1 * w.grad  #: non-leaf-grad
+    with torch.no_grad():
+        w -= 0.1 * w.grad
+    w.grad = None
""",
    "rebound, zeroed": """
 w = torch.zeros(3, 1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w, y).backward()
-    w = w - 0.1 * w.grad
+    with torch.no_grad():
+        w -= 0.1 * w.grad
     w.grad.zero_()  #: non-leaf-grad
""",
    "rebound, no_grad": """
 w = torch.zeros(3, 1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w, y).backward()  #: backward-without-graph
     with torch.no_grad():
-        w = w - 0.1 * w.grad
+        w -= 0.1 * w.grad
+        w.grad = None
""",
    "rebound, given, no_grad": """
 def train(w):
     for x, y in data:
         loss_fn(x @ w, y).backward()  #: backward-without-graph
         with torch.no_grad():
-            w = w - 0.1 * w.grad
+            w -= 0.1 * w.grad
+            w.grad = None
     return w
 train(torch.zeros(3, 1, requires_grad=True))
""",
    "rebound, lines": """
 w = torch.zeros(3, 1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w, y).backward()
     w = w - (0.1 *  #: raises
              w.grad)  #: non-leaf-grad
""",
    "rebound, no loop": """
 w = torch.zeros(3, 1, requires_grad=True)
 loss_fn(x @ w, y).backward()
-w = w - 0.1 * w.grad
+with torch.no_grad():
+    w -= 0.1 * w.grad
+w.grad = None
 loss_fn(x @ w, y).backward()
 w = w - 0.1 * w.grad  #: non-leaf-grad
""",
    "untracked": """
 g = torch.autograd.grad(model(x).sum(), x)  #: inactive-grad
""",
    "untracked, pair": """
 a, b = torch.randn(4, 3), torch.randn(4, 3)
 g = torch.autograd.grad(model(a).sum(), a)  #: inactive-grad
""",
    "untracked, list": """
 inputs = [torch.randn(4, 3)]
 g = torch.autograd.grad(model(inputs[0]).sum(), inputs)  #: inactive-grad
""",
    "untracked, function": """
 def given():
     return torch.randn(4, 3)
 a = given()
 g = torch.autograd.grad(model(a).sum(), a)  #: inactive-grad
""",
    "unused": """
 a, b = torch.randn(4, 3, requires_grad=True), torch.randn(4, 3, requires_grad=True)
-g = torch.autograd.grad(model(a).sum(), [a, b])  #: inactive-grad
+g = torch.autograd.grad(model(a).sum(), [a, b], allow_unused=True)
""",
    "unused, one": """
 b = torch.randn(4, 3, requires_grad=True)
-g = torch.autograd.grad(model(x).sum(), b)  #: inactive-grad
+g = torch.autograd.grad(model(x).sum(), b, allow_unused=True)
""",
    "unused, keyword": """
 a, b = torch.randn(4, 3, requires_grad=True), torch.randn(4, 3, requires_grad=True)
-g = torch.autograd.grad(model(a).sum(), inputs=[a, b])  #: inactive-grad
+g = torch.autograd.grad(model(a).sum(), inputs=[a, b], allow_unused=True)
""",
    "many": """
 loss = nn.MSELoss(reduction="none")(model(x), y)
-loss.backward()  #: non-scalar-backward
+loss.mean().backward()
""",
    "many, functional": """
-loss = F.mse_loss(model(x), y, reduction="none")
+loss = F.mse_loss(model(x), y, reduction="mean")
 loss.backward()  #: non-scalar-backward
""",
    "many, named": """
-how = "none"
+how = "mean"
 loss = F.mse_loss(model(x), y, reduction=how)
 loss.backward()  #: non-scalar-backward
""",
    "many, named twice": """
 how = "none"
 how = "none"
 loss = F.mse_loss(model(x), y, reduction=how)
-loss.backward()  #: non-scalar-backward
+loss.mean().backward()
""",
    "many, of a table": """
 how = {"reduction": "none"}
 loss = F.mse_loss(model(x), y, reduction=how["reduction"])
-loss.backward()  #: non-scalar-backward
+loss.mean().backward()
""",
    "many, criterion": """
-criterion = nn.MSELoss(reduction="none")
+criterion = nn.MSELoss(reduction="mean")
 loss = criterion(model(x), y)
 loss.backward()  #: non-scalar-backward
""",
    "many, criteria": """
 criterion = nn.MSELoss()
 criterion = nn.MSELoss(reduction="none")
 loss = criterion(model(x), y)
-loss.backward()  #: non-scalar-backward
+loss.mean().backward()
""",
    "many, operator": """
-(model(x) - y).backward()  #: non-scalar-backward
+((model(x) - y).mean()).backward()
""",
    "many, list": """
 torch.autograd.backward([model(x) - y])  #: non-scalar-backward
""",
    "many, grad": """
 w = torch.ones(3, requires_grad=True)
-g = torch.autograd.grad(w * 2, w)  #: non-scalar-backward
+g = torch.autograd.grad((w * 2).sum(), w)
""",
    "many, grad list": """
 w = torch.ones(3, requires_grad=True)
 g = torch.autograd.grad([w * 2], w)  #: non-scalar-backward
""",
    "many, keyword": """
 w = torch.ones(3, requires_grad=True)
-g = torch.autograd.grad(outputs=w * 2, inputs=w)  #: non-scalar-backward
+g = torch.autograd.grad(outputs=(w * 2).sum(), inputs=w)
""",
    "empty, conditional": """
 def loss_of(x):
     return loss_fn(model(x), y[: len(x)]) if len(x) > 0 else torch.tensor(0.0)
 loss_of(few).backward()  #: backward-without-graph
""",
    "empty, positive": """
 def loss_of(x):
     return torch.tensor(0.0) if x.numel() == 0 else loss_fn(model(x), y[: len(x)])
 loss_of(few).backward()  #: backward-without-graph
""",
    "empty, not": """
 def loss_of(x):
     return torch.tensor(0.0) if not len(x) else loss_fn(model(x), y[: len(x)])
 loss_of(few).backward()  #: backward-without-graph
""",
    "empty, shape": """
 def loss_of(x):
     return torch.tensor(0.0) if x.shape[0] < 1 else loss_fn(model(x), y[: len(x)])
 loss_of(few).backward()  #: backward-without-graph
""",
    "empty, branch": """
 mask = y > 9
 if mask.any():
     loss = loss_fn(model(x)[mask], y[mask])
 else:
     loss = torch.tensor(0.0)
 loss.backward()  #: backward-without-graph
""",
    "empty, guard": """
 def loss_of(x, mask):
     if mask.sum().item() != 0:
         return loss_fn(model(x)[mask], y[mask])
     return torch.tensor(0.0)
 loss_of(x, y > 9).backward()  #: backward-without-graph
""",
    "empty, named": """
 def loss_of(x, mask):
     n = int(mask.sum())
     if n >= 1:
         return loss_fn(model(x)[mask], y[mask])
     return torch.tensor(0.0)
 loss_of(x, y > 9).backward()  #: backward-without-graph
""",
    "empty, or": """
 def loss_of(x):
     if x is None or len(x) == 0:
         return torch.tensor(0.0)
     return loss_fn(model(x), y[: len(x)])
 loss_of(few).backward()  #: backward-without-graph?
""",
    "empty, and": """
 def loss_of(x):
     if x is not None and len(x):
         return loss_fn(model(x), y[: len(x)])
     return torch.tensor(0.0)
 loss_of(few).backward()  #: backward-without-graph?
""",
    "empty, by a lambda": """
 loss_of = lambda: torch.tensor(0.0)
 if len(few) == 0:
     loss = loss_of()
 else:
     loss = loss_fn(model(few), y[: len(few)])
 loss.backward()  #: backward-without-graph?
""",
    "empty, term": """
 if len(few) == 0:
     loss = torch.tensor(0.0) * 2
 else:
     loss = loss_fn(model(few), y[: len(few)])
 loss.backward()  #: backward-without-graph?
""",
    "empty, compared with a sum": """
 n = len(few) + 0
 if n == 0:
     loss = torch.tensor(0.0)
 else:
     loss = loss_fn(model(few), y[: len(few)])
 loss.backward()  #: backward-without-graph?
""",
    "made in a call": """
 loss = loss_fn(model(x), y)
-print(torch.tensor(loss.item()).backward())  #: backward-without-graph
+print(loss.backward())
""",
    "returned": """
 def wrapped(loss):
-    return torch.tensor(loss)
+    return loss
 wrapped(loss_fn(model(x), y)).backward()  #: backward-without-graph
""",
    "returned, with a name": """
 def wrapped(loss):
-    loss = torch.tensor(loss)
     return loss
 wrapped(loss_fn(model(x), y)).backward()  #: backward-without-graph
""",
    "frozen by a scope in a list": """
 scopes = [torch.no_grad()]
 with scopes[0]:
     loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "scope returned": """
 def quiet():
     return torch.no_grad()
 with quiet():
     loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "scope by default": """
 def loss_of(scope=torch.no_grad()):
     with scope:
         return loss_fn(model(x), y)
 loss_of().backward()  #: backward-without-graph
""",
    "scope, lambda": """
 quiet = lambda: torch.no_grad()
 with quiet():
     loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "shared": """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
-a.backward()
-b.backward()  #: shared-backward
+(a + b).backward()
""",
    "shared, step between": """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
 a.backward()
 optimizer.step()
 b.backward()  #: shared-backward
""",
    "shared, rebound": """
 features = torch.tanh(model(x))
 loss = features.mean()
 loss.backward()
 loss = features.pow(2).mean()
 loss.backward()  #: shared-backward
""",
    "shared, different calls": """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
 scaler.scale(a).backward()
 b.backward()  #: shared-backward
""",
    "shared, other function": """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
 a.backward()
 torch.autograd.backward(b)  #: shared-backward
""",
    "shared, grad": """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
-g = torch.autograd.grad(a, list(model.parameters()))
+g = torch.autograd.grad(a, list(model.parameters()), create_graph=True)
 b.backward()  #: shared-backward
""",
    "shared, grads": """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
 g = torch.autograd.grad(a, list(model.parameters()))
 h = torch.autograd.grad(b, list(model.parameters()))  #: shared-backward
""",
    "shared, listed": """
 features = torch.tanh(model(x))
 losses = [features.mean(), features.pow(2).mean()]
-torch.autograd.backward(losses[0])
-torch.autograd.backward(losses[1])  #: shared-backward
+torch.autograd.backward(losses[0] + losses[1])
""",
    "double": """
 loss = loss_fn(model(x), y)
 loss.backward()
-loss.backward()  #: double-backward
""",
    "double, penalty": """
 x.requires_grad_()
 loss = torch.tanh(model(x)).mean()
-g, = torch.autograd.grad(loss, x)
+g, = torch.autograd.grad(loss, x, create_graph=True)
 (loss + g.pow(2).sum()).backward()  #: shared-backward
""",
    "carried, nested dict": """
 state = {"a": {"h": torch.zeros(4, 3)}}
 for x, y in data:
     optimizer.zero_grad()
     state = {"a": {"h": torch.tanh(model(x) + state["a"]["h"])}}
     state["a"]["h"].mean().backward()  #: carried-graph
     optimizer.step()
""",
    "carried, comprehension": """
 h = torch.zeros(4, 3)
 for x, y in data:
+    h = h.detach()
     optimizer.zero_grad()
     hs = [torch.tanh(model(x) + h) for _ in range(2)]
     h = hs[-1]
     h.mean().backward()  #: carried-graph
     optimizer.step()
""",
    "carried, two names": """
 h = g = torch.zeros(4, 3)
 for x, y in data:
+    g = g.detach()
     optimizer.zero_grad()
     h = torch.tanh(model(x) + g)
     g = h
     g.mean().backward()  #: carried-graph
     optimizer.step()
""",
    "carried, entry of a list comprehension": """
 past = []
 for x, y in data:
     optimizer.zero_grad()
     past.append([model(x) for _ in range(1)])
     loss = sum(one[0] for one in past).mean()
     loss.backward()  #: carried-graph
     optimizer.step()
""",
    "carried, deque": """
 import collections
 past = collections.deque(maxlen=3)
 for x, y in data:
     optimizer.zero_grad()
     out = model(x) + sum(past)
-    past.append(out)
+    past.append(out.detach())
     out.pow(2).mean().backward()  #: carried-graph
     optimizer.step()
""",
    "carried, deque inserted": """
 past = []
 for x, y in data:
     optimizer.zero_grad()
     out = model(x) + sum(past)
     out.pow(2).mean().backward()  #: carried-graph
     optimizer.step()
     past.append(out)
+    past = [part.detach() for part in past]
""",
    "carried, inner for target": """
 h = torch.zeros(4, 3)
 for x, y in data:
+    h = h.detach()
     optimizer.zero_grad()
     for k, (a, *b) in enumerate([(1, 2, 3)]):
         h = torch.tanh(model(x) + h)
     h.mean().backward()  #: carried-graph
     optimizer.step()
""",
    "carried, augmented": """
 h = torch.zeros(4, 3)
 n = 0
 for x, y in data:
+    h = h.detach()
     n += 1
     optimizer.zero_grad()
     h = h + torch.tanh(model(x))
     h.pow(2).mean().backward()  #: carried-graph
     optimizer.step()
""",
    "keyword dtype": """
 loss = loss_fn(model(x), y)
 loss = torch.tensor(dtype=torch.float, data=loss)
 loss.backward()  #: backward-without-graph
""",
    "set, with mode": """
-with torch.set_grad_enabled(mode=False):
-    loss = loss_fn(model(x), y)
+loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
""",
    "optimized": """
-w = torch.ones(3, 1, requires_grad=True) * 0.1
+w = torch.ones(3, 1) * 0.1
+w.requires_grad_()
 opt = torch.optim.SGD([w], lr=0.1)  #: non-leaf-grad
 for x, y in data:
     opt.zero_grad()
     loss_fn(x @ w, y).backward()
     opt.step()
""",
    "optimized, function": """
 def make():
     return torch.ones(3, 1, requires_grad=True) * 0.1
 w = make()
 opt = torch.optim.SGD([w], lr=0.1)  #: non-leaf-grad
 for x, y in data:
     opt.zero_grad()
     loss_fn(x @ w, y).backward()
     opt.step()
""",
    "optimized, two leaves": """
 a = torch.ones(3, 1, requires_grad=True)
 b = torch.ones(3, 1, requires_grad=True)
 w = a + b
 opt = torch.optim.SGD([w], lr=0.1)  #: non-leaf-grad
 for x, y in data:
     opt.zero_grad()
     loss_fn(x @ w, y).backward()
     opt.step()
""",
    "inference tensor": """
-with torch.inference_mode():
+with torch.no_grad():
     features = model(x).relu()
 head = nn.Linear(1, 1)
 loss = head(features).mean()  #: inference-tensor-in-graph
 loss.backward()
""",
    "inference tensor, twice": """
-with torch.inference_mode():
+with torch.no_grad():
     features = model(x).relu()
 head = nn.Linear(1, 1)
 for _ in range(2):
     loss = head(features).mean()  #: inference-tensor-in-graph
     loss.backward()
""",
    "stale": """
-out = torch.tanh(model(x))
 for i in range(3):
+    out = torch.tanh(model(x))
     optimizer.zero_grad()
     loss = loss_fn(out, y)
     loss.backward()  #: stale-forward
     optimizer.step()
""",
    "stale, with the loss": """
-out = torch.tanh(model(x))
-loss = loss_fn(out, y)
 for i in range(3):
+    out = torch.tanh(model(x))
+    loss = loss_fn(out, y)
     optimizer.zero_grad()
     loss.backward()  #: stale-forward
     optimizer.step()
""",
    "stale, between": """
 h = x * 2
-out = torch.tanh(model(h))
 import math
 pass
 scale = 2
 print(scale)
-loss = loss_fn(out, y)
 for i in range(3):
+    out = torch.tanh(model(h))
+    loss = loss_fn(out, y)
     optimizer.zero_grad()
     loss.backward()  #: stale-forward
     optimizer.step()
""",
    "stale, input changed": """
 h = x * 2
 out = torch.tanh(model(h))
 h = x * 3
 print(h.sum())
 for i in range(3):
     optimizer.zero_grad()
     loss = loss_fn(out, y)
     loss.backward()  #: stale-forward
     optimizer.step()
""",
    "stale, into a table": """
 outs = {}
 outs["a"] = torch.tanh(model(x))
 for i in range(3):
     optimizer.zero_grad()
     loss = loss_fn(outs["a"], y)
     loss.backward()  #: stale-forward
     optimizer.step()
""",
    "stale, item set between": """
 out = torch.tanh(model(x))
 table = {}
 table["a"] = 1
 loss = loss_fn(out, y)
 for i in range(3):
     optimizer.zero_grad()
     loss.backward()  #: stale-forward
     optimizer.step()
""",
    "stale, text between": """
-out = torch.tanh(model(x))
 "a note"
-loss = loss_fn(out, y)
 for i in range(3):
+    out = torch.tanh(model(x))
+    loss = loss_fn(out, y)
     optimizer.zero_grad()
     loss.backward()  #: stale-forward
     optimizer.step()
""",
    "stale, function between": """
-out = torch.tanh(model(x))
 def show():
     print(1)
-loss = loss_fn(out, y)
 for i in range(3):
+    out = torch.tanh(model(x))
+    loss = loss_fn(out, y)
     optimizer.zero_grad()
     loss.backward()  #: stale-forward
     optimizer.step()
""",
    "stale, in a branch": """
 if len(data):
     out = torch.tanh(model(x))
 for i in range(3):
     optimizer.zero_grad()
     loss = loss_fn(out, y)
     loss.backward()  #: stale-forward?
     optimizer.step()
""",
    "stale, given": """
 def train(out):
     for i in range(3):
         optimizer.zero_grad()
         loss = loss_fn(out, y)
         loss.backward()  #: stale-forward
         optimizer.step()
 train(torch.tanh(model(x)))
""",
    "stale, handler": """
 try:
     print(1 // 0)
 except ZeroDivisionError:
-    out = torch.tanh(model(x))
     for i in range(3):
+        out = torch.tanh(model(x))
         optimizer.zero_grad()
         loss = loss_fn(out, y)
         loss.backward()  #: stale-forward
         optimizer.step()
""",
    "step between": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 a, b = net(x).mean(), net(y.expand(4, 3)).pow(2).mean()
 a.backward()
 opt.step()
 b.backward()  #: step-between
""",
    "step between, kept": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 out = net(x)
 a, b = out.mean(), out.pow(2).mean()
 a.backward(retain_graph=True)
 opt.step()
 b.backward()  #: step-between
""",
    "step between, named": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 out = net(x)
 a, b = out.mean(), out.pow(2).mean()
 a.backward(retain_graph=True)
 result = opt.step()
 b.backward()  #: step-between
""",
    "leaf updated": """
 w = torch.zeros(3, 1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w, y).backward()
-    w -= 0.1 * w.grad  #: inplace-on-leaf
+    with torch.no_grad():
+        w -= 0.1 * w.grad
     w.grad.zero_()
""",
    "leaf updated, pass": """
 w = torch.zeros(3, 1, requires_grad=True)
 b = torch.zeros(1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w + b, y).backward()
-    w -= 0.1 * w.grad  #: inplace-on-leaf
-    pass
-    b -= 0.1 * b.grad
+    with torch.no_grad():
+        w -= 0.1 * w.grad
+        pass
+        b -= 0.1 * b.grad
     w.grad = b.grad = None
""",
    "leaf updated, carries": """
 w = torch.zeros(1, requires_grad=True)
-w += model(x).mean()  #: inplace-on-leaf
+w = w + model(x).mean()
 w.backward()
""",
    "leaf updated, item": """
 ws = [torch.zeros(1, requires_grad=True)]
 ws[0] += model(x).mean()  #: inplace-on-leaf
 ws[0].backward()
""",
    "leaf updated, call": """
 w = torch.zeros(1, requires_grad=True)
 w.add_(model(x).mean())  #: inplace-on-leaf
 w.backward()
""",
    "moved, several": """
 w = (torch.ones(3, 1, requires_grad=True) + torch.ones(3, 1, requires_grad=True)) * 0.1
 loss_fn(x @ w, y).backward()
 print(w.grad.sum())  #: non-leaf-grad
""",
    "moved, parameter twice": """
 w = nn.Parameter(torch.ones(3, 1)).t().t() * nn.Parameter(torch.ones(3, 1)).sum()
 loss_fn(x @ w, y).backward()
 print(w.grad.sum())  #: non-leaf-grad
""",
    "grad of a pair": """
 a, b = torch.ones(3, 1, requires_grad=True) * 2, 1
 loss_fn(x @ a, y).backward()
 print(a.grad.sum())  #: non-leaf-grad
""",
    "grad under another name": """
 w = torch.ones(3, 1, requires_grad=True) * 2
 v = w
 loss_fn(x @ v, y).backward()
 print(v.grad.sum())  #: non-leaf-grad
""",
    "grad, no_grad": """
 w = torch.ones(3, 1, requires_grad=True)
 with torch.no_grad():
     v = w * 2
 loss_fn(x @ v + x @ w, y).backward()
 print(v.grad.sum())  #: non-leaf-grad
""",
    "untracked, renamed": """
 a = torch.randn(4, 3)
 b = a
 g = torch.autograd.grad(model(b).sum(), b)  #: inactive-grad
""",
    "adversary": """
 gen, dis = nn.Linear(3, 3), nn.Linear(3, 1)
 go, do = torch.optim.SGD(gen.parameters(), lr=0.1), torch.optim.SGD(dis.parameters(), lr=0.1)
 for x, y in data:
     fake = gen(x)
     do.zero_grad()
-    d_loss = dis(fake).mean() - dis(x).mean()
+    d_loss = dis(fake.detach()).mean() - dis(x).mean()
     d_loss.backward()  #: undetached-adversary
     do.step()
     go.zero_grad()
     g_loss = -dis(fake).mean()
     g_loss.backward()  #: raises
     go.step()
""",
    "adversary, keywords": """
 gen, dis = nn.Linear(3, 3), nn.Bilinear(3, 3, 1)
 go, do = torch.optim.SGD(gen.parameters(), lr=0.1), torch.optim.SGD(dis.parameters(), lr=0.1)
 for x, y in data:
     fake = gen(x)
     do.zero_grad()
-    d_loss = dis(input1=x, input2=fake).mean() - dis(x, x).mean()
+    d_loss = dis(input1=x, input2=fake.detach()).mean() - dis(x, x).mean()
     d_loss.backward()  #: undetached-adversary
     do.step()
     go.zero_grad()
     g_loss = -dis(x, fake).mean()
     g_loss.backward()  #: raises
     go.step()
""",
    "adversary, method": """
 class Gan:
     def __init__(self):
         self.gen, self.dis = nn.Linear(3, 3), nn.Linear(3, 1)
         self.go = torch.optim.SGD(self.gen.parameters(), lr=0.1)
         self.do = torch.optim.SGD(self.dis.parameters(), lr=0.1)
     def score(self, fake):
         return self.dis(fake).mean()
     def turn(self, x):
         fake = self.gen(x)
         self.do.zero_grad()
-        (self.score(fake) - self.score(x)).backward()  #: undetached-adversary
+        (self.score(fake.detach()) - self.score(x)).backward()
         self.do.step()
         self.go.zero_grad()
         (-self.score(fake)).backward()  #: raises
         self.go.step()
 gan = Gan()
 for x, y in data:
     gan.turn(x)
""",
    "adversary, function": """
 gen, dis = nn.Linear(3, 3), nn.Linear(3, 1)
 go, do = torch.optim.SGD(gen.parameters(), lr=0.1), torch.optim.SGD(dis.parameters(), lr=0.1)
 def score(x):
     h = x * 2
     return dis(h).mean()
 for x, y in data:
     fake = gen(x)
     do.zero_grad()
     (score(fake) - score(x)).backward()  #: undetached-adversary
     do.step()
     go.zero_grad()
     (-score(fake)).backward()  #: raises
     go.step()
""",
    "step first, scaled": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
+    scaler.scale(loss).backward()
     scaler.step(optimizer)  #: misplaced-step
     scaler.update()
-    scaler.scale(loss).backward()
""",
    "shared, augmented": """
 features = torch.tanh(model(x))
 loss = features.mean()
 loss.backward()
 loss += features.pow(2).mean()
 loss.backward()  #: double-backward
""",
    "carried, deque extended": """
 import collections
 past = collections.deque(maxlen=3)
 for x, y in data:
     optimizer.zero_grad()
     out = model(x) + sum(past)
     past.extend([out])
     out.pow(2).mean().backward()  #: carried-graph
     optimizer.step()
""",
    "carried, deque augmented": """
 import collections
 past = collections.deque(maxlen=3)
 for x, y in data:
     optimizer.zero_grad()
     out = model(x) + sum(past)
     past += [out]
     out.pow(2).mean().backward()  #: carried-graph
     optimizer.step()
""",
    "carried, after another loop": """
 h = torch.zeros(4, 3)
 log = {}
 for x, y in data:
+    h = h.detach()
     for k in range(2):
         print(k)
     log["k"] = 1
     optimizer.zero_grad()
     h = torch.tanh(model(x) + h)
     h.mean().backward()  #: carried-graph
     optimizer.step()
""",
    "stale, in a match": """
 match len(data):
     case 4:
-        out = torch.tanh(model(x))
         for i in range(3):
+            out = torch.tanh(model(x))
             optimizer.zero_grad()
             loss = loss_fn(out, y)
             loss.backward()  #: stale-forward
             optimizer.step()
""",
    "rebound, given 4": """
 def train(w):
     w.requires_grad_()
     for x, y in data:
         loss_fn(x @ w, y).backward()
-        w = w - 0.1 * w.grad  #: non-leaf-grad
+        w = (w - 0.1 * w.grad).detach().requires_grad_()
     return w
 eval("train(torch.zeros(3, 1))")
""",
    "rebound, given 5": """
 def train(w=None):
     w = torch.zeros(3, 1, requires_grad=True) if w is None else w
     for x, y in data:
         loss_fn(x @ w, y).backward()
-        w = w - 0.1 * w.grad  #: non-leaf-grad
+        with torch.no_grad():
+            w -= 0.1 * w.grad
+        w.grad = None
     return w
 eval("train()")
""",
    "updates, printed between": """
 w = torch.zeros(3, requires_grad=True)
 (x @ w).pow(2).sum().backward()
-w.sub_(0.1 * w.grad)  #: inplace-on-leaf
+with torch.no_grad():
+    w.sub_(0.1 * w.grad)
 print("updated")
-w.mul_(0.9)  #: inplace-on-leaf
+with torch.no_grad():
+    w.mul_(0.9)
""",
}
"""Programs that stop with an error on the line that is reported, and go on to the end once they are mended."""

TRAINS = {
    "leaf, set": """
<loss = loss_fn(model(x), y).detach()
<loss.requires_grad = True
>loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, method": """
-loss = loss_fn(model(x), y).detach().requires_grad_()
+loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, of a name": """
 loss = loss_fn(model(x), y)
-loss = loss.detach().requires_grad_(True)
+loss = loss
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, tensor": """
 loss = loss_fn(model(x), y)
-loss = torch.tensor(loss, requires_grad=True)
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, tensor of item": """
 loss = loss_fn(model(x), y)
-loss = torch.tensor(loss.item(), requires_grad=True)
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, Variable": """
 from torch.autograd import Variable
 loss = loss_fn(model(x), y)
-loss = Variable(loss.data, requires_grad=True)
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, of a call": """
<loss = torch.tensor(loss_fn(model(x), y).item(), requires_grad=True)
>loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, keyword": """
 loss = loss_fn(model(x), y)
-loss = torch.tensor(data=loss.item(), requires_grad=True)
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, stack": """
 a, b = loss_fn(model(x), y), model(x).mean()
-loss = torch.tensor([a, b], requires_grad=True)
+loss = torch.stack([a, b])
 loss.sum().backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, statement": """
-loss = loss_fn(model(x), y).detach()
-loss.requires_grad_(True)
+loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, in a function": """
 def loss_of():
<    loss = loss_fn(model(x), y).detach()
<    loss.requires_grad = True
>    loss = loss_fn(model(x), y)
     return loss
 loss_of().backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, two functions": """
 def loss_of():
<    return loss_fn(model(x), y).detach()
>    return loss_fn(model(x), y)
 def leaf_of(loss):
<    loss.requires_grad = True
     return loss
 loss = leaf_of(loss_of())
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "leaf, argument": """
 def train(loss):
<    loss.requires_grad = True
     loss.backward()  #: backward-without-graph
     optimizer.step()
<train(loss_fn(model(x), y).detach())
>train(loss_fn(model(x), y))
""",
    "leaf, of a sum": """
<loss = (loss_fn(model(x), y).detach() + 1).requires_grad_()
>loss = loss_fn(model(x), y) + 1
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "aliased": """
 w = torch.ones(3, requires_grad=True)
 opt = torch.optim.SGD([w], lr=0.1)
 for x, y in data:
+    opt.zero_grad()
     (x @ w).mean().backward()  #: missing-zero-grad
     opt.step()
""",
    "foreign, in another function": """
 other = nn.Linear(3, 1)
 opt = torch.optim.SGD(other.parameters(), lr=0.1)
 def step(o):
     o.step()
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x) + other(x), y).backward()
     step(optimizer)
>    opt.zero_grad()
     (other(x) - y).pow(2).mean().backward()  #: foreign-grad
     step(opt)
     opt.zero_grad()
""",
    "foreign": """
 other = nn.Linear(3, 1)
 opt = torch.optim.SGD(other.parameters(), lr=0.1)
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x) + other(x), y).backward()
     optimizer.step()
+    opt.zero_grad()
     (other(x) - y).pow(2).mean().backward()  #: foreign-grad
     opt.step()
     opt.zero_grad()
""",
    "wiped": """
 for x, y in data:
     loss = loss_fn(model(x), y)
+    optimizer.zero_grad()
     loss.backward()
-    optimizer.zero_grad()  #: misplaced-zero-grad
     optimizer.step()
""",
    "wiped, other's": """
 other = nn.Linear(3, 1)
 opt = torch.optim.SGD(other.parameters(), lr=0.1)
 for x, y in data:
     optimizer.zero_grad()
+    optimizer.zero_grad()
     loss_fn(model(x), y).backward()
-    optimizer.zero_grad()  #: misplaced-zero-grad
     loss_fn(other(x), y).backward()
     optimizer.step()
     opt.step()
     opt.zero_grad()
""",
    "wiped, window": """
 for i, (x, y) in enumerate(data):
-    optimizer.zero_grad()  #: misplaced-zero-grad
     loss = loss_fn(model(x), y) / 2
     loss.backward()
     if (i + 1) % 2 == 0:
         optimizer.step()
+        optimizer.zero_grad()
""",
    "wiped, window, again": """
 for i, (x, y) in enumerate(data):
-    optimizer.zero_grad()  #: misplaced-zero-grad
     loss = loss_fn(model(x), y) / 2
     loss.backward()
     if (i + 1) % 2 == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "clip, late": """
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()
+    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
     optimizer.step()
-    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  #: misplaced-clip
""",
    "clip, before": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
+    loss.backward()
     nn.utils.clip_grad_norm_(model.parameters(), 1.0)  #: misplaced-clip
-    loss.backward()
     optimizer.step()
""",
    "clip, scaled": """
 for x, y in data:
     optimizer.zero_grad()
     scaler.scale(loss_fn(model(x), y)).backward()
+    scaler.unscale_(optimizer)
     nn.utils.clip_grad_norm_(model.parameters(), 1.0)  #: misplaced-clip
     scaler.step(optimizer)
     scaler.update()
""",
    "clip, unscaled behind": """
 for x, y in data:
     optimizer.zero_grad()
     scaler.scale(loss_fn(model(x), y)).backward()
+    scaler.unscale_(optimizer)
     nn.utils.clip_grad_norm_(model.parameters(), 1.0)  #: misplaced-clip
-    scaler.unscale_(optimizer)
     scaler.step(optimizer)
     scaler.update()
""",
    "clip, unscaled in a branch": """
 clipping = True
 for x, y in data:
     optimizer.zero_grad()
     scaler.scale(loss_fn(model(x), y)).backward()
     if clipping:
>        scaler.unscale_(optimizer)
         nn.utils.clip_grad_norm_(model.parameters(), 1.0)  #: misplaced-clip
<    if clipping:
<        scaler.unscale_(optimizer)
     scaler.step(optimizer)
     scaler.update()
""",
    "clip, scaled elsewhere": """
 def clip():
     nn.utils.clip_grad_norm_(model.parameters(), 1.0)  #: misplaced-clip
 def apply(scaler, opt):
     scaler.step(opt)
     scaler.update()
 for x, y in data:
     optimizer.zero_grad()
     scaler.scale(loss_fn(model(x), y)).backward()
>    scaler.unscale_(optimizer)
     clip()
     apply(scaler, optimizer)
""",
    "unscaled window": """
 for i, (x, y) in enumerate(data):
-    loss_fn(model(x), y).backward()  #: unscaled-accumulation
+    (loss_fn(model(x), y) / 2).backward()
     if (i + 1) % 2 == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "unscaled window, named": """
 every = 2
 for i, (x, y) in enumerate(data):
     loss = loss_fn(model(x), y)
-    loss.backward()  #: unscaled-accumulation
+    (loss / every).backward()
     if (i + 1) % every == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "unscaled window, sum of losses": """
 every = 2
 for i, (x, y) in enumerate(data):
-    (loss_fn(model(x), y) + model(x).mean()).backward()  #: unscaled-accumulation
+    ((loss_fn(model(x), y) + model(x).mean()) / every).backward()
     if (i + 1) % every == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "window, in a function": """
 def backward(loss):
     loss.backward()  #: unscaled-accumulation
 def train(every):
     for i, (x, y) in enumerate(data):
<        backward(loss_fn(model(x), y))
>        backward(loss_fn(model(x), y) / every)
         if (i + 1) % every == 0:
             optimizer.step()
             optimizer.zero_grad()
 train(2)
""",
    "window, f-string": """
 every = 2
 for i, (x, y) in enumerate(data):
-    torch.autograd.backward(loss_fn(model(x), y))  #: unscaled-accumulation
+    torch.autograd.backward(loss_fn(model(x), y) / every)
     if (i + 1) % every == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "no step": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     loss.backward()  #: missing-step
+    optimizer.step()
""",
    "no step, clipped": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     loss.backward()  #: missing-step
     nn.utils.clip_grad_norm_(model.parameters(), 1.0)
+    optimizer.step()
""",
    "no step, scaled, printed": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     scaler.scale(loss).backward()  #: missing-step
     print(loss.item())
     scaler.unscale_(optimizer)
     nn.utils.clip_grad_norm_(model.parameters(), 1.0)
+    scaler.step(optimizer)
     scaler.update()
""",
    "no step, in an expression": """
 for x, y in data:
     optimizer.zero_grad()
     [loss.backward() for loss in [loss_fn(model(x), y)]]  #: missing-step
>    optimizer.step()
""",
    "uncalled step": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     loss.backward()
-    optimizer.step  #: missing-step
+    optimizer.step()
""",
    "uncalled clear": """
 for x, y in data:
-    optimizer.zero_grad  #: missing-zero-grad
+    optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     loss.backward()
     optimizer.step()
""",
    "other stepped": """
 other = nn.Linear(3, 1)
 opt = torch.optim.SGD(other.parameters(), lr=0.1)
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()  #: missing-step
-    opt.step()
+    optimizer.step()
""",
    "exchanged": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
+net[1] = nn.Linear(3, 1)
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
-net[1] = nn.Linear(3, 1)  #: missing-step
 for x, y in data:
     opt.zero_grad()
     loss_fn(net(x), y).backward()
     opt.step()
""",
    "exchanged, member": """
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.head = nn.Linear(3, 1)
     def forward(self, x):
         return self.head(x)
 net = Net()
+net.head = nn.Linear(3, 1)
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
-net.head = nn.Linear(3, 1)  #: missing-step
 for x, y in data:
     opt.zero_grad()
     loss_fn(net(x), y).backward()  #: missing-step
     opt.step()
""",
    "exchanged, size named later": """
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.head = nn.Linear(3, 1)
     def forward(self, x):
         return self.head(x)
 net = Net()
-opt = torch.optim.SGD(net.parameters(), lr=0.1)
 size = 3
 net.head = nn.Linear(size, 1)  #: missing-step
+opt = torch.optim.SGD(net.parameters(), lr=0.1)
 for x, y in data:
     opt.zero_grad()
     loss_fn(net(x), y).backward()  #: missing-step
     opt.step()
""",
    "exchanged, augmented size": """
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.head = nn.Linear(3, 1)
     def forward(self, x):
         return self.head(x)
 net = Net()
 size = 2
-opt = torch.optim.SGD(net.parameters(), lr=0.1)
 size += 1
 net.head = nn.Linear(size, 1)  #: missing-step
+opt = torch.optim.SGD(net.parameters(), lr=0.1)
 for x, y in data:
     opt.zero_grad()
     loss_fn(net(x), y).backward()  #: missing-step
     opt.step()
""",
    "strangers": """
+net = nn.Linear(3, 1)
 net = nn.Linear(3, 1)
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
-net = nn.Linear(3, 1)
 for x, y in data:
     opt.zero_grad()
     loss_fn(net(x), y).backward()  #: missing-step
     opt.step()
""",
    "strangers, used": """
>net = nn.Linear(3, 1)
 net = nn.Linear(3, 1)
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 print(opt)
<net = nn.Linear(3, 1)
 for x, y in data:
     opt.zero_grad()
     loss_fn(net(x), y).backward()  #: missing-step
     opt.step()
""",
    "strangers, copy": """
 net = copy.deepcopy(model)
>optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(net(x), y).backward()  #: missing-step
     optimizer.step()
""",
    "strangers, in a function": """
 def build():
     net = nn.Linear(3, 1)
     return net, torch.optim.SGD(net.parameters(), lr=0.1)
 net, opt = build()
<net = nn.Linear(3, 1)
 for x, y in data:
     opt.zero_grad()
     loss_fn(net(x), y).backward()  #: missing-step
     opt.step()
""",
    "update": """
 w = torch.zeros(3, 1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w, y).backward()  #: missing-zero-grad
     with torch.no_grad():
         w -= 0.1 * w.grad
+        w.grad = None
""",
    "update, sub_": """
 w = torch.zeros(3, 1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w, y).backward()  #: missing-zero-grad
     with torch.no_grad():
         w.sub_(0.1 * w.grad)
+        w.grad = None
""",
    "update, data": """
 w = torch.zeros(3, 1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w, y).backward()  #: missing-zero-grad
     w.data.sub_(0.1 * w.grad)
+    w.grad = None
""",
    "update, data, augmented": """
 w = torch.zeros(3, 1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w, y).backward()  #: missing-zero-grad
     w.data -= 0.1 * w.grad
+    w.grad = None
""",
    "update, loop": """
 for x, y in data:
     loss_fn(model(x), y).backward()  #: missing-zero-grad
     with torch.no_grad():
         for w in model.parameters():
             w.add_(w.grad, alpha=-0.1)
+            w.grad = None
""",
    "clear, closure": """
 opt = torch.optim.LBFGS(model.parameters())
 for x, y in data:
     def closure():
         loss = loss_fn(model(x), y)
+        opt.zero_grad()
         loss.backward()  #: missing-zero-grad
         return loss
     opt.step(closure)
""",
    "clear, function": """
 def backward(x, y):
     loss_fn(model(x), y).backward()  #: missing-zero-grad
 for x, y in data:
     backward(x, y)
     optimizer.step()
+    optimizer.zero_grad()
""",
    "clear, inner function": """
 def train(model, opt):
     def backward(x, y):
+        opt.zero_grad()
         loss_fn(model(x), y).backward()  #: missing-zero-grad
     for x, y in data:
         backward(x, y)
         opt.step()
 train(model, optimizer)
""",
    "clear, methods": """
 class Trainer:
     def __init__(self):
         self.model = nn.Linear(3, 1)
         self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
     def backward(self, x, y):
+        self.opt.zero_grad()
         loss_fn(self.model(x), y).backward()  #: missing-zero-grad
     def step(self):
         self.opt.step()
     def run(self):
         for x, y in data:
             self.backward(x, y)
             self.step()
 trainer = Trainer()
 trainer.run()
 model = trainer.model
""",
    "dropped grad": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
-    torch.autograd.grad(loss, list(model.parameters()))  #: discarded-grad
+    loss.backward()
     optimizer.step()
""",
    "dropped grad, keywords": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
<    torch.autograd.grad(outputs=loss, inputs=list(model.parameters()), retain_graph=True)  #: discarded-grad
>    loss.backward()
     optimizer.step()
""",
    "dropped grad, list": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
<    torch.autograd.grad([loss], list(model.parameters()))  #: discarded-grad
>    loss.backward()
     optimizer.step()
""",
    "dropped grad, three": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
<    torch.autograd.grad(loss, list(model.parameters()), torch.tensor(2.0))  #: discarded-grad
>    loss.backward(torch.tensor(2.0))
     optimizer.step()
""",
    "dropped grad, sum": """
 for x, y in data:
     optimizer.zero_grad()
-    torch.autograd.grad(loss_fn(model(x), y) + model(x).mean(), list(model.parameters()))  #: discarded-grad
+    (loss_fn(model(x), y) + model(x).mean()).backward()
     optimizer.step()
""",
    "dropped grad, starred": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     given = (loss, list(model.parameters()))
<    torch.autograd.grad(*given)  #: discarded-grad
>    loss.backward()
     optimizer.step()
""",
    "leaf, under no_grad": """
<with torch.no_grad():
<    loss = loss_fn(model(x), y)
<loss.requires_grad_()
>loss = loss_fn(model(x), y)
 loss.backward()  #: backward-without-graph
 optimizer.step()
""",
    "gradless": """
 for x, y in data:
     optimizer.zero_grad()
-    with torch.no_grad():
-        extra = model(x).abs().mean()
+    extra = model(x).abs().mean()
     loss = loss_fn(model(x), y) + extra  #: gradless-term
     loss.backward()
     optimizer.step()
""",
    "gradless, decorated": """
-@torch.no_grad()
 def extra(x):
     return model(x).abs().mean()
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y) + extra(x)  #: gradless-term
     loss.backward()
     optimizer.step()
""",
    "gradless, set": """
 for x, y in data:
     optimizer.zero_grad()
<    torch.set_grad_enabled(False)
     extra = model(x).abs().mean()
<    torch.set_grad_enabled(True)
     loss = loss_fn(model(x), y) + extra  #: gradless-term
     loss.backward()
     optimizer.step()
""",
    "gradless, nested": """
 for x, y in data:
     optimizer.zero_grad()
<    with torch.no_grad():
<        with torch.autocast("cpu"):
<            extra = model(x).abs().mean()
>    with torch.autocast("cpu"):
>        extra = model(x).abs().mean()
     loss = loss_fn(model(x), y) + extra  #: gradless-term
     loss.backward()
     optimizer.step()
""",
    "running": """
 total = 0
 for x, y in data:
     total = total + loss_fn(torch.tanh(model(x)), y)
-    total.backward(retain_graph=True)  #: retain-to-accumulate
+total.backward()
 optimizer.step()
""",
    "running, in a list": """
 total = [0]
 for x, y in data:
     total[0] = total[0] + loss_fn(torch.tanh(model(x)), y)
<    total[0].backward(retain_graph=True)  #: retain-to-accumulate
>total[0].backward()
 optimizer.step()
""",
    "dropped loss": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)  #: dropped-loss
>    loss.backward()
     optimizer.step()
""",
    "dropped loss, bare": """
 for x, y in data:
     optimizer.zero_grad()
<    loss_fn(model(x), y)  #: dropped-loss
>    loss_fn(model(x), y).backward()
     optimizer.step()
""",
    "dropped loss, other": """
 head = nn.Linear(3, 1)
 opt = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
 for x, y in data:
     opt.zero_grad()
     loss = loss_fn(model(x), y)
     aux_loss = loss_fn(head(x), y)  #: dropped-loss
<    loss.backward()
>    (loss + aux_loss).backward()
     opt.step()
""",
    "clear of data": """
 for x, y in data:
     for one in model.parameters():
         one.data.grad = None
+    optimizer.zero_grad()
     loss_fn(model(x), y).backward()  #: missing-zero-grad
     optimizer.step()
""",
    "eval stays": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 for epoch in range(2):
+    net.train()
     for x, y in data:
         opt.zero_grad()
         loss_fn(net(x), y).backward()  #: missing-train-mode
         opt.step()
     net.eval()
     with torch.no_grad():
         for x, y in data:
             net(x)
""",
    "eval stays, function": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 def train():
+    net.train()
     for x, y in data:
         opt.zero_grad()
         loss_fn(net(x), y).backward()  #: missing-train-mode
         opt.step()
 def validate():
     net.eval()
     with torch.no_grad():
         for x, y in data:
             net(x)
 for epoch in range(2):
     train()
     validate()
""",
    "eval stays, shared function": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 def step(net, x, y):
     opt.zero_grad()
     loss_fn(net(x), y).backward()  #: missing-train-mode
     opt.step()
 def validate():
     net.eval()
     with torch.no_grad():
         for x, y in data:
             net(x)
 for epoch in range(2):
>    net.train()
     for x, y in data:
         step(net, x, y)
     validate()
>net.train()
 step(net, x, y)
""",
    "eval stays, by item": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 nets = {"a": net}
 for epoch in range(2):
>    net.train()
     for x, y in data:
         opt.zero_grad()
         loss_fn(nets["a"](x), y).backward()  #: missing-train-mode
         opt.step()
     net.eval()
     with torch.no_grad():
         for x, y in data:
             net(x)
""",
    "eval stays, bound in the loop": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 for epoch in range(2):
     for one in [net]:
         for x, y in data:
             opt.zero_grad()
+            one.train()
             loss_fn(one(x), y).backward()  #: missing-train-mode
             opt.step()
     net.eval()
     with torch.no_grad():
         for x, y in data:
             net(x)
""",
    "eval stays, function binds": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 def validate():
     net.eval()
     with torch.no_grad():
         net(x)
 def train():
     one = net
     for x, y in data:
         opt.zero_grad()
+        one.train()
         loss_fn(one(x), y).backward()  #: missing-train-mode
         opt.step()
 for epoch in range(2):
     train()
     validate()
""",
    "train mode": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 for epoch in range(2):
     for x, y in data:
         opt.zero_grad()
         loss_fn(net(x), y).backward()
         opt.step()
+    net.eval()
     with torch.no_grad():
         for x, y in data:
             print(net(x).argmax())  #: missing-eval-mode
+    net.train()
""",
    "train mode, return": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 def fit():
     for epoch in range(2):
>        net.train()
         for x, y in data:
             opt.zero_grad()
             loss_fn(net(x), y).backward()
             opt.step()
>        net.eval()
         with torch.no_grad():
             for x, y in data:
                 out = net(x)  #: missing-eval-mode
                 if out.isnan().any():
                     return
 fit()
""",
    "train mode, by item": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 nets = [net]
 for epoch in range(2):
>    net.train()
     for x, y in data:
         opt.zero_grad()
         loss_fn(net(x), y).backward()
         opt.step()
>    net.eval()
     with torch.no_grad():
         for x, y in data:
             print(nets[0](x).argmax())  #: missing-eval-mode
""",
    "train mode, forward": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 for epoch in range(2):
     for x, y in data:
         opt.zero_grad()
         loss_fn(net(x), y).backward()
         opt.step()
+    net.eval()
     with torch.no_grad():
         for x, y in data:
             print(net.forward(x).argmax())  #: missing-eval-mode
+    net.train()
""",
    "named eval": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
-net.eval  #: missing-eval-mode
+net.eval()
 with torch.no_grad():
     print(net(x))
""",
    "thawed, frozen": """
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.body = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
         self.head = nn.Linear(3, 1)
     def forward(self, x):
         return self.head(self.body(x))
 net = Net()
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 for one in net.body.parameters():
     one.requires_grad_(False)
 net.body.eval()
 for epoch in range(2):
     net.train()  #: missing-eval-mode
+    net.body.eval()
     for x, y in data:
         opt.zero_grad()
         loss_fn(net(x), y).backward()
         opt.step()
""",
    "thawed, loop": """
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.body = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
         self.head = nn.Linear(3, 1)
     def forward(self, x):
         return self.head(self.body(x))
 net = Net()
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 for layer in net.body:
     layer.requires_grad_(False)
     layer.eval()
 for epoch in range(2):
     net.train()  #: missing-eval-mode
>    for layer in net.body:
>        layer.eval()
     for x, y in data:
         opt.zero_grad()
         loss_fn(net(x), y).backward()
         opt.step()
""",
    "thawed, item": """
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.body = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
         self.head = nn.Linear(3, 1)
     def forward(self, x):
         return self.head(self.body(x))
 net = Net()
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 net.body[1].requires_grad_(False)
 net.body[1].eval()
 for epoch in range(2):
     net.train()  #: missing-eval-mode
>    net.body[1].eval()
     for x, y in data:
         opt.zero_grad()
         loss_fn(net(x), y).backward()
         opt.step()
""",
    "thawed, train(False)": """
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.body = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
         self.head = nn.Linear(3, 1)
     def forward(self, x):
         return self.head(self.body(x))
 net = Net()
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 net.body.requires_grad_(False)
 net.body.train(False)
 for epoch in range(2):
     net.train()  #: missing-eval-mode
+    net.body.train(False)
     for x, y in data:
         opt.zero_grad()
         loss_fn(net(x), y).backward()
         opt.step()
""",
    "window, scaled": """
 every = 2
 for i, (x, y) in enumerate(data):
-    scaler.scale(loss_fn(model(x), y)).backward()  #: unscaled-accumulation
+    scaler.scale(loss_fn(model(x), y) / every).backward()
     if (i + 1) % every == 0:
         scaler.step(optimizer)
         scaler.update()
         optimizer.zero_grad()
""",
    "window, item": """
 every = 2
 for i, (x, y) in enumerate(data):
     losses = [loss_fn(model(x), y)]
-    losses[0].backward()  #: unscaled-accumulation
+    (losses[0] / every).backward()
     if (i + 1) % every == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "window, augmented by another": """
 every = 2
 seen = 1
 for i, (x, y) in enumerate(data):
     seen *= 3
     loss = loss_fn(model(x), y)
-    loss.backward()  #: unscaled-accumulation
+    (loss / every).backward()
     if (i + 1) % every == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "window, called": """
 every = 2
 print(torch.div(x, 3).sum())
 for i, (x, y) in enumerate(data):
     loss = loss_fn(model(x), y)
-    loss.backward()  #: unscaled-accumulation
+    (loss / every).backward()
     if (i + 1) % every == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "step first": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
-    optimizer.step()  #: misplaced-step
     loss.backward()
     nn.utils.clip_grad_norm_(model.parameters(), 1.0)
+    optimizer.step()
""",
    "cleared in the inner loop": """
 for epoch in range(2):
     for x, y in data:
         loss_fn(model(x), y).backward()
-        optimizer.zero_grad()  #: misplaced-zero-grad
     optimizer.step()
+    optimizer.zero_grad()
""",
    "cleared in the inner loop, by its name": """
 for epoch in range(2):
     for x, y in data:
         loss_fn(model(x), y).backward()
<        for one in [optimizer]:
<            one.zero_grad()  #: misplaced-zero-grad
     optimizer.step()
>    optimizer.zero_grad()
""",
    "cleared in a function": """
 def clear():
     optimizer.zero_grad()  #: misplaced-zero-grad
 for x, y in data:
     loss_fn(model(x), y).backward()
>    optimizer.step()
     clear()
<    optimizer.step()
""",
    "cleared by the network": """
 other = nn.Linear(3, 1)
 both = nn.ModuleList([model, other])
 opt = torch.optim.SGD(other.parameters(), lr=0.1)
 for x, y in data:
     loss_fn(model(x), y).backward()
-    both.zero_grad()  #: misplaced-zero-grad
+    opt.zero_grad()
     loss_fn(other(x), y).backward()
     optimizer.step()
     opt.step()
     both.zero_grad()
""",
    "clip, list of optimizers": """
 for x, y in data:
     optimizer.zero_grad()
     scaler.scale(loss_fn(model(x), y)).backward()
>    scaler.unscale_(optimizer)
     nn.utils.clip_grad_norm_(model.parameters(), 1.0)  #: misplaced-clip
     for one in [optimizer]:
         scaler.step(one)
     scaler.update()
""",
    "gradless twice": """
 for x, y in data:
     optimizer.zero_grad()
-    with torch.no_grad():
-        a = model(x).abs().mean()
-        b = model(x).pow(2).mean()
+    a = model(x).abs().mean()
+    b = model(x).pow(2).mean()
     loss = loss_fn(model(x), y) + a + b  #: gradless-term
     loss.backward()
     optimizer.step()
""",
    "cleared in the inner loop, target": """
 for epoch in range(2):
     for x, y in data:
         for one in [optimizer]:
             loss_fn(model(x), y).backward()
<            one.zero_grad()  #: misplaced-zero-grad
     optimizer.step()
>    optimizer.zero_grad()
""",
    "clip, named late": """
 for x, y in data:
     optimizer.zero_grad()
     scaler.scale(loss_fn(model(x), y)).backward()
>    scaler.unscale_(optimizer)
     nn.utils.clip_grad_norm_(model.parameters(), 1.0)  #: misplaced-clip
     opt = optimizer
     scaler.step(opt)
     scaler.update()
""",
    "eval stays, two forwards": """
 net = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 for epoch in range(2):
+    net.train()
     for x, y in data:
         opt.zero_grad()
         a = net(x)
         b = net(x + 1)  #: missing-train-mode
         loss_fn(a, b).backward()
         opt.step()
     net.eval()
     with torch.no_grad():
         for x, y in data:
             net(x)
""",
    "evaluated once, on a sample": """
 net = nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 1))
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 for x, y in data:
     opt.zero_grad()
     loss_fn(net(x), y).backward()
     opt.step()
+net.eval()
 with torch.no_grad():
     for x, y in random.sample(data, 4):
         print(net(x).sum().item())  #: missing-eval-mode
""",
    "dropped, target": """
 def update():
<    torch.no_grad()  #: inert-no-grad
<    target = torch.tanh(model(x))
>    with torch.no_grad():
>        target = torch.tanh(model(x))
     loss_fn(model(x), target).backward()
     optimizer.step()
 update()
""",
    "thawed, two parts, frozen by calls": """
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.a = nn.BatchNorm1d(3)
         self.b = nn.BatchNorm1d(3)
         self.head = nn.Linear(3, 1)
     def forward(self, x):
         return self.head(self.b(self.a(x)))
 net = Net()
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 net.a.requires_grad_(False)
 net.b.requires_grad_(False)
 net.a.eval()
 net.b.eval()
 for epoch in range(2):
     net.train()  #: missing-eval-mode
+    net.a.eval()
+    net.b.eval()
     for x, y in data:
         opt.zero_grad()
         loss_fn(net(x), y).backward()
         opt.step()
""",
    "unscaled window, another division": """
 for i, (x, y) in enumerate(data):
-    loss_fn(model(x / 3), y).backward()  #: unscaled-accumulation
+    (loss_fn(model(x / 3), y) / 2).backward()
     if (i + 1) % 2 == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "wiped, in another function": """
 def turn(x, y):
+    optimizer.zero_grad()
     loss_fn(model(x), y).backward()
-    optimizer.zero_grad()  #: misplaced-zero-grad
 for x, y in data:
     turn(x, y)
     optimizer.step()
""",
    "no step, loss of a function": """
 for x, y in data:
     optimizer.zero_grad()
     F.mse_loss(model(x), y).backward()  #: missing-step
+    optimizer.step()
""",
    "step, backward in a function": """
 def back(loss):
     loss.backward()
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
<    optimizer.step()  #: misplaced-step
     back(loss)
>    optimizer.step()
""",
}
"""Programs that run, and train something else than they say: once mended, parameters or modes end otherwise."""

LIGHTER = {
    "dropped, loop": """
 def evaluate():
     model.eval()
     for x, y in data:
-        torch.no_grad()  #: inert-no-grad
-        out = model(x)
-        print(out.sum().item())
+        with torch.no_grad():
+            out = model(x)
+            print(out.sum().item())
 evaluate()
""",
    "dropped, script trains": """
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()
     optimizer.step()
 model.eval()
-torch.no_grad()  #: inert-no-grad
-out = model(x)
-print(out.mean().item())
+with torch.no_grad():
+    out = model(x)
+    print(out.mean().item())
""",
    "dropped, script trains, def": """
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()
     optimizer.step()
 model.eval()
<torch.no_grad()  #: inert-no-grad
<out = model(x)
>with torch.no_grad():
>    out = model(x)

 def show(out):
     print(out.mean().item())
 show(out)
""",
    "dropped, generator": """
 def predictions():
     model.eval()
<    torch.no_grad()  #: inert-no-grad
     for x, y in data:
<        yield model(x)
>        with torch.no_grad():
>            out = model(x)
>        yield out
 for one in predictions():
     print(one.sum().item())
""",
    "dropped, nothing follows": """
 def evaluate(x):
<    out = model(x)
<    torch.no_grad()  #: inert-no-grad
>    with torch.no_grad():
>        out = model(x)
 model.eval()
 evaluate(x)
""",
    "and": """
 def evaluate():
     model.eval()
-    with torch.no_grad() and torch.autocast("cpu"):  #: inert-no-grad
+    with torch.no_grad(), torch.autocast("cpu"):
         return model(x).sum().item()
 evaluate()
""",
    "or": """
 def evaluate():
     model.eval()
-    with torch.autocast("cpu") or torch.no_grad():  #: inert-no-grad
+    with torch.autocast("cpu"), torch.no_grad():
         return model(x).sum().item()
 evaluate()
""",
    "and, named": """
 def evaluate():
     model.eval()
<    scope = torch.no_grad() and torch.autocast("cpu")  #: inert-no-grad
<    with scope:
>    with torch.no_grad(), torch.autocast("cpu"):
         return model(x).sum().item()
 evaluate()
""",
    "async": """
 import asyncio
-@torch.no_grad()  #: inert-no-grad
 async def evaluate():
-    model.eval()
-    return model(x).sum().item()
+    with torch.no_grad():
+        model.eval()
+        return model(x).sum().item()
 asyncio.run(evaluate())
""",
    "async, waits": """
 import asyncio
<@torch.no_grad()  #: inert-no-grad
 async def evaluate():
     model.eval()
     await asyncio.sleep(0)
<    return model(x).sum().item()
>    with torch.no_grad():
>        return model(x).sum().item()
 asyncio.run(evaluate())
""",
    "class": """
-@torch.no_grad()  #: inert-no-grad
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.layer = nn.Linear(3, 1)
+    @torch.no_grad()
     def forward(self, x):
         return self.layer(x)
 net = Net().eval()
 print(net(x).sum().item())
""",
    "defines": """
-with torch.no_grad():  #: inert-no-grad
-    def evaluate():
-        model.eval()
-        return model(x).sum().item()
+@torch.no_grad()
+def evaluate():
+    model.eval()
+    return model(x).sum().item()
 evaluate()
""",
    "defines, trains": """
<with torch.no_grad():  #: inert-no-grad
<    def evaluate():
<        model.eval()
<        return model(x).sum().item()
<    def train():
<        model.train()
<        loss_fn(model(x), y).backward()
>@torch.no_grad()
>def evaluate():
>    model.eval()
>    return model(x).sum().item()
>def train():
>    model.train()
>    loss_fn(model(x), y).backward()
 evaluate()
 train()
""",
    "defines, async": """
 import asyncio
<with torch.no_grad():  #: inert-no-grad
<    async def evaluate():
<        model.eval()
>async def evaluate():
>    model.eval()
>    with torch.no_grad():
         return model(x).sum().item()
 asyncio.run(evaluate())
""",
    "lazy": """
 def evaluate():
     model.eval()
     with torch.no_grad():  #: inert-no-grad
-        outs = (model(x) for x, y in data)
+        outs = [model(x) for x, y in data]
     return sum(out.sum().item() for out in outs)
 evaluate()
""",
    "volatile, function": """
 from torch.autograd import Variable
+@torch.no_grad()
 def evaluate():
     model.eval()
-    return model(Variable(x, volatile=True)).sum().item()  #: inert-no-grad
+    return model(Variable(x)).sum().item()
 evaluate()
""",
    "volatile, loop": """
 from torch.autograd import Variable
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()
     optimizer.step()
 model.eval()
-for x, y in data:
-    print(model(Variable(x, volatile=True)).sum().item())  #: inert-no-grad
+with torch.no_grad():
+    for x, y in data:
+        print(model(Variable(x)).sum().item())
""",
    "volatile, script": """
 from torch.autograd import Variable
 model.eval()
<print(model(Variable(x, volatile=True)).sum().item())  #: inert-no-grad
>with torch.no_grad():
>    print(model(Variable(x)).sum().item())
""",
    "volatile, forward": """
 from torch.autograd import Variable
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.layer = nn.Linear(3, 1)
     def forward(self, x):
<        return self.layer(Variable(x, volatile=True))  #: inert-no-grad
>        return self.layer(Variable(x))
 net = Net().eval()
<print(net(x).sum().item())
>with torch.no_grad():
>    print(net(x).sum().item())
""",
    "volatile, mixed function": """
 from torch.autograd import Variable
 def run():
     for x, y in data:
         optimizer.zero_grad()
         loss_fn(model(x), y).backward()
         optimizer.step()
     model.eval()
-    for x, y in data:
-        print(model(Variable(x, volatile=True)).sum().item())  #: inert-no-grad
+    with torch.no_grad():
+        for x, y in data:
+            print(model(Variable(x)).sum().item())
 run()
""",
    "kept": """
 total = 0
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     loss.backward()
     optimizer.step()
-    total += loss  #: accumulated-graph
+    total += loss.detach()
""",
    "kept, conditional": """
 total = 0
 for i, (x, y) in enumerate(data):
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     loss.backward()
     optimizer.step()
-    total += loss if i else loss  #: accumulated-graph
+    total += loss.detach() if i else loss.detach()
""",
    "kept, attribute": """
 class Meter:
     pass
 meter = Meter()
 meter.total = 0
 for x, y in data:
     optimizer.zero_grad()
     meter.loss = loss_fn(model(x), y)
     meter.loss.backward()
     optimizer.step()
-    meter.total += meter.loss * len(x)  #: accumulated-graph
+    meter.total += meter.loss.detach() * len(x)
""",
    "kept, list": """
 losses = []
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     loss.backward()
     optimizer.step()
-    losses.append(loss)  #: accumulated-graph
+    losses.append(loss.detach())
""",
    "kept, subscript": """
 losses = []
 for x, y in data:
     optimizer.zero_grad()
     out = {"loss": loss_fn(model(x), y)}
     out["loss"].backward()
     optimizer.step()
-    losses.append(out["loss"] * 2)  #: accumulated-graph
+    losses.append((out["loss"] * 2).detach())
""",
    "kept, average": """
 mean = 0
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     loss.backward()
     optimizer.step()
-    mean = mean * 0.9 + loss * 0.1  #: accumulated-graph
+    mean = mean * 0.9 + loss.detach() * 0.1
""",
    "kept, comprehension": """
 losses = []
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     loss.backward()
     optimizer.step()
<    losses.extend([one for one in [loss]])  #: accumulated-graph
>    losses.extend([one.detach() for one in [loss]])
""",
    "retained, scaled": """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
-scaler.scale(a).backward(retain_graph=True)  #: retain-to-accumulate
-scaler.scale(b).backward()
+scaler.scale(a + b).backward()
 scaler.step(optimizer)
 scaler.update()
""",
    "in turns, scaled": """
 features = torch.tanh(model(x))
+total = 0.0
 for i in range(3):
     loss = (features * i).pow(2).mean()
-    scaler.scale(loss).backward(retain_graph=True)  #: retain-to-accumulate
+    total = total + loss
+scaler.scale(total).backward()
 scaler.step(optimizer)
 scaler.update()
""",
    "in turns, in a function": """
 def train(features):
>    total = 0
     for i in range(3):
         loss = (features * i).pow(2).mean()
<        loss.backward(retain_graph=True)  #: retain-to-accumulate
>        total = total + loss
         if loss.isnan():
             return
>    total.backward()
     optimizer.step()
 train(torch.tanh(model(x)))
""",
    "eval": """
+@torch.no_grad()
 def evaluate():
     model.eval()
     total = 0
     for x, y in data:
         total += loss_fn(model(x), y).item()  #: eval-without-no-grad
     return total
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()
     optimizer.step()
 evaluate()
""",
    "eval, mixed": """
 def predict(net, x):
     return net(x)
 for x, y in data:
     model.train()
     optimizer.zero_grad()
     loss_fn(predict(model, x), y).backward()
     optimizer.step()
     model.eval()
     for x, y in data:
-        print(predict(model, x).argmax())  #: eval-without-no-grad
+        with torch.no_grad():
+            print(predict(model, x).argmax())
""",
    "eval, mixed method": """
 class Trainer:
     def __init__(self):
         self.model = model
     def run(self, x, y, train):
         out = self.model(x)
         loss = loss_fn(out, y)
         if train:
             optimizer.zero_grad()
             loss.backward()
             optimizer.step()
         return loss.item()
     def fit(self):
         for epoch in range(2):
             self.model.train()
             for x, y in data:
                 self.run(x, y, True)
             self.model.eval()
             for x, y in data:
-                self.run(x, y, False)  #: eval-without-no-grad
+                with torch.no_grad():
+                    self.run(x, y, False)
 Trainer().fit()
""",
    "eval, mixed function": """
 def run(x, y, train):
     out = model(x)
     loss = loss_fn(out, y)
     if train:
         optimizer.zero_grad()
         loss.backward()
         optimizer.step()
     return loss.item()
 for epoch in range(2):
     model.train()
     for x, y in data:
         run(x, y, True)
     model.eval()
     for x, y in data:
-        run(x, y, False)  #: eval-without-no-grad
+        with torch.no_grad():
+            run(x, y, False)
""",
    "eval, generator": """
 def outputs():
     model.eval()
-    for x, y in data:
-        yield model(x).argmax()  #: eval-without-no-grad
+    with torch.no_grad():
+        for x, y in data:
+            yield model(x).argmax()
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()
     optimizer.step()
 print(list(outputs()))
""",
    "eval, script": """
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()
     optimizer.step()
 model.eval()
-for x, y in data:
-    print(model(x).argmax())  #: eval-without-no-grad
+with torch.no_grad():
+    for x, y in data:
+        print(model(x).argmax())
""",
    "eval, async": """
 import asyncio
 async def evaluate():
     model.eval()
-    for x, y in data:
-        print(model(x).argmax())  #: eval-without-no-grad
+    with torch.no_grad():
+        for x, y in data:
+            print(model(x).argmax())
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()
     optimizer.step()
 asyncio.run(evaluate())
""",
    "eval, mixed, by two functions": """
 def predict(net, x):
     return net(x)
 def score(x):
     return predict(model, x)
 for epoch in range(2):
     model.train()
     for x, y in data:
         optimizer.zero_grad()
         loss_fn(score(x), y).backward()
         optimizer.step()
     model.eval()
     for x, y in data:
-        print(score(x).argmax())  #: eval-without-no-grad
+        with torch.no_grad():
+            print(score(x).argmax())
""",
    "around": """
 def evaluate():
     model.eval()
     for x, y in data:
         with torch.no_grad():  #: inert-no-grad
             x = x.to("cpu")
-        print(model(x).argmax())
+            print(model(x).argmax())
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()
     optimizer.step()
 evaluate()
""",
    "around, with a gradient": """
 def evaluate():
     model.eval()
     for x, y in data:
         with torch.no_grad():  #: inert-no-grad
             x = x.to("cpu")
         x.requires_grad_()
<        print(model(x).argmax())
>        with torch.no_grad():
>            print(model(x).argmax())
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()
     optimizer.step()
 evaluate()
""",
    "around, in a branch": """
 def evaluate(move):
     model.eval()
     for x, y in data:
         if move:
             with torch.no_grad():  #: inert-no-grad
                 x = x.to("cpu")
<        print(model(x).argmax())
>        with torch.no_grad():
>            print(model(x).argmax())
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(model(x), y).backward()
     optimizer.step()
 evaluate(True)
""",
    "class, forward inherited": """
 class Base(nn.Module):
     def forward(self, x):
         return self.layer(x)
<@torch.no_grad()  #: inert-no-grad
 class Net(Base):
     def __init__(self):
         super().__init__()
         self.layer = nn.Linear(3, 1)
 net = Net().eval()
<print(net(x).sum().item())
>with torch.no_grad():
>    print(net(x).sum().item())
""",
    "eval, given network": """
+@torch.no_grad()
 def evaluate(net):
     net.eval()
     total = 0
     for x, y in data:
         total += net(x).sum().item()  #: eval-without-no-grad
     return total
 eval("evaluate(model)")
""",
}
"""Programs that train what they should and keep a graph for nobody: once mended, they save or hold less."""

SAME = {
    "dropped, before training": """
 def train():
<    torch.no_grad()  #: inert-no-grad
     loss = loss_fn(model(x), y)
     loss.backward()
 train()
""",
    "named, above a function that trains": """
<torch.no_grad()  #: inert-no-grad
 def train():
     loss = loss_fn(model(x), y)
     loss.backward()
     optimizer.step()
 train()
""",
    "class, trained": """
<@torch.no_grad()  #: inert-no-grad
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.layer = nn.Linear(3, 1)
     def forward(self, x):
         return self.layer(x)
 net = Net()
 loss_fn(net(x), y).backward()
""",
    "retained": """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
-a.backward(retain_graph=True)  #: retain-to-accumulate
-b.backward()
+(a + b).backward()
 optimizer.step()
""",
    "retained, by place": """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
-a.backward(None, True)  #: retain-to-accumulate
-b.backward()
+(a + b).backward()
 optimizer.step()
""",
    "retained, rebound": """
 features = torch.tanh(model(x))
 loss = features.mean()
<loss.backward(retain_graph=True)  #: retain-to-accumulate
<loss = features.pow(2).mean()
>loss = loss + features.pow(2).mean()
 loss.backward()
 optimizer.step()
""",
    "retained, different calls": """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
<a.backward(retain_graph=True)  #: retain-to-accumulate
<torch.autograd.backward(b)
>torch.autograd.backward(a + b)
 optimizer.step()
""",
    "retained, in a branch": """
 both = random.random() < 2
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
<a.backward(retain_graph=True)  #: retain-to-accumulate
 if both:
<    b.backward()
>    a = a + b
>a.backward()
 optimizer.step()
""",
    "retained, three": """
 features = torch.tanh(model(x))
 a, b, c = features.mean(), features.pow(2).mean(), features.abs().mean()
-a.backward(retain_graph=True)  #: retain-to-accumulate
-b.backward(retain_graph=True)
-c.backward()
+(a + b + c).backward()
 optimizer.step()
""",
    "retained, function": """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
-torch.autograd.backward(a, retain_graph=True)  #: retain-to-accumulate
-torch.autograd.backward(b)
+torch.autograd.backward(a + b)
 optimizer.step()
""",
    "retained, computed in the call": """
 features = torch.tanh(model(x))
<features.mean().backward(retain_graph=True)  #: retain-to-accumulate
 print("one")
<features.pow(2).mean().backward()
>(features.mean() + features.pow(2).mean()).backward()
 optimizer.step()
""",
    "retained, twice": """
 a = torch.tanh(model(x))
-a.mean().backward(retain_graph=True)  #: retain-to-accumulate
-a.pow(2).mean().backward()
+(a.mean() + a.pow(2).mean()).backward()
 b = torch.tanh(model(x))
-b.mean().backward(retain_graph=True)  #: retain-to-accumulate
-b.pow(2).mean().backward()
+(b.mean() + b.pow(2).mean()).backward()
 optimizer.step()
""",
    "in turns": """
 features = torch.tanh(model(x))
+total = 0.0
 for i in range(3):
     loss = (features * i).pow(2).mean()
-    loss.backward(retain_graph=True)  #: retain-to-accumulate
+    total = total + loss
+total.backward()
 optimizer.step()
""",
    "in turns, function": """
 features = torch.tanh(model(x))
+total = 0.0
 for i in range(3):
     loss = (features * i).pow(2).mean()
-    torch.autograd.backward(loss, retain_graph=True)  #: retain-to-accumulate
+    total = total + loss
+torch.autograd.backward(total)
 optimizer.step()
""",
    "in turns, sometimes": """
 features = torch.tanh(model(x))
>total = 0
 for i in range(3):
     loss = (features * i).pow(2).mean()
     if loss > 0:
<        loss.backward(retain_graph=True)  #: retain-to-accumulate?
>        total = total + loss
>total.backward()
 optimizer.step()
""",
    "in turns, listed": """
 features = torch.tanh(model(x))
 losses = [features.mean(), features.pow(2).mean()]
<[loss.backward(retain_graph=True) for loss in losses]  #: retain-to-accumulate
>sum(losses).backward()
 optimizer.step()
""",
    "in turns, helper": """
<def back(loss):
<    loss.backward(retain_graph=True)  #: retain-to-accumulate
 features = torch.tanh(model(x))
>total = 0
 for i in range(3):
<    back((features * i).pow(2).mean())
>    total = total + (features * i).pow(2).mean()
>total.backward()
 optimizer.step()
""",
    "kept in vain": """
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
-    loss.backward(retain_graph=True)  #: useless-retain
+    loss.backward()
     optimizer.step()
""",
    "kept in vain, count": """
 for i in range(3):
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
-    loss.backward(retain_graph=i < 2)  #: useless-retain
+    loss.backward()
     optimizer.step()
""",
    "kept in vain, not": """
 for i in range(3):
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
-    loss.backward(retain_graph=not i == 2)  #: useless-retain
+    loss.backward()
     optimizer.step()
""",
    "in turns, assigned": """
 features = torch.tanh(model(x))
>total = 0
 for i in range(3):
     loss = (features * i).pow(2).mean()
<    none = loss.backward(retain_graph=True)  #: retain-to-accumulate
>    total = total + loss
>total.backward()
 optimizer.step()
""",
}
"""Programs with something that has no effect: once mended, they train the same."""

RIGHT = {
    "another part in evaluation": """
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.body, self.head = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), nn.Linear(3, 1)
     def forward(self, x):
         return self.head(self.body(x))
 net, other = Net(), nn.Dropout(0.5)
 net.body.requires_grad_(False)
 other.eval()
 opt = torch.optim.SGD(net.head.parameters(), lr=0.1)
 net.train()
 for x, y in data:
     opt.zero_grad()
     loss_fn(net(x), y).backward()
     opt.step()
""",
    "mode of what is wrapped": """
 net = random.choice([nn.DataParallel(nn.Sequential(nn.Dropout(0.5), nn.Linear(3, 1)))])
 opt = torch.optim.SGD(net.parameters(), lr=0.1)
 for epoch in range(2):
     net.module.train()
     for x, y in data:
         opt.zero_grad()
         loss_fn(net(x), y).backward()
         opt.step()
     net.eval()
     with torch.no_grad():
         for x, y in data:
             print(net(x).sum().item())
""",
    "caught": """
 try:
     loss_fn(model(x).detach(), y).backward()
 except RuntimeError:
     pass
""",
    "caught, bare": """
 try:
     loss_fn(model(x).detach(), y).backward()
 except:
     pass
""",
    "unscaled window, one": """
 for i, (x, y) in enumerate(data):
     loss = loss_fn(model(x), y)
     loss.backward()
     if i % 1 == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "window, div_": """
 every = 2
 for i, (x, y) in enumerate(data):
     loss = loss_fn(model(x), y)
     loss.div(every).backward()
     if (i + 1) % every == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "window, augmented": """
 every = 2
 for i, (x, y) in enumerate(data):
     loss = loss_fn(model(x), y)
     loss /= every
     loss.backward()
     if (i + 1) % every == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "window, constant": """
 for i, (x, y) in enumerate(data):
     loss = loss_fn(model(x), y)
     loss /= 2
     loss.backward()
     if (i + 1) % 2 == 0:
         optimizer.step()
         optimizer.zero_grad()
""",
    "dropped loss, switch": """
 use = False
 for x, y in data:
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     extra_loss = model(x + 1).abs().mean()
     if use:
         extra_loss.backward()
     loss.backward()
     optimizer.step()
""",
    "set, with, right": """
 for phase in ["train", "val"]:
     with torch.set_grad_enabled(phase == "train"):
         loss = loss_fn(model(x), y)
     if phase == "train":
         loss.backward()
 optimizer.step()
""",
    "inference tensor, caught": """
 with torch.inference_mode():
     features = model(x).relu()
 head = nn.Linear(1, 1)
 try:
     loss = head(features).mean()
 except RuntimeError:
     pass
""",
    "window, two losses between": """
 for i, (x, y) in enumerate(data):
     loss_fn(model(x), y).backward()
     if (i + 1) % 2 == 0:
         optimizer.step()
         optimizer.zero_grad()
     else:
         model(x).pow(2).mean().backward()
""",
    "either, first turn": """
 for i, (x, y) in enumerate(data):
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     if i == 0:
         loss.backward()
     if i > 0:
         loss.backward()
     optimizer.step()
""",
    "either, turn as a truth": """
 for i, (x, y) in enumerate(data):
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     if i:
         loss.backward()
     if i == 0:
         loss.backward()
     optimizer.step()
""",
    "either, named not": """
 for i, (x, y) in enumerate(data):
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
     first = not i > 0
     if first:
         loss.backward()
     if i > 0:
         loss.backward()
     optimizer.step()
""",
    "either, start of a word": """
 phase = "train"
 loss = loss_fn(model(x), y)
 if phase.startswith("train"):
     loss.backward()
 if not phase.startswith("train"):
     loss.backward()
 optimizer.step()
""",
    "either, any": """
 def train(flags):
     loss = loss_fn(model(x), y)
     if any(flags):
         loss.backward()
     if not any(flags):
         loss.backward()
     optimizer.step()
 eval("train([True, False])")
""",
    "asked whether it records": """
 with torch.no_grad():
     loss = loss_fn(model(x), y)
     if torch.is_grad_enabled():
         loss.backward()
         optimizer.step()
""",
    "updated by a hook": """
 other = nn.Linear(3, 1)
 def update(module, taken, given):
     with torch.no_grad():
         module.bias -= 0.1 * given[0].sum(0)
 other.register_full_backward_hook(update)
 for x, y in data:
     optimizer.zero_grad()
     loss_fn(other(x), y).backward()
     optimizer.step()
""",
    "eval, given decorator": """
 def evaluate(quiet, net):
     net.eval()
     @quiet
     def total():
         found = 0
         for x, y in data:
             found += net(x).sum().item()
         return found
     return total()
 eval("evaluate(torch.no_grad(), model)")
""",
}
"""Programs with nothing wrong."""

MISSES = {
    "thawed, by a flag": (
        "a flag that a branch decides is not taken for a switch that is meant to last",
        """
 class Net(nn.Module):
     def __init__(self):
         super().__init__()
         self.body, self.head = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)), nn.Linear(3, 1)
     def forward(self, x):
         return self.head(self.body(x))
 net = Net()
 net.body.requires_grad_(False)
 tuning = random.random() > 2
 if not tuning:
     net.body.train(tuning)
 opt = torch.optim.SGD(net.head.parameters(), lr=0.1)
 net.train()
>net.body.eval()
 for x, y in data:
     opt.zero_grad()
     loss_fn(net(x), y).backward()
     opt.step()
""",
    ),
    "class, no forward": (
        "what a class inherits is not looked through",
        """
<@torch.no_grad()
 class Net(nn.Linear):
     pass
 net = Net(3, 1).eval()
<print(net(x).sum().item())
>with torch.no_grad():
>    print(net(x).sum().item())
""",
    ),
    "window, step in a function": (
        "the length of the window is not written where the step is",
        """
 def step():
     optimizer.step()
     optimizer.zero_grad()
 every = 2
 for i, (x, y) in enumerate(data):
<    loss_fn(model(x), y).backward()
>    (loss_fn(model(x), y) / every).backward()
     if (i + 1) % every == 0:
         step()
""",
    ),
    "optimized result": (
        "nothing is trained in the file",
        """
 w = torch.ones(3, 1, requires_grad=True) * 0.1
 opt = torch.optim.SGD([w], lr=0.1)  #: raises
""",
    ),
    "rebound, cleared": (
        "a gradient that is set is taken for one",
        """
 w = torch.zeros(3, 1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w, y).backward()
     w = w - 0.1 * w.grad  #: raises
     w.grad = None
""",
    ),
    "rebound, deleted": (
        "a gradient that is set is taken for one",
        """
 w = torch.zeros(3, 1, requires_grad=True)
 for x, y in data:
     loss_fn(x @ w, y).backward()
     w = w - 0.1 * w.grad  #: raises
     del w.grad
""",
    ),
    "rebound, given": (
        "what is given may be anything",
        """
 def train(w):
     for x, y in data:
         loss_fn(x @ w, y).backward()
         w = w - 0.1 * w.grad  #: raises
     return w
 eval("train(torch.zeros(3, 1, requires_grad=True))")
""",
    ),
    "leaf, of numpy": (
        "an array may have come from anywhere",
        """
<loss = torch.from_numpy(loss_fn(model(x), y).detach().numpy().reshape(1))
<loss.requires_grad = True
>loss = loss_fn(model(x), y)
 loss.backward()
 optimizer.step()
""",
    ),
    "retained, starred": (
        "arguments that are unpacked are unknown",
        """
 features = torch.tanh(model(x))
 a, b = features.mean(), features.pow(2).mean()
<keep = [None, True]
<a.backward(*keep)
<b.backward()
>(a + b).backward()
 optimizer.step()
""",
    ),
    "in turns, with else": (
        "a step in the `else` of a loop is not taken for one that follows the loop",
        """
 features = torch.tanh(model(x))
>total = 0
 for i in range(3):
     loss = (features * i).pow(2).mean()
<    loss.backward(retain_graph=True)
<else:
<    optimizer.step()
>    total = total + loss
>total.backward()
>optimizer.step()
""",
    ),
    "kept in vain, name": (
        "a flag with a name may be set from elsewhere",
        """
 keep = True
 for i in range(3):
     optimizer.zero_grad()
     loss = loss_fn(model(x), y)
<    loss.backward(retain_graph=keep)
>    loss.backward()
     optimizer.step()
""",
    ),
    "carried, no such shape": (
        "objects that a list holds are not followed",
        """
 class State:
     def __init__(self, h):
         self.h = h
 states = [State(torch.zeros(4, 3))]
 for x, y in data:
     optimizer.zero_grad()
     states = [State(torch.tanh(model(x) + states[0].h))]
     states[0].h.mean().backward()  #: raises
     optimizer.step()
""",
    ),
}
"""What is wrong and not reported, and why."""

TABLES = {"raises": RAISES, "trains": TRAINS, "lighter": LIGHTER, "same": SAME, "right": RIGHT}
CASES = {
    **{(kind, name): text for kind, table in TABLES.items() for name, text in table.items()},
    **{("missed", name): text for name, (_, text) in MISSES.items()},
}


@dataclass(frozen=True)
class Case:
    """A program, what is reported of it, where it stops, and what it is once mended: by a fix, or by hand."""

    program: str
    found: list[tuple[int, str]]
    stops: set[int]
    fixed: str
    mended: str


def parsed(text: str) -> Case:
    """Read a case of a table."""
    lines = text.removeprefix("\n").splitlines()
    rows = [(line[:1], *line[1:].partition("  #: ")[::2]) for line in lines]
    before = [(code, marks.split()) for sign, code, marks in rows if sign not in ("+", ">")]
    program = HEAD + "".join(f"{code}\n" for code, _ in before)
    first = HEAD.count("\n") + 1
    said = [(number, mark) for number, (_, marks) in enumerate(before, first) for mark in marks]
    found = [(number, mark) for number, mark in said if mark != "raises"]
    stops = {number for number, mark in said if mark == "raises"} or {number for number, _ in found}
    mended = HEAD + "".join(f"{code}\n" for sign, code, _ in rows if sign not in ("-", "<"))
    by_hand = any(sign in ("<", ">") for sign, _, _ in rows)
    return Case(program, found, stops, program if by_hand else mended, mended)


def reported(text: str) -> list[tuple[int, str]]:
    """Return the lines and names of what is found, possible findings with a question mark, each once."""
    found = lint(Source("case.py", text), Settings(possible=True))
    marks = {(one.span.start.line, one.name + ("?" if one.certainty.value == "possible" else "")) for one in found}
    return sorted(marks)


@pytest.mark.parametrize("key", CASES, ids=" / ".join)
def test_found_and_mended(key: tuple[str, str]) -> None:
    """What the marks say is found, and nothing else; the fixes make what the signs say, of which nothing is found."""
    case = parsed(CASES[key])
    assert reported(case.program) == case.found
    fixed = fix(Source("case.py", case.program), Settings(), unsafe=True).text
    assert fixed == case.fixed
    assert fixed == case.program or reported(fixed) == []
    assert bool(case.found) is (key[0] not in ("right", "missed"))


@pytest.mark.parametrize("key", CASES, ids=" / ".join)
def test_truth(key: tuple[str, str]) -> None:
    """What is reported is so, and no longer once it is mended."""
    pytest.importorskip("torch")
    kind, case = key[0], parsed(CASES[key])
    told, mended = oracle.run(case.program + RESULT), oracle.run(case.mended + RESULT)
    if kind == "raises" or (kind == "missed" and case.stops):
        assert told.error is not None
        assert told.line in case.stops
        assert case.mended == case.program or mended.error is None
        return
    assert (told.error, mended.error) == (None, None)
    if kind in ("trains", "missed"):
        assert case.mended != case.program
    if kind == "trains":
        assert oracle.differ(told.result, mended.result)
    elif kind != "missed":
        assert not oracle.differ(told.result, mended.result)
    if kind == "lighter":
        heavy, light = oracle.run(case.program, count=True), oracle.run(case.mended, count=True)
        assert (heavy.saved, heavy.alive) != (light.saved, light.alive)
        assert less(light.saved, heavy.saved) or less(light.alive, heavy.alive)


@pytest.mark.parametrize(
    "name",
    ["detach in the call", "leaf, tensor", "no step", "eval", "train mode", "kept", "inference tensor", "kept in vain"],
)
def test_in_tests(name: str) -> None:
    """Of a file of tests, nothing is said that only costs time, or that a test may try on purpose."""
    case = parsed(next(text for (_, known), text in CASES.items() if known == name))
    assert case.found
    assert lint(Source("test_case.py", case.program), Settings(possible=True)) == []


def less(one: int | None, other: int | None) -> bool:
    """Tell whether both were counted and one is less."""
    return one is not None and other is not None and one < other
