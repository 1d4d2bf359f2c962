"""The log of what was written: what is left of it when a disk is full, or a process dies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from postil.comments.sidecar.noted import Noted
from postil.comments.storage import write_log
from postil.comments.storage.write_log import WriteLog

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
