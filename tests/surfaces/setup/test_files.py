"""A client's file: written with care, and left as it was."""

import json
from pathlib import Path

import pytest
import yaml

from postil.core import limits
from postil.surfaces.setup.clients import CLIENTS
from tests.surfaces.programs import run
from tests.surfaces.setup.homes import file_of, home

JSON_BEFORE = """\
{
    // my servers
    "mcpServers": {
        "other": {"command": "x"}, // keep
    },
    "theme": "dark"
}
"""

YAML_BEFORE = "# mine\nmodel: o9\nextensions:\n  other: # keep\n    cmd: x\n"
TOML_BEFORE = '# mine\nmodel = "o9"\n\n[mcp_servers.other] # keep\ncommand = "x"\n'


@pytest.mark.parametrize("name", CLIENTS)
def test_removing_leaves_the_file_byte_for_byte(name: str, repository: Path, tmp_path: Path) -> None:
    path = file_of(name, repository, tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    client = CLIENTS[name]
    before = (TOML_BEFORE if client.is_toml else YAML_BEFORE if client.is_yaml else JSON_BEFORE).encode()
    path.write_bytes(before)
    for _ in range(2):  # the second write changes nothing, and must not become "what was before"
        assert run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path)).returncode == 0
    assert b"// keep" in path.read_bytes() or b"# keep" in path.read_bytes()
    assert run("postil", "setup", name, "--remove", cwd=repository, **home(tmp_path)).returncode == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_removing_keeps_what_the_user_changed_meanwhile(name: str, repository: Path, tmp_path: Path) -> None:
    path = file_of(name, repository, tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TOML_BEFORE if CLIENTS[name].is_toml else JSON_BEFORE)
    run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    path.write_text(path.read_text().replace("keep", "keep this"))
    run("postil", "setup", name, "--remove", cwd=repository, **home(tmp_path))
    assert "keep this" in path.read_text()
    assert "postil" not in path.read_text()


def list_all(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


@pytest.mark.parametrize(
    "names",
    [
        ("gemini", "gemini-hooks"),
        ("codex", "codex-hooks"),
        ("zed",),
        ("goose",),
        ("copilot", "copilot-hooks"),
        ("cursor", "cursor-hooks"),
        ("claude-hooks",),
    ],
)
@pytest.mark.parametrize("backwards", [False, True])
def test_what_we_made_goes_with_the_last_of_our_entries(
    names: tuple[str, ...], backwards: bool, repository: Path, tmp_path: Path
) -> None:
    environ, where = home(tmp_path), tmp_path / "home"
    where.mkdir()
    before = list_all(repository), list_all(where)
    for name in names:
        assert run("postil", "setup", name, "--write", cwd=repository, **environ).returncode == 0
    for name in reversed(names) if backwards else names:
        assert run("postil", "setup", name, "--remove", cwd=repository, **environ).returncode == 0
    assert list_all(repository) == before[0]
    assert [each for each in list_all(where) if not each.startswith("state")] == before[1]


def test_a_file_and_a_folder_that_somebody_else_uses_stay(repository: Path, tmp_path: Path) -> None:
    path = file_of("gemini", repository, tmp_path)
    for name in ("gemini", "gemini-hooks"):
        run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    held = json.loads(path.read_text())
    path.write_text(json.dumps(held | {"theme": "dark"}))
    for name in ("gemini", "gemini-hooks"):
        run("postil", "setup", name, "--remove", cwd=repository, **home(tmp_path))
    assert json.loads(path.read_text())["theme"] == "dark"
    path.unlink()
    for name in ("gemini", "gemini-hooks"):
        run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    (path.parent / "mine").touch()
    path.write_text(json.dumps(json.loads(path.read_text())))  # spelled anew by somebody else
    for name in ("gemini", "gemini-hooks"):
        run("postil", "setup", name, "--remove", cwd=repository, **home(tmp_path))
    assert [each.name for each in path.parent.iterdir()] == ["mine"]


def test_a_giant_file_that_a_repository_brings_is_refused_in_words(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude", repository, tmp_path)
    path.write_text('{"a": "' + "x" * limits.REPOSITORY_FILE + '"}')
    refused = run("postil", "setup", "claude", "--write", cwd=repository, **home(tmp_path))
    assert refused.returncode != 0
    assert "larger than" in refused.stderr


@pytest.mark.parametrize(("name", "damaged"), [("claude", "{"), ("codex", "[x"), ("claude", '{"mcpServers": []}')])
def test_a_file_that_cannot_be_understood_is_not_touched(
    name: str, damaged: str, repository: Path, tmp_path: Path
) -> None:
    path = file_of(name, repository, tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(damaged)
    done = run("postil", "setup", name, "--write", cwd=repository, **home(tmp_path))
    assert done.returncode == 6
    assert str(path) in done.stderr
    assert path.read_text() == damaged


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("---\nGOOSE_PROVIDER: x\n...\n", False),
        ("{}\n", False),
        ("extensions:\n- a\n", True),
        ("extensions: null\n", True),
        ("extensions: ~\n", True),
        ("{GOOSE_PROVIDER: x}\n", True),
        ('"extensions":\nGOOSE_PROVIDER: x\n', True),
        ("a: 1\n---\nb: 2\n", True),
    ],
)
def test_a_yaml_file_holds_what_it_held_and_our_entry_or_is_not_touched(
    text: str, refused: bool, repository: Path, tmp_path: Path
) -> None:
    """Goose could not read its file any more, and success was said."""
    path = file_of("goose", repository, tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    done = run("postil", "setup", "goose", "--write", cwd=repository, **home(tmp_path))
    assert done.returncode == (6 if refused else 0), done.stderr
    if refused:
        assert path.read_text() == text
        return
    held = yaml.safe_load(path.read_text())
    assert held.pop("extensions").keys() == {"postil"}
    assert held == yaml.safe_load(text)
    assert path.read_text().count("extensions:") == 1


def test_a_symlink_in_a_repository_is_not_followed(repository: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious.json"
    precious.write_text("{}")
    (repository / ".mcp.json").symlink_to(precious)
    done = run("postil", "setup", "claude", "--write", cwd=repository, **home(tmp_path))
    assert (done.returncode, "leads out of its folder" in done.stderr) == (6, True)
    assert precious.read_text() == "{}"


def test_a_symlink_at_home_is_the_users_own_and_stays_one(repository: Path, tmp_path: Path) -> None:
    path = file_of("codex", repository, tmp_path)
    path.parent.mkdir(parents=True)
    (tmp_path / "dotfiles.toml").write_text(TOML_BEFORE)
    path.symlink_to(tmp_path / "dotfiles.toml")
    assert run("postil", "setup", "codex", "--write", cwd=repository, **home(tmp_path)).returncode == 0
    assert path.is_symlink()
    assert "postil" in (tmp_path / "dotfiles.toml").read_text()


def test_a_file_that_is_too_large_to_read_whole_is_not_written(repository: Path, tmp_path: Path) -> None:
    path = file_of("codex", repository, tmp_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("# a remark\n" * 500_000)
    refused = run("postil", "setup", "codex", "--write", cwd=repository, **home(tmp_path))
    assert refused.returncode == 6
    assert "larger than 4194304 bytes" in refused.stderr
    assert path.read_text() == "# a remark\n" * 500_000


def test_a_damaged_memory_of_what_was_before_removes_our_entry_alone(repository: Path, tmp_path: Path) -> None:
    path = file_of("claude", repository, tmp_path)
    path.write_text(JSON_BEFORE)
    run("postil", "setup", "claude", "--write", cwd=repository, **home(tmp_path))
    (note,) = (tmp_path / "home" / "state").rglob("setup/*.json")
    content = note.read_bytes()
    note.write_bytes(content[: content.index(b":") + 1] + b'"\xff"' + content[content.index(b",") :])
    done = run("postil", "setup", "claude", "--remove", cwd=repository, **home(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "postil" not in path.read_text()
    assert "// keep" in path.read_text()
