"""Ordinary calls beside those of an older checkout."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import against
from bench.against import KINDS, Side
from bench.server import ROOT, Process, Server, started

PROGRAM = str(ROOT / ".venv" / "bin" / "postil")


@contextmanager
def _server(monkeypatch: pytest.MonkeyPatch) -> Generator[Process]:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Bench")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "bench@example.org")
    monkeypatch.setattr(against, "FILES", 2)
    monkeypatch.setattr(against, "EACH", 1)
    monkeypatch.setattr(against, "ISSUES", 2)
    with against.repository() as folder, started(Server("Postil", (PROGRAM, "serve")), cwd=Path(folder)) as process:
        process.handshake()
        yield process


def test_every_call_is_answered_and_costs_something(monkeypatch: pytest.MonkeyPatch) -> None:
    with _server(monkeypatch) as process:
        side = Side(process)
        assert all(side.measure(kind, 0, 2) > 0 for kind in KINDS)


def test_a_refused_call_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    with _server(monkeypatch) as process, pytest.raises(RuntimeError, match="comments_show was refused"):
        Side(process).ask("comments_show", {"commentId": "c_1"})


def test_a_folder_without_an_environment_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        against.main([str(tmp_path)])
    assert ended.value.code == 2
    assert "run `make setup` there first" in capsys.readouterr().err
