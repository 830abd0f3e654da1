"""The torch profile against the installed PyTorch: what it names exists, and nothing public is left without a role."""

from __future__ import annotations

import functools
import importlib
import inspect
import warnings
from typing import Any

import pytest

from adlint import catalog

torch = pytest.importorskip("torch")

PROFILE = catalog.load().profiles["torch"]

# Methods of tensors in earlier versions.
OLD_METHODS = {"has_names", "names", "refine_names", "rename", "align_as", "align_to", "alias", "detach_copy"}


@functools.cache
def resolve(dotted: str) -> Any:
    """The object of that name, or None."""
    parts = dotted.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:split]))
        except ImportError:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return functools.reduce(getattr, parts[split:], found)
        except AttributeError:
            return None
    return None


def public(namespace: Any) -> list[str]:
    return [name for name in dir(namespace) if not name.startswith("_")]


def classes(namespace: Any, base: type) -> list[type]:
    found = (getattr(namespace, name) for name in public(namespace))
    return [item for item in found if inspect.isclass(item) and issubclass(item, base)]


def exact() -> list[tuple[str, str]]:
    return [(name, role) for name, role in PROFILE._roles.exact.items() if name.startswith("torch.")]


def test_exact_names_exist() -> None:
    """A name that PyTorch does not have is a slip of the pen."""
    missing = [name for name, _ in exact() if resolve(name) is None]
    assert missing == []


def test_parameterless_modules_own_none() -> None:
    """What is said to own no parameters is a module class that is not documented to."""
    assert all(inspect.isclass(resolve(name)) for name in PROFILE._parameterless)
    built = {"torch.nn.ReLU": (), "torch.nn.Dropout": (), "torch.nn.MaxPool2d": (2,), "torch.nn.Flatten": ()}
    for name, arguments in built.items():
        assert PROFILE.parameterless(name)
        assert not list(resolve(name)(*arguments).parameters())
    for name in ("torch.nn.Linear", "torch.nn.BatchNorm2d", "torch.nn.PReLU", "torch.nn.InstanceNorm2d", "ours.Net"):
        assert not PROFILE.parameterless(name)


def test_optimizers() -> None:
    expected = {torch.optim.Optimizer: "optimizer-base", torch.optim.LBFGS: "lbfgs"}
    for found in classes(torch.optim, torch.optim.Optimizer):
        role = expected.get(found, "optimizer")
        assert role == PROFILE.role(f"torch.optim.{found.__name__}"), found
        assert role == PROFILE.role(f"{found.__module__}.{found.__qualname__}"), found


def test_schedulers() -> None:
    for found in classes(torch.optim.lr_scheduler, torch.optim.lr_scheduler.LRScheduler):
        assert PROFILE.role(f"torch.optim.lr_scheduler.{found.__name__}") == "scheduler", found


def test_modules() -> None:
    """Every nn.Module class is one of the kinds of module; every loss is a loss."""
    kinds = {"module", "module-base", "loss", "container", "parallel"}
    for found in classes(torch.nn, torch.nn.Module):
        role = PROFILE.role(f"torch.nn.{found.__name__}")
        assert role in kinds, found
        if issubclass(found, torch.nn.modules.loss._Loss):
            assert role in ("loss", "module"), found
        if found.__module__.startswith("torch.nn.modules"):
            assert role == PROFILE.role(f"{found.__module__}.{found.__name__}") or role in ("module", "loss"), found


def test_functional() -> None:
    """Every public function of torch.nn.functional computes, except for the few whose result has no graph."""
    roles: dict[str, str] = {}
    for name in public(torch.nn.functional):
        value = getattr(torch.nn.functional, name)
        if callable(value) and not inspect.isclass(value):
            roles[name] = PROFILE.role(f"torch.nn.functional.{name}")
    assert set(roles.values()) <= {"operation", "in_place", "untracked", "plain"}
    assert {name for name, role in roles.items() if role == "untracked"} == {"one_hot"}
    assert {name for name, role in roles.items() if role == "in_place"} == {n for n in roles if n.endswith("_")}


def test_everything_public_has_a_role() -> None:
    """A name of torch, documented or not, gets an answer."""
    spaces = ("", "nn", "nn.init", "optim", "autograd", "linalg", "fft", "special", "cuda", "distributions", "func")
    for space in spaces:
        dotted = f"torch.{space}" if space else "torch"
        for name in public(resolve(dotted)):
            assert PROFILE.role(f"{dotted}.{name}"), f"{dotted}.{name}"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("torch.no_grad", "no_grad"),
        ("torch.cuda.is_available", "plain"),
        ("torch.cuda.amp.autocast", "autocast"),
        ("torch.cuda.amp.GradScaler", "scaler"),
        ("torch.utils.data.DataLoader", "plain"),
        ("torch.utils.checkpoint.checkpoint", "checkpoint"),
        ("torch.nn.utils.clip_grad_norm_", "clip"),
        ("torch.nn.utils.rnn.pad_sequence", "operation"),
        ("torch.nn.init.xavier_uniform_", "init"),
        ("torch.nn.modules.linear.Linear", "module"),
        ("torch.nn.modules.loss.MSELoss", "loss"),
        ("torch.nn.functional.relu_", "in_place"),
        ("torch.float32", "plain"),
        ("torch.tensor", "factory"),
        ("torch.as_tensor", "variable"),
        ("torch.LongTensor", "factory"),
        ("torch.distributions.Categorical", "distribution"),
        ("torch.distributions.kl_divergence", "operation"),
        ("torch.optim.swa_utils.AveragedModel", "copy"),
        ("torch.optim.swa_utils.update_bn", "plain"),
        ("torch.func.grad", "functional-grad"),
        ("torch.func.functional_call", "operation"),
        ("torch.autograd.set_detect_anomaly", "plain"),
        ("torch.ops.ours.kernel", "operation"),
        ("torchvision.models.resnet18", "module"),
        ("torchvision.models.ResNet18_Weights", "plain"),
        ("torchvision.transforms.Compose", "plain"),
        ("transformers.AutoModel.from_pretrained", "module"),
        ("transformers.BertForSequenceClassification.from_pretrained", "module"),
        ("transformers.AutoTokenizer.from_pretrained", "plain"),
        ("transformers.get_linear_schedule_with_warmup", "scheduler"),
        ("transformers.Trainer", "trainer-base"),
        ("timm.create_model", "module"),
        ("einops.rearrange", "operation"),
        ("lightning.LightningModule", "module-base"),
        ("accelerate.Accelerator", "accelerator"),
        ("deepspeed.initialize", "deepspeed"),
        ("copy.deepcopy", "copy"),
        ("builtins.print", "plain"),
        ("itertools.chain", "iterate"),
        ("collections.deque", "collection"),
        ("contextlib.nullcontext", "autocast"),
        ("builtins.sum", "operation"),
        ("builtins.float", "read"),
        ("math.sqrt", "plain"),
        ("numpy.mean", "plain"),
    ],
)
def test_role(name: str, role: str) -> None:
    assert PROFILE.role(name) == role


def test_every_tensor_method_has_a_role() -> None:
    assert [name for name in public(torch.Tensor) if not PROFILE.method("tensor", name)] == []


def test_tensor_methods_exist() -> None:
    names = PROFILE._methods["tensor"].exact
    assert [name for name in names if name not in OLD_METHODS and not hasattr(torch.Tensor, name)] == []


@pytest.mark.parametrize(
    ("kind", "build"),
    [
        ("module", lambda: torch.nn.Linear(1, 1)),
        ("optimizer", lambda: torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)),
        ("scaler", lambda: torch.amp.GradScaler("cpu")),
        ("distribution", lambda: torch.distributions.Normal(0.0, 1.0)),
    ],
)
def test_every_method_has_a_role(kind: str, build: Any) -> None:
    """All public names of the class; of a module those that every module has."""
    owner = torch.nn.Module if kind == "module" else type(build())
    assert [name for name in public(owner) if not PROFILE.method(kind, name)] == []


@pytest.mark.parametrize(
    ("kind", "name", "role"),
    [
        ("tensor", "backward", "backward"),
        ("tensor", "detach", "detach"),
        ("tensor", "data", "detach"),
        ("tensor", "detach_", "detach_in_place"),
        ("tensor", "item", "read"),
        ("tensor", "mul_", "in_place"),
        ("tensor", "requires_grad_", "requires_grad_"),
        ("tensor", "argmax", "untracked"),
        ("tensor", "mean", "operation"),
        ("tensor", "shape", "plain"),
        ("module", "zero_grad", "clear"),
        ("module", "to", "self"),
        ("module", "eval", "eval"),
        ("optimizer", "step", "step"),
        ("optimizer", "zero_grad", "clear"),
        ("scaler", "unscale_", "unscale"),
        ("accelerator", "backward", "backward"),
        ("deepspeed", "step", "step-and-clear"),
        ("fabric", "setup", "setup"),
        ("distribution", "rsample", "operation"),
        ("distribution", "sample", "detach"),
    ],
)
def test_method(kind: str, name: str, role: str) -> None:
    assert PROFILE.method(kind, name) == role


def test_backward_parameters_are_the_signatures() -> None:
    """Positional arguments are where the profile says."""
    owners = {"Tensor.backward": torch.Tensor.backward, "torch.autograd.backward": torch.autograd.backward}
    owners["torch.autograd.grad"] = torch.autograd.grad
    for name, function in owners.items():
        names = [parameter for parameter in inspect.signature(function).parameters if parameter != "self"]
        assert tuple(names) == PROFILE.backward_parameters[name]


def test_hooks_of_lightning() -> None:
    base = PROFILE.base("pytorch_lightning.LightningModule")
    assert base is not None
    assert base is PROFILE.base("lightning.pytorch.LightningModule")
    assert base.calls == ("clear", "backward", "step")
    assert base.manual_attribute == "automatic_optimization"
    assert base.returns_loss == ("training_step",)
    assert base.runs_without_recording("validation_step")
    assert base.runs_without_recording("on_test_epoch_end")
    assert not base.runs_without_recording("training_step")
    assert base.methods["manual_backward"] == "backward"


def tensors() -> list[Any]:
    return [(torch.rand(3, 3) * 0.8 + 0.1).requires_grad_() + 0 for _ in range(3)]


FORMS = (
    lambda f, a, b, c: f(a),
    lambda f, a, b, c: f(a, b),
    lambda f, a, b, c: f(a, 1),
    lambda f, a, b, c: f(a[0]),
    lambda f, a, b, c: f(a.long()),
    lambda f, a, b, c: f(a.long(), b.long()),
)


def results(function: Any) -> list[Any]:
    """What the function returns for the forms that it takes."""
    found: list[Any] = []
    for form in FORMS:
        try:
            found.append(form(function, *tensors()))
        except Exception:
            continue
    return [item for result in found for item in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.runtime
def test_untracked_results_never_require_grad() -> None:
    """Functions and methods alike, for every call that can be made up."""
    names = [(name, resolve(name)) for name, role in exact() if role == "untracked"]
    names += [
        (f"Tensor.{name}", getattr(torch.Tensor, name))
        for name, role in PROFILE._methods["tensor"].exact.items()
        if role == "untracked" and hasattr(torch.Tensor, name)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tracked = {name for name, function in names for r in results(function) if getattr(r, "requires_grad", False)}
    assert tracked == set()


@pytest.mark.runtime
def test_factories_have_no_graph() -> None:
    """A `*_like` of a graph tensor is a leaf that does not require grad."""
    value = tensors()[0]
    for name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"):
        assert PROFILE.role(f"torch.{name}") == "factory"
        assert not getattr(torch, name)(value).requires_grad
    assert not torch.full_like(value, 2.0).requires_grad
    assert not value.new_zeros(3).requires_grad
    assert torch.as_tensor(value).requires_grad
