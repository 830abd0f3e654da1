"""How a dotted name is written at a place, by the imports in force there.

    import torch as th              torch.no_grad → th.no_grad
    from torch import no_grad       torch.no_grad → no_grad
    def f(torch): ...               torch.no_grad → _torch.no_grad, with `import torch as _torch`

Reads programs only; the text is the rewriter's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from adlint import program as ir

_Scope = ir.Function | ir.Class


@dataclass(frozen=True)
class _Binding:
    """A name bound at an offset: to the import `dotted`, or to something else (None)."""

    name: str
    dotted: str | None
    offset: int
    certain: bool


class Names:
    """The names of one program."""

    def __init__(self, program: ir.Program, offsets: Callable[[ir.Node], tuple[int, int]]) -> None:
        self._program = program
        self._offsets = offsets
        self._module = list(self._bindings(program.body, True))

    def spell(self, dotted: str, at: ir.Node) -> tuple[str, str | None]:
        """Return the name to write at a statement, and the import statement that is missing for it."""
        start = self._offsets(at)[0]
        scopes = self._scopes(at)
        within = any(isinstance(scope, ir.Function) for scope in scopes)
        best: tuple[str, str] | None = None
        visible = [(self._scope_bindings(scope), False) for scope in reversed(scopes)] + [(self._module, within)]
        hidden: set[str] = set()
        for bindings, later in visible:
            for name in dict.fromkeys(binding.name for binding in bindings):
                if name in hidden:
                    continue
                means = self._meaning([b for b in bindings if b.name == name], start, later)
                if (
                    means
                    and (dotted == means or dotted.startswith(means + "."))
                    and (not best or len(means) > len(best[1]))
                ):
                    best = name, means
            hidden.update(binding.name for binding in bindings)
        if best is not None:
            return best[0] + dotted[len(best[1]) :], None
        root, _, rest = dotted.partition(".")
        alias = root
        if root in {b.name for bindings, _ in visible[:-1] for b in bindings} or any(
            b.name == root and b.dotted != root for b in self._module
        ):
            used = self._used()
            while alias in used or alias == root:
                alias = "_" + alias
        statement = f"import {root}" if alias == root else f"import {root} as {alias}"
        return (f"{alias}.{rest}" if rest else alias), statement

    def _meaning(self, bindings: list[_Binding], start: int, later: bool) -> str | None:
        """Return what import a name stands for; None where it is not in force at `start` or may be something else."""
        meanings = {binding.dotted for binding in bindings}
        if len(meanings) != 1 or not any(b.certain and (later or b.offset < start) for b in bindings):
            return None
        return meanings.pop()

    def _used(self) -> set[str]:
        found: set[str] = set()
        for statement in self._program.body:
            for node in ir.walk(statement):
                if isinstance(node, ir.Name):
                    found.add(node.id)
                elif isinstance(node, (ir.Parameter, ir.Function, ir.Class)):
                    found.add(node.name)
                elif isinstance(node, ir.Import):
                    found.update(name for name, _ in node.bindings)
        return found

    def _scopes(self, at: ir.Node) -> list[_Scope]:
        """Return the scopes around a statement whose names it sees, outermost first."""
        scopes = [node for node in self._above(at) if isinstance(node, (ir.Function, ir.Class))]
        # Names of a class body are seen from that body alone, not from the functions in it.
        return [scope for scope in scopes if not isinstance(scope, ir.Class) or scope is scopes[-1]]

    def _above(self, at: ir.Node) -> tuple[ir.Node, ...]:
        """Return what a statement of the program lies in, outermost first."""
        start, end = self._offsets(at)
        around = (s for s in self._program.body if self._offsets(s)[0] <= start and end <= self._offsets(s)[1])
        pending: list[tuple[ir.Node, tuple[ir.Node, ...]]] = [(next(around), ())]
        while True:
            node, above = pending.pop()
            if node is at:
                return above
            pending.extend((child, (*above, node)) for child in ir.children(node))

    def _scope_bindings(self, scope: _Scope) -> list[_Binding]:
        offset = self._offsets(scope)[0]
        found: list[_Binding] = []
        if isinstance(scope, ir.Function):
            found.extend(_Binding(parameter.name, None, offset, True) for parameter in scope.parameters)
        found.extend(self._bindings(scope.body, True))
        outer = {name for node in _own(scope.body) if isinstance(node, ir.Scope) for name in node.names}
        return [binding for binding in found if binding.name not in outer]

    def _bindings(self, body: tuple[ir.Statement, ...], certain: bool) -> Iterator[_Binding]:
        """Yield what statements bind in their own scope."""
        for statement in body:
            yield from self._statement(statement, certain)

    def _statement(self, statement: ir.Statement, certain: bool) -> Iterator[_Binding]:
        offset = self._offsets(statement)[0]
        if isinstance(statement, ir.Import):
            for name, dotted in statement.bindings:
                yield _Binding(name, dotted, offset, certain)
        elif isinstance(statement, (ir.Function, ir.Class)):
            yield _Binding(statement.name, None, offset, certain)
        elif isinstance(statement, ir.Try):
            for block in (statement.body, statement.orelse, statement.final):
                yield from self._bindings(block, certain)
            # `except ImportError: torch = None` makes the feature optional; code that goes on has the import.
            imported = {b.name for b in self._bindings(statement.body, certain) if b.dotted}
            for handler in statement.handlers:
                if handler.name:
                    yield _Binding(handler.name, None, offset, False)
                yield from (b for b in self._bindings(handler.body, False) if b.name not in imported)
        elif isinstance(statement, ir.Match):
            for case in statement.cases:
                yield from (_Binding(name, None, offset, False) for name in case.names)
                yield from self._bindings(case.body, False)
        elif isinstance(statement, ir.Branch):
            yield from self._bindings((*statement.then, *statement.orelse), False)
        elif isinstance(statement, ir.Loop):
            if statement.target is not None:
                yield from self._targets(statement.target)
            yield from self._bindings((*statement.body, *statement.orelse), False)
        elif isinstance(statement, ir.With):
            for item in statement.items:
                if item.target is not None:
                    yield from self._targets(item.target)
            yield from self._bindings(statement.body, certain)
        elif isinstance(statement, (ir.Assign, ir.Delete)):
            for target in statement.targets:
                yield from self._targets(target)
        elif isinstance(statement, ir.Augment):
            yield from self._targets(statement.target)
        for node in _expressions(statement):
            if isinstance(node, ir.Walrus):
                yield from self._targets(node.target)

    def _targets(self, target: ir.Expression) -> Iterator[_Binding]:
        return (_Binding(name.id, None, self._offsets(name)[0], True) for name in ir.bound(target))


def _expressions(statement: ir.Statement) -> Iterator[ir.Node]:
    """Yield the expressions of one statement, not those of the statements in it or of lambdas."""
    pending = [child for child in ir.children(statement) if not isinstance(child, ir.Statement)]
    while pending:
        node = pending.pop()
        if not isinstance(node, (ir.Lambda, ir.Handler, ir.Case)):
            yield node
            pending.extend(ir.children(node))


def _own(body: tuple[ir.Statement, ...]) -> Iterator[ir.Node]:
    """Yield the statements of a scope, not those of nested scopes."""
    pending: list[ir.Node] = list(body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ir.Function, ir.Class, ir.Expression)):
            pending.extend(ir.children(node))
