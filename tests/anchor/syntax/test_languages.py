"""Which language a file is in, and what is not worth parsing."""

import sys

import pytest
from tree_sitter import Parser, Tree

from postil.anchor.model import Source, Span
from postil.anchor.relocate import relocate_all
from postil.anchor.syntax import languages
from postil.anchor.syntax.complexity import complexities
from postil.anchor.syntax.languages import (
    DEEPEST,
    LANGUAGES,
    LONGEST_LINE,
    MOST_BYTES,
    grammar,
    is_installed,
    is_too_deep,
    language_of,
    parse,
    parse_kept,
)
from postil.anchor.syntax.symbols import symbols, syntax_problems


def test_files_are_known_by_their_names() -> None:
    assert [language_of(path) for path in ("a/b.TSX", "x.py", "Gemfile", "notes.txt", "Makefile", "")] == [
        "tsx",
        "python",
        "ruby",
        None,
        None,
        None,
    ]


def test_what_takes_too_long_to_parse_is_anchored_by_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a worker, as in the page of a server that has none."""
    monkeypatch.setattr(languages, "_workers", [])
    slow = "values = [\n" + "".join(f"    {number},\n" for number in range(60_000)) + "]\nlast = 1\n"
    assert parse(slow, "python") is None, "it is larger than what is parsed here"
    assert symbols(slow, "python") == []
    assert syntax_problems(slow, "python") == []
    (found,) = relocate_all(Source(slow, "a.py"), Source("import os\n" + slow, "a.py"), [Span(60_003)])
    assert (found.state, found.span) == ("moved", Span(60_004, 60_004))


def test_a_process_that_can_be_ended_parses_every_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "x = 1\n" * 20_000
    assert parse(text, "python") is None
    monkeypatch.setattr(languages, "_lifted", [True])
    monkeypatch.setattr(languages, "LONGEST_PARSE", 100.0)
    assert parse_kept.__wrapped__(text, "python") is not None
    assert parse_kept.__wrapped__("(" * 300, "python") is None, "the scanners of some grammars write past their buffers"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_grammar_that_loads_once(language: str) -> None:
    assert grammar(language) is grammar(language)


def test_what_is_generated_is_not_parsed() -> None:
    assert parse("x" * (LONGEST_LINE + 1), "python") is None
    assert parse("x" * LONGEST_LINE, "python") is not None
    assert parse("x = 1\n" * (MOST_BYTES // 6 + 1), "python") is None
    assert parse("x", "klingon") is None
    assert parse("x", None) is None


# Depth


def stairs(line: str, count: int) -> str:
    return "".join(" " * step + line + "\n" for step in range(count))


@pytest.mark.parametrize(
    "text",
    ["- " * 300 + "a", stairs("-", 300), stairs("a:", 300), "- ? " * 200 + "a", "[" * 300, "-   " * 5000 + "a"],
)
def test_yaml_that_would_end_the_process_is_not_parsed(text: str) -> None:
    assert parse(text, "yaml") is None  # with its grammar, the process died of it


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", ["[\n" * 20_000, "{\n" * 20_000, "(\n" * 20_000, stairs("if a:", 400)])
def test_a_deep_text_has_no_tree_in_any_language(language: str, text: str) -> None:
    assert parse(text, language) is None
    assert symbols(text, language) == []


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ruby", "def a\n" * 20_000),
        ("bash", "if a; then\n" * 20_000),
        ("html", "<div id=a>\n" * 5_000),
        ("css", "@media a {\n" * 100 + "}" * 100),
        ("python", "x = 1" + " \\\n + 1" * 10_000),
    ],
)
def test_what_nests_without_brackets_is_read_to_a_depth(language: str, text: str) -> None:
    symbols(text, language)
    complexities(text, language)
    syntax_problems(text, language)


def test_ordinary_code_is_not_deep() -> None:
    aligned = "call(" + ",\n".join(" " * 240 + "argument" for _ in range(50)) + ")\n"
    assert not is_too_deep(aligned, "python")
    assert not is_too_deep(stairs("if a:", DEEPEST), "python")
    assert not is_too_deep("# " + "-" * 400 + "\na: 1\n", "yaml")
    assert not is_too_deep("x = {'a': [1, 2]}\n" * 10_000, "python")
    found = symbols("@media print {\n  p { color: red }\n}\n", "css")
    assert found[0].name == "@media print"


def test_without_its_grammar_a_language_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain install has the grammars of eight languages."""
    monkeypatch.setitem(sys.modules, "tree_sitter_ruby", None)
    is_installed.cache_clear()
    parse_kept.cache_clear()
    assert not is_installed("ruby")
    assert parse("def a\nend\n", "ruby") is None
    assert symbols("def a\nend\n", "ruby") == []
    monkeypatch.undo()
    is_installed.cache_clear()
    parse_kept.cache_clear()
    assert parse("def a\nend\n", "ruby") is not None


# Angles


@pytest.mark.parametrize("language", LANGUAGES)
def test_angles_that_are_never_closed_are_left_to_a_worker(language: str) -> None:
    """16 kB of them took seconds and gigabytes in one step of Java's parser, in which nothing can stop it."""
    assert parse("a<\n" * 300, language) is None
    assert parse("class A {\n" + "a</* x */\n" * 300 + "}", language) is None


def test_comparisons_and_closed_types_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "QUICK_PARSE", 60.0)
    monkeypatch.setattr(languages, "QUICK_START", 60.0)
    assert parse("class A { void a() { for (int i = 0; i < n; i++) { a << 1; } } }\n" * 300, "java") is not None
    assert parse("/** <p>a</p> {@code a} */ class A { Map<A, List<B>> x; }\n" * 300, "java") is not None
    assert parse("<p>a</p>\n" * 300, "html") is not None


@pytest.mark.parametrize("text", ["\\ " * 8000, ("\\ " * 40 + "\n") * 200, "\\\t\\ \\\n" * 100, "\\\u2003" * 100])
def test_backslashes_with_nothing_between_them_are_left_to_a_worker(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ruby's parser took 0.46 s for 16 kB of them, in one step."""
    asked = list[bytes]()
    monkeypatch.setattr(languages, "_try_parse", lambda data, language, seconds: asked.append(data))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert parse_kept.__wrapped__(text, "ruby") is None
    assert asked == []


def test_backslashes_of_ordinary_code_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "QUICK_PARSE", 60.0)
    monkeypatch.setattr(languages, "QUICK_START", 60.0)
    assert parse("x = 1 \\\n    + 2\n" * 300, "python") is not None
    assert parse('x = "' + "\\\\" * 20 + '"\n', "ruby") is not None


# Slices


class Stuck:
    """A parser that never comes to an end."""

    def __init__(self) -> None:
        self.calls = 0

    def parse(self, data: bytes) -> None:
        self.calls += 1
        raise ValueError


def test_a_parser_works_in_slices_until_its_cpu_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck, asked = Stuck(), list[float]()

    def parser(language: str, seconds: float) -> Stuck:
        asked.append(seconds)
        return stuck

    clock = iter(range(100))
    monkeypatch.setattr(languages, "_parser", parser)
    monkeypatch.setattr(languages.time, "thread_time", lambda: next(clock) / 1000)
    monkeypatch.setattr(languages.time, "monotonic", lambda: stuck.calls / 500)  # others have the processor, too
    assert languages._try_parse(b"", "python", 0.01) is None  # pyright: ignore[reportPrivateUsage]
    assert stuck.calls == 5 + 10 - 1, "a look at the CPU's clock after each, once so much time has passed at all"
    assert asked == [languages.SLICE]


@pytest.mark.parametrize(
    ("language", "size", "milliseconds"),
    [
        ("java", 100, 2),
        ("java", 8_000, 3),
        ("java", 16_000, 5),
        ("java", 48_000, 13),
        ("sql", 16_000, 9),
        ("c", 48_000, 18),
    ],
)
def test_a_text_may_take_as_long_as_its_size_allows(
    monkeypatch: pytest.MonkeyPatch, language: str, size: int, milliseconds: int
) -> None:
    """Where each byte takes long, the end of the text takes far longer: 8 kB took 7 ms, and 170 ms in the last step."""
    stuck = Stuck()
    monkeypatch.setattr(languages, "_workers", [])
    monkeypatch.setattr(languages, "_parser", lambda language, seconds: stuck)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(languages.time, "thread_time", lambda: stuck.calls / 1000)
    monkeypatch.setattr(languages.time, "monotonic", lambda: stuck.calls / 1000)
    assert parse_kept.__wrapped__("$ ?>\n" * (size // 5), language) is None
    assert stuck.calls == milliseconds


def test_a_parser_is_stopped_when_the_process_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "MOST_GROWTH", 5000)
    stuck, sizes = Stuck(), iter([100, 100, 100, 5100, 5101])
    monkeypatch.setattr(languages, "_parser", lambda language, seconds: stuck)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(languages, "count_memory", lambda: next(sizes))
    assert languages._try_parse(b"", "python", 60.0) is None  # pyright: ignore[reportPrivateUsage]
    assert stuck.calls == 4 * languages.LOOK_EVERY


def parse_in_slices(text: str) -> Tree | None:
    """Returns the tree of some Python, however long a busy machine takes for it."""
    return languages._try_parse(text.encode(), "python", 60.0)  # pyright: ignore[reportPrivateUsage]


def test_slices_give_the_same_tree() -> None:
    text = "".join(f"def a{number}(b):\n    return [b, {{'c': {number}}}]\n" for number in range(500))
    sliced, whole = parse_in_slices(text), Parser(grammar("python")).parse(text.encode())
    assert sliced is not None
    assert str(sliced.root_node) == str(whole.root_node)


def test_a_broken_text_has_the_same_tree_every_time() -> None:
    """A parser that is stopped by a clock recovers from an error in other ways on a busy machine."""
    text = "def a(b:\n    return [b, {'c': 1}\n\nclass C\n  x = (1,\n" * 200
    trees = [parse_in_slices(text) for _ in range(5)]
    assert len({str(tree.root_node) if tree else "" for tree in trees}) == 1


def test_this_process_says_how_large_it_is() -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux says it in a file")
    assert 1 << 20 < languages.count_memory() < 1 << 40


def test_what_the_tree_took_is_missing_for_what_is_read_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.003, 1.0, 1.009, 2.0, 2.02, 3.0, 3.03])
    monkeypatch.setattr(languages, "_try_parse", lambda data, language, seconds: seconds)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(languages.time, "thread_time", lambda: next(clock))
    monkeypatch.setattr(languages.time, "monotonic", lambda: 0.0)
    parsed = parse_kept.__wrapped__("x = 1\n", "python")
    assert parsed is not None
    assert parsed.left == pytest.approx(languages.QUICK - 0.012)
    with parsed.spend() as until:
        assert until == pytest.approx(2.0 + languages.QUICK - 0.012)
    assert parsed.left == pytest.approx(languages.QUICK - 0.032)


def test_a_kept_tree_that_is_asked_again_and_again_is_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a call took was missing for all calls after it, until each of them asked a worker."""
    now = [0.0]
    monkeypatch.setattr(languages.time, "thread_time", lambda: now[0])
    monkeypatch.setattr(languages.time, "monotonic", lambda: now[0])
    parsed = parse_kept.__wrapped__("x = 1\n", "python")
    assert parsed is not None
    for _ in range(1000):
        with parsed.spend() as until:
            assert until == pytest.approx(now[0] + languages.QUICK)
            now[0] += 0.0003  # of a small file's colours
        now[0] += 0.05
    with parsed.spend():
        now[0] += languages.QUICK
    assert parsed.left == pytest.approx(0.0, abs=1e-3), "of one call the sum counts"
    now[0] += 1.0
    assert parsed.refill() == pytest.approx(languages.QUICK)


def test_brackets_count_together_whatever_their_kind() -> None:
    deep = "([{" * 66 + "((("
    assert is_too_deep(deep, "python")
    assert not is_too_deep(deep[:DEEPEST] + ")" * DEEPEST, "python")
    assert is_too_deep("()" * 5_000 + deep + ")" * 500, "python")
    assert not is_too_deep("(" * 150 + ")" * 150 + "[" * 150, "python")
    assert is_too_deep("(" * 150 + "x)(" * 300 + "{" * 51, "python")
    assert not is_too_deep(")" * 500 + "(" * 300, "python")
