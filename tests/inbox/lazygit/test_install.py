"""The file of our own that holds the bindings."""

from pathlib import Path

import pytest

from postil.inbox.lazygit.binding import format_bindings
from postil.inbox.lazygit.install import NotOurs, find_key, install, read_ours, renew, uninstall
from postil.workspace.repository import Repository, find_repository
from tests.workspace.repositories import new_repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return find_repository(str(new_repository(tmp_path / "r")))


def test_what_was_written_is_read_renewed_and_removed(repository: Repository, tmp_path: Path) -> None:
    config = str(tmp_path / "config")
    install(repository, config, "<c-t>", (0, 50), "/bin/postil")
    text = read_ours(repository, config)
    assert text == format_bindings("<c-t>", (0, 50), "/bin/postil")
    assert find_key(text or "") == "<c-t>"
    assert renew(repository, config, (0, 50), "/bin/postil") == []
    assert renew(repository, config, (0, 66), "/bin/postil") == [f"{repository.common_dir}/lazygit.yml"]
    assert read_ours(repository, config) == format_bindings("<c-t>", (0, 66), "/bin/postil")
    assert "Removed" in uninstall(repository, config)
    assert "nothing to remove" in uninstall(repository, config)
    assert read_ours(repository, config) is None


def test_a_file_of_somebody_else_is_left_alone(repository: Repository, tmp_path: Path) -> None:
    file = Path(repository.common_dir) / "lazygit.yml"
    file.write_text("gui: {}\n")
    with pytest.raises(NotOurs):
        install(repository, str(tmp_path), "<c-y>", None, "postil")
    with pytest.raises(NotOurs):
        uninstall(repository, str(tmp_path))
    assert renew(repository, str(tmp_path), None, "postil") == []
    assert file.read_text() == "gui: {}\n"


def test_for_all_repositories_only_files_that_exist_are_named(tmp_path: Path) -> None:
    said = install(None, str(tmp_path), "<c-y>", None, "postil")
    assert f'LG_CONFIG_FILE="{tmp_path}/postil/lazygit.yml"' in said
    assert "There is no lazygit on PATH" in said
    (tmp_path / "lazygit").mkdir()
    (tmp_path / "lazygit" / "config.yml").write_text("gui: {}\n")
    said = install(None, str(tmp_path), "<c-y>", (0, 66), "postil")
    assert f'LG_CONFIG_FILE="{tmp_path}/lazygit/config.yml,{tmp_path}/postil/lazygit.yml"' in said
