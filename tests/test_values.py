"""How values travel through Python: whatever way a loss takes, its second backward is met where PyTorch meets it.

Every way binds `again`, from `loss` and `other`, two losses of graphs of their own; then `loss` and `again` are
backpropagated. PyTorch raises if `again` needs the graph of `loss`. adlint must say so where it does, and must not
where it does not; a way that it does not follow is named as a known miss.
"""

from __future__ import annotations

import oracle
import pytest

from adlint.linter import lint
from adlint.source import Source

HEAD = """\
import collections
import copy
import dataclasses
import enum
import functools
import itertools
import operator
import types
import typing

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
data = torch.randn(2, 3)
loss = model(data).pow(2).mean()
other = model(data).pow(2).mean()
"""
TAIL = """
loss.backward()
again.backward()
"""

WAYS = {
    # names
    "alias": "again = loss",
    "alias of another": "again = other",
    "chain": "again = first = loss",
    "chain, last": "first = again = loss",
    "walrus": "print(again := loss)",
    "swap": "a, b = loss, other\na, b = b, a\nagain = b",
    "swap, other": "a, b = loss, other\na, b = b, a\nagain = a",
    "unpacked": "_, again = (other, loss)",
    "nested targets": "(_, (again, _)), _ = (1, (loss, 2)), 3",
    "starred target": "first, *rest = [other, other, loss]\nagain = rest[1]",
    "starred target, head": "*rest, last = [loss, other]\nagain = rest[0]",
    "starred in a list": "rest = [other, *[loss]]\nagain = rest[1]",
    "deleted and bound": "again = loss\ndel again\nagain = other",
    "annotated": "again: torch.Tensor = loss",
    "global": "def give():\n    global again\n    again = loss\ngive()",
    "nonlocal": (
        "def outer():\n"
        "    kept = other\n"
        "    def inner():\n"
        "        nonlocal kept\n"
        "        kept = loss\n"
        "    inner()\n"
        "    return kept\n"
        "again = outer()"
    ),
    "closure": "def outer(value):\n    return lambda: value\nagain = outer(loss)()",
    "late closure": (
        "def outer():\n"
        "    value = other\n"
        "    def inner():\n"
        "        return value\n"
        "    value = loss\n"
        "    return inner()\n"
        "again = outer()"
    ),
    "shadowed": "def give(loss):\n    return loss\nagain = give(other)",
    # expressions
    "ternary": "again = loss if True else other",
    "ternary, other": "again = loss if False else other",
    "or": "again = None or loss",
    "or, first": "again = loss.item() > 9 or loss",
    "and": "again = 1 and loss",
    "and, other": "again = loss is not None and other",
    "comparison chain": "again = loss if 1 < 2 < 3 else other",
    "comparison chain, false": "again = loss if 1 < 2 < 1 else other",
    "in": "again = loss if 2 in (1, 2) else other",
    "not in": "again = loss if 2 not in [1, 2] else other",
    "in a text": "again = loss if 'a' in 'abc' else other",
    "in a dict": "again = loss if 'a' in {'a': 1} else other",
    "is": "again = loss if None is None else other",
    "arithmetic": "again = (other, loss)[3 * 2 - 5]",
    "floor": "again = (other, loss)[3 // 2]",
    "power": "again = (other, loss)[2 ** 0]",
    "remainder": "again = (other, loss)[5 % 2]",
    "negation": "again = (loss, other)[-2]",
    "not": "again = (other, loss)[not False]",
    "comparison of texts": "again = (other, loss)['a' + 'b' == 'ab']",
    "format": "again = {'k1': loss, 'k2': other}[f'k{1}']",
    "format, other": "again = {'k1': loss, 'k2': other}['k{}'.format(2)]",
    "percent": "again = {'k1': loss}['k%d' % 1]",
    "sum of lists": "again = ([other] + [loss])[1]",
    "repeated list": "again = ([loss] * 3)[2]",
    "sum of tuples": "again = ((other,) + (loss,))[1]",
    "lambda": "again = (lambda value: value)(loss)",
    "lambda with default": "again = (lambda value=loss: value)()",
    "addition": "again = (other, loss, other)[0 + 1]",
    "subtraction": "again = (other, loss, other)[3 - 2]",
    "bits": "again = (other, loss, other)[(3 ^ 2) & 3 | 1]",
    "shift": "again = (other, other, loss, other)[1 << 1]",
    "complement": "again = (other, loss, other)[~-2]",
    "in a list": "again = loss if 2 in [1, 2] else other",
    "in a list, not": "again = loss if 3 in [1, 2] else other",
    "less": "again = loss if 1 < 1 else other",
    "at most": "again = loss if 1 <= 1 else other",
    "greater": "again = loss if 2 > 1 else other",
    "at least": "again = loss if 1 >= 2 else other",
    "equal texts": "again = loss if 'a' == 'a' else other",
    "not equal": "again = loss if 1 != 1 else other",
    "cleared dict": "found = {'a': loss}\nfound.clear()\nagain = found.get('a', other)",
    "set by default": "found = {}\nfound.setdefault('a', loss)\nagain = found['a']",
    "isinstance of ours": "class Box:\n    pass\nagain = loss if isinstance(Box(), Box) else other",
    "isinstance of a base": (
        "class Base:\n    pass\nclass Box(Base):\n    pass\nagain = loss if isinstance(Box(), Base) else other"
    ),
    "isinstance of another": (
        "class Box:\n    pass\nclass Bag:\n    pass\nagain = loss if isinstance(Box(), Bag) else other"
    ),
    "isinstance of several": "again = loss if isinstance([], (tuple, list)) else other",
    "sum with a start": "again = sum([other], loss)",
    "dict of a comprehension of pairs": "again = dict((name, loss) for name in 'ab')['b']",
    "extended by a tuple": "many = [other]\nmany.extend((other, loss))\nagain = many[2]",
    "negative item stored": "many = [other, other]\nmany[-1] = loss\nagain = many[1]",
    "list of lists": "many = [[], []]\nmany[1].append(loss)\nagain = many[1][0]",
    "dict of lists": "many = {'a': []}\nmany['a'].append(loss)\nagain = many['a'][-1]",
    "counter": "n = 0\nn += 1\nagain = (other, loss, other)[n]",
    "default that is kept": (
        "def give(value, many=[]):\n    many.append(value)\n    return many\ngive(loss)\nagain = give(other)[0]"
    ),
    "star in the middle": "first, *rest, last = [other, loss, other, other]\nagain = rest[0]",
    # lists
    "list": "again = [loss, other][0]",
    "list, other": "again = [loss, other][1]",
    "append": "many = []\nmany.append(loss)\nagain = many[0]",
    "append, last": "many = [loss]\nmany.append(other)\nagain = many[-1]",
    "extend": "many = [other]\nmany.extend([loss])\nagain = many[1]",
    "insert": "many = [other]\nmany.insert(0, loss)\nagain = many[0]",
    "insert, moved": "many = [other]\nmany.insert(0, loss)\nagain = many[1]",
    "pop": "many = [other, loss]\nagain = many.pop()",
    "pop first": "many = [other, loss]\nagain = many.pop(0)",
    "pop and rest": "many = [loss, other]\nmany.pop()\nagain = many[-1]",
    "reverse": "many = [loss, other]\nmany.reverse()\nagain = many[1]",
    "reverse, other": "many = [loss, other]\nmany.reverse()\nagain = many[0]",
    "copy of a list": "many = [loss]\nagain = many.copy()[0]",
    "clear": "many = [loss]\nmany.clear()\nmany.append(other)\nagain = many[0]",
    "slice": "again = [other, loss, other][1:][0]",
    "slice, head": "again = [other, loss][:1][0]",
    "slice, back": "again = [other, loss][::-1][0]",
    "slice, negative": "again = [other, loss, other][-2:][0]",
    "slice, last left out": "again = [other, loss, other][:-1][-1]",
    "slice, step": "again = [other, other, loss][::2][1]",
    "stored item": "many = [other]\nmany[0] = loss\nagain = many[0]",
    "stored item, other": "many = [loss]\nmany[0] = other\nagain = many[0]",
    "stored slice": "many = [other, other]\nmany[1:] = [loss]\nagain = many[1]",
    "deleted item": "many = [other, loss]\ndel many[0]\nagain = many[0]",
    "augmented list": "many = [other]\nmany += [loss]\nagain = many[1]",
    "alias of a list": "many = [other]\nsame = many\nsame.append(loss)\nagain = many[1]",
    "no alias of a list": "many = [other]\nsame = list(many)\nsame[0] = loss\nagain = many[0]",
    "list of a tuple": "again = list((other, loss))[1]",
    "nested": "again = [[other], [loss]][1][0]",
    "list of dicts": "again = [{'loss': other}, {'loss': loss}][1]['loss']",
    "for over a list": "for again in [other, loss]:\n    pass",
    "for over a list, other": "for again in [loss, other]:\n    pass",
    "remove by identity": "many = [loss, other]\nmany = [one for one in many if one is not loss]\nagain = many[0]",
    # tuples
    "tuple": "again = (other, loss)[1]",
    "tuple of a list": "again = tuple([other, loss])[1]",
    "tuple, negative": "pair = loss, other\nagain = pair[-2]",
    "tuple slice": "again = (other, loss, other)[1:2][0]",
    # dicts
    "dict": "again = {'a': loss, 'b': other}['a']",
    "dict, other": "again = {'a': loss, 'b': other}['b']",
    "dict by words": "again = dict(a=loss)['a']",
    "dict of pairs": "again = dict([('a', loss)])['a']",
    "dict of a dict": "again = dict({'a': other}, a=loss)['a']",
    "get": "again = {'a': loss}.get('a')",
    "get default": "again = {}.get('a', loss)",
    "get, not the default": "again = {'a': other}.get('a', loss)",
    "stored key": "found = {}\nfound['a'] = loss\nagain = found['a']",
    "stored key, replaced": "found = {'a': loss}\nfound['a'] = other\nagain = found['a']",
    "popped key": "found = {'a': loss}\nagain = found.pop('a')",
    "popped key, default": "found = {}\nagain = found.pop('a', loss)",
    "setdefault": "found = {}\nagain = found.setdefault('a', loss)",
    "setdefault, there": "found = {'a': other}\nagain = found.setdefault('a', loss)",
    "update": "found = {'a': other}\nfound.update({'a': loss})\nagain = found['a']",
    "update by words": "found = {'a': other}\nfound.update(a=loss)\nagain = found['a']",
    "merged": "again = ({'a': other} | {'a': loss})['a']",
    "spread": "again = {**{'a': loss}, 'b': other}['a']",
    "spread, replaced": "again = {**{'a': loss}, 'a': other}['a']",
    "deleted key": "found = {'a': loss, 'b': other}\ndel found['a']\nagain = found.get('a', other)",
    "values": "again = list({'a': other, 'b': loss}.values())[1]",
    "items": "for name, again in {'a': other, 'b': loss}.items():\n    pass",
    "keys": "found = {'a': loss}\nagain = found[list(found.keys())[0]]",
    "for over a dict": "found = {'a': other, 'b': loss}\nfor name in found:\n    again = found[name]",
    "unpacked values": "first, again = {'a': other, 'b': loss}.values()",
    "popitem": "again = {'a': loss}.popitem()[1]",
    "copy of a dict": "again = {'a': loss}.copy()['a']",
    "fromkeys": "again = dict.fromkeys(['a', 'b'], loss)['b']",
    "number keys": "again = {1: other, 2: loss}[2]",
    "tuple keys": "again = {(1, 2): loss}[(1, 2)]",
    "ordered dict": "found = collections.OrderedDict()\nfound['a'] = loss\nagain = found['a']",
    "defaultdict": "found = collections.defaultdict(list)\nfound['a'].append(loss)\nagain = found['a'][0]",
    "deque": "many = collections.deque([other])\nmany.append(loss)\nagain = many[-1]",
    "deque, left": "many = collections.deque([other])\nmany.appendleft(loss)\nagain = many.popleft()",
    "nested dicts": "found = {'x': {}}\nfound['x']['y'] = loss\nagain = found['x']['y']",
    # builtins
    "enumerate": "for number, again in enumerate([other, loss]):\n    pass",
    "enumerate, stopped": "for number, one in enumerate([loss, other]):\n    if number == 0:\n        again = one",
    "enumerate from": "for number, one in enumerate([other, loss], 1):\n    if number == 2:\n        again = one",
    "zip": "for again, _ in zip([other, loss], [1, 2]):\n    pass",
    "zip, second": "for _, again in zip([other, loss], [loss, other]):\n    pass",
    "unzip": "again = list(zip(*[(1, other), (2, loss)]))[1][1]",
    "map": "again = list(map(lambda value: value, [other, loss]))[1]",
    "filter": "again = list(filter(lambda value: value is loss, [other, loss]))[0]",
    "reversed": "again = list(reversed([loss, other]))[1]",
    "sorted by a key": "again = sorted([(2, loss), (1, other)], key=lambda pair: pair[0])[1][1]",
    "next": "again = next(iter([loss, other]))",
    "next of a generator": "again = next(one for one in [other, loss] if one is loss)",
    "next default": "again = next(iter([]), loss)",
    "sum of one": "again = sum([loss])",
    "sum": "again = sum([other, loss])",
    "sum of none": "again = sum([], other)",
    "max of numbers": "again = (other, loss)[max(0, 1)]",
    "min of numbers": "again = (other, loss)[min(0, 1)]",
    "abs": "again = (other, loss)[abs(-1)]",
    "len": "again = (other, loss)[len([0])]",
    "range": "for i in range(2):\n    again = (other, loss)[i]",
    "range, back": "for i in range(1, -1, -1):\n    again = (other, loss)[i]",
    "int": "again = (other, loss)[int('1')]",
    "bool": "again = (other, loss)[bool(1)]",
    "isinstance": "again = loss if isinstance(loss, torch.Tensor) else other",
    "isinstance, list": "again = other if isinstance([loss], list) else loss",
    "isinstance, none": "again = other if isinstance(None, torch.Tensor) else loss",
    "callable": "again = loss if callable(model) else other",
    "getattr": "class Box:\n    pass\nbox = Box()\nbox.loss = loss\nagain = getattr(box, 'loss')",
    "getattr default": "class Box:\n    pass\nagain = getattr(Box(), 'loss', loss)",
    "setattr": "class Box:\n    pass\nbox = Box()\nsetattr(box, 'loss', loss)\nagain = box.loss",
    "hasattr": (
        "class Box:\n    pass\nbox = Box()\nbox.loss = loss\nagain = box.loss if hasattr(box, 'loss') else other"
    ),
    "hasattr, not there": "class Box:\n    pass\nagain = loss if hasattr(Box(), 'loss') else other",
    "any": "again = loss if any([0, 1]) else other",
    "all": "again = loss if all([0, 1]) else other",
    "vars": "box = types.SimpleNamespace(loss=loss)\nagain = vars(box)['loss']",
    "id": "again = loss if id(loss) == id(loss) else other",
    "type": "again = loss if type(loss) is torch.Tensor else other",
    "print": "print(loss.item())\nagain = loss",
    "tuple of a map": "first, again = map(lambda value: value, (other, loss))",
    "star of a range": "again = [other, loss][[*range(2)][1]]",
    # comprehensions
    "list comprehension": "again = [one for one in (other, loss)][1]",
    "condition": "again = [one for one in (loss, other) if one is other][0]",
    "dict comprehension": "again = {name: one for name, one in [('a', loss)]}['a']",
    "nested comprehension": "again = [one for part in [[other], [loss]] for one in part][1]",
    "generator": "again = tuple(one for one in (other, loss))[1]",
    "comprehension of calls": "def give(value):\n    return value\nagain = [give(one) for one in (other, loss)][1]",
    "comprehension over range": "again = [(other, loss)[i] for i in range(2)][1]",
    # functions
    "function": "def give(value):\n    return value\nagain = give(loss)",
    "default": "def give(value=loss):\n    return value\nagain = give()",
    "keyword": "def give(*, value):\n    return value\nagain = give(value=loss)",
    "keyword order": "def give(a, b):\n    return b\nagain = give(b=loss, a=other)",
    "star arguments": "def give(*values):\n    return values[1]\nagain = give(other, loss)",
    "star call": "def give(a, b):\n    return b\nagain = give(*[other, loss])",
    "double star arguments": "def give(**values):\n    return values['b']\nagain = give(a=other, b=loss)",
    "double star call": "def give(a, b):\n    return b\nagain = give(**{'a': other, 'b': loss})",
    "positional only": "def give(a, b, /):\n    return b\nagain = give(other, loss)",
    "rest": (
        "def give(first, *rest, last=None):\n    return rest[0] if last is None else last\nagain = give(other, loss)"
    ),
    "rest, keyword": (
        "def give(first, *rest, last=None):\n"
        "    return rest[0] if last is None else last\n"
        "again = give(loss, loss, last=other)"
    ),
    "early return": "def give(flag):\n    if flag:\n        return loss\n    return other\nagain = give(True)",
    "early return, other": (
        "def give(flag):\n    if flag:\n        return loss\n    return other\nagain = give(False)"
    ),
    "two results": "def give():\n    return other, loss\n_, again = give()",
    "dict result": "def give():\n    return {'loss': loss}\nagain = give()['loss']",
    "recursion": "def give(n):\n    return loss if n == 0 else give(n - 1)\nagain = give(1)",
    "function as value": "def give():\n    return loss\ncalls = {'give': give}\nagain = calls['give']()",
    "function as argument": (
        "def call(function, value):\n    return function(value)\nagain = call(lambda value: value, loss)"
    ),
    "mutated argument": "def put(many):\n    many.append(loss)\nmany = []\nput(many)\nagain = many[0]",
    "decorator": (
        "def passing(function):\n"
        "    @functools.wraps(function)\n"
        "    def inner(*args, **kwargs):\n"
        "        return function(*args, **kwargs)\n"
        "    return inner\n"
        "@passing\n"
        "def give(value):\n"
        "    return value\n"
        "again = give(loss)"
    ),
    "decorator with arguments": (
        "def passing(flag):\n"
        "    def wrap(function):\n"
        "        def inner(*args):\n"
        "            return function(*args)\n"
        "        return inner\n"
        "    return wrap\n"
        "@passing(True)\n"
        "def give(value):\n"
        "    return value\n"
        "again = give(loss)"
    ),
    "cached": "@functools.lru_cache(None)\ndef give():\n    return loss\nagain = give()",
    "partial": "def give(a, b):\n    return b\nagain = functools.partial(give, other)(loss)",
    "partial keyword": "def give(a, b):\n    return b\nagain = functools.partial(give, b=loss)(other)",
    "reduce": "again = functools.reduce(lambda a, b: a + b, [other, loss])",
    "yielded": "def give():\n    yield other\n    yield loss\nagain = list(give())[1]",
    "yielded in a loop": (
        "def give():\n    for one in (other, loss):\n        yield one\nfor again in give():\n    pass"
    ),
    "yield from": "def give():\n    yield from [other, loss]\nagain = list(give())[1]",
    "attribute of a function": "def give():\n    return give.value\ngive.value = loss\nagain = give()",
    # control flow
    "if": "if len([1]) == 1:\n    again = loss\nelse:\n    again = other",
    "elif": (
        "mode = 'b'\nif mode == 'a':\n    again = other\nelif mode == 'b':\n    again = loss\nelse:\n    again = other"
    ),
    "while": "n = 0\nwhile n < 2:\n    again = (other, loss)[n]\n    n += 1",
    "while, broken": "while True:\n    again = loss\n    break",
    "for else": "for one in [other]:\n    pass\nelse:\n    again = loss",
    "break": "for again in [loss, other]:\n    break",
    "continue": "for one in [loss, None]:\n    if one is None:\n        continue\n    again = one",
    "try": "try:\n    again = loss\nexcept ValueError:\n    again = other",
    "except": "try:\n    raise ValueError\nexcept ValueError:\n    again = loss",
    "finally": "try:\n    pass\nfinally:\n    again = loss",
    "try else": "try:\n    pass\nexcept ValueError:\n    again = other\nelse:\n    again = loss",
    # exceptions of the program's own
    "own exception": (
        "class Found(Exception):\n"
        "    pass\n"
        "def look(deep):\n"
        "    if len(deep) > 1:\n"
        "        raise Found\n"
        "try:\n"
        "    look([1, 2])\n"
        "    again = other\n"
        "except Found:\n"
        "    again = loss"
    ),
    "own exception, not raised": (
        "class Found(Exception):\n"
        "    pass\n"
        "def look(deep):\n"
        "    if len(deep) > 1:\n"
        "        raise Found\n"
        "try:\n"
        "    look([1])\n"
        "    again = loss\n"
        "except Found:\n"
        "    again = other"
    ),
    "own exception, what was done before it": (
        "class Found(Exception):\n"
        "    pass\n"
        "held = [other]\n"
        "def look():\n"
        "    held[0] = loss\n"
        "    raise Found()\n"
        "try:\n"
        "    look()\n"
        "except Found:\n"
        "    again = held[0]"
    ),
    "own exception, undone before it": (
        "class Found(Exception):\n"
        "    pass\n"
        "held = [loss]\n"
        "def look():\n"
        "    held[0] = other\n"
        "    raise Found()\n"
        "try:\n"
        "    look()\n"
        "except Found:\n"
        "    again = held[0]"
    ),
    "own exception, by its base": (
        "class Base(Exception):\n"
        "    pass\n"
        "class Found(Base):\n"
        "    pass\n"
        "try:\n"
        "    raise Found('here')\n"
        "except (Base, KeyError):\n"
        "    again = loss"
    ),
    "own exception, of two handlers": (
        "class Found(Exception):\n"
        "    pass\n"
        "class Lost(Exception):\n"
        "    pass\n"
        "try:\n"
        "    raise Found\n"
        "except Lost:\n"
        "    again = loss\n"
        "except Found:\n"
        "    again = other"
    ),
    "own exception, of two in one": (
        "class Found(Exception):\n"
        "    pass\n"
        "class Lost(Exception):\n"
        "    pass\n"
        "try:\n"
        "    raise Found\n"
        "except (Lost, Found):\n"
        "    again = loss"
    ),
    "own exception, caught further out": (
        "class Found(Exception):\n"
        "    pass\n"
        "class Lost(Exception):\n"
        "    pass\n"
        "def look():\n"
        "    try:\n"
        "        raise Found\n"
        "    except Lost:\n"
        "        return other\n"
        "try:\n"
        "    again = look()\n"
        "except Found:\n"
        "    again = loss"
    ),
    "own exception, in a generator": (
        "class Found(Exception):\n"
        "    pass\n"
        "def each():\n"
        "    yield 1\n"
        "    raise Found\n"
        "again = other\n"
        "try:\n"
        "    for _ in each():\n"
        "        pass\n"
        "except Found:\n"
        "    again = loss"
    ),
    "own exception, raised again": (
        "class Found(Exception):\n"
        "    pass\n"
        "try:\n"
        "    try:\n"
        "        raise Found\n"
        "    except Found as found:\n"
        "        raise found\n"
        "except Found:\n"
        "    again = loss"
    ),
    "own exception, with a value": (
        "class Found(Exception):\n"
        "    pass\n"
        "try:\n"
        "    raise Found(loss)\n"
        "except Found as found:\n"
        "    again = found.args[0]"
    ),
    "with": "with __import__('contextlib').nullcontext(loss) as again:\n    pass",
    "match": "match 2:\n    case 1:\n        again = other\n    case 2:\n        again = loss",
    "match, name": "match (other, loss):\n    case (_, again):\n        pass",
    "assert": "again = loss\nassert again is not None",
    "pass": "pass\nagain = loss",
    # classes
    "attribute": "class Box:\n    def __init__(self, loss):\n        self.loss = loss\nagain = Box(loss).loss",
    "attribute, replaced": (
        "class Box:\n"
        "    def __init__(self, loss):\n"
        "        self.loss = loss\n"
        "box = Box(loss)\n"
        "box.loss = other\n"
        "again = box.loss"
    ),
    "method": (
        "class Box:\n"
        "    def __init__(self, loss):\n"
        "        self.loss = loss\n"
        "    def give(self):\n"
        "        return self.loss\n"
        "again = Box(loss).give()"
    ),
    "class attribute": "class Box:\n    held = loss\nagain = Box.held",
    "class attribute by instance": "class Box:\n    held = loss\nagain = Box().held",
    "class attribute, hidden": (
        "class Box:\n    held = loss\n    def __init__(self):\n        self.held = other\nagain = Box().held"
    ),
    "property": (
        "class Box:\n"
        "    def __init__(self):\n"
        "        self._loss = loss\n"
        "    @property\n"
        "    def loss(self):\n"
        "        return self._loss\n"
        "again = Box().loss"
    ),
    "property setter": (
        "class Box:\n"
        "    @property\n"
        "    def loss(self):\n"
        "        return self._loss\n"
        "    @loss.setter\n"
        "    def loss(self, value):\n"
        "        self._loss = value\n"
        "box = Box()\n"
        "box.loss = loss\n"
        "again = box.loss"
    ),
    "cached property": (
        "class Box:\n    @functools.cached_property\n    def loss(self):\n        return loss\nagain = Box().loss"
    ),
    "static method": (
        "class Box:\n    @staticmethod\n    def give(value):\n        return value\nagain = Box.give(loss)"
    ),
    "class method": (
        "class Box:\n    held = loss\n    @classmethod\n    def give(cls):\n        return cls.held\nagain = Box.give()"
    ),
    "alternative constructor": (
        "class Box:\n"
        "    def __init__(self, loss):\n"
        "        self.loss = loss\n"
        "    @classmethod\n"
        "    def of(cls, loss):\n"
        "        return cls(loss)\n"
        "again = Box.of(loss).loss"
    ),
    "inherited": (
        "class Base:\n    def give(self):\n        return loss\nclass Box(Base):\n    pass\nagain = Box().give()"
    ),
    "overridden": (
        "class Base:\n"
        "    def give(self):\n"
        "        return loss\n"
        "class Box(Base):\n"
        "    def give(self):\n"
        "        return other\n"
        "again = Box().give()"
    ),
    "super": (
        "class Base:\n"
        "    def __init__(self, loss):\n"
        "        self.loss = loss\n"
        "class Box(Base):\n"
        "    def __init__(self, loss):\n"
        "        super().__init__(loss)\n"
        "again = Box(loss).loss"
    ),
    "super method": (
        "class Base:\n"
        "    def give(self):\n"
        "        return loss\n"
        "class Box(Base):\n"
        "    def give(self):\n"
        "        return super().give()\n"
        "again = Box().give()"
    ),
    "base by name": (
        "class Base:\n"
        "    def give(self):\n"
        "        return loss\n"
        "class Box(Base):\n"
        "    def give(self):\n"
        "        return Base.give(self)\n"
        "again = Box().give()"
    ),
    "template method": (
        "class Base:\n"
        "    def run(self):\n"
        "        return self.give()\n"
        "class Box(Base):\n"
        "    def give(self):\n"
        "        return loss\n"
        "again = Box().run()"
    ),
    "call": "class Box:\n    def __call__(self, value):\n        return value\nagain = Box()(loss)",
    "getitem": "class Box:\n    def __getitem__(self, index):\n        return loss\nagain = Box()[0]",
    "iter": "class Box:\n    def __iter__(self):\n        return iter([other, loss])\nfor again in Box():\n    pass",
    "len of ours": "class Box:\n    def __len__(self):\n        return 1\nagain = (other, loss)[len(Box())]",
    "getattr of ours": "class Box:\n    def __getattr__(self, name):\n        return loss\nagain = Box().anything",
    "context of ours": (
        "class Box:\n"
        "    def __enter__(self):\n"
        "        return loss\n"
        "    def __exit__(self, *args):\n"
        "        return False\n"
        "with Box() as again:\n"
        "    pass"
    ),
    "add of ours": "class Box:\n    def __add__(self, value):\n        return value\nagain = Box() + loss",
    "bound method": "class Box:\n    def give(self):\n        return loss\ngive = Box().give\nagain = give()",
    "fluent": (
        "class Box:\n"
        "    def put(self, loss):\n"
        "        self.loss = loss\n"
        "        return self\n"
        "again = Box().put(loss).loss"
    ),
    "two instances": (
        "class Box:\n"
        "    def __init__(self, loss):\n"
        "        self.loss = loss\n"
        "first, second = Box(loss), Box(other)\n"
        "again = second.loss"
    ),
    "alias of an instance": (
        "class Box:\n    loss = None\nbox = Box()\nsame = box\nsame.loss = loss\nagain = box.loss"
    ),
    "dataclass": (
        "@dataclasses.dataclass\n"
        "class Box:\n"
        "    first: object\n"
        "    second: object = None\n"
        "again = Box(other, loss).second"
    ),
    "dataclass, keyword": (
        "@dataclasses.dataclass\n"
        "class Box:\n"
        "    first: object\n"
        "    second: object = None\n"
        "again = Box(second=other, first=loss).first"
    ),
    "dataclass, replaced": (
        "@dataclasses.dataclass\nclass Box:\n    loss: object\nagain = dataclasses.replace(Box(other), loss=loss).loss"
    ),
    "dataclass factory": (
        "@dataclasses.dataclass\n"
        "class Box:\n"
        "    many: list = dataclasses.field(default_factory=list)\n"
        "box = Box()\n"
        "box.many.append(loss)\n"
        "again = box.many[0]"
    ),
    "named tuple": "Pair = collections.namedtuple('Pair', ['a', 'b'])\nagain = Pair(other, loss).b",
    "named tuple, index": "Pair = collections.namedtuple('Pair', 'a b')\nagain = Pair(other, loss)[1]",
    "named tuple, unpacked": "Pair = collections.namedtuple('Pair', 'a b')\n_, again = Pair(other, loss)",
    "typed tuple": "class Pair(typing.NamedTuple):\n    a: object\n    b: object\nagain = Pair(other, loss).b",
    "typed dict": "class Found(typing.TypedDict):\n    loss: object\nagain = Found(loss=loss)['loss']",
    "namespace": "again = types.SimpleNamespace(loss=loss).loss",
    "enum": "class Mode(enum.Enum):\n    A = 1\n    B = 2\nmode = Mode.A\nagain = loss if mode == Mode.A else other",
    "enum, other": (
        "class Mode(enum.Enum):\n    A = 1\n    B = 2\nmode = Mode.B\nagain = loss if mode is Mode.A else other"
    ),
    "slots": (
        "class Box:\n    __slots__ = ('loss',)\n    def __init__(self):\n        self.loss = loss\nagain = Box().loss"
    ),
    "module attribute": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(3, 1)\n"
        "    def forward(self, x):\n"
        "        self.kept = loss\n"
        "        return self.layer(x)\n"
        "net = Net()\n"
        "net(data)\n"
        "again = net.kept"
    ),
    "class built by type": "Box = type('Box', (), {'loss': loss})\nagain = Box.loss",
    "multiple inheritance": (
        "class A:\n"
        "    def give(self):\n"
        "        return loss\n"
        "class B:\n"
        "    def give(self):\n"
        "        return other\n"
        "class C(A, B):\n"
        "    pass\n"
        "again = C().give()"
    ),
    "nested class": "class Box:\n    class Inner:\n        held = loss\nagain = Box.Inner.held",
    # copies and tensors
    "copy.copy of a list": "again = copy.copy([loss])[0]",
    "copy.copy of an instance": "class Box:\n    pass\nbox = Box()\nbox.loss = loss\nagain = copy.copy(box).loss",
    "itemgetter": "again = operator.itemgetter(1)([other, loss])",
    "attrgetter": "again = operator.attrgetter('loss')(types.SimpleNamespace(loss=loss))",
    "chained lists": "again = list(itertools.chain([other], [loss]))[1]",
    "islice": "again = list(itertools.islice([other, loss], 1, 2))[0]",
    "cycle": "again = next(itertools.cycle([loss, other]))",
    "repeat": "again = next(itertools.repeat(loss))",
    "product": "for _, again in itertools.product([1], [other, loss]):\n    pass",
    "clone": "again = loss.clone()",
    "doubled": "again = loss * 2",
    "added": "again = loss + other",
    "in place": "again = other.clone()\nagain += loss",
    "stacked": "again = torch.stack([other, loss]).sum()",
    "stacked, own": "again = torch.stack([other, other]).sum()",
    "item of a stack": "again = torch.stack([other, loss])[0]",
    "where": "again = torch.where(torch.tensor(True), loss, other)",
    "view": "again = loss.view(1).squeeze()",
    "to": "again = loss.to('cpu')",
    "float": "again = loss.float()",
    "double": "again = loss.double()",
    "detached": "again = (loss.detach() + other)",
    "item": "again = other * loss.item()",
    "new forward": "again = model(data).pow(2).mean()",
    "reshape": "again = loss.reshape(1)[0]",
    "unbind": "again = torch.stack([other, loss]).unbind()[0]",
    "functions of torch": "again = torch.add(other, loss)",
    "negative": "again = -loss",
    "absolute": "again = abs(loss)",
    "maximum": "again = torch.maximum(other, loss)",
    "sum by method": "again = other.add(loss)",
    "sum of a generator": "again = sum(one for one in [other, loss])",
    "sum of values": "again = sum({'a': other, 'b': loss}.values())",
    "mean of a stack": "again = torch.mean(torch.stack([other, loss]))",
    "weighted": (
        "weights = {'a': 0.5, 'b': 2.0}\n"
        "again = sum(weights[name] * one for name, one in {'a': other, 'b': loss}.items())"
    ),
    "module list": "nets = nn.ModuleList([model])\nagain = nets[0](data).sum()",
    "logged": "log = []\nlog.append(loss.item())\nagain = other * log[0]",
    "last of many": "many = []\nfor one in (other, loss):\n    many.append(one)\nagain = many[-1]",
    "total": "again = 0\nfor one in (other, loss):\n    again = again + one",
    "total, augmented": "again = 0\nfor one in (other, loss):\n    again += one",
    "total of others": "again = 0\nfor one in (other, other):\n    again += one",
}

MISSES = {
    "own exception, with a value": "what an exception carries is not followed",
    **dict.fromkeys(
        ["try", "try else", "own exception, not raised", "own exception, caught further out"],
        "it may raise before the name is bound",
    ),
    **dict.fromkeys(
        ["match", "match, name"],
        "patterns are not compared with what is known",
    ),
    **dict.fromkeys(
        ["while"],
        "a number of turns that a condition decides",
    ),
    **dict.fromkeys(
        ["or, first"],
        "a number read from a tensor decides",
    ),
    **dict.fromkeys(
        ["not", "comparison of texts", "format", "max of numbers", "abs", "bool", "len of ours", "id", "type"],
        "numbers and texts are folded in simple cases only",
    ),
    **dict.fromkeys(
        [
            "merged",
            "popitem",
            "fromkeys",
            "deque, left",
            "filter",
            "sorted by a key",
            "next default",
            "stored slice",
            "with",
            "vars",
            "property setter",
            "iter",
            "dataclass, replaced",
            "dataclass factory",
            "typed dict",
            "namespace",
            "class built by type",
            "copy.copy of a list",
            "itemgetter",
            "attrgetter",
            "islice",
            "repeat",
            "product",
        ],
        "this part of Python is not followed: its result is unknown",
    ),
}
"""Ways that adlint does not follow, and why: it stays silent."""


def program(code: str) -> str:
    return HEAD + code + TAIL


def raises(text: str) -> bool:
    """Tell whether PyTorch refuses the second backward."""
    try:
        oracle.names_after(text)
    except RuntimeError as problem:
        refusal = str(problem)
    else:
        return False
    assert "a second time" in refusal
    return True


def reported(text: str) -> bool:
    """Tell whether the second backward, and nothing else, is reported."""
    found = [(one.span.start.line, one.name) for one in lint(Source("program.py", text))]
    last = text.count("\n")
    graphs = [one for one in found if one[1] in ("double-backward", "shared-backward")]
    assert graphs == found
    assert {line for line, _ in graphs} <= {last}
    return bool(graphs)


@pytest.mark.parametrize("way", WAYS)
def test_ways(way: str) -> None:
    """Reported if and only if PyTorch raises; a known miss is silent."""
    pytest.importorskip("torch")
    text = program(WAYS[way])
    wrong, found = raises(text), reported(text)
    if way in MISSES:
        assert wrong, "nothing to miss"
        assert not found, "no longer missed"
    else:
        assert found is wrong


@pytest.mark.parametrize("way", WAYS)
def test_ways_in_a_function(way: str) -> None:
    """Where the losses are made in a function, the same is found."""
    pytest.importorskip("torch")
    head, body = HEAD.split("loss = ", 1)
    lines = f"loss = {body}{WAYS[way]}{TAIL}".replace("global again", "nonlocal again")
    indented = "\n".join(f"    {line}" if line else "" for line in lines.split("\n")[:-1])
    text = f"{head}def train(model, data):\n    again = None\n{indented}\ntrain(model, data)\n"
    found = [one for one in lint(Source("program.py", text)) if one.name in ("double-backward", "shared-backward")]
    assert bool(found) is (raises(text) and way not in MISSES)
