"""Account of a run → Trace: finds the path that leads to a line, and keeps of it what the line depends on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from adlint import linter
from adlint import program as p
from adlint.checks.context import Context, short
from adlint.config import Settings
from adlint.diagnostics import Certainty, Diagnostic, Position
from adlint.rewrite import Rewriter
from adlint.source import Source
from adlint.tape.facts import Event, Fact, Facts, Turn
from adlint.tape.graph import Node
from adlint.tape.log import Happening, happenings, leads_through
from adlint.tape.resolver import Resolver
from adlint.tape.values import named
from adlint.trace import Slot, Step, Tensor, Trace

Sites = set[tuple[p.Node | None, Turn]]
MOST = 30
"""How many tensors a trace shows."""
GOES_ON = ("many-rooted",)
"""What the program does not survive, though the tape goes on as if it did."""
PASSES, CHANGES = ("backward", "grad"), ("step", "clear", "update")
SUPPRESSING = {"off": "off", "inference": "off, in inference mode", None: "unknown"}


def explain(source: Source, settings: Settings, line: int, resolver: Resolver | None = None) -> list[Trace]:
    """Return a trace for each finding on a line of the text, or one of what happens on it; none if nothing does.

    Raises `Unreadable` for a text that is no program.
    """
    accounts = linter.accounts(source, settings, resolver)
    shown = linter.lint(source, replace(settings, possible=True), resolver=resolver)
    told = {(item.name, item.span) for item in shown}
    traces = []
    for account in accounts:
        teller = _Teller(account, source)
        for item, fact in account.findings:
            if item.span.start.line <= line <= item.span.end.line:
                silent = "" if (item.name, item.span) in told else "a comment or the settings silence it"
                possible = item.certainty is Certainty.POSSIBLE and not settings.possible
                note = silent or ("it is only possible, and reported with --possible" if possible else "")
                traces.append(teller.of_finding(item, fact, note))
    if not traces:
        found = (_Teller(account, source).of_line(line) for account in accounts)
        traces = [trace for trace in found if trace is not None][:1]
    return traces


@dataclass(slots=True)
class _Path:
    """What happened on a path, its nodes, and what is to be shown of them: `wanted`, in their order."""

    events: list[Happening]
    nodes: dict[int, Node]
    made: dict[int, Happening]
    wanted: dict[int, int]
    left_out: int = 0


class _Teller:
    """Tells of one account."""

    def __init__(self, account: linter.Account, source: Source) -> None:
        self.account, self.profile, self.source = account, account.profile, source
        rewriter = Rewriter(source.text, account.program)
        self.context = Context(account.program, Facts(), account.profile, rewriter, source, account.others)
        self.names: dict[p.Node, str] = dict(self._assigned())

    # ------------------------------------------------------------ which path, and what of it

    def of_finding(self, item: Diagnostic, fact: Fact, note: str) -> Trace:
        """Return what led to a fact."""
        path = self._path(self._end(fact), fact)
        events = [fact.event, *fact.causes, *(value for _, value in fact.details if isinstance(value, Event))]
        seeds = list(self._seeds(path, fact, events))
        sites: Sites = {(event.site, event.turn) for event in events}
        _mark(path, fact.event)
        self._choose(path, seeds)
        said = f"{item.severity.value} {item.code} {item.name}: {item.message}"
        return Trace(
            self._place(item.filename, item.span.start), item.name, said, note, *self._told(path, sites), path.left_out
        )

    def of_line(self, line: int) -> Trace | None:
        """Return what the tensors made, used or changed on a line go through, on the longest path that comes there."""
        best: tuple[int, _Path, list[int], Sites] | None = None
        for end in self.account.ends:
            path = self._path(end, None, up_to=line)
            here = [one for one in path.events if any(self._is_on(node, line) for node in (one.site, *one.calls))]
            used = self._used(path, line)
            if (here or used) and (best is None or len(path.events) > best[0]):
                seeds = [*(n for one in here for n in one.nodes), *used]
                best = len(path.events), path, seeds, {(one.site, one.turn) for one in here if one.kind != "made"}
        if best is None:
            return None
        _, path, seeds, sites = best
        self._choose(path, seeds)
        return Trace(
            self._place(self.source.filename, Position(line, 0)), "", "", "", *self._told(path, sites), path.left_out
        )

    def _end(self, fact: Fact) -> Happening | None:
        """Return the end of the path that a fact was found on; of one that was noted later, of one by its events."""
        events = [fact.event, *fact.causes]
        known = [event.path for event in events if event.path is not None]
        last = fact.path or max(known, key=lambda one: one.number, default=None)
        sites = {event.site for event in events}

        def nearness(end: Happening) -> tuple[bool, int]:
            return last is not None and leads_through(end, last), len(sites & {one.site for one in happenings(end)})

        end = max(self.account.ends, key=nearness, default=last)
        return end if last is None or (end is not None and leads_through(end, last)) else last

    def _path(self, end: Happening | None, fact: Fact | None, up_to: int = 0) -> _Path:
        """Return a path: to its end, or up to what a fact was noted at, with what came of that; behind a line, not
        beyond a pass that raises."""
        events = happenings(end)
        if fact is not None and fact.path is not None and fact.event.kind != "scope":
            size = fact.path.number + 1
            sites = () if fact.kind in GOES_ON else (fact.path.site, fact.event.site)
            while size < len(events) and events[size].site in sites and events[size].turn == fact.path.turn:
                size += 1
            events = events[:size]
        if up_to:
            ends = (n for n, one in enumerate(events, 1) if one.kind == "refused")
            last = next((n for n in ends if any(self._is_on(one.site, up_to) for one in events[:n])), len(events))
            events = events[:last]
        nodes = dict(end.tape) if end is not None else {}
        return _Path(events, nodes, {one.nodes[0]: one for one in events if one.kind == "made"}, {})

    def _seeds(self, path: _Path, fact: Fact, events: list[Event]) -> Iterator[int]:
        """Yield the nodes that a fact is about."""
        for event in events:
            if isinstance(event.object, (tuple, frozenset)):
                yield from (n for n in event.object if isinstance(n, int) and n in path.nodes)
            turn = event.turn
            for one in path.events:
                if one.turn == turn and (one.site is event.site or event.site in one.calls):
                    yield from one.nodes
            if event.kind == "scope" and event.path is not None:
                later = path.events[event.path.number + 1 :]
                yield from (one.nodes[0] for one in takewhile(lambda one: one.kind not in CHANGES, later) if one.nodes)
        details = dict(fact.details)
        leaves = details.get("leaves", ())
        yield from (n for n in leaves if isinstance(n, int)) if isinstance(leaves, frozenset) else ()
        if isinstance(leaf := details.get("leaf"), int) and not isinstance(leaf, bool) and leaf in path.nodes:
            yield leaf
        sites = {fact.shared, *(value for value in details.values() if isinstance(value, p.Node))}
        yield from (n for n, one in path.made.items() if one.site is not None and one.site in sites)
        spelled = {self.context.text(event.subject) for event in events if event.subject is not None}
        yield from self._called(path, spelled)

    def _used(self, path: _Path, line: int) -> list[int]:
        """Return the nodes that the names on a line stand for, as far as assignments tell."""
        parts = (part for part in p.walk_all(self.account.program.body) if isinstance(part, (p.Name, p.Attribute)))
        return list(self._called(path, {self.context.text(part) for part in parts if self._is_on(part, line)}))

    def _called(self, path: _Path, spelled: set[str]) -> Iterator[int]:
        latest = {self.names[one.site]: n for n, one in path.made.items() if one.site in self.names}
        yield from (n for name, n in latest.items() if name in spelled)

    def _choose(self, path: _Path, seeds: Iterable[int]) -> None:
        """Decide what is shown: what a fact is about and what that is made of, the nearest first, but no plain data."""
        chosen: dict[int, None] = {}
        level = list(dict.fromkeys(seeds))
        first = set(level)
        while level:
            below: dict[int, None] = {}
            for n in level:
                node = path.nodes[n]
                if n not in chosen and (n in first or not _is_data(node)):
                    chosen[n] = None
                    below.update(dict.fromkeys((*node.parents, *node.behind)))
            level = [n for n in below if n not in chosen]
        plain = [n for n in chosen if _is_data(path.nodes[n])]
        if len(plain) < len(chosen):
            for n in plain:
                if path.nodes[n].kind == "source" or any(n in path.nodes[one].behind for one in chosen):
                    del chosen[n]
        path.left_out = max(0, len(chosen) - MOST)
        kept = sorted(list(chosen)[:MOST])
        path.wanted = {n: number for number, n in enumerate(kept, 1)}

    # ------------------------------------------------------------ the telling

    def _told(self, path: _Path, sites: Sites) -> tuple[tuple[Tensor, ...], tuple[Step, ...]]:
        last = {(one.site, one.turn): n for n, one in path.made.items()}
        tensors = tuple(self._tensor(path, n, last) for n in path.wanted)
        return tensors, tuple(self._steps(path, sites))

    def _tensor(self, path: _Path, n: int, last: dict[tuple[p.Node | None, Turn], int]) -> Tensor:
        node, number = path.nodes[n], path.wanted
        name = ""
        if node.site is None:
            name = _spelled(node.callee)
        elif last.get((node.site, node.turn), n) == n:
            name = self.names.get(node.site, "")
        return Tensor(
            number[n],
            node.kind,
            name or self._code(node.site),
            node.operation.removeprefix("Tensor.") or node.kind,
            self._line(node.site),
            _turn(node.turn),
            node.requires_grad,
            node.saves,
            tuple(number[q] for q in node.parents if q in number),
            tuple(number[q] for q in node.behind if q in number),
            node.cut,
        )

    def _steps(self, path: _Path, sites: Sites) -> Iterator[Step]:
        freed: dict[int, Happening] = {}
        now: tuple[str | None, p.Node | None] = ("on", None)
        if path.events and path.events[0].recording != "on" and path.events[0].scope is None:
            now = (path.events[0].recording, None)
        for one, more in _grouped(path.events):
            step = self._step(path, one, more, freed)
            for other in more:
                if other.kind == "freed":
                    freed.update((n, one) for n in other.nodes if n not in freed and self._is_held(path.nodes[n]))
            if not self._matters(step, one, sites):
                continue
            if (one.recording, one.scope) != now:
                yield self._scope(one)
                now = (one.recording, one.scope)
            yield step

    def _matters(self, step: Step, one: Happening, about: Sites) -> bool:
        if (one.site, one.turn) in about or step.kind == "mode":
            return True
        return bool(step.tensors or step.slots)

    def _step(self, path: _Path, one: Happening, more: list[Happening], freed: dict[int, Happening]) -> Step:
        number = path.wanted
        step = Step(one.kind, self._line(one.site), _turn(one.turn), self._code(one.site))
        tensors = tuple(number[n] for n in one.nodes if n in number)
        step = replace(step, tensors=tensors, others=len(one.nodes) - len(tensors), word=one.now)
        changed = (o for o in more if o.kind == "slot" and o.nodes[0] in number and {o.was, o.now} != {"clean"})
        slots = tuple(Slot(number[o.nodes[0]], o.was, o.now) for o in changed)
        if one.kind not in PASSES:
            return replace(step, slots=slots)
        gone = [n for o in more if o.kind == "freed" for n in o.nodes if n in number and self._is_held(path.nodes[n])]
        refused = any(o.kind == "refused" for o in more)
        met = [n for n in one.nodes if n in number and n in freed]
        by = self._by(freed[met[0]], one) if met else ""
        late = [n for o in more if o.kind == "outdated" for n in o.nodes if n in number]
        return replace(
            step,
            freed=tuple(number[n] for n in gone),
            met=tuple(number[n] for n in met),
            by=by,
            outdated=tuple(number[n] for n in late),
            slots=slots,
            refused=refused,
            word="" if refused or any(o.kind == "freed" for o in more) else "kept",
        )

    def _by(self, earlier: Happening, now: Happening) -> str:
        turn = ", ".join(str(number + 1) for _, number in earlier.turn) if earlier.turn != now.turn else ""
        return f"line {self._line(earlier.site)}" + (f", turn {turn}" if turn else "")

    def _is_held(self, node: Node) -> bool:
        """Tell whether a node that a pass has walked cannot be walked again."""
        return self.profile.consume == "always" or node.saves is not False

    def _scope(self, one: Happening) -> Step:
        word = "on" if one.recording == "on" else SUPPRESSING.get(one.recording, "unknown")
        site = one.scope if one.recording != "on" else None
        return Step("scope", self._line(site) or self._line(one.site), _turn(one.turn), self._code(site), word=word)

    # ------------------------------------------------------------ words

    def _assigned(self) -> Iterator[tuple[p.Node, str]]:
        """Yield the expressions whose value gets a name, with the name."""
        for program in (self.account.program, *self.account.others):
            for node in p.walk_all(program.body):
                if isinstance(node, p.Assign):
                    yield from self._paired(node.targets[0], node.value)
                elif isinstance(node, p.Augment):
                    yield node, self.context.text(node.target)

    def _paired(self, target: p.Expression, value: p.Expression) -> Iterator[tuple[p.Node, str]]:
        if isinstance(target, p.Collection) and isinstance(value, p.Collection):
            for one, other in zip(target.elements, value.elements, strict=False):
                yield from self._paired(one, other)
        elif isinstance(target, (p.Name, p.Attribute)):
            yield value, self.context.text(target)

    def _code(self, node: p.Node | None) -> str:
        return short(self.context.text(node))

    def _line(self, node: p.Node | None) -> str:
        return "" if node is None else self.context.line(node)

    def _is_on(self, node: p.Node | None, line: int) -> bool:
        if node is None or self.context.home(node) is not self.account.program:
            return False
        span = self.account.program.span(node)
        return span.start.line <= line <= span.end.line and not isinstance(node, (p.Function, p.Class))

    def _place(self, filename: str, position: Position) -> str:
        cell, inside = self.source.place(position)
        column = f":{inside.column}" if position.column else ""
        return f"{filename}:{'' if cell is None else f'cell {cell}:'}{inside.line}{column}"


def _mark(path: _Path, event: Event) -> None:
    """Put the event of a fact into its path, where nothing of what happened tells of it."""
    if any(event.turn == one.turn and (one.site is event.site or event.site in one.calls) for one in path.events):
        return
    at = len(path.events) if event.path is None else event.path.number + 1
    before = path.events[at - 1] if 0 < at <= len(path.events) else None
    recording, scope = ("on", None) if before is None else (before.recording, before.scope)
    here = Happening("here", event.site, (), "", "", event.turn, event.calls, recording, scope, {}, at, None)
    path.events.insert(at, here)


def _grouped(events: Iterable[Happening]) -> Iterator[tuple[Happening, list[Happening]]]:
    """Yield what happened, each with what it did to nodes and slots."""
    held: tuple[Happening, list[Happening]] | None = None
    for one in events:
        if one.kind not in ("slot", "freed", "outdated", "refused"):
            if held is not None:
                yield held
            held = one, []
        elif held is not None and held[0].site is one.site:
            held[1].append(one)
    if held is not None:
        yield held


def _is_data(node: Node) -> bool:
    """Tell whether a node is a plain value that no gradient could ever have come through."""
    return node.kind == "source" or (node.kind == "cut" and node.cut in ("data", "derived"))


def _turn(turn: Turn) -> str:
    """Return the turns of the loops, if any is not the first."""
    return ", ".join(str(number + 1) for _, number in turn) if any(number for _, number in turn) else ""


def _spelled(key: object) -> str:
    """Return an unknown as the program writes it, as far as its key tells."""
    match key:
        case ("attr", base, str(name)):
            before = _spelled(base)
            return f"{before}.{name}" if before else name
    return named(key)
