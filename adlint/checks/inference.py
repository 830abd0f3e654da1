"""Mending of an evaluation in a framework without scopes: the network's own copy for inference."""

from __future__ import annotations

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import Context, Fix, attempted

NAMES = ("valid", "valid_model", "inference_model")


@attempted
def taken(context: Context, rule: Rule, site: p.Node) -> Fix | None:
    """Take the copy for inference once, before the outermost loop around a forward, and give it untracked inputs."""
    loops = []
    for node in context.above(site):
        if isinstance(node, (p.Function, p.Class)):
            break
        if isinstance(node, p.Loop):
            loops.append(node)
    net = site.function if isinstance(site, p.Call) else None
    if isinstance(net, p.Attribute) and context.profile.method("module", net.attr) == "call":
        net = net.value
    if not loops or not isinstance(net, p.Name) or not isinstance(site, p.Call):
        return None
    mentioned = {n.id for n in p.walk_all(context.program.body) if isinstance(n, p.Name)}
    name = next((one for one in NAMES if one not in mentioned), None)
    inner = next((loop for loop in loops if not _trains(context, loop)), None)
    outermost = next((loop for loop in reversed(loops) if not _trains(context, loop)), None)
    if name is None or inner is None or outermost is None or _binds(outermost, net.id):
        return None
    terms, rewriter = context.profile.terms, context.rewriter
    edits = (
        *rewriter.insert_before(outermost, f"{name} = {net.id}.{terms['inference']}"),
        *rewriter.replace(net, name),
    )
    for argument in site.arguments:
        if not isinstance(argument.value, p.Constant):
            text = rewriter.parenthesised(argument.value)
            edits = (*edits, *rewriter.replace(argument.value, f"{text}.{terms['untracked']}"))
    return context.fix(rule, edits, "inference", net=net.id)


def _trains(context: Context, loop: p.Loop) -> bool:
    return any(part in context.facts.training for part in p.walk(loop))


def _binds(loop: p.Loop, name: str) -> bool:
    """Tell whether a loop gives a name another value."""
    targets: list[p.Node] = [] if loop.target is None else [loop.target]
    for part in p.walk(loop):
        if isinstance(part, p.Assign):
            targets += part.targets
    return any(isinstance(n, p.Name) and n.id == name for target in targets for n in p.walk(target))
