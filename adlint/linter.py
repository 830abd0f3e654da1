"""The pipeline: Source → Program → Facts → Diagnostics, and the rounds of fixing.

    lint(source, settings)               what is to be reported, in the order of the text
    fix(source, settings, unsafe=False)  the mended text, what was mended, what is left

Both take a resolver, which says where imports lead; by default they lead nowhere. Reads no files, prints nothing. The
front end is imported only for a text that needs it: one that names a framework and something of its autograd.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from adlint import fixes, suppressions
from adlint.catalog import load
from adlint.config import Settings
from adlint.diagnostics import Certainty, Diagnostic, Position, Span
from adlint.profiles import Profile
from adlint.source import Source, Unreadable

if TYPE_CHECKING:
    from adlint.checks import Behind
    from adlint.program import Function, Program
    from adlint.tape.facts import Fact, Facts
    from adlint.tape.log import Happening
    from adlint.tape.resolver import Resolver

ROUNDS = 10
TOP = Position(1, 1)
UNREADABLE, FAILED, PARTLY = "unreadable-source", "internal-error", "partly-analysed"
WALKS, EVALUATES, CLEARS, TRAINS = ("backward", "descend", "grad", "gradient"), ("eval",), ("clear",), ("train",)


@dataclass(frozen=True)
class FixResult:
    """A text after fixing, the findings that were mended, and those that are left."""

    text: str
    applied: tuple[Diagnostic, ...]
    remaining: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class Account:
    """One run of a program by the rules of a framework: how its paths ended, and the fact behind each finding."""

    program: Program
    others: tuple[Program, ...]
    profile: Profile
    ends: tuple[Happening, ...]
    findings: tuple[tuple[Diagnostic, Fact], ...]


@dataclass(frozen=True)
class _Examination:
    """One look at a text: every finding that the tape is sure of, and those that the settings let through."""

    sure: list[Diagnostic]
    shown: list[Diagnostic]

    @property
    def broken(self) -> bool:
        return any(item.name in (UNREADABLE, FAILED) for item in self.shown)


def lint(
    source: Source,
    settings: Settings | None = None,
    *,
    always_parse: bool = False,
    resolver: Resolver | None = None,
) -> list[Diagnostic]:
    """Return the findings of one file, in the order of the text.

    A text without autograd is not parsed, so its syntax errors go unseen, unless `always_parse` asks for them.
    """
    return _examine(source, settings or Settings(), always_parse, resolver).shown


def skim(source: Source, settings: Settings) -> list[Diagnostic]:
    """Return the findings of a text that is not `relevant`: those about its suppression comments."""
    return _shown(source, [], settings)


def fix(
    source: Source,
    settings: Settings | None = None,
    unsafe: bool = False,
    *,
    always_parse: bool = False,
    resolver: Resolver | None = None,
    wanted: Callable[[Diagnostic], bool] = lambda _: True,
    rounds: int = ROUNDS,
) -> FixResult:
    """Apply safe (and, if asked, unsafe) fixes of the wanted findings until nothing changes, or for some rounds.

    After each round the text is linted again: a fix whose finding is still there, that brings a finding of any rule, or
    that leaves a text that does not parse, is withdrawn.
    """
    settings = settings or Settings()
    now = _examine(source, settings, always_parse, resolver)
    applied: list[Diagnostic] = []
    refused: set[tuple[str, Span]] = set()
    for _ in range(rounds):
        able = [d for d in now.shown if fixes.applicable(d, unsafe) and wanted(d)]
        candidates = [d for d in able if (d.name, d.span) not in refused]
        chosen = _chosen(source, candidates)
        if not chosen:
            break
        made, after = _try(source, now, chosen, settings, resolver)
        if after is None:
            made = []
            for diagnostic in chosen:
                _, attempt = _try(source, now, [*made, diagnostic], settings, resolver)
                if attempt is not None:
                    made, after = [*made, diagnostic], attempt
                elif not made:
                    refused.add((diagnostic.name, diagnostic.span))
        if after is not None:
            source, now = after
            applied += made
            refused.clear()
    return FixResult(source.text, tuple(applied), tuple(now.shown))


def accounts(source: Source, settings: Settings, resolver: Resolver | None = None) -> list[Account]:
    """Run a text once more and keep a log; return what happened, with all findings whatever the settings say.

    Raises `Unreadable` for a text that is no program.
    """
    kept: list[Account] = []
    profiles = relevant(source.text, settings.profiles.values())
    found = _analyse(source, profiles, settings.target, resolver, kept)
    if error := next((item for item in found if item.name == UNREADABLE), None):
        raise Unreadable(error.message, error.span.start)
    return kept


def relevant(text: str, profiles: Iterable[Profile]) -> tuple[Profile, ...]:
    """Return the profiles of the frameworks that a text imports, if anything can be found in it.

    Every finding needs a backward pass or what usually goes with one, or a network that is put in evaluation mode.
    """
    return tuple(profile for profile in profiles if profile.rules != frozenset() and _concerns(text, profile))


def _concerns(text: str, profile: Profile) -> bool:
    words, roots = _hints(profile)
    if not any(word in text for word in words) or not any(root in text for root in roots):
        return False
    return bool(_uses(profile).search(text)) and bool(_imports(profile.roots).search(text))


@lru_cache(maxsize=64)
def _hints(profile: Profile) -> tuple[list[str], list[str]]:
    """Return words and roots, of each of which every relevant text has one; both are cheap to look for."""
    names = profile.names(*WALKS, *EVALUATES, *CLEARS, *TRAINS) | profile.backpropagated, profile.roots
    words, roots = ([w for w in some if not any(part != w and part in w for part in some)] for some in names)
    return words, roots


@lru_cache(maxsize=64)
def _uses(profile: Profile) -> re.Pattern[str]:
    """Match a name that backpropagates, a method whose result is backpropagated, or a method that clears, or may end in
    evaluation mode, as `train(False)` does.

    Every alternative begins with a plain character, so that the rest of the text is skipped fast.
    """
    walks, marks, trains = (
        [re.escape(name) for name in sorted(profile.names(*roles))] for roles in (WALKS, (*EVALUATES, *CLEARS), TRAINS)
    )
    ways = [rf"{name}\b(?<!\w{name})" for name in walks]
    ways += [rf"\.\s*{name}\b" for name in marks]
    ways += [rf"\.\s*{name}\b(?!\s*\(\s*\))" for name in trains]
    ways += [rf"def {re.escape(name)}\b" for name in sorted(profile.backpropagated)]
    return re.compile("|".join(ways) or "(?!)")


@lru_cache(maxsize=64)
def _imports(roots: tuple[str, ...]) -> re.Pattern[str]:
    words = "|".join(re.escape(root) for root in roots)
    return re.compile(rf"(?:^|[\r;:])[ \t]*(?:from|import)\b[^\r\n]*\b(?:{words})\b", re.M)


def unreadable(filename: str, problem: str, position: Position = TOP) -> Diagnostic:
    """Return the finding that says why a file cannot be linted."""
    return _plain(UNREADABLE, filename, problem, position)


def failed(filename: str, error: BaseException) -> Diagnostic:
    """Return the finding that says that the linter itself failed on a file."""
    problem = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        problem += f" ({trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno})"
    return _plain(FAILED, filename, problem, TOP)


def _plain(name: str, filename: str, problem: str, position: Position) -> Diagnostic:
    rule = load().rules[name]
    return Diagnostic(
        code=rule.id,
        name=rule.name,
        message=rule.message.format(problem=problem),
        severity=rule.severity,
        certainty=Certainty.DEFINITE,
        filename=filename,
        span=Span(position, position),
    )


def _examine(source: Source, settings: Settings, always_parse: bool, resolver: Resolver | None) -> _Examination:
    profiles: tuple[Profile, ...] = ()
    try:
        profiles = relevant(source.text, settings.profiles.values())
        found = _analyse(source, profiles, settings.target, resolver) if profiles else []
        if not profiles and always_parse and (error := _syntax_error(source)) and not _is_newer(source):
            found = [error]
    except Exception as error:
        found = [failed(source.filename, error)]
    broken = [item for item in found if item.name in (UNREADABLE, FAILED)]
    if broken:
        return _Examination(broken, broken)
    shown = _shown(source, found, settings)
    if (profiles or always_parse) and source.problems:
        shown = sorted([*shown, _left_out(source)], key=_order)
    return _Examination([item for item in found if item.certainty is Certainty.DEFINITE], shown)


def _left_out(source: Source) -> Diagnostic:
    """Return the finding that says which cells of a notebook cannot be read; the others are analysed without them."""
    (message, place), *more = source.problems
    others = f", and {len(more)} more cell{'s' if len(more) > 1 else ''} cannot be read" if more else ""
    return unreadable(source.filename, message + others, place)


def _order(item: Diagnostic) -> tuple[Span, str, str]:
    return item.span, item.code, item.message


def _analyse(
    source: Source,
    profiles: Sequence[Profile],
    target: Profile | None,
    resolver: Resolver | None,
    kept: list[Account] | None = None,
) -> list[Diagnostic]:
    """Return all findings of a text by the rules of some frameworks; `kept` takes the accounts of the runs."""
    from adlint.callers import judged
    from adlint.checks import check
    from adlint.lower import CannotRead, in_deep_stack, lower
    from adlint.tape.resolver import NOTHING
    from adlint.tape.run import run

    def analyse() -> list[Diagnostic]:
        program = lower(source.text, source.filename)
        found: list[Diagnostic] = []
        left_out: dict[Function, None] = {}
        for profile in profiles:
            behind: Behind = {}
            facts = run(program, profile, resolver or NOTHING, logged=kept is not None)
            reported = check(facts, program, source, load(), profile, behind)
            told = {(d.name, d.span) for d in found}
            reported = [d for d in reported if (d.name, d.span) not in told]
            reported = judged(reported, program, source, profile, resolver or NOTHING)
            found += reported
            if kept is not None:
                kept.append(_account(program, profile, facts, reported, behind))
            left_out.update(dict.fromkeys(facts.left_out))
            if target is not None and target is not profile:
                found += _ported(facts, program, source, profile, target, resolver or NOTHING, kept)
        if left_out:
            found.append(_partly(left_out, program))
        found.sort(key=_order)
        return [replace(d, fix=None) if d.fix and not source.admits(d.fix.edits) else d for d in found]

    try:
        return in_deep_stack(analyse)
    except CannotRead as error:
        return [unreadable(source.filename, error.message, Position(error.line, error.column))]


def _ported(
    facts: Facts,
    program: Program,
    source: Source,
    profile: Profile,
    target: Profile,
    resolver: Resolver,
    kept: list[Account] | None,
) -> list[Diagnostic]:
    """Return what works by a program's own profile, as `facts` say, and not by that of another framework."""
    from adlint.checks import Behind, check_port
    from adlint.tape.run import run

    rules, logged, behind = profile.under(target), kept is not None, Behind()
    there = run(program, rules, resolver, logged=logged)
    unscoped = run(program, rules.without_scopes(), resolver, logged=logged) if target.grows else None
    found = check_port(facts, there, unscoped, program, source, load(), profile, target, behind)
    if kept is not None:
        ends = [*facts.ends, *there.ends, *(unscoped.ends if unscoped else ())]
        kept.append(_account(program, rules, replace(there, ends=ends), found, behind))
    return found


def _account(
    program: Program, profile: Profile, facts: Facts, reported: Iterable[Diagnostic], behind: Behind
) -> Account:
    findings = tuple((item, behind[item.name, item.span]) for item in reported)
    return Account(program, facts.others, profile, tuple(facts.ends), findings)


def _is_newer(source: Source) -> bool:
    """Whether a text that this Python does not parse is in the syntax of a later one."""
    from adlint.lower import CannotRead, lower

    try:
        lower(source.text, source.filename)
    except CannotRead:
        return False
    return True


def _partly(functions: Iterable[Function], program: Program) -> Diagnostic:
    """Return the finding that says which functions are not analysed."""
    rule = load().rules[PARTLY]
    ordered = sorted(functions, key=lambda function: program.span(function).start)
    return Diagnostic(
        code=rule.id,
        name=rule.name,
        message=rule.message.format(count=len(ordered), first=ordered[0].name),
        severity=rule.severity,
        certainty=Certainty.DEFINITE,
        filename=program.filename,
        span=program.span(ordered[0]),
    )


def _syntax_error(source: Source) -> Diagnostic | None:
    """Ask CPython's own parser, which does not build the tree that the tape needs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source.text)
    except SyntaxError as error:
        place = Position(max(error.lineno or 1, 1), max(error.offset or 1, 1))
        return unreadable(source.filename, f"syntax error: {error.msg}", place)
    except (ValueError, RecursionError, MemoryError) as error:
        return unreadable(source.filename, f"cannot be parsed: {error}")
    return None


def _shown(source: Source, found: list[Diagnostic], settings: Settings) -> list[Diagnostic]:
    """Apply the settings and the suppression comments."""
    enabled = settings.rules
    off = settings.ignored_in(source.filename)
    chosen = [
        replace(item, severity=enabled[item.name]) for item in found if item.name in enabled and item.name not in off
    ]
    directives = suppressions.find(source, findings=bool(chosen))
    shown, used = suppressions.apply(directives, chosen)
    if not settings.possible:
        shown = [item for item in shown if item.certainty is Certainty.DEFINITE]
    unused = suppressions.NAME
    if unused in enabled and unused not in off:
        judged = {name: level for name, level in enabled.items() if name not in off}
        idle = suppressions.unused(source, directives, used, judged, complete=len(enabled) == len(load().rules))
        shown += [replace(item, severity=enabled[unused]) for item in idle]
    return sorted(shown, key=_order)


def _chosen(source: Source, candidates: Sequence[Diagnostic]) -> list[Diagnostic]:
    chosen = fixes.choose(source, [item.fix for item in candidates if item.fix])
    return [item for item in candidates if any(item.fix is one for one in chosen)]


def _try(
    source: Source,
    before: _Examination,
    chosen: Sequence[Diagnostic],
    settings: Settings,
    resolver: Resolver | None,
) -> tuple[list[Diagnostic], tuple[Source, _Examination] | None]:
    """Apply some fixes and lint again; no result if one of them has to be withdrawn."""
    made = [item.fix for item in chosen if item.fix]
    mended = source.with_text(fixes.apply(source, made))
    if mended.text == source.text or (_syntax_error(mended) and not _syntax_error(source)):
        return [], None
    after = _examine(mended, settings, False, resolver)
    if after.broken:
        return [], None
    had = Counter(item.name for item in before.sure)
    had.subtract(item.name for item in chosen)
    have = Counter(item.name for item in after.sure)
    if any(count > had[name] for name, count in have.items()):
        return [], None
    moved = fixes.shift(source, mended, made)
    there = {(item.name, item.span.start) for item in after.shown}
    if any((item.name, moved(item.span.start)) in there for item in chosen):
        return [], None
    return list(chosen), (mended, after)
