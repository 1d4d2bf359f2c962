"""Settings in files: what the user may say, and what a repository may."""

from pathlib import Path

import pytest

from postil.settings.files import HARMLESS, LARGEST, LARGEST_OF_REPOSITORY, read_file, settable_keys
from postil.settings.model import BadSettings
from tests.settings.places import place, read

__all__ = ["place"]  # a fixture

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


def test_the_repositorys_file_may_set_only_harmless_keys(place: Path) -> None:
    (place / "repo" / "postil.toml").write_text(HOSTILE)
    settings = read(place)
    assert settings.parts == ("comments",)
    assert settings.read_only
    assert settings.gitlab.projects == ("group/app",)
    assert settings.gitlab.url == "https://gitlab.com"
    assert settings.gitlab.token_file == ""
    assert settings.http.address == "127.0.0.1:3000"
    assert settings.state.address == ""
    refused = " ".join(settings.warnings)
    for key in ("gitlab.url", "gitlab.token_file", "http.address", "http.auth", "state.address"):
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


def test_a_file_that_is_too_large_or_no_table_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "postil.toml"
    file.write_text("#" * LARGEST)
    assert read_file(str(file)) == {}
    file.write_text("#" * (LARGEST + 1))
    with pytest.raises(BadSettings, match="larger than"):
        read_file(str(file))
    other = tmp_path / "postil.yaml"
    other.write_text("- a list\n")
    with pytest.raises(BadSettings, match="table of keys"):
        read_file(str(other))


def test_what_is_harmless_can_be_set_and_no_secret_is() -> None:
    assert settable_keys() >= HARMLESS
    assert not {key for key in HARMLESS if "token" in key or "url" in key or "key" in key or key == "state"}
    assert not settable_keys() & {"gitlab.token", "secret", "folders.state", "debug", "warnings", "cwd"}


LAUGHS = "a0: &a0 {x: 1}\n" + "".join(f"a{at}: &a{at} {{x: *a{at - 1}, y: *a{at - 1}}}\n" for at in range(1, 25))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("postil.yaml", LAUGHS),
        ("postil.yaml", "a: " + "{a: " * 2000 + "1" + "}" * 2000),
        ("postil.yaml", "a: " + "[" * 7000),
        ("postil.yaml", "a: 1" + ":1" * 7000),
        ("postil.yaml", "? " * 5000),
        ("postil.yaml", "a: 2001-99-99"),
        ("postil.toml", "a = " + "[" * 7000),
        ("postil.toml", "a" + ".a" * 900 + " = 1"),
        ("postil.toml", "x = {'a'" + ' . "a"' * 900 + " = 1}"),
        ("postil.toml", "[a" + ".a" * 100 + "]"),
        ("postil.toml", "deny_tools = [" + '"*a",' * 300 + "]"),
        ("postil.toml", 'deny_tools = ["' + "*a" * 300 + '"]'),
        ("postil.toml", "#" * (LARGEST_OF_REPOSITORY + 1)),
    ],
)
def test_a_repositorys_file_that_costs_much_is_not_used_and_one_sentence_says_so(
    place: Path, name: str, content: str
) -> None:
    (place / "repo" / name).write_text(content)
    settings = read(place)
    assert (settings.deny_tools, settings.parts) == ((), ())
    assert len(settings.warnings) == 1
    assert settings.warnings[0].endswith("it is not used")
    assert len(settings.warnings[0]) < 600


@pytest.mark.parametrize("content", ["a: &x 1\nb: *x\n", "a: " + "[" * 3000, "a: " + "{a: " * 500])
def test_the_users_own_file_is_refused_in_words_too(place: Path, content: str) -> None:
    (place / "config" / "postil" / "postil.yaml").write_text(content)
    with pytest.raises(BadSettings, match="cannot be read"):
        read(place)


def test_many_unknown_keys_of_a_repository_are_one_warning(place: Path) -> None:
    (place / "repo" / "postil.toml").write_text("".join(f"k{at}{'x' * 100} = 1\n" for at in range(100)))
    (warning,) = read(place).warnings
    assert "and 95 more; it is not used" in warning
    assert len(warning) < 1000
