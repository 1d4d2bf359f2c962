"""What the doctor asks of the workspace."""

from pathlib import Path

import pytest

from postil.core.failure import StorageFailed
from postil.storage import writable
from postil.workspace.operations import checks
from postil.workspace.operations.checks import WorkspaceChecks
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
