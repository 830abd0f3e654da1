"""Mending of an evaluation in a framework without scopes: the network's own copy for inference."""

from __future__ import annotations

from adlint import program as p
from adlint.catalog import Rule
from adlint.checks.context import Context, Fix, attempted, binds
from adlint.checks.summing import unused

NAMES = ("valid", "valid_model", "inference_model")


@attempted
def taken(context: Context, rule: Rule, site: p.Node, loop: p.Statement | None) -> Fix | None:
    """Take the copy for inference once, before the loop around a forward, and give it untracked inputs."""
    net = site.function if isinstance(site, p.Call) else None
    if isinstance(net, p.Attribute) and context.profile.method("module", net.attr) == "call":
        net = net.value
    if loop is None or not isinstance(net, p.Name) or not isinstance(site, p.Call) or binds((loop,), net.id):
        return None
    name = unused(context, site, NAMES)
    terms, rewriter = context.profile.terms, context.rewriter
    edits = (
        *rewriter.insert_before(loop, f"{name} = {net.id}.{terms['inference']}"),
        *rewriter.replace(net, name),
    )
    for argument in site.arguments:
        if not isinstance(argument.value, p.Constant):
            text = rewriter.parenthesised(argument.value)
            edits = (*edits, *rewriter.replace(argument.value, f"{text}.{terms['untracked']}"))
    return context.fix(rule, edits, "inference", net=net.id)
