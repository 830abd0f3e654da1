"""Frameworks as data: rules/frameworks/ → Profile, what a framework's names mean for the tape.

    rules/frameworks/<id>.toml        one Profile
    rules/frameworks/<id>/*.toml      further tables of that Profile, merged into it
    rules/frameworks/any/*.toml       tables that are merged into every Profile

Roles of library names (`Profile.role`) are the keys of `ROLES`, roles of methods (`Profile.method`) those of
`METHOD_ROLES[kind]`; a TOML that uses another word does not load. A framework is there because its TOML is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase, translate
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from adlint.tables import CatalogError, Table, merged, overlaid, package_data, parse, tables_in
from adlint.wildcards import is_pattern, matches

if TYPE_CHECKING:
    if sys.version_info >= (3, 11):
        from importlib.resources.abc import Traversable
    else:
        from importlib.abc import Traversable

CONSUME = ("saved-tensors", "always", "never")

ROLES: Mapping[str, str] = MappingProxyType(
    {
        # what owns or holds parameters
        "module": "calling it makes a module with parameters of its own",
        "module-base": "subclassing it makes a module class",
        "loss": "calling it makes a module without parameters whose result is a loss or a distance",
        "metric": "calling it makes an object that is fed with outputs; it never touches the tape",
        "container": "a module made of the modules or parameters it is given",
        "parallel": "returns or wraps its first argument: the same module, function or optimizer for the tape",
        "copy": "returns a deep copy of its first argument: other parameters, no shared graph",
        "parameter": "makes a leaf that requires grad",
        "variable": "returns a tensor argument itself, graph and all; anything else becomes a leaf",
        "model-parts": "makes one or several trained things from a list of them",
        "parameters": "the parameters of the object it is given",
        # what moves parameters
        "optimizer": "makes an optimizer over its first argument",
        "optimizer-base": "subclassing it makes an optimizer class",
        "lbfgs": "makes an optimizer whose step needs a closure and calls it many times",
        "scheduler": "makes a learning rate scheduler",
        "scaler": "makes a loss scaler",
        "clip": "rescales gradient slots in place; reads no graph, clears nothing",
        "init": "overwrites parameters in place without recording",
        "load": "reads tensors or objects from storage",
        # what switches recording
        "no_grad": "context or decorator: recording off",
        "inference_mode": "context or decorator: recording off, and results may not enter a graph later",
        "enable_grad": "context or decorator: recording on",
        "set_grad_enabled": "context, decorator or statement: recording as its argument says",
        "autocast": "context or decorator that leaves recording alone",
        # what walks the graph
        "backward": "function: backpropagates its first argument, one tensor or a sequence in one pass, into slots",
        "grad": "function: walks the graph from its first argument to its second and returns the gradients",
        "functional-grad": "differentiates a function; never consumes a graph, never touches slots",
        "checkpoint": "calls its first argument with the others; its result carries their graph",
        # what makes values
        "operation": "its result carries the graph of its tensor arguments",
        "in_place": "overwrites its first argument, which then carries the graph of the others",
        "untracked": "its result never requires grad",
        "factory": "its result has no graph (a leaf; requires grad only if asked by keyword)",
        "detach": "its result has the value of its argument and no graph",
        "read": "its result is a Python or numpy value",
        "distribution": "makes an object that carries the graph of its arguments",
        "iterate": "an iterable over the elements of its arguments, one argument after the other",
        "collection": "a container of its arguments or their elements, empty without",
        "plain": "no tensors in its result, nothing changes on the tape",
        # classes that change what a subclass's methods mean
        "autograd-function": "base of user-defined operations: forward and backward run without recording",
        "trainer-base": "base of a trainer that calls backward, step and clear itself",
        "callback-base": "base of callbacks that a trainer calls",
        # objects of training libraries
        "accelerator": "makes an object of kind accelerator",
        "prepared": "returns what it is given by position, several as a tuple",
        "fabric": "makes an object of kind fabric",
        "engine": "makes an event loop around a process function that it calls per batch",
        "deepspeed": "returns a tuple whose first element is an object of kind deepspeed",
        "manager": "makes an object of kind manager, which backpropagates what it is handed",
        "tape": "makes an object of kind tape, which may be asked for gradients once unless it is persistent",
        "runtime": "makes an object of kind runtime, which makes tensors and differentiates",
    }
)

SCOPES = frozenset({"enable_grad", "inference_mode", "no_grad", "set_grad_enabled"})
_STATE = frozenset({"state", "load", "plain"})
METHOD_ROLES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "tensor": frozenset(
            {
                "backward",
                "clear",
                "clone",
                "detach",
                "detach_in_place",
                "factory",
                "grad",
                "in_place",
                "leaf",
                "operation",
                "plain",
                "read",
                "register_hook",
                "requires_grad_",
                "retain_grad",
                "sever",
                "take",
                "untracked",
            }
        ),
        "module": _STATE
        | {"call", "clear", "eval", "inference", "modules", "named_parameters", "parameter", "parameters"}
        | {"requires_grad_", "self", "submodule", "train"},
        "optimizer": _STATE
        | {"add_param_group", "apply", "autocast", "backward", "built", "clear", "descend", "minimize", "self"}
        | {"setup", "step", "update"},
        "scaler": _STATE | {"minimize", "scale", "step", "unscale", "update"},
        "scheduler": _STATE | {"step"},
        "accelerator": _STATE | {"accumulate", "autocast", "backward", "clip", "gather", "prepare", "unwrap"},
        "fabric": _STATE | {"autocast", "backward", "clip", "gather", "module", "no_backward_sync", "setup"},
        "engine": frozenset({"attach", "on", "plain", "run"}),
        "deepspeed": _STATE | {"backward", "call", "clear", "eval", "module", "parameters", "step-and-clear", "train"},
        "distribution": frozenset({"detach", "operation", "plain", "untracked"}),
        "manager": frozenset({"backward", "plain", "self"}),
        "tape": frozenset({"gradient", "plain"}),
        "runtime": frozenset({"clear", "factory", "grad", "leaf", "operation", "plain"}),
    }
)
BASE_METHOD_ROLES = frozenset(
    {"backward", "clip", "freeze", "gather", "optimizers", "plain", "schedulers", "toggle", "unfreeze", "untoggle"}
)
CALLS = frozenset({"backward", "clear", "step"})


@dataclass(frozen=True, slots=True)
class Modal:
    """The argument without which a module is the same in training and evaluation; always another if there is none.

    `default` tells whether it is another where the argument is not given.
    """

    argument: str
    position: int
    default: bool


@dataclass(frozen=True, slots=True)
class Base:
    """A library class that users subclass, and what its framework does around the subclass's methods.

    Hook names may hold `*`. `calls` lists, in order, what the framework does by itself (backward, step, clear) unless
    the class attribute `manual_attribute` is set to False; `returns_loss` are the hooks whose result it backpropagates,
    unless the class has methods of its own for what the framework does in `backpropagates_in`.
    `repeats` are the hooks that it runs for every batch, one after the other; `configures` is the one that makes the
    optimizers. `methods` gives the roles that methods of `self` have for the tape, `attributes` the kinds of objects
    that it holds.
    """

    names: tuple[str, ...]
    role: str
    hooks_without_recording: tuple[str, ...] = ()
    hooks_by_framework: tuple[str, ...] = ()
    returns_loss: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    manual_attribute: str = ""
    repeats: tuple[str, ...] = ()
    backpropagates_in: tuple[str, ...] = ()
    configures: str = ""
    methods: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)

    def runs_without_recording(self, method: str) -> bool:
        """Whether the framework calls `method` with recording off."""
        return _among(method, self.hooks_without_recording)


@dataclass(frozen=True, slots=True)
class Names:
    """A table from names to roles: exact names first, then patterns in their order.

    In a pattern `*` stands for any characters but a dot, `**` for any characters, `[...]` for one of a set.
    """

    exact: Mapping[str, str]
    patterns: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str:
        """The role of `name`, or an empty string."""
        found = self.exact.get(name)
        if found is not None:
            return found
        return next((role for pattern, role in self.patterns if matches(pattern, name)), "")


@dataclass(frozen=True, eq=False)
class Profile:
    """One framework as data: what its names do to graph, slots and scope. Compared by identity.

    `roots` are the import roots that make a file relevant, `others` those of the other frameworks, whose values this
    one leaves alone. `rules` are the names of the rules for what can go wrong in it (None: all); where there are none,
    there is nothing to say about its programs. `consume` says what a backward frees. Dotted names are canonical: the
    full path by which the library documents or defines the object; Python's own are `builtins.<name>`. `repeatable` are
    the walks that free nothing, `augments` whether `a += b` changes the tensor itself. `tracking` are the attributes
    that say whether a tensor is recorded, each with the value that means it is. An optimizer takes what it owns as the
    argument `owned_argument`, its first one if `owned_first`. `fluent` are the roles of methods that return what they
    are called on. `dormant` tells that nothing is recorded outside a scope; `returns` that a backward returns gradients
    and adds them to nothing; `grows` that what is recorded stays until the next backward, whoever holds it;
    `inactive_results` that a functional gradient is refused for the result of an operation. `tolerant` is one whose
    refused backwards end nothing, so that all of them are seen.
    """

    id: str
    roots: tuple[str, ...]
    rules: frozenset[str] | None
    fluent: frozenset[str]
    grows: bool
    dormant: bool
    returns: bool
    inactive_results: bool
    terms: Mapping[str, str]
    consume: str
    retain_argument: str
    lenient: tuple[str, ...]
    proportional: tuple[str, ...]
    seeds: tuple[str, ...]
    implied_retain: tuple[str, ...]
    backward_parameters: Mapping[str, tuple[str, ...]]
    repeatable: frozenset[str]
    augments: bool
    tracking: Mapping[str, bool]
    owned_argument: str
    owned_first: bool
    bases: tuple[Base, ...]
    _roles: Names
    _methods: Mapping[str, Names]
    _parameterless: frozenset[str]
    _modal: tuple[tuple[str, Modal], ...]
    _modeless: tuple[str, ...]
    _saves: Mapping[str, bool | None]
    _prefixes: tuple[str, ...]
    _rewraps: frozenset[str]
    _keeps: Mapping[str, str]
    recurrent: tuple[str, ...]
    _results: Mapping[str, str]
    _shapes: Mapping[str, str]
    _losses: re.Pattern[str]
    _operands: frozenset[str]
    others: frozenset[str] = frozenset()
    tolerant: bool = False
    _known: dict[str, str] = field(default_factory=dict)

    def names(self, *roles: str) -> frozenset[str]:
        """The last parts of all names that have one of these roles; an empty one for a name with a wildcard there."""
        tables = (self._roles, *self._methods.values())
        named = [pair for table in tables for pair in (*table.exact.items(), *table.patterns)]
        named += [pair for base in self.bases for pair in base.methods.items()]
        last = {name.rpartition(".")[2] for name, role in named if role in roles}
        return frozenset("" if {*name} & {*"*["} else name for name in last)

    @property
    def backpropagated(self) -> frozenset[str]:
        """The methods of the users' classes whose result a framework backpropagates."""
        return frozenset(name for base in self.bases if "backward" in base.calls for name in base.returns_loss)

    def judges(self, rule: str) -> bool:
        """Whether what the rule of that name reports can go wrong in this framework."""
        return self.rules is None or rule in self.rules

    def under(self, other: Profile) -> Profile:
        """These names with another framework's rules for graphs, `tolerant`."""
        keeps = bool(other.retain_argument)
        return replace(
            self,
            consume=other.consume,
            retain_argument=self.retain_argument if keeps else "",
            implied_retain=self.implied_retain if keeps else (),
            grows=other.grows,
            tolerant=True,
        )

    def without_scopes(self) -> Profile:
        """These names where no scope switches recording."""
        exact = {name: "autocast" if role in SCOPES else role for name, role in self._roles.exact.items()}
        return replace(self, _roles=Names(exact, self._roles.patterns), _known={})

    def is_alien(self, dotted: str) -> bool:
        """Whether a dotted name is of another framework."""
        return bool(self.others) and dotted.partition(".")[0] in self.others

    def role(self, dotted: str) -> str:
        """The role of a library function or class, a key of `ROLES`; empty if its effect is not known."""
        found = self._known.get(dotted)
        if found is None:
            found = self._known[dotted] = self._roles.get(dotted)
        return found

    def method(self, kind: str, name: str) -> str:
        """The role of a method or property on an object of that kind; empty if either is not known."""
        names = self._methods.get(kind)
        return names.get(name) if names else ""

    def parameterless(self, dotted: str) -> bool:
        """Whether instances of this library class certainly own no parameters."""
        return self.role(dotted) in ("loss", "metric") or dotted in self._parameterless

    def modal(self, dotted: str) -> Modal | None:
        """What makes instances of this library class behave differently in evaluation; None if nothing does."""
        return next((switch for pattern, switch in self._modal if matches(pattern, dotted)), None)

    def modeless(self, dotted: str) -> bool:
        """Whether a library module that is not `modal` certainly does the same in evaluation."""
        return self.role(dotted) == "loss" or any(matches(pattern, dotted) for pattern in self._modeless)

    def saves(self, operation: str) -> bool | None:
        """Whether this operation's node keeps a tensor that the first backward frees; None if unknown or conditional.

        Takes library names, `Tensor.<method>` and operators: + - * / // % ** @ neg pos abs, [] (an int, slice, None or
        Ellipsis as index), [mask] (a list or tensor as index), []= (assignment to an element).
        """
        if self.consume == "always":
            return True
        name = self._short(operation)
        if name in self._saves:
            return self._saves[name]
        return self._saves.get(name[:-1]) if name.endswith("_") else None

    def saves_operands(self, operation: str) -> bool:
        """Whether this operation certainly keeps the tensors that it is given, if any of its operands is tracked."""
        return operation.rpartition(".")[2] in self._operands

    def rewraps(self, factory: str) -> bool:
        """Whether this factory makes a new tensor of the values that its first argument holds."""
        last = factory.rpartition(".")[2]
        return last in self._rewraps or (last.endswith("Tensor") and "Tensor" in self._rewraps)

    def keeps(self, operation: str) -> str:
        """When this operation's node keeps the parameters it works with, so that updating them before its backward
        fails: "always", "tracked" (if another operand requires grad) or "" if never or not known."""
        name = self._short(operation)
        return self._keeps.get(name) or (self._keeps.get(name[:-1], "") if name.endswith("_") else "")

    def is_recurrent(self, name: str) -> bool:
        """Whether what goes by this name is a recurrent network, whose result and state come from one computation."""
        return any(word in name.rpartition(".")[2].lower() for word in self.recurrent)

    def _short(self, operation: str) -> str:
        for prefix in self._prefixes:
            if operation.startswith(prefix):
                return operation[len(prefix) :]
        return operation

    def result(self, operation: str) -> str:
        """ "view" of its argument, "same" where it may be the argument itself, "new" tensor; empty if not known."""
        name = self._short(operation)
        return self._results.get(name) or ("new" if name in self._saves else "")

    def shape(self, operation: str) -> str:
        """How the shape of an operation's result follows from its arguments, a kind of `[shapes]`; empty if unknown."""
        return self._shapes.get(self._short(operation), "")

    def measures(self, operation: str) -> bool:
        """Tell whether an operation, by its dotted name, makes a loss of outputs and targets."""
        return self.role(operation) == "loss" or self._losses.match(operation) is not None

    def base(self, dotted: str) -> Base | None:
        """The known base class of that name, with what its framework does around its subclasses' methods."""
        return next((base for base in self.bases if dotted in base.names), None)


def side_by_side(profiles: Iterable[Profile]) -> Mapping[str, Profile]:
    """Return profiles by id, each of which knows the import roots of the others; of one id the last counts."""
    by_id = {profile.id: profile for profile in profiles}
    roots = {root for profile in by_id.values() for root in profile.roots}
    others = {name: replace(one, others=frozenset(roots - {*one.roots})) for name, one in by_id.items()}
    return MappingProxyType(others)


def built_in(rules: Container[str]) -> list[Profile]:
    """Read the profiles that come with the package; `rules` are the names of all rules."""
    return [_profile(f"frameworks/{name}.toml", _tables(name), rules, name) for name in _ids()]


def read_profile(file: Traversable, rules: Container[str]) -> Profile:
    """Read a profile of a user's own: a new framework, or what is to be added to the one that it `extends`, where it
    counts before what that says of the same names; raises CatalogError."""
    data = parse(file)
    base = data.pop("extends", None)
    if base is None:
        return _profile(file.name, overlaid(_with({}, "any"), data, file.name), rules, None)
    if base not in _ids():
        raise CatalogError(file.name, "extends", f"{base!r} is no framework that adlint knows: {', '.join(_ids())}")
    return _profile(file.name, overlaid(_tables(base), {"id": base, **data}, file.name), rules, base)


def _folder() -> Traversable:
    return package_data() / "frameworks"


def _ids() -> list[str]:
    return [file.name[:-5] for file in tables_in(_folder())]


def _tables(framework: str) -> dict[str, Any]:
    """Return all tables of a framework as one."""
    return _with(_with(parse(_folder() / f"{framework}.toml"), "any"), framework)


def _with(data: dict[str, Any], folder: str) -> dict[str, Any]:
    for part in tables_in(_folder() / folder):
        data = merged(data, parse(part), f"frameworks/{folder}/{part.name}")
    return data


def _profile(name: str, data: dict[str, Any], rules: Container[str], named: str | None) -> Profile:
    table = Table(name, data)
    consume = table.choice("consume", CONSUME)
    bases = tuple(_bases(table))
    roles = _names(table, "roles", "patterns", frozenset(ROLES))
    exact = {name: base.role for base in bases for name in base.names}
    for known in exact.keys() & roles.exact.keys():
        raise CatalogError(name, "bases", f"{known!r} is also in roles")
    roles = Names(MappingProxyType({**roles.exact, **exact}), roles.patterns)
    methods: dict[str, Names] = {}
    kinds = table.child("methods") or Table(name, {})
    for kind in list(kinds.data):
        if kind not in METHOD_ROLES:
            raise CatalogError(name, f"methods.{kind}", "is not a kind of object")
        methods[kind] = _names(kinds, kind, None, METHOD_ROLES[kind])
    saves: dict[str, bool | None] = {}
    answers = table.child("saves")
    for key, answer in (("always", True), ("never", False), ("conditional", None)):
        for operation in answers.strings(key) if answers else ():
            if operation in saves:
                raise CatalogError(name, f"saves.{key}", f"{operation!r} is listed twice")
            saves[operation] = answer
    keeps: dict[str, str] = {}
    kept = table.child("keeps")
    for when in ("always", "tracked"):
        for operation in kept.strings(when) if kept else ():
            if operation in keeps:
                raise CatalogError(name, f"keeps.{when}", f"{operation!r} is listed twice")
            keeps[operation] = when
    judged = _judged(table, rules)
    own = table.text("id")
    if named is not None and own != named:
        raise CatalogError(name, "id", f"is {own!r}, and not {named!r}")
    profile = Profile(
        id=own,
        roots=table.strings("roots"),
        rules=judged,
        fluent=frozenset(table.strings("fluent")),
        grows=table.flag("grows"),
        dormant=table.flag("dormant"),
        returns=table.flag("returns"),
        inactive_results=table.flag("inactive_results"),
        terms=MappingProxyType(table.texts("terms", required=judged != frozenset())),
        consume=consume,
        retain_argument=table.text("retain_argument", default=""),
        lenient=table.strings("lenient"),
        proportional=table.strings("proportional"),
        seeds=table.strings("seeds"),
        implied_retain=table.strings("implied_retain"),
        backward_parameters=MappingProxyType(_positions(table)),
        repeatable=frozenset(table.strings("repeatable")),
        augments=table.flag("augments"),
        tracking=MappingProxyType(table.flags("tracking")),
        owned_argument=table.text("owned_argument", default=""),
        owned_first=table.flag("owned_first"),
        bases=bases,
        _roles=roles,
        _methods=MappingProxyType(methods),
        _parameterless=frozenset(table.strings("parameterless")),
        _modal=tuple(_modal(table)),
        _modeless=table.strings("modeless"),
        _saves=MappingProxyType(saves),
        _prefixes=table.strings("operation_prefixes"),
        _rewraps=frozenset(table.strings("rewraps")),
        _keeps=MappingProxyType(keeps),
        recurrent=table.strings("recurrent"),
        _results=table.kinds("results"),
        _shapes=table.kinds("shapes"),
        _losses=re.compile("|".join(translate(name) for name in table.strings("losses")) or "(?!)"),
        _operands=frozenset(table.strings("saves_operands")),
    )
    kinds.finish()
    for part_of in (answers, kept):
        if part_of:
            part_of.finish()
    table.finish()
    return profile


def _judged(table: Table, rules: Container[str]) -> frozenset[str] | None:
    """Read the names of the rules that a profile is for."""
    if "rules" not in table.data:
        return None
    names = frozenset(table.strings("rules"))
    for name in sorted(names):
        if name not in rules:
            raise CatalogError(table.file, table.path + "rules", f"{name!r} is not a rule")
    return names


def _modal(table: Table) -> Iterator[tuple[str, Modal]]:
    for item in table.children("modal"):
        position = item.take("position", int, False)
        switch = Modal(item.text("argument", default=""), 0 if position is None else position, item.flag("default"))
        yield from ((name, switch) for name in item.strings("names"))
        item.finish()


def _names(table: Table, key: str, ordered: str | None, known: frozenset[str]) -> Names:
    """Read `role = [names]`; a name with a wildcard joins the patterns, before those of the table `ordered`."""
    exact: dict[str, str] = {}
    patterns: list[tuple[str, str]] = []
    roles = table.child(key) or Table(table.file, {}, f"{table.path}{key}.")
    for role in roles.data:
        if role not in known:
            raise CatalogError(table.file, roles.path + role, "is not a known role")
        for name in roles.strings(role):
            if "*" in name:
                _check(name, table.file, roles.path + role)
                patterns.append((name, role))
            elif exact.setdefault(name, role) != role:
                raise CatalogError(table.file, roles.path + role, f"{name!r} is also listed as {exact[name]!r}")
    for role, pattern in table.pairs(ordered) if ordered else ():
        if role not in known:
            raise CatalogError(table.file, f"{table.path}{ordered}", f"{role!r} is not a known role")
        _check(pattern, table.file, f"{table.path}{ordered}")
        patterns.append((pattern, role))
    return Names(MappingProxyType(exact), tuple(patterns))


def _check(pattern: str, file: str, key: str) -> None:
    if not is_pattern(pattern):
        raise CatalogError(file, key, f"{pattern!r} is not a pattern")


def _positions(table: Table) -> dict[str, tuple[str, ...]]:
    parameters = table.child("backward_parameters") or Table(table.file, {}, "backward_parameters.")
    return {function: parameters.strings(function) for function in parameters.data}


def _bases(table: Table) -> Iterator[Base]:
    for item in table.children("bases"):
        role = item.text("role")
        if role not in ROLES:
            raise CatalogError(item.file, item.path + "role", f"{role!r} is not a known role")
        calls, methods = item.strings("calls"), item.texts("methods")
        if not CALLS.issuperset(calls):
            raise CatalogError(item.file, item.path + "calls", f"knows only {', '.join(sorted(CALLS))}")
        if not BASE_METHOD_ROLES.issuperset(methods.values()):
            raise CatalogError(item.file, item.path + "methods", f"knows only {', '.join(sorted(BASE_METHOD_ROLES))}")
        attributes = item.texts("attributes")
        if not METHOD_ROLES.keys() >= set(attributes.values()):
            raise CatalogError(item.file, item.path + "attributes", f"knows only {', '.join(sorted(METHOD_ROLES))}")
        yield Base(
            names=item.strings("names"),
            role=role,
            hooks_without_recording=item.strings("hooks_without_recording"),
            hooks_by_framework=item.strings("hooks_by_framework"),
            returns_loss=item.strings("returns_loss"),
            calls=calls,
            manual_attribute=item.text("manual_attribute", default=""),
            repeats=item.strings("repeats"),
            backpropagates_in=item.strings("backpropagates_in"),
            configures=item.text("configures", default=""),
            methods=MappingProxyType(methods),
            attributes=MappingProxyType(attributes),
        )
        item.finish()


def _among(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
