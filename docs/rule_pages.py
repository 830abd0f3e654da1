"""The catalog as pages: one for each rule, and one that lists them by family. `write(folder)` writes them all.

Texts come from the rules' tables, messages, diffs and drawings of the tape from running adlint on their wrong examples,
and what is said of frameworks from their profiles, so that no page says what adlint does not do.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from pathlib import Path

from adlint.catalog import FAMILIES, Catalog, Rule, load
from adlint.config import Settings
from adlint.diagnostics import Applicability, Diagnostic
from adlint.linter import fix, lint
from adlint.profiles import Profile
from adlint.source import Source
from adlint.trace import Trace, renderer
from adlint.trace.account import explain

TARGET = "burn"
"""The framework to which the examples of the family `port` are to be ported."""

ASKS = {
    "graph": "Is the graph still alive when a backward needs it?",
    "slots": "Are the gradient slots clean when it matters?",
    "scope": "Is recording on where it has to be, and only there?",
    "port": "Does it work in another framework too? Reported with `--port-to` only: [frameworks](../frameworks.md).",
    "meta": "About adlint's own work: what it could not read, and comments that silence nothing.",
}
SAFETY = {
    Applicability.SAFE: "Safe: `--fix` applies it.",
    Applicability.UNSAFE: "Unsafe: `--fix --unsafe-fixes` applies it, and it needs a look.",
    Applicability.DISPLAY: "For display only: how to mend it is your choice.",
}
NAMES = {
    "burn": "burn",
    "chainer": "Chainer",
    "jax": "JAX",
    "jittor": "Jittor",
    "megengine": "MegEngine",
    "mindspore": "MindSpore",
    "mxnet": "MXNet",
    "oneflow": "OneFlow",
    "paddle": "PaddlePaddle",
    "tenferro": "tenferro",
    "tensorflow": "TensorFlow",
    "tinygrad": "tinygrad",
    "torch": "PyTorch",
}
FREES = {"saved-tensors": "what saved a tensor", "always": "every node", "never": "nothing"}
MARK = re.compile(r"[ \t]+# want: \S+$", re.MULTILINE)


def write(folder: Path) -> None:
    """Write all pages, touch none that stays the same, and remove those of rules that are gone."""
    catalog = load()
    pages = {"index.md": index(catalog), **{f"{rule.name}.md": page(rule, catalog) for rule in catalog.rules.values()}}
    traced = {rule.name: traces(rule, MARK.sub("", rule.bad)) for rule in catalog.rules.values()}
    pages.update({f"{name}.svg": renderer("svg")(found) for name, found in traced.items() if found})
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        file = folder / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for file in (*folder.glob("*.md"), *folder.glob("*.svg")):
        if file.name not in pages:
            file.unlink()


def index(catalog: Catalog) -> str:
    """Return the page that lists the rules by family."""
    parts = [
        "# Rules",
        "Every rule belongs to a family. A family, a rule's name, its id, or the beginning of an id selects rules: "
        "[configuration](../configuration.md). A fix is *safe*, *unsafe* or for *display*: "
        "[fixes](../getting-started.md#fix).",
    ]
    for family in FAMILIES:
        rows = [
            f"| {rule.id} | [{rule.name}]({rule.name}.md) | {rule.severity.value} | {fix_word(rule)} | {rule.summary} |"
            for rule in catalog.rules.values()
            if rule.family == family
        ]
        table = "\n".join(["| id | rule | severity | fix | reported when |", "|---|---|---|---|---|", *rows])
        parts += [f"## {family}", ASKS[family], table]
    ordered = [rule.name for family in FAMILIES for rule in catalog.rules.values() if rule.family == family]
    parts.append(fenced("{toctree}", "\n".join([":hidden:", "", *ordered])))
    return "\n\n".join(parts) + "\n"


def page(rule: Rule, catalog: Catalog) -> str:
    """Return the page about one rule."""
    wrong, right = MARK.sub("", rule.bad), rule.good
    parts = [
        f"# {rule.name}",
        sentence(rule.summary),
        f"| id | family | severity | fix |\n|---|---|---|---|\n"
        f"| {rule.id} | [{rule.family}](index.md#{rule.family}) | {rule.severity.value} | {fix_word(rule)} |",
        "## Why",
        rule.why,
        "## Example",
        "Wrong:",
        numbered("python" if rule.name != "unreadable-source" else "text", wrong),
        "Right:",
        fenced("python", right),
        *messages(rule, wrong),
        *seen(rule, wrong),
        *fixes(rule, wrong, catalog),
        *frameworks(rule, catalog),
        *silencing(rule),
    ]
    return "\n\n".join(parts) + "\n"


def messages(rule: Rule, wrong: str) -> list[str]:
    """Return what adlint says of the wrong example, and what else it may say."""
    parts = ["## Message"]
    found = [item for item in findings(rule, wrong) if item.name == rule.name]
    if found:
        asked = f" with `--port-to {TARGET}`" if rule.family == "port" else ""
        first = found[0]
        place = f"{first.filename}:{first.span.start.line}:{first.span.start.column}"
        said = f"{place}: {first.severity.value} {first.code} {first.name}: {first.message}"
        parts += [f"Of the wrong example{asked}:", fenced("text", said)]
    others = [text for key, text in rule.messages.items() if not key.endswith("-cause")]
    if len(others) > 1 or not found:
        parts += ["Its wordings; words in braces stand for names and lines of your program:"]
        parts.append(fenced("text", "\n".join(others)))
    return parts


def seen(rule: Rule, wrong: str) -> list[str]:
    """Return how the tape came to what it says of the wrong example, drawn and in words."""
    found = traces(rule, wrong)
    if not found:
        return []
    first = found[0]
    there = f"{rule.name}.py:{first.place.split(':')[1]}"
    ported = f" --port-to {TARGET}" if rule.family == "port" else ""
    told = renderer("text")(found[:1]).partition("\n")[2]
    return [
        "## How the tape saw it",
        f"![What the tape did on the way to {rule.name} in the wrong example]({rule.name}.svg)",
        f"The same in words, as `adlint explain {there}{ported}` tells it:",
        fenced("text", told),
        "What the words and marks mean: [explain](../how-it-works.md#what-the-tape-saw).",
    ]


def traces(rule: Rule, wrong: str) -> list[Trace]:
    """Return what the tape did on the way to the finding in the wrong example; none for rules that are not its own."""
    lines = [item.span.start.line for item in findings(rule, wrong) if item.name == rule.name]
    if rule.family == "meta" or not lines:
        return []
    told = explain(Source(f"{rule.name}.py", wrong), settings(rule), lines[0])
    return [trace for trace in told if trace.rule == rule.name][:1]


def fixes(rule: Rule, wrong: str, catalog: Catalog) -> list[str]:
    """Return how the finding is mended, and how far that can be trusted."""
    if rule.applicability is None:
        return ["## Fix", "There is none."]
    terms = catalog.profiles["torch"].terms
    titles = [re.sub(r"\{(\w+)\}", lambda found: terms.get(found[1], found[0]), t) for t in rule.fix_titles.values()]
    parts = ["## Fix", SAFETY[rule.applicability]]
    found = [item.fix for item in findings(rule, wrong) if item.name == rule.name and item.fix]
    source = Source(f"{rule.name}.py", wrong)
    mended = fix(source, settings(rule), unsafe=True, wanted=lambda item: item.name == rule.name).text
    if mended != wrong:
        lines = difflib.unified_diff(wrong.splitlines(), mended.splitlines(), n=2, lineterm="")
        shown = [line for line in list(lines)[2:] if not line.startswith("@@")]
        parts += [f"For the wrong example: {found[0].title}.", fenced("diff", "\n".join(shown))]
    elif found:
        parts.append(f"For the wrong example: {found[0].title}.")
    else:
        parts.append("For the wrong example none is offered.")
    if len(titles) > 1 or not found:
        parts += ["Fixes of this rule:", fenced("text", "\n".join(dict.fromkeys(titles)))]
    return [*parts, rule.fix_why]


def frameworks(rule: Rule, catalog: Catalog) -> list[str]:
    """Return what the profiles say of the rule in each framework."""
    if rule.family == "meta":
        return []
    parts = ["## Frameworks"]
    profiles = [profile for profile in catalog.profiles.values() if profile.rules != frozenset()]
    silent = [profile for profile in catalog.profiles.values() if profile.rules == frozenset()]
    profiles.sort(key=lambda profile: (profile.rules is not None, NAMES.get(profile.id, profile.id).lower()))
    if rule.family == "port":
        profiles += silent
        heads, column = ["to be ported to"], []
    else:
        heads, column = ["framework", "reported"], ["yes" if p.judges(rule.name) else "no" for p in profiles]
    rows = [[NAMES.get(p.id, p.id)] for p in profiles]
    for row, word in zip(rows, column, strict=False):
        row.append(word)
    for head, cells in facts(rule, profiles).items():
        heads.append(head)
        for row, cell in zip(rows, cells, strict=True):
            row.append(cell)
    lines = [heads, ["---"] * len(heads), *rows]
    parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    if rule.family != "port":
        names = ", ".join(sorted(NAMES.get(profile.id, profile.id) for profile in silent))
        parts.append(f"*No* means that it cannot go wrong there, or has not been looked at. Left alone: {names}.")
    return [*parts, "More about each of them is on the page on [frameworks](../frameworks.md)."]


def facts(rule: Rule, profiles: list[Profile]) -> dict[str, list[str]]:
    """Return columns with what matters for the rule's family."""
    columns = {
        "a backward frees": [FREES[p.consume] for p in profiles],
        "kept by": [f"`{p.terms['retain']}`" if "retain" in p.terms else "-" for p in profiles],
        "gradients": ["are returned" if p.returns else "go into slots" for p in profiles],
        "cleared by": [f"`{p.terms['clear']}`" if "clear" in p.terms else "-" for p in profiles],
        "recording is switched off by": [off(p) for p in profiles],
        "what is recorded stays": ["until the next backward" if p.grows else "as long as it is held" for p in profiles],
    }
    wanted = {
        "graph": ("a backward frees", "kept by"),
        "slots": ("gradients", "cleared by"),
        "scope": ("recording is switched off by", "what is recorded stays"),
    }
    special = {
        "port-second-backward": ("a backward frees", "kept by"),
        "port-accumulation": ("gradients",),
        "port-evaluation": ("what is recorded stays",),
        "port-argument": ("kept by",),
    }
    return {head: columns[head] for head in special.get(rule.name) or wanted[rule.family]}


def off(profile: Profile) -> str:
    """Return what keeps a framework from recording, or a dash if its profile knows nothing that does."""
    names = sorted(profile.names("no_grad", "inference_mode") - {""})
    words = names or [word for key in ("inference", "untracked") if (word := profile.terms.get(key))]
    listed = ", ".join(f"`{word}`" for word in words)
    if profile.dormant:
        scopes = ", ".join(f"`{word}`" for word in sorted(profile.names("enable_grad") - {""}))
        return f"{listed}, and off outside {scopes}"
    return listed or "-"


def silencing(rule: Rule) -> list[str]:
    """Return how to turn the rule off, for a line, a file or a project."""
    parts = ["## How to silence it"]
    if rule.name == "internal-error":
        return [*parts, "A comment cannot: exclude the file with `extend-exclude`, and report it."]
    if rule.name == "unreadable-source":
        return [*parts, "A comment cannot: exclude the file with `extend-exclude`."]
    if rule.family != "meta":
        parts += [
            "On a line, or the statement that begins or ends on it:",
            fenced("python", f"...  # adlint: ignore[{rule.name}]"),
            "In a file, above its first statement:",
            fenced("python", f"# adlint: ignore-file[{rule.name}]"),
        ]
    parts += ["In a project, in `adlint.toml`:", fenced("toml", f'ignore = ["{rule.name}"]')]
    return [*parts, "All other ways are on the page on [configuration](../configuration.md)."]


def findings(rule: Rule, wrong: str) -> list[Diagnostic]:
    """Return what adlint finds in the wrong example."""
    return lint(Source(f"{rule.name}.py", wrong), settings(rule), always_parse=True)


def settings(rule: Rule) -> Settings:
    """Return the settings under which the rule speaks."""
    return replace(Settings(), port_to=TARGET) if rule.family == "port" else Settings()


def fix_word(rule: Rule) -> str:
    """Return how a rule's fix may be applied, in one word."""
    return rule.applicability.value if rule.applicability else "-"


def sentence(text: str) -> str:
    """Return a summary as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def numbered(language: str, text: str) -> str:
    """Return a block of code with the numbers of its lines."""
    return fenced(f"{{code-block}} {language}", f":linenos:\n\n{text}")


def fenced(language: str, text: str) -> str:
    """Return a block of code."""
    body = text.strip("\n")
    return f"```{language}\n{body}\n```"
