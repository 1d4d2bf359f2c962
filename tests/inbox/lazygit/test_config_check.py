"""The doctor finds bindings that are unsafe, and configs that hide others."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from postil.inbox.lazygit.binding import format_bindings
from postil.inbox.lazygit.config_check import find_unsafe_lines, is_harmless
from tests.inbox.examples import PUBLISHED
from tests.inbox.people import Person


def test_the_published_block_is_known_to_be_unsafe() -> None:
    assert find_unsafe_lines(PUBLISHED) == [8]
    assert find_unsafe_lines(PUBLISHED.replace("}}", "| quote }}").replace('"{{', "{{").replace('}}"', "}}")) == []


def test_a_command_over_several_lines_is_read_too() -> None:
    folded = "customCommands:\n  - key: x\n    command: >-\n      postil inbox send\n      --comment {{.Form.C}}\n"
    assert find_unsafe_lines(folded) == [3]
    assert find_unsafe_lines(folded.replace("}}", " | quote}}")) == []


KEYS = "customCommands:\n  - key: x\n    command: postil inbox send\n"
OTHER = "git:\n  allBranchesLogCmd: program\n"


@pytest.mark.parametrize(
    "text",
    [
        OTHER, KEYS + OTHER, OTHER + KEYS, f" {KEYS}".replace("\n", "\n ") + OTHER.replace("\n", "\n "),
        KEYS + "--- {git: {allBranchesLogCmd: program}}\n", "--- {git: {allBranchesLogCmd: program}}\n" + KEYS,
        "- {git: {}}\n" + KEYS, " git: {}\n" + KEYS, KEYS + "\rgit: {}\n", KEYS + "\u2028git: {}\n",
        KEYS + "\tgit: {}\n",
        KEYS + "...\n", "%YAML 1.1\n" + KEYS, "customCommands: [{}]\n", KEYS + "\"git\": {}\n", KEYS + "{git: {}}\n",
    ],
)  # fmt: skip
def test_a_file_of_a_repository_that_says_more_than_keys_is_not_given_to_lazygit(text: str) -> None:
    """Its other settings name programs that lazygit runs, and the doctor starts it."""
    assert not is_harmless(text)


def test_a_file_that_binds_keys_alone_is_harmless() -> None:
    listed = KEYS.replace("\n  ", "\n")
    for text in ("", "# nothing\n", KEYS, listed, f"# ours\n\n{KEYS}\n# the end", format_bindings("<c-y>", None, "/p")):
        assert is_harmless(text)


def findings(person: Person) -> list[dict[str, str]]:
    code = (
        "import json; from postil.app import App; from postil.settings.load import load; import msgspec\n"
        "print(msgspec.json.encode(App(load()).group('inbox', 'lazygit').check_lazygit()).decode())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=person.root,
        env=person.environment,
        capture_output=True,
        text=True,
        timeout=30,
    )
    return json.loads(done.stdout)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_doctor_finds_the_published_block_and_the_config_that_hides_another(person: Person) -> None:
    assert findings(person)[0]["status"] == "ok"
    write(person.config / "jesseduffield" / "lazygit" / "config.yml", PUBLISHED)
    (unsafe,) = findings(person)
    assert unsafe["status"] == "error"
    assert "line 8" in unsafe["seen"]
    assert "postil setup lazygit" in unsafe["fix"]
    write(person.config / "lazygit" / "config.yml", "gui: {}\n")
    assert [finding["status"] for finding in findings(person)] == ["error", "warning"]


def test_the_doctor_reads_the_files_that_lazygit_is_told_to_merge(person: Person, tmp_path: Path) -> None:
    write(tmp_path / "extra.yml", PUBLISHED)
    person.environment["LG_CONFIG_FILE"] = f"{tmp_path}/none.yml,{tmp_path}/extra.yml"
    unsafe, missing = findings(person)
    assert str(tmp_path / "extra.yml") in unsafe["seen"]
    assert f"names {tmp_path}/none.yml, which is no file" in missing["seen"]
    doctor = person.run("postil", "doctor")
    assert "would be run as a command" in doctor.stdout


def test_the_doctor_is_content_with_our_own_binding(person: Person) -> None:
    person.run("postil", "setup", "lazygit")
    (finding,) = findings(person)
    assert (finding["status"], finding["seen"]) == ("ok", "the binding is safe")
