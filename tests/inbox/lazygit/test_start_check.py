"""Whether a program draws a screen with its configuration, or says why not."""

from pathlib import Path

from postil.inbox.lazygit.start_check import find_fault


def program(folder: Path, text: str) -> str:
    path = folder / "lazygit"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_program_that_draws_has_started_and_is_ended(tmp_path: Path) -> None:
    assert find_fault(program(tmp_path, r"printf '\033[?1049h\033[2J\033[1;1HStatus'; exec sleep 600"), []) == ""


def test_the_fault_is_told_in_the_words_of_the_program_and_with_the_name_of_the_file(tmp_path: Path) -> None:
    config = tmp_path / "mine.yml"
    config.write_text("x: 1\n")
    said = find_fault(program(tmp_path, 'echo "bad file: ${LG_CONFIG_FILE##*,}"; exit 1'), [str(config)])
    assert said == f"bad file: {config}"
    assert config.read_text() == "x: 1\n"


def test_a_program_that_says_nothing_ends_with_its_status(tmp_path: Path) -> None:
    assert find_fault(program(tmp_path, "exit 3"), []) == "it ended with status 3"
