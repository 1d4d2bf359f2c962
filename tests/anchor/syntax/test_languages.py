"""Which language a file is in, and what is not worth parsing."""

import sys

import pytest
from tree_sitter import Parser

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
    for name in ("MOST_QUICK", "LONGEST_PARSE"):
        monkeypatch.setattr(languages, name, 0.001)
    slow = "values = [\n" + "".join(f"    {number},\n" for number in range(60_000)) + "]\nlast = 1\n"
    parse_kept.cache_clear()
    assert parse(slow, "python") is None
    assert symbols(slow, "python") == []
    assert syntax_problems(slow, "python") == []
    (found,) = relocate_all(Source(slow, "a.py"), Source("import os\n" + slow, "a.py"), [Span(60_003)])
    assert (found.state, found.span) == ("moved", Span(60_004, 60_004))
    monkeypatch.undo()
    monkeypatch.setattr(languages, "LONGEST_PARSE", 100.0)
    monkeypatch.setattr(languages, "_judges", [lambda text, language: True])  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    parse_kept.cache_clear()
    assert parse(slow, "python") is not None


def test_without_a_judge_a_slow_text_has_no_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page colours what anybody committed."""
    monkeypatch.setattr(languages, "_judges", [])
    monkeypatch.setattr(languages, "MOST_QUICK", 0.0)
    assert parse_kept.__wrapped__("x = 1\n" * 20_000, "python") is None


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


def test_of_a_large_text_that_is_dear_only_pieces_are_parsed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser may look at its clock too seldom to be stopped in time."""
    sizes: list[int] = []
    whole = languages._try_parse  # pyright: ignore[reportPrivateUsage]

    def try_parse(data: bytes, language: str, seconds: float) -> object:
        sizes.append(len(data))
        return whole(data, language, seconds if b"<!--" in data else 60.0)  # a busy machine is no odd text

    def refuse(text: str, language: str) -> bool:
        return False

    monkeypatch.setattr(languages, "_try_parse", try_parse)
    monkeypatch.setattr(languages, "_judges", [refuse])
    assert languages.parse("var a int\n" * 20_000 + "<!--\n" * 60_000, "go") is None
    assert max(sizes) == languages.PIECE
    assert len(sizes) > 1, "the beginning was ordinary"


# Angles


@pytest.mark.parametrize("language", ["java", "csharp"])
def test_types_that_are_never_closed_are_deep(language: str) -> None:
    """16 kB of them took seconds and gigabytes in one step of the parser, in which nothing can stop it."""
    assert is_too_deep("a<\n" * 300, language)
    assert is_too_deep("class A {\n" + "a</* x */\n" * 300 + "}", language)
    assert not is_too_deep("for (int i = 0; i < n; i++) { a << 1; }\n" * 300, language)
    assert not is_too_deep("/** <p>a</p> {@code a} */ Map<A, List<B>> x;\n" * 300, language)


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


def test_a_parser_is_stopped_when_the_process_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "MOST_GROWTH", 5000)
    stuck, sizes = Stuck(), iter([100, 100, 100, 5100, 5101])
    monkeypatch.setattr(languages, "_parser", lambda language, seconds: stuck)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    monkeypatch.setattr(languages, "_memory", lambda: next(sizes))
    assert languages._try_parse(b"", "python", 60.0) is None  # pyright: ignore[reportPrivateUsage]
    assert stuck.calls == 4 * languages.LOOK_EVERY


def test_slices_give_the_same_tree() -> None:
    text = "".join(f"def a{number}(b):\n    return [b, {{'c': {number}}}]\n" for number in range(500))
    sliced, whole = parse_kept.__wrapped__(text, "python"), Parser(grammar("python")).parse(text.encode())
    assert sliced is not None
    assert str(sliced.root_node) == str(whole.root_node)


def test_a_broken_text_has_the_same_tree_every_time() -> None:
    """A parser that is stopped by a clock recovers from an error in other ways on a busy machine."""
    text = "def a(b:\n    return [b, {'c': 1}\n\nclass C\n  x = (1,\n" * 200
    trees = [parse_kept.__wrapped__(text, "python") for _ in range(5)]
    assert len({str(tree.root_node) if tree else "" for tree in trees}) == 1


def test_this_process_says_how_large_it_is() -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux says it in a file")
    assert 1 << 20 < languages._memory() < 1 << 40  # pyright: ignore[reportPrivateUsage]


def test_only_what_is_stopped_here_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who parsed, by counts: this process once where it came to an end; else the judge, and this process once more."""
    done: list[str] = []
    real = languages._try_parse  # pyright: ignore[reportPrivateUsage]

    def try_parse(data: bytes, language: str, seconds: float) -> object:
        done.append("quick" if seconds < 1 else "long")
        return real(data, language, 60.0) if seconds > 1 or data.startswith(b"good") else None

    def judge(text: str, language: str) -> bool:
        done.append("worker")
        return not text.startswith("hostile")

    monkeypatch.setattr(languages, "_try_parse", try_parse)
    monkeypatch.setattr(languages, "_judges", [judge])
    texts = ("good = 1\n", "odd = 1\n", "hostile = 1\n")
    seen = [(parse_kept.__wrapped__(text, "python") is not None, [*done], done.clear())[:2] for text in texts]
    assert seen == [(True, ["quick"]), (True, ["quick", "worker", "long"]), (False, ["quick", "worker"])]


def test_brackets_count_together_whatever_their_kind() -> None:
    deep = "([{" * 66 + "((("
    assert is_too_deep(deep, "python")
    assert not is_too_deep(deep[:DEEPEST] + ")" * DEEPEST, "python")
    assert is_too_deep("()" * 5_000 + deep + ")" * 500, "python")
    assert not is_too_deep("(" * 150 + ")" * 150 + "[" * 150, "python")
    assert is_too_deep("(" * 150 + "x)(" * 300 + "{" * 51, "python")
    assert not is_too_deep(")" * 500 + "(" * 300, "python")
