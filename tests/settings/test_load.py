"""Settings: who may say what, and who wins."""

import os
from pathlib import Path

import pytest

from postil.settings.load import load
from postil.settings.model import BadSettings
from tests.settings.places import place, read

__all__ = ["place"]  # a fixture


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


@pytest.mark.parametrize(
    ("environ", "color"),
    [
        ({}, "auto"),
        ({"NO_COLOR": "1"}, "never"),
        ({"NO_COLOR": ""}, "auto"),
        ({"TERM": "dumb"}, "never"),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "always"),
        ({"FORCE_COLOR": "0"}, "never"),
        ({"CLICOLOR": "0"}, "never"),
        ({"CLICOLOR": "1"}, "auto"),
        ({"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, "always"),
        ({"CLICOLOR_FORCE": "0"}, "auto"),
    ],
)
def test_colour_follows_the_conventions(place: Path, environ: dict[str, str], color: str) -> None:
    surroundings = {"HOME": str(place), **environ}
    assert load(surroundings, str(place)).terminal.color == color


def test_relative_xdg_folders_are_ignored(place: Path) -> None:
    settings = load({"HOME": str(place), "XDG_STATE_HOME": "relative"}, str(place))
    assert settings.folders.state == os.path.join(str(place), ".local/state/postil")


def test_a_setting_that_cannot_be_used_is_named(place: Path) -> None:
    with pytest.raises(BadSettings, match="Invalid enum value 'nobody'"):
        read(place, POSTIL_AUTH="nobody")
    with pytest.raises(BadSettings, match="cannot be given"):
        read(place, flags={"secret": "x"})


@pytest.mark.parametrize(("value", "is_on"), [("1", True), ("YES", True), ("on", True), ("0", False), ("no", False)])
def test_read_only_is_said_in_several_ways(place: Path, value: str, is_on: bool) -> None:
    assert read(place, POSTIL_READ_ONLY=value).read_only is is_on


def test_lists_in_the_environment_are_parted_by_commas(place: Path) -> None:
    settings = read(place, POSTIL_DENY_TOOLS=" a, ,b ,", LG_CONFIG_FILE="x.yml,,y.yml")
    assert settings.deny_tools == ("a", "b")
    assert settings.terminal.lazygit_configs == ("x.yml", "y.yml")


def test_an_unknown_toolset_is_refused(tmp_path: Path) -> None:
    """`POSTIL_TOOLSETS=silly` was taken in silence, and nothing more was offered."""
    with pytest.raises(BadSettings, match="silly"):
        load({"HOME": str(tmp_path), "POSTIL_TOOLSETS": "silly"}, str(tmp_path))
    assert load({"HOME": str(tmp_path), "POSTIL_TOOLSETS": "extra"}, str(tmp_path)).toolsets == ("extra",)


@pytest.mark.parametrize(
    ("said", "drawer", "pane"),
    [
        ({"TMUX": "/tmp/s", "TMUX_PANE": "%1", "WEZTERM_PANE": "3"}, "tmux", "%1"),
        ({"ZELLIJ": "0", "ZELLIJ_PANE_ID": "2"}, "zellij", "terminal_2"),
        ({"WEZTERM_PANE": "3"}, "wezterm", "3"),
        ({"KITTY_WINDOW_ID": "4", "KITTY_LISTEN_ON": "unix:/tmp/k"}, "kitty", "4"),
        ({"KITTY_WINDOW_ID": "4"}, "", ""),
        ({}, "", ""),
    ],
)
def test_the_program_that_draws_the_screen_is_known(place: Path, said: dict[str, str], drawer: str, pane: str) -> None:
    terminal = load({"HOME": str(place), **said}, str(place)).terminal
    assert (terminal.drawer, terminal.pane) == (drawer, pane)


@pytest.mark.parametrize(
    ("said", "programs"),
    [
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, ("wl-copy", "xclip", "xsel")),
        ({"DISPLAY": ":0"}, ("xclip", "xsel")),
        ({"WSL_DISTRO_NAME": "Debian"}, ("clip.exe",)),
        ({"SSH_TTY": "/dev/pts/1"}, ()),
    ],
)
def test_the_programs_that_reach_the_clipboard_are_known(
    place: Path, said: dict[str, str], programs: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    assert load({"HOME": str(place), **said}, str(place)).terminal.clipboards == programs
    monkeypatch.setattr("sys.platform", "darwin")
    here = () if "SSH_TTY" in said else ("pbcopy",)
    assert set(load({"HOME": str(place), **said}, str(place)).terminal.clipboards) == {*programs, *here}


@pytest.mark.parametrize(
    ("environ", "proxy"),
    [
        ({"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ({"https_proxy": "proxy:3128"}, "http://proxy:3128"),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "localhost,.example.com"}, ""),
        ({"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "*"}, ""),
        ({"HTTP_PROXY": "http://proxy:3128"}, ""),
        ({"HTTPS_PROXY": "http://proxy:3128", "GITLAB_PROXY": "http://own:1"}, "http://own:1"),
    ],
)
def test_gitlab_is_reached_through_the_proxy_of_the_environment(
    tmp_path: Path, environ: dict[str, str], proxy: str
) -> None:
    given = {"HOME": str(tmp_path), "GITLAB_URL": "https://gitlab.example.com", **environ}
    assert load(given, str(tmp_path)).gitlab.proxy == proxy


def test_what_operators_set_may_come_from_the_environment(tmp_path: Path) -> None:
    environ = {
        "HOME": str(tmp_path),
        "POSTIL_ALLOWED_HOSTS": "postil.example.org",
        "POSTIL_TRUSTED_PROXIES": "10.0.0.2, 10.0.0.3",
        "POSTIL_CALLERS": "group:ours",
        "GITLAB_TOOLSETS": "review,code",
        "GITLAB_PROJECTS": "group/one",
        "GITLAB_LOCKDOWN": "true",
    }
    settings = load(environ, str(tmp_path))
    assert settings.http.allowed_hosts == ("postil.example.org",)
    assert settings.http.trusted_proxies == ("10.0.0.2", "10.0.0.3")
    assert settings.http.callers == ("group:ours",)
    assert (settings.gitlab.toolsets, settings.gitlab.projects) == (("review", "code"), ("group/one",))
    assert settings.gitlab.lockdown


@pytest.mark.parametrize("name", ["POSTIL_PARTS", "POSTIL_TOOLSETS", "GITLAB_TOOLSETS"])
def test_a_wrong_word_stops_the_start(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadSettings, match="isues"):
        load({"HOME": str(tmp_path), name: "isues"}, str(tmp_path))


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("POSTIL_PARTS", "one of workspace, inbox, comments, tracker, gitlab, flows"),
        ("GITLAB_TOOLSETS", "one of all, review, ci, issues, code, admin"),
        ("POSTIL_AUTH", "one of local, pat, key, oauth"),
    ],
)
def test_a_wrong_word_is_told_the_right_ones(tmp_path: Path, variable: str, words: str) -> None:
    with pytest.raises(BadSettings, match=words):
        load({"HOME": str(tmp_path), variable: "wrong"}, str(tmp_path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[http]\nauth = "pta"', "http.auth.*one of local, pat, key, oauth"),
        ('parts = ["inbx"]', "parts.*one of workspace, inbox"),
        ('[webhooks]\ninbox = ["x"]', "one of push, issues"),
        ('[state]\ndurability = "x"', "one of checked, stated, none"),
    ],
)
def test_a_wrong_word_in_a_file_is_told_the_right_ones(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(BadSettings, match=words):
        load({"HOME": str(tmp_path)}, str(tmp_path), file=str(file))


def test_a_folder_that_was_removed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(BadSettings, match="was removed"):
        load({"HOME": str(tmp_path)})
