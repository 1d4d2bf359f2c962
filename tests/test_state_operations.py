"""What operators do with the state, as they do it: backups, the audit, and commands whose output goes nowhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from postil.core.failure import NeedsExtra
from postil.settings.load import load
from postil.state_operations import StateOperations
from postil.storage import writable
from postil.storage.failures import EphemeralAway, StateFull, StateUnwritable
from postil.storage.memory import MemoryState
from postil.storage.sqlite import SqliteState
from tests.storage.redis_server import redis_server
from tests.surfaces.conftest import repository
from tests.surfaces.programs import BIN, run

__all__ = ["repository"]  # a fixture


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of its own: these tests replace it as a whole."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def send(folder: Path, text: str) -> None:
    sent = run("postil", "inbox", "send", "--file", "a.py", "-c", text, cwd=folder)
    assert sent.returncode == 0, sent.stderr


def test_a_backup_brings_messages_keys_and_the_secret_back(repository: Path, tmp_path: Path) -> None:
    send(repository, "before the backup")
    run("postil", "key", "create", "team", "--json", cwd=repository)
    backup = str(tmp_path / "backup")
    made = run("postil", "backup", backup, "--json", cwd=repository)
    assert json.loads(made.stdout)["records"] >= 2, made.stderr
    secret = Path(os.environ["XDG_STATE_HOME"]) / "postil" / "secret"
    was = secret.read_bytes()
    send(repository, "after the backup")
    secret.write_bytes(b"another secret, of another machine")
    refused = run("postil", "restore", backup, cwd=repository)
    assert (refused.returncode, "not empty" in refused.stderr) == (6, True)
    restored = run("postil", "restore", backup, "--force", cwd=repository)
    assert restored.returncode == 0, restored.stderr
    listed = run("postil", "inbox", "list", "--json", cwd=repository).stdout
    assert ("before the backup" in listed, "after the backup" in listed) == (True, False)
    assert "team" in run("postil", "key", "list", cwd=repository).stdout
    assert secret.read_bytes() == was


def test_a_restore_that_was_killed_before_the_secret_is_resumed(repository: Path, tmp_path: Path) -> None:
    send(repository, "before the backup")
    run("postil", "key", "create", "team", "--json", cwd=repository)
    backup = str(tmp_path / "backup")
    run("postil", "backup", backup, cwd=repository)
    secret = Path(os.environ["XDG_STATE_HOME"]) / "postil" / "secret"
    was = secret.read_bytes()
    other = b"another secret, of another machine"
    secret.write_bytes(other)
    killed = restore_killed_before_the_secret(repository, backup)
    assert (killed.returncode, secret.read_bytes()) == (9, other)
    resumed = run("postil", "restore", backup, cwd=repository)
    assert resumed.returncode == 0, resumed.stderr
    assert secret.read_bytes() == was
    again = run("postil", "restore", backup, cwd=repository)
    assert (again.returncode, "not empty" in again.stderr) == (6, True)


def test_what_was_written_after_a_killed_restore_is_not_replaced_unasked(repository: Path, tmp_path: Path) -> None:
    send(repository, "before the backup")
    backup = str(tmp_path / "backup")
    run("postil", "backup", backup, cwd=repository)
    assert restore_killed_before_the_secret(repository, backup).returncode == 9
    send(repository, "since the restore")
    refused = run("postil", "restore", backup, cwd=repository)
    assert (refused.returncode, "not empty" in refused.stderr) == (6, True)
    assert "since the restore" in run("postil", "inbox", "list", "--json", cwd=repository).stdout


def restore_killed_before_the_secret(folder: Path, backup: str) -> subprocess.CompletedProcess[bytes]:
    code = "import os, sys; from postil import secret; from postil.surfaces.shell.main import main\n"
    code += "secret.replace = lambda *_: os._exit(9)\nsys.argv = ['postil', 'restore', sys.argv[1], '--force']; main()"
    return subprocess.run([sys.executable, "-c", code, backup], cwd=folder, check=False)


def test_half_a_backup_is_refused_with_7_and_changes_nothing(repository: Path, tmp_path: Path) -> None:
    send(repository, "kept")
    backup = tmp_path / "backup"
    run("postil", "backup", str(backup), cwd=repository)
    backup.write_bytes(backup.read_bytes()[:-9])
    refused = run("postil", "restore", str(backup), "--force", cwd=repository)
    assert refused.returncode == 7
    assert "kept" in run("postil", "inbox", "list", cwd=repository).stdout
    assert run("postil", "--read-only", "restore", str(backup), cwd=repository).returncode == 2


def test_the_audit_is_verified_from_the_shell(repository: Path) -> None:
    settings = load(cwd=str(repository))
    state = SqliteState(settings.state_address)
    from postil.core.call import Caller

    operations = StateOperations(settings, lambda: state)
    operations.audit().open(Caller("ada"), "send", {"id": 7}).close("ok")
    told = run("postil", "audit", "verify", cwd=repository)
    assert (told.returncode, "The chains are whole" in told.stdout) == (0, True)
    with state.writing() as changes:
        (key, value), *_ = changes.range("audit", limit=1)
        changes.put("audit", key, value.replace(b"begin", b"begun"))
    told = run("postil", "audit", "verify", cwd=repository)
    assert (told.returncode, "not as it was written" in told.stderr) == (7, True)
    state.close()


@pytest.mark.parametrize("command", ["status", "inbox list", "issue list", "tools", "--help", "--version"])
def test_a_closed_output_is_harmless_and_a_full_one_is_told(command: str, repository: Path) -> None:
    environ = {**os.environ, "PAGER": "cat"}

    def status(redirection: str) -> tuple[int, str]:
        line = f'exec "{BIN / "postil"}" {command} {redirection}'
        done = subprocess.run(
            ["sh", "-c", line], cwd=repository, stderr=subprocess.PIPE, text=True, timeout=60, env=environ
        )
        return done.returncode, done.stderr

    assert status(">&-") == (0, "")
    assert status("2>&- >/dev/null")[0] == 0
    assert status("<&- >/dev/null")[0] == 0
    if command != "--version":  # written as Python ends, which complains by itself
        code, told = status("> /dev/full")
        assert (code, "The output cannot be written" in told) == (7, True)


def test_a_server_that_starts_removes_what_killed_writers_left(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    left, fresh = tmp_path / "src" / ".postil-1f-00.tmp", tmp_path / "src" / ".postil-1f-01.tmp"
    left.parent.mkdir()
    for file in (left, fresh):
        file.write_text("half")
    os.utime(left, (1, 1))
    settings = load({"HOME": str(tmp_path / "home")}, str(tmp_path))
    StateOperations(settings, MemoryState).remove_leftovers().join()
    assert (left.exists(), fresh.exists()) == (False, True), "one that is new may have a living writer"
    StateOperations(load({"HOME": "/nowhere"}, "/"), MemoryState).remove_leftovers().join()


def test_a_redis_for_what_may_vanish_that_does_not_answer_is_told(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "POSTIL_EPHEMERAL": "redis://127.0.0.1:1/0"}
    operations = StateOperations(load(environ, str(tmp_path)), MemoryState)
    with pytest.raises(EphemeralAway, match="each replica's own"):
        operations.find_damage()
    with redis_server() as server:
        environ["POSTIL_EPHEMERAL"] = server.address
        StateOperations(load(environ, str(tmp_path)), MemoryState).check_ephemeral()


def test_a_missing_extra_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, "postil.storage.redis_store.redis_connection", raising=False)
    settings = load({"HOME": str(tmp_path), "POSTIL_STATE": "redis://127.0.0.1:1/0"})
    with pytest.raises(NeedsExtra, match="needs the extra 'redis'"):
        StateOperations(settings, MemoryState).find_damage()


def test_a_state_that_cannot_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def operations() -> StateOperations:
        state = SqliteState(settings.state_address)
        return StateOperations(settings, lambda: state)

    def deny(*_: object) -> bool:  # to root nothing is closed but a file system that is read-only
        return False

    monkeypatch.delenv("XDG_STATE_HOME")
    settings = load({"HOME": str(tmp_path / "home")}, str(tmp_path))
    assert operations().find_damage()[1] == []
    assert not (tmp_path / "home").exists(), "it was only asked"
    with monkeypatch.context() as patched:
        patched.setattr(os, "access", deny)
        with pytest.raises(StateUnwritable):
            operations().find_damage()
    with monkeypatch.context() as patched:
        patched.setattr(writable, "LEAST_FREE", 1 << 62)
        with pytest.raises(StateFull):
            operations().find_damage()
    (tmp_path / "home").write_text("no folder")
    with pytest.raises(StateUnwritable, match="no folder"):
        operations().find_damage()


def test_a_state_that_is_whole_on_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load({"HOME": str(tmp_path)}, str(tmp_path))
    state = SqliteState(settings.state_address)
    operations = StateOperations(settings, lambda: state)
    assert operations.find_damage()[1] == []
    with state.writing() as changes:
        changes.put("space", "key", b"value")
    monkeypatch.setattr(writable, "LEAST_FREE", 1 << 62)
    with pytest.raises(StateFull):
        operations.find_damage()
    state.close()
