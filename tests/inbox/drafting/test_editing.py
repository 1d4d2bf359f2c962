"""Texts that people write in their editor."""

from pathlib import Path

import pytest

from postil.core import call
from postil.core.failure import InvalidArguments
from postil.inbox.drafting.editing import edit_text


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
