"""Of what adlint reports in real repositories, how much is true? Runs it, and puts the findings next to verdicts.

    python benchmarks/precision.py run build/corpus build/findings.tsv      lint every repository, one after the other
    python benchmarks/precision.py table build/findings.tsv > docs/precision.md

A corpus is a folder of repositories: checkouts, or folders named `owner__name` that its INDEX.tsv lists (repository,
commit). What a run has done already, on the same commit, is kept unless `--again` is given. The verdicts stand in
verdicts.tsv: repository, commit, path, line, rule, verdict (TRUE or FALSE), reason. A finding has the verdict of the
same place and rule at the same commit; one without counts as unread. In notebooks a line is `cell:line`. The page ends
with what the campaign of generated programs has found (tests/differential/campaign.py), from agreement.json.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from adlint.catalog import load

VERDICTS = Path(__file__).with_name("verdicts.tsv")
AGREEMENT = Path(__file__).with_name("agreement.json")
FIELDS = ("repository", "commit", "path", "line", "rule")
TEST = re.compile(r"(^|/)(tests?|testing)/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.\w+$")
NOTHING = "-"


@dataclass(frozen=True, order=True)
class Finding:
    """One finding: where it is, and of which rule."""

    repository: str
    commit: str
    path: str
    line: str
    rule: str

    @property
    def is_test(self) -> bool:
        """Whether it is in a test, where misuse may be the point."""
        return bool(TEST.search(self.path))


@dataclass(frozen=True)
class Repository:
    """A folder with a name and a commit."""

    name: str
    commit: str
    folder: Path


def repositories(corpus: Path) -> Iterator[Repository]:
    """Yield the repositories of a corpus: those of its index, or the checkouts in it."""
    index = corpus / "INDEX.tsv"
    if index.exists():
        for row in csv.reader(index.read_text(encoding="utf-8").splitlines(), delimiter="\t"):
            yield Repository(row[0], row[1], corpus / row[0].replace("/", "__"))
        return
    for folder in sorted(corpus.iterdir()):
        if (folder / ".git").exists():
            commit = git(folder, "rev-parse", "HEAD")
            remote = re.search(r"[:/]([^/:]+/[^/]+?)(\.git)?/?$", git(folder, "config", "remote.origin.url"))
            yield Repository(remote[1] if remote else folder.name.replace("__", "/"), commit, folder)


def git(folder: Path, *words: str) -> str:
    """Return what git says of a checkout."""
    command = ("git", "-C", str(folder), *words)
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def lint(repository: Repository, settings: Path, seconds: float) -> list[Finding] | None:
    """Return what adlint reports of a repository on default settings; None if it fails or takes too long."""
    command = (sys.executable, "-m", "adlint", "check", "--no-cache", "--output-format", "json", "--config")
    try:
        done = subprocess.run(
            (*command, str(settings), str(repository.folder)),
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        items = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, json.JSONDecodeError):
        return None
    found = set()
    for item in items:
        place = item["location"]
        line = f"{place['cell']}:{place['row']}" if "cell" in place else str(place["row"])
        path = Path(item["filename"]).relative_to(repository.folder).as_posix()
        found.add(Finding(repository.name, repository.commit, path, line, item["name"]))
    return sorted(found)


def run(corpus: Path, file: Path, names: list[str], again: bool, seconds: float) -> None:
    """Lint the repositories of a corpus and keep what is found, after each of them."""
    known: dict[tuple[str, str], list[Finding]] = {}
    if file.exists():
        for finding in read(file):
            known.setdefault((finding.repository, finding.commit), []).append(finding)
    with tempfile.TemporaryDirectory() as away:
        settings = Path(away, "adlint.toml")
        settings.touch()
        for repository in repositories(corpus.resolve()):
            key = (repository.name, repository.commit)
            if (names and repository.name not in names) or (key in known and not again):
                continue
            found = lint(repository, settings, seconds)
            if found is None:
                print(f"{repository.name}: failed", file=sys.stderr)
                continue
            print(f"{repository.name}: {len(found)}", file=sys.stderr)
            nothing = Finding(repository.name, repository.commit, NOTHING, NOTHING, NOTHING)
            known = {other: kept for other, kept in known.items() if other[0] != repository.name}
            known[key] = found or [nothing]
            write(file, (one for some in known.values() for one in some))


def read(file: Path) -> list[Finding]:
    """Read the findings of a run; a repository without any has a line of its own."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [Finding(*(row[field] for field in FIELDS)) for row in csv.DictReader(lines, delimiter="\t")]


def write(file: Path, findings: Iterable[Finding]) -> None:
    """Write findings in their order."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, delimiter="\t", lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows([getattr(one, field) for field in FIELDS] for one in sorted(findings))


def verdicts(file: Path) -> dict[Finding, tuple[str, str]]:
    """Read the verdicts, each with its reason; raises ValueError on a word that is none."""
    found = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines, delimiter="\t"), 2):
            if row["verdict"] not in ("TRUE", "FALSE") or not row["reason"]:
                raise ValueError(f"{file.name}:{number}: a verdict is TRUE or FALSE and has a reason")
            found[Finding(*(row[field] for field in FIELDS))] = (row["verdict"], row["reason"])
    return found


def page(findings: list[Finding], judged: dict[Finding, tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of the report: by rule, by repository, and every finding with its verdict."""
    names = {finding.repository for finding in findings}
    judgeable = {rule.name for rule in load().rules.values() if rule.family != "meta"}
    real = [finding for finding in findings if finding.rule in judgeable]
    broken = sum(finding.path != NOTHING and finding.rule not in judgeable for finding in findings)
    counted = [finding for finding in real if not finding.is_test]
    yield "# Precision on real repositories\n"
    yield (
        f"What adlint reports on default settings in {len(names)} repositories, read in the source by hand: TRUE if it"
        " happens as reported and is not what the program is for. Findings in tests are listed and not counted;"
        f" {broken} more say that a file is no Python 3 or that a comment silences nothing. Made by"
        " `python benchmarks/precision.py table` from a run and `benchmarks/verdicts.tsv`.\n"
    )
    yield "| rule | findings | true | false | unread | precision of those read | in tests |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for rule in [*sorted({finding.rule for finding in real}), ""]:
        chosen = [finding for finding in counted if rule in ("", finding.rule)]
        tally = Counter(judged.get(finding, ("unread", ""))[0] for finding in chosen)
        tests = sum(finding.is_test and rule in ("", finding.rule) for finding in real)
        read_ = tally["TRUE"] + tally["FALSE"]
        share = f"{tally['TRUE'] / read_:.0%}" if read_ else ""
        cells = (len(chosen), tally["TRUE"], tally["FALSE"], tally["unread"], share, tests)
        yield f"| {rule or '**all**'} | " + " | ".join(map(str, cells)) + " |"
    yield "\n## Repositories\n"
    yield "| repository | commit | findings |"
    yield "|---|---|---|"
    by_name: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        by_name[finding.repository, finding.commit].append(finding)
    for (name, commit), some in sorted(by_name.items()):
        rules = Counter(finding.rule for finding in some if finding.rule in judgeable)
        text = ", ".join(f"{count} {rule}" for rule, count in sorted(rules.items()))
        yield f"| [{name}](https://github.com/{name}/tree/{commit}) | `{commit[:12]}` | {text or 'none'} |"
    mended = sorted(one for one, (verdict, _) in judged.items() if verdict == "FALSE" and one not in findings)
    if mended:
        yield "\n## False alarms of earlier runs, mended since\n"
        yield "| finding | rule | what was wrong |"
        yield "|---|---|---|"
        for one in mended:
            yield f"| {one.repository} {one.path}:{one.line} | {one.rule} | {judged[one][1]} |"
    yield "\n## Findings\n"
    yield "| finding | rule | verdict | why |"
    yield "|---|---|---|---|"
    for finding in sorted(real):
        verdict, reason = judged.get(finding, ("unread", ""))
        place = f"{finding.path}:{finding.line}"
        anchor = "" if ":" in finding.line else f"#L{finding.line}"
        link = (
            f"https://github.com/{finding.repository}/blob/{finding.commit}/{finding.path.replace(' ', '%20')}{anchor}"
        )
        test = " (test)" if finding.is_test else ""
        yield f"| {finding.repository} [{place}]({link}) | {finding.rule} | {verdict}{test} | {reason} |"


def generated(file: Path) -> Iterator[str]:
    """Yield the lines of the report on generated programs: what runs bore out, what was missed, what fixes did."""
    table = json.loads(file.read_text(encoding="utf-8"))
    yield "\n## Generated programs\n"
    yield (
        f"{table['programs']:,} programs, no two alike, drawn by `tests/differential/programs.py` from seed"
        f" {table['seed']}, linted at `{table['revision'][:12]}` and run under PyTorch with their random choices made"
        " in four ways. A finding is borne out if a run shows what it claims, on its line: an exception, gradients"
        " applied again or thrown away, a graph that nobody walks. Where PyTorch refuses a backward, the program goes"
        " on without it, and once more with every graph kept, so that what comes later is seen too.\n"
    )
    yield "| rule | borne out | not borne out | safe fixes applied |"
    yield "|---|---:|---:|---:|"
    counts = [table[name] for name in ("confirmed", "unconfirmed", "mended")]
    for rule in sorted({rule for one in counts for rule in one} - set(table["unjudged"])):
        yield f"| {rule} | " + " | ".join(f"{one.get(rule, 0):,}" for one in counts) + " |"
    yield "| **all** | " + " | ".join(f"{sum(one.values()):,}" for one in counts) + " |"
    if table["unjudged"]:
        others = ", ".join(f"{count} {rule}" for rule, count in table["unjudged"].items())
        yield f"\nFindings that these runs cannot tell of: {others}."
    yield "\n| what went wrong in a plain run | reported there | not reported, and why |"
    yield "|---|---:|---|"
    for kind in table["kinds"]:
        reasons = [(text.partition(": ")[2], n) for text, n in table["missed"].items() if text.startswith(f"{kind}:")]
        why = "; ".join(f"{n}: {reason or 'not explained'}" for reason, n in reasons)
        yield f"| {kind} | {table['reported'].get(kind, 0):,} | {why or '0'} |"
    faults = "; ".join(f"{n} {fault}" for fault, n in table["faults"].items())
    yield (
        "\nAfter the safe fixes every program was linted again (no rule may report more than before, a second round of"
        " fixes may change nothing) and run again (it may not raise, nothing may go wrong that did not before, and"
        " where all is mended and nothing was applied twice, the parameters end as the program means: every graph"
        " kept, what a step has applied cleared before the next backward)."
        f" Faults: {faults or 'none'}."
    )
    if again := table.get("again"):
        yield (
            f"\nThe {again['programs']} programs in which anything disagreed were judged again at"
            f" `{again['revision'][:12]}`, after what they showed was mended: {again['unconfirmed']} findings not borne"
            f" out, {again['faults']} faults, {again['missed']} programs with something missed that PyTorch refuses."
        )


def main() -> None:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="lint a corpus")
    running.add_argument("corpus", type=Path)
    running.add_argument("findings", type=Path)
    running.add_argument("--only", nargs="*", default=[], metavar="OWNER/NAME", help="these repositories")
    running.add_argument("--again", action="store_true", help="also those that are in the file already")
    running.add_argument("--seconds", type=float, default=3600, help="how long one may take (default: 3600)")
    tabulating = commands.add_parser("table", help="print the findings with their verdicts")
    tabulating.add_argument("findings", type=Path)
    tabulating.add_argument("--verdicts", type=Path, default=VERDICTS)
    options = parser.parse_args()
    if options.command == "run":
        run(options.corpus, options.findings, options.only, options.again, options.seconds)
    else:
        lines = [*page(read(options.findings), verdicts(options.verdicts))]
        lines += generated(AGREEMENT) if AGREEMENT.exists() else ()
        print("\n".join(lines))


if __name__ == "__main__":
    main()
