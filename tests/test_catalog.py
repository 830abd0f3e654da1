"""The catalog's own promise: every table loads, all texts have one voice, and the examples are programs."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from string import Formatter

import pytest

from adlint import catalog, profiles
from adlint.catalog import CatalogError, Rule
from adlint.diagnostics import Severity
from adlint.profiles import METHOD_ROLES, ROLES, Profile, read_profile
from adlint.tables import merged, parse

CATALOG = catalog.load()
RULES = list(CATALOG.rules.values())
PROFILES = list(CATALOG.profiles.values())

# What the identity of a rule is. A line is added for a new rule and never changed.
IDS = {
    "AD001": "unused-suppression",
    "AD002": "unreadable-source",
    "AD101": "double-backward",
    "AD102": "shared-backward",
    "AD201": "missing-zero-grad",
    "AD204": "discarded-grad",
    "AD205": "non-leaf-grad",
    "AD206": "non-scalar-backward",
    "AD207": "inactive-grad",
    "AD208": "foreign-grad",
    "AD301": "eval-without-no-grad",
    "AD309": "inplace-on-leaf",
}
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
every_profile = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.id)


def test_identities_stay() -> None:
    """A rule keeps its id and an id its rule."""
    assert {key: CATALOG.rule(key).name for key in IDS} == IDS


def test_rules_are_found_by_name_and_id() -> None:
    assert all(CATALOG.rule(rule.name) is CATALOG.rule(rule.id) is rule for rule in RULES)
    with pytest.raises(KeyError):
        CATALOG.rule("no-such-rule")


def test_load_is_cached() -> None:
    assert catalog.load() is CATALOG


@every_rule
def test_id_names_the_family(rule: Rule) -> None:
    """AD1xx is graph, AD2xx slots, AD3xx scope, AD4xx port, AD0xx the linter itself."""
    family = {"0": "meta", "1": "graph", "2": "slots", "3": "scope", "4": "port"}
    assert family[rule.id[2]] == rule.family


@every_rule
def test_wording_of_messages(rule: Rule) -> None:
    """Lower case, no final stop, no advice: a message says what happened."""
    for message in rule.messages.values():
        assert re.match(r"[`a-z{]", message), message
        assert not message.endswith((".", "!")), message
        assert message.count("`") % 2 == 0, message
        assert not re.search(r"\b(please|try|should|must|consider)\b", message), message


@every_rule
def test_wording_of_titles(rule: Rule) -> None:
    """Imperative, lower case, no final stop."""
    for title in rule.fix_titles.values():
        assert re.match(r"[a-z]", title), title
        assert not title.endswith("."), title
        assert title.count("`") % 2 == 0, title


@every_rule
def test_summary_is_one_line(rule: Rule) -> None:
    assert "\n" not in rule.summary
    assert not rule.summary.endswith(".")
    assert rule.summary[0].islower()


@every_rule
def test_why_is_prose(rule: Rule) -> None:
    """One or two paragraphs of whole sentences."""
    paragraphs = rule.why.split("\n\n")
    assert len(paragraphs) <= 2
    for paragraph in paragraphs:
        assert paragraph.endswith("."), paragraph


@every_rule
def test_fix_is_whole(rule: Rule) -> None:
    """Title, applicability and reason come together or not at all."""
    assert bool(rule.fix_titles) == (rule.applicability is not None) == bool(rule.fix_why)
    assert (rule.fix_title is None) == (not rule.fix_titles)


@every_rule
def test_examples_parse(rule: Rule) -> None:
    """Both examples are Python, unless the rule is about what is not."""
    for text in (rule.bad, rule.good):
        assert text.endswith("\n")
        assert not text.startswith("\n")
        assert all(len(line) <= 120 for line in text.splitlines())
    ast.parse(rule.good)
    if rule.name != "unreadable-source":
        ast.parse(rule.bad)


@every_rule
def test_examples_are_marked(rule: Rule) -> None:
    """The bad example says where the rule speaks; the good one says nothing."""
    assert "# want" not in rule.good
    if rule.family != "meta":
        assert re.findall(r"# want: (\S+)$", rule.bad, re.MULTILINE) == [rule.name]


FAILS = {
    "backward-without-graph": "does not require grad",
    "carried-graph": "second time",
    "inactive-grad": "does not require grad",
    "non-leaf-grad": "NoneType",
    "non-scalar-backward": "scalar outputs",
    "inplace-on-leaf": "leaf Variable that requires grad",
    "double-backward": "second time",
    "inference-tensor-in-graph": "Inference tensors",
    "shared-backward": "second time",
    "stale-forward": "second time",
    "step-between": "inplace operation",
    "undetached-adversary": "second time",
}
"""Rules whose bad example fails at its marked line, the last one's where the harm shows; and what PyTorch says then."""


@pytest.mark.runtime
@every_rule
def test_examples_run(rule: Rule) -> None:
    """The good example runs; the bad one runs as well or fails at the marked line, as its rule says."""
    pytest.importorskip("torch")
    if rule.family == "meta":
        pytest.skip("not about training")
    exec(compile(rule.good, "good", "exec"), {"__name__": "__main__"})
    if rule.name in FAILS:
        with pytest.raises((RuntimeError, TypeError), match=FAILS[rule.name]) as failure:
            exec(compile(rule.bad, "bad", "exec"), {"__name__": "__main__"})
        if rule.name == "undetached-adversary":
            return
        marked = next(n for n, line in enumerate(rule.bad.splitlines(), 1) if "# want" in line)
        assert marked in [entry.lineno + 1 for entry in failure.traceback if str(entry.path).endswith("bad")]
    else:
        exec(compile(rule.bad, "bad", "exec"), {"__name__": "__main__"})


@every_profile
def test_profile_has_terms_for_every_template(profile: Profile) -> None:
    """What a template leaves to the framework, every framework supplies."""
    terms = {name for other in PROFILES for name in other.terms}
    judged = [rule for rule in RULES if rule.family not in ("meta", "port") and profile.judges(rule.name)]
    titles = [title for rule in judged for title in rule.fix_titles.values()]
    needed = {name for title in titles for _, name, _, _ in Formatter().parse(title) if name in terms}
    if not profile.retain_argument:
        needed.discard("retain")
    needed -= set() if profile.grows else {"inference", "untracked"}
    needed -= set() if profile.names("no_grad") else {"no_grad"}
    assert needed <= profile.terms.keys()


def test_frameworks_know_each_other() -> None:
    """What belongs to another framework is told by its import root; a profile covers the libraries around it too."""
    profiles = CATALOG.profiles
    torch, paddle = profiles["torch"], profiles["paddle"]
    assert torch.is_alien("paddle.nn.Linear")
    assert not torch.is_alien("accelerate.Accelerator")
    assert paddle.is_alien("accelerate.Accelerator")
    assert not any(profile.is_alien("numpy.mean") for profile in profiles.values())


def test_profiles_without_anything_to_say() -> None:
    """A framework of which nothing is judged is named, so that PyTorch's rules leave its programs alone."""
    silent = {profile.id for profile in PROFILES if profile.rules == frozenset()}
    assert {"jax", "mindspore", "jittor"} <= silent
    assert "torch" not in silent


@every_profile
def test_roles_are_documented(profile: Profile) -> None:
    """The tables use only documented words."""
    roles = {*profile._roles.exact.values(), *(role for _, role in profile._roles.patterns)}
    assert roles <= ROLES.keys()
    for kind, names in profile._methods.items():
        assert {*names.exact.values(), *(role for _, role in names.patterns)} <= METHOD_ROLES[kind]


@every_profile
def test_patterns_are_listed_once(profile: Profile) -> None:
    """The second of two equal patterns never decides anything."""
    patterns = [pattern for pattern, _ in profile._roles.patterns]
    assert len(patterns) == len(set(patterns))


@every_profile
def test_unknown_names_have_no_role(profile: Profile) -> None:
    assert profile.role("somewhere.else.entirely") == ""
    assert profile.role("torchless.relu") == ""
    assert profile.method("optimizer", "no_such_method") == ""
    assert profile.method("no-such-kind", "backward") == ""
    assert profile.saves("somewhere.else.entirely") is (True if profile.consume == "always" else None)
    assert profile.base("somewhere.Else") is None


GOOD_RULE = """
id = "AD199"
name = "some-rule"
severity = "error"
summary = "something happens"
why = "Because."
bad = "x = 1"
good = "x = 2"
[messages]
default = "something happened"
"""


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (('id = "AD199"', 'id = "X1"'), "id"),
        (('name = "some-rule"', 'name = "other-rule"'), "name"),
        (('severity = "error"', 'severity = "fatal"'), "severity"),
        (('why = "Because."', ""), "why"),
        (('why = "Because."', 'why = " "'), "why"),
        (('why = "Because."', "why = 3"), "why"),
        (('why = "Because."', 'why = "Because."\ncolour = "red"'), "colour"),
        (("default =", "other ="), "messages"),
        (('default = "something happened"', 'default = "x"\n[fix]\ntitle = "mend it"'), "fix.applicability"),
    ],
)
def test_broken_rules_name_file_and_key(tmp_path: Path, change: tuple[str, str], key: str) -> None:
    """Data that cannot be used says where it is wrong."""
    file = tmp_path / "some-rule.toml"
    file.write_text(GOOD_RULE, encoding="utf-8")
    assert catalog.read_rule(file, "graph").severity is Severity.ERROR
    file.write_text(GOOD_RULE.replace(*change), encoding="utf-8")
    with pytest.raises(CatalogError) as failure:
        catalog.read_rule(file, "graph")
    assert failure.value.key == key
    assert "some-rule.toml" in failure.value.file
    assert key in str(failure.value)


def test_broken_toml_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "some-rule.toml"
    file.write_text("id = ", encoding="utf-8")
    with pytest.raises(CatalogError, match=r"some-rule\.toml"):
        catalog.read_rule(file, "graph")


GOOD_PROFILE = """
id = "ours"
roots = ["ours"]
consume = "always"
[terms]
backward = "backward()"
"""


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ('[roles]\nwizard = ["ours.f"]', "roles.wizard"),
        ('[roles]\nplain = ["ours.f"]\nload = ["ours.f"]', "roles.plain"),
        ('[methods.wizard]\nplain = ["f"]', "methods.wizard"),
        ('[methods.tensor]\nwizard = ["f"]', "methods.tensor.wizard"),
        ('[saves]\nnever = ["f"]\nalways = ["f"]', "saves.never"),
        ('[saves]\nsometimes = ["f"]', "saves.sometimes"),
        ('[[bases]]\nnames = ["ours.A"]\nrole = "module-base"\ncalls = ["dance"]', "bases[0].calls"),
        ('[[bases]]\nnames = ["ours.A"]\nrole = "module-base"\nhook = []', "bases[0].hook"),
        ('[[bases]]\nnames = ["ours.A"]\nrole = "wizard"', "bases[0].role"),
        ('[[bases]]\nnames = ["ours.A"]\nrole = "module-base"\nmethods = {f = "wizard"}', "bases[0].methods"),
        ('[[bases]]\nnames = ["ours.A"]\nrole = "module-base"\nmethods = {f = 1}', "bases[0].methods.f"),
        ('[[bases]]\nnames = ["ours.f"]\nrole = "module-base"\n[roles]\nplain = ["ours.f"]', "bases"),
        ("[roles]\nplain = [1]", "roles.plain"),
        ('[roles]\nplain = "ours.f"', "roles.plain"),
        ('[roles]\nplain = ["ours.[z-a]*"]', "roles.plain"),
        ("[roles]\n[roles.plain]", "roles.plain"),
        ('[keeps]\nalways = ["f"]\ntracked = ["f"]', "keeps.tracked"),
        ('[keeps]\nnever = ["f"]', "keeps.never"),
        ('[tracking]\nf = "yes"', "tracking"),
        ("[[modal]]\nnames = []\nposition = 1.5", "modal[0].position"),
        ("[results]\ntensor = [1]", "results.tensor"),
        ("[tracking]\nf = true\n[wizard]", "wizard"),
    ],
)
def test_broken_profiles_name_the_key(tmp_path: Path, more: str, key: str) -> None:
    file = tmp_path / "ours.toml"
    file.write_text(GOOD_PROFILE, encoding="utf-8")
    assert read_profile(file, CATALOG.rules).id == "ours"
    file.write_text(GOOD_PROFILE + more, encoding="utf-8")
    with pytest.raises(CatalogError) as failure:
        read_profile(file, CATALOG.rules)
    assert failure.value.key == key
    assert str(failure.value).startswith(f"ours.toml: {key}: ")


@pytest.mark.parametrize(
    ("first", "key"),
    [
        ('patterns = [["wizard", "ours.*"]]', "patterns"),
        ('patterns = [["plain"]]', "patterns"),
        ('patterns = ["plain"]', "patterns"),
        ('patterns = [["plain", "ours.[z-a]*"]]', "patterns"),
        ("bases = [1]", "bases[0]"),
        ("modal = [1]", "modal[0]"),
        ('augments = "yes"', "augments"),
        ("seeds = [1]", "seeds"),
        ('retain_argument = " "', "retain_argument"),
    ],
)
def test_broken_values_name_the_key(tmp_path: Path, first: str, key: str) -> None:
    """Says where a profile holds something else than it should, above its tables."""
    file = tmp_path / "ours.toml"
    file.write_text(f"{first}\n{GOOD_PROFILE}", encoding="utf-8")
    with pytest.raises(CatalogError) as failure:
        read_profile(file, CATALOG.rules)
    assert failure.value.key == key
    assert str(failure.value).startswith(f"ours.toml: {key}: ")


@pytest.mark.parametrize(
    ("family", "name", "number", "problem"),
    [
        ("slots", "other-rule", "AD199", "slots/other-rule.toml: id: AD199 is taken by some-rule"),
        ("slots", "some-rule", "AD299", "slots/some-rule.toml: name: some-rule exists in another family"),
    ],
)
def test_rules_are_listed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str, name: str, number: str, problem: str
) -> None:
    """Refuses a second rule with the id or the name of another."""
    for module in (catalog, profiles):
        monkeypatch.setattr(module, "package_data", lambda: tmp_path)
    for folder, rule, code in (("graph", "some-rule", "AD199"), (family, name, number)):
        (tmp_path / folder).mkdir()
        text = GOOD_RULE.replace("some-rule", rule).replace("AD199", code)
        (tmp_path / folder / f"{rule}.toml").write_text(text, encoding="utf-8")
        if folder == "graph":
            assert list(catalog.load.__wrapped__().rules) == ["some-rule"]
    with pytest.raises(CatalogError) as failure:
        catalog.load.__wrapped__()
    assert str(failure.value) == problem


def test_parts_are_merged(tmp_path: Path) -> None:
    """Tables join, lists go end to end, a value given twice is an error."""
    file, part = tmp_path / "ours.toml", tmp_path / "part.toml"
    file.write_text(GOOD_PROFILE + '[roles]\nplain = ["ours.f"]', encoding="utf-8")
    part.write_text('roots = ["theirs"]\n[roles]\nplain = ["ours.g"]\nload = ["ours.load"]', encoding="utf-8")
    data = merged(parse(file), parse(part), "part.toml")
    assert data["roots"] == ["ours", "theirs"]
    assert data["roles"] == {"plain": ["ours.f", "ours.g"], "load": ["ours.load"]}
    part.write_text('consume = "never"', encoding="utf-8")
    with pytest.raises(CatalogError, match=r"part\.toml: consume: is already given"):
        merged(data, parse(part), "part.toml")


def test_own_profiles_extend_a_framework(tmp_path: Path) -> None:
    """What a user's profile says of a name takes the place of what the framework says; the rest stays."""
    file = tmp_path / "ours.toml"
    file.write_text(
        'extends = "torch"\nroots = ["ours"]\npatterns = [["plain", "torch.nn.Linear*"]]\n'
        '[roles]\nmodule-base = ["ours.Net"]\nplain = ["torch.no_grad"]\n[terms]\nclear = "reset()"\n'
        '[methods.optimizer]\nclear = ["reset"]\n',
        encoding="utf-8",
    )
    profile = read_profile(file, CATALOG.rules)
    assert profile.id == "torch"
    assert {"ours", "torch"} <= {*profile.roots}
    names = ("ours.Net", "torch.no_grad", "torch.nn.Linear", "torch.nn.Conv2d", "torch.enable_grad")
    assert [profile.role(name) for name in names] == ["module-base", "plain", "plain", "module", "enable_grad"]
    assert profile.method("optimizer", "reset") == profile.method("optimizer", "zero_grad") == "clear"
    assert (profile.terms["clear"], profile.terms["step"]) == ("reset()", "step()")
    assert profile.role("builtins.len") == "plain"


@pytest.mark.parametrize(
    ("text", "key", "problem"),
    [
        ('extends = "tensorfow"', "extends", "'tensorfow' is no framework that adlint knows"),
        ('extends = "torch"\nid = "ours"', "id", "is 'ours', and not 'torch'"),
        ('extends = "torch"\nroots = "ours"', "roots", "is no list"),
        ('extends = "torch"\n[terms]\nclear = 1', "terms.clear", "is no str"),
        ('extends = "torch"\nrules = ["double-backwards"]', "rules", "'double-backwards' is not a rule"),
    ],
)
def test_broken_extensions_name_the_key(tmp_path: Path, text: str, key: str, problem: str) -> None:
    """Says what is wrong, with file and key."""
    file = tmp_path / "ours.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(CatalogError, match=rf"ours\.toml: {re.escape(key)}: {re.escape(problem)}"):
        read_profile(file, CATALOG.rules)


def test_patterns_are_asked_in_order_after_exact_names(tmp_path: Path) -> None:
    """`*` stops at a dot, `**` does not; the first pattern that fits decides."""
    file = tmp_path / "ours.toml"
    file.write_text(
        'patterns = [["module", "ours.nn.[A-Z]*"], ["operation", "ours.nn.*"], ["plain", "ours.**"]]\n'
        + GOOD_PROFILE
        + '[roles]\nloss = ["ours.nn.Loss"]',
        encoding="utf-8",
    )
    role = read_profile(file, CATALOG.rules).role
    assert role("ours.nn.Loss") == "loss"
    assert role("ours.nn.Linear") == "module"
    assert role("ours.nn.relu") == "operation"
    assert role("ours.nn.init.zeros") == "plain"
    assert role("ours") == ""
