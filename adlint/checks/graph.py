"""Is the graph still alive? Checks on facts about backward passes through freed nodes."""

from __future__ import annotations

from contextlib import suppress

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks import cutting, moving
from adlint.checks.context import (
    Applicability,
    CannotRewrite,
    Context,
    Edit,
    Event,
    Fix,
    always,
    attempted,
    called_names,
    is_test,
    short,
    target,
)
from adlint.checks.summing import (
    after_loop,
    bare,
    is_receiver,
    is_set,
    named,
    rebinds,
    retaining,
    root,
    scaled,
    steps_within,
    summed,
)
from adlint.diagnostics import Diagnostic, Related
from adlint.tape.facts import Fact

DISTURBING = {"step", "zero_grad", "grad", "clip_grad_norm_", "clip_grad_value_", "unscale_", "item_"}


def double_backward(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a loss that is backpropagated again after its graph was freed, or whose gradient doubles."""
    found = []
    for fact in [*context.facts.of("consumed-again"), *context.facts.of("doubled")]:
        first = fact.causes[0]
        key = "doubles" if fact.kind == "doubled" else "asked" if "tape" in dict(fact.details) else "default"
        message = rule.messages[key].format(loss=named(context, fact.event), line=context.line(first.site))
        related = _related(context, first, fact.shared)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, _repeat(context, rule, fact)))
    return found


def shared_backward(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a loss whose backward meets what another loss's backward has freed."""
    found = []
    for fact in context.facts.of("shared-consumed"):
        first = fact.causes[0]
        shared = f"`{short(context.text(fact.shared))}`" if fact.shared is not None else "a part of its graph"
        message = rule.message.format(
            loss=named(context, fact.event),
            shared=shared,
            other=named(context, first),
            line=context.line(first.site),
        )
        fix = _combined(context, rule, fact)
        found.append(
            context.diagnostic(rule, fact, fact.event.site, message, _related(context, first, fact.shared), fix)
        )
    return found


def retain_to_accumulate(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report passes that keep their graph only so that others can add to the same gradients."""
    found = []
    for facts in _groups(context, context.facts.of("piled-up")):
        events = {event.site: event for fact in facts for event in (fact.event, fact.causes[0])}
        members = sorted(events.values(), key=lambda event: context.program.span(event.site))
        first = next((e for e in members if e.asked and is_set(retaining(context, e))), None)
        if first is None or any(e.asked and not is_set(retaining(context, e)) for e in members):
            continue
        if any(f.event.turn != f.causes[0].turn and steps_within(context, f.event) for f in facts):
            continue
        fact = next((f for f in facts if f.event.site is first.site), facts[0])
        second = fact.causes[0]
        turns = first.site is second.site and fact.event.turn != second.turn
        key = "running" if dict(fact.details)["running"] else "loop" if turns else "default"
        message = rule.messages[key].format(loss=named(context, first), line=context.line(second.site))
        related = [context.related("and this step applies the sum", fact.causes[1].site)]
        if first.site is not second.site:
            related.insert(0, context.related("this pass adds to the same gradients", second.site))
        fix = _added_up(context, rule, key, fact, members)
        found.append(context.diagnostic(rule, fact, first.site, message, tuple(related), fix))
    return found


def useless_retain(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report passes that keep a graph which nothing walks again."""
    found = []
    if is_test(context.program.filename):
        return []
    added = {fact.causes[0].site for fact in context.facts.of("piled-up")}
    for fact in context.facts.of("kept-in-vain"):
        site, argument = fact.event.site, retaining(context, fact.event)
        if argument is None or site in added or not (is_set(argument) or _counts(context, argument)):
            continue
        message = rule.message.format(loss=named(context, fact.event))
        fix = None
        if isinstance(site, p.Call):
            with suppress(CannotRewrite):
                fix = context.fix(rule, context.rewriter.remove_argument(argument, site))
        found.append(context.diagnostic(rule, fact, site, message, (), fix))
    return found


def dropped_loss(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report losses of a training loop that nothing backpropagates, where they cannot be meant as a measure."""
    found = []
    for fact in context.facts.of("unwalked-loss"):
        site, step, details = fact.event.site, fact.causes[0], dict(fact.details)
        statement = context.statement(site)
        name = target(context, statement)
        bare_loss = isinstance(statement, p.Evaluate) and statement.value is site
        several = details["apart"] and details["terms"] != 1 and details["trained"] and "loss" in name.lower()
        if (
            _conditional(context, statement)
            or _switched(context, statement, name)
            or not (bare_loss or (name and (details["idle"] or several)))
        ):
            continue
        key = "bare" if bare_loss else "empty" if details["idle"] else "default"
        message = rule.messages[key].format(loss=name, line=context.line(step.site))
        related = () if bare_loss else (context.related("this step is for its parameters", step.site),)
        fix = None
        if not bare_loss and details["apart"] and step.site in context.facts.training:
            with suppress(CannotRewrite):
                stepping = context.statement(step.site)
                if context.in_block_of(site, stepping) is not None:
                    edits = context.rewriter.insert_before(stepping, f"{name}.backward()")
                    fix = context.fix(rule, edits, applicability=Applicability.DISPLAY)
        found.append(context.diagnostic(rule, fact, site, message, related, fix))
    return found


def _conditional(context: Context, statement: p.Statement) -> bool:
    """Tell whether a statement is run only on a condition within its loop or function."""
    for node in context.above(statement):
        if isinstance(node, (p.Loop, p.Function)):
            return False
        if isinstance(node, (p.Branch, p.Try, p.Match)) and not always(node):
            return True
    return False


def _switched(context: Context, statement: p.Statement, name: str) -> bool:
    """Tell whether a loss takes part in something on a condition that was not met: a switch leaves it out."""
    for node in p.walk_all(context.body(statement)):
        if not isinstance(node, (p.Name, p.Attribute)) or context.text(node) != name:
            continue
        parent = context.parents.get(node)
        if isinstance(parent, p.Attribute) and context.profile.method("tensor", parent.attr) != "backward":
            continue
        kinds = (p.Branch, p.Conditional, p.Function, p.Boolean)
        around = [n for n in context.above(node) if isinstance(n, kinds) and not always(n)]
        if around and not isinstance(around[0], p.Function) and not isinstance(context.statement(node), p.Evaluate):
            return True
        if around and isinstance(around[0], p.Branch) and isinstance(parent, p.Attribute):
            return True
    return False


def _counts(context: Context, argument: p.Argument) -> bool:
    """Tell whether a retain flag is a comparison made on the spot, as `i < n - 1` is."""
    value = argument.value
    if isinstance(value, p.Boolean) and value.op == "not" and len(value.operands) == 1:
        value = value.operands[0]
    return isinstance(value, p.Compare)


def _groups(context: Context, facts: list[Fact]) -> list[list[Fact]]:
    """Return facts in groups that one mending covers: those whose passes are linked."""
    groups: list[tuple[set[p.Node], list[Fact]]] = []
    for fact in facts:
        sites, joined = {fact.event.site, fact.causes[0].site}, [fact]
        rest = []
        for others, held in groups:
            if sites & others:
                sites, joined = sites | others, held + joined
            else:
                rest.append((others, held))
        groups = [*rest, (sites, joined)]
    return [held for _, held in groups]


@attempted
def _added_up(context: Context, rule: Rule, key: str, fact: Fact, members: list[Event]) -> Fix | None:
    """Backpropagate the sum once: in place of the last pass, or after the loop whose turns are the passes."""
    if len(members) > 1:
        return context.fix(rule, summed(context, members)) if key == "default" else None
    if key == "default":
        return None
    edits = after_loop(context, fact.event, fact.causes[0], running=key == "running")
    return context.fix(rule, edits, key, Applicability.UNSAFE)


def carried_graph(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a backward that walks into the graph of an earlier turn of its loop."""
    found = []
    for fact in _once(context.facts.of("carried-graph")):
        first = fact.causes[0]
        what = " and ".join(f"`{cutting.spelled(h)}`" for h in cutting.carriers(context, fact))
        message = rule.messages[_manner(fact)].format(
            loss=named(context, fact.event), what=what or "what it is made of", line=context.line(first.site)
        )
        fix = cutting.cut_state(context, rule, fact)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, _causes(context, fact), fix))
    return found


def stale_forward(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a backward in a loop through a forward that was made before the loop."""
    found = []
    for fact in _once(context.facts.of("stale-forward")):
        message = rule.messages[_manner(fact)].format(
            loss=named(context, fact.event), line=context.line(fact.causes[0].site), **_made(context, fact)
        )
        fix = moving.into_the_loop(context, rule, fact)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, _causes(context, fact), fix))
    return found


def undetached_adversary(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a backward of one player that runs back into the network of another."""
    found = []
    for fact in _once(context.facts.of("undetached")):
        other = fact.causes[0]
        key = "leaks" if other.kind == "step" else "repeats" if other.site is fact.event.site else "default"
        what = " and ".join(f"`{short(context.text(one))}`" for one in cutting.taken_in(context, fact))
        message = rule.messages[key].format(
            loss=named(context, fact.event), what=what or "its input", line=context.line(other.site)
        )
        related = [
            context.related("this step applies them" if other.kind == "step" else "it is needed here", other.site)
        ]
        fix = cutting.cut_input(context, rule, fact)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, tuple(related), fix))
    return found


def step_between(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a backward that needs parameters which were updated after its forward."""
    found = []
    for fact in _once(context.facts.of("step-between")):
        message = rule.message.format(
            loss=named(context, fact.event), line=context.line(fact.causes[0].site), **_made(context, fact)
        )
        fix = moving.behind_the_backward(context, rule, fact)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, _causes(context, fact), fix))
    return found


def _once(facts: list[Fact]) -> list[Fact]:
    """Return one fact for each place, the surest."""
    kept: dict[p.Node, Fact] = {}
    for fact in sorted(facts, key=lambda f: not f.definite):
        kept.setdefault(fact.event.site, fact)
    return list(kept.values())


def _manner(fact: Fact) -> str:
    details = dict(fact.details)
    return "outdated" if "outdated" in details else "silent" if details.get("silent") else "default"


def _made(context: Context, fact: Fact) -> dict[str, object]:
    shared = fact.shared
    if shared is None:
        return {"what": "its forward", "at": context.line(fact.event.site)}
    return {"what": f"`{short(context.text(shared))}`", "at": context.line(shared)}


def _causes(context: Context, fact: Fact) -> tuple[Related, ...]:
    first = fact.causes[0]
    if first.kind in ("backward", "grad"):
        return _related(context, first, fact.shared)
    related = [context.related("this updates the parameters", first.site)]
    if fact.shared is not None:
        related.append(context.related("the values that they had are needed for this", fact.shared))
    return tuple(related)


def _related(context: Context, first: Event, shared: p.Node | None) -> tuple[Related, ...]:
    related = [context.related("this backward freed the graph", first.site)]
    if shared is not None and isinstance(shared, p.Node) and not isinstance(shared, p.Pass):
        related.append(context.related("the shared part is computed here", shared))
    return tuple(related)


@attempted
def _repeat(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Drop the repeat, if it never went through, brings no gradient of its own, and nothing happened in between."""
    first, second, details = fact.causes[0], fact.event, dict(fact.details)
    a, b = context.statement(first.site), context.statement(second.site)
    tape = details.get("tape")
    if isinstance(tape, p.Call):
        edits = context.rewriter.add_argument(tape, context.profile.terms["retain"])
        return context.fix(rule, edits, "retain")
    if second.kind == "grad" and first.kind == "backward" and a is not b:
        return _keep(context, rule, first, "retain_graph=True", "retain")
    if a is b or first.kind != "backward" or second.kind != "backward" or not bare(b, second):
        return None
    if not details["covered"] or not details["direct"] or scaled(first) != scaled(second):
        return None
    if fact.kind == "consumed-again" and second.site in context.facts.passes:
        return None
    if b in context.block(a) and DISTURBING & called_names(context.between(a, b)):
        return None
    return context.fix(rule, context.rewriter.delete(b))


@attempted
def _combined(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Add the losses and backpropagate once, at the place of the second backward."""
    first, second = fact.causes[0], fact.event
    if first.site is second.site:
        if dict(fact.details)["direct"]:
            return None
        return _keep(context, rule, second, "retain_graph=True", "retain")
    if first.kind == "grad" and second.kind == "grad":
        return None
    if first.kind == "grad":
        return _keep(context, rule, first, "create_graph=True", "create")
    a, b = context.statement(first.site), context.statement(second.site)
    if not (bare(a, first) and bare(b, second)) or b not in context.block(a):
        return None
    if DISTURBING & called_names(context.between(a, b)) or not _alike(context, first.site, second.site):
        return None
    left, right = root(first.site, first), root(second.site, second)
    if left is None or right is None or rebinds(left, context.between(a, b)):
        return None
    total = f"{context.text(left)} + {context.rewriter.parenthesised(right)}"
    if is_receiver(second.site, right):
        total = f"({total})"
    edits: tuple[Edit, ...] = (*context.rewriter.delete(a), *context.rewriter.replace(right, total))
    return context.fix(rule, edits, applicability=Applicability.UNSAFE if dict(fact.details)["several"] else None)


@attempted
def _keep(context: Context, rule: Rule, event: Event, argument: str, title: str) -> Fix | None:
    if not isinstance(event.site, p.Call) or not context.profile.retain_argument:
        return None
    edits = context.rewriter.add_argument(event.site, argument)
    return context.fix(rule, edits, title, Applicability.UNSAFE)


def _alike(context: Context, first: p.Node, second: p.Node) -> bool:
    """Tell whether two backward calls differ in nothing but the loss."""
    if not isinstance(first, p.Call) or not isinstance(second, p.Call):
        return False
    f, g = first.function, second.function
    if (
        isinstance(f, p.Attribute)
        and isinstance(g, p.Attribute)
        and isinstance(f.value, p.Call) != isinstance(g.value, p.Call)
    ):
        return False
    extra = [[a for a in c.arguments if a.keyword] for c in (first, second)]
    return not extra[0] and not extra[1] and len(first.arguments) == len(second.arguments) <= 1
