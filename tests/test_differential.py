"""Generated programs: no finding that no run bears out, no fix that makes anything worse."""

from __future__ import annotations

from collections import Counter

import pytest
from differential.agreement import Agreement, agree
from differential.monitor import watch
from differential.programs import programs
from hypothesis import HealthCheck, Phase, given, settings

pytestmark = pytest.mark.runtime

QUICK = 300
"""How many programs the suite runs; the campaign that docs/precision.md tells of ran more."""


def test_adlint_agrees_with_the_runtime() -> None:
    """Every definite finding is borne out by a run; what goes wrong unseen stays rare."""
    total: Counter[str] = Counter()

    @settings(
        max_examples=QUICK,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(programs())
    def run(text: str) -> None:
        found = agree(text)
        assert not found.unconfirmed, text
        assert not found.faults, text
        total.update(_counts(found))

    run()
    assert total["confirmed"] > QUICK // 2, "the programs are too tame to tell"
    assert total["missed"] < total["confirmed"] / 20


def _counts(found: Agreement) -> dict[str, int]:
    return {name: len(getattr(found, name)) for name in ("confirmed", "missed", "mended")}


MISUSED = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs in torch.ones(3, 2, 3):
    loss = model(inputs).pow(2).sum()
    loss.backward()
    optimizer.step()
RESULT = model.bias.tolist()
"""


def test_the_monitor_sees_what_is_applied_again() -> None:
    """The first backward after a step adds to what the step has applied; as meant, it does not."""
    seen, result = watch(MISUSED, [True])
    assert {(event.kind, event.plain) for event in seen.events} == {("accumulated", True)}
    assert all(9 in event.lines for event in seen.events)
    meant, other = watch(MISUSED, [True], meant=True)
    cleared = MISUSED.replace("    loss.backward()", "    optimizer.zero_grad()\n    loss.backward()")
    assert meant.events == []
    assert other == watch(cleared, [True])[1] != result


def test_the_monitor_goes_on_after_a_refusal() -> None:
    """A backward through a freed graph is noted and left out."""
    twice = MISUSED.replace(
        "    optimizer.step()", "    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()"
    )
    seen, result = watch(twice, [True])
    assert {event.kind for event in seen.events} == {"freed"}
    assert [event.plain for event in seen.events] == [True, False, False]
    once = MISUSED.replace("    optimizer.step()", "    optimizer.step()\n    optimizer.zero_grad()")
    assert result == watch(once, [True])[1]


def test_the_monitor_sees_what_nobody_walks() -> None:
    """A forward that no backward reaches, and gradients that are cleared before any step."""
    unused = MISUSED.replace("    optimizer.step()", "    optimizer.zero_grad()\nmodel(inputs)\noptimizer.step()")
    kinds = {(event.kind, line) for event in watch(unused, [True])[0].events for line in event.lines}
    assert {("discarded", 10), ("unwalked", 11), ("empty", 12)} <= kinds
