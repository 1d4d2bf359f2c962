"""Whether what was printed reached its reader."""

import os
import sys
from pathlib import Path

import pytest

from postil.surfaces.shell import delivery


def print_to(descriptor: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    with os.fdopen(descriptor, "w", encoding="utf-8") as sink:
        monkeypatch.setattr(sys, "stdout", sink)
        sink.write("said\n")
        return delivery.is_printed_and_read()


def test_a_file_always_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert print_to(os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT), monkeypatch)


def test_nobody_reads_the_null_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not print_to(os.open(os.devnull, os.O_WRONLY), monkeypatch)


def test_what_stays_in_the_pipe_was_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "PATIENCE", 0.0)
    reader, writer = os.pipe()
    assert not print_to(writer, monkeypatch)
    os.close(reader)


def test_a_reader_that_is_gone_breaks_the_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    sink = os.fdopen(writer, "w", encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", sink)
    sink.write("said\n")
    with pytest.raises(BrokenPipeError):
        delivery.is_printed_and_read()
    with pytest.raises(BrokenPipeError):
        sink.close()
