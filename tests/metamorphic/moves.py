"""Rewritings of the tree in place: other names, another order, statements with more or less around them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from metamorphic.names import SCOPES, assigned, binds, closed_over, everything, fresh, reads, within
from metamorphic.variant import Variant, blocks, is_docstring, preamble

SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Delete, ast.Assert, ast.Raise, ast.Pass)
PURE = frozenset(
    {
        *("randn", "rand", "zeros", "ones", "full", "empty", "arange", "tensor", "eye", "linspace", "randint"),
        *("randn_like", "zeros_like", "ones_like", "parameters", "mse_loss", "cross_entropy", "l1_loss"),
        *("relu", "tanh", "sigmoid", "exp", "cat", "stack", "list", "range", "len"),
    }
)
"""Functions that change nothing but the state of the random numbers."""


def renamed(text: str) -> Variant | None:
    """Give other names to all that the program names itself; a loss is still called one, which is evidence."""
    tree = ast.parse(text)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    names |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    names |= {n.name for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    names -= {n.arg for n in ast.walk(tree) if isinstance(n, ast.keyword) and n.arg}
    names -= {name for n in ast.walk(tree) if isinstance(n, ast.alias) for name in binds(n)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            names -= {name for statement in node.body for name in binds(statement)}
        if isinstance(node, (ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
            return None
    new = {name: ("loss" if "loss" in name.lower() else "v") + str(n) for n, name in enumerate(sorted(names))}
    if set(new.values()) & everything(tree):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = new.get(node.arg, node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            node.name = new.get(node.name, node.name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            node.names = [new.get(name, name) for name in node.names]
        elif isinstance(node, ast.ExceptHandler) and node.name:
            node.name = new.get(node.name, node.name)
    return Variant.of(tree)


def reordered(text: str) -> Variant | None:
    """Swap neighbouring assignments that have nothing to do with each other."""
    tree = ast.parse(text)
    inner, changed = closed_over([tree]), False
    for _, block in blocks(tree):
        at = 0
        while at + 1 < len(block):
            if _independent(block[at], block[at + 1], inner):
                block[at], block[at + 1] = block[at + 1], block[at]
                changed, at = True, at + 1
            at += 1
    return Variant.of(tree) if changed else None


def _independent(one: ast.stmt, other: ast.stmt, inner: set[str]) -> bool:
    if not (isinstance(one, ast.Assign) and isinstance(other, ast.Assign)):
        return False
    if not all(isinstance(t, (ast.Name, ast.Tuple)) for s in (one, other) for t in s.targets):
        return False
    written = binds(one), binds(other)
    if written[0] & (written[1] | reads(other)) or written[1] & reads(one):
        return False
    if _harmless(one.value) and _harmless(other.value):
        return True
    plain = [isinstance(s.value, ast.Constant) for s in (one, other)]
    return any(still and not w & inner for still, w in zip(plain, written, strict=True))


def _harmless(value: ast.expr) -> bool:
    """Return whether evaluating changes nothing: all that is called is known, or makes a new object."""
    for node in ast.walk(value):
        if isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda)):
            return False
        if isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "attr", getattr(function, "id", ""))
            framework = isinstance(function, ast.Attribute) and name[:1].isupper()
            if name not in PURE and not framework:
                return False
    return True


def methods_reversed(text: str) -> Variant | None:
    """Define the methods of a class in the other order."""
    tree, changed = ast.parse(text), False
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        methods = [s for s in node.body if isinstance(s, ast.FunctionDef) and not s.decorator_list]
        if len({s.name for s in methods}) == len(methods) > 1:
            others = [s for s in node.body if s not in methods]
            if not any(s.name in reads(o) for s in methods for o in others):
                node.body, changed = others + methods[::-1], True
    return Variant.of(tree) if changed else None


def functions_reversed(text: str) -> Variant | None:
    """Define neighbouring functions in the other order."""
    tree, changed = ast.parse(text), False
    for _, block in blocks(tree):
        for at in range(len(block) - 1):
            one, other = block[at], block[at + 1]
            plain = all(isinstance(s, ast.FunctionDef) and not s.decorator_list for s in (one, other))
            if plain and one.name != other.name:  # type: ignore[attr-defined]
                heads = reads(one.args) | reads(other.args)  # type: ignore[attr-defined]
                if not heads & {one.name, other.name}:  # type: ignore[attr-defined]
                    block[at : at + 2] = other, one
                    changed = True
    return Variant.of(tree) if changed else None


def hinted_parameters(text: str) -> Variant | None:
    """Say of every parameter and result that it may be anything."""
    tree, changed = ast.parse(text), False
    hint = fresh(tree, "Any")
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            if arg.annotation is None and arg.arg != "self":
                arg.annotation, changed = ast.Name(hint), True
        if node.returns is None:
            node.returns, changed = ast.Name(hint), True
    return _with_hint(tree, hint) if changed else None


def hinted_assignments(text: str) -> Variant | None:
    """Say of what is assigned that it may be anything."""
    tree, changed = ast.parse(text), False
    hint = fresh(tree, "Any")
    shared = {name for n in ast.walk(tree) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
    for owner, block in blocks(tree):
        if isinstance(owner, ast.ClassDef):
            continue
        for at, statement in enumerate(block):
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if isinstance(target, ast.Attribute) or (isinstance(target, ast.Name) and target.id not in shared):
                    simple = int(isinstance(target, ast.Name))
                    block[at] = ast.AnnAssign(target, ast.Name(hint), statement.value, simple)
                    ast.copy_location(block[at], statement)
                    changed = True
    return _with_hint(tree, hint) if changed else None


def _with_hint(tree: ast.Module, hint: str) -> Variant:
    alias = ast.alias("Any", None if hint == "Any" else hint)
    _after_future(tree, ast.ImportFrom("typing", [alias], 0))
    return Variant.of(tree)


def _after_future(tree: ast.Module, *new: ast.stmt) -> None:
    future = [n + 1 for n, s in enumerate(tree.body) if isinstance(s, ast.ImportFrom) and s.module == "__future__"]
    at = max([*future, int(bool(tree.body) and is_docstring(tree.body[0]))])
    tree.body[at:at] = new


def imported_more(text: str) -> Variant:
    """Import what is not used, and define what is not called."""
    tree = ast.parse(text)
    unused = ast.parse("import json as unused_json\nfrom os import path as unused_path\n").body
    _after_future(tree, *map(_made, unused))
    at = preamble(tree)
    tree.body[at:at] = map(_made, ast.parse("def unused_function(value):\n    return value\nUNUSED = 3\n").body)
    return Variant.of(tree)


def _made(node: ast.stmt) -> ast.stmt:
    """Take its place from a statement that the first text did not have."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.stmt):
            inner.lineno = 0
    return node


def always(text: str) -> Variant:
    """Put every simple statement of a function or of the module under `if True:`."""
    tree = ast.parse(text)
    for owner, block in list(blocks(tree)):
        if not isinstance(owner, ast.ClassDef):
            block[:] = [ast.If(ast.Constant(True), [s], []) if _simple(s) else s for s in block]
    return Variant.of(tree)


def always_all(text: str) -> Variant:
    """Put the bodies of loops and functions, and what follows the imports, under `if True:`."""
    tree = ast.parse(text)
    for owner, block in list(blocks(tree)):
        if isinstance(owner, (ast.For, ast.While, ast.FunctionDef, ast.Module)):
            at = preamble(tree) if owner is tree else int(is_docstring(block[0]))
            while at < len(block) and isinstance(block[at], (ast.Global, ast.Nonlocal)):
                at += 1
            if rest := block[at:]:
                block[at:] = [ast.If(ast.Constant(True), rest, [])]
    return Variant.of(tree)


def _simple(statement: ast.stmt) -> bool:
    return isinstance(statement, SIMPLE) and not is_docstring(statement)


def passed(text: str) -> Variant:
    """Put `pass` before every statement, and an `else` that does nothing behind every condition."""
    tree = ast.parse(text)
    for owner, block in list(blocks(tree)):
        if isinstance(owner, (ast.Module, ast.ClassDef)) or (isinstance(owner, ast.If) and block is owner.orelse):
            continue
        start = 1 if is_docstring(block[0]) else 0
        block[start:] = [new for s in block[start:] for new in (ast.Pass(), s)]
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and not node.orelse:
            node.orelse = [ast.Pass()]
    return Variant.of(tree)


def negated(text: str) -> Variant | None:
    """Ask the opposite of every condition that has two ways, and swap the ways."""
    tree, changed = ast.parse(text), False
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and node.orelse and not isinstance(node.orelse[0], ast.If):
            node.test = ast.UnaryOp(ast.Not(), node.test)
            node.body, node.orelse, changed = node.orelse, node.body, True
    return Variant.of(tree) if changed else None


def counted(text: str) -> Variant | None:
    """Count by hand where a loop runs over a range."""
    tree, changed = ast.parse(text), False
    for owner, block in list(blocks(tree)):
        if not isinstance(owner, (ast.Module, ast.FunctionDef)):
            continue
        scope = [*block]
        for at in reversed(range(len(block))):
            if (new := _counted(block[at], scope, closed_over([tree]))) is not None:
                block[at : at + 1], changed = new, True
    return Variant.of(tree) if changed else None


def _counted(loop: ast.stmt, scope: list[ast.stmt], inner: set[str]) -> list[ast.stmt] | None:
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name) or loop.orelse:
        return None
    match loop.iter:
        case ast.Call(func=ast.Name("range"), args=[(ast.Constant() | ast.Name()) as end], keywords=[]):
            pass
        case _:
            return None
    name, inside = loop.target.id, list(within(loop.body))
    if any(isinstance(n, (ast.Continue, ast.Global)) for n in inside) or name in inner:
        return None
    fixed = {name, *reads(end)}
    elsewhere = {n.id for s in scope if s is not loop for n in ast.walk(s) if isinstance(n, ast.Name)}
    if fixed & assigned(loop.body) or name in elsewhere:
        return None
    test = ast.Compare(ast.Name(name), [ast.Lt()], [end])
    more = ast.AugAssign(ast.Name(name), ast.Add(), ast.Constant(1))
    first = ast.Assign([ast.Name(name)], ast.Constant(0))
    return [first, ast.copy_location(ast.While(test, [*loop.body, more], []), loop)]


def named_parts(text: str) -> Variant | None:
    """Name what a method is called on, and what is handed over first, before the call."""
    tree, changed = ast.parse(text), False
    number = 0
    for owner, block in list(blocks(tree)):
        if isinstance(owner, ast.ClassDef):
            continue
        new: list[ast.stmt] = []
        for statement in block:
            if isinstance(statement, (ast.Assign, ast.Expr)) and isinstance(call := statement.value, ast.Call):
                part = _first_part(call)
                if part is not None:
                    number += 1
                    name = fresh(tree, f"part{number}")
                    before = ast.Assign([ast.Name(name, ast.Store())], part)
                    new.append(ast.copy_location(before, statement))
                    _replace(call, part, ast.Name(name, ast.Load()))
                    changed = True
            new.append(statement)
        block[:] = new
    return Variant.of(tree) if changed else None


def _first_part(call: ast.Call) -> ast.expr | None:
    """Return a part of a call that is itself a call, and that is evaluated before all others."""
    function = call.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Call):
        return function.value
    plain = function
    while isinstance(plain, ast.Attribute):
        plain = plain.value
    if isinstance(plain, ast.Name) and plain.id != "super" and call.args and isinstance(call.args[0], ast.Call):
        return call.args[0]
    return None


def _replace(call: ast.Call, part: ast.expr, new: ast.expr) -> None:
    if isinstance(call.func, ast.Attribute) and call.func.value is part:
        call.func.value = new
    else:
        call.args[0] = new


def scopes(tree: ast.Module) -> Iterator[tuple[ast.AST, list[ast.stmt]]]:
    """Yield the module and every function, with what stands in it."""
    yield tree, tree.body
    for node in ast.walk(tree):
        if isinstance(node, SCOPES) and not isinstance(node, (ast.ClassDef, ast.Lambda)):
            yield node, node.body
