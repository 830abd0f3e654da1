"""Is recording on where it should be, and only there? Checks on facts about forwards in evaluation."""

from __future__ import annotations

from dataclasses import replace

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks import cuts, inert, inference, leaves, modes
from adlint.checks.context import Context, Edit, Event, Fix, attempted, differentiates, is_test, short
from adlint.diagnostics import Diagnostic, Related
from adlint.tape.facts import Fact


def eval_without_no_grad(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report forwards of a network in evaluation that are recorded though nothing is backpropagated through them."""
    found, places = [], set()
    if is_test(context.program.filename):
        return []
    for fact in context.facts.of("recorded-in-eval"):
        site = _place(context, fact)
        scope = _whole(context, site)
        if scope in places:
            continue
        places.add(scope)
        grows = context.profile.grows
        if grows:
            fix = inference.taken(context, rule, site, _outermost_loop(context, site))
        else:
            fix = _unrecorded(context, rule, site, fact)
        related: tuple[Related, ...] = ()
        if site is not fact.event.site:
            related = (context.related("recorded here", fact.event.site),)
        message = rule.messages["grows"] if grows else rule.message
        reported = context.diagnostic(rule, fact, site, message, related, fix)
        found.append(replace(reported, uncalled=str(dict(fact.details)["uncalled"])))
    return found


def inert_no_grad(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a scope that is meant to stop recording and stops nothing."""
    found, seen = [], set()
    for fact in context.facts.of("inert-scope"):
        form = inert.form_of(context, fact)
        whole = inert.whole(context, fact.event.site) if form == "volatile" else fact.event.site
        if whole in seen:
            continue
        seen.add(whole)
        key = {"dropped": "default", "other": "operand", "unset": "uncalled"}.get(form, form)
        message = rule.messages[key].format(**inert.words(context, fact))
        related = tuple(context.related("recorded here", cause.site) for cause in fact.causes)
        fix = inert.mended(context, rule, fact, form)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    return found


def backward_without_graph(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a backward of a value that was cut off from every parameter."""
    found, places = [], set()
    if is_test(context.program.filename):
        return []
    for fact in sorted(context.facts.of("cut-backward"), key=lambda f: not f.definite):
        site, details = fact.event.site, dict(fact.details)
        where, how = details["where"], str(details["how"])
        if site in places or not isinstance(where, p.Node) or cuts.caught(context, site):
            continue
        if how == "literal" and not cuts.for_lack_of_data(context, where):
            fact = replace(fact, definite=False)
        places.add(site)
        scope = details.get("scope")
        subject = fact.event.subject
        message = rule.messages[_key(how, bool(details["leaf"]), rule)].format(
            loss=context.text(subject) if subject is not None else "the loss",
            line=context.line(where),
            cut=context.text(where),
            scope=context.text(scope) if isinstance(scope, p.Node) else "",
        )
        related = (context.related("the graph ends here", where),)
        fix = cuts.mended(context, rule, fact.event, details)
        found.append(context.diagnostic(rule, fact, site, message, related, fix))
    return found


def accumulated_graph(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a value that is kept over the turns of a loop with a graph that a backward has already freed."""
    found, places = [], set()
    for fact in context.facts.of("kept-graph"):
        site, freed = fact.event.site, next(iter(fact.causes), None)
        if site in places or is_test(context.program.filename):
            continue
        places.add(site)
        subject = fact.event.subject
        kept = context.text(subject) if subject is not None else context.text(site)
        message = rule.messages["default" if freed is not None else "alone"].format(
            value=short(kept), line=0 if freed is None else context.line(freed.site)
        )
        related = () if freed is None else (context.related("this backward used the graph up", freed.site),)
        found.append(context.diagnostic(rule, fact, site, message, related, cuts.valued(context, rule, site, subject)))
    return found


def inference_tensor_in_graph(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report an operation that would have to save a tensor which was made in inference mode."""
    found, places = [], set()
    for fact in context.facts.of("inference-saved"):
        site, details = fact.event.site, dict(fact.details)
        where, scope = details["where"], details["scope"]
        if site in places or not isinstance(where, p.Node) or not isinstance(scope, p.Expression):
            continue
        if is_test(context.program.filename) or cuts.caught(context, site):
            continue
        places.add(site)
        text = context.text(site)
        message = rule.message.format(
            operation=short(text),
            scope=context.text(scope),
            line=context.line(where),
        )
        related = (context.related("the tensor is made here", where), context.related("in this scope", scope))
        found.append(context.diagnostic(rule, fact, site, message, related, cuts.softened(context, rule, scope)))
    return found


def gradless_term(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a sum that is backpropagated and has a term which was computed without recording."""
    found, places = [], set()
    for fact in context.facts.of("gradless"):
        site, details = fact.event.site, dict(fact.details)
        where, scope = details["where"], details["scope"]
        if site in places or not isinstance(where, p.Node) or not isinstance(scope, p.Expression):
            continue
        places.add(site)
        message = rule.message.format(line=context.line(where), scope=context.text(scope))
        related = (context.related("the term is computed here", where),)
        fix = cuts.recorded(context, rule, where, scope)
        found.append(context.diagnostic(rule, fact, site, message, related, fix))
    return found


def _key(how: str, leaf: bool, rule: Rule) -> str:
    kind = "leaf" if leaf else {"inference": "off", "wrapped": "data"}.get(how, how)
    return kind if kind in rule.messages else "default"


def inplace_on_leaf(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report updates of leaves in place while recording; those that one mending covers are one finding."""
    found = []
    facts = {fact.event.site: fact for fact in context.facts.of("leaf-updated")}
    for first, statements in leaves.runs(context, list(facts)):
        fact = facts[first]
        message = rule.message.format(tensor=context.text(fact.event.subject) or "the tensor")
        made = dict(fact.details)["made"]
        related = (context.related("the leaf is made here", made),) if isinstance(made, p.Node) else ()
        fix = leaves.unrecorded(context, rule, fact, statements)
        found.append(context.diagnostic(rule, fact, first, message, related, fix))
    return found


def missing_train_mode(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report a network that is trained in the evaluation mode which a validation left it in."""
    found, seen = [], set()
    for fact in context.facts.of("mode-named"):
        if dict(fact.details)["role"] == "train":
            message = rule.messages["named"].format(named=context.text(fact.event.site))
            fix = modes.called(context, rule, fact.event.site)
            found.append(context.diagnostic(rule, fact, fact.event.site, message, (), fix))
    for fact in sorted(context.facts.of("trained-in-eval"), key=lambda f: not f.definite):
        setter = fact.causes[0]
        if setter.site in seen:
            continue
        seen.add(setter.site)
        net = modes.network(fact.event)
        words = {"net": context.text(net), "setter": context.text(setter.site), "line": context.line(setter.site)}
        related = (context.related("put in evaluation mode here", setter.site),)
        fix = modes.trained(context, rule, fact, context.facts.loop_between(setter, fact.event))
        message = rule.message.format(**words)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    return found


def missing_eval_mode(context: Context, rule: Rule) -> list[Diagnostic]:
    """Report evaluations in training mode, and parts frozen in evaluation mode that are thawed again."""
    found, seen = [], set()
    for fact in context.facts.of("mode-named"):
        if dict(fact.details)["role"] == "eval":
            message = rule.messages["named"].format(named=context.text(fact.event.site))
            fix = modes.called(context, rule, fact.event.site)
            found.append(context.diagnostic(rule, fact, fact.event.site, message, (), fix))
    thawed = context.facts.of("thawed")
    for fact in thawed:
        if fact.event.site in seen:
            continue
        seen.add(fact.event.site)
        held = fact.causes[0]
        words = {"named": context.text(fact.event.site), "line": context.line(held.site)}
        related = (context.related("frozen here", held.site), context.related("trained here", fact.causes[1].site))
        switches = dict.fromkeys(one.causes[0].site for one in thawed if one.event.site is fact.event.site)
        message, fix = rule.messages["thawed"].format(**words), modes.again(context, rule, fact.event.site, [*switches])
        found.append(context.diagnostic(rule, fact, fact.event.site, message, related, fix))
    for fact in context.facts.of("tried-in-training"):
        net = modes.network(fact.event)
        place = modes.evaluation(context, fact.event.site, net)
        if place in seen or is_test(context.program.filename):
            continue
        seen.add(place)
        message = rule.message.format(net=context.text(net), eval=context.profile.terms["eval"])
        fix = modes.evaluated(context, rule, fact)
        found.append(context.diagnostic(rule, fact, fact.event.site, message, (), fix))
    return found


def _place(context: Context, fact: Fact) -> p.Node:
    """Return where to report: the forward, or, in a function that also trains, the call that evaluates with it
    and never trains."""
    event: Event = fact.event
    if not dict(fact.details).get("mixed"):
        return event.site
    for call in reversed(event.calls):
        if call in context.facts.training:
            break
        function = context.function(call)
        if isinstance(call, p.Call) and (function is None or not isinstance(context.statement(call), p.Return)):
            return call
    return event.site


def _whole(context: Context, site: p.Node) -> p.Node:
    """Return what one mending covers: the function if it only evaluates, else the loop or statement."""
    function = context.function(site)
    if function is not None and _evaluates(context, function):
        return function
    return _outermost_loop(context, site) or context.statement(site)


def _outermost_loop(context: Context, site: p.Node) -> p.Statement | None:
    """Return the outermost loop around a place, in its function, in which nothing trains."""
    found: p.Statement | None = None
    for node in context.above(site):
        if isinstance(node, (p.Function, p.Class)):
            break
        if isinstance(node, p.Loop):
            if differentiates(context, node):
                break
            found = node
    return found


@attempted
def _unrecorded(context: Context, rule: Rule, site: p.Node, fact: Fact) -> Fix | None:
    function = context.function(site)
    rewriter = context.rewriter
    walked = bool(dict(fact.details).get("walked"))
    if dict(fact.details).get("mixed") and site is fact.event.site:
        return None
    if function is not None and site is fact.event.site and not walked and _evaluates(context, function):
        name, imports = rewriter.spelling(context.no_grad, function)
        edits: tuple[Edit, ...] = (*imports, *rewriter.decorate(function, f"@{name}()"))
        return context.fix(rule, edits, function=function.name, scope=f"{name}()")
    statement = (
        context.statement(site)
        if walked or site is not fact.event.site
        else (_outermost_loop(context, site) or context.statement(site))
    )
    name, imports = rewriter.spelling(context.no_grad, statement)
    edits = (*imports, *rewriter.wrap((statement,), f"with {name}():"))
    return context.fix(rule, edits, "wrap", scope=f"{name}()")


def _evaluates(context: Context, function: p.Function) -> bool:
    """Tell whether a function does nothing but evaluate."""
    if function.is_async or function.is_generator or function.name in ("__init__", "forward"):
        return False
    return not any(differentiates(context, statement) for statement in function.body)
