"""The log of what was written: what is left of it when a disk is full, or a process dies."""

from __future__ import annotations

import os
from io import BufferedReader, FileIO
from pathlib import Path
from typing import cast
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.comments.sidecar.noted import Noted
from postil.comments.storage import write_log
from postil.comments.storage.write_log import LogReader, WriteLog

AT = "2026-11-18T12:00:00Z"


def ids(log: WriteLog) -> list[str]:
    with log.open() as reader:
        return [row.id for row in reader.rows()]


def test_half_a_line_swallows_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = WriteLog(str(tmp_path / "log"))
    log.note("a.py", AT, [Noted("c_1", {"text": "one"})])
    really = os.write

    def fill(file: int, data: bytes) -> int:
        return really(file, data[: len(data) // 2])

    with monkeypatch.context() as full:
        full.setattr(os, "write", fill)
        log.note("a.py", AT, [Noted("c_2", {"text": "two"})])
    assert log.has_missed("c_2")
    log.note("a.py", AT, [Noted("c_3", {"text": "three"})])
    WriteLog(str(tmp_path / "log")).note("a.py", AT, [Noted("c_4", {"text": "four"})])
    assert ids(log) == ["c_1", "c_3", "c_4"]


def test_a_line_that_a_dying_process_left_half_swallows_no_other(tmp_path: Path) -> None:
    log = WriteLog(str(tmp_path / "log"))
    log.note("a.py", AT, [Noted("c_1", {"text": "one"})])
    with (tmp_path / "log").open("ab") as file:
        file.write(b'{"at":"2026')
    log.note("a.py", AT, [Noted("c_2", {"text": "two"})])
    assert ids(log) == ["c_1", "c_2"]
    assert b"\n\n" not in (tmp_path / "log").read_bytes()


def test_a_log_that_has_grown_gets_its_older_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = WriteLog(str(tmp_path / "log"))
    monkeypatch.setattr(write_log, "LARGEST", 200)
    for number in range(5):
        log.note("a.py", AT, [Noted(f"c_{number}", {"text": "so long"})])
    assert (tmp_path / "log.old").stat().st_size > 200
    assert ids(log)[-1] == "c_4"


def test_a_log_that_cannot_be_put_aside_stays_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = WriteLog(str(tmp_path / "log"))
    monkeypatch.setattr(write_log, "LARGEST", 200)
    (tmp_path / "log.old").mkdir()
    for number in range(50):
        log.note("a.py", AT, [Noted(f"c_{number}", {"text": "so long"})])
        assert (tmp_path / "log").stat().st_size < 400
        assert ids(log)[-1] == f"c_{number}"
        assert not log.has_missed(f"c_{number}")


def test_the_files_of_the_log_are_those_of_its_rows(tmp_path: Path) -> None:
    log = WriteLog(str(tmp_path / "log"))
    names = ["a.py", "a.py", 'od"d,"id":.py', "ünï/c\\ode.py", "\x01.py"]
    for number, name in enumerate(names):
        log.note(name, AT, [Noted(f"c_{number}", {"text": '","path":"no.py","id":'})])
    with (tmp_path / "log").open("ab") as file:
        file.write(b'not a line\n{"at":"","path":7,"id":""}\n')
    with log.open() as reader:
        assert reader.paths() == {row.path for row in reader.rows()} == {*names}


@given(st.lists(st.sampled_from([b"", b"a", b"ba", b"bbbbbbb", b"c" * 30, b"c" * 23 + b"a"])), st.booleans())
def test_lines_that_hold_a_word_are_found_from_the_end_as_by_looking_at_each(
    tmp_path_factory: pytest.TempPathFactory, rows: list[bytes], has_end: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "rows"
    path.write_bytes(b"\n".join(rows) + b"\n" * has_end)
    with path.open("rb") as file, patch.multiple(write_log, LAST=8, PIECE=8, LONGEST=31):
        reader = LogReader([file, file])
        assert [*reader.lines_back(b"a")][::-1] == [row for row in reader.lines() if b"a" in row[1]]


def test_a_line_that_hardly_ends_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"a\n" + b"b" * 100 + b"\na\n" + b"b" * 100)
    with patch.multiple(write_log, LAST=8, PIECE=8, LONGEST=31), WriteLog(str(tmp_path / "log")).open() as reader:
        assert [line for _, line in reader.lines_back(b"a")] == [b"a\n", b"a\n"]


class _Counted(FileIO):
    """A file that counts the bytes that are read of it."""

    asked = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.asked += len(data)
        return data


def test_of_a_long_log_no_more_is_read_than_what_was_written_last(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b'{"id":"c_1"}\n' * 90_000 + b'{"id":"c_2"}\n')
    with _Counted(tmp_path / "log") as file:
        reader = LogReader([None, cast(BufferedReader, file)])
        assert next(reader.lines_back(b'"c_2"'))[1] == b'{"id":"c_2"}\n'
        assert file.asked < 100_000
