"""The program tree: statements and expressions as autograd sees them, language-neutral.

    loss = model(x).mean()          Assign((Name loss),), Call(Attribute(Call(Name model, x), mean)))
    for x in data: ...              Loop(target=Name x, iterable=Name data, test=None, body=(...))

Nodes are frozen and compared by identity; `handle` is the front end's own node and means nothing here. Positions are
asked of `Program.span`, which the front end computes when first needed. Knows nothing of frameworks, tapes or rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from adlint.diagnostics import Span


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Node:
    """Anything with a place in the source."""

    handle: Any = None


class Expression(Node):
    """A node that has a value."""

    __slots__ = ()


class Statement(Node):
    """A node that is executed."""

    __slots__ = ()


@dataclass(frozen=True, eq=False, slots=True)
class Name(Expression):
    id: str


@dataclass(frozen=True, eq=False, slots=True)
class Attribute(Expression):
    value: Expression
    attr: str


@dataclass(frozen=True, eq=False, slots=True)
class Argument(Node):
    """`value`, `keyword=value`, `*value` (star "*") or `**value` (star "**")."""

    value: Expression
    keyword: str | None = None
    star: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Call(Expression):
    function: Expression
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Operator(Expression):
    """A unary (one operand) or binary arithmetic or bit operation; `op` is one of + - * / // % ** @ << >> & | ^ ~"""

    op: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Boolean(Expression):
    """`and`, `or` (flattened, two or more operands) or `not` (one operand)."""

    op: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Compare(Expression):
    """`left op right`, `op` being == != < <= > >= is "is not" in "not in".

    A chain `a < b < c` is lowered to Boolean("and", (a < b, b < c)).
    """

    left: Expression
    op: str
    right: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Constant(Expression):
    """int, float, complex, str (implicit concatenation joined), bytes, bool, None or Ellipsis."""

    value: Any


@dataclass(frozen=True, eq=False, slots=True)
class Template(Expression):
    """An f-string or t-string: only the expressions inside."""

    values: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Collection(Expression):
    """A tuple, list or set display; `kind` is its name; elements may be Starred."""

    kind: str
    elements: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Mapping(Expression):
    """A dict display; a key of None stands for `**value`."""

    items: tuple[tuple[Expression | None, Expression], ...]


@dataclass(frozen=True, eq=False, slots=True)
class Starred(Expression):
    value: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Clause(Node):
    """One `for target in iterable if test if test` of a comprehension."""

    target: Expression
    iterable: Expression
    tests: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Comprehension(Expression):
    """`kind`: list, set, dict or generator; `key` only for dict."""

    kind: str
    element: Expression
    key: Expression | None
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Parameter(Node):
    """`kind`: "positional" (also positional-only), "keyword" (keyword-only), "*" or "**"."""

    name: str
    kind: str
    default: Expression | None
    annotation: Expression | None


@dataclass(frozen=True, eq=False, slots=True)
class Lambda(Expression):
    parameters: tuple[Parameter, ...]
    body: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Slice(Expression):
    lower: Expression | None
    upper: Expression | None
    step: Expression | None


@dataclass(frozen=True, eq=False, slots=True)
class Subscript(Expression):
    """`value[index]`; several indices come as a tuple Collection."""

    value: Expression
    index: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Conditional(Expression):
    test: Expression
    then: Expression
    orelse: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Walrus(Expression):
    target: Expression
    value: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Yield(Expression):
    value: Expression | None
    delegates: bool


@dataclass(frozen=True, eq=False, slots=True)
class Await(Expression):
    value: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Opaque(Expression):
    """An expression of a kind the tape has no interest in; its parts are still evaluated."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Assign(Statement):
    """`a = b = value`; `x: T = value` keeps the annotation."""

    targets: tuple[Expression, ...]
    value: Expression
    annotation: Expression | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Declare(Statement):
    """`target: annotation` without a value; in a class, a field of a dataclass."""

    target: Expression
    annotation: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Augment(Statement):
    """`target op= value`; `op` without the equals sign."""

    target: Expression
    op: str
    value: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Evaluate(Statement):
    """An expression used as a statement."""

    value: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Branch(Statement):
    """`if test: then else: orelse`; an elif is a Branch alone in `orelse`."""

    test: Expression
    then: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Loop(Statement):
    """A `for` (target and iterable) or a `while` (test)."""

    target: Expression | None
    iterable: Expression | None
    test: Expression | None
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...]


@dataclass(frozen=True, eq=False, slots=True)
class ContextItem(Node):
    context: Expression
    target: Expression | None


@dataclass(frozen=True, eq=False, slots=True)
class With(Statement):
    items: tuple[ContextItem, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Handler(Node):
    """`except type as name`; no type catches everything."""

    type: Expression | None
    name: str | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Try(Statement):
    body: tuple[Statement, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Statement, ...]
    final: tuple[Statement, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Case(Node):
    """One arm of a match: the names that its pattern binds, whether it always matches, its guard and body."""

    names: tuple[str, ...]
    irrefutable: bool
    guard: Expression | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Match(Statement):
    subject: Expression
    cases: tuple[Case, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Return(Statement):
    value: Expression | None


@dataclass(frozen=True, eq=False, slots=True)
class Raise(Statement):
    value: Expression | None


@dataclass(frozen=True, eq=False, slots=True)
class Assert(Statement):
    test: Expression


@dataclass(frozen=True, eq=False, slots=True)
class Break(Statement):
    pass


@dataclass(frozen=True, eq=False, slots=True)
class Continue(Statement):
    pass


@dataclass(frozen=True, eq=False, slots=True)
class Pass(Statement):
    pass


@dataclass(frozen=True, eq=False, slots=True)
class Delete(Statement):
    targets: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Import(Statement):
    """`name` becomes bound to the module or member with the dotted name; relative imports begin with dots.

    `import a.b` binds `a` to "a"; `import a.b as c` binds `c` to "a.b"; `from .m import f as g` binds `g` to ".m.f";
    `from m import *` binds "*" to "m".
    """

    bindings: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False, slots=True)
class Scope(Statement):
    """`global` or `nonlocal` (kind) names."""

    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Function(Statement):
    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    decorators: tuple[Expression, ...]
    is_async: bool
    is_generator: bool


@dataclass(frozen=True, eq=False, slots=True)
class Class(Statement):
    name: str
    bases: tuple[Argument, ...]
    body: tuple[Statement, ...]
    decorators: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A whole module.

    `span(node)` gives the text of a node: for statements from their first token to the last token of the last line,
    for functions and classes from the first decorator on.
    """

    filename: str
    body: tuple[Statement, ...]
    span: Callable[[Node], Span]
    handle: Any = None
    text: str = ""


def children(node: Node) -> Iterator[Node]:
    """Yield the direct parts of a node, in source order of the fields."""
    kind = type(node)
    names = _FIELDS.get(kind)
    if names is None:
        names = _FIELDS[kind] = tuple(field.name for field in fields(kind) if field.name != "handle")
    for name in names:
        yield from _nodes(getattr(node, name))


_FIELDS: dict[type, tuple[str, ...]] = {}


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it, parents first."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(children(current))))


def bound(target: Expression) -> Iterator[Name]:
    """Yield the names that a target binds, without those that only lead to what it sets."""
    if isinstance(target, Name):
        yield target
    elif isinstance(target, Starred):
        yield from bound(target.value)
    elif isinstance(target, Collection):
        for element in target.elements:
            yield from bound(element)


def walk_all(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Yield everything in a sequence of nodes."""
    for node in nodes:
        yield from walk(node)
