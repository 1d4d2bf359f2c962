"""Help names every command."""

import json
import re
from pathlib import Path

import pytest

from tests.surfaces.programs import run
from tests.surfaces.shell_of_echo import postil

Capture = pytest.CaptureFixture[str]


def test_help_names_every_command(capsys: Capture) -> None:
    assert postil("help", "all") == 0
    shown = capsys.readouterr().out
    assert "echo say" in shown
    assert "completion" in shown
    assert postil("echo", "--help") == 0
    assert "Say it again" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        postil("echo", "say", "--help")
    assert ended.value.code == 0
    assert "What to say" in capsys.readouterr().out


@pytest.mark.parametrize("words", [(), ("--help",), ("help",)])
def test_the_program_alone_fits_one_screen(words: tuple[str, ...], repository: Path) -> None:
    lines = run("postil", *words, cwd=repository).stdout.splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 100
    for first in ("postil init", "postil inbox send", "postil issue list", "comments", "postil help PART"):
        assert any(first in line for line in lines), first


def test_help_of_a_part_lists_all_of_it(repository: Path) -> None:
    shown = run("postil", "help", "comments", cwd=repository).stdout
    assert "comments relocate" in shown
    assert "inbox" not in shown


def test_a_flag_that_is_not_near_is_not_suggested(repository: Path) -> None:
    """`--yes` is not `--json`."""
    told = run("postil", "issue", "list", "--yes", cwd=repository).stderr
    assert "--yes" in told
    assert "Did you mean" not in told
    assert "Did you mean '--json'?" in run("postil", "issue", "list", "--jsn", cwd=repository).stderr


def test_issues_take_the_short_flags_of_git_and_gh(repository: Path) -> None:
    made = run("postil", "issue", "create", "Crash", "-d", "It crashes", "-l", "bug", "--json", cwd=repository)
    assert made.returncode == 0, made.stderr
    issue = json.loads(made.stdout)["id"]
    run("postil", "issue", "comment", issue, "-m", "Again", cwd=repository)
    shown = json.loads(run("postil", "issue", "show", issue, "--json", cwd=repository).stdout)
    assert (shown["description"], shown["labels"], shown["comments"][0]["body"]) == ("It crashes", ["bug"], "Again")


@pytest.mark.parametrize(
    ("line", "words", "says"),
    [
        ("read_only = true", ("inbox", "send", "-c", "x"), "only reading is allowed"),
        ('parts = ["comments"]', ("inbox", "send", "-c", "x"), "the part inbox is off"),
        ('deny_tools = ["add_comment"]', ("comments", "add", "a.py", "1", "x"), "deny_tools leave add_comment out"),
        ('allow_tools = ["inbox_*"]', ("comments", "add", "a.py", "1", "x"), "allow_tools leave add_comment out"),
    ],
)
def test_what_a_setting_hides_is_refused_with_the_setting_and_who_set_it(
    repository: Path, line: str, words: tuple[str, ...], says: str
) -> None:
    """A clone may bring a postil.toml; nobody finds out why a command is gone unless it says so."""
    (repository / "postil.toml").write_text(line + "\n")
    refused = run("postil", *words, cwd=repository)
    assert refused.returncode == 3
    assert says in refused.stderr
    key = line.split(maxsplit=1)[0]
    assert f"`{key}` is set by {repository / 'postil.toml'}" in refused.stderr
    assert f"{key} is " in run("postil", "doctor", cwd=repository).stdout


def test_the_environment_is_named_too(repository: Path) -> None:
    refused = run("postil", "inbox", "send", "-c", "x", cwd=repository, POSTIL_READ_ONLY="1")
    assert "`read_only` is set by POSTIL_READ_ONLY" in refused.stderr


@pytest.mark.parametrize("words", [("serve",), ("init",), ("doctor",), ("setup",), ("issue", "create")])
def test_help_of_a_command_is_its_help(words: tuple[str, ...], repository: Path) -> None:
    done = run("postil", "help", *words, cwd=repository)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: postil {' '.join(words)} ")


def test_a_flag_for_what_has_none_is_told_so(repository: Path) -> None:
    told = run("postil", "issue", "create", "--title", "X", cwd=repository).stderr
    assert "There is no flag --title: TITLE is given without one" in told
    assert "Did you mean" not in run("postil", "issue", "create", "T", "--title2", cwd=repository).stderr


def test_what_follows_an_unknown_word_is_not_told_as_a_part_of_the_command(repository: Path) -> None:
    told = run("git-mile", "shwo", "3f2a", cwd=repository).stderr
    assert "There is no command `git mile shwo`" in told
    assert "Did you mean 'show'?" in told


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("issue new", "issue create"),  # not `issue next`, which takes an issue
        ("issue done 39d4", "issue close"),  # not `issue open`
        ("issue view 39d4", "issue show"),
        ("issue tick 39d4 2", "issue check"),
        ("issue lsit", "issue list"),
        ("milestone ls", "milestone list"),
        ("isue list", "issue list"),
        ("issue frobnicate", ""),
        ("issue status", ""),
    ],
)
def test_a_wrong_command_of_a_part_is_told_the_nearest_in_meaning(repository: Path, words: str, meant: str):
    told = run("postil", *words.split(), cwd=repository).stderr
    assert re.findall(r"Did you mean '(.*)'\?", told) == [meant] * bool(meant)
    assert ("Run `postil issue --help`" in told) == words.startswith("issue ")
