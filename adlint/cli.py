"""The command line; the only module that prints, reads arguments or exits.

Exit status: 0 nothing found (or all of it mended), 1 findings, 2 wrong usage, wrong settings or a failure of adlint.
What is slow to load is loaded by the command that needs it.
"""

from __future__ import annotations

import itertools
import os
import sys
import time

from adlint import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NoReturn

    import click

    from adlint.config import Finder, Flags, Options
    from adlint.diagnostics import Diagnostic
    from adlint.source import Source


def main() -> NoReturn:
    """Run `adlint` with the arguments of the process and exit."""
    if sys.argv[1:] == ["--version"]:
        print(f"adlint {__version__}")
        sys.exit(0)
    import click

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = application()(prog_name="adlint", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        status = 130
    except BrokenPipeError:
        _fall_silent()
        status = 1
    except OSError as error:
        _fall_silent()
        _say(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror))
        status = 2
    except Exception as error:
        _say(f"internal error: {type(error).__name__}: {error}")
        status = 2
    sys.exit(status)


def _fall_silent() -> None:
    """Send nowhere what is still to be printed, so that the end of the process does not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def application() -> click.Group:
    """Build the command with its sub-commands."""
    import click

    from adlint.reports import FORMATS
    from adlint.trace import FORMATS as TRACES

    def flag(*names: str, does: str, **more: Any) -> click.Option:
        return click.Option(names, is_flag=True, help=does, **more)

    def rules_of(name: str, does: str) -> click.Option:
        return click.Option([name], multiple=True, metavar="RULES", help=does)

    def form(name: str, choices: Sequence[str], does: str) -> click.Option:
        return click.Option([name], type=click.Choice(choices), default=choices[0], help=does)

    checking = [
        click.Argument(["paths"], nargs=-1, metavar="[PATH]..."),
        rules_of("--select", "Report these rules only: names, ids, id prefixes or families, separated by commas."),
        rules_of("--extend-select", "Report these rules too."),
        rules_of("--ignore", "Do not report these rules."),
        flag("--possible", does="Also report what holds only on a path that may not be feasible."),
        click.Option(
            ["--port-to"],
            default="",
            metavar="FRAMEWORK",
            help="Also report what works now and fails, grows or means something else in that framework.",
        ),
        flag("--fix", does="Apply safe fixes."),
        flag("--unsafe-fixes", does="Apply, with --fix or --diff, also fixes that need a look."),
        flag("--diff", does="Show what --fix would change, and change nothing."),
        form("--output-format", FORMATS, "Form of the report."),
        click.Option(["--output-file"], metavar="FILE", help="Write the report to this file."),
        flag("--statistics", does="Report how many findings of each rule there are, in place of the findings."),
        flag("--show-files", does="List the files that would be linted, and stop."),
        flag("--show-settings", does="Show the settings that hold for a path, and stop."),
        flag("--watch", does="Lint again whenever a file changes, until interrupted."),
        click.Option(["--config"], metavar="FILE", help="Use this adlint.toml or pyproject.toml everywhere."),
        click.Option(["--stdin-filename"], metavar="PATH", help="Name of the file that `-` reads."),
        flag("--force-exclude", does="Leave out excluded files even if they are named."),
        flag("--no-cache", does="Neither read nor write the cache."),
        flag("--exit-zero", does="Exit with 0 even if there are findings."),
        form("--color", ["auto", "always", "never"], "Whether to colour the report."),
        flag("-q", "--quiet", does="Print findings only."),
        flag("-v", "--verbose", does="Say on standard error what is done."),
    ]
    commands = [
        click.Command(
            "check",
            callback=check,
            params=checking,
            help="Lint files and folders, by default the current folder; `-` is standard input.",
        ),
        click.Command(
            "rule",
            callback=rule,
            params=[click.Argument(["name"], metavar="NAME|ID")],
            help="Explain a rule: why it is one, an example, and how safe its fix is.",
        ),
        click.Command("rules", callback=rules, help="List the rules."),
        click.Command(
            "explain",
            callback=explain,
            params=[
                click.Argument(["place"], metavar="FILE:LINE"),
                form("--format", TRACES, "Form of the account: text, or a picture for Mermaid, Graphviz or a browser."),
                click.Option(["--config"], metavar="FILE", help="Use this adlint.toml or pyproject.toml."),
                click.Option(["--port-to"], default="", metavar="FRAMEWORK", help="As for `check`."),
            ],
            help="Show what the tape did on the way to a line: FILE:LINE, or FILE:CELL:LINE in a notebook.",
        ),
        click.Command(
            "server",
            callback=server,
            help="Serve an editor: the language server protocol on standard input and output.",
        ),
    ]
    return click.Group(
        "adlint",
        {command.name: command for command in commands if command.name},
        help="A linter that runs training code on an abstract autograd tape.",
        params=[flag("--version", does="Print the version.", is_eager=True, expose_value=False, callback=_version)],
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _version(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        print(f"adlint {__version__}")
        context.exit(0)


def check(paths: tuple[str, ...], **flags: Any) -> int:
    """Lint, mend if asked, and report; return the exit status."""
    from pathlib import Path

    from adlint.config import ConfigError, Finder, Flags, Options
    from adlint.discovery import MissingPath
    from adlint.watching import CannotWatch

    options = Options(**flags)
    try:
        rules = (_split(options.select), _split(options.extend_select), _split(options.ignore))
        chosen = Flags(*rules, options.possible, options.port_to)
        if options.watch:
            _watch(paths or (os.curdir,), chosen, options)
        finder = Finder(Path(options.config) if options.config else None, chosen)
        if problem := _conflict(options, paths) or _unwritable(options.output_file):
            _say(problem)
            return 2
        if options.show_settings:
            return _show_settings(paths[0] if paths else os.curdir, finder, options)
        if options.show_files:
            return _show_files(paths or (os.curdir,), finder, options)
        if "-" not in paths:
            return _check_files(paths or (os.curdir,), finder, options)
        if len(paths) > 1:
            raise MissingPath("`-` stands alone: standard input is linted by itself")
        return _check_standard_input(finder, options)
    except (ConfigError, MissingPath, CannotWatch) as error:
        _say(str(error))
        return 2


def _watch(paths: Sequence[str], flags: Flags, options: Options) -> NoReturn:
    """Check, and check again after every change; what did not change comes from the cache. Ends by an interrupt."""
    from pathlib import Path

    from adlint.config import ConfigError, Finder
    from adlint.discovery import MissingPath
    from adlint.watching import CannotWatch, changes

    if "-" in paths or options.diff:
        raise CannotWatch("`--watch` goes with files and folders, and not with `--diff`")
    if missing := next((path for path in paths if not os.path.lexists(path)), None):
        raise MissingPath(f"{missing}: no such file or folder")
    batches = changes(paths)
    while True:
        try:
            finder = Finder(Path(options.config) if options.config else None, flags)
            _check_files(paths, finder, options)
        except (ConfigError, MissingPath) as error:
            _say(str(error))
        sys.stdout.flush()
        if not options.quiet:
            _say("watching for changes; interrupt to end", "info")
        next(batches)
        if sys.stdout.isatty():
            sys.stdout.write("\x1b[2J\x1b[H")


def _conflict(options: Options, paths: Sequence[str]) -> str:
    """Return what is wrong with flags that do not go together, or nothing."""
    from adlint.reports import COUNTED

    given = [name for name in ("fix", "diff", "statistics", "output_file") if getattr(options, name)]
    flags = [f"--{name.replace('_', '-')}" for name in given]
    if options.diff and flags[-1] != "--diff":
        return f"`{flags[-1]}` is about the report, and `--diff` makes none"
    if options.statistics and options.output_format not in COUNTED:
        return f"`--statistics` has the formats {', '.join(COUNTED)}, not {options.output_format}"
    for name in ("show_files", "show_settings"):
        flag = f"--{name.replace('_', '-')}"
        if getattr(options, name) and flags:
            return f"`{flag}` lints nothing: `{flags[0]}` does not go with it"
    if options.show_files and options.show_settings:
        return "`--show-files` and `--show-settings` do not go together"
    if options.show_files and "-" in paths:
        return "`--show-files` lists files, and standard input is none"
    if options.show_settings and len(paths) > 1:
        return "`--show-settings` takes one path"
    return ""


def _unwritable(file: str | None) -> str:
    """Return why no report can be written to a file, as far as that shows beforehand, or nothing."""
    if file is None:
        return ""
    if not file or os.path.isdir(file):
        return f"`--output-file`: {file or 'the name'} is {'a folder' if file else 'empty'}"
    parent = os.path.dirname(os.path.abspath(file))
    return "" if os.path.isdir(parent) else f"`--output-file`: there is no folder {parent}"


def _show_files(paths: Iterable[str], finder: Finder, options: Options) -> int:
    """List the files that would be linted; say on standard error what cannot be looked at."""
    from adlint.diagnostics import one_line
    from adlint.discovery import discover

    found = discover(paths, finder, force_exclude=options.force_exclude)
    for problem in found.problems:
        _say(f"{problem.path}: {problem.reason}", "warning")
    sys.stdout.write("".join(one_line(file.path) + "\n" for file in found.files))
    return 0


def _show_settings(path: str, finder: Finder, options: Options) -> int:
    """Show the settings that hold for a file or folder, or for standard input under its name."""
    from pathlib import Path

    from adlint.discovery import MissingPath
    from adlint.reports import settings

    place = Path(options.stdin_filename or "-" if path == "-" else path).absolute()
    if path != "-" and not place.exists():
        raise MissingPath(f"{path}: no such file or folder")
    sys.stdout.write(settings.render(finder.of(place if place.is_dir() else place.parent)))
    return 0


def _check_files(paths: Iterable[str], finder: Finder, options: Options) -> int:
    from pathlib import Path

    from adlint import project
    from adlint.cache import Cache
    from adlint.discovery import discover

    began = time.monotonic()
    found = discover(paths, finder, force_exclude=options.force_exclude)
    home = finder.of(Path.cwd())
    results = project.lint(found, None if options.no_cache else Cache(home.root))
    if not found.files and not found.problems:
        _say("no Python files under the given paths", "warning")
    mended, changed, failed = 0, 0, False
    if options.fix or options.diff:
        for item in project.fix(found.files, results, unsafe=options.unsafe_fixes):
            if options.diff:
                results[item.source.filename] = list(item.remaining)
                changed += len(item.applied)
                sys.stdout.write(item.diff())
                continue
            try:
                project.write(item)
            except OSError as error:
                _say(f"{item.source.filename}: cannot be written: {error.strerror}")
                failed = True
                continue
            results[item.source.filename] = list(item.remaining)
            mended += len(item.applied)
    if options.verbose:
        _say(f"settings: {home.origin or 'none, the defaults hold'}", "info")
        _say(f"{len(found.files)} files in {time.monotonic() - began:.2f} s", "info")
    if options.diff:
        return _end_of_diff(changed, itertools.chain.from_iterable(results.values()), options)
    findings = [item for path in sorted(results, key=lambda path: path.split(os.sep)) for item in results[path]]
    status = _report(findings, _sources(findings), mended, options)
    return 2 if failed else status


def _check_standard_input(finder: Finder, options: Options) -> int:
    from pathlib import Path

    from adlint import linter
    from adlint.discovery import left_out
    from adlint.project import Fixed, resolver
    from adlint.source import Source, Unreadable

    name = options.stdin_filename or "-"
    settings = finder.of(Path(name).absolute().parent)
    data = sys.stdin.buffer.read()
    copies = options.fix and not options.diff
    if options.force_exclude and options.stdin_filename and left_out(name, settings):
        return _copy(data) if copies else 0
    try:
        source = Source.from_bytes(data, name)
    except Unreadable as error:
        if copies:
            _copy(data)
        return _report([linter.unreadable(name, error.message, error.position)], {}, 0, options, copies)
    follower = resolver(name, settings) if options.stdin_filename else None
    if not (options.fix or options.diff):
        found = linter.lint(source, settings, always_parse=True, resolver=follower)
        return _report(found, {name: source}, 0, options)
    result = linter.fix(source, settings, options.unsafe_fixes, always_parse=True, resolver=follower)
    if options.diff:
        sys.stdout.write(Fixed(source, result.text, result.applied, result.remaining).diff())
        return _end_of_diff(len(result.applied), result.remaining, options)
    mended = source.with_text(result.text)
    _copy(mended.encode())
    return _report(list(result.remaining), {name: mended}, len(result.applied), options, copies)


def _report(
    findings: list[Diagnostic], sources: dict[str, Source], mended: int, options: Options, copied: bool = False
) -> int:
    """Print the report, to standard error if a text has been copied to standard output; return the exit status."""
    from adlint.linter import FAILED
    from adlint.reports import Result, renderer

    status = 1 if findings and not options.exit_zero else 0
    if any(item.name == FAILED for item in findings):
        status = 2
    stream = sys.stderr if copied else sys.stdout
    terminal = stream.isatty() and not options.output_file
    color = _colors(options.color, terminal)
    result = Result(
        tuple(findings),
        sources,
        mended,
        color,
        summary=not options.quiet,
        links=_links(color, terminal),
        root=os.getcwd(),
        status=status,
    )
    form = options.output_format
    if options.statistics:
        from adlint.reports.tally import render

        text = render(result, form)
    else:
        text = renderer(form)(result)
    if options.output_file is None:
        stream.write(text)
        return status
    try:
        _write(options.output_file, text)
    except OSError as error:
        _say(f"{options.output_file}: cannot be written: {error.strerror}")
        status = 2
    if not options.quiet:
        from adlint.reports.summary import summarise

        stream.write(summarise(result) + "\n")
    return status


def _write(file: str, text: str) -> None:
    """Write a report whole or not at all; to what is no regular file, such as a pipe, write it as it is."""
    from adlint.files import write_atomically

    data = text.encode("utf-8", "backslashreplace")
    if os.path.exists(file) and not os.path.isfile(file):
        with open(file, "wb") as stream:
            stream.write(data)
    else:
        write_atomically(file, data)


def _end_of_diff(changed: int, remaining: Iterable[Diagnostic], options: Options) -> int:
    from adlint.linter import FAILED

    failures = [item for item in remaining if item.name == FAILED]
    for item in failures:
        _say(f"{item.filename}: {item.message}")
    if not options.quiet:
        _say(f"would fix {changed} problem{'' if changed == 1 else 's'}", "info")
    if failures:
        return 2
    return 1 if changed and not options.exit_zero else 0


def _copy(data: bytes) -> int:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    return 0


def _sources(findings: Iterable[Diagnostic]) -> dict[str, Source]:
    """Read again the files that have findings, so that the report can show their lines."""
    from adlint.source import Source, Unreadable

    sources = {}
    for name in dict.fromkeys(item.filename for item in findings):
        try:
            sources[name] = Source.read(name)
        except (OSError, Unreadable):
            continue
    return sources


def _colors(wish: str, terminal: bool) -> bool:
    """Decide on colours: --color, then NO_COLOR, then FORCE_COLOR, then whether somebody watches."""
    if wish != "auto":
        return wish == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return terminal and os.environ.get("TERM") != "dumb"


def _links(color: bool, terminal: bool) -> bool:
    """Decide on hyperlinks: none without colours; then FORCE_HYPERLINK, then what the terminal says of itself."""
    if not color or not (terminal or os.environ.get("FORCE_HYPERLINK")):
        return False
    from adlint.reports.hyperlinks import supported

    return supported(os.environ)


def _split(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _say(text: str, kind: str = "error") -> None:
    from adlint.diagnostics import one_line

    print(f"adlint: {kind}: {one_line(text)}", file=sys.stderr)


def rule(name: str) -> int:
    """Explain one rule."""
    from adlint.catalog import load
    from adlint.config import rule_words, suggest
    from adlint.explanation import explanation

    catalog = load()
    try:
        text = explanation(catalog.rule(name), catalog)
    except KeyError:
        _say(f"unknown rule `{name}`{suggest(name, rule_words(catalog))}")
        return 2
    if not _colors("auto", sys.stdout.isatty()):
        print(text)
        return 0
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))
    return 0


def explain(place: str, **flags: Any) -> int:
    """Show what led to a line."""
    from pathlib import Path

    from adlint.config import ConfigError, Finder, Flags
    from adlint.project import resolver
    from adlint.source import Source, Unreadable
    from adlint.trace import renderer
    from adlint.trace.account import explain as account
    from adlint.trace.place import WrongPlace, parse

    try:
        where = parse(place)
        finder = Finder(Path(flags["config"]) if flags["config"] else None, Flags((), (), (), False, flags["port_to"]))
        settings = finder.of(Path(where.path).absolute().parent)
        source = Source.read(where.path)
        line = where.line_in(source)
        traces = account(source, settings, line, resolver(where.path, settings))
    except (ConfigError, WrongPlace) as error:
        _say(str(error))
        return 2
    except Unreadable as error:
        _say(f"{where.path}:{error.position.line}:{error.position.column}: {error.message}")
        return 2
    if traces:
        sys.stdout.write(renderer(flags["format"])(traces))
    else:
        _say(f"{place}: nothing happens on the tape here", "info")
    return 0


def server() -> int:
    """Serve one editor until it says goodbye; return the exit status that the protocol demands."""
    from adlint.server.session import serve

    # Without buffers, whose locks a thread that still reads would hold at the end of the process.
    with (
        os.fdopen(os.dup(sys.stdin.fileno()), "rb", 0) as reader,
        os.fdopen(os.dup(sys.stdout.fileno()), "wb") as writer,
    ):
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what is printed by mistake must not reach the editor
        return serve(reader, writer)


def rules() -> int:
    """List all rules."""
    from adlint.catalog import load

    for item in load().rules.values():
        fix = item.applicability.value if item.applicability else "-"
        print(f"{item.id}  {item.name:<24} {item.severity.value:<8} {fix:<8} {item.summary}")
    return 0
