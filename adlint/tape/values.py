"""Abstract values and heap objects: what a name can stand for while a program runs on the tape.

Values are immutable and compared structurally. Things with identity (tensors, modules, optimizers, lists, instances)
are heap objects: a `Ref` names one, and the state maps the reference to the object as it is on that path. An `Unknown`
has a structural key, so that two reads of `args.use_amp` are the same unknown and two guards on it agree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from adlint import program as p

Key = Any


@dataclass(frozen=True, slots=True)
class Const:
    """A Python constant; `site` is where a number was written, without a meaning for equality."""

    value: Any
    site: p.Node | None = field(default=None, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        value = self.value
        return hash((type(value), repr(value) if isinstance(value, slice) else value))


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value of which only the identity is known."""

    key: Key


@dataclass(frozen=True, slots=True)
class Linear:
    """An integer `symbol + offset`: a loop counter in its n-th turn."""

    symbol: Key
    offset: int


@dataclass(frozen=True, slots=True)
class Ref:
    """The identity of a heap object."""

    id: int


@dataclass(frozen=True, slots=True)
class Tuple:
    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Closure:
    """A function or lambda of the program, with the frame in which it was defined and the class that owns it."""

    node: p.Function | p.Lambda
    frame: int
    defaults: tuple[Value | None, ...] = ()
    owner: Ref | None = None
    scopes: tuple[Scope, ...] = ()
    kind: str = "function"


@dataclass(frozen=True, slots=True)
class Bound:
    """A function of the program with its receiver."""

    receiver: Value
    function: Closure


@dataclass(frozen=True, slots=True)
class Library:
    """A module, class or function of a library, by its canonical dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class Imported:
    """A module of the project (no names), or what is known under names in it; `dotted` is how the import spells it."""

    path: str
    names: tuple[str, ...]
    dotted: str


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a value that the program does not define itself."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True)
class Builtin:
    name: str


@dataclass(frozen=True, slots=True)
class Partial:
    function: Value
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Leaves:
    """Parameters: the leaves behind `model.parameters()`; `single` for one element standing for each of them,
    `data` for its untracked view, `part` where only some of the parameters are meant that these leaves stand for."""

    leaves: frozenset[int]
    single: bool = False
    data: bool = False
    part: bool = False


@dataclass(frozen=True, slots=True)
class Gradient:
    """The content of the gradient slots of some leaves."""

    leaves: frozenset[int]


@dataclass(frozen=True, slots=True)
class Absent:
    """The `None` that stands in the gradient slot of a tensor that is no leaf; read at `site`."""

    node: int
    site: p.Node


@dataclass(frozen=True, slots=True)
class Super:
    receiver: Value
    owner: Ref


@dataclass(frozen=True, slots=True)
class Scope:
    """A recording scope, entered or not: `effect` is off, inference, on, neutral or muted."""

    effect: str
    call: p.Node | None = None


Value = Union[
    Const,
    Unknown,
    Linear,
    Ref,
    Tuple,
    Closure,
    Bound,
    Library,
    Imported,
    Method,
    Builtin,
    Partial,
    Leaves,
    Gradient,
    Absent,
    Super,
    Scope,
]

NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor object; in-place operations give it another node."""

    node: int


@dataclass(frozen=True, slots=True)
class Module:
    """A network. `cls` is a class of the program (Ref) or a library name; `leaf` holds its own parameters.

    `training` is None while no mode was set. `children` are positional members (Sequential, ModuleList).
    `modal` tells of a library module whether it behaves differently in evaluation, None if that is not known.
    """

    cls: Ref | str
    leaf: int | None
    attributes: dict[str, Value] = field(default_factory=dict)
    children: tuple[Value, ...] = ()
    training: bool | None = True
    hooked: bool = False
    modal: bool | None = False


@dataclass(frozen=True, slots=True)
class Optimizer:
    """`leaves` is None where what it was built with is not known."""

    cls: Ref | str
    leaves: frozenset[int] | None
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class of the program or of a library class with a role (scaler, accelerator ...)."""

    cls: Ref | str
    role: str = ""
    attributes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Class:
    node: p.Class
    frame: int
    bases: tuple[Value, ...]
    attributes: dict[str, Value] = field(default_factory=dict)
    annotated: tuple[str, ...] = ()
    dataclass: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list, set, deque or iterator; `more`: possibly further elements like these; `shuffled`: in an order that is not
    known."""

    kind: str
    items: tuple[Value, ...]
    more: bool = False
    shuffled: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A dict; `more`: possibly further items."""

    items: tuple[tuple[Value, Value], ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Generator:
    """A suspended generator of the program: its function and the frame holding its arguments."""

    function: Closure
    frame: int


@dataclass(frozen=True, slots=True)
class Counter:
    """`range`, `enumerate` or `zip` over values, as an iterable."""

    kind: str
    parts: tuple[Value, ...]


Object = Union[Tensor, Module, Optimizer, Instance, Class, Sequence, Table, Generator, Counter]


def key_of(value: Value) -> Key:
    """Return the structural key of a value, for the keys of unknowns computed from it."""
    if isinstance(value, Unknown):
        return value.key
    return value


def named(key: Key) -> str:
    """Return the name of the attribute, parameter or global that an unknown was read from."""
    match key:
        case ("attr", _, str(name)) | ("name", str(name), *_) | (str(name), int()):
            return name
    return ""


def is_plain(value: Value) -> bool:
    """Tell whether a value means nothing to the tape."""
    return isinstance(value, (Const, Unknown, Linear, Library, Imported, Builtin))
