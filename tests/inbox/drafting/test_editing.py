"""Texts that people write in their editor."""

from pathlib import Path

import pytest

from postil.core import call
from postil.core.failure import Conflict, InvalidArguments
from postil.inbox.drafting.editing import edit_text, keep_typed


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


def test_the_editor_gets_the_words_and_gives_others_back(tmp_path: Path) -> None:
    call.enter(AtTerminal())
    assert edit_text(editor(tmp_path, 'sed -i s/old/new/ "$1"'), "old words\n\nand more") == "new words\n\nand more"


def test_a_failed_editor_changes_nothing(tmp_path: Path) -> None:
    call.enter(AtTerminal())
    with pytest.raises(InvalidArguments, match="status 3"):
        edit_text(editor(tmp_path, "exit 3"), "words")
    with pytest.raises(InvalidArguments, match="cannot be started"):
        edit_text(str(tmp_path / "none"), "words")


def test_without_a_terminal_there_is_no_editor() -> None:
    with pytest.raises(InvalidArguments, match="no terminal"):
        edit_text("vi", "words")


def test_what_was_typed_is_kept_when_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    call.enter(AtTerminal())
    with pytest.raises(InvalidArguments, match="status 3"):
        edit_text(editor(tmp_path, 'echo "long thoughts" > "$1"; exit 3'), "words")
    with pytest.raises(Conflict, match="seen") as refused, keep_typed("more thoughts"):
        raise Conflict("It was seen", advice="Reply instead")
    assert refused.value.advice.startswith("Reply instead; what you typed is in ")
    kept = sorted(path.read_text() for path in tmp_path.glob("postil-unsent-*.md"))
    assert kept == ["long thoughts\n", "more thoughts\n"]
