"""The binding that `postil setup lazygit` writes: what each version of lazygit can read."""

import os
import re
import sys
from pathlib import Path

import pytest

from postil.inbox.lazygit.binding import BadKey, format_bindings, list_bindings
from postil.inbox.lazygit.config_check import find_unsafe_lines
from postil.inbox.lazygit.install import find_version
from tests.inbox.people import Person

OUTPUT_KEYS = ("output:", "showOutput:", "subprocess:")
OTHERS = 3
"""Bindings of the conversation (two) and of the review (one)."""


def rows_about_output(text: str) -> list[str]:
    return [row.strip() for row in text.splitlines() if row.strip().startswith(OUTPUT_KEYS)]


@pytest.mark.parametrize("version", [None, (0, 44), (0, 50), (0, 51), (0, 66), (1, 0)])
def test_a_binding_never_holds_both_keys_for_its_output(version: tuple[int, int] | None) -> None:
    # from 0.51 on lazygit turns the old key into the new one, and refuses a file that then has it twice
    assert len(rows_about_output(format_bindings(version=version))) == 2 * len(list_bindings(version)) + OTHERS


@pytest.mark.parametrize("version", [(0, 44), (0, 50)])
def test_an_old_lazygit_gets_the_key_it_knows(version: tuple[int, int]) -> None:
    assert set(rows_about_output(format_bindings(version=version))) == {"showOutput: true", "subprocess: true"}


@pytest.mark.parametrize("version", [None, (0, 51), (0, 66), (1, 0)])
def test_a_new_or_unknown_lazygit_gets_the_new_key(version: tuple[int, int] | None) -> None:
    assert set(rows_about_output(format_bindings(version=version))) == {"output: popup", "output: terminal"}


def install_fake_lazygit(folder: Path, prints: str, status: int = 0) -> None:
    folder.mkdir(exist_ok=True)
    program = folder / "lazygit"
    program.write_text(f'#!/bin/sh\necho "{prints}"\nexit {status}\n')
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("prints", "version"),
    [
        ("version=" + "9" * 5_000 + ".1", None),
        (
            "commit=, build date=, build source='debian', version='0.50.0+ds1-1+b2', os=linux, git version=2.39.5",
            (0, 50),
        ),
        (
            "commit=pypi, build date=2026-08-06, build source=pypi, version=0.64.0, os=linux, git version=2.39.5",
            (0, 64),
        ),
        ("commit=, build source=unknown, version=unversioned, os=linux, git version=2.39.5", None),
        ("", None),
    ],
)
def test_the_version_is_what_the_installed_lazygit_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prints: str, version: tuple[int, int] | None
) -> None:
    install_fake_lazygit(tmp_path, prints)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert find_version() == version


def test_without_lazygit_the_version_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_version() is None


def test_setup_writes_what_the_installed_lazygit_can_read(person: Person, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    person.environment["PATH"] = f"{programs}{os.pathsep}{person.environment['PATH']}"
    for version, row in (("0.50.0", "subprocess: true"), ("0.51.1", "output: terminal")):
        install_fake_lazygit(programs, f"build source=pypi, version={version}, os=linux")
        assert person.run("postil", "setup", "lazygit").returncode == 0
        written = (person.root / ".git" / "lazygit.yml").read_text()
        assert row in rows_about_output(written)


@pytest.mark.parametrize("version", [None, (0, 44), (0, 50), (0, 66)])
def test_every_value_that_reaches_a_shell_is_quoted(version: tuple[int, int] | None) -> None:
    text = format_bindings(version=version)
    commands = re.findall(r"^ +command: '(.*)'$", text, re.MULTILINE)
    assert len(commands) == 4 * len(list_bindings(version)) + OTHERS
    for command in commands:
        if command.endswith("inbox talk"):
            continue
        templates = re.findall(r"\{\{(.*?)\}\}", command)
        values = [template for template in templates if not template.startswith(("with ", "end"))]
        assert values
        assert all(template.endswith("| quote") for template in values)
    assert find_unsafe_lines(text) == []


def test_only_contexts_and_templates_that_a_version_has_are_written() -> None:
    assert "SelectedCommitRange" not in format_bindings(version=(0, 45))
    assert "SelectedCommitRange" in format_bindings(version=(0, 46))
    for version in ((0, 66), None):
        assert not re.search(r'context: "(staging|stagingSecondary|patchBuilding)"', format_bindings(version=version))
    assert len(list_bindings((0, 65))) == len(list_bindings((0, 66))) + 3


def test_the_path_of_the_program_stands_in_the_binding(person: Person) -> None:
    printed = person.run("postil", "setup", "lazygit", "--print").stdout
    program = str(Path(sys.executable).with_name("postil"))
    assert printed.count(f"{program} inbox") == 2 * printed.count("- key:") - OTHERS
    odd = format_bindings(program="/it's $(a) path/postil")
    assert """command: '"/it''s \\$(a) path/postil" inbox send""" in odd


@pytest.mark.parametrize("key", ["", '"', "<c-y>\n", "ab", "<c y>", "\\"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(BadKey):
        format_bindings(key)
