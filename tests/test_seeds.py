"""The seeds' claims about PyTorch: what PyTorch does and what adlint says, side by side on one program text.

The table of all claims is `docs/seeds.md`. Marks in the programs are those of the fixtures.
"""

from __future__ import annotations

import math

import oracle
import pytest
from conftest import Marks
from oracle import Outcome

from adlint.config import Settings
from adlint.linter import lint
from adlint.source import Source

pytestmark = pytest.mark.runtime

FREED = (
    "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they "
    "have already been freed). Saved intermediate values of the graph are freed when you call .backward() or "
    "autograd.grad(). Specify retain_graph=True if you need to backward through the graph a second time or if you "
    "need to access saved tensors after calling backward."
)


def side_by_side(marked: str, *, count: bool = False) -> Outcome:
    """Run a program under PyTorch, after adlint has reported exactly what its marks say."""
    text, marks = Marks.strip(marked.lstrip("\n"))
    found = {(item.span.start.line, item.name) for item in lint(Source("seed.py", text), Settings())}
    assert found == marks.reported
    return oracle.run(text, count=count)


# Seed 000: a graph is used once


def test_the_same_loss_twice_raises() -> None:
    """A second backward on the same loss is refused, because the saved tensors were freed."""
    outcome = side_by_side("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x.exp() * x).sum()
loss.backward()
loss.backward()  # want: double-backward
""")
    assert outcome.error == FREED
    assert outcome.line == 6


def test_the_refused_backward_leaves_the_first_gradient() -> None:
    """What the first backward stored is still there after the second was refused."""
    outcome = side_by_side("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x.exp() * x).sum()
loss.backward()
try:
    loss.backward()  # want: double-backward
except RuntimeError:
    pass
RESULT = x.grad.tolist()
""")
    assert outcome.error is None
    assert outcome.result == pytest.approx([math.exp(v) * (1 + v) for v in (1.0, 2.0)])


def test_retained_graph_is_walked_twice() -> None:
    """With `retain_graph=True` on the first call, the second runs, and `.grad` holds twice the gradient."""
    outcome = side_by_side("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x.exp() * x).sum()
loss.backward(retain_graph=True)
loss.backward()
RESULT = x.grad.tolist()
""")
    assert outcome.result == pytest.approx([10.8731, 44.3343], rel=1e-5)


def test_second_walk_without_retaining_consumes() -> None:
    """A retained graph is consumed by the first walk that does not retain it: the third raises."""
    outcome = side_by_side("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x.exp() * x).sum()
loss.backward(retain_graph=True)
loss.backward()
loss.backward()  # want: double-backward
""")
    assert outcome.error == FREED
    assert outcome.line == 7


def test_clone_shares_the_graph() -> None:
    """A clone taken before the first backward shares the graph and is refused like the original."""
    outcome = side_by_side("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (x.exp() * x).sum()
l2 = loss.clone()
loss.backward()
l2.backward()  # want: double-backward
""")
    assert outcome.error == FREED


def test_two_losses_share_an_intermediate() -> None:
    """The second loss is refused, because the exponential that both share was freed by the first."""
    outcome = side_by_side("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
l1, l2 = h.sum(), (h * 2).sum()
l1.backward()
l2.backward()  # want: shared-backward
""")
    assert outcome.error == FREED
    assert outcome.line == 7


def test_only_what_is_shared_is_missing() -> None:
    """The second loss's own steps are intact: if the shared node saved nothing, it runs through them."""
    outcome = side_by_side("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x + 1
l1, l2 = h.sum(), (h * h).sum()
l1.backward()
l2.backward()
RESULT = x.grad.tolist()
""")
    assert outcome.result == (5.0, 7.0)


def test_sum_of_the_losses_equals_retaining() -> None:
    """Adding the losses and one backward gives, bit for bit, what retaining and two backwards give: 3·exp(x)."""
    retained = oracle.run("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
l1, l2 = h.sum(), (h * 2).sum()
l1.backward(retain_graph=True)
l2.backward()
RESULT = x.grad.tolist()
""")
    summed = side_by_side("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
(h.sum() + (h * 2).sum()).backward()
RESULT = x.grad.tolist()
""")
    assert summed.result == retained.result == (8.154845237731934, 22.16716766357422)


def test_sum_of_the_losses_equals_retaining_up_to_rounding() -> None:
    """Inaccurate as a general rule: below a shared non-leaf the sums are associated otherwise, and bits differ."""
    outcome = oracle.run("""
import torch

worst, equal = 0.0, 0
for seed in range(50):
    torch.manual_seed(seed)
    leaf, w = torch.randn(6), torch.randn(6)
    grads = []
    for together in (False, True):
        x = leaf.clone().requires_grad_()
        h = x.exp()
        l1, l2 = (h * w).sum(), (h * h).mean()
        if together:
            (l1 + l2).backward()
        else:
            l1.backward(retain_graph=True)
            l2.backward()
        grads.append(x.grad)
    equal += torch.equal(*grads)
    worst = max(worst, ((grads[0] - grads[1]).abs() / grads[0].abs().clamp(min=1)).max().item())
RESULT = [equal, worst]
""")
    assert outcome.result is not None
    equal, worst = outcome.result
    assert equal < 50
    assert 0 < worst < 1e-6


def test_reading_a_term_does_not_walk_the_graph() -> None:
    """Terms are logged by their values; `item()` costs no backward and frees nothing."""
    outcome = side_by_side("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
l1, l2 = h.sum(), (h * 2).sum()
logged = [l1.item(), l2.item()]
(l1 + l2).backward()
RESULT = logged + x.grad.tolist()
""")
    e1, e2 = math.exp(1.0), math.exp(2.0)
    assert outcome.result == pytest.approx([e1 + e2, 2 * (e1 + e2), 3 * e1, 3 * e2])


def test_forward_outside_the_loop_raises_in_the_second_iteration() -> None:
    """A forward result kept outside the loop is the same mistake: its graph is gone after the first iteration."""
    outcome = side_by_side("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
done = []
for weight in (1.0, 2.0):
    loss = (h * weight).sum()
    loss.backward()  # want: shared-backward
    done.append(weight)
""")
    assert outcome.error == FREED
    assert outcome.line == 8


def test_error_is_an_ordinary_exception_and_fresh_branches_survive() -> None:
    """The error can be caught; a new forward of the leaf works afterwards, other losses on the freed node do not."""
    outcome = side_by_side("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
l1, l2, l3 = h.sum(), (h * 2).sum(), (h * 3).sum()
l1.backward()
refused = 0
try:
    l2.backward()  # want: shared-backward
except RuntimeError:
    refused += 1
x.grad = None
fresh = (x * 4).sum()
fresh.backward()
try:
    l3.backward()  # want: shared-backward
except RuntimeError:
    refused += 1
RESULT = [refused, *x.grad.tolist()]
""")
    assert outcome.error is None
    assert outcome.result == (2.0, 4.0, 4.0)


def test_refused_backward_is_no_no_op() -> None:
    """Not said by the seed, and other than burn: branches walked before the freed node have already been added."""
    outcome = oracle.run("""
import torch

x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
h = x.exp()
h.sum().backward()
loss = (h * 2).sum() + (y + 1).sum()
try:
    loss.backward()
except RuntimeError:
    pass
RESULT = y.grad.tolist()
""")
    assert outcome.result == (1.0, 1.0)


@pytest.mark.parametrize(
    ("function", "raises", "grad"),
    [("x * 2", True, (2.0, 2.0)), ("x + 1", False, (2.0, 2.0)), ("x * x", True, (2.0, 4.0))],
)
def test_which_second_backward_raises(function: str, raises: bool, grad: tuple[float, ...]) -> None:
    """`x * 2` and `x * x` raise and keep the first gradient; `x + 1` saves nothing, runs again and doubles it."""
    outcome = side_by_side(f"""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = ({function}).sum()
loss.backward()
raised = False
try:
    loss.backward()  # want: double-backward
except RuntimeError:
    raised = True
RESULT = [raised, *x.grad.tolist()]
""")
    assert outcome.result == (float(raises), *grad)


def test_what_the_nodes_save() -> None:
    """Addition and sum save no tensor. Inaccurate: `x * 2` has two `_saved_` attributes but saves one tensor."""
    outcome = oracle.run("""
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)


def saved(output):
    node = output.grad_fn
    return {name[7:]: getattr(node, name) for name in dir(node) if name.startswith("_saved_")}


scaled, squared, shifted, summed = saved(x * 2), saved(x * x), saved(x + 1), saved(x.sum())
is_tensor = lambda value: isinstance(value, torch.Tensor)
RESULT = [
    sorted(scaled) == ["other", "self"],
    scaled["self"] is None,
    is_tensor(scaled["other"]),
    is_tensor(squared["self"]) and is_tensor(squared["other"]),
    list(shifted) == ["alpha"] and not is_tensor(shifted["alpha"]),
    list(summed) == ["self_sym_sizes"],
]
""")
    assert outcome.result == (1.0,) * 6


# Seed 001: gradients add up in their slots. The seed's programs are tenferro's; this is the PyTorch side of its claims.

SLOTS = """
import torch

w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x = torch.tensor([10.0, 20.0, 30.0])
"""


def test_gradients_of_the_steps_add_up() -> None:
    """Each loss is new, yet `w.grad` is the sum over all steps. Without a step this is accumulation, and legal."""
    outcome = side_by_side(f"""{SLOTS}
RESULT = []
for step in range(3):
    loss = (w * x).sum()
    loss.backward()
    RESULT += w.grad.tolist()
""")
    assert outcome.result == (10.0, 20.0, 30.0, 20.0, 40.0, 60.0, 30.0, 60.0, 90.0)


def test_updates_grow_with_the_number_of_steps() -> None:
    """Updating the parameter with it makes step n n times as long, without an error or a warning."""
    outcome = side_by_side(f"""{SLOTS}
RESULT = []
for step in range(3):
    before = w.detach().clone()
    loss = (w * x).sum()
    loss.backward()  # want: missing-zero-grad
    with torch.no_grad():
        w -= 0.5 * w.grad
    RESULT.append((before - w.detach())[0].item())
""")
    assert outcome.error is None
    assert outcome.result == (5.0, 10.0, 15.0)


def test_optimizer_applies_the_sum_as_well() -> None:
    """The same with an optimizer: its step does not clear."""
    outcome = side_by_side(f"""{SLOTS}
optimizer = torch.optim.SGD([w], lr=0.5)
RESULT = []
for step in range(3):
    loss = (w * x).sum()
    loss.backward()  # want: missing-zero-grad
    optimizer.step()
    RESULT.append(w.grad[0].item())
""")
    assert outcome.result == (10.0, 20.0, 30.0)


@pytest.mark.parametrize("clear", ["w.grad = None", "w.grad.zero_()", "optimizer.zero_grad()"])
def test_cleared_slots_hold_one_gradient(clear: str) -> None:
    """Clearing the slot after (or before) each step leaves each step its own gradient; one variable or all of them."""
    outcome = side_by_side(f"""{SLOTS}
optimizer = torch.optim.SGD([w], lr=0.5)
RESULT = []
for step in range(3):
    loss = (w * x).sum()
    loss.backward()
    optimizer.step()
    RESULT += w.grad.tolist()
    {clear}
""")
    assert outcome.result == (10.0, 20.0, 30.0) * 3


def test_large_batch_in_several_backwards() -> None:
    """Accumulating is meant so that a large batch can be taken apart: one update after several backwards."""
    outcome = side_by_side("""
import torch

torch.manual_seed(0)
batch = torch.randn(12, 3)
grads = []
for parts in (1, 4):
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    optimizer.zero_grad()
    for part in batch.chunk(parts):
        loss = (part @ w).pow(2).sum() / len(batch)
        loss.backward()
    optimizer.step()
    grads += w.grad.tolist()
RESULT = grads
""")
    assert outcome.result is not None
    assert outcome.result[:3] == pytest.approx(outcome.result[3:])


def test_intermediates_and_constants_have_no_gradient() -> None:
    """Only leaves that require grad have a slot; for the others `.grad` is None, not zero."""
    outcome = oracle.run(f"""{SLOTS}
h = w * x
h.sum().backward()
RESULT = [h.grad is None, x.grad is None, w.grad is None, h.requires_grad]
""")
    assert outcome.result == (1.0, 1.0, 0.0, 1.0)


def test_backward_of_a_vector_needs_a_seed() -> None:
    """A non-scalar is refused unless it is given the gradient to start from."""
    outcome = side_by_side(f"""{SLOTS}
h = w * x
h.backward(torch.ones(3))
print(w.grad)
(w * x).backward()  # want: non-scalar-backward
""")
    assert outcome.error == "RuntimeError: grad can be implicitly created only for scalar outputs"


def test_functional_grad_leaves_the_slots_alone() -> None:
    """`torch.autograd.grad()` returns new tensors, and the slot keeps the sum of the three steps."""
    outcome = side_by_side(f"""{SLOTS}
for step in range(3):
    (w * x).sum().backward()
(dw,) = torch.autograd.grad((w * x).sum(), w)
RESULT = dw.tolist() + w.grad.tolist()
""")
    assert outcome.result == (10.0, 20.0, 30.0, 30.0, 60.0, 90.0)


def test_functional_grad_of_an_intermediate() -> None:
    """Other than in tenferro, an intermediate of the loss can be differentiated by; one outside it is refused."""
    outcome = oracle.run(f"""{SLOTS}
h = w * x
(dh,) = torch.autograd.grad(h.sum(), h, retain_graph=True)
aside = w * 2
(unused,) = torch.autograd.grad(h.sum(), aside, allow_unused=True, retain_graph=True)
print(dh, unused)
torch.autograd.grad(h.sum(), aside)
""")
    assert outcome.error is not None
    assert "appears to not have been used in the graph" in outcome.error


def test_same_data_twice_tells() -> None:
    """How to check: with the same data the second gradient equals the first; it is twice it without the clear."""
    outcome = oracle.run(f"""{SLOTS}
RESULT = []
for clear in (False, True):
    w.grad = None
    seen = []
    for step in range(2):
        if clear:
            w.grad = None
        (w * x).sum().backward()
        seen.append(w.grad[0].item())
    RESULT.append(seen[1] / seen[0])
""")
    assert outcome.result == (2.0, 1.0)


# Seed 004: validation without no_grad

VALIDATION = """
import torch
from torch import nn

torch.manual_seed(42)
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
val = torch.randn(32, 64)
model.eval()


{decorator}def evaluate(n):
    score = 0.0
    for _ in range(n):
        {forward}
        score += out.mean().item()
    return score


RESULT = [evaluate(5)]
"""
FORGOTTEN = VALIDATION.format(decorator="", forward="out = model(val)  # want: eval-without-no-grad")
WRAPPED = VALIDATION.format(decorator="", forward="with torch.no_grad():\n            out = model(val)")
DECORATED = VALIDATION.format(decorator="@torch.no_grad()\n", forward="out = model(val)")


def test_eval_mode_records() -> None:
    """Without `no_grad()` every validation batch builds a graph, in eval mode too; within it none does."""
    forgotten = side_by_side(FORGOTTEN, count=True)
    assert forgotten.saved
    for text in (WRAPPED, DECORATED):
        assert side_by_side(text, count=True).saved == 0


def test_forgetting_costs_no_correctness() -> None:
    """The scores are the same with and without the scope, bit for bit."""
    assert side_by_side(FORGOTTEN).result == side_by_side(WRAPPED).result == side_by_side(DECORATED).result


LIVE = """
import torch
from torch import nn

torch.manual_seed(42)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).eval()
live = 0


class Kept:
    def __init__(self, tensor):
        global live
        live += 1
        self.tensor = tensor.detach()  # an output kept as it is would keep itself alive

    def __del__(self):
        global live
        live -= 1


RESULT, outputs = [], []
with torch.autograd.graph.saved_tensors_hooks(Kept, lambda kept: kept.tensor):
    for batch in torch.randn(6, 32, 64):
        out = model(batch)
        {keep}
        RESULT.append(live)
"""


def test_forgotten_graph_goes_with_its_output() -> None:
    """The graph hangs on the output: what is saved stays at one batch's worth, and memory is flat."""
    outcome = oracle.run(LIVE.format(keep="pass"))
    assert outcome.result is not None
    assert outcome.result[0] > 0
    assert max(outcome.result[1:]) == min(outcome.result[1:]) <= 2 * outcome.result[0]


def test_kept_outputs_keep_their_graphs() -> None:
    """The limit of that claim: outputs that are kept keep all their graphs, and memory grows batch by batch."""
    outcome = oracle.run(LIVE.format(keep="outputs.append(out)"))
    assert outcome.result is not None
    first = outcome.result[0]
    assert outcome.result == tuple(first * batches for batches in range(1, 7))


def test_output_tells_whether_it_was_recorded() -> None:
    """How to check: a recorded output requires grad, and its graph starts at the parameters."""
    outcome = oracle.run("""
import torch
from torch import nn

model = nn.Linear(3, 2).eval()
recorded = model(torch.randn(4, 3))
with torch.no_grad():
    unrecorded = model(torch.randn(4, 3))
RESULT = [recorded.requires_grad, recorded.grad_fn is not None, unrecorded.requires_grad]
""")
    assert outcome.result == (1.0, 1.0, 0.0)
