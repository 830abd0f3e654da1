"""What a piece of a program reads and binds."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
BUILTINS = frozenset(dir(builtins))


def reads(node: ast.AST) -> set[str]:
    """Return the names that are read; those that a comprehension or a lambda binds for itself are not."""
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Load) else set()
    inner: set[str] = set()
    for child in ast.iter_child_nodes(node):
        inner |= reads(child)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        inner.add(node.target.id)
    if isinstance(node, COMPREHENSIONS):
        first = reads(node.generators[0].iter)
        return (inner - {name for part in node.generators for name in binds(part.target)}) | first
    if isinstance(node, ast.Lambda):
        return inner - {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
    return inner


def binds(node: ast.AST) -> set[str]:
    """Return the names that are bound in the scope that a piece stands in."""
    found = {node.id} if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) else set()
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return {n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr)}
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).split(".")[0]}
    if isinstance(node, ast.ExceptHandler) and node.name:
        found.add(node.name)
    for child in ast.iter_child_nodes(node):
        found |= binds(child)
    return found


def assigned(nodes: Iterable[ast.stmt]) -> set[str]:
    """Return the names that statements bind by other means than imports and definitions."""
    kept = [n for n in within(nodes) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    return {n.id for n in kept}


def surely(statement: ast.stmt) -> set[str]:
    """Return the names that are bound once a statement is done."""
    if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        return set() if isinstance(statement, ast.AnnAssign) and statement.value is None else binds(statement)
    if isinstance(statement, ast.With):
        inner = {name for item in statement.items for name in binds(item)}
        return inner.union(*map(surely, statement.body))
    if isinstance(statement, ast.If) and statement.orelse:
        one, other = (set().union(*map(surely, block)) for block in (statement.body, statement.orelse))
        return one & other
    return set()


def within(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield every node of one scope: definitions, lambdas and comprehensions are not entered."""
    for node in nodes:
        yield node
        if not isinstance(node, (*SCOPES, *COMPREHENSIONS)):
            yield from within(ast.iter_child_nodes(node))


def closed_over(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that inner functions, classes and lambdas mention."""
    inner = [scope for node in nodes for scope in ast.walk(node) if isinstance(scope, SCOPES)]
    return {n.id for scope in inner for n in ast.walk(scope) if isinstance(n, ast.Name)}


def everything(tree: ast.AST) -> set[str]:
    """Return every word of a program that a new name must not be."""
    words: set[str] = set(BUILTINS)
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname"):
            if isinstance(word := getattr(node, field, None), str):
                words.add(word)
    return words


def fresh(tree: ast.AST, wish: str) -> str:
    taken = everything(tree)
    return next(name for n in range(100) if (name := wish + "_" * n) not in taken)
