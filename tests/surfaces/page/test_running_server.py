"""The note by which the next `postil open` finds the server of a workspace."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from postil.settings.load import load
from postil.settings.model import Settings
from postil.surfaces.page.running_server import Running, drop_note, read_note, write_note

MINE = Running(os.getpid(), "http://127.0.0.1:1", "mine")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load({"HOME": str(tmp_path)}, str(tmp_path))


def test_a_second_server_leaves_the_note_of_one_that_lives(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        first = Running(os.getppid(), f"http://127.0.0.1:{listening.getsockname()[1]}", "first")
        write_note(settings, first)
        write_note(settings, MINE)
        assert read_note(settings) == first
        drop_note(settings, MINE.process)
        assert read_note(settings) == first, "who was not noted takes nothing away"
    write_note(settings, MINE)
    assert read_note(settings) == MINE, "one that does not answer is old"


@pytest.mark.parametrize("base", ["http://127.0.0.1:70000", "nonsense", "http://[::1", ""])
def test_a_note_that_makes_no_sense_is_replaced(settings: Settings, base: str) -> None:
    write_note(settings, Running(os.getppid(), base, "other"))
    write_note(settings, MINE)
    assert read_note(settings) == MINE


@pytest.mark.parametrize("damage", [b'"\xff"', b'"mine","x":' + b"[" * 100_000])
def test_a_note_that_cannot_be_read_is_none_and_is_replaced(settings: Settings, damage: bytes, tmp_path: Path) -> None:
    write_note(settings, MINE)
    (note,) = [path for path in tmp_path.rglob("*.json") if b'"mine"' in path.read_bytes()]
    note.write_bytes(note.read_bytes().replace(b'"mine"', damage))
    assert read_note(settings) is None
    write_note(settings, MINE)
    assert read_note(settings) == MINE
