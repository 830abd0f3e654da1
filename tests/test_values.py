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
    # what can be gone through once
    "zip, used up": "many = zip([loss], [1])\nlist(many)\nagain = other\nfor again, _ in many:\n    pass",
    "zip, in a loop": "for again, _ in zip([loss], [1]):\n    pass",
    "zip, in the second of two loops": (
        "many = zip([loss, other], [1, 2])\nfor _ in many:\n    break\nfor again, _ in many:\n    pass"
    ),
    "enumerate, used up": (
        "many = enumerate([loss])\nfor _ in many:\n    pass\nagain = other\nfor _, again in many:\n    pass"
    ),
    "range, twice": "many = range(1)\nlist(many)\nfor number in many:\n    again = loss",
    # lists that a loop of known length fills
    "one turn, appended": (
        "many = []\nfor one in (loss,):\n    many.append(one)\nagain = other\nfor one in many[1:]:\n    again = one"
    ),
    "two turns, the last": "many = []\nfor one in (other, loss):\n    many.append(one)\nagain = many[-1]",
    "zip of a starred argument": "pairs = [(loss, other)]\nagain = list(zip(*pairs))[1][0]",
    # names that a star import hides
    "star, sum of torch": "from torch import *\nagain = sum(stack([loss, other]))",
    "star, max of torch": "from torch import *\nagain = max(other, other * 2)",
    "star, still Python's": "from torch import *\nagain = list(reversed([loss, other]))[1]",
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
    # lists and iterators, element by element
    "insert in the middle": "many = [other, other]\nmany.insert(1, loss)\nagain = many[1]",
    "insert at the end": "many = [other]\nmany.insert(1, loss)\nagain = many[0]",
    "insert, negative": "many = [loss, other]\nmany.insert(-1, other)\nagain = many[0]",
    "pop in the middle": "many = [loss, other, loss]\nagain = many.pop(1)",
    "pop in the middle, rest": "many = [other, loss, other]\nmany.pop(1)\nagain = many[1]",
    "pop last by number": "many = [other, loss]\nagain = many.pop(-1)",
    "deque, left, last": "many = collections.deque([other])\nmany.appendleft(loss)\nagain = many[-1]",
    "deque, left, first": "many = collections.deque([loss])\nmany.appendleft(other)\nagain = many[0]",
    "sorted by a key, first": "again = sorted([(2, loss), (1, other)], key=lambda pair: pair[0])[0][1]",
    "sorted, reverse": "again = sorted([(1, loss), (2, other)], key=lambda pair: pair[0], reverse=True)[0][1]",
    "sort by a key": "many = [(1, other), (2, loss)]\nmany.sort(key=lambda pair: pair[0])\nagain = many[0][1]",
    "sorted numbers": "again = [other, loss, other][sorted([2, 1])[0]]",
    "filter, other": "again = list(filter(lambda value: value is other, [loss, other]))[0]",
    "filter of none": "again = list(filter(None, [0, 1]))[0] and other",
    "next, twice": "many = iter([loss, other])\nnext(many)\nagain = next(many)",
    "next, second": "many = iter([other, loss])\nnext(many)\nagain = next(many)",
    "remove": "many = [1, loss]\nmany.remove(1)\nagain = many[0]",
    "remove, other": "many = [1, loss, other]\nmany.remove(1)\nagain = many[1]",
    "long list": "for again in [other, other, other, other, other, loss, other]:\n    pass",
    "long list, last": "for again in [other, other, other, other, other, other, loss]:\n    pass",
    "range of four": "for i in range(4):\n    again = [loss, other, loss, other][i]",
    "range of four, loss": "for i in range(4):\n    again = [other, other, other, loss][i]",
    "zip of unequal": "for again, _ in zip([other, loss], [1]):\n    pass",
    "map of two": "again = list(map(lambda a, b: b, [loss], [other]))[0]",
    "map of two, loss": "again = list(map(lambda a, b: b, [other], [loss]))[0]",
    "max of lists by key": "again = max([(2, other), (1, loss)], key=lambda p: p[0])[1]",
    "min of lists by key": "again = min([(2, other), (1, loss)], key=lambda p: p[0])[1]",
    "deque rotate": "many = collections.deque([loss, other])\nmany.rotate(1)\nagain = many[0]",
    "deque maxlen": "many = collections.deque([loss], maxlen=1)\nmany.append(other)\nagain = many[0]",
    "deque extendleft": "many = collections.deque([loss])\nmany.extendleft([other])\nagain = many[0]",
    "repeat list, other": "again = ([loss, other] * 2)[3]",
    "repeat list, number": "again = (2 * [loss, other])[1]",
    "repeat list, index 2": "again = (2 * [loss, other])[2]",
    "repeat tuple": "again = ((loss, other) * 2)[3]",
    "islice, other": "again = list(itertools.islice([loss, other], 1, 2))[0]",
    "chain, other": "again = list(itertools.chain([loss], [other]))[1]",
    "cycle, second": "many = itertools.cycle([loss, other])\nnext(many)\nagain = next(many)",
    "stored slice, other": "many = [loss, loss]\nmany[:] = [other]\nagain = many[0]",
    "stored slice, part": "many = [loss, other, other]\nmany[0:1] = [other]\nagain = many[0]",
    "stored slice, empty": "many = [loss]\nmany[:] = []\nmany.append(other)\nagain = many[0]",
    "deleted slice": "many = [loss, other]\ndel many[:1]\nagain = many[0]",
    "dict popped in order": "found = {'a': loss, 'b': other}\nfor name in list(found):\n    again = found.pop(name)",
    "dict replaced order": "found = {'a': loss, 'b': other}\nfound['a'] = loss\nagain = list(found.values())[-1]",
    "dict update of pairs": "found = {'a': loss}\nfound.update([('a', other)])\nagain = found['a']",
    "dict replaced order 2": "found = {'a': other, 'b': loss}\nfound['a'] = other\nagain = list(found.values())[-1]",
    "list of dict keys": "again = {0: other, 1: loss}[list({1: 0})[0]]",
    "any of losses": "again = loss if any(v is None for v in (loss, other)) else other",
    "next of a generator, 2": "many = (one for one in [loss, other])\nnext(many)\nagain = next(many)",
    "list twice of an iterator": "many = iter([loss])\nlist(many)\nagain = (list(many) + [other])[0]",
    "map used up": "many = map(lambda v: v, [loss])\nlist(many)\nagain = other\nfor again in many:\n    pass",
    "reverse used": "many = [loss, other]\nmany = many[::-1]\nagain = many[0]",
    "unpack generator": "def give():\n    yield other\n    yield loss\n_, again = give()",
    "unpack generator other": "def give():\n    yield loss\n    yield other\n_, again = give()",
    "unpack generator cond": (
        "def give(flag):\n    if flag:\n        yield loss\n    yield other\n    yield other\n_, again, _ = give(True)"
    ),
    "yield in loop 2": "def give():\n    for one in (loss, other):\n        yield one\n_, again = give()",
    # classes, keys and functions as Python has them
    "key by min": "again = {'a': other, 'b': loss}[min('ab')]",
    "getattr default with getattr of ours": (
        "class Box:\n    def __getattr__(self, name):\n        return other\nagain = getattr(Box(), 'loss', loss)"
    ),
    "hasattr with getattr of ours": (
        "class Box:\n"
        "    def __getattr__(self, name):\n"
        "        return other\n"
        "again = other if hasattr(Box(), 'loss') else loss"
    ),
    "setattr by unknown name": (
        "class Box:\n    pass\nbox = Box()\nbox.loss = loss\nsetattr(box, 'lo' + 'ss', other)\nagain = box.loss"
    ),
    "deleted attribute": "class Box:\n    loss = other\nbox = Box()\nbox.loss = loss\ndel box.loss\nagain = box.loss",
    "delattr": "class Box:\n    loss = other\nbox = Box()\nbox.loss = loss\ndelattr(box, 'loss')\nagain = box.loss",
    "dict of an instance": (
        "class Box:\n    pass\nbox = Box()\nbox.loss = loss\nbox.__dict__['loss'] = other\nagain = box.loss"
    ),
    "dict of an instance, updated": (
        "class Box:\n    pass\nbox = Box()\nbox.loss = loss\nbox.__dict__.update(loss=other)\nagain = box.loss"
    ),
    "vars of an instance, stored": (
        "class Box:\n    pass\nbox = Box()\nbox.loss = loss\nvars(box)['loss'] = other\nagain = box.loss"
    ),
    "property setter, hidden": (
        "class Box:\n"
        "    def __init__(self):\n"
        "        self._loss = loss\n"
        "    @property\n"
        "    def loss(self):\n"
        "        return self._loss\n"
        "    @loss.setter\n"
        "    def loss(self, value):\n"
        "        self._loss = value\n"
        "box = Box()\n"
        "box.loss = other\n"
        "again = box._loss"
    ),
    "property setter, replaced": (
        "class Box:\n"
        "    def __init__(self):\n"
        "        self._loss = loss\n"
        "    @property\n"
        "    def loss(self):\n"
        "        return self._loss\n"
        "    @loss.setter\n"
        "    def loss(self, value):\n"
        "        self._loss = value\n"
        "box = Box()\n"
        "box.loss = other\n"
        "again = box.loss"
    ),
    "setattr of ours": (
        "class Box:\n"
        "    def __setattr__(self, name, value):\n"
        "        object.__setattr__(self, name, other)\n"
        "box = Box()\n"
        "box.loss = loss\n"
        "again = box.loss"
    ),
    "bool of ours": "class Box:\n    def __bool__(self):\n        return False\nagain = loss if Box() else other",
    "len of ours as truth": "class Box:\n    def __len__(self):\n        return 0\nagain = loss if Box() else other",
    "eq of ours, same": (
        "class Box:\n"
        "    def __eq__(self, value):\n"
        "        return False\n"
        "box = Box()\n"
        "again = loss if box == box else other"
    ),
    "decorated class": (
        "def change(cls):\n    cls.held = other\n    return cls\n@change\nclass Box:\n    held = loss\nagain = Box.held"
    ),
    "diamond": (
        "class Base:\n"
        "    def give(self):\n"
        "        return loss\n"
        "class A(Base):\n"
        "    pass\n"
        "class B(Base):\n"
        "    def give(self):\n"
        "        return other\n"
        "class C(A, B):\n"
        "    pass\n"
        "again = C().give()"
    ),
    "diamond, super": (
        "class Base:\n"
        "    def give(self):\n"
        "        return loss\n"
        "class A(Base):\n"
        "    def give(self):\n"
        "        return super().give()\n"
        "class B(Base):\n"
        "    def give(self):\n"
        "        return other\n"
        "class C(A, B):\n"
        "    pass\n"
        "again = C().give()"
    ),
    "class method by instance": (
        "class Base:\n"
        "    held = loss\n"
        "    @classmethod\n"
        "    def give(cls):\n"
        "        return cls.held\n"
        "class Box(Base):\n"
        "    held = other\n"
        "again = Box().give()"
    ),
    "class method of a base": (
        "class Base:\n"
        "    held = loss\n"
        "    @classmethod\n"
        "    def give(cls):\n"
        "        return cls.held\n"
        "class Box(Base):\n"
        "    held = other\n"
        "again = Box.give()"
    ),
    "match, other": "match 1:\n    case 1:\n        again = other\n    case 2:\n        again = loss",
    "match, rest": "match 3:\n    case 1:\n        again = loss\n    case _:\n        again = other",
    "match of a text": "match 'val':\n    case 'train':\n        again = loss\n    case 'val':\n        again = other",
    "finally returns": "def give():\n    try:\n        return loss\n    finally:\n        return other\nagain = give()",
    "late lambda": "many = [lambda: one for one in (loss, other)]\nagain = many[0]()",
    "late lambda in a loop": "many = []\nfor one in (loss, other):\n    many.append(lambda: one)\nagain = many[0]()",
    "early lambda": "many = []\nfor one in (other, loss):\n    many.append(lambda one=one: one)\nagain = many[0]()",
    "early lambda, loss": (
        "many = []\nfor one in (other, loss):\n    many.append(lambda one=one: one)\nagain = many[1]()"
    ),
    "format keys": "found = {}\nfound[f'k{0}'] = other\nfound[f'k{1}'] = loss\nagain = found[f'k{0}']",
    "format keys, loss": "found = {}\nfound[f'k{0}'] = loss\nfound[f'k{1}'] = other\nagain = found[f'k{0}']",
    "format keys, spec": "found = {f'{1:02d}': other, f'{2:02d}': loss}\nagain = found['01']",
    "equal numbers": "again = other if 1 in (1.0, 2.0) else loss",
    "true is one": "again = {True: other}.get(1, loss)",
    "lists equal": "again = loss if [1] == [2] else other",
    "lists equal, same": "again = other if [1] == [1] else loss",
    "tuples equal": "again = loss if (1, 2) == (1, 3) else other",
    "starts with": "again = loss if 'abc'.startswith('b') else other",
    "len of a text": "again = loss if len('ab') > 2 else other",
    "isinstance, text": "again = loss if isinstance('a', int) else other",
    "isinstance, bool": "again = other if isinstance(True, int) else loss",
    "isinstance, number": "again = loss if isinstance(1.0, int) else other",
    "any of numbers": "again = loss if any(n > 2 for n in (1, 2)) else other",
    "sorted of texts": "again = loss if sorted(['b', 'a'])[0] == 'b' else other",
    "set of equal": "again = loss if len({1, 1}) == 2 else other",
    "count": "again = loss if [1, 2].count(1) == 2 else other",
    "index": "again = loss if [1, 2].index(2) == 0 else other",
    "none or text": "again = loss if (None or 'a') == 'b' else other",
    "enum value": "class Mode(enum.Enum):\n    A = 1\nagain = loss if Mode.A.value == 2 else other",
    "dataclass post init": (
        "@dataclasses.dataclass\n"
        "class Box:\n"
        "    held: object\n"
        "    def __post_init__(self):\n"
        "        self.held = other\n"
        "again = Box(loss).held"
    ),
    "send": "def give():\n    value = yield other\n    yield value\nmany = give()\nnext(many)\nagain = many.send(loss)",
    "yield from result": (
        "def inner():\n"
        "    yield 1\n"
        "    return loss\n"
        "def give():\n"
        "    value = yield from inner()\n"
        "    yield value\n"
        "again = list(give())[1]"
    ),
    "nested break": "for a in (1, 2):\n    for again in (loss, other):\n        pass\n    break",
    "nonlocal, two levels": (
        "def outer():\n"
        "    kept = loss\n"
        "    def middle():\n"
        "        def inner():\n"
        "            nonlocal kept\n"
        "            kept = other\n"
        "        inner()\n"
        "    middle()\n"
        "    return kept\n"
        "again = outer()"
    ),
    "nonlocal read": (
        "def outer():\n"
        "    kept = other\n"
        "    def inner():\n"
        "        nonlocal kept\n"
        "        value = kept\n"
        "        kept = loss\n"
        "        return value\n"
        "    return inner()\n"
        "again = outer()"
    ),
    "nonlocal, read two levels": (
        "def outer():\n"
        "    kept = loss\n"
        "    def middle():\n"
        "        def inner():\n"
        "            nonlocal kept\n"
        "            return kept\n"
        "        return inner()\n"
        "    return middle()\n"
        "again = outer()"
    ),
    # what is known of numbers, types and attributes
    "star of a range that is not known": "again = loss if len([*range(len(str(model)))]) < 0 else other",
    "range without a step": (
        "try:\n    for again in range(1, 2, 0):\n        pass\nexcept ValueError:\n    again = loss"
    ),
    "many numbers": "again = 0\nfor n in [1, 2, 3, 4, 5, 6, 7]:\n    again = again + n * other",
    "in by identity": "again = other if loss in [loss] else loss",
    "in, of lists": "again = other if [1] in [[2], [1]] else loss",
    "weights indexed": "again = model[0].weight[0].sum()",
    "stored in what is not known": (
        "found = __import__('json').loads('{}')\nfound['loss'] = loss\nagain = found['loss']"
    ),
    "stored in what is not known, other": (
        "found = __import__('json').loads('{}')\nfound['loss'] = other\nagain = found['loss']"
    ),
    "slice that is not known": "n = len(str(model)) - len(str(model))\nagain = [loss, other][n:][0]",
    "slice that is not known, other": "n = len(str(model)) - len(str(model)) + 1\nagain = [loss, other][n:][0]",
    "item of nothing": "try:\n    again = [][0]\nexcept IndexError:\n    again = loss",
    "item of plain ones": "n = len(str(model)) - len(str(model))\nagain = loss if [1, 2][n] == 2 else other",
    "item of one": "n = len(str(model)) - len(str(model))\nagain = [loss][n]",
    "key that is not there": "try:\n    again = {'a': loss}['b']\nexcept KeyError:\n    again = other",
    "setitem of ours": (
        "class Box:\n"
        "    def __setitem__(self, key, value):\n"
        "        self.held = value\n"
        "box = Box()\n"
        "box[0] = loss\n"
        "again = box.held"
    ),
    "setitem of ours, other": (
        "class Box:\n"
        "    held = loss\n"
        "    def __setitem__(self, key, value):\n"
        "        self.held = value\n"
        "box = Box()\n"
        "box[0] = other\n"
        "again = box.held"
    ),
    "module dict": "nets = nn.ModuleDict({'a': model})\nnets['a'] = nn.Linear(3, 1)\nagain = nets['a'](data).sum()",
    "module dict, by name": "nets = nn.ModuleDict({'a': model, 'b': nn.Linear(3, 1)})\nagain = nets['b'](data).sum()",
    "module list, stored": "nets = nn.ModuleList([model])\nnets[0] = nn.Linear(3, 1)\nagain = nets[0](data).sum()",
    "unpacked weights": "weight, bias = model[0].parameters()\nagain = weight.sum() + bias.sum()",
    "delitem of ours": (
        "class Box:\n"
        "    held = loss\n"
        "    def __delitem__(self, key):\n"
        "        self.held = other\n"
        "box = Box()\n"
        "del box[0]\n"
        "again = box.held"
    ),
    "deleted out of range": "many = [loss, other]\ntry:\n    del many[5]\nexcept IndexError:\n    again = many[1]",
    "deleted by a number that is not known": (
        "n = len(str(model)) - len(str(model))\nmany = [loss, other]\ndel many[n]\nagain = many[0]"
    ),
    "popped from nothing": "try:\n    again = [].pop()\nexcept IndexError:\n    again = loss",
    "rotated by a number that is not known": (
        "n = len(str(model)) - len(str(model)) + 1\n"
        "many = collections.deque([loss, other])\n"
        "many.rotate(n)\n"
        "again = many[0]"
    ),
    "inserted at a number that is not known": (
        "n = len(str(model)) - len(str(model))\nmany = [loss]\nmany.insert(n, other)\nagain = many[0]"
    ),
    "popped by a number that is not known": (
        "n = len(str(model)) - len(str(model))\nmany = [other, loss]\nmany.pop(n)\nagain = many[0]"
    ),
    "popped by a number that is not known, other": (
        "n = len(str(model)) - len(str(model)) + 1\nmany = [other, loss]\nmany.pop(n)\nagain = many[0]"
    ),
    "discarded": "many = {loss}\nmany.discard(loss)\nmany.add(other)\nagain = many.pop()",
    "set, added twice": "many = set()\nmany.add(1)\nmany.add(1)\nagain = (loss, other)[len(many)]",
    "set of two": "many = {1, 2}\nfirst, second = many\nagain = loss if first == second else other",
    "super setattr": (
        "class Box:\n"
        "    def __setattr__(self, name, value):\n"
        "        super().__setattr__(name, value)\n"
        "box = Box()\n"
        "box.loss = loss\n"
        "again = box.loss"
    ),
    "call by name": "def give(value):\n    return value\nagain = give.__call__(loss)",
    "method of a function": "def give(value):\n    return value\nagain = other if give.__eq__(give) else loss",
    "dict of ours by keys": "class Box(dict):\n    pass\nagain = Box.fromkeys(['a'], loss)['a']",
    "int of a counter": "for i in range(9):\n    again = (loss, other)[int(i > 0)]",
    "any of unknown": "again = loss if any(one for one in str(model) if one == '?') else other",
    "any, loss": "again = loss if any(len(str(one)) for one in (model,)) else other",
    "type of ours": "class Box:\n    held = loss\nagain = type(Box()).held",
    "class of ours": "class Box:\n    held = loss\nagain = Box().__class__.held",
    "class of a library": "again = loss if model.__class__ is nn.Sequential else other",
    "exit": "def stop():\n    exit()\ntry:\n    stop()\n    again = other\nexcept SystemExit:\n    again = loss",
    "property by call": (
        "class Box:\n    def give(self):\n        return loss\n    held = property(give)\nagain = Box().held"
    ),
    "static by call": (
        "class Box:\n"
        "    def give(value):\n"
        "        return value\n"
        "    give = staticmethod(give)\n"
        "again = Box().give(loss)"
    ),
    "property of a lambda": "class Box:\n    held = property(lambda self: loss)\nagain = Box().held",
    "dict of triples": "try:\n    again = dict([(1, 2, loss)])\nexcept ValueError:\n    again = other",
    "sum of a tuple": "again = sum((other, loss))",
    "sum of a tensor": "again = sum(torch.stack([other, loss]))",
    "sum of what is not known": "again = loss if sum(__import__('json').loads('[1]')) == 2 else other",
    "sum of a range": "again = loss if sum(range(3)) == 4 else other",
    "sum of a zip": "again = sum(a * b for a, b in zip([1, 2], [other, loss]))",
    "isinstance of none of several": "again = loss if isinstance({}, (list, int)) else other",
    "isinstance of what is not known": "again = loss if isinstance(__import__('json').loads('[]'), dict) else other",
    "isinstance of a number": "again = other if isinstance(1, (str, float)) else loss",
    "isinstance of a text": "again = loss if isinstance('a', str) else other",
    "isinstance of a network": "again = loss if isinstance(model, nn.Module) else other",
    "isinstance of no network": "again = other if isinstance(loss, nn.Module) else loss",
    "isinstance of a base of the framework": (
        "again = loss if isinstance(nn.Conv2d(1, 1, 1), nn.modules.conv._ConvNd) else other"
    ),
    "isinstance of another base": "again = other if isinstance(nn.Linear(1, 1), nn.modules.conv._ConvNd) else loss",
    "isinstance of a norm": "again = loss if isinstance(nn.BatchNorm1d(1), nn.modules.batchnorm._BatchNorm) else other",
    "isinstance of ours of the framework": (
        "class Layer(nn.Linear):\n    pass\nagain = loss if isinstance(Layer(1, 1), nn.Linear) else other"
    ),
    "double star of what is not known": (
        "def give(value=other, **rest):\n    return value\nagain = give(**__import__('json').loads('{}'))"
    ),
    "double star of a dict of ours": (
        "def give(a, b):\n    return b\nfound = {}\nfound['a'] = other\nfound.update(b=loss)\nagain = give(**found)"
    ),
    "forward of ours": "class Box:\n    def forward(self, value):\n        return value\nagain = Box().forward(loss)",
    "post init": (
        "@dataclasses.dataclass\n"
        "class Box:\n"
        "    first: object\n"
        "    def __post_init__(self):\n"
        "        self.second = self.first\n"
        "again = Box(loss).second"
    ),
    "decorated by an object": (
        "class Wrap:\n"
        "    def __init__(self, function):\n"
        "        self.function = function\n"
        "    def __call__(self, value):\n"
        "        return self.function(value)\n"
        "@Wrap\n"
        "def give(value):\n"
        "    return value\n"
        "again = give(loss)"
    ),
    "decorated by a call of an object": (
        "class Wrap:\n"
        "    def __call__(self, function):\n"
        "        return function\n"
        "@Wrap()\n"
        "def give(value):\n"
        "    return value\n"
        "again = give(loss)"
    ),
    "decorated method": (
        "def passing(function):\n"
        "    def inner(self):\n"
        "        return function(self)\n"
        "    return inner\n"
        "class Box:\n"
        "    @passing\n"
        "    def give(self):\n"
        "        return loss\n"
        "again = Box().give()"
    ),
    "super of a class by name": (
        "class Base:\n"
        "    def give(self):\n"
        "        return loss\n"
        "class Box(Base):\n"
        "    def give(self):\n"
        "        return super(Box, self).give()\n"
        "again = Box().give()"
    ),
    "super in a function": (
        "class Base:\n"
        "    def give(self):\n"
        "        return loss\n"
        "class Box(Base):\n"
        "    def give(self):\n"
        "        return [super(Box, self).give() for _ in range(1)][0]\n"
        "again = Box().give()"
    ),
    "deep recursion": "def give(n, value):\n    return value if n == 0 else give(n - 1, value)\nagain = give(4, loss)",
    "recursive generator": (
        "def give(n):\n    if n:\n        yield from give(n - 1)\n    yield loss\nagain = list(give(3))[0]"
    ),
    "generator in a loop, broken": "def give():\n    yield other\n    yield loss\nfor again in give():\n    break",
    "generator in a loop, returned": (
        "def give():\n"
        "    yield loss\n"
        "    yield other\n"
        "def first():\n"
        "    for one in give():\n"
        "        return one\n"
        "again = first()"
    ),
    "generator under no grad": (
        "@torch.no_grad()\ndef give():\n    yield other\n    yield loss\nfor again in give():\n    pass"
    ),
    "generator that raises": (
        "def give():\n"
        "    yield other\n"
        "    raise ValueError\n"
        "again = loss\n"
        "try:\n"
        "    for again in give():\n"
        "        pass\n"
        "except ValueError:\n"
        "    pass"
    ),
    "enter that may not": (
        "class Box:\n"
        "    def __enter__(self):\n"
        "        return loss\n"
        "    def __exit__(self, *args):\n"
        "        return None\n"
        "with Box() as again, open('/dev/null') as kept:\n"
        "    pass"
    ),
    "context without enter": (
        "class Base:\n"
        "    def __exit__(self, *args):\n"
        "        return None\n"
        "class Box(Base):\n"
        "    def __enter__(self):\n"
        "        raise ValueError\n"
        "try:\n"
        "    with Box() as again:\n"
        "        pass\n"
        "except ValueError:\n"
        "    again = loss"
    ),
    "training of what is not known": (
        "net = __import__('copy').copy(model)\nnet.eval()\nagain = loss if net.training else other"
    ),
    "weights transposed": "again = model[0].weight.T.sum()",
    "leaf": "again = loss if loss.is_leaf else other",
    "leaf, data": "again = loss if data.is_leaf else other",
    "static method by instance": (
        "class Box:\n    @staticmethod\n    def give(value):\n        return value\nagain = Box().give(loss)"
    ),
    "parameters of a layer": "again = sum(p.sum() for p in model[0]._parameters.values())",
    "hasattr of a number": "again = loss if hasattr(1, 'real') else other",
    "hasattr of a tensor": "again = loss if hasattr(loss, 'nothing') else other",
    "hasattr of a method": (
        "class Box:\n    def give(self):\n        return loss\nagain = loss if hasattr(Box(), 'give') else other"
    ),
    "hasattr of a network": "again = loss if hasattr(model, 'forward') else other",
    "hasattr of a base that is not known": (
        "class Box(__import__('json').JSONEncoder):\n    pass\nagain = other if hasattr(Box(), 'encode') else loss"
    ),
    "getattr by a name that is not known": (
        "class Box:\n    pass\nbox = Box()\nbox.loss = loss\nagain = getattr(box, ''.join(['lo', 'ss']))"
    ),
    "getattr of a network, default": "again = loss if getattr(model, 'training', None) else other",
    "getattr of a method, default": "again = loss if getattr(model, 'forward', None) is None else other",
    "attribute of what is not known": (
        "box = __import__('types').SimpleNamespace()\nbox.loss = None\nbox.loss = loss\nagain = box.loss"
    ),
    "attribute of a list": "many = [loss]\nput = many.append\nput(other)\nagain = many[1]",
    # objects, orders and refusals
    "property setter, through": (
        "class Box:\n"
        "    @property\n"
        "    def loss(self):\n"
        "        return self._loss\n"
        "    @loss.setter\n"
        "    def loss(self, value):\n"
        "        self._loss = value\n"
        "box = Box()\n"
        "box.loss = loss\n"
        "again = box._loss"
    ),
    "setattr by a name that is not known": (
        "class Box:\n"
        "    pass\n"
        "box = Box()\n"
        "box.loss = loss\n"
        "setattr(box, ''.join(['lo', 'ss']), other)\n"
        "again = box.loss"
    ),
    "dict of an instance, read": "class Box:\n    pass\nbox = Box()\nbox.loss = loss\nagain = box.__dict__['loss']",
    "dict of an instance, by loop": (
        "class Box:\n    pass\nbox = Box()\nbox.loss = loss\nfor name, again in box.__dict__.items():\n    pass"
    ),
    "dict of an instance, updated by words": (
        "class Box:\n    def __init__(self, **words):\n        self.__dict__.update(words)\nagain = Box(loss=loss).loss"
    ),
    "dict of an instance, updated by what is not known": (
        "class Box:\n"
        "    pass\n"
        "box = Box()\n"
        "box.loss = loss\n"
        "box.__dict__.update(__import__('json').loads('{\"loss\": 1}'))\n"
        "again = other"
    ),
    "dict of an instance, popped": (
        "class Box:\n    held = other\nbox = Box()\nbox.held = loss\nbox.__dict__.pop('held')\nagain = box.held"
    ),
    "dict of an instance, key not known": (
        "class Box:\n"
        "    held = other\n"
        "box = Box()\n"
        "box.held = loss\n"
        "box.__dict__[''.join(['he', 'ld'])] = other\n"
        "again = box.held"
    ),
    "vars of an instance": "class Box:\n    pass\nbox = Box()\nbox.loss = loss\nagain = vars(box)['loss']",
    "setattr of a network": "model.__setattr__('kept', loss)\nagain = model.kept",
    "object setattr": (
        "class Box:\n"
        "    def __setattr__(self, name, value):\n"
        "        object.__setattr__(self, name, value)\n"
        "box = Box()\n"
        "box.loss = loss\n"
        "again = box.loss"
    ),
    "new of ours, kept": (
        "class Box:\n"
        "    def __new__(cls, value):\n"
        "        box = super().__new__(cls)\n"
        "        box.held = value\n"
        "        return box\n"
        "again = Box(loss).held"
    ),
    "new of ours, of object": (
        "class Box:\n"
        "    def __new__(cls, value):\n"
        "        return object.__new__(cls)\n"
        "    def __init__(self, value):\n"
        "        self.held = value\n"
        "again = Box(loss).held"
    ),
    "new of ours, one for all": (
        "class Box:\n"
        "    one = None\n"
        "    def __new__(cls):\n"
        "        if cls.one is None:\n"
        "            cls.one = super().__new__(cls)\n"
        "        return cls.one\n"
        "Box().held = loss\n"
        "again = Box().held"
    ),
    "new of ours, something else": "class Box:\n    def __new__(cls):\n        return [loss]\nagain = Box()[0]",
    "decorated class, wrapped": (
        "def once(cls):\n"
        "    one = cls()\n"
        "    return lambda: one\n"
        "@once\n"
        "class Box:\n"
        "    held = loss\n"
        "again = Box().held"
    ),
    "decorated class, registered": (
        "kept = {}\n"
        "def register(name):\n"
        "    def put(cls):\n"
        "        kept[name] = cls\n"
        "        return cls\n"
        "    return put\n"
        "@register('box')\n"
        "class Box:\n"
        "    held = loss\n"
        "again = kept['box'].held"
    ),
    "diamond, three": (
        "class Base:\n"
        "    def give(self):\n"
        "        return other\n"
        "class A(Base):\n"
        "    def give(self):\n"
        "        return super().give()\n"
        "class B(Base):\n"
        "    def give(self):\n"
        "        return loss\n"
        "class C(A, B):\n"
        "    def give(self):\n"
        "        return super().give()\n"
        "again = C().give()"
    ),
    "base by two ways": (
        "class Base:\n"
        "    held = loss\n"
        "class A(Base):\n"
        "    pass\n"
        "class B(Base):\n"
        "    pass\n"
        "class C(A, B):\n"
        "    pass\n"
        "again = C.held"
    ),
    "super in a class method": (
        "class Base:\n"
        "    held = other\n"
        "    @classmethod\n"
        "    def give(cls):\n"
        "        return cls.held\n"
        "class Box(Base):\n"
        "    held = loss\n"
        "    @classmethod\n"
        "    def give(cls):\n"
        "        return super().give()\n"
        "again = Box.give()"
    ),
    "super outside of a class": "try:\n    again = super().give()\nexcept RuntimeError:\n    again = loss",
    "deleted attribute of a class": (
        "class Base:\n    held = loss\nclass Box(Base):\n    held = other\ndel Box.held\nagain = Box().held"
    ),
    "deleted attribute of what is not known": (
        "box = __import__('types').SimpleNamespace(held=loss)\nbox.held = loss\ndel box.held\nagain = other"
    ),
    "deleted several": "a, b = other, loss\ndel (a, b)\nagain = loss",
    "nonlocal of a name far out": (
        "def outer():\n"
        "    kept = other\n"
        "    def middle():\n"
        "        def inner():\n"
        "            nonlocal kept\n"
        "            kept = loss\n"
        "        inner()\n"
        "    middle()\n"
        "    return kept\n"
        "again = outer()"
    ),
    "nonlocal, augmented": (
        "def outer():\n"
        "    n = 0\n"
        "    def count():\n"
        "        nonlocal n\n"
        "        n += 1\n"
        "        return n\n"
        "    count()\n"
        "    return (loss, other, loss)[count()]\n"
        "again = outer()"
    ),
    "counter by addition": "for i in range(9):\n    again = (other, loss)[1 + i > 4]",
    "counter compared with itself": "for i in range(9):\n    j = i + 1\n    again = loss if j < i else other",
    "counter equal to itself": "for i in range(9):\n    again = loss if i == i else other",
    "and with what is written": "flag = len(str(model)) < 0\nagain = loss if flag and True else other",
    "or with what is written": "flag = len(str(model)) > 0\nagain = other if flag or False else loss",
    "comparison that is refused": "try:\n    again = loss if 1 < 'a' else other\nexcept TypeError:\n    again = loss",
    "list compared with none": "again = loss if [] == None else other",
    "list equal to itself": "many = [1]\nagain = loss if many == many else other",
    "tuple equal to itself": "again = loss if (1, 2) == (1, 2) else other",
    "spread of what is not known": "again = {**__import__('json').loads('{}'), 'a': loss}['a']",
    "spread of what is not known, before": "again = {'a': other, **__import__('json').loads('{}')}['a']",
    "generator expression of a generator": (
        "def give():\n    yield other\n    yield loss\nagain = list(one for one in give())[1]"
    ),
    "yield from a generator of ours": (
        "def inner():\n    yield other\n    yield loss\ndef give():\n    yield from inner()\nagain = list(give())[1]"
    ),
    "bytes and a text": "again = {b'a' b'b': loss}[b'ab']",
    "starred call in a list": "again = [*(other, loss)][1]",
    "empty tuple": "again = other if () else loss",
    "full tuple": "again = loss if (0,) else other",
    "none, then true": (
        "value = __import__('json').loads('null')\nagain = (loss if value else other) if value is None else loss"
    ),
    "true, then none": (
        "value = __import__('json').loads('1')\nagain = other\nif value:\n    again = loss if value is None else other"
    ),
    "equal to two": "value = __import__('json').loads('1')\nif value == 1:\n    again = loss if value == 2 else other",
    "not not": "value = __import__('json').loads('1')\nagain = other if not (not value) else loss",
    "less both ways": (
        "value = len(str(model))\nagain = other\nif value < 3000:\n    again = loss if 3000 < value else other"
    ),
    "deep copy": "again = copy.deepcopy(data).sum() + other",
    "deep copy of a leaf": "leaf = torch.ones(2, requires_grad=True)\nagain = copy.deepcopy(leaf).pow(2).sum()",
    "deep copy of ours": (
        "class Box:\n    pass\nbox = Box()\nbox.net = model\nagain = copy.deepcopy(box).net(data).sum()"
    ),
    "deep copy of a frozen network": (
        "net = nn.Linear(3, 1)\nnet.requires_grad_(False)\nagain = copy.deepcopy(net)(data).sum() + other"
    ),
    "assert that fails": "try:\n    assert 1 > 2\n    again = other\nexcept AssertionError:\n    again = loss",
    "condition that raises": (
        "class Found(Exception):\n"
        "    pass\n"
        "def look():\n"
        "    raise Found\n"
        "try:\n"
        "    if look():\n"
        "        again = other\n"
        "except Found:\n"
        "    again = loss"
    ),
    "iterable that raises": (
        "class Found(Exception):\n"
        "    pass\n"
        "def look():\n"
        "    raise Found\n"
        "try:\n"
        "    for again in look():\n"
        "        pass\n"
        "except Found:\n"
        "    again = loss"
    ),
    "context that raises": (
        "class Found(Exception):\n"
        "    pass\n"
        "def look():\n"
        "    raise Found\n"
        "try:\n"
        "    with look():\n"
        "        again = other\n"
        "except Found:\n"
        "    again = loss"
    ),
    "match, anything": "match other:\n    case _:\n        again = loss",
    "context of a generator": (
        "import contextlib\n"
        "@contextlib.contextmanager\n"
        "def box(value):\n"
        "    yield value\n"
        "with box(loss) as again:\n"
        "    pass"
    ),
    "context of a generator, left": (
        "import contextlib\n"
        "@contextlib.contextmanager\n"
        "def box(value):\n"
        "    yield value\n"
        "def give():\n"
        "    with box(loss) as one:\n"
        "        return one\n"
        "again = give()"
    ),
    "context of a generator, raising": (
        "import contextlib\n"
        "@contextlib.contextmanager\n"
        "def box():\n"
        "    yield 1\n"
        "class Found(Exception):\n"
        "    pass\n"
        "try:\n"
        "    with box():\n"
        "        raise Found\n"
        "except Found:\n"
        "    again = loss"
    ),
    "context of a generator that raises": (
        "import contextlib\n"
        "class Found(Exception):\n"
        "    pass\n"
        "@contextlib.contextmanager\n"
        "def box():\n"
        "    if len([1]):\n"
        "        raise Found\n"
        "    yield 1\n"
        "try:\n"
        "    with box():\n"
        "        again = other\n"
        "except Found:\n"
        "    again = loss"
    ),
    "class whose body raises": (
        "class Found(Exception):\n"
        "    pass\n"
        "def look():\n"
        "    raise Found\n"
        "try:\n"
        "    class Box:\n"
        "        held = look()\n"
        "    again = other\n"
        "except Found:\n"
        "    again = loss"
    ),
    "decorator in a list": "many = [lambda function: function]\n@many[0]\ndef give():\n    return loss\nagain = give()",
    "class decorated from a list": "many = [lambda cls: cls]\n@many[0]\nclass Box:\n    held = loss\nagain = Box.held",
    "dataclass with arguments": (
        "@dataclasses.dataclass(frozen=True)\nclass Box:\n    held: object\nagain = Box(loss).held"
    ),
    "dict comprehension that holds functions": (
        "calls = {name: (lambda value=value: value) for name, value in [('a', other), ('b', loss)]}\n"
        "again = calls['b']()"
    ),
    "deque, greatest length": (
        "many = collections.deque(maxlen=2)\nfor one in (loss, other, other):\n    many.append(one)\nagain = many[0]"
    ),
    "deque, greatest length, left": (
        "many = collections.deque([other, loss], 2)\nmany.appendleft(other)\nagain = many[-1]"
    ),
    "deque, extended at the left": "many = collections.deque([other])\nmany.extendleft([loss, other])\nagain = many[1]",
    "deque, rotated": "many = collections.deque([loss, other])\nmany.rotate()\nagain = many[1]",
    "deque, rotated back": "many = collections.deque([other, loss])\nmany.rotate(-1)\nagain = many[0]",
    "sorted texts": "again = {'a': other, 'b': loss}[sorted(['b', 'a'])[1]]",
    "sorted texts, backwards": "again = {'a': other, 'b': loss}[sorted(['a', 'b'], reverse=True)[0]]",
    "sorted, refused": "try:\n    again = sorted([1, 'a'])\nexcept TypeError:\n    again = loss",
    "sorted in a loop": "for _, again in sorted([(1, loss), (1, loss)], key=lambda pair: pair[0]):\n    pass",
    "list of shuffled and others": (
        "many = sorted([(2, loss), (1, other)], key=lambda pair: pair[0]) + [(3, other)]\nagain = many[0][1]"
    ),
    "slice of shuffled": "many = sorted([(2, loss), (1, other)], key=lambda pair: pair[0])[:1]\nagain = many[0][1]",
    "unpacked from shuffled": "(_, again), _ = sorted([(2, loss), (1, other)], key=lambda pair: pair[0])",
    "unpacked from a set": "again, = {loss}",
    "islice by an unknown": (
        "n = len(str(model)) - len(str(model)) + 1\nagain = next(itertools.islice([loss, other], n, None))"
    ),
    "next of shuffled": "again = next(iter(sorted([(2, loss), (1, other)], key=lambda pair: pair[0])))[1]",
    "repeated by an unknown": "n = len(str(model)) - len(str(model)) + 1\nagain = ([loss] * n)[0]",
    "tuple repeated by an unknown": "n = len(str(model)) - len(str(model)) + 1\nagain = ((loss, other) * n)[1]",
    "repeated, shuffled": ("many = sorted([(2, loss), (1, other)], key=lambda pair: pair[0]) * 2\nagain = many[2][1]"),
    "last of more than are held": "many = [other for _ in range(9)]\nmany.append(loss)\nagain = many[9]",
    "sums of what cannot be seen": (
        "h = eval('lambda v: v + 1')(torch.ones(2, requires_grad=True))\nloss, again = h.sum(), h.mean()"
    ),
    "method, base of what cannot be seen": (
        "class Net(eval('lambda one: type(one)')(model)):\n"
        "    def give(self):\n"
        "        return loss\n"
        "again = Net().give()"
    ),
    "tuple repeated": "again = ((loss, other) * 2)[2]",
    "next of nothing": "again = next(iter([]), loss)",
    # contexts, networks and tensors
    "callback of a stack": (
        "import contextlib\n"
        "many = [other]\n"
        "with contextlib.ExitStack() as stack:\n"
        "    stack.callback(many.append, loss)\n"
        "again = many[1]"
    ),
    "context of a stack": (
        "import contextlib\n"
        "class Box:\n"
        "    def __enter__(self):\n"
        "        return loss\n"
        "    def __exit__(self, *args):\n"
        "        return None\n"
        "with contextlib.ExitStack() as stack:\n"
        "    again = stack.enter_context(Box())"
    ),
    "file of a stack": (
        "import contextlib, os\n"
        "with contextlib.ExitStack() as stack:\n"
        "    kept = stack.enter_context(open(os.devnull))\n"
        "    again = loss"
    ),
    "other method of a stack": (
        "import contextlib\nwith contextlib.ExitStack() as stack:\n    stack.pop_all()\n    again = loss"
    ),
    "super call": (
        "class Net(nn.Linear):\n"
        "    def __call__(self, value):\n"
        "        return super().__call__(value)\n"
        "again = Net(3, 1)(data).sum()"
    ),
    "super forward": (
        "class Net(nn.Linear):\n"
        "    def forward(self, value):\n"
        "        self.kept = loss\n"
        "        return super().forward(value)\n"
        "net = Net(3, 1)\n"
        "net(data)\n"
        "again = net.kept"
    ),
    "super forward, used": (
        "class Net(nn.Linear):\n"
        "    def forward(self, value):\n"
        "        return super().forward(value) + loss\n"
        "again = Net(3, 1)(data).sum()"
    ),
    "super setattr of a network": (
        "class Net(nn.Linear):\n"
        "    def __setattr__(self, name, value):\n"
        "        super().__setattr__(name, value)\n"
        "net = Net(3, 1)\n"
        "net.kept = loss\n"
        "again = net.kept"
    ),
    "sequential of ours without members": (
        "class Net(nn.Sequential):\n"
        "    def __init__(self, *layers):\n"
        "        super().__init__(*layers)\n"
        "again = Net()(data).sum() + loss"
    ),
    "detached in place": "leaf = torch.ones(2, requires_grad=True)\nleaf.detach_()\nagain = (leaf * 2).sum() + other",
    "detached in place, data": "model[0].weight.data.detach_()\nagain = model(data).sum()",
    "retained gradient": "kept = loss * 2\nkept.retain_grad()\nagain = kept + other",
    "new tensor that is tracked": "again = (loss.detach().new_ones(1, requires_grad=True) * 2).sum()",
    "new tensor": "again = loss.new_zeros(1).sum() + other",
    "logic in place": (
        "flags = torch.ones(2, dtype=torch.bool)\nflags.logical_not_()\nagain = loss if flags.any() else other"
    ),
    "in place under no grad": "kept = other * 1\nwith torch.no_grad():\n    kept.add_(loss)\nagain = kept + other",
    "forward by name": "again = model.forward(data).sum()",
    "forward by name, of ours": (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.layer = nn.Linear(3, 1)\n"
        "    def forward(self, value):\n"
        "        return self.layer(value).sum() + loss\n"
        "again = Net().forward(data)"
    ),
    "member by a name that is not known": (
        "net = nn.Sequential()\nnet.add_module(''.join(['a', 'b']), nn.Linear(3, 1))\nagain = net(data).sum()"
    ),
    "buffer by a name that is not known": (
        "net = nn.Linear(3, 1)\nnet.register_buffer(''.join(['a', 'b']), torch.ones(1))\nagain = net(data).sum()"
    ),
    "hook before state": (
        "net = nn.Linear(3, 1)\n"
        "net.register_full_backward_hook(lambda *args: None)\n"
        "again = net(data.clone().requires_grad_()).sum()"
    ),
    "method of a network that is not there": (
        "try:\n    again = model.nothing()\nexcept AttributeError:\n    again = loss"
    ),
    "sample of a distribution": (
        "noise = torch.distributions.Normal(torch.zeros(1), torch.ones(1))\nagain = noise.sample().sum() + other"
    ),
    "sample of a distribution of a loss": (
        "noise = torch.distributions.Normal(loss, torch.ones(()))\nagain = noise.rsample()"
    ),
    "sample of a distribution, cut": (
        "noise = torch.distributions.Normal(loss, torch.ones(()))\nagain = noise.sample() + other"
    ),
    "chance of a loss": (
        "noise = torch.distributions.Normal(loss, torch.ones(()))\nagain = -noise.log_prob(torch.zeros(()))"
    ),
    "entropy of others": (
        "noise = torch.distributions.Categorical(logits=model(data).flatten())\nagain = noise.entropy()"
    ),
    "size of a distribution": (
        "noise = torch.distributions.Normal(loss, torch.ones(()))\n"
        "again = loss if noise.batch_shape == torch.Size([1]) else other"
    ),
    "grad written by index": (
        "leaf = torch.ones(2, requires_grad=True)\n"
        "(leaf * 2).sum().backward()\n"
        "leaf.grad[0] = 0\n"
        "again = (leaf * 3).sum()"
    ),
    "grad written by attribute": (
        "leaf = torch.ones(2, requires_grad=True)\n"
        "(leaf * 2).sum().backward()\n"
        "leaf.grad.data = torch.zeros(2)\n"
        "again = (leaf * 3).sum()"
    ),
    "text in a text": "again = loss if 'ab' in 'abc' else other",
    "text in a text, not": "again = loss if 'ac' in 'abc' else other",
    "text in a long text": "again = loss if 'ab' in 'a longer text' else other",
    "lists of weights": (
        "many = list(model[0].parameters()) + list(model[2].parameters())\nagain = sum(one.sum() for one in many)"
    ),
    "unpacked from a generator": "def give():\n    yield other\n    yield loss\n_, again = give()",
    "unpacked from nothing": (
        "def give():\n    return\n    yield loss\ntry:\n    a, again = give()\nexcept ValueError:\n    again = loss"
    ),
    "bool of what is not known": "again = loss if bool(__import__('json').loads('0')) else other",
    "popped from a list that grows": "many = []\nfor _ in range(9):\n    many.append(loss)\nagain = many.pop()",
    "isinstance of a class that is not ours": (
        "class Net(__import__('json').JSONEncoder, nn.Linear):\n"
        "    def __init__(self):\n"
        "        nn.Linear.__init__(self, 3, 1)\n"
        "again = loss if isinstance(Net(), nn.Linear) else other"
    ),
    "isinstance of a set": "again = loss if isinstance(1, set) else other",
    "isinstance of several, not known": (
        "value = __import__('json').loads('1')\nagain = loss if isinstance(value, (list, str)) else other"
    ),
    "keys of a network of networks": (
        "nets = nn.ModuleDict({'a': model})\nfor name in nets.keys():\n    again = nets[name](data).sum()"
    ),
    # what is read from a file, and what is called in other ways
    "read as none, then asked": (
        "import json\nvalue = json.loads('null')\nagain = (loss if value else other) if value is None else loss"
    ),
    "read as none, then asked, loss": (
        "import json\nvalue = json.loads('null')\nagain = (other if value else loss) if value is None else other"
    ),
    "read as true, then none": (
        "import json\nvalue = json.loads('1')\nagain = other\nif value:\n    again = loss if value is None else other"
    ),
    "read as one, then two": (
        "import json\nvalue = json.loads('1')\nagain = other\nif value == 1:\n    again = loss if value == 2 else other"
    ),
    "read, not not": (
        "import json\nvalue = json.loads('1')\nagain = other\nif value:\n    again = loss if not (not value) else other"
    ),
    "read, and what is written": (
        "import json\nvalue = json.loads('1')\nagain = other\nif value:\n    again = loss if value and True else other"
    ),
    "read, or what is written": (
        "import json\nvalue = json.loads('1')\nagain = other\nif value:\n    again = loss if value or False else other"
    ),
    "read, less both ways": (
        "import json\nvalue = json.loads('1')\nagain = other\nif value < 3:\n    again = loss if 3 < value else other"
    ),
    "read, sum": (
        "import json\n"
        "value = json.loads('[1]')\n"
        "again = other\n"
        "if sum(value) == 1:\n"
        "    again = loss if sum(value) == 1 else other"
    ),
    "read, bool": (
        "import json\nvalue = json.loads('1')\nagain = other\nif bool(value):\n    again = loss if value else other"
    ),
    "read, isinstance": (
        "import json\n"
        "value = json.loads('1')\n"
        "again = other\n"
        "if isinstance(value, int):\n"
        "    again = loss if isinstance(value, int) else other"
    ),
    "read, isinstance of several": (
        "import json\nvalue = json.loads('1')\nagain = loss if isinstance(value, (dict, str)) else other"
    ),
    "read, item stored": "import json\nfound = json.loads('{}')\nfound['loss'] = loss\nagain = found['loss']",
    "read, item stored, other": (
        "import json\nfound = json.loads('{}')\nfound['loss'] = loss\nfound['loss'] = other\nagain = found['loss']"
    ),
    "read, attribute stored": (
        "import argparse\nfound = argparse.Namespace()\nfound.loss = None\nfound.loss = loss\nagain = found.loss"
    ),
    "read, attribute deleted": (
        "import argparse\n"
        "found = argparse.Namespace()\n"
        "found.loss = loss\n"
        "del found.loss\n"
        "again = loss if hasattr(found, 'loss') else other"
    ),
    "read, spread": "import json\nagain = {**json.loads('{}'), 'a': loss}['a']",
    "read, spread after": "import json\nagain = {'a': loss, **json.loads('{\"a\": 1}')}\nagain = other",
    "read, double star": (
        "import json\ndef give(value=other, **rest):\n    return value\nagain = give(**json.loads('{}'))"
    ),
    "read, in": (
        "import json\n"
        "found = json.loads('[1]')\n"
        "again = other\n"
        "if 1 in found:\n"
        "    again = loss if 1 in found else other"
    ),
    "read, unpacked": (
        "import json\na, b = json.loads('[1, 2]')\nagain = other\nif a:\n    again = loss if a else other"
    ),
    "read, slice": "import json\nn = json.loads('1')\nagain = [loss, other][n:][0]",
    "read, one of": "import json\nn = json.loads('0')\nagain = [loss][n]",
    "read, called": "import json\nfound = json.loads('[0]')\nfound.append(loss)\nagain = other",
    "absent as a condition": (
        "class Found(Exception):\n"
        "    pass\n"
        "again = other\n"
        "kept = torch.ones(2, requires_grad=True)\n"
        "if kept.grad:\n"
        "    again = loss"
    ),
    "network that is called": (
        "class Box:\n"
        "    net = model\n"
        "    def forward(self, value):\n"
        "        return self.net(value)\n"
        "try:\n"
        "    again = Box()(data).sum()\n"
        "except TypeError:\n"
        "    again = loss"
    ),
    "property of what is no function": (
        "class Box:\n    held = staticmethod(max)\nagain = (other, loss)[Box.held(0, 1)]"
    ),
    "decorated with what is not known": (
        "import json\n"
        "passing = json.loads('null') or (lambda function: function)\n"
        "@passing\n"
        "def give():\n"
        "    return loss\n"
        "again = give()"
    ),
    "decorated bound method": (
        "class Box:\n    def give(self):\n        return loss\nagain = torch.enable_grad()(Box().give)()"
    ),
    "decorated bound method, no grad": (
        "class Box:\n"
        "    def give(self):\n"
        "        return model(data).sum()\n"
        "again = torch.no_grad()(Box().give)() + other"
    ),
    "decorated builtin": "again = torch.no_grad()(print)() or loss",
    "decorated twice": (
        "class Box:\n"
        "    @staticmethod\n"
        "    @torch.enable_grad()\n"
        "    def give():\n"
        "        return model(data).sum()\n"
        "again = Box.give()"
    ),
    "named and not called": (
        "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nstep = optimizer.step\nagain = loss"
    ),
    "deep generator": (
        "def give(n):\n"
        "    if n == 0:\n"
        "        yield loss\n"
        "    else:\n"
        "        for one in give(n - 1):\n"
        "            yield one\n"
        "for again in give(3):\n"
        "    pass"
    ),
    "enter that is missing": (
        "class Box:\n"
        "    pass\n"
        "try:\n"
        "    with Box() as again:\n"
        "        pass\n"
        "except (AttributeError, TypeError):\n"
        "    again = loss"
    ),
    "attribute of a zip": "many = zip([other], [loss])\nagain = many.__next__()[1]",
    "part of a cut": "kept = torch.zeros(3).max(0)\nagain = other + kept.values",
    "training by hand": (
        "import copy as duplicate\nnet = duplicate.deepcopy(model)\nnet.eval()\nagain = loss if net.training else other"
    ),
    "index of a list in a dict": "found = {'a': [other, loss]}\nagain = found['a'][1]",
    "deleted in groups": "a, b, c = 1, other, loss\ndel (a, b), c\nagain = loss",
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
        [
            "network that is called",
            "property of what is no function",
            "decorated builtin",
            "deep generator",
            "attribute of a zip",
        ],
        "a caller of another kind is not followed",
    ),
    **dict.fromkeys(
        [
            "read as none, then asked, loss",
            "read, not not",
            "read, and what is written",
            "read, or what is written",
            "read, sum",
            "read, bool",
            "read, isinstance",
            "read, in",
            "read, unpacked",
        ],
        "what a file says decides",
    ),
    **dict.fromkeys(
        [
            "item of nothing",
            "popped from nothing",
            "comparison that is refused",
            "class whose body raises",
            "super outside of a class",
            "method of a network that is not there",
            "unpacked from nothing",
        ],
        "that Python refuses it is not seen",
    ),
    **dict.fromkeys(
        ["range of four, loss", "slice that is not known", "popped by a number that is not known"],
        "which element is meant is not known",
    ),
    **dict.fromkeys(
        ["deep recursion", "recursive generator"],
        "a recursion is followed twice",
    ),
    **dict.fromkeys(
        [
            "min of lists by key",
            "format keys, loss",
            "any, loss",
            "counter by addition",
            "list equal to itself",
            "getattr by a name that is not known",
        ],
        "numbers and texts are folded in simple cases only",
    ),
    **dict.fromkeys(
        [
            "send",
            "yield from result",
            "dict of ours by keys",
            "setattr of a network",
            "isinstance of another base",
            "context of a stack",
        ],
        "this part of Python is not followed: its result is unknown",
    ),
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
            "sorted by a key",
            "with",
            "vars",
            "iter",
            "dataclass, replaced",
            "dataclass factory",
            "typed dict",
            "namespace",
            "class built by type",
            "copy.copy of a list",
            "itemgetter",
            "attrgetter",
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


@pytest.mark.parametrize("way", [way for way in WAYS if "import *" not in WAYS[way]])
def test_ways_in_a_function(way: str) -> None:
    """Where the losses are made in a function, the same is found."""
    pytest.importorskip("torch")
    head, body = HEAD.split("loss = ", 1)
    lines = f"loss = {body}{WAYS[way]}{TAIL}".replace("global again", "nonlocal again")
    indented = "\n".join(f"    {line}" if line else "" for line in lines.split("\n")[:-1])
    text = f"{head}def train(model, data):\n    again = None\n{indented}\ntrain(model, data)\n"
    found = [one for one in lint(Source("program.py", text)) if one.name in ("double-backward", "shared-backward")]
    assert bool(found) is (raises(text) and way not in MISSES)
