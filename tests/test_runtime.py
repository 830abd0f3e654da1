"""Every fixture program under PyTorch: wrong programs go wrong as their rule says, right and fixed ones run through."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import oracle
import pytest

from adlint.config import Settings
from adlint.linter import fix
from adlint.source import Source

if TYPE_CHECKING:
    from conftest import Case

pytestmark = pytest.mark.runtime

INFERENCE = "Inference tensors cannot be saved for backward"

FREED = "Trying to backward through the graph a second time"

OVERWRITTEN = "has been modified by an inplace operation"

RAISES = {
    "double-backward": (FREED,),
    "shared-backward": (FREED,),
    "inference-tensor-in-graph": (INFERENCE,),
    "non-leaf-grad": ("'NoneType'", "can't optimize a non-leaf Tensor"),
    "non-scalar-backward": ("grad can be implicitly created only for scalar outputs",),
    "inplace-on-leaf": ("leaf Variable that requires grad",),
    "inactive-grad": ("appears to not have been used in the graph", "does not require grad"),
}
"""Rules whose programs raise one of these; where nothing was saved, the result is twice that of the fixed program."""

BREAKS = {"carried-graph", "stale-forward", "step-between", "undetached-adversary"}
"""Rules whose programs find a graph freed or its parameters updated; or run through with another result than the fixed
one, where nothing on the way noticed."""

ELSEWHERE = {"undetached-adversary"}
"""Rules that report what does the harm; it is another line that raises."""

DIFFERS = {
    "foreign-grad",
    "gradless-term",
    "misplaced-clip",
    "misplaced-step",
    "misplaced-zero-grad",
    "missing-eval-mode",
    "missing-step",
    "missing-train-mode",
    "missing-zero-grad",
    "unscaled-accumulation",
    "discarded-grad",
}
"""Rules whose programs run through with another result than the fixed one."""

SEVERED = {"dropped-loss"}
"""Rules whose programs give the same result where the marked value is cut from its graph: nothing ever walks it."""

WASTES = {"retain-to-accumulate", "useless-retain"}
"""Rules whose programs run through with the same result as the fixed one and keep graphs for nothing."""

RECORDS = {"eval-without-no-grad", "inert-no-grad"}
"""Rules whose programs run through with the same result and save more tensors than the fixed one."""

MAY_RAISE = {
    "inert-no-grad": ("context manager protocol", "__enter__"),
    "backward-without-graph": ("does not require grad", "has no attribute 'backward'"),
}
"""Rules of which some programs raise one of these at a marked line instead."""

HOLDS = {"accumulated-graph"}
"""Rules whose programs run through with the same result and hold more of their graphs at the end than the fixed one."""

UNTRAINED = {"backward-without-graph"}
"""Rules whose programs else run through and train nothing: their first result is their last one."""

run = lru_cache(maxsize=None)(oracle.run)


def golden(case: Case) -> str:
    assert case.golden is not None, f"{case.id}: shown only against a fixed program, and there is none"
    return case.golden


def test_wrong_program_goes_wrong(wrong: Case) -> None:
    """The misbehaviour that the marks claim is real."""
    outcome = run(wrong.text)
    if wrong.rule in RAISES:
        if outcome.error is None:
            once = run(golden(wrong)).result
            assert once, "no RESULT"
            assert outcome.result == pytest.approx([2 * value for value in once])
        else:
            assert any(text in outcome.error for text in RAISES[wrong.rule]), outcome.error
            assert outcome.line in {line for line, _ in wrong.marks.want | wrong.marks.possible | wrong.marks.todo}
        return
    if wrong.rule in BREAKS and outcome.error is not None:
        assert FREED in outcome.error or OVERWRITTEN in outcome.error
        there = outcome.line in {line for line, _ in wrong.marks.want | wrong.marks.possible | wrong.marks.todo}
        assert there or wrong.rule in ELSEWHERE
        return
    if outcome.error is not None and any(text in outcome.error for text in MAY_RAISE.get(wrong.rule, ())):
        assert outcome.line in {line for line, _ in wrong.marks.want | wrong.marks.possible | wrong.marks.todo}
        return
    assert outcome.error is None
    assert outcome.result, "no RESULT"
    if wrong.rule in DIFFERS | BREAKS:
        assert oracle.differ(outcome.result, run(golden(wrong)).result)
    elif wrong.rule in SEVERED:
        lines = wrong.text.split("\n")
        for line, _ in wrong.marks.want:
            target, equals, value = lines[line - 1].rpartition(" = ")
            indentation = "" if equals else value[: len(value) - len(value.lstrip())]
            lines[line - 1] = f"{target}{equals}{indentation}({value.strip()}).detach()"
        assert not oracle.differ(outcome.result, run("\n".join(lines)).result)
    elif wrong.rule in WASTES:
        if wrong.golden is not None:
            assert "retain_graph" not in wrong.golden
            assert not oracle.differ(outcome.result, run(wrong.golden).result)
    elif wrong.rule in RECORDS:
        recorded = run(wrong.text, count=True).saved
        assert recorded, "nothing is recorded"
        if wrong.golden is not None:
            assert not oracle.differ(outcome.result, run(wrong.golden).result)
            assert recorded > (run(wrong.golden, count=True).saved or 0)
    elif wrong.rule in HOLDS:
        held = run(wrong.text, count=True).alive
        assert held, "nothing is held"
        if wrong.golden is not None:
            assert not oracle.differ(outcome.result, run(wrong.golden).result)
            assert held > (run(wrong.golden, count=True).alive or 0)
    elif wrong.rule in UNTRAINED:
        assert len(outcome.result) > 1
        assert outcome.result[0] == outcome.result[-1]
    else:
        pytest.fail(f"say in RAISES, BREAKS, DIFFERS, SEVERED, WASTES or RECORDS what a {wrong.rule} does at run time")


def test_right_program_runs(right: Case) -> None:
    """What a naive rule would report runs through."""
    outcome = run(right.text)
    assert outcome.error is None
    assert outcome.result, "no RESULT"


def test_fixed_program_runs(mended: Case) -> None:
    """The expert's fix runs through."""
    outcome = run(golden(mended))
    assert outcome.error is None
    assert outcome.result, "no RESULT"


def test_our_fix_does_what_the_experts_does(mended: Case) -> None:
    """The text that a fix leaves runs through with the result of the expert's."""
    if mended.marks.todo:
        pytest.skip("a known miss cannot be mended yet")
    ours = run(fix(Source("case.py", mended.text), Settings(), unsafe=True).text)
    assert ours.error is None
    assert not oracle.differ(ours.result, run(golden(mended)).result)
