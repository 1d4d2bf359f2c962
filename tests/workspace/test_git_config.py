"""A config is read as git reads it, and only what is allowed is written again."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from postil.workspace.failures import DamagedConfig
from postil.workspace.git_config import Setting, is_true, keep_allowed, parse_config, write_config

ODD = """\ufeff; a remark
[core] bare = false ; behind it
\tfilemode
[remote "or\\"ig\\\\in"]
\turl = "a # b; c" d  # remark
\turl = one\\
 two
\turl = a\\tb\\n\\"q\\"
[Remote.OLD]
URL=x
[user]
name = "  spaced  "
email =
[empty]
"""


def read(text: str) -> list[Setting]:
    return [*parse_config(text, "config")]


def test_every_spelling_is_read_as_git_reads_it(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(ODD, encoding="utf-8")
    asked = ["git", "config", "--file", str(tmp_path / "config"), "-z", "--list"]
    fields = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split("\0")[:-1]
    theirs = [(key, value if equals else None) for key, equals, value in (field.partition("\n") for field in fields)]
    ours = [
        (".".join(part for part in (section, name, key) if part is not None), value)
        for section, name, key, value in read(ODD)
    ]
    assert ours == theirs


@pytest.mark.parametrize("text", ["[core", "core = 1", '[a "b]\nx=1', '[a]\nx = "open', "[a]\nx = \\q", "[a]\n=1"])
def test_what_git_refuses_is_refused(text: str) -> None:
    with pytest.raises(DamagedConfig):
        read(text)


TEXT = some.text(some.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=20)


@given(
    some.lists(some.tuples(some.sampled_from(["remote", "branch"]), TEXT, some.sampled_from(["url", "fetch"]), TEXT))
)
def test_what_is_written_is_read_again(rows: list[tuple[str, str, str, str]]) -> None:
    settings = [Setting(*row) for row in rows]
    assert read(write_config(settings)) == settings


NAMES = some.from_regex(r"[a-z][a-z0-9-]{0,15}", fullmatch=True)
KNOWN = {"core", "index", "user", "extensions", "remote"}


@given(NAMES, some.none() | TEXT, NAMES, some.none() | TEXT)
def test_nothing_unknown_is_kept(section: str, name: str | None, key: str, value: str | None) -> None:
    kept = keep_allowed([Setting(section, name, key, value)], "config")
    assert not kept or section in KNOWN


@pytest.mark.parametrize(
    ("section", "name", "key", "value"),
    [
        ("core", None, "fsmonitor", "true"),
        ("core", "name", "filemode", "true"),
        ("core", None, "eol", "touch ran"),
        ("core", None, "hookspath", "x"),
        ("filter", "", "clean", "x"),
        ("hook", "x", "command", "x"),
        ("credential", "", "helper", "x"),
        ("http", None, "cookiefile", "x"),
        ("include", None, "path", "x"),
        ("includeif", "gitdir:/", "path", "x"),
        ("remote", "x", "uploadpack", "x"),
        ("remote", "x", "vcs", "x"),
        ("remote", "--x", "url", "x"),
        ("remote", "x", "url", "a\nb"),
        ("url", "ext::x", "insteadof", "https://"),
        ("alias", None, "status", "!x"),
        ("submodule", "x", "update", "!x"),
        ("extensions", None, "worktreeconfig", "true"),
    ],
)
def test_what_could_lead_elsewhere_is_left_out(section: str, name: str | None, key: str, value: str) -> None:
    assert keep_allowed([Setting(section, name, key, value)], "config") == []


def test_truth_is_told_as_git_does() -> None:
    assert [is_true(value) for value in (None, "yes", "ON", "1", "true", "no", "", "0", "x")] == [True] * 5 + [
        False
    ] * 4
