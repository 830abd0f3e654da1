"""Forwards of networks, and calls of code that nobody can see: it may do anything to what it is handed."""

from __future__ import annotations

from dataclasses import replace

from adlint import program as p
from adlint.tape import (
    attributes,
    calls,
    clips,
    cuts,
    framework,
    imports,
    library,
    methods,
    modes,
    retention,
    scopes,
    shapes,
    updates,
    windows,
)
from adlint.tape.machine import Entry, Machine
from adlint.tape.state import State
from adlint.tape.values import (
    NONE,
    Bound,
    Closure,
    Const,
    Key,
    Leaves,
    Library,
    Module,
    Optimizer,
    Ref,
    Sequence,
    Tuple,
    Unknown,
    Value,
    key_of,
)

_ADDS = frozenset({"append", "extend", "insert", "add_module", "register_module", "register_parameter", "update"})
"""Methods by which a part of a network takes in another one, where nobody knows what the part is."""


def forward(m: Machine, state: State, module: Value, given: calls.Arguments, site: p.Node) -> Value:
    """Call a network."""
    thing = state.object(module)
    assert isinstance(thing, Module)
    m.burn()
    outermost = state.forwards == 0
    state.forwards += 1
    inputs = Tuple(given.positional)
    cuts.fed(m, state, inputs)
    for hook in _hooks(state, "register_forward_pre_hook", module):
        calls.call(m, state, hook, calls.Arguments((module, inputs)), site)
    found = attributes.find(state, thing.cls, "forward") if isinstance(thing.cls, Ref) else None
    if isinstance(found, Closure) and found.frame < 0 and isinstance(module, Ref):
        ref, node = module, found.node
        entered = m.branch(lambda: [m.abroad.admits_forward(ref, node)])
    else:
        entered = True
    if found is not None and not entered:
        result = _unentered_forward(m, state, module, given.values, site)
    elif found is not None:
        result = calls.call(m, state, attributes.bind(m, state, found, module, site), given, site)
    elif thing.children and isinstance(thing.cls, str) and not thing.cls.endswith(("List", "Dict")):
        result = given.positional[0] if given.positional else m.unknown()
        for child in thing.children:
            result = calls.call(m, state, child, calls.Arguments((result,)), site)
    else:
        leaves = library.module_leaves(m, state, module)
        name = thing.cls if isinstance(thing.cls, str) else "module"
        values = [*given.values, Leaves(leaves, single=True)]
        result = library.operation(m, state, name, values, site)
        built = windows.is_built(m, state, module)
        if built is not None:
            windows.measured(m, state, name, built, given, result)
        shapes.layer(m, state, module, given, result, site)
        result = _several(m, state, name.rpartition(".")[2], result, site)
    for hook in _hooks(state, "register_forward_hook", module):
        calls.call(m, state, hook, calls.Arguments((module, inputs, result)), site)
    state.forwards -= 1
    if outermost:
        modes.forward(m, state, module, given, result, site)
        nodes = frozenset(library.nodes_in(m, state, result, sources=False))
        leaves = library.module_leaves(m, state, module)
        m.forwards.append((site, nodes))
        m.entries.append(_entry(m, state, leaves, given, nodes, site))
        if not thing.hooked:
            around = scopes.outside(m, state, given.values, leaves, result, site)
            if not around and (thing.training is False or m.profile.grows):
                record(m, state, leaves, given, result, site)
    return result


def _several(m: Machine, state: State, name: str, result: Value, site: p.Node) -> Value:
    """Return what a network of the framework gives that gives more than one tensor."""

    def part() -> Value:
        return library.operation(m, state, "[]", [result], site)

    if name in ("GRU", "RNN", "MultiheadAttention", "LSTMCell"):
        return Tuple((part(), part()))
    return Tuple((part(), Tuple((part(), part())))) if name == "LSTM" else result


def unentered(m: Machine, state: State, function: Closure, given: calls.Arguments, site: p.Node) -> Value:
    """Call a function of another file that is not entered, because it has been too much before."""
    first = given.positional[0] if given.positional else NONE
    thing = state.object(first)
    cls = thing.cls if isinstance(thing, Module) else None
    if isinstance(cls, Ref) and attributes.find(state, cls, "forward") == function:
        return _unentered_forward(m, state, first, given.values[1:], site)
    return unknown_call(m, state, imports.spelling(m, state, function), given, site)


def _unentered_forward(m: Machine, state: State, module: Value, values: tuple[Value, ...], site: p.Node) -> Value:
    """Return what a network gives whose parameters are known, but not how they and the inputs enter the result."""
    leaves = library.module_leaves(m, state, module)
    nodes = [*(n for v in values for n in library.nodes_in(m, state, v)), *sorted(leaves)]
    sure = True if any(not state.frozen(one) for one in leaves) else None
    made = m.node(state, "call", "call", tuple(nodes), None, site, sure, ("forward", key_of(module)), hidden=True)
    m.wraps.add(made)
    return library.tensor(m, state, made)


def _hooks(state: State, kind: str, module: Value) -> tuple[Value, ...]:
    """Return the functions of the program that are hooked to a network."""
    held = state.store.get((kind, module.id), ()) if isinstance(module, Ref) else ()
    return tuple(hook for hook in held if isinstance(hook, (Closure, Bound)))


def record(
    m: Machine, state: State, leaves: frozenset[int], given: calls.Arguments, result: Value, site: p.Node
) -> None:
    """Remember a recorded forward of a network in eval mode, in a loop."""
    if state.recording != "on" or not state.looping or state.muted or scopes.excused(state):
        return
    nodes = frozenset(
        n for n in library.nodes_in(m, state, result, sources=False) if m.nodes[n].requires_grad is not False
    )
    live = frozenset(one for one in leaves if not state.frozen(one))
    if not nodes or not live:
        return
    if any(m.nodes[n].requires_grad for v in given.values for n in library.nodes_in(m, state, v)):
        return
    event = m.event(state, "forward", site, site, object=live)
    m.recorded[min(nodes)] = (event, nodes)


def _entry(
    m: Machine, state: State, leaves: frozenset[int], given: calls.Arguments, results: frozenset[int], site: p.Node
) -> Entry:
    handed: list[tuple[int | str, Value]] = [*enumerate(given.positional), *given.keywords]
    known = tuple((key, library.nodes_in(m, state, value, sources=False)) for key, value in handed)
    return Entry(site, state.calls, leaves, tuple(pair for pair in known if pair[1]), results)


def opaque(m: Machine, state: State, callee: Value, given: calls.Arguments, site: p.Node) -> Value:
    """Return the result of code that is not followed."""
    parents = tuple(n for v in given.values for n in library.nodes_in(m, state, v))
    return library.tensor(
        m, state, m.node(state, "call", "call", parents, None, site, None, key_of(callee), hidden=True)
    )


def foreign_call(m: Machine, state: State, name: str, given: calls.Arguments, site: p.Node) -> Value:
    """Call a library that has nothing to do with training: it reads what it is given, and may keep it."""
    heavy = tuple(v for v in given.values if not isinstance(v, (Const, Unknown)))
    m.changes += bool(heavy)
    iterates = name.startswith("tqdm") and given.positional
    if iterates:
        return given.positional[0]
    result = m.unknown("foreign")
    read = tuple(n for v in given.values for n in cuts.read_from(m, state, v))
    if read and not any(library.nodes_in(m, state, v, sources=False) for v in given.values):
        key = ("read", "foreign", m.fresh())
        m.readings[key] = (read, site)
        result = Unknown(key)
    if any(
        isinstance(state.object(v), (Module, Optimizer)) or isinstance(v, (Closure, Bound))
        for v in library.reachable(m, state, heavy)
    ):
        state.store[("held", result.key)] = heavy
        library.havoc(m, state, [v for v in heavy if not library.is_tensorial(m, state, v)])
    return result


def alien_call(m: Machine, state: State, given: calls.Arguments) -> Value:
    """Call something of another framework: what it gives has a tape of its own."""
    library.havoc(m, state, given.values)
    return library.alien(m)


def result_key(value: Value) -> Key:
    """Return the key under which the result of an unknown call is known as a network or optimizer."""
    return ("result", value)


def unknown_call(m: Machine, state: State, callee: Value, given: calls.Arguments, site: p.Node) -> Value:
    """Call something of which nothing is known; it may do anything to what it is handed."""
    member = state.store.get(("member", callee))
    if library.is_open(m, state, callee):
        callee = Unknown(result_key(callee) if member is None else ("attr", result_key(member[0]), member[1]))
    key = key_of(callee)
    if library.is_alien(m, key):
        return alien_call(m, state, given)
    if isinstance(callee, Unknown) and isinstance(key, tuple) and len(key) == 3 and key[0] == "attr":
        if key[2] in _ADDS:
            for number, value in enumerate(given.values):
                attributes.adopt(m, state, key[1], f"{key[2]} {number}", value, site)
        result = _named_method(m, state, key[1], str(key[2]), given, site)
        if result is not None:
            return result
    values = given.values
    m.changes += 1
    held = tuple(v for part in _bases(key) for v in state.store.get(("held", part), ()))
    library.havoc(m, state, [*(v for v in values if not library.is_tensorial(m, state, v)), *held])
    parents = [n for v in values for n in library.nodes_in(m, state, v)]
    m.handed.update(parents)
    retention.handed(m, state, parents)
    for value in values:
        if isinstance(state.object(value), Module):
            parents += library.module_leaves(m, state, value)
        elif isinstance(value, Unknown) and value.key in m.evidence:
            parents.append(library.leaf_of(m, value.key))
    network = _network(m, key)
    leaf = library.leaf_of(m, network if network is not None else key)
    own = network is not None and network == key
    if own:
        cuts.fed(m, state, Tuple(given.positional))
    if isinstance(callee, (Unknown, Library)) and (own or state.recording in ("on", None)):
        parents.append(leaf)
    outermost = state.forwards == 0
    sure = True if network is not None and network == key and not state.frozen(leaf) else None
    named = network if network is not None else key
    if not own:
        m.detached.update(parents)
    node = m.node(state, "call", "call", tuple(parents), None, site, sure, named, hidden=not own)
    if any(isinstance(state.object(v), (Module, Optimizer)) for v in values):
        m.wraps.add(node)
    result = library.tensor(m, state, node)
    m.forwards.append((site, frozenset({node})))
    if network != key or network is None:
        modes.forget(m, state, _bases(key), (*values, *(member or ())[:1]))
    elif outermost:
        modes.forward(m, state, Unknown(modes.unwrapped(m, key)), given, result, site)
    if outermost and network is not None:
        m.entries.append(_entry(m, state, frozenset({leaf}), given, frozenset({node}), site))
    if outermost and network is not None and network == key:
        around = scopes.outside(m, state, values, frozenset({leaf}), result, site)
        if not around and (state.store.get(("mode", network)) is False or m.profile.grows):
            record(m, state, frozenset({leaf}), given, result, site)
    return result


def _bases(key: Key) -> list[Key]:
    found = [key]
    while isinstance(key, tuple) and len(key) == 3 and key[0] in ("attr", "item"):
        key = key[1]
        found.append(key)
    return found


def _network(m: Machine, key: Key) -> Key | None:
    """Return the key of the network that a call goes to: the callee, or what it is a member or method of."""
    return next((part for part in _bases(key) if part in m.evidence), None)


def _named_method(m: Machine, state: State, base: Key, name: str, given: calls.Arguments, site: p.Node) -> Value | None:
    """Call a method on an unknown receiver: known by its name where its arguments or its use leave no doubt."""
    receiver = Unknown(base) if not isinstance(base, (Ref, Leaves)) else base
    tensors = [v for v in given.positional if library.is_tensorial(m, state, v)]
    if m.profile.method("module", name) == "call":
        state.store[("network", base)] = True
    if m.profile.method("tensor", name) == "backward":
        alone = isinstance(state.statement, p.Evaluate) and state.statement.value is site
        if given.values or not alone or ("network", base) in state.store:
            library.escape(m, state, given.values)
            return None
        if isinstance(receiver, Unknown) and cuts.number(m, base):
            function = site.function if isinstance(site, p.Call) else None
            subject = function.value if isinstance(function, p.Attribute) else None
            cuts.backward_of_number(m, state, receiver, m.event(state, "backward", site, subject))
        elif isinstance(receiver, Unknown):
            framework.walk(m, state, "backward", "Tensor.backward", receiver, given, site)
        return NONE
    if not isinstance(receiver, Unknown):
        return None
    if name == "manual_backward" and given.positional:
        framework.walk(m, state, "backward", "manual_backward", given.positional[0], given, site)
        return NONE
    if m.profile.method("optimizer", name) == "descend" and len(tensors) == 1:
        framework.walk(m, state, "backward", "manual_backward", tensors[0], given, site)
        m.ledger.blind = True
        updates.clear(m, state, updates.unclaimed(m, state) | {library.leaf_of(m, base)}, site, receiver)
        return NONE
    if m.profile.method("optimizer", name) == "clear":
        m.clears_seen.add(base)
        updates.clear(m, state, updates.unclaimed(m, state) | {library.leaf_of(m, base)}, site, receiver)
        return NONE
    if m.profile.method("optimizer", name) == "apply":
        return methods.applied(m, state, receiver, given, site)
    if m.profile.method("optimizer", name) == "step":
        stepped = next((v for v in given.positional if isinstance(state.object(v), Optimizer)), None)
        if stepped is not None:
            return methods.step_of(m, state, stepped, calls.Arguments(), site)
        if given.positional and not isinstance(given.positional[0], (Const, Unknown)):
            return None
        clips.stepped(m, state, base, site)
        if base in m.clears_seen:
            updates.step(m, state, receiver, site, None)
        elif not given.values:
            m.ledger.blind = True
        held = [v for part in _bases(base) for v in state.store.get(("held", part), ())]
        library.havoc(m, state, held)
        return m.unknown()
    if name in ("eval", "train"):
        modes.of_unknown(m, state, base, given, name == "train", site)
        return receiver
    if name in ("parameters", "named_parameters"):
        framework.trained(m, base)
        leaves = Leaves(frozenset({library.leaf_of(m, base)}))
        if name == "parameters":
            return leaves
        pair = Tuple((m.unknown("name"), replace(leaves, single=True)))
        return m.allocate(state, Sequence("list", (pair,)))
    if name == "requires_grad_":
        library.set_requires_grad(m, state, receiver, given.get(0, "requires_grad") or Const(True), site)
        return receiver
    if name == "scale" and tensors:
        return clips.scale(m, state, receiver, tensors, site)
    if m.profile.method("scaler", name) == "unscale":
        clips.unscale(m, state, given.get(0, "optimizer"), site)
    if name in (
        "update",
        "unscale_",
        "get_scale",
        "state_dict",
        "load_state_dict",
        "info",
        "debug",
        "warning",
        "log",
        "write",
        "close",
        "add_scalar",
        "set_postfix",
        "set_description",
        "append",
    ):
        if name == "append":
            library.escape(m, state, given.values)
        return m.unknown()
    role = m.profile.method("tensor", name)
    module_role = m.profile.method("module", name)
    if name == "apply" and any(isinstance(v, (Closure, Bound)) for v in given.values):
        modes.forget(m, state, [base], given.values)
        library.havoc(m, state, [*given.values, Leaves(frozenset({library.leaf_of(m, base)}))])
        return receiver
    if module_role == "self" or name in ("to", "cuda", "cpu", "float", "half"):
        return receiver
    if role and not tensors and base not in m.evidence:
        if role in ("operation", "clone", "in_place"):
            return Unknown(("method", base, name, tuple(key_of(v) for v in given.positional)))
        if role in ("detach", "untracked"):
            return library.cut(m, state, site)
        if role in ("plain", "read"):
            return Unknown(("method", base, name, tuple(key_of(v) for v in given.positional)))
    if role and tensors and base not in m.evidence:
        return library.operation(m, state, "Tensor." + name, [receiver, *given.positional], site)
    if name in (
        "items",
        "values",
        "keys",
        "get",
        "split",
        "strip",
        "format",
        "join",
        "lower",
        "startswith",
        "endswith",
    ):
        return Unknown(("method", base, name, tuple(key_of(v) for v in given.positional)))
    return None
