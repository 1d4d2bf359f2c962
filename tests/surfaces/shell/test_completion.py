"""Shell completion offers what may come next."""

import json
import os
import select
import subprocess
from pathlib import Path

import pytest

from tests.needs import needs
from tests.surfaces.programs import BIN, run
from tests.surfaces.terminals import Terminal
from tests.tracker.hostile import event, write_log


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["stat"], "status"),
        (["workspace", ""], "check"),
        (["workspace", "check", "--j"], "--json"),
        (["setup", "vsc"], "vscode"),
        (["setup", "claude", "--w"], "--write"),
        (["completion", ""], "zsh"),
        (["call", "workspace_i"], "workspace_info"),
    ],
)
def test_completion_offers_what_may_come_next(words: list[str], offered: str, repository: Path) -> None:
    assert offered in run("postil", "complete-words", *words, cwd=repository).stdout.split()


def test_bash_completes_with_the_printed_script(repository: Path) -> None:
    script = (
        'eval "$(postil completion bash)"; COMP_WORDS=(postil workspace in); COMP_CWORD=2; _postil_complete;'
        'printf "%s" "${COMPREPLY[*]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=repository,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "info"


@pytest.mark.parametrize(
    ("program", "function", "words"),
    [("postil", "_postil_complete", "postil x"), ("git-mile", "_git_mile", "git mile")],
)
def test_bash_looks_for_no_files_that_a_candidate_would_match(
    tmp_path: Path, program: str, function: str, words: str
) -> None:
    """A pattern such as `*/*/*/*` keeps bash busy for hours in a folder of many links."""
    (tmp_path / "here.txt").touch()
    script = (
        f'eval "$({BIN}/postil completion bash)"; {program}() {{ printf "%s\\n" "*" "[h]ere.txt"; }};'
        f'COMP_WORDS=({words} ""); COMP_CWORD=2; {function}; printf "%s|" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "*|[h]ere.txt|"


def test_git_mile_completes_its_own_commands(repository: Path) -> None:
    def ask(*words: str) -> list[str]:
        done = subprocess.run([BIN / "git-mile", *words], cwd=repository, capture_output=True, text=True, timeout=60)
        return done.stdout.split()

    assert ask("complete-words", "cl") == ["claim", "close"]
    assert "--priority" in ask("complete-words", "edit", "--p")
    assert "_git_mile()" in ask("completion", "bash")
    both = run("postil", "completion", "bash", cwd=repository).stdout
    assert "_postil_complete()" in both
    assert "_git_mile()" in both


def test_bash_completes_an_id_without_its_description(repository: Path) -> None:
    made = json.loads(run("postil", "issue", "create", "A door", "--json", cwd=repository).stdout)
    script = 'eval "$(postil completion bash)"; COMP_WORDS=(git mile show ""); COMP_CWORD=3; _git_mile;'
    script += 'echo "${COMPREPLY[@]}"'
    path = f"{BIN}:{os.environ['PATH']}"
    words = ["bash", "-c", script]
    done = subprocess.run(words, cwd=repository, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.stdout == f"{made['id']}\n"


@pytest.mark.parametrize(("command", "asked"), [("git mile", "+o nospace\n"), ("git-mile", "")])
def test_bash_puts_a_space_behind_a_word_of_git_mile(repository: Path, command: str, asked: str) -> None:
    """Git's own completion is set up without: it adds the spaces to what it offers itself."""
    words = f"{command} sho".split()
    script = f'compopt() {{ echo "$@"; }}; eval "$(git-mile completion bash)"; COMP_WORDS=({" ".join(words)});'
    script += f"COMP_CWORD={len(words) - 1}; _git_mile; echo $COMPREPLY"
    path = f"{BIN}:{os.environ['PATH']}"
    bash = ["bash", "-c", script]
    done = subprocess.run(bash, cwd=repository, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.stdout == f"{asked}show\n"


def test_bash_lists_ids_with_what_they_name(repository: Path) -> None:
    for title in ("A door", "A window"):
        run("postil", "issue", "create", title, cwd=repository)
    script = 'eval "$(postil completion bash)"; COMP_WORDS=(git mile show ""); COMP_CWORD=3; COMP_TYPE=63; _git_mile;'
    script += 'printf "%s\\n" "${COMPREPLY[@]}"'
    path = f"{BIN}:{os.environ['PATH']}"
    words = ["bash", "-c", script]
    done = subprocess.run(words, cwd=repository, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert sorted(line.partition("  ")[2] for line in done.stdout.splitlines()) == ["A door", "A window"]


def test_the_values_of_an_argument_without_a_flag_are_offered(repository: Path) -> None:
    said = run("postil", "complete-words", "issue", "link", "1234", "b", cwd=repository).stdout
    assert said.split() == ["blocked-by", "blocks"]


def complete(repository: Path, *words: str, program: str = "postil") -> dict[str, str]:
    done = run(program, "complete-words", *words, cwd=repository)
    return dict(line.split("\t") for line in done.stdout.splitlines() if "\t" in line)


def test_ids_are_offered_with_what_they_name(repository: Path) -> None:
    made = json.loads(run("postil", "issue", "create", "Fix  the \u202edoor", "--json", cwd=repository).stdout)
    id_ = made["id"]
    assert complete(repository, "issue", "show", "") == {id_: "Fix the door"}
    assert complete(repository, "close", id_[:5], program="git-mile") == {id_: "Fix the door"}
    assert complete(repository, "issue", "close", id_, id_, id_[:5]) == {id_: "Fix the door"}
    assert complete(repository, "issue", "show", "zzz") == {}
    (repository / "a.py").write_text("one = 1\n")
    added = run("postil", "comments", "add", "a.py", "1", "Why " + "so " * 40, "--json", cwd=repository)
    ((name, about),) = complete(repository, "comments", "show", "").items()
    assert json.loads(added.stdout)["commentId"].endswith(name)
    assert about.startswith("a.py:1 Why so so")
    assert about.endswith("…")
    assert complete(repository, "comments", "show", "c_") == {json.loads(added.stdout)["commentId"]: about}
    run("postil", "inbox", "send", "-f", "a.py", "-c", "Look here", cwd=repository)
    ((number, about),) = complete(repository, "inbox", "show", "").items()  # others' messages have numbers before it
    assert about == "Look here"
    assert complete(repository, "inbox", "edit", number, "") == {}  # its second argument is a text


def test_a_command_for_one_kind_offers_only_that_kind(repository: Path) -> None:
    issue, milestone = (
        json.loads(run("postil", kind, "create", title, "--json", cwd=repository).stdout)["id"]
        for kind, title in (("issue", "Fix the door"), ("milestone", "v1"))
    )
    assert complete(repository, "milestone", "show", "") == {milestone: "v1"}
    assert complete(repository, "milestone", "close", "") == {milestone: "v1"}
    assert complete(repository, "issue", "comment", "") == {issue: "Fix the door"}
    assert complete(repository, "close", "", program="git-mile") == {issue: "Fix the door", milestone: "v1"}


def test_where_there_is_no_repository_no_ids_are_offered(tmp_path: Path) -> None:
    done = run("postil", "complete-words", "issue", "show", "", cwd=tmp_path)
    assert (done.returncode, done.stderr, "\t" in done.stdout) == (0, "", False)


def test_an_id_that_a_shell_would_run_is_not_offered(repository: Path) -> None:
    evil, good = "$(touch stolen)", "11111111-0000-4000-8000-000000000001"
    named = [ent.ljust(36, "#") for ent in (evil, good, "`touch stolen`", "a\nb", "-x", "*")]
    write_log(repository, *(event(ent, n, "created", n, kind="issue", title=evil) for n, ent in enumerate(named, 1)))
    assert list(complete(repository, "issue", "show", "")) == [good]
    (repository / "a.py").write_text("x = 1\n")
    id_ = json.loads(run("postil", "comments", "add", "a.py", "1", "hello", "--json", cwd=repository).stdout)[
        "commentId"
    ]
    sidecar = repository / "a.py.comments"
    sidecar.write_text(sidecar.read_text().replace(id_, f"{evil}\\n\\u001b"))
    assert "$" not in "".join(complete(repository, "comments", "show", ""))


HOSTILE = ("a1$(touch ran)", "a2;touch ran", "`touch ran`", "a3'quote", "a4*[x]", "a5:b")
ABOUT = "$(touch ran) `touch ran` %F{red} 'q' \"q\" [b]:c \\n"


@pytest.fixture
def offering(tmp_path: Path) -> Path:
    """A folder with a program that offers what ours never would."""
    lines = "".join(f"{value}\t{ABOUT}\n" for value in HOSTILE)
    (tmp_path / "offered").write_text(lines)
    (tmp_path / "bin").mkdir()
    for name, begins in (("postil", f'[ "$1" = completion ] && exec {BIN}/postil "$@"\n'), ("git-mile", "")):
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\n{begins}cat {tmp_path}/offered\n")
        program.chmod(0o755)
    return tmp_path


def test_fish_shows_what_is_hostile_and_runs_nothing_of_it(offering: Path) -> None:
    asked = "postil completion fish | source; complete -C 'postil show '; complete -C 'git mile show '"
    environment = {"PATH": f"{offering}/bin:{os.environ['PATH']}", "HOME": str(offering)}
    words = [needs("fish"), "--no-config", "-c", asked]
    done = subprocess.run(words, cwd=offering, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert sorted(done.stdout.splitlines()) == sorted(f"{value}\t{ABOUT}" for value in HOSTILE * 2)
    assert not (offering / "ran").exists()


@pytest.mark.parametrize("command", ["postil", "git-mile"])
def test_zsh_quotes_what_is_hostile_and_runs_nothing_of_it(offering: Path, command: str) -> None:
    environment = {"PATH": f"{offering}/bin:{os.environ['PATH']}", "HOME": str(offering), "TERM": "dumb"}
    terminal = Terminal()
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), terminal.slave)
    words = [needs("zsh"), "-f", "-i"]
    zsh = subprocess.Popen(words, cwd=offering, env=environment, start_new_session=True, **streams)

    def ask(typed: str, until: str) -> str:
        os.write(terminal.master, typed.encode())
        seen = ""
        while until not in seen and select.select([terminal.master], [], [], 60)[0]:
            seen += os.read(terminal.master, 65536).decode()
        assert until in seen
        return seen

    try:
        ask("autoload -Uz compinit; compinit -u -D; eval \"$(postil completion zsh)\"; PS1='ready''> '\n", "ready> ")
        assert ABOUT[:30] in ask(f"{command} show \t", "a5:b  ")
        assert "a1\\$\\(touch\\ ran\\)" in ask(f"\x15{command} show a1\t", "ran\\)")
    finally:
        zsh.kill()
        zsh.wait()
        terminal.shown()
    assert not (offering / "ran").exists()
