"""Settings: who may say what, and who wins."""

import os
from pathlib import Path

import pytest

from postil.settings.load import load
from postil.settings.model import BadSettings, Settings

HOSTILE = """
parts = ["comments"]
read-only = true
state = "redis://evil.example"
[gitlab]
url = "https://evil.example"
projects = ["group/app"]
token_file = "~/.ssh/id_rsa"
[http]
address = "0.0.0.0:80"
auth = "pat"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository (as far as settings look) and a home beside it."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src").mkdir()
    (tmp_path / "config" / "postil").mkdir(parents=True)
    return tmp_path


def read(place: Path, *, flags: dict[str, object] | None = None, file: str = "", **environ: str) -> Settings:
    surroundings = {"HOME": str(place), "XDG_CONFIG_HOME": str(place / "config"), **environ}
    return load(surroundings, str(place / "repo" / "src"), flags, file)


def test_without_any_file_everything_has_its_default(place: Path) -> None:
    settings = read(place)
    assert settings.parts == ()
    assert settings.gitlab.url == "https://gitlab.com"
    assert settings.http.address == "127.0.0.1:3000"
    assert settings.state_address == str(place / ".local/state/postil/state.db")


def test_flags_win_over_environment_over_user_over_repository(place: Path) -> None:
    (place / "repo" / "postil.toml").write_text('parts = ["inbox"]\ndeny_tools = ["repo"]\nallow_tools = ["repo"]')
    (place / "config" / "postil" / "postil.toml").write_text('deny_tools = ["user"]\nallow_tools = ["user"]')
    settings = read(place, flags={"allow_tools": ["flag"]}, POSTIL_DENY_TOOLS="env", POSTIL_ALLOW_TOOLS="env")
    assert (settings.parts, settings.deny_tools, settings.allow_tools) == (("inbox",), ("env",), ("flag",))


def test_the_repositorys_file_may_set_only_harmless_keys(place: Path) -> None:
    (place / "repo" / "postil.toml").write_text(HOSTILE)
    settings = read(place)
    assert settings.parts == ("comments",)
    assert settings.read_only
    assert settings.gitlab.projects == ("group/app",)
    assert settings.gitlab.url == "https://gitlab.com"
    assert settings.gitlab.token_file == ""
    assert settings.http.address == "127.0.0.1:3000"
    assert settings.state == ""
    refused = " ".join(settings.warnings)
    for key in ("gitlab.url", "gitlab.token_file", "http.address", "http.auth", "state"):
        assert f"`{key}`" in refused


def test_a_broken_file_in_a_repository_takes_nothing_away(place: Path) -> None:
    (place / "repo" / "postil.toml").write_text("parts = [")
    settings = read(place)
    assert settings.parts == ()
    assert "cannot be read" in settings.warnings[0]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[gitlab]\nulr = 'https://x'", "Did you mean `gitlab.url`?"),
        ("read_only = 'maybe'", "read_only"),
        ("[gitlab]\ntoken = 'glpat-secret'", "token_file"),
        ("secret = 'x'", "unknown key `secret`"),
        ("[folders]\nstate = 'x'", "unknown key"),
        ("parts = [", "cannot be read"),
        ("\xff", "cannot be read"),
    ],
)
def test_a_fault_in_the_users_own_file_stops_and_says_where(place: Path, content: str, says: str) -> None:
    path = place / "config" / "postil" / "postil.toml"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(BadSettings) as caught:
        read(place)
    assert str(path) in caught.value.message
    assert says in caught.value.text()
    assert "glpat-secret" not in caught.value.text()


def test_yaml_says_the_same_as_toml(place: Path) -> None:
    written = (
        'security:\n  ip_whitelist:\n    - "192.168.1.0/24"\n    - "10.0.0.0/8"\n  blocked_ips:\n    - "bad.example"\n'
    )
    (place / "config" / "postil" / "postil.yaml").write_text(written)
    security = read(place).security
    assert security.ip_whitelist == ("192.168.1.0/24", "10.0.0.0/8")
    assert security.blocked_ips == ("bad.example",)


def test_a_named_file_replaces_the_users(place: Path) -> None:
    (place / "config" / "postil" / "postil.toml").write_text('parts = ["inbox"]')
    (place / "other.toml").write_text('parts = ["gitlab"]')
    assert read(place, file=str(place / "other.toml")).parts == ("gitlab",)
    with pytest.raises(BadSettings, match="no settings file"):
        read(place, file=str(place / "none.toml"))


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


@pytest.mark.parametrize(
    ("environ", "color"),
    [
        ({}, "auto"),
        ({"NO_COLOR": "1"}, "never"),
        ({"NO_COLOR": ""}, "auto"),
        ({"TERM": "dumb"}, "never"),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "always"),
        ({"FORCE_COLOR": "0"}, "never"),
    ],
)
def test_colour_follows_the_conventions(place: Path, environ: dict[str, str], color: str) -> None:
    surroundings = {"HOME": str(place), **environ}
    assert load(surroundings, str(place)).terminal.color == color


def test_relative_xdg_folders_are_ignored(place: Path) -> None:
    settings = load({"HOME": str(place), "XDG_STATE_HOME": "relative"}, str(place))
    assert settings.folders.state == os.path.join(str(place), ".local/state/postil")


def test_the_workspace_part_is_always_on(place: Path) -> None:
    offer = read(place, POSTIL_PARTS="inbox, comments").offer()
    assert offer.parts == ("inbox", "comments", "workspace")
    assert read(place).offer().parts == ()
