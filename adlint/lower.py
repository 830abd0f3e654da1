"""Text → Program: the first half of the front end; with `rewrite.py` the only importer of the concrete syntax tree.

    if a < b < c:        Branch(Boolean("and", (Compare(a, "<", b), Compare(b, "<", c))),
        x, = f(*y)              (Assign((Collection("tuple", (Name x,)),), Call(Name f, (Argument(y, star="*"),))),),
    elif d:                     (Branch(Name d, (Pass(),), ()),))
        pass

One walk over the fields that matter; whitespace, comments, type parameters and messages of `assert` are left behind.
Every node's handle is its tree node, or the first and the last of several.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst

from adlint import program as ir
from adlint.guard import CannotRead, in_deep_stack, is_deep
from adlint.positions import Positions
from adlint.source import Source

__all__ = ["CannotRead", "in_deep_stack", "is_deep", "lower"]

_PLACE = re.compile(r"error at (\d+):(\d+)")
_SINGLETONS = {"True": True, "False": False, "None": None}


def lower(text: str, filename: str) -> ir.Program:
    """Parse a text (without byte order mark) and lower it; raises `CannotRead`.

    Where `is_deep(text)`, later walks over the program should run in `in_deep_stack` too.
    """
    deep = is_deep(text)
    if not deep:
        try:
            return _lower(text, filename, deep)
        except RecursionError:
            deep = True
    try:
        return in_deep_stack(_lower, text, filename, deep)
    except (RecursionError, MemoryError):
        raise CannotRead("the file is too deeply nested to be analysed", 1, 1) from None


def _lower(text: str, filename: str, deep: bool) -> ir.Program:
    module = _parse(text, filename)
    body = _Lowering().statements(module.body)
    return ir.Program(filename, body, Positions(module, Source(filename, text), deep), module, text)


def _parse(text: str, filename: str) -> cst.Module:
    try:
        return cst.parse_module(text)
    except (RecursionError, MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the native parser is no Exception
        raise _explain(error, text, filename) from None


def _explain(error: BaseException, text: str, filename: str) -> CannotRead:
    """Turn the tree parser's failure into Python's own words; its own positions are unreliable."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, filename, "exec", dont_inherit=True, flags=ast.PyCF_ONLY_AST)
    except SyntaxError as wrong:
        message = _decapitalised(wrong.msg or "invalid syntax")
        return CannotRead(f"syntax error: {message}", max(wrong.lineno or 1, 1), max(wrong.offset or 1, 1))
    except (ValueError, RecursionError, MemoryError):
        pass
    message = str(getattr(error, "message", error)).partition("\n")[0]
    place = _PLACE.search(message)
    line, column = (int(place[1]), int(place[2]) + 1) if place else (1, 1)
    return CannotRead(f"the parser does not understand this file: {_decapitalised(message)}", line, max(column, 1))


def _decapitalised(message: str) -> str:
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


class _Lowering:
    """One walk over one module."""

    def __init__(self) -> None:
        # One entry for each function or lambda that is being lowered: has it yielded?
        self._yields: list[bool] = [False]

    def statements(self, body: Iterable[Any]) -> tuple[ir.Statement, ...]:
        """Lower the statements of a body; lines of several simple statements become several."""
        found: list[ir.Statement] = []
        for node in body:
            if isinstance(node, cst.SimpleStatementLine):
                found.extend(self.statements(node.body))
            else:
                found.append(_STATEMENTS.get(type(node), _Lowering._unknown_statement)(self, node))
        return tuple(found)

    def _suite(self, node: Any) -> tuple[ir.Statement, ...]:
        """Lower whatever has a body, or nothing."""
        return () if node is None else self.statements(node.body.body)

    def expression(self, node: Any) -> ir.Expression:
        """Lower an expression."""
        return _EXPRESSIONS.get(type(node), _Lowering._unknown)(self, node)

    def _optional(self, node: Any) -> ir.Expression | None:
        return None if node is None else self.expression(node)

    def _expressions(self, nodes: Iterable[Any]) -> tuple[ir.Expression, ...]:
        return tuple([self.expression(node) for node in nodes])

    # Statements

    def _assign(self, node: cst.Assign) -> ir.Statement:
        value = self.expression(node.value)
        return ir.Assign(tuple([self.expression(target.target) for target in node.targets]), value, handle=node)

    def _annotated(self, node: cst.AnnAssign) -> ir.Statement:
        annotation = self.expression(node.annotation.annotation)
        if node.value is None:
            return ir.Declare(self.expression(node.target), annotation, handle=node)
        return ir.Assign((self.expression(node.target),), self.expression(node.value), annotation, handle=node)

    def _augment(self, node: cst.AugAssign) -> ir.Statement:
        op = _OPERATORS[type(node.operator).__name__.removesuffix("Assign")]
        return ir.Augment(self.expression(node.target), op, self.expression(node.value), handle=node)

    def _evaluate(self, node: cst.Expr) -> ir.Statement:
        return ir.Evaluate(self.expression(node.value), handle=node)

    def _branch(self, node: cst.If) -> ir.Statement:
        # An `elif` chain is as deep as it is long: from the last arm upwards, without recursion.
        arms = [node]
        while isinstance(arms[-1].orelse, cst.If):
            arms.append(arms[-1].orelse)
        lowered = [(arm, self.expression(arm.test), self._suite(arm)) for arm in arms]
        orelse = self._suite(arms[-1].orelse)
        for arm, test, then in reversed(lowered):
            orelse = (ir.Branch(test, then, orelse, handle=arm),)
        return orelse[0]

    def _for(self, node: cst.For) -> ir.Statement:
        iterable = self.expression(node.iter)
        target = self.expression(node.target)
        return ir.Loop(target, iterable, None, self._suite(node), self._suite(node.orelse), handle=node)

    def _while(self, node: cst.While) -> ir.Statement:
        test = self.expression(node.test)
        return ir.Loop(None, None, test, self._suite(node), self._suite(node.orelse), handle=node)

    def _with(self, node: cst.With) -> ir.Statement:
        items = tuple(
            [
                ir.ContextItem(
                    self.expression(item.item), self.expression(item.asname.name) if item.asname else None, handle=item
                )
                for item in node.items
            ]
        )
        return ir.With(items, self._suite(node), handle=node)

    def _try(self, node: cst.Try | cst.TryStar) -> ir.Statement:
        body = self._suite(node)
        handlers = tuple([self._handler(handler) for handler in node.handlers])
        return ir.Try(body, handlers, self._suite(node.orelse), self._suite(node.finalbody), handle=node)

    def _handler(self, node: cst.ExceptHandler | cst.ExceptStarHandler) -> ir.Handler:
        name = node.name.name.value if node.name and isinstance(node.name.name, cst.Name) else None
        return ir.Handler(self._optional(node.type), name, self._suite(node), handle=node)

    def _match(self, node: cst.Match) -> ir.Statement:
        return ir.Match(self.expression(node.subject), tuple([self._case(case) for case in node.cases]), handle=node)

    def _case(self, node: cst.MatchCase) -> ir.Case:
        guard = self._optional(node.guard)
        always = guard is None and _matches_all(node.pattern)
        names = tuple(dict.fromkeys(_bound(node.pattern)))
        return ir.Case(names, always, guard, self._suite(node), handle=node)

    def _return(self, node: cst.Return) -> ir.Statement:
        return ir.Return(self._optional(node.value), handle=node)

    def _raise(self, node: cst.Raise) -> ir.Statement:
        return ir.Raise(self._optional(node.exc), handle=node)

    def _assert(self, node: cst.Assert) -> ir.Statement:
        return ir.Assert(self.expression(node.test), handle=node)

    def _break(self, node: cst.Break) -> ir.Statement:
        return ir.Break(handle=node)

    def _continue(self, node: cst.Continue) -> ir.Statement:
        return ir.Continue(handle=node)

    def _pass(self, node: cst.Pass) -> ir.Statement:
        return ir.Pass(handle=node)

    def _delete(self, node: cst.Del) -> ir.Statement:
        target = self.expression(node.target)
        targets = target.elements if isinstance(target, ir.Collection) else (target,)
        return ir.Delete(targets, handle=node)

    def _import(self, node: Any) -> ir.Statement:
        bindings = []
        for alias in node.names:
            dotted = _dotted(alias.name)
            if alias.asname:
                bindings.append((alias.asname.name.value, dotted))
            else:
                top = dotted.partition(".")[0]
                bindings.append((top, top))
        return ir.Import(tuple(bindings), handle=node)

    def _import_from(self, node: Any) -> ir.Statement:
        module = "." * len(node.relative) + (_dotted(node.module) if node.module else "")
        if isinstance(node.names, cst.ImportStar):
            return ir.Import((("*", module),), handle=node)
        prefix = module if module.endswith(".") else module + "."
        bindings = []
        for alias in node.names:
            name = alias.name.value
            bindings.append((alias.asname.name.value if alias.asname else name, prefix + name))
        return ir.Import(tuple(bindings), handle=node)

    def _scope(self, node: cst.Global | cst.Nonlocal) -> ir.Statement:
        kind = type(node).__name__.lower()
        return ir.Scope(kind, tuple([item.name.value for item in node.names]), handle=node)

    def _type_alias(self, node: cst.TypeAlias) -> ir.Statement:
        # The value is evaluated only when somebody asks for it.
        return ir.Assign((self.expression(node.name),), ir.Opaque((), handle=node.value), handle=node)

    def _function(self, node: cst.FunctionDef) -> ir.Statement:
        decorators = tuple([self.expression(decorator.decorator) for decorator in node.decorators])
        parameters = self._parameters(node.params)
        self._yields.append(False)
        body = self._suite(node)
        is_generator = self._yields.pop()
        is_async = node.asynchronous is not None
        return ir.Function(node.name.value, parameters, body, decorators, is_async, is_generator, handle=node)

    def _parameters(self, node: cst.Parameters) -> tuple[ir.Parameter, ...]:
        found = [self._parameter(param, "positional") for param in (*node.posonly_params, *node.params)]
        if isinstance(node.star_arg, cst.Param):
            found.append(self._parameter(node.star_arg, "*"))
        found.extend(self._parameter(param, "keyword") for param in node.kwonly_params)
        if node.star_kwarg is not None:
            found.append(self._parameter(node.star_kwarg, "**"))
        return tuple(found)

    def _parameter(self, node: cst.Param, kind: str) -> ir.Parameter:
        annotation = self.expression(node.annotation.annotation) if node.annotation else None
        return ir.Parameter(node.name.value, kind, self._optional(node.default), annotation, handle=node)

    def _class(self, node: cst.ClassDef) -> ir.Statement:
        decorators = tuple([self.expression(decorator.decorator) for decorator in node.decorators])
        bases = tuple([self._argument(base) for base in (*node.bases, *node.keywords)])
        return ir.Class(node.name.value, bases, self._suite(node), decorators, handle=node)

    def _unknown_statement(self, node: Any) -> ir.Statement:
        return ir.Evaluate(self._unknown(node), handle=node)

    # Expressions

    def _unknown(self, node: Any) -> ir.Expression:
        return ir.Opaque((), handle=node)

    def _name(self, node: cst.Name) -> ir.Expression:
        name = node.value
        if name in _SINGLETONS:
            return ir.Constant(_SINGLETONS[name], handle=node)
        return ir.Name(name, handle=node)

    def _attribute(self, node: cst.Attribute) -> ir.Expression:
        return ir.Attribute(self.expression(node.value), node.attr.value, handle=node)

    def _call(self, node: cst.Call) -> ir.Expression:
        function = self.expression(node.func)
        return ir.Call(function, tuple([self._argument(argument) for argument in node.args]), handle=node)

    def _argument(self, node: cst.Arg) -> ir.Argument:
        keyword = node.keyword.value if node.keyword else None
        return ir.Argument(self.expression(node.value), keyword, node.star, handle=node)

    def _binary(self, node: cst.BinaryOperation) -> ir.Expression:
        op = _OPERATORS[type(node.operator).__name__]
        return ir.Operator(op, (self.expression(node.left), self.expression(node.right)), handle=node)

    def _unary(self, node: cst.UnaryOperation) -> ir.Expression:
        operand = self.expression(node.expression)
        if isinstance(node.operator, cst.Not):
            return ir.Boolean("not", (operand,), handle=node)
        return ir.Operator(_OPERATORS[type(node.operator).__name__], (operand,), handle=node)

    def _boolean(self, node: cst.BooleanOperation) -> ir.Expression:
        op = _OPERATORS[type(node.operator).__name__]
        operands: list[ir.Expression] = []
        for side in (node.left, node.right):
            operand = self.expression(side)
            if isinstance(operand, ir.Boolean) and operand.op == op and isinstance(side, cst.BooleanOperation):
                operands.extend(operand.operands)
            else:
                operands.append(operand)
        return ir.Boolean(op, tuple(operands), handle=node)

    def _comparison(self, node: cst.Comparison) -> ir.Expression:
        left, left_node = self.expression(node.left), node.left
        compares = []
        for target in node.comparisons:
            right = self.expression(target.comparator)
            op = _OPERATORS[type(target.operator).__name__]
            compares.append(ir.Compare(left, op, right, handle=(left_node, target.comparator)))
            left, left_node = right, target.comparator
        if len(compares) == 1:
            return ir.Compare(compares[0].left, compares[0].op, right, handle=node)
        return ir.Boolean("and", tuple(compares), handle=node)

    def _number(self, node: cst.Integer | cst.Float | cst.Imaginary | cst.SimpleString) -> ir.Expression:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ir.Constant(ast.literal_eval(node.value), handle=node)
        except (ValueError, SyntaxError):
            return ir.Opaque((), handle=node)

    def _integer(self, node: cst.Integer) -> ir.Expression:
        if node.value.isdigit() and len(node.value) < 20 and (node.value[0] != "0" or node.value == "0"):
            return ir.Constant(int(node.value), handle=node)
        return self._number(node)

    def _string(self, node: cst.SimpleString) -> ir.Expression:
        value = node.value
        if value[0] in "\"'" and "\\" not in value and "\r" not in value:
            quotes = 3 if value.startswith(('"""', "'''")) and len(value) >= 6 else 1
            return ir.Constant(value[quotes:-quotes], handle=node)
        return self._number(node)

    def _ellipsis(self, node: cst.Ellipsis) -> ir.Expression:
        return ir.Constant(..., handle=node)

    def _concatenated(self, node: cst.ConcatenatedString) -> ir.Expression:
        parts = []
        rest: Any = node
        while isinstance(rest, cst.ConcatenatedString):
            parts.append(self.expression(rest.left))
            rest = rest.right
        parts.append(self.expression(rest))
        if any(isinstance(part, ir.Template) for part in parts):
            values = [value for part in parts if isinstance(part, ir.Template) for value in part.values]
            return ir.Template(tuple(values), handle=node)
        constants = [part.value for part in parts if isinstance(part, ir.Constant)]
        if len(constants) == len(parts) and all(isinstance(value, str) for value in constants):
            return ir.Constant("".join(constants), handle=node)
        if len(constants) == len(parts) and all(isinstance(value, bytes) for value in constants):
            return ir.Constant(b"".join(constants), handle=node)
        return ir.Opaque((), handle=node)

    def _template(self, node: Any) -> ir.Expression:
        return ir.Template(tuple(self._template_values(node.parts)), handle=node)

    def _template_values(self, parts: Iterable[Any]) -> list[ir.Expression]:
        values = []
        for part in parts:
            if hasattr(part, "expression"):
                values.append(self.expression(part.expression))
                values.extend(self._template_values(part.format_spec or ()))
        return values

    def _collection(self, node: cst.Tuple | cst.List | cst.Set) -> ir.Expression:
        return ir.Collection(type(node).__name__.lower(), self._expressions(node.elements), handle=node)

    def _element(self, node: cst.Element) -> ir.Expression:
        return self.expression(node.value)

    def _starred(self, node: Any) -> ir.Expression:
        return ir.Starred(self.expression(node.value), handle=node)

    def _mapping(self, node: cst.Dict) -> ir.Expression:
        items = []
        for element in node.elements:
            key = self.expression(element.key) if isinstance(element, cst.DictElement) else None
            items.append((key, self.expression(element.value)))
        return ir.Mapping(tuple(items), handle=node)

    def _comprehension(self, node: Any) -> ir.Expression:
        clauses = []
        clause = node.for_in
        while clause is not None:
            tests = tuple([self.expression(test.test) for test in clause.ifs])
            clauses.append(
                ir.Clause(self.expression(clause.target), self.expression(clause.iter), tests, handle=clause)
            )
            clause = clause.inner_for_in
        kind = _COMPREHENSIONS.get(type(node), "dict")
        key = None
        if hasattr(node, "elt"):
            element = self.expression(node.elt)
        elif hasattr(node, "key"):
            key, element = self.expression(node.key), self.expression(node.value)
        else:  # `{**value for ...}`
            element = ir.Starred(self.expression(node.value), handle=node.value)
        return ir.Comprehension(kind, element, key, tuple(clauses), handle=node)

    def _lambda(self, node: cst.Lambda) -> ir.Expression:
        parameters = self._parameters(node.params)
        self._yields.append(False)
        body = self.expression(node.body)
        self._yields.pop()
        return ir.Lambda(parameters, body, handle=node)

    def _subscript(self, node: cst.Subscript) -> ir.Expression:
        elements = node.slice
        value = self.expression(node.value)
        indices = tuple([self._index(element.slice) for element in elements])
        index: ir.Expression
        first = elements[0]
        alone = len(elements) == 1 and not isinstance(first.comma, cst.Comma) and not isinstance(indices[0], ir.Starred)
        index = indices[0] if alone else ir.Collection("tuple", indices, handle=(elements[0], elements[-1]))
        return ir.Subscript(value, index, handle=node)

    def _index(self, node: cst.BaseSlice) -> ir.Expression:
        if isinstance(node, cst.Slice):
            lower, upper, step = self._optional(node.lower), self._optional(node.upper), self._optional(node.step)
            return ir.Slice(lower, upper, step, handle=node)
        assert isinstance(node, cst.Index)
        value = self.expression(node.value)
        return ir.Starred(value, handle=node) if node.star else value

    def _conditional(self, node: cst.IfExp) -> ir.Expression:
        test, then, orelse = self.expression(node.test), self.expression(node.body), self.expression(node.orelse)
        return ir.Conditional(test, then, orelse, handle=node)

    def _walrus(self, node: cst.NamedExpr) -> ir.Expression:
        return ir.Walrus(self.expression(node.target), self.expression(node.value), handle=node)

    def _yield(self, node: cst.Yield) -> ir.Expression:
        self._yields[-1] = True
        if isinstance(node.value, cst.From):
            return ir.Yield(self.expression(node.value.item), True, handle=node)
        return ir.Yield(self._optional(node.value), False, handle=node)

    def _await(self, node: cst.Await) -> ir.Expression:
        return ir.Await(self.expression(node.expression), handle=node)


def _dotted(node: Any) -> str:
    names = []
    while isinstance(node, cst.Attribute):
        names.append(node.attr.value)
        node = node.value
    names.append(node.value)
    return ".".join(reversed(names))


def _matches_all(pattern: Any) -> bool:
    if isinstance(pattern, cst.MatchAs):
        return pattern.pattern is None or _matches_all(pattern.pattern)
    return isinstance(pattern, cst.MatchOr) and any(_matches_all(part.pattern) for part in pattern.patterns)


def _bound(pattern: Any) -> Iterable[str]:
    """Yield the names that a pattern binds."""
    if isinstance(pattern, cst.MatchClass):
        for part in (*pattern.patterns, *pattern.kwds):
            yield from _bound(getattr(part, "value", None) or getattr(part, "pattern", None))
    elif isinstance(pattern, cst.MatchMapping):
        for element in pattern.elements:
            yield from _bound(element.pattern)
        if pattern.rest is not None:
            yield pattern.rest.value
    elif isinstance(pattern, cst.MatchSequence):
        for item in pattern.patterns:
            if isinstance(item, cst.MatchSequenceElement):
                yield from _bound(item.value)
            elif item.name is not None:
                yield item.name.value
    elif isinstance(pattern, cst.MatchOr):
        for part in pattern.patterns:
            yield from _bound(part.pattern)
    elif isinstance(pattern, cst.MatchAs):
        if pattern.pattern is not None:
            yield from _bound(pattern.pattern)
        if pattern.name is not None:
            yield pattern.name.value


_OPERATORS = {
    "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "FloorDivide": "//", "Modulo": "%", "Power": "**",
    "MatrixMultiply": "@", "LeftShift": "<<", "RightShift": ">>", "BitAnd": "&", "BitOr": "|", "BitXor": "^",
    "Plus": "+", "Minus": "-", "BitInvert": "~", "And": "and", "Or": "or",
    "Equal": "==", "NotEqual": "!=", "LessThan": "<", "LessThanEqual": "<=", "GreaterThan": ">",
    "GreaterThanEqual": ">=", "Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in",
}  # fmt: skip

_COMPREHENSIONS: dict[type, str] = {cst.ListComp: "list", cst.SetComp: "set", cst.GeneratorExp: "generator"}

_STATEMENTS: dict[type, Callable[[_Lowering, Any], ir.Statement]] = {
    cst.Assign: _Lowering._assign,
    cst.AnnAssign: _Lowering._annotated,
    cst.AugAssign: _Lowering._augment,
    cst.Expr: _Lowering._evaluate,
    cst.If: _Lowering._branch,
    cst.For: _Lowering._for,
    cst.While: _Lowering._while,
    cst.With: _Lowering._with,
    cst.Try: _Lowering._try,
    cst.TryStar: _Lowering._try,
    cst.Match: _Lowering._match,
    cst.Return: _Lowering._return,
    cst.Raise: _Lowering._raise,
    cst.Assert: _Lowering._assert,
    cst.Break: _Lowering._break,
    cst.Continue: _Lowering._continue,
    cst.Pass: _Lowering._pass,
    cst.Del: _Lowering._delete,
    cst.Import: _Lowering._import,
    cst.ImportFrom: _Lowering._import_from,
    cst.Global: _Lowering._scope,
    cst.Nonlocal: _Lowering._scope,
    cst.TypeAlias: _Lowering._type_alias,
    cst.FunctionDef: _Lowering._function,
    cst.ClassDef: _Lowering._class,
}

_EXPRESSIONS: dict[type, Callable[[_Lowering, Any], ir.Expression]] = {
    cst.Name: _Lowering._name,
    cst.Attribute: _Lowering._attribute,
    cst.Call: _Lowering._call,
    cst.BinaryOperation: _Lowering._binary,
    cst.UnaryOperation: _Lowering._unary,
    cst.BooleanOperation: _Lowering._boolean,
    cst.Comparison: _Lowering._comparison,
    cst.Integer: _Lowering._integer,
    cst.Float: _Lowering._number,
    cst.Imaginary: _Lowering._number,
    cst.SimpleString: _Lowering._string,
    cst.Ellipsis: _Lowering._ellipsis,
    cst.ConcatenatedString: _Lowering._concatenated,
    cst.FormattedString: _Lowering._template,
    cst.Tuple: _Lowering._collection,
    cst.List: _Lowering._collection,
    cst.Set: _Lowering._collection,
    cst.Element: _Lowering._element,
    cst.StarredElement: _Lowering._starred,
    cst.Dict: _Lowering._mapping,
    cst.ListComp: _Lowering._comprehension,
    cst.SetComp: _Lowering._comprehension,
    cst.DictComp: _Lowering._comprehension,
    cst.GeneratorExp: _Lowering._comprehension,
    cst.Lambda: _Lowering._lambda,
    cst.Subscript: _Lowering._subscript,
    cst.IfExp: _Lowering._conditional,
    cst.NamedExpr: _Lowering._walrus,
    cst.Yield: _Lowering._yield,
    cst.Await: _Lowering._await,
}

# Syntax that the oldest supported version of the tree library does not have.
if hasattr(cst, "LazyImport"):
    _STATEMENTS[cst.LazyImport] = _Lowering._import
    _STATEMENTS[cst.LazyImportFrom] = _Lowering._import_from
if hasattr(cst, "TemplatedString"):
    _EXPRESSIONS[cst.TemplatedString] = _Lowering._template
if hasattr(cst, "StarredDictComp"):
    _EXPRESSIONS[cst.StarredDictComp] = _Lowering._comprehension
