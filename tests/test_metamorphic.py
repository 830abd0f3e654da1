"""Programs written in another way that mean the same have the same findings, at the same statements.

Every rewriting takes a share of the fixture programs, chosen by name, and every generated program a few rewritings.
"""

from __future__ import annotations

import ast
import zlib
from collections import Counter
from functools import cache

import pytest
from conftest import FAMILIES, Case, cases
from differential.programs import programs
from hypothesis import HealthCheck, Phase, given, settings
from metamorphic import calls, layout, moves
from metamorphic.variant import Found, Rewriting, Variant

from adlint.config import Settings
from adlint.diagnostics import Diagnostic
from adlint.linter import lint
from adlint.source import Source

REWRITINGS: tuple[Rewriting, ...] = (
    *(layout.reprinted, layout.commented, layout.spaced, layout.windows, layout.tabbed, layout.parenthesised),
    *(layout.joined, moves.renamed, moves.reordered, moves.methods_reversed, moves.functions_reversed),
    *(moves.hinted_parameters, moves.hinted_assignments, moves.imported_more, moves.always, moves.always_all),
    *(moves.passed, moves.negated, moves.counted, moves.named_parts),
    *(calls.extracted_function, calls.extracted_part, calls.extracted_method, calls.in_main, calls.in_class),
    *(calls.inlined, calls.spelled_out),
)
NAMES = [rewriting.__name__ for rewriting in REWRITINGS]
SHARE = 8
"""One fixture program in so many is rewritten in one way."""
ROUND = 4
"""How many ways a generated program is rewritten in."""
GENERATED = 100
MEETING = {"methods_reversed": 4, "negated": 0, "inlined": 0, "spelled_out": 2}
"""How many programs of its share a rewriting has to fit that fits few."""

APART = "neighbours that one scope would hold are one finding; once apart, each of them is one, as true as before"
GLOBAL = "the helper's own name is a global one by then, which other files may read"
HANDED = "what a helper keeps of an argument is reported where it is handed over"
KNOWN = {
    ("always", "scope/inplace-on-leaf/row_of_a_table"): APART,
    ("always", "scope/inplace-on-leaf/update_by_hand"): APART,
    ("extracted_part", "scope/inplace-on-leaf/update_by_hand"): APART,
    (
        "always",
        "scope/inert-no-grad/around_the_conversion",
    ): "a scope around nothing is told by what stands in it itself",
    (
        "always",
        "scope/inert-no-grad/functions_defined_in_the_block",
    ): "definitions under a condition are not looked for",
    ("extracted_part", "scope/inert-no-grad/around_the_conversion"): "what a call in the scope does is not looked into",
    ("extracted_part", "scope/inert-no-grad/statement_before_validation"): (
        "an idle scope excuses recorded forwards in its own function alone: here both are reported, and both hold"
    ),
    ("spelled_out", "scope/inert-no-grad/kept_and_never_entered"): GLOBAL,
    ("spelled_out", "slots/discarded-grad/kept_in_a_name_nobody_reads"): GLOBAL,
    ("extracted_part", "scope/accumulated-graph/losses_by_number"): HANDED,
    ("extracted_part", "scope/accumulated-graph/logger_keeps_rows"): HANDED,
    ("spelled_out", "slots/discarded-grad/maml_inner_grads_dropped"): GLOBAL,
    (
        "extracted_function",
        "scope/accumulated-graph/moving_average",
    ): "reported where it is made, and by whom it is kept",
    ("extracted_method", "scope/accumulated-graph/moving_average"): "reported where it is made, and by whom it is kept",
    ("extracted_function", "scope/missing-train-mode/validation_every_few_steps"): (
        "a helper that trains is not held to the mode that its caller leaves for the next turn"
    ),
    ("extracted_method", "scope/missing-train-mode/validation_every_few_steps"): (
        "a helper that trains is not held to the mode that its caller leaves for the next turn"
    ),
}
"""The differences that are known, by rewriting and program, with their reasons. None is a false finding."""


@cache
def findings(text: str) -> list[Diagnostic]:
    return lint(Source("case.py", text), Settings())


def compare(text: str, variant: Variant) -> tuple[Found, Found]:
    """Return what is found in a text and in a variant of it, both by the places of the text."""
    compile(variant.text, "variant.py", "exec")
    return Variant(text, ast.parse(text), variant.moved).trace(findings(text)), variant.trace(findings(variant.text))


@cache
def own() -> list[Case]:
    """Return the fixture programs of the rules that look at autograd."""
    return [case for case in cases() if case.family in FAMILIES]


def share(name: str) -> list[Case]:
    """Return the fixture programs that a rewriting is tried on."""
    return [c for c in own() if (name, c.id) in KNOWN or not zlib.crc32(f"{name} {c.id}".encode()) % SHARE]


@pytest.mark.parametrize("rewriting", REWRITINGS, ids=NAMES)
def test_fixtures_written_otherwise(rewriting: Rewriting) -> None:
    """Has the same findings in every program of its share, but for the known differences, all of which are there."""
    name, fitting, differing = rewriting.__name__, 0, {}
    for case in share(name):
        variant = rewriting(case.text)
        if variant is not None:
            fitting += 1
            before, after = compare(case.text, variant)
            if before != after:
                differing[case.id] = f"{before}\nbecame {after} in\n{variant.text}"
    new = {key: text for key, text in differing.items() if (name, key) not in KNOWN}
    assert not new, "\n".join(f"{key}: {text}" for key, text in new.items())
    gone = {key for rewritten, key in KNOWN if rewritten == name} - set(differing)
    assert not gone, f"no longer a difference, delete it from `KNOWN`: {sorted(gone)}"
    assert fitting >= MEETING.get(name, 10), "fits too few programs to tell"


def test_every_rule_is_met() -> None:
    """Rewrites, in all, wrong and right programs of every rule in at least two ways each."""
    met = Counter((case.rule, case.wrong) for name in NAMES for case in share(name))
    rules = {case.rule for case in own()} - {"whole-programs"}
    assert not [(key, met[key]) for rule in rules for key in ((rule, True), (rule, False)) if met[key] < 2]


def test_generated_programs_written_otherwise() -> None:
    """Has the same findings in generated programs, each of which is rewritten in some of the ways."""
    tried: Counter[str] = Counter()
    seen: set[str] = set()

    @settings(
        max_examples=GENERATED,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(programs())
    def run(drawn: str) -> None:
        text = without_idle(drawn)
        if text in seen:
            return
        seen.add(text)
        for number in range(ROUND):
            rewriting = REWRITINGS[(len(seen) * ROUND + number) % len(REWRITINGS)]
            variant = rewriting(text)
            if variant is not None:
                tried[rewriting.__name__] += 1
                before, after = compare(text, variant)
                assert before == after, f"{rewriting.__name__}:\n{text}\nbecame\n{variant.text}"

    run()
    assert tried.total() > GENERATED * 3 / 2
    assert len(tried) > len(NAMES) * 3 / 4


def without_idle(text: str) -> str:
    """Leave out the functions that nothing calls.

    At the top of a file another file may call them with anything, so what they do counts; inside of others it does not.
    """
    tree = ast.parse(text)
    named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    tree.body = [s for s in tree.body if not (isinstance(s, ast.FunctionDef) and s.name not in named)]
    return ast.unparse(tree) + "\n"


PLAIN = """\
total = 0
for item in range(3):
    part = item * 2
    total = total + part
print(total)
"""


def test_what_is_taken_out_of_a_loop() -> None:
    """A function is given what it reads and gives back what is needed later; a statement keeps its first place."""
    variant = calls.extracted_function(PLAIN)
    assert variant is not None
    function = variant.tree.body[1]
    assert isinstance(function, ast.FunctionDef)
    assert [arg.arg for arg in function.args.args] == ["item", "total"]
    assert ast.unparse(function.body[-1]) == "return total"
    assert [statement.lineno for statement in function.body] == [3, 4, 0]


@pytest.mark.parametrize("rewriting", REWRITINGS, ids=NAMES)
def test_a_plain_program_does_the_same(rewriting: Rewriting, capsys: pytest.CaptureFixture[str]) -> None:
    """A rewritten program that needs no framework prints what it printed."""
    text = RUN
    exec(compile(text, "plain.py", "exec"), {"__name__": "plain"})
    meant = capsys.readouterr().out
    variant = rewriting(text)
    assert variant is not None
    assert variant.text != text
    exec(compile(variant.text, "plain.py", "exec"), {"__name__": "plain"})
    assert capsys.readouterr().out == meant != ""


RUN = """\
import math


def twice(value):
    return value * 2


def learn(values, amount):
    values.append(amount)
    last = values[-1]
    return last


class Meter:
    def __init__(self):
        self.count = 0

    def add(self, amount):
        self.count = self.count + amount
        return self


values = []
first = 1
second = 2.5
meter = Meter()
total = 0
for number in range(4):
    part = twice(number)
    total = total + part
    if part > 2:
        kept = learn(values, part)
        print("kept", kept)
    else:
        print("small", math.floor(second))
    meter.add(first).add(part)
for again in range(3):
    total = total + again
    print(str(math.floor(total)))
print(total, values, meter.count, first, second)
"""
