"""Texts that are too dear to parse are read by a process that can be ended, and else as plain lines."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest

from postil.anchor.syntax.languages import Question
from postil.anchor.syntax.symbols import Symbol, symbols
from postil.workspace.worker_process import start_worker
from postil.workspace.workers import parsing
from postil.workspace.workers.parsing import ask

DEAR = "<!--\n" * 60_000
"""In Go seconds for a tenth of this size, where nothing bounds them."""
ORDINARY = "".join(f"class A{number} {{\n  int a() {{ return {number}; }}\n}}\n" for number in range(2000))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The workers that are started, by their modules."""
    seen = list[str]()

    def start(module: str) -> object:
        seen.append(module)
        return start_worker(module)

    end_all()
    monkeypatch.setattr(parsing, "start_worker", start)
    monkeypatch.setattr(parsing, "PATIENCE", 100.0)  # a busy machine starts it late
    monkeypatch.setattr(parsing, "_kept", {})
    yield seen
    end_all()


def end_all() -> None:
    parsing._end_idle()  # pyright: ignore[reportPrivateUsage]


def ask_symbols(text: str, language: str = "java") -> list[Symbol] | None:
    said = ask(Question("symbols", language, text.encode()))
    return None if said is None else msgspec.msgpack.decode(said, type=list[Symbol])


def test_a_worker_gives_up_a_dear_text_or_ends_and_it_is_not_tried_again(started: list[str]) -> None:
    assert not ask_symbols(DEAR, "go")
    assert not ask_symbols(DEAR, "go")
    assert len(started) == 1


def test_memory_that_a_text_takes_ends_its_worker(started: list[str]) -> None:
    """6,000 of them took gigabytes."""
    assert not ask_symbols("a<\n" * 6000)


def test_one_worker_reads_text_after_text(started: list[str]) -> None:
    found = ask_symbols(ORDINARY)
    assert found is not None
    assert [each.name for each in found[:4]] == ["A0", "a", "A1", "a"]
    assert ask_symbols("class B {}\n") == symbols("class B {}\n", "java")
    assert len(started) == 1


def test_what_was_asked_before_is_kept(started: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask_symbols(ORDINARY)

    def fail(worker: object, asked: bytes) -> None:
        raise AssertionError("it was asked again")

    monkeypatch.setattr(parsing, "_ask_worker", fail)
    assert ask_symbols(ORDINARY)


def test_a_worker_that_ended_by_itself_is_replaced(started: list[str]) -> None:
    assert ask_symbols("class B {}\n")
    (worker,) = parsing._idle  # pyright: ignore[reportPrivateUsage]
    assert worker.stdin is not None
    os.write(worker.stdin.fileno(), bytes(8))  # a question of no size: there are no more
    assert worker.wait(60) == 0
    assert ask_symbols("class C {}\n")
    assert len(started) == 2


def test_what_is_kept_is_bounded(started: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "_ask_worker", lambda worker, asked: b"x" * 1000)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(parsing, "start_worker", lambda module: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(parsing, "LARGEST_KEPT", 10_000)
    for number in range(100):
        ask(Question("symbols", "java", b"%d" % number))
    assert sum(len(each or b"") for each in parsing._kept.values()) <= 12_000  # pyright: ignore[reportPrivateUsage]


def test_a_worker_that_cannot_be_started_means_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: str) -> None:
        raise OSError

    end_all()
    monkeypatch.setattr(parsing, "start_worker", fail)
    assert ask_symbols("never seen before") is None


@pytest.mark.parametrize(
    ("first", "found"),
    [
        ("", 0),
        ("from postil.workspace.workers.parsing import ask; languages.ask_slow_texts_of(ask)", 900),
        ("languages.parse_everything_here()", 900),
    ],
)
def test_a_library_reads_a_large_text_as_lines_unless_it_says_who_parses_it(first: str, found: int) -> None:
    code = "".join(f"def function_number_{number}(value):\n    return value + {number}\n\n\n" for number in range(900))
    ask_symbols = "import sys; print(len(symbols(sys.stdin.read(), 'python')))"
    before = "from postil.anchor.syntax import languages\nfrom postil.anchor.syntax.symbols import symbols"
    ran = subprocess.run(
        [sys.executable, "-c", f"{before}\n{first}\n{ask_symbols}"],
        input=code,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout.strip() == str(found), ran.stderr
