"""Rewritings that put code behind a call, or bring it out from behind one."""

from __future__ import annotations

import ast
import copy
import random
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from metamorphic.moves import scopes
from metamorphic.names import assigned, binds, closed_over, everything, fresh, reads, surely, within
from metamorphic.variant import Variant, is_docstring, preamble

BARRED = (
    *(ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith, ast.Global, ast.Nonlocal),
    *(ast.Delete, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.NamedExpr),
)
LOOPS = (ast.For, ast.While)


@dataclass(frozen=True)
class Run:
    """Neighbouring statements of a loop's body that can stand in a function of their own."""

    owner: ast.AST
    block: list[ast.stmt]
    first: int
    last: int
    given: tuple[str, ...]
    taken: tuple[str, ...]

    @property
    def statements(self) -> list[ast.stmt]:
        return self.block[self.first : self.last]


def extracted_function(text: str) -> Variant | None:
    """Make a function of as much as possible of a loop's body."""
    tree = ast.parse(text)
    run = max(runs(tree), key=lambda one: len(list(within(one.statements))), default=None)
    return _into_function(tree, run) if run else None


def extracted_part(text: str) -> Variant | None:
    """Make a function of some neighbouring statements of a loop's body."""
    tree = ast.parse(text)
    found = list(runs(tree))
    return _into_function(tree, random.Random(zlib.crc32(text.encode())).choice(found)) if found else None


def extracted_method(text: str) -> Variant | None:
    """Make a method of as much as possible of a loop's body: of its own class, or of a new one."""
    tree = ast.parse(text)
    run = max(runs(tree), key=lambda one: len(list(within(one.statements))), default=None)
    if run is None:
        return None
    name = fresh(tree, "extracted")
    home = next((n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and run.owner in n.body), None)
    arguments = run.owner.args.args if isinstance(run.owner, ast.FunctionDef) else []
    plain = isinstance(run.owner, ast.FunctionDef) and not run.owner.decorator_list
    me = arguments[0].arg if home and plain and arguments else None
    given = tuple(n for n in run.given if n != me)
    if me and me not in binds(ast.Module(run.statements, [])):
        method = _function(name, (me, *given), run)
        _call(run, ast.Attribute(ast.Name(me), name), given)
        assert home is not None
        home.body.append(method)
        return Variant.of(tree)
    holder = fresh(tree, "Extracted")
    method = _function(name, (fresh(tree, "self" if "self" not in run.given else "this"), *run.given), run)
    _call(run, ast.Attribute(ast.Call(ast.Name(holder), [], []), name), run.given)
    at = _at_top(tree, run)
    tree.body.insert(at, ast.ClassDef(holder, [], [], [method], []))
    return Variant.of(tree)


def _into_function(tree: ast.Module, run: Run) -> Variant:
    name = fresh(tree, "extracted")
    function = _function(name, run.given, run)
    _call(run, ast.Name(name), run.given)
    tree.body.insert(_at_top(tree, run), function)
    return Variant.of(tree)


def _at_top(tree: ast.Module, run: Run) -> int:
    """Return where at the top level a definition has to stand so that the run can use it."""
    return next(n for n, s in enumerate(tree.body) if any(_holds(node, run.block) for node in ast.walk(s)))


def _holds(node: ast.AST, block: list[ast.stmt]) -> bool:
    return any(getattr(node, field, None) is block for field in ("body", "orelse", "finalbody"))


def _function(name: str, given: tuple[str, ...], run: Run) -> ast.FunctionDef:
    arguments = ast.arguments([], [ast.arg(n) for n in given], None, [], [], None, [])
    body = list(run.statements)
    if run.taken:
        body.append(ast.Return(_names(run.taken, ast.Load())))
    return ast.FunctionDef(name, arguments, body, [], **({"type_params": []} if hasattr(ast, "TypeVar") else {}))


def _names(names: tuple[str, ...], context: ast.expr_context) -> ast.expr:
    parts: list[ast.expr] = [ast.Name(n, context) for n in names]
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, context)


def _call(run: Run, function: ast.expr, given: tuple[str, ...]) -> None:
    call = ast.Call(function, [ast.Name(n, ast.Load()) for n in given], [])
    if run.taken:
        new: ast.stmt = ast.Assign([_names(run.taken, ast.Store())], call)
    else:
        new = ast.Expr(call)
    run.block[run.first : run.last] = [new]


def runs(tree: ast.Module) -> Iterator[Run]:
    """Yield what can be taken out of the loops of a program, at least two statements at a time."""
    shared = {name for n in ast.walk(tree) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
    mangled = any(
        isinstance(n, ast.Attribute) and n.attr.startswith("__") and n.attr[-2:] != "__" for n in ast.walk(tree)
    )
    if mangled or {"locals", "globals", "super"} & {n.func.id for n in _calls(tree)} - {"super"}:
        return
    for owner, body in scopes(tree):
        own = _parameters(owner)
        local = assigned(body) | own
        if isinstance(owner, ast.FunctionDef):
            local |= {name for s in within(body) if isinstance(s, (ast.FunctionDef, ast.ClassDef)) for name in binds(s)}
            local |= {name for s in within(body) if isinstance(s, ast.alias) for name in binds(s)}
        inner, mentions = closed_over(body), _mentions(body)
        for block, bound in _loops(body, own, False):
            for first in range(len(block)):
                before = bound.union(*map(surely, block[:first]))
                for last in range(first + 2, len(block) + 1):
                    run = _run(owner, mentions, block, (first, last), local, before)
                    if run and not set(run.taken) & (inner | shared) and not binds(_module(run)) & (inner | shared):
                        yield run


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))


def _module(run: Run) -> ast.Module:
    return ast.Module(run.statements, [])


def _parameters(owner: ast.AST) -> set[str]:
    return {a.arg for a in ast.walk(owner.args) if isinstance(a, ast.arg)} if hasattr(owner, "args") else set()


def _loops(block: list[ast.stmt], bound: set[str], inside: bool) -> Iterator[tuple[list[ast.stmt], set[str]]]:
    """Yield the blocks of a scope that are loops' bodies or stand in them, and what is surely bound before."""
    if inside:
        yield block, bound
    for statement in block:
        here = bound | (binds(statement.target) if isinstance(statement, ast.For) else set())
        if isinstance(statement, ast.With):
            here |= {name for item in statement.items for name in binds(item)}
        if isinstance(statement, (*LOOPS, ast.If, ast.With)):
            yield from _loops(statement.body, here, inside or isinstance(statement, LOOPS))
            yield from _loops(statement.orelse if hasattr(statement, "orelse") else [], bound, inside)
        bound = bound | surely(statement)


def _run(
    owner: ast.AST,
    mentions: Counter[str],
    block: list[ast.stmt],
    span: tuple[int, int],
    local: set[str],
    bound: set[str],
) -> Run | None:
    """Return the run at a place, with what it is given and what is taken from it; none where that is not clear."""
    chosen = block[slice(*span)]
    if any(isinstance(n, BARRED) for n in _all(chosen)) or _leaves(chosen) or any(map(is_docstring, chosen)):
        return None
    if any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "super" for n in _all(chosen)):
        return None
    needed: set[str] = set()
    sure: set[str] = set()
    for statement in chosen:
        needed |= reads(statement) & local - sure
        sure |= surely(statement)
    written = set().union(*map(binds, chosen))
    elsewhere = set(mentions - _mentions(chosen)) | needed | {"RESULT"}
    taken = written & elsewhere
    given = needed | (taken - sure)
    if not given <= bound or not written <= local:
        return None
    return Run(owner, block, *span, tuple(sorted(given)), tuple(sorted(taken)))


def _all(nodes: list[ast.stmt]) -> Iterator[ast.AST]:
    return (inner for node in nodes for inner in ast.walk(node))


def _leaves(nodes: list[ast.stmt]) -> bool:
    """Return whether a statement ends, or goes on with, a loop that is not one of them."""
    for node in nodes:
        if isinstance(node, (ast.Break, ast.Continue)):
            return True
        if isinstance(node, LOOPS):
            if _leaves(node.orelse):
                return True
        elif any(_leaves(getattr(node, f, []) or []) for f in ("body", "orelse", "finalbody")) or any(
            _leaves(handler.body) for handler in getattr(node, "handlers", [])
        ):
            return True
    return False


def _mentions(nodes: list[ast.stmt]) -> Counter[str]:
    """Return how often names are read or deleted, inner scopes included."""
    found: Counter[str] = Counter()
    for node in _all(nodes):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            found[node.id] += 1
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] += 1
    return found


def in_main(text: str) -> Variant | None:
    """Put what follows the imports into a function, and call it."""
    tree = ast.parse(text)
    body = _own_scope(tree)
    if body is None:
        return None
    name = fresh(tree, "main")
    arguments = ast.arguments([], [], None, [], [], None, [])
    function = ast.FunctionDef(name, arguments, body, [])
    tree.body[preamble(tree) :] = [function, ast.Expr(ast.Call(ast.Name(name), [], []))]
    return Variant.of(tree)


def in_class(text: str) -> Variant | None:
    """Put what follows the imports into a method of a class, and call it on an object."""
    tree = ast.parse(text)
    body = _own_scope(tree)
    if body is None:
        return None
    name, me = fresh(tree, "Script"), fresh(tree, "script")
    arguments = ast.arguments([], [ast.arg(me)], None, [], [], None, [])
    holder = ast.ClassDef(name, [], [], [ast.FunctionDef("start", arguments, body, [])], [])
    call = ast.Call(ast.Attribute(ast.Call(ast.Name(name), [], []), "start"), [], [])
    tree.body[preamble(tree) :] = [holder, ast.Expr(call)]
    return Variant.of(tree)


def _own_scope(tree: ast.Module) -> list[ast.stmt] | None:
    """Return what follows the imports, fit to stand in a function: global names become names of that function."""
    at = preamble(tree)
    body = tree.body[at:]
    if not body or any(isinstance(s, (ast.Import, ast.ImportFrom)) for s in body) or list(_named(tree)):
        return None
    bound = set().union(*map(binds, body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            if not set(node.names) <= bound:
                return None
            node.__class__ = ast.Nonlocal  # type: ignore[assignment]
    return body


def _named(tree: ast.Module) -> Iterator[str]:
    for call in _calls(tree):
        if isinstance(call.func, ast.Name) and call.func.id in ("globals", "locals", "vars", "exec", "eval"):
            yield call.func.id


def inlined(text: str) -> Variant | None:
    """Put the result of a helper of one `return` in place of its calls."""
    tree, changed = ast.parse(text), False
    for function in [s for s in tree.body if isinstance(s, ast.FunctionDef)]:
        if (value := _returned(function)) is not None and _inline(tree, function, value):
            tree.body.remove(function)
            changed = True
    return Variant.of(tree, moved=True) if changed else None


def _returned(function: ast.FunctionDef) -> ast.expr | None:
    body = [s for s in function.body if not is_docstring(s)]
    plain = not function.decorator_list and _plain(function.args)
    if plain and len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        nested = (ast.Lambda, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Await)
        if not any(isinstance(n, nested) for n in ast.walk(body[0])):
            return body[0].value
    return None


def _plain(arguments: ast.arguments) -> bool:
    others = (arguments.posonlyargs, arguments.vararg, arguments.kwonlyargs, arguments.kwarg, arguments.defaults)
    return not any(others)


def _inline(tree: ast.Module, function: ast.FunctionDef, value: ast.expr) -> bool:
    """Replace all calls of a helper, or none if one of them is not plain."""
    parameters = [a.arg for a in function.args.args]
    inside = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    free = inside - set(parameters)
    calls = [c for c in _calls(tree) if isinstance(c.func, ast.Name) and c.func.id == function.name]
    if not calls or not _only_called(tree, function.name, calls) or function.name in inside:
        return False
    for owner, body in scopes(tree):
        if owner is not tree and free & (assigned(body) | _parameters(owner)):
            return False
    bound = {n.id for n in ast.walk(value) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for call in calls:
        plain = all(isinstance(a, (ast.Name, ast.Constant)) for a in call.args)
        if not plain or call.keywords or len(call.args) != len(parameters):
            return False
        if bound & {a.id for a in call.args if isinstance(a, ast.Name)}:
            return False
    _Inliner(function.name, parameters, value).visit(tree)
    return True


def _only_called(tree: ast.Module, name: str, calls: list[ast.Call]) -> bool:
    mentions = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(tree))
    others = sum(name in binds(s) for s in tree.body)
    words = sum(getattr(n, "value", None) == name for n in ast.walk(tree) if isinstance(n, ast.Constant))
    return mentions == len(calls) and others == 1 and not words


@dataclass
class _Inliner(ast.NodeTransformer):
    name: str
    parameters: list[str]
    value: ast.expr

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id == self.name):
            return node
        given = dict(zip(self.parameters, node.args, strict=True))
        new = copy.deepcopy(self.value)
        return _Putter(given).visit(new)  # type: ignore[no-any-return]


@dataclass
class _Putter(ast.NodeTransformer):
    given: dict[str, ast.expr]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return copy.deepcopy(self.given.get(node.id, node))


def spelled_out(text: str) -> Variant | None:
    """Put the statements of a helper, its own names made new, in place of the statements that call it."""
    tree, changed = ast.parse(text), False
    for function in [s for s in tree.body if isinstance(s, ast.FunctionDef)]:
        if _spell(tree, function):
            tree.body.remove(function)
            changed = True
    return Variant.of(tree, moved=True) if changed else None


def _spell(tree: ast.Module, function: ast.FunctionDef) -> bool:
    body = [s for s in function.body if not is_docstring(s)]
    inner = body[:-1] if body and isinstance(body[-1], ast.Return) else body
    if function.decorator_list or not _plain(function.args) or not inner or closed_over(body):
        return False
    if any(isinstance(n, BARRED) for n in _all(inner)) or any(isinstance(n, ast.NamedExpr) for n in _all(body)):
        return False
    calls = [c for c in _calls(tree) if isinstance(c.func, ast.Name) and c.func.id == function.name]
    sites = [s for s in ast.walk(tree) if isinstance(s, (ast.Expr, ast.Assign)) and s.value in calls]
    own = assigned(body) | _parameters(function)
    free = set().union(*map(reads, body)) - own
    if not calls or len(sites) != len(calls) or not _only_called(tree, function.name, calls):
        return False
    if any(
        c.keywords or len(c.args) != len(function.args.args) or any(isinstance(a, ast.Starred) for a in c.args)
        for c in calls
    ):
        return False
    if function.name in free or any(site in list(_all(body)) for site in sites):
        return False
    for owner, block in scopes(tree):
        if owner is not tree and owner is not function and free & (assigned(block) | _parameters(owner)):
            return False
    new = {name: fresh(tree, f"{name}_{function.name}") for name in sorted(own)}
    if len(set(new.values())) != len(new) or set(new.values()) & everything(tree):
        return False
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                block[:] = [one for s in block for one in (_written(s, function, body, new) if s in sites else [s])]
    return True


def _written(site: ast.stmt, function: ast.FunctionDef, body: list[ast.stmt], new: dict[str, str]) -> list[ast.stmt]:
    assert isinstance(site, (ast.Assign, ast.Expr))
    assert isinstance(site.value, ast.Call)
    pairs = zip(function.args.args, site.value.args, strict=True)
    result: list[ast.stmt] = [ast.Assign([ast.Name(new[a.arg], ast.Store())], v, lineno=site.lineno) for a, v in pairs]
    body = copy.deepcopy(body)
    for node in _all(body):
        if isinstance(node, ast.Name):
            node.id = new.get(node.id, node.id)
    last = body.pop() if isinstance(body[-1], ast.Return) else None
    value = last.value if isinstance(last, ast.Return) and last.value else ast.Constant(None)
    result += body
    if isinstance(site, ast.Assign) or not isinstance(value, (ast.Constant, ast.Name)):
        made = copy.copy(site)
        made.value = value
        result.append(made)
    return result
