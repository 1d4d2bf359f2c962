"""What the doctor asks of the workspace."""

import os
from pathlib import Path

import pytest

from postil.core.failure import StorageFailed
from postil.storage import writable
from postil.workspace.operations import checks
from postil.workspace.operations.checks import WorkspaceChecks, list_running, list_unused
from tests.workspace.repositories import workspace


def test_a_repository_is_named_and_its_absence_is_a_warning(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert WorkspaceChecks(workspace(folder)).repository_is_found().seen == str(folder.resolve())
    nowhere = WorkspaceChecks(workspace(tmp_path_factory.mktemp("nowhere"))).repository_is_found()
    assert (nowhere.status, "git init" in nowhere.fix) == ("warning", True)


@pytest.mark.parametrize(
    ("version", "status"),
    [("", "error"), ("2.35.9", "warning"), ("2.36.0", "ok"), ("2.36.rc1", "ok"), ("3.0", "ok"), ("1.99", "warning")],
)
def test_git_is_old_before_2_36(folder: Path, version: str, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_git_version(_: str) -> str:
        return version

    monkeypatch.setattr(checks, "read_git_version", read_git_version)
    assert WorkspaceChecks(workspace(folder)).git_is_recent().status == status


def test_a_damaged_state_database_is_an_error_of_the_doctor(folder: Path) -> None:
    assert WorkspaceChecks(workspace(folder)).state_is_sound().status == "ok"
    assert WorkspaceChecks(workspace(folder, ["row 7 missing"])).state_is_sound().status == "error"

    def broken() -> tuple[str, list[str]]:
        raise StorageFailed("state.db is no database", advice="Move it away")

    finding = WorkspaceChecks(workspace(folder)._replace(state_damage=broken)).state_is_sound()
    assert (finding.status, finding.fix) == ("error", "Move it away")


def test_a_full_disk_is_an_error_of_the_doctor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writable, "LEAST_FREE", 1 << 62)
    finding = WorkspaceChecks(workspace(folder)).repository_is_found()
    assert (finding.status, "full" in finding.seen, "Free some space" in finding.fix) == ("error", True, True)


def test_settings_that_only_the_users_own_git_obeys_are_named(folder: Path) -> None:
    asked = WorkspaceChecks(workspace(folder))
    assert asked.settings_are_used()[0].seen == "every setting of the repository is used"
    with (folder / ".git" / "config").open("a") as config:
        config.write('[http]\n\tproxy = http://127.0.0.1:1\n[filter "x\x1b"]\n\tclean = touch ran\n\tsmudge = cat\n')
        config.write("[alias]\n" + "".join(f"\ta{number} = status\n" for number in range(9)))
    running, finding = asked.settings_are_used()
    assert (running.status, finding.status) == ("warning", "ok")
    assert "alias.a0, alias.a1" in finding.seen
    assert "and 4 more" in finding.seen
    assert "git config --global" in finding.seen
    names = list_unused(workspace(folder).find())
    assert names[9:] == ["filter.x\x1b.clean", "filter.x\x1b.smudge", "http.proxy"]
    assert "\x1b" not in finding.seen
    (folder / ".git" / "config").write_text("[core")
    assert "not looked for" in asked.settings_are_used()[0].seen


def test_what_the_users_own_git_would_run_is_a_warning(folder: Path) -> None:
    config = folder / ".git" / "config"
    own = config.read_text()
    config.write_text(
        f'{own}[core]\n\tfsmonitor = true\n[filter "lfs"]\n\tclean = git-lfs clean -- %f\n[alias]\n\ts = status\n'
        '[merge "postil-comments"]\n\tdriver = "f() { x; }; f"\n'
    )
    ours = {"merge.postil-comments.driver": "f() { x; }; f"}
    context = workspace(folder)._replace(git_settings=lambda: ours)
    assert [finding.status for finding in WorkspaceChecks(context).settings_are_used()] == ["ok"]
    config.write_text(config.read_text().replace("x; }; f", "x; }; f; y"))
    assert WorkspaceChecks(context).settings_are_used()[0].status == "warning"
    config.write_text(
        f'{own}[core]\n\tfsmonitor = ./run\n\thooksPath = h\n[alias]\n\ts = !run\n[diff "x"]\n\ttextconv = run\n'
        '[include]\n\tpath = ../x\n[credential]\n\thelper = !run\n[filter "postil-x"]\n\tclean = run\n'
    )
    warned, _ = WorkspaceChecks(workspace(folder)).settings_are_used()
    assert warned.status == "warning"
    assert list_running(workspace(folder).find()) == [
        "alias.s", "core.fsmonitor", "core.hookspath", "credential.helper", "diff.x.textconv",
        "filter.postil-x.clean", "include.path",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("[core]\n\thooksPath = on", "core.hookspath"),
        ("[core]\n\tsshCommand = 1", "core.sshcommand"),
        ('[filter "lfs"]\n\tsmudge = "git-lfs smudge -- %f; run"', "filter.lfs.smudge"),
        ('[filter ""]\n\tclean = run', "filter..clean"),
        ('[tar "x"]\n\tcommand = run', "tar.x.command"),
    ],
)
def test_nothing_passes_for_a_setting_that_runs_no_other_program(folder: Path, line: str, named: str) -> None:
    with (folder / ".git" / "config").open("a") as config:
        config.write(f"{line}\n")
    assert list_running(workspace(folder).find()) == [named]


def test_the_second_config_of_a_repository_is_looked_through_where_git_reads_it(folder: Path) -> None:
    (folder / ".git" / "config.worktree").write_text("[core]\n\tfsmonitor = ./run\n")
    assert list_running(workspace(folder).find()) == []
    with (folder / ".git" / "config").open("a") as config:
        config.write("[extensions]\n\tworktreeConfig\n")
    assert list_running(workspace(folder).find()) == ["core.fsmonitor"]


@pytest.mark.parametrize("content", [b"[bad\n", b"[x]\n" + b"\ty = 1\n" * 200_000])
def test_a_config_that_cannot_be_read_hides_neither_itself_nor_git(
    folder: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".git" / "config").write_bytes(content)
    (folder / "git").write_text(f"#!/bin/sh\ntouch {folder}/ran\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    asked = WorkspaceChecks(workspace(folder))
    assert asked.git_is_recent().seen.startswith("git ")
    assert asked.git_is_recent().fix != "Install git and put it on PATH"
    assert "cannot be read" in asked.settings_are_used()[0].seen
    assert not (folder / "ran").exists(), "a git of the repository was asked"
