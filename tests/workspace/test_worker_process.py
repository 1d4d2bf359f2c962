"""Workers of ours: what they see of the environment, and which modules they import."""

from __future__ import annotations

from pathlib import Path

import pytest

from postil.workspace.worker_process import start_worker, worker_environment


def test_a_worker_is_given_no_secret() -> None:
    given = {"PATH": "/bin", "HOME": "/home/ann", "LC_ALL": "C", "GIT_CONFIG_GLOBAL": "/g"}
    secret = {"GITLAB_TOKEN": "t", "POSTIL_SECRET": "s", "AWS_SECRET_ACCESS_KEY": "k"}
    misleading = {"PYTHONPATH": ".", "PYTHONSTARTUP": "x.py", "GIT_DIR": "x", "GIT_SSH_COMMAND": "x"}
    assert worker_environment(given | secret | misleading) == given


def test_a_worker_runs_the_module_that_is_installed_not_the_one_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "platform.py").write_text("print('hostile', flush=True)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said, _ = start_worker("platform").communicate(timeout=20)  # the standard library's prints the system's name
    assert said
    assert b"hostile" not in said
