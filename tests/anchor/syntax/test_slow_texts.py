"""What is not parsed here is asked of a worker, and its answer is as good as one of this process."""

from __future__ import annotations

import msgspec
import pytest

from postil.anchor.model import Source, Span
from postil.anchor.relocate import relocate_all
from postil.anchor.syntax import complexity, languages, symbols
from postil.anchor.syntax.colors import color_rows
from postil.anchor.syntax.complexity import complexities
from postil.anchor.syntax.languages import HERE, Question, parse_kept
from postil.workspace.workers.parsing import answer

TEXT = "".join(
    f"# about {number}\ndef function_{number}(value):\n    if value:\n        return [value, {number}]\n\n\n"
    for number in range(300)
)
BROKEN = TEXT + "def (\n"


class Worker:
    """One that answers as a worker does, and remembers the questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, question: Question) -> bytes:
        self.asked.append(question.what)
        before = [*languages._lifted]  # pyright: ignore[reportPrivateUsage]
        languages._lifted[:] = [True]  # pyright: ignore[reportPrivateUsage]
        forget()
        try:
            return answer(question)
        finally:
            languages._lifted[:] = before  # pyright: ignore[reportPrivateUsage]
            forget()


def forget() -> None:
    parse_kept.cache_clear()
    symbols._symbols.cache_clear()  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Worker:
    made = Worker()
    monkeypatch.setattr(languages, "_workers", [made])
    monkeypatch.setattr(languages, "QUICK_PARSE", 60.0)  # a busy machine is no odd text
    monkeypatch.setattr(languages, "QUICK_START", 60.0)
    monkeypatch.setattr(languages, "QUICK", 120.0)
    forget()
    return made


def read_all(text: str) -> list[object]:
    return [
        symbols.symbols(text, "python"),
        complexities(text, "python"),
        symbols.syntax_problems(text, "python"),
        color_rows(text, "python", range(20)),
    ]


@pytest.mark.parametrize("change", [("HERE", 10), ("QUICK_PARSE", 0.0), ("QUICK", 0.0)])
def test_a_worker_reads_what_this_process_would(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, change: tuple[str, float]
) -> None:
    """Because of the size, because the tree takes too long, and because it took all the time."""
    here = read_all(BROKEN)
    assert all(here)
    assert worker.asked == []
    forget()
    monkeypatch.setattr(languages, *change)
    if change[0] == "QUICK_PARSE":
        monkeypatch.setattr(languages, "SLICE", 0.0)
    assert read_all(BROKEN) == here
    assert {*worker.asked} == {"symbols", "complexities", "problems", "colors"}


def test_very_many_names_are_left_to_a_worker(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """10,923 keys of YAML took 151 ms: each takes a little Python."""
    clock = iter(range(10_000))
    monkeypatch.setattr(languages.time, "thread_time", lambda: next(clock) / 1000)  # 1 ms from look to look
    monkeypatch.setattr(languages, "QUICK", 0.03)
    text = "a:\n" * 2500
    assert len(symbols.symbols(text, "yaml")) == 2500
    assert worker.asked == ["symbols"]
    assert len(symbols.symbols("a:\n" * 100, "yaml")) == 100
    assert worker.asked == ["symbols"]


def test_functions_inside_each_other_over_very_many_rows_are_left_to_a_worker(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty around 45,000 empty rows took 110 ms: each takes over the rows that it lies on."""
    text = "function a() {\n" * 40 + "\n" * 100 + "}" * 40
    assert len(complexities(text, "javascript")) == 40
    clock = iter(range(10_000))
    monkeypatch.setattr(languages.time, "thread_time", lambda: next(clock) / 1000)  # 1 ms from look to look
    monkeypatch.setattr(languages, "QUICK", 0.03)
    forget()
    assert len(complexities(text, "javascript")) == 40
    assert worker.asked == ["complexities"]


def test_very_many_words_to_colour_are_left_to_a_worker(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """8,000 words of Ruby took 52 ms: each takes a little Python."""
    text = "a = [1, 2]\n" * 200
    here = color_rows(text, "python", range(200))
    clock = iter(range(10_000))
    monkeypatch.setattr(languages.time, "thread_time", lambda: next(clock) / 1000)  # 1 ms from look to look
    monkeypatch.setattr(languages, "QUICK", 0.05)
    forget()
    assert color_rows(text, "python", range(200)) == here
    assert worker.asked == ["colors"]
    assert color_rows(text, "python", range(5)) == {row: here[row] for row in range(5)}
    assert worker.asked == ["colors"]


def test_a_worker_colours_all_rows_however_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 20 ms the rest was plain, and nobody said so."""
    monkeypatch.setattr(languages, "_lifted", [True])
    forget()
    assert len(color_rows("a = [1, 2, b(3), c(4), d(5)]\n" * 2000, "python", range(2000))) == 2000
    forget()


def test_a_large_file_is_compared_by_what_the_worker_says(worker: Worker) -> None:
    old = TEXT * (HERE // len(TEXT) + 1)
    assert len(old) > HERE
    new = old.replace("return [value, 7]", "return [value, 8, 9]", 1)
    (found,) = relocate_all(Source(old, "a.py"), Source("import os\n\n" + new, "a.py"), [Span(46)])
    assert (found.state, found.span) == ("modified", Span(48, 48))


@pytest.mark.parametrize("text", ["(" * 300, "x" * 30_000])
def test_what_no_grammar_should_see_is_not_asked_about(worker: Worker, text: str) -> None:
    assert symbols.symbols(text, "python") == []
    assert worker.asked == []


def test_without_a_worker_such_a_text_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_workers", [])
    monkeypatch.setattr(languages, "HERE", 10)
    forget()
    assert read_all(TEXT) == [[], [], [], {}]
    forget()


def test_a_worker_that_gives_up_is_plain_lines(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(question: Question) -> bytes | None:
        return None

    monkeypatch.setattr(languages, "_workers", [refuse])
    monkeypatch.setattr(languages, "HERE", 10)
    assert read_all(TEXT) == [[], [], [], {}]
    forget()


def test_text_that_is_not_unicode_can_be_asked_about(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "HERE", 10)
    found = symbols.symbols("a = '\ud800'\ndef b():\n    pass\n", "python")
    assert [each.name for each in found] == ["b"]


def test_answers_are_of_the_types_that_are_read() -> None:
    said = answer(Question("complexities", "python", b"def a():\n    pass\n"))
    assert msgspec.msgpack.decode(said, type=list[complexity.Complexity])[0].cyclomatic == 1
