"""Our hooks in the settings of assistants, beside the user's own."""

import json
from pathlib import Path

import pytest

from postil.surfaces.setup.hooks import SHAPES, find, find_more, put, remove, wanted
from tests.surfaces.programs import BIN, run
from tests.surfaces.setup.homes import file_of, home

POSTIL = str(BIN / "postil")


def test_hooks_stand_beside_the_users_own(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude-hooks", repository, tmp_path)
    path.parent.mkdir()
    own = {"hooks": [{"type": "command", "command": "say done"}]}
    path.write_text(json.dumps({"hooks": {"Stop": [own]}, "model": "x"}))
    run("postil", "setup", "claude-hooks", "--write", cwd=repository, **home(tmp_path))
    hooks = json.loads(path.read_text())["hooks"]
    assert hooks["Stop"][0] == own
    assert hooks["Stop"][1]["hooks"][0]["command"] == f"{POSTIL} inbox hook stop"
    assert set(hooks) == {"SessionStart", "UserPromptSubmit", "Stop"}
    changed = path.read_text().replace('"x"', '"y"')
    path.write_text(changed)  # so that removing has to take ours out, not bring the old bytes back
    run("postil", "setup", "claude-hooks", "--remove", cwd=repository, **home(tmp_path))
    assert json.loads(path.read_text()) == {"hooks": {"Stop": [own]}, "model": "y"}


def test_what_is_left_of_our_hooks_can_be_removed(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude-hooks", repository, tmp_path)
    run("postil", "setup", "claude-hooks", "--write", cwd=repository, **home(tmp_path))
    settings = json.loads(path.read_text())
    del settings["hooks"]["Stop"]  # the user took one out by hand
    path.write_text(json.dumps(settings | {"theme": "dark"}))
    said = run("postil", "setup", "claude-hooks", "--remove", cwd=repository, **home(tmp_path))
    assert "Took our entry out" in said.stdout
    assert "inbox hook" not in path.read_text()
    again = run("postil", "setup", "claude-hooks", "--remove", cwd=repository, **home(tmp_path))
    assert "There is no entry of ours" in again.stdout


def test_checking_the_hooks_takes_no_message(repository: Path, tmp_path: Path) -> None:
    run("postil", "setup", "claude-hooks", "--write", cwd=repository, **home(tmp_path))
    run("postil", "inbox", "send", "-f", "a.py", "-c", "why?", cwd=repository, **home(tmp_path))
    assert run("postil", "setup", "claude-hooks", "--check", cwd=repository, **home(tmp_path)).returncode == 0
    listed = json.loads(run("postil", "inbox", "list", "--json", cwd=repository, **home(tmp_path)).stdout)
    assert [message["state"] for message in listed["messages"]] == ["queued"]


def test_who_sets_up_the_hooks_of_codex_is_told_to_trust_them(repository: Path, tmp_path: Path) -> None:
    said = run("postil", "setup", "codex-hooks", "--write", cwd=repository, **home(tmp_path))
    assert "type /hooks in Codex once and trust them" in said.stdout


def test_a_hook_that_waits_is_the_persons_own(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude-hooks", repository, tmp_path)
    path.parent.mkdir()
    own = {"hooks": [{"type": "command", "command": "postil inbox hook idle >&2 && exit 2; exit 0"}]}
    path.write_text(json.dumps({"hooks": {"Stop": [own]}}))
    run("postil", "setup", "claude-hooks", "--write", cwd=repository, **home(tmp_path))
    assert json.loads(path.read_text())["hooks"]["Stop"][0] == own


DOCUMENTED = {
    # each as its client documents it
    "claude": {"SessionStart": [{"hooks": [{"type": "command", "command": "/p inbox hook start"}]}]},
    "codex": {
        "Stop": [{"hooks": [{"type": "command", "command": "/p inbox hook stop --client codex", "timeout": 30}]}]
    },
    "gemini": {
        "BeforeAgent": [
            {"hooks": [{"type": "command", "command": "/p inbox hook prompt --client gemini", "timeout": 30000}]}
        ]
    },
    "cursor": {"stop": [{"command": "/p inbox hook stop --client cursor"}]},
    "copilot": {"agentStop": [{"type": "command", "bash": "/p inbox hook stop --client copilot", "timeoutSec": 30}]},
}


@pytest.mark.parametrize("client", SHAPES)
def test_each_client_has_its_documented_shape(client: str) -> None:
    hooks = wanted("/p", SHAPES[client])
    for event, groups in DOCUMENTED[client].items():
        assert hooks[event] == groups


@pytest.mark.parametrize("client", SHAPES)
def test_putting_and_removing_leaves_the_others(client: str) -> None:
    shape = SHAPES[client]
    event = next(iter(shape.events))
    other = {"command": "say inbox"} if shape.form == "bare" else {"hooks": [{"command": "x hook inbox"}]}
    before = json.dumps({"hooks": {event: [other]}})
    text = put(before, "/my tools/postil", shape)
    assert put(text, "/my tools/postil", shape) == text
    assert find(text, shape) is not None
    assert json.loads(text).get("version", 0) == shape.version
    assert json.loads(remove(text, shape))["hooks"] == {event: [other]}


@pytest.mark.parametrize("client", SHAPES)
def test_setup_writes_checks_and_removes_them(client: str, repository: Path, tmp_path: Path) -> None:
    name = f"{client}-hooks"
    path = file_of(name, repository, tmp_path)
    assert run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path)).returncode == 0
    printed = json.loads(run("postil", "setup", name, "--print", cwd=repository, **home(tmp_path)).stdout)
    assert json.loads(path.read_text()) == printed
    assert run("postil", "setup", name, "--check", cwd=repository, **home(tmp_path)).returncode == 0
    run("postil", "setup", name, "--remove", cwd=repository, **home(tmp_path))
    assert not path.exists()


@pytest.mark.parametrize("client", SHAPES)
def test_code_behind_our_words_is_not_ours(client: str, repository: Path, tmp_path: Path) -> None:
    """The doctor said that such hooks reach Postil: a shell runs all that stands in them."""
    name = f"{client}-hooks"
    path = file_of(name, repository, tmp_path)
    run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    written = path.read_text()
    path.write_text(written.replace("inbox hook start", "inbox hook start; touch RAN;"))
    checked = run("postil", "setup", name, "--check", cwd=repository, **home(tmp_path))
    assert checked.returncode == 6
    assert "starts something else than this Postil" in checked.stderr
    assert "; touch RAN;" in checked.stderr
    rows = json.loads(run("postil", "doctor", "--json", cwd=repository, **home(tmp_path)).stdout)
    assert [row["status"] for row in rows if row["name"] == name] == ["error"]
    listed = json.loads(run("postil", "setup", "--json", cwd=repository, **home(tmp_path)).stdout)
    assert [row["connected"] for row in listed if row["client"] == name] == [False]
    said = run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    assert "touch RAN" in said.stdout, "what is lost is said"
    assert path.read_text() == written


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("inbox hook stop", "inbox hook stop && curl evil"),
        ("inbox hook stop", "inbox hook start"),
        ('"/p inbox hook stop', '"$(evil)/p inbox hook stop'),
        ('"/p inbox hook stop', '"/p  inbox hook stop'),
        ('"command": "/p inbox hook stop', '"powershell": "evil", "command": "/p inbox hook stop'),
        ('"bash": "/p inbox hook stop', '"env": {"PATH": "x"}, "bash": "/p inbox hook stop'),
        ('"bash": "/p inbox hook stop', '"command": "/p inbox hook stop", "bash": "evil; /p inbox hook stop'),
        ('"type": "command"', '"type": "prompt"'),
        ('{"hooks": [{', '{"shell": "evil", "hooks": [{'),
    ],
)
@pytest.mark.parametrize("client", SHAPES)
def test_a_hook_is_ours_to_the_letter_or_not_at_all(client: str, old: str, new: str) -> None:
    shape = SHAPES[client]
    hooks = wanted("/p", shape)
    assert find_more(hooks, shape) == ""
    changed = json.loads(json.dumps(hooks).replace(old, new))
    assert (changed == hooks) or find_more(changed, shape) != ""


def test_how_long_and_when_a_hook_runs_is_the_persons_to_say() -> None:
    hooks = wanted("/my tools/p", SHAPES["codex"])
    hooks["SessionStart"][0]["matcher"] = "startup"
    hooks["SessionStart"][0]["hooks"][0]["timeout"] = 5
    assert find_more(hooks, SHAPES["codex"]) == ""


def test_a_hook_in_the_form_of_another_client_is_not_ours() -> None:
    grouped = {"stop": [{"hooks": [{"command": "/p inbox hook stop --client cursor"}]}]}
    assert find_more(grouped, SHAPES["cursor"]) == "/p inbox hook stop --client cursor"
    assert find_more({"Stop": [{"command": "/p inbox hook stop"}]}, SHAPES["claude"]) == "/p inbox hook stop"


def test_hooks_that_are_disabled_in_their_file_are_not_called_reached(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude-hooks", repository, tmp_path)
    run("postil", "setup", "claude-hooks", "--write", cwd=repository, **home(tmp_path))
    path.write_text(json.dumps({**json.loads(path.read_text()), "disableAllHooks": True}))
    checked = run("postil", "setup", "claude-hooks", "--check", cwd=repository, **home(tmp_path))
    assert (checked.returncode, "Hooks are disabled in" in checked.stderr) == (6, True)
    rows = json.loads(run("postil", "doctor", "--json", cwd=repository, **home(tmp_path)).stdout)
    assert [row["status"] for row in rows if row["name"] == "claude-hooks"] == ["error"]


def test_every_hook_of_ours_starts_this_postil(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude-hooks", repository, tmp_path)
    run("postil", "setup", "claude-hooks", "--write", cwd=repository, **home(tmp_path))
    path.write_text(path.read_text().replace(f"{POSTIL} inbox hook stop", "/usr/bin/touch inbox hook stop"))
    assert run("postil", "setup", "claude-hooks", "--check", cwd=repository, **home(tmp_path)).returncode == 6


def test_a_file_with_two_entries_of_ours_keeps_the_one_that_stays(repository: Path, tmp_path: Path) -> None:
    for name in ("gemini", "gemini-hooks"):
        run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    path = file_of("gemini", repository, tmp_path)
    both = json.loads(path.read_text())
    assert set(both) == {"mcpServers", "hooks"}
    run("postil", "setup", "gemini-hooks", "--remove", cwd=repository, **home(tmp_path))
    assert json.loads(path.read_text()) == {"mcpServers": both["mcpServers"]}
