"""What settings say of themselves: the token, the offer, the state; and never a secret."""

from pathlib import Path

import pytest

from postil.settings.model import BadSettings, Folders, GitLabSettings, Settings, StateSettings
from tests.settings.places import place, read

__all__ = ["place"]  # a fixture


def test_the_token_comes_from_environment_or_file_and_is_never_shown(place: Path) -> None:
    (place / "token").write_text("glpat-from-file\n")
    settings = read(place, GITLAB_TOKEN_FILE=str(place / "token"))
    assert settings.gitlab.read_token() == "glpat-from-file"
    settings = read(place, GITLAB_TOKEN="glpat-secret", POSTIL_SECRET="hush")
    assert settings.gitlab.read_token() == "glpat-secret"
    assert "glpat-secret" not in repr(settings) + str(settings)
    assert "hush" not in repr(settings)


def test_a_token_file_that_cannot_be_read_is_named(place: Path) -> None:
    with pytest.raises(BadSettings, match="token file"):
        read(place, GITLAB_TOKEN_FILE=str(place / "none")).gitlab.read_token()


def test_the_workspace_part_is_always_on(place: Path) -> None:
    offer = read(place, POSTIL_PARTS="inbox, comments").offer()
    assert offer.parts == ("inbox", "comments", "workspace")
    assert read(place).offer().parts == ()


def test_the_state_is_in_its_folder_unless_it_is_named() -> None:
    folders = Folders("/c", "/s", "/k")
    assert Settings(folders=folders).state_address == "/s/state.db"
    assert Settings(folders=folders, state=StateSettings("redis://r")).state_address == "redis://r"


def test_certificates_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    assert GitLabSettings().trust() is True
    (tmp_path / "empty.pem").write_text("")
    for path, reason in ((tmp_path / "none.pem", "No such file"), (tmp_path / "empty.pem", "holds no certificate")):
        with pytest.raises(BadSettings, match=reason) as caught:
            GitLabSettings(ca_file=str(path)).trust()
        assert str(path) in caught.value.message
