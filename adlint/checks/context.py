"""What checks need to know of the program around an event: parents, statements, blocks, functions, texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from pathlib import PurePath
from typing import ParamSpec, TypeVar

from adlint import program as p
from adlint.catalog import Rule
from adlint.diagnostics import Applicability, Certainty, Diagnostic, Edit, Fix, Related
from adlint.profiles import Profile
from adlint.rewrite import CannotRewrite, Rewriter
from adlint.source import Source
from adlint.tape.facts import Event, Fact, Facts

GRADIENTS = {"backward", "requires_grad_", "enable_grad"}
Given = ParamSpec("Given")
Made = TypeVar("Made")


def attempted(build: Callable[Given, Made | None]) -> Callable[Given, Made | None]:
    """Let the builder of a fix return None where the text cannot be rewritten."""

    @wraps(build)
    def builder(*args: Given.args, **kwargs: Given.kwargs) -> Made | None:
        try:
            return build(*args, **kwargs)
        except CannotRewrite:
            return None

    return builder


@dataclass(slots=True)
class Context:
    """One file being checked, the others that its facts involve, the framework `target` that it is ported to, and the
    facts behind what has been reported."""

    program: p.Program
    facts: Facts
    profile: Profile
    rewriter: Rewriter
    source: Source
    others: tuple[p.Program, ...] = ()
    target: Profile | None = None
    reported: list[tuple[Diagnostic, Fact]] = field(default_factory=list)
    parents: dict[p.Node, p.Node] = field(default_factory=dict)
    homes: dict[p.Node, p.Program] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for program in (self.program, *self.others):
            for top in program.body:
                for node in p.walk(top):
                    if self.others:
                        self.homes[node] = program
                    for child in p.children(node):
                        self.parents[child] = node

    @property
    def no_grad(self) -> str:
        """The dotted name of what switches recording off."""
        return self.profile.terms["no_grad"].removesuffix("()")

    def home(self, node: p.Node) -> p.Program:
        """Return the program that a node is a part of."""
        return self.homes.get(node, self.program)

    def text(self, node: p.Node | None) -> str:
        """Return the source of a node on one line."""
        if node is None:
            return ""
        if self.others:
            home = self.home(node)
            return " ".join(Source(home.filename, home.text).slice(home.span(node)).split())
        return " ".join(self.rewriter.text_of(node).split())

    def row(self, node: p.Node) -> int:
        """Return the line of the text that a node begins on."""
        return self.home(node).span(node).start.line

    def line(self, node: p.Node) -> str:
        """Return the number of the line that a node begins on, for messages: in a notebook with that of its cell, in
        another file with that file's name."""
        home = self.home(node)
        if home is not self.program:
            return f"{home.span(node).start.line} of `{PurePath(home.filename).name}`"
        cell, place = self.source.place(self.program.span(node).start)
        return str(place.line) if cell is None else f"{place.line} of cell {cell}"

    def above(self, node: p.Node) -> Iterator[p.Node]:
        """Yield the nodes around a node, innermost first."""
        current: p.Node | None = node
        while current is not None:
            yield current
            current = self.parents.get(current)

    def statement(self, node: p.Node) -> p.Statement:
        """Return the innermost statement that holds a node."""
        return next(n for n in self.above(node) if isinstance(n, p.Statement))

    def function(self, node: p.Node) -> p.Function | None:
        """Return the innermost function around a node."""
        above = self.above(node)
        next(above)
        return next((n for n in above if isinstance(n, p.Function)), None)

    def block(self, statement: p.Statement) -> tuple[p.Statement, ...]:
        """Return the block of statements that a statement stands in."""
        parent = self.parents.get(statement)
        if parent is None:
            return self.home(statement).body
        for name in ("body", "then", "orelse", "final"):
            held = getattr(parent, name, ())
            if isinstance(held, tuple) and statement in held:
                return held
        return ()

    def body(self, node: p.Node) -> tuple[p.Statement, ...]:
        """Return the statements of the innermost function around a node, or of its module."""
        function = self.function(node)
        return self.home(node).body if function is None else function.body

    def in_block_of(self, node: p.Node, statement: p.Statement) -> p.Statement | None:
        """Return the sibling of `statement` that holds `node`."""
        block = self.block(statement)
        return next((n for n in self.above(node) if isinstance(n, p.Statement) and n in block), None)

    def between(self, first: p.Statement, second: p.Statement) -> tuple[p.Statement, ...]:
        """Return what stands between two statements of one block."""
        block = self.block(first)
        return block[block.index(first) + 1 : block.index(second)]

    def related(self, message: str, node: p.Node) -> Related:
        home = self.home(node)
        return Related(message, home.filename, home.span(node))

    def fix(
        self,
        rule: Rule,
        edits: tuple[Edit, ...],
        title: str = "default",
        applicability: Applicability | None = None,
        **words: object,
    ) -> Fix:
        """Return a fix of a rule under one of its titles, filled with the framework's terms and `words`; it is as safe
        as the rule says unless `applicability` says otherwise."""
        text = rule.fix_titles[title].format(**{**self.profile.terms, **words})
        applicability = applicability or rule.applicability
        assert applicability is not None, rule.name
        return Fix(text, applicability, edits)

    def diagnostic(
        self,
        rule: Rule,
        fact: Fact,
        site: p.Node,
        message: str,
        related: tuple[Related, ...],
        fix: Fix | None,
    ) -> Diagnostic:
        """Return the report of a fact."""
        certainty = Certainty.DEFINITE if fact.definite else Certainty.POSSIBLE
        home = self.home(site)
        made = Diagnostic(
            rule.id,
            rule.name,
            message,
            rule.severity,
            certainty,
            home.filename,
            home.span(site),
            related,
            fix,
        )
        self.reported.append((made, fact))
        return made


def visible(context: Context, expression: p.Node, from_place: p.Node, at: p.Node) -> bool:
    """Tell whether an expression means the same at another place: same function, enclosing one, or a shared `self`."""
    here, there = context.function(from_place), context.function(at)
    if here is there:
        return True
    root = next((n for n in p.walk(expression) if isinstance(n, p.Name)), None)
    if root is None:
        return False
    if there is not None and here in tuple(context.above(there)):
        return not _binds(there, root.id)
    if here is None or there is None:
        return here is None and (there is None or not _binds(there, root.id))
    if here.parameters and there.parameters and here.parameters[0].name == there.parameters[0].name == root.id:
        return context.parents.get(here) is context.parents.get(there) and isinstance(expression, p.Attribute)
    outer = {id(n) for n in context.above(there)}
    if not any(id(n) in outer for n in context.above(here) if isinstance(n, p.Function)):
        return not _binds(here, root.id) and not _binds(there, root.id)
    return False


def _binds(function: p.Function, name: str) -> bool:
    return any(q.name == name for q in function.parameters) or binds(function.body, name)


def binds(body: tuple[p.Statement, ...], name: str) -> bool:
    """Tell whether statements assign to a name."""
    for node in p.walk_all(body):
        if isinstance(node, p.Assign) and any(isinstance(t, p.Name) and t.id == name for t in _targets(node)):
            return True
        if (
            isinstance(node, p.Loop)
            and node.target is not None
            and any(isinstance(t, p.Name) and t.id == name for t in p.walk(node.target))
        ):
            return True
    return False


def _targets(node: p.Assign) -> Iterator[p.Node]:
    for target in node.targets:
        yield from p.walk(target)


def given(body: tuple[p.Statement, ...], name: str) -> list[p.Expression]:
    """Return what statements assign to a name."""
    assigned = (node for node in p.walk_all(body) if isinstance(node, p.Assign))
    return [node.value for node in assigned if any(isinstance(t, p.Name) and t.id == name for t in node.targets)]


def last_name(node: p.Node) -> str:
    """Return the last part of a name or attribute path, empty for anything else."""
    if isinstance(node, p.Attribute):
        return node.attr
    return node.id if isinstance(node, p.Name) else ""


def target(context: Context, statement: p.Statement) -> str:
    """Return the one name or attribute that a statement assigns, empty for anything else."""
    if not isinstance(statement, p.Assign) or len(statement.targets) != 1:
        return ""
    only = statement.targets[0]
    return context.text(only) if isinstance(only, (p.Name, p.Attribute)) else ""


def short(text: str) -> str:
    """Return a text for a message, cut where it is long."""
    return text if len(text) <= 60 else text[:57] + "..."


def is_test(filename: str) -> bool:
    """Tell whether a file holds tests, in which a forward that is recorded for nothing costs nobody anything."""
    path = PurePath(filename)
    return path.name.startswith("test_") or path.stem.endswith("_test") or path.name == "conftest.py"


def trains(context: Context, node: p.Node) -> bool:
    """Tell whether a backward or step is run somewhere in a part of the program."""
    return any(part in context.facts.training for part in p.walk(node))


def differentiates(context: Context, node: p.Node) -> bool:
    """Tell whether a part of the program trains, or names what needs a graph."""
    return trains(context, node) or bool(GRADIENTS & called_names((node,)))


def always(node: p.Node) -> bool:
    """Tell whether a condition is a constant that is true, and so none."""
    return isinstance(node, p.Branch) and isinstance(node.test, p.Constant) and bool(node.test.value)


def called_names(statements: tuple[p.Node, ...]) -> set[str]:
    """Return the names of methods and attributes used in statements."""
    return {n.attr for n in p.walk_all(statements) if isinstance(n, p.Attribute)}


__all__ = [
    "Applicability",
    "CannotRewrite",
    "Context",
    "Edit",
    "Event",
    "Fix",
    "always",
    "attempted",
    "binds",
    "called_names",
    "differentiates",
    "given",
    "is_test",
    "last_name",
    "short",
    "target",
    "trains",
    "visible",
]
