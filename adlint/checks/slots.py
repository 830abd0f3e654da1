"""Are the gradient slots clean when it matters? Checks on facts about steps that apply what was applied before."""

from __future__ import annotations

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks import functional, leaves, placing, reducing, windows
from adlint.checks.context import Applicability, CannotRewrite, Context, Event, Fix, attempted, is_test, visible
from adlint.diagnostics import Diagnostic
from adlint.tape.facts import Fact


def missing_zero_grad(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a backward that adds to gradients which a step has applied and the next step will apply again."""
    found, seen = [], set()
    facts = sorted(context.facts.of("applied-again"), key=lambda f: not f.definite)
    for fact in facts:
        step = fact.causes[0]
        uncalled = next((c for c in fact.causes if c.uncalled), None)
        site = uncalled.site if uncalled is not None else fact.event.site
        if site in seen:
            continue
        seen.add(site)
        owner = _owner(context, step)
        message = rule.message.format(owner=owner, line=context.line(step.site))
        related = [context.related("the step that applies them, again and again", step.site)]
        fix = _called(context, rule, uncalled) if uncalled is not None else None
        if uncalled is None:
            alike = [other for other in facts if other.causes[0].site is step.site]
            begins = _first(context, step, fact, alike)
            fix = _cleared(context, rule, step, begins.event, waits=bool(dict(begins.details)["waiting"]))
        if dict(fact.details)["aliased"]:
            fix = None
        found.append(context.diagnostic(rule, fact, site, message, tuple(related), fix))
    return found


def foreign_grad(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a backward whose optimizer is about to apply what another optimizer's loss has left in its parameters."""
    found, seen = [], set()
    for fact in sorted(context.facts.of("foreign-applied"), key=lambda f: not f.definite):
        if fact.event.site in seen:
            continue
        seen.add(fact.event.site)
        foreign, other = fact.causes[0], fact.causes[1]
        step = dict(fact.details)["step"]
        assert isinstance(step, Event)
        message = rule.message.format(owner=_owner(context, step).strip("`"), line=context.line(foreign.site))
        related = (
            context.related("this backward also reached its parameters", foreign.site),
            context.related("and was meant for this step", other.site),
        )
        fix = None
        if context.in_block_of(fact.event.site, context.statement(step.site)) is not None:
            fix = _cleared(context, rule, step, fact.event)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    return found


def misplaced_zero_grad(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a clear that takes gradients away before the step that was to apply them."""
    found, seen = [], set()
    for fact in sorted(context.facts.of("wiped"), key=lambda f: not f.definite):
        if fact.event.site in seen:
            continue
        seen.add(fact.event.site)
        lost, step = fact.causes
        window = bool(dict(fact.details)["window"])
        text = rule.messages["window" if window else "default"]
        message = text.format(line=context.line(lost.site), step=context.line(step.site))
        related = (
            context.related("the gradients of this backward are lost", lost.site),
            context.related("the step that was to apply them", step.site),
        )
        places = [context.function(one.site) for one in fact.causes]
        fix = _kept(context, rule, fact) if context.function(fact.event.site) in places else None
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    return found


@attempted
def _kept(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Move the clear out of the way: before the backward, or behind the step; or clear only what comes next."""
    details, clear = dict(fact.details), fact.event
    lost, step = fact.causes
    if details["window"]:
        again = [context.text(s) for s in placing.follows(context, context.statement(step.site))]
        statement = placing.bare(context, clear.site)
        if statement is not None and context.text(statement) in again:
            return context.fix(rule, context.rewriter.delete(statement), "drop")
        edits = placing.moved_after(context, clear.site, step.site)
        return None if edits is None else context.fix(rule, edits, "after")
    if details["own"] and placing.left(context, clear.site, step.site):
        edits = placing.moved_after(context, clear.site, step.site)
        return None if edits is None else context.fix(rule, edits, "after", Applicability.UNSAFE)
    if details["own"]:
        edits = placing.moved_before(context, clear.site, lost.site)
        if edits is not None:
            return context.fix(rule, edits)
        edits = placing.moved_after(context, clear.site, step.site)
        return None if edits is None else context.fix(rule, edits, "after")
    if details["other"] and clear.subject is not None:
        owner = str(details["other"])
        edits = context.rewriter.replace(clear.subject, owner)
        return context.fix(rule, edits, "narrow", Applicability.UNSAFE, owner=owner)
    return None


def misplaced_step(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a step that comes before the backward of its turn."""
    found, seen = [], set()
    for fact in sorted(context.facts.of("idle-step"), key=lambda f: not f.definite):
        step, backward = fact.event, fact.causes[0]
        if step.site in seen:
            continue
        seen.add(step.site)
        message = rule.message.format(owner=_owner(context, step), line=context.line(backward.site))
        related = (context.related("the backward whose gradients it misses", backward.site),)
        found.append(context.diagnostic(rule, fact, step.site, message, related, _late(context, rule, step, backward)))
    return found


@attempted
def _late(context: Context, rule: Rule, step: Event, backward: Event) -> Fix | None:
    """Move the step, and the end of its scaler's turn, behind the backward and what clips its gradients."""
    edits = placing.moved_behind(context, step.site, backward)
    return None if edits is None else context.fix(rule, edits)


def misplaced_clip(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a clip that sees no gradients that are still to be applied, or sees them with a scaler's factor."""
    found, seen = [], set()
    for fact in (*context.facts.of("idle-clip"), *context.facts.of("scaled-clip")):
        if fact.event.site in seen:
            continue
        seen.add(fact.event.site)
        key = "default"
        if fact.kind == "scaled-clip":
            key = "scaled" if len(fact.causes) == 2 else "order"
        elif not dict(fact.details)["late"]:
            key = "before"
        cause = fact.causes[-1]
        owner = context.text(cause.subject) if cause.kind == "step" else ""
        message = rule.messages[key].format(line=context.line(cause.site), owner=owner)
        related = (context.related(rule.messages[f"{key}-cause"], cause.site),)
        fix = _clipped(context, rule, fact, key)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    return found


@attempted
def _clipped(context: Context, rule: Rule, fact: Fact, key: str) -> Fix | None:
    """Move the clip between the backward and the step, or take the scaler's factor out first."""
    clip, cause = fact.event, fact.causes[-1]
    statement = context.statement(clip.site)
    if key == "default":
        edits = placing.moved_before(context, clip.site, cause.site)
        return None if edits is None else context.fix(rule, edits)
    if key == "before":
        edits = placing.moved_behind(context, clip.site, cause)
        return None if edits is None else context.fix(rule, edits, "after")
    if key == "order":
        order = placing.bare(context, cause.site)
        place = context.in_block_of(clip.site, order) if order is not None else None
        if order is None or place is None:
            return None
        return context.fix(rule, context.rewriter.move_before(order, place), "order")
    site = cause.site
    if not (isinstance(site, p.Call) and isinstance(site.function, p.Attribute) and cause.subject is not None):
        return None
    parts = (site.function.value, cause.subject)
    if parts[0] is parts[1] or not all(visible(context, one, site, clip.site) for one in parts):
        return None
    if {n.id for n in p.walk_all(parts) if isinstance(n, p.Name)} & placing.bound_by(context, site, clip.site):
        return None
    code = f"{context.text(site.function.value)}.{{unscale}}({context.text(cause.subject)})"
    code = code.replace("{unscale}", context.profile.terms["unscale"])
    return context.fix(rule, context.rewriter.insert_before(statement, code), "scaled", code=code)


def unscaled_accumulation(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a window whose step applies the sum of means that nobody divides by its length."""
    found, seen = [], set()
    for fact in context.facts.of("unscaled"):
        backward, step = fact.event, fact.causes[0]
        divisor = windows.length(context, step)
        if backward.site in seen or divisor is None or windows.sized(context, divisor):
            continue
        seen.add(backward.site)
        length = context.text(divisor)
        message = rule.message.format(length=length, line=context.line(step.site))
        related = (context.related("the step that applies their sum", step.site),)
        fix = None
        change = windows.divided(context, backward, divisor)
        if change is not None and visible(context, divisor, divisor, backward.site):
            try:
                fix = context.fix(rule, context.rewriter.replace(*change), length=length)
            except CannotRewrite:
                fix = None
        found.append(context.diagnostic(rule, fact, backward.site, message, related, fix))
    return found


def missing_step(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report gradients of parameters that an optimizer owns, or was to own, and that no step ever applies."""
    found, seen = [], set()
    if is_test(context.program.filename):
        return []
    for fact in (*context.facts.of("never-applied"), *context.facts.of("never-owned")):
        uncalled = next((c for c in fact.causes if c.uncalled), None)
        exchanged = fact.kind == "never-owned"
        site = fact.causes[0].site if exchanged else uncalled.site if uncalled is not None else fact.event.site
        if site in seen:
            continue
        seen.add(site)
        name = str(dict(fact.details)["name"])
        key = "exchanged" if exchanged else "uncalled" if uncalled is not None else "default"
        line = context.line(fact.causes[1].site) if exchanged else context.line(fact.event.site)
        owner = f"`{name}`" if name else "its optimizer"
        message = rule.messages[key].format(owner=owner, what=context.text(site), line=line)
        related = () if site is fact.event.site else (context.related("these gradients are lost", fact.event.site),)
        fix = _called(context, rule, uncalled) if uncalled is not None else None
        if exchanged:
            fix = _exchanged(context, rule, fact)
        elif fix is None and name:
            fix = _stepped(context, rule, fact, name)
        found.append(context.diagnostic(rule, fact, site, message, related, fix))
    for fact in context.facts.of("strangers"):
        if fact.event.site not in seen:
            seen.add(fact.event.site)
            step, build = fact.causes
            text = rule.messages["strangers"].format(owner=_owner(context, step), line=context.line(build.site))
            others = (context.related("built with other parameters", build.site),)
            fix = _rebuilt(context, rule, fact)
            found.append(context.diagnostic(rule, fact, fact.event.site, text, others, fix))
    return found


@attempted
def _rebuilt(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Build the optimizer right before the loop, when its network is the one that is trained."""
    build = context.statement(fact.causes[1].site)
    place = context.in_block_of(fact.event.site, build)
    block = context.block(build)
    if place is None or not isinstance(build, p.Assign) or block.index(place) <= block.index(build):
        return None
    made = {t.id for target in build.targets for t in p.walk(target) if isinstance(t, p.Name)}
    between = context.between(build, place)
    if any(isinstance(n, p.Name) and n.id in made for n in p.walk_all(between)):
        return None
    given = {n.id for n in p.walk(build.value) if isinstance(n, p.Name)}
    changed = [t for one in between for t in placing.targets(one)]
    changed += [n for one in between if isinstance(one, p.Evaluate) for n in p.walk(one)]
    if not any(isinstance(n, p.Name) and n.id in given for n in changed):
        return None
    return context.fix(rule, context.rewriter.move_before(build, place), "rebuilt")


@attempted
def _stepped(context: Context, rule: Rule, fact: Fact, name: str) -> Fix | None:
    """Step the optimizer: instead of another one that is stepped twice, or where no step is."""
    backward = fact.event
    statement = placing.bare(context, backward.site)
    if statement is None:
        return None
    after = placing.follows(context, statement)
    for one in after:
        idle = next((s for s in fact.causes if context.statement(s.site) is one), None)
        if idle is not None and idle.subject is not None:
            return context.fix(rule, context.rewriter.replace(idle.subject, name), "other", owner=name)
    steps = [n for n in p.walk_all(context.body(backward.site)) if isinstance(n, p.Attribute) and n.attr == "step"]
    if any(context.text(n.value) == name for n in steps if not placing.scaler(context, backward)):
        return None
    edits = placing.inserted_step(context, backward, name)
    return None if edits is None else context.fix(rule, edits, owner=name)


@attempted
def _exchanged(context: Context, rule: Rule, fact: Fact) -> Fix | None:
    """Replace the member before the optimizer is built."""
    change, build = (context.statement(c.site) for c in fact.causes[:2])
    if build not in context.block(change) or context.block(change).index(build) > context.block(change).index(change):
        return None
    names = {n.id for n in p.walk(change) if isinstance(n, p.Name)}
    for one in (build, *context.between(build, change)):
        if any(isinstance(t, p.Name) and t.id in names for t in placing.targets(one)):
            return None
    return context.fix(rule, context.rewriter.move_before(change, build), "before")


def non_leaf_grad(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a gradient that is read from the result of an operation, and an optimizer that is given one."""
    found, seen = [], set()
    for fact in [*context.facts.of("absent-gradient"), *context.facts.of("optimized-result")]:
        made, read = dict(fact.details)["made"], fact.event.site
        if read in seen or not isinstance(made, p.Node):
            continue
        seen.add(read)
        key = "optimizer" if fact.kind == "optimized-result" else "default"
        if key == "default" and leaves.rebinds(context, made, read):
            key = "rebound"
        message = rule.messages[key].format(tensor=context.text(fact.event.subject), line=context.line(made))
        related = (context.related("the operation that makes it", made),)
        fix = leaves.as_leaf(context, rule, fact, made)
        found.append(context.diagnostic(rule, fact, read, message, related, fix))
    return found


def discarded_grad(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report gradients, and parameters updated with them, that are computed as a result which nobody keeps."""
    found = []
    for fact in context.facts.of("gradient-dropped"):
        message = rule.message.format(line=context.line(fact.causes[0].site))
        related = (context.related("this step finds nothing to apply", fact.causes[0].site),)
        fix = functional.as_backward(context, rule, fact)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    for fact in context.facts.of("update-dropped"):
        message = rule.messages["update"].format(call=functional.callee(context, fact.event.site))
        found.append(context.diagnostic(rule, fact, fact.event.site, message, (), functional.kept(context, rule, fact)))
    return found


def non_scalar_backward(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a pass without a seed that begins with more than one value."""
    found = []
    for fact in context.facts.of("many-rooted"):
        why = dict(fact.details)["why"]
        key = "grad" if fact.event.kind == "grad" else "default"
        message = rule.messages[key].format(loss=context.text(fact.event.subject))
        related = (context.related("here it is left with more than one value", why),) if isinstance(why, p.Node) else ()
        fix = reducing.reduced(context, rule, fact)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    return found


INACTIVE = {"untracked-input": "untracked", "unused-input": "default", "result-input": "result"}


def inactive_grad(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a functional gradient for an input that certainly has none."""
    found = []
    for fact in (fact for kind in INACTIVE for fact in context.facts.of(kind)):
        made = dict(fact.details)["made"]
        key = INACTIVE[fact.kind]
        if not isinstance(made, p.Node):
            continue
        message = rule.messages[key].format(line=context.line(made))
        related = (context.related("the input is made here", made),)
        fix = functional.activated(context, rule, fact, made)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    return found


def _first(context: Context, step: Event, fact: Fact, alike: list[Fact]) -> Fact:
    """Return the fact whose backward comes first in the block of a step, of those that may begin a turn there."""
    stepping = context.statement(step.site)
    block = context.block(stepping)
    places = [(context.in_block_of(one.event.site, stepping), one) for one in alike]
    inside = [(block.index(place), one) for place, one in places if place is not None]
    if context.in_block_of(fact.event.site, stepping) is None:
        return fact
    return min(inside, key=lambda pair: pair[0])[1]


def _owner(context: Context, step: Event) -> str:
    subject = _optimizer(step)
    return f"`{context.text(subject)}`" if subject is not None else "the parameters"


def _optimizer(step: Event) -> p.Expression | None:
    """Return the expression of the optimizer in a step: its receiver, or what a scaler is handed."""
    site = step.site
    if step.kind == "update" and isinstance(site, p.Call) and isinstance(site.function, p.Attribute):
        receiver = site.function.value
    elif isinstance(site, p.Augment):
        receiver = site.target
    else:
        return step.subject if isinstance(step.subject, p.Expression) else None
    return receiver.value if isinstance(receiver, p.Attribute) and receiver.attr == "data" else receiver


@attempted
def _called(context: Context, rule: Rule, event: Event) -> Fix | None:
    if event.subject is None:
        return None
    edits = context.rewriter.replace(event.subject, context.text(event.subject) + "()")
    return context.fix(rule, edits, "uncalled")


@attempted
def _cleared(context: Context, rule: Rule, step: Event, backward: Event, waits: bool = False) -> Fix | None:
    """Insert the clear: before the backward or its accumulation window, else right after the step or update; `waits`
    tells that before the backward something may still have to be applied."""
    owner = _optimizer(step)
    if owner is None:
        return None
    stepping = context.statement(step.site)
    text = context.text(owner)
    rewriter = context.rewriter
    if step.kind == "update":
        code = f"{text}.{context.profile.terms['clear_leaf']}"
        return context.fix(rule, rewriter.insert_after(stepping, code), "leaf", owner=text)
    code = f"{text}.{context.profile.terms['clear']}"
    if step.site in backward.calls and visible(context, owner, step.site, backward.site):
        closure = context.statement(backward.site)
        return context.fix(rule, rewriter.insert_before(closure, code), owner=text)
    same = context.function(step.site) is context.function(backward.site)
    if same:
        place = context.in_block_of(backward.site, stepping)
        if place is not None and not waits:
            return context.fix(rule, rewriter.insert_before(place, code), owner=text)
        return context.fix(rule, rewriter.insert_after(stepping, code), "after", owner=text)
    if visible(context, owner, step.site, backward.site) and step.calls != backward.calls:
        inner = context.function(backward.site)
        outer = context.function(step.site)
        if inner is not None and (outer in tuple(context.above(inner)) or isinstance(owner, p.Attribute)):
            place = context.statement(backward.site)
            return context.fix(rule, rewriter.insert_before(place, code), owner=text)
    return context.fix(rule, rewriter.insert_after(stepping, code), "after", owner=text)
