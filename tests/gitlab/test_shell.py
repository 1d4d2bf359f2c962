"""The part from a terminal: real processes, the token from the environment or a file, and nothing loaded too early."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulator.app import Emulator
from tests.emulator.world import DEVELOPER

POSTIL = Path(sys.executable).with_name("postil")


@pytest.fixture
def workspace(tmp_path: Path, emulator: Emulator) -> Path:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    return tmp_path


def postil(workspace: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(POSTIL), *words],
        cwd=workspace,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_person_lists_projects_and_creates_an_issue(workspace: Path, address: str, emulator: Emulator) -> None:
    listed = postil(workspace, "gitlab", "projects", GITLAB_URL=address, GITLAB_TOKEN=DEVELOPER)
    assert "123 username/my-project (private) My Project" in listed.stdout
    words = ("gitlab", "create-issue", "username/my-project", "From the shell", "--labels", "bug", "--json")
    made = postil(workspace, *words, GITLAB_URL=address, GITLAB_TOKEN=DEVELOPER)
    assert json.loads(made.stdout)["id"] == 790
    assert emulator.world.projects[0].issues[-1]["labels"] == ["bug"]


def test_the_token_may_be_in_a_file(workspace: Path, address: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{DEVELOPER}\n")
    words = ("gitlab", "project", "123", "--json")
    got = postil(workspace, *words, GITLAB_URL=address, GITLAB_TOKEN_FILE=str(tmp_path / "token"))
    assert json.loads(got.stdout)["name"] == "My Project"


def test_a_refusal_says_gitlabs_own_words_and_has_its_exit_status(workspace: Path, address: str) -> None:
    refused = postil(workspace, "gitlab", "project", "999", GITLAB_URL=address, GITLAB_TOKEN=DEVELOPER)
    assert refused.returncode == 5
    assert "GitLab API Error: Project not found (status 404)" in refused.stderr
    assert DEVELOPER not in refused.stderr


@pytest.mark.parametrize(
    ("url", "shown", "reason"),
    [
        ("http://127.0.0.1:1", "http://127.0.0.1:1", "Connection refused"),
        ("http://user:hunter2@127.0.0.1:1/git", "http://127.0.0.1:1/git", "Connection refused"),
        ("http://gitlab.invalid", "http://gitlab.invalid", ""),  # a resolver says in its own words what it lacks
    ],
)
def test_a_gitlab_that_is_not_there_is_named_with_the_reason(
    workspace: Path, url: str, shown: str, reason: str
) -> None:
    away = {"GITLAB_URL": url, "GITLAB_TOKEN": DEVELOPER}
    for words in (("gitlab", "project", "123"), ("gitlab", "create-issue", "123", "Lost")):
        told = postil(workspace, *words, **away)
        assert told.returncode == 4
        assert f"GitLab cannot be reached at {shown}: {reason}" in told.stderr
        assert told.stderr.splitlines()[0].rstrip()[-1] != ":", told.stderr
        assert "Check GITLAB_URL" in told.stderr
        assert "Internal error" not in told.stderr
        assert "hunter2" not in told.stderr
    error = json.loads(postil(workspace, "gitlab", "project", "123", "--json", **away).stderr)["error"]
    assert (error["code"], error["message"], error["data"]["status"]) == (-32603, "Internal error", 503)
    assert error["data"]["message"].startswith(f"GitLab cannot be reached at {shown}: {reason}")


def test_a_gitlab_that_fails_is_not_called_an_error_of_ours(workspace: Path, address: str, emulator: Emulator) -> None:
    emulator.faults.add("500")
    told = postil(workspace, "gitlab", "create-issue", "123", "x", GITLAB_URL=address, GITLAB_TOKEN=DEVELOPER)
    assert told.returncode == 4
    assert "GitLab failed: Internal server error (status 500)" in told.stderr


def test_without_a_token_the_shell_says_how_to_connect(workspace: Path) -> None:
    told = postil(workspace, "gitlab", "connect")
    assert "GITLAB_TOKEN" in told.stdout
    assert told.returncode == 0
    refused = postil(workspace, "gitlab", "issues", "group/shop")
    assert "`postil gitlab issues` is not offered here" in refused.stderr  # it is no misspelling of another
    assert "no GitLab token is configured" in refused.stderr
    assert "Set GITLAB_TOKEN or GITLAB_TOKEN_FILE; see `postil gitlab connect`" in refused.stderr
    assert refused.returncode == 3
    promoted = postil(workspace, "issue", "gitlab", "1", "group/shop")
    assert "no GitLab token is configured" in promoted.stderr


def test_an_issue_is_asked_for_by_either_of_its_numbers(workspace: Path, address: str) -> None:
    for words in (["--issue-iid", "1"], ["789"]):
        got = postil(workspace, "gitlab", "issue", "123", *words, GITLAB_URL=address, GITLAB_TOKEN=DEVELOPER)
        assert "title: Issue title" in got.stdout, got.stderr
    neither = postil(workspace, "gitlab", "issue", "123", GITLAB_URL=address, GITLAB_TOKEN=DEVELOPER)
    assert "issue_iid or issue_id must be given" in neither.stderr


def test_the_part_is_listed_and_loaded_without_an_http_client() -> None:
    script = "import sys, postil.gitlab.part; print([n for n in ('httpx2', 'httpcore2') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
