"""Texts that people write in their editor."""

from pathlib import Path

import pytest

from postil.core import call
from postil.core.failure import Conflict, InvalidArguments
from postil.workspace.editing.editor import LARGEST, keep_typed, run_editor
from postil.workspace.repository import find_repository
from tests.workspace.repositories import new_repository


class AtTerminal(call.Call):
    """A person at a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.interactive = True


def editor(folder: Path, text: str) -> str:
    path = folder / "my editor"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return f"'{path}'"


def edit(editor: str, text: str) -> str:
    return run_editor(editor, text, "REMARK.md", None)


def test_the_editor_gets_the_words_and_gives_others_back(tmp_path: Path) -> None:
    call.enter(AtTerminal())
    assert edit(editor(tmp_path, 'sed -i s/old/new/ "$1"'), "old words\n\nand more\n") == "new words\n\nand more\n"
    assert edit(editor(tmp_path, 'rm "$1"'), "words") == ""


def test_a_failed_editor_changes_nothing(tmp_path: Path) -> None:
    call.enter(AtTerminal())
    with pytest.raises(InvalidArguments, match="status 3"):
        edit(editor(tmp_path, "exit 3"), "words")
    with pytest.raises(InvalidArguments, match="cannot be started"):
        edit(str(tmp_path / "none"), "words")


def test_without_a_terminal_there_is_no_editor() -> None:
    call.enter(call.Call())
    with pytest.raises(InvalidArguments, match="no terminal"):
        edit("vi", "words")


def test_what_was_typed_is_kept_in_the_git_folder_when_it_is_refused(tmp_path: Path) -> None:
    call.enter(AtTerminal())
    repository = find_repository(str(new_repository(tmp_path / "r", a__txt="one\n")))
    typing = editor(tmp_path, 'echo "long thoughts" > "$1"; exit 3')
    with pytest.raises(InvalidArguments, match="status 3"):
        run_editor(typing, "words", "REMARK.md", repository)
    with pytest.raises(Conflict, match="seen") as refused, keep_typed(repository, "more thoughts"):
        raise Conflict("It was seen", advice="Reply instead")
    assert refused.value.advice.startswith("Reply instead; what you typed is in ")
    kept = sorted(path.read_text() for path in Path(repository.common_dir).glob("postil/unsent-*.md"))
    assert kept == ["long thoughts\n", "more thoughts\n"]


def test_a_text_that_is_too_long_is_refused_and_kept_whole(tmp_path: Path) -> None:
    call.enter(AtTerminal())
    repository = find_repository(str(new_repository(tmp_path / "r", a__txt="one\n")))
    typing = editor(tmp_path, f'head -c {LARGEST + 5} /dev/zero | tr "\\0" x > "$1"')
    with pytest.raises(InvalidArguments, match="more than"):
        run_editor(typing, "words", "REMARK.md", repository)
    (kept,) = Path(repository.common_dir).glob("postil/unsent-*.md")
    assert kept.stat().st_size == LARGEST + 6


def test_outside_of_a_repository_it_is_kept_in_a_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(Conflict), keep_typed(None, "thoughts"):
        raise Conflict("No", advice="")
    (kept,) = tmp_path.glob("postil-unsent-*.md")
    assert kept.read_text() == "thoughts\n"
