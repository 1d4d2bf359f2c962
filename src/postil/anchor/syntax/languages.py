"""Which language a file is in, and its grammar. Grammars are imported when first parsed with, never before."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Language, Parser, Tree

_T = TypeVar("_T")
# A file larger than this, or with a longer line, is generated or minified: its tree tells no more than its text.
MOST_BYTES = 4_000_000
LONGEST_LINE = 20_000
# Characters of a text of which the tree and the names are kept for whoever asks next.
LARGEST_KEPT = 128 * 1024
# Seconds of CPU that parsing may take; an ordinary file of MOST_BYTES needs less than one. What takes longer is text.
LONGEST_PARSE = 2.0
HERE = 48 * 1024
"""Bytes of a text that this process parses; the others are left to a worker. `make worst-sources` measures, for every
grammar, what the dearest text of this size takes: the table is in docs/anchoring.md."""
QUICK_PARSE, QUICK = 0.018, 0.03
"""Seconds of CPU for the tree of a text, and for the tree and all that is read from it, after which it is left to a
worker: ordinary files need a tenth."""
QUICK_START, QUICK_BYTE = 0.0005, 0.25e-6
"""Seconds that the tree of a text may take, and for each of its bytes: of 3,000 ordinary files one in a hundred takes
0.2 µs a byte. A parser that goes on in several ways at once takes 0.35 and more, and when the text ends it copies all
that it read for each of them, in one step: 8 kB of Java took 170 ms there, 32 kB of TypeScript 370. So it is stopped
while it is only slow."""
QUICK_SMALL = 0.002
"""Seconds that any tree may take: of a small text that last step is short, and a busy machine makes all longer."""
SLOW_BYTE = {"c": 0.5e-6, "sql": 0.5e-6}
"""Seconds for each byte where ordinary files take longer: headers in C++ named `.h`, and the dialects of SQL."""
SLICE = 0.001
"""Seconds after which a parser comes back, at its next look at the clock. It was at its first look, after a hundred
steps; but one that is stopped while it balances its tree makes, one time in a thousand or two, a tree that crashes the
interpreter when it is walked (py-tree-sitter 0.25.2): the fewer stops the better. After 5 ms it is too late: in 8 kB
that are all errors no look came for 0.4 s and 270 MB."""
LOOK_EVERY = 4
"""Slices after which this process looks at its memory. It looks at its CPU time after each: where every word makes the
parser read to the end of the text, one slice of 64 kB takes 60 ms."""
GROWTH, BYTE_GROWTH, MOST_GROWTH = 20 << 20, 16, 40 << 20
"""Bytes by which this process may grow while it parses, and for each byte of the text; an ordinary file of 300 kB takes
5 MB. A parser doubles what it has, so it may be twice as much when it is seen."""

# Grammars and queries are native: deep nesting makes queries quadratic, and the YAML scanner writes past its buffer
# at 256 levels. Nobody writes so deep; a text that does is compared line by line, as one without a grammar.
DEEPEST = 200
MOST_BACKSLASHES = 50
_BRACKET = re.compile(r"[()\[\]{}]")
# Asked of a large text as a whole: its lines would take more memory than it where they are short.
_LONG_LINE = re.compile(rf"(?m)^.{{{LONGEST_LINE + 1}}}")
_FAR_RIGHT = re.compile(rf"(?m)^[ \t]{{{DEEPEST + 1}}}")
_FAR_RIGHT_IN_YAML = re.compile(rf"(?m)^[ \t?:-]{{{DEEPEST + 1}}}")
# What may stand before the first word of a line of YAML, each opening a level of its own.
_YAML_MARKS = " \t-?:"
_STEP = {**dict.fromkeys("([{", 1), **dict.fromkeys(")]}", -1)}
_OPEN_OR_CLOSED = bytes.maketrans(b"[{]}", b"(())")
_NO_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))
# Where `a <` may begin a list of types or compare, a parser keeps both readings of each until the text ends, and then
# copies them all for each: in Java 16 kB of it took 3.6 s and 2 GB. An expression does not go on behind these marks.
_ANGLES = re.compile("[<>;{}]")

# language: (distribution module, function that gives the grammar)
_GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "csharp": ("tree_sitter_c_sharp", "language"),
    "ruby": ("tree_sitter_ruby", "language"),
    "php": ("tree_sitter_php", "language_php"),
    "kotlin": ("tree_sitter_kotlin", "language"),
    "swift": ("tree_sitter_swift", "language"),
    "scala": ("tree_sitter_scala", "language"),
    "bash": ("tree_sitter_bash", "language"),
    "sql": ("tree_sitter_sql", "language"),
    "html": ("tree_sitter_html", "language"),
    "css": ("tree_sitter_css", "language"),
    "yaml": ("tree_sitter_yaml", "language"),
    "toml": ("tree_sitter_toml", "language"),
    "json": ("tree_sitter_json", "language"),
    "markdown": ("tree_sitter_markdown", "language"),
}

_SUFFIXES = {
    "python": "py pyi pyw",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "java": "java",
    "rust": "rs",
    "c": "c h",
    "cpp": "cpp cc cxx c++ hpp hh hxx h++ ipp",
    "csharp": "cs csx",
    "ruby": "rb rake gemspec ru",
    "php": "php phtml",
    "kotlin": "kt kts",
    "swift": "swift",
    "scala": "scala sc sbt",
    "bash": "sh bash zsh ksh",
    "sql": "sql",
    "html": "html htm xhtml",
    "css": "css",
    "yaml": "yaml yml",
    "toml": "toml",
    "json": "json jsonc webmanifest",
    "markdown": "md markdown mkd",
}
_LANGUAGE_OF = {suffix: language for language, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_LANGUAGE_OF_NAME = {"Gemfile": "ruby", "Rakefile": "ruby", "Pipfile": "toml", ".bashrc": "bash", ".zshrc": "bash"}

LANGUAGES = tuple(_GRAMMARS)


def language_of(path: str) -> str | None:
    """The language of a file by its name; None where there is no grammar, and text is all there is."""
    name = path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    before, _, ending = name.rpartition(".")  # pathlib takes 5 ms to import
    return _LANGUAGE_OF_NAME.get(name) or _LANGUAGE_OF.get(ending.lower() if before else "")


@cache
def is_installed(language: str) -> bool:
    """Whether the grammar is here: the plain install has those of the eight commonest languages."""
    from importlib.util import find_spec

    return find_spec(_GRAMMARS[language][0]) is not None


@cache
def grammar(language: str) -> Language:
    """The grammar of one of LANGUAGES."""
    from tree_sitter import Language  # 10 ms, and only whoever parses pays

    module, function = _GRAMMARS[language]
    capsule: Callable[[], object] = getattr(import_module(module), function)
    return Language(capsule())


def _parser(language: str, seconds: float) -> Parser:
    from tree_sitter import Parser

    # A parser holds state while it parses and threads share this module, so each parse has its own (2 µs). Its time is
    # limited by a setting that warns of its age: what is to follow it is ignored for bytes, and crashes for the rest.
    limit = max(1, round(seconds * 1_000_000))  # 0 would be no limit
    try:
        return Parser(grammar(language), timeout_micros=limit)  # pyright: ignore[reportDeprecated]
    except TypeError:  # a newer one, without it
        return Parser(grammar(language))


class Parsed:
    """A tree, and the seconds of CPU that this process may still spend on what is read from it.

    All questions of a call share them. A tree that is kept is asked by many calls, so within a second they come back.
    """

    __slots__ = ("_asked", "_most", "left", "tree")

    def __init__(self, tree: Tree, left: float) -> None:
        self.tree, self.left = tree, left
        self._most, self._asked = left, time.monotonic()

    @contextmanager
    def spend(self) -> Generator[float]:
        """Yields until when something may be read from the tree, by this thread's CPU; what it took is taken off."""
        begun = time.thread_time()
        try:
            yield begun + self.refill()
        finally:
            self.left -= time.thread_time() - begun

    def refill(self) -> float:
        """Returns what is left now."""
        now = time.monotonic()
        self.left = min(self._most, self.left + (now - self._asked) * QUICK)
        self._asked = now
        return self.left


_lifted: list[bool] = []


def parse_everything_here() -> None:
    """Let this process parse every text: one that can be ended, and that the kernel limits."""
    _lifted[:] = [True]


def parses_everything_here() -> bool:
    """Whether this process is such a one."""
    return bool(_lifted)


def is_over(until: float) -> bool:
    """Whether this thread has used so much CPU."""
    return time.thread_time() > until


def parse(text: str, language: str | None) -> Parsed | None:
    """The syntax tree, or None where there is none or a worker has to make it (`ask_worker`).

    The last two are kept: whoever compares two versions, or comments on one again, asks for the same ones. A tree takes
    ten times the memory of its text and more, so those of large texts are not.
    """
    return (parse_kept if len(text) <= LARGEST_KEPT else parse_kept.__wrapped__)(text, language)


@lru_cache(2)
def parse_kept(text: str, language: str | None) -> Parsed | None:
    """The same, kept whatever its size."""
    begun = time.thread_time()
    if language is None or not is_code(text, language):
        return None
    data = text.encode("utf-8", "surrogatepass")
    if _lifted:
        tree = _try_parse(data, language, LONGEST_PARSE)
        return Parsed(tree, inf) if tree else None
    if len(data) > HERE or _has_open_angles(text) or _has_backslashes_alone(text):
        return None
    looked = time.thread_time() - begun
    grammar(language)  # loading it is no fault of the text
    begun = time.thread_time() - looked
    most = max(QUICK_SMALL, QUICK_START + SLOW_BYTE.get(language, QUICK_BYTE) * len(data))
    tree = _try_parse(data, language, min(QUICK_PARSE, most))
    return Parsed(tree, QUICK - (time.thread_time() - begun)) if tree else None


def parse_for_person(text: str, language: str | None) -> Tree | None:
    """The syntax tree of a file that a person named to a command of their own: no server does this."""
    if language is None or not is_code(text, language):
        return None
    return _try_parse(text.encode("utf-8", "surrogatepass"), language, LONGEST_PARSE)


def is_code(text: str, language: str | None) -> bool:
    """Whether there is a grammar for a text, and the text is something to parse with it, here or in a worker."""
    if language not in _GRAMMARS or not is_installed(language) or len(text) > MOST_BYTES:
        return False
    if len(text) <= LARGEST_KEPT and max(map(len, text.split("\n"))) <= DEEPEST:
        return not _has_deep_brackets(text)  # no line is long, and none begins far to the right
    return not _has_long_line(text) and not is_too_deep(text, language)


# Texts that are not parsed here are a worker's, which can be ended and has limits. Here is only the question: who
# starts workers says so with `ask_slow_texts_of`; without one, such a text is plain lines.
What: TypeAlias = Literal["symbols", "problems", "complexities", "colors"]


class Question(Struct, frozen=True, array_like=True):
    """What somebody wants to know of a text."""

    what: What
    language: str
    text: bytes
    rows: tuple[int, ...] = ()


Worker: TypeAlias = Callable[[Question], bytes | None]
_workers: list[Worker] = []


def ask_slow_texts_of(worker: Worker) -> None:
    """Let somebody answer what is asked of texts that are not parsed here."""
    _workers[:] = [worker]


def ask_worker(what: What, text: str, language: str, of: type[_T], rows: tuple[int, ...] = ()) -> _T | None:
    """Returns what a worker read from a text; None where there is no worker, or the text takes it too long."""
    if not _workers or _lifted or not is_code(text, language):
        return None
    said = _workers[0](Question(what, language, text.encode("utf-8", "surrogatepass"), rows))
    return msgspec.msgpack.decode(said, type=of) if said is not None else None


def _try_parse(data: bytes, language: str, seconds: float) -> Tree | None:
    """Returns the tree, or None where that takes more CPU than these seconds or more memory than MOST_GROWTH."""
    parser, until, slices = _parser(language, SLICE), time.thread_time() + seconds, 0
    most = count_memory() + min(MOST_GROWTH, GROWTH + BYTE_GROWTH * len(data))  # one slice may take much
    passed = time.monotonic() + seconds  # before it the CPU's clock, which takes ten times as long to read, says no
    while True:
        try:
            return parser.parse(data)
        except ValueError:  # the slice is over: the same call goes on where it stopped
            slices += 1
        if time.monotonic() >= passed and time.thread_time() >= until:
            return None
        if slices % LOOK_EVERY == 0 and count_memory() > most:
            return None


def count_memory() -> int:
    """Returns how many bytes this process holds; 0 where the system does not say."""
    try:
        with open("/proc/self/status", "rb") as file:
            said = file.read(4096).partition(b"VmRSS:")[2].split(None, 2)
    except OSError:
        return 0
    return int(said[0]) * 1024 if said else 0  # in kB, whatever a page is


def is_too_deep(text: str, language: str) -> bool:
    """Whether the text may nest deeper than DEEPEST; at worst an ordinary text with very odd lines is said to."""
    if _has_deep_brackets(text):
        return True
    # A level takes at least one column, so only lines that begin far to the right can be deep.
    if len(text) > LARGEST_KEPT and not (_FAR_RIGHT_IN_YAML if language == "yaml" else _FAR_RIGHT).search(text):
        return False
    marks = _YAML_MARKS if language == "yaml" else " \t"
    lines = text.split("\n")
    if not any(len(line) - len(line.lstrip(marks)) > DEEPEST for line in lines if len(line) > DEEPEST):
        return False
    return language == "yaml" or _count_levels([len(line) - len(line.lstrip(marks)) for line in lines]) > DEEPEST


def _has_deep_brackets(text: str) -> bool:
    """Whether brackets stand more than DEEPEST inside each other, of whatever kind."""
    if _count(text) <= DEEPEST:
        return False
    left = text.encode("utf-8", "surrogatepass").translate(_OPEN_OR_CLOSED, _NO_BRACKETS)
    for taken in range(DEEPEST):
        # Each time the innermost pairs go, and with them one level at most: soon so few are left that it is not deep.
        if left.count(b"(") + taken <= DEEPEST:
            return False
        fewer = left.replace(b"()", b"")
        if len(fewer) * 8 > len(left) * 7:
            break
        left = fewer
    return max(accumulate(map(_STEP.__getitem__, _BRACKET.findall(text)))) > DEEPEST


def _has_long_line(text: str) -> bool:
    if len(text) > LARGEST_KEPT:
        return _LONG_LINE.search(text) is not None
    return max(map(len, text.split("\n"))) > LONGEST_LINE


def _count(text: str) -> int:
    return text.count("(") + text.count("[") + text.count("{")


def _has_open_angles(text: str) -> bool:
    """Whether more than DEEPEST `<` are opened and not closed."""
    level = 0
    for mark in _ANGLES.findall(text) if text.count("<") > DEEPEST else ():
        level = level + 1 if mark == "<" else max(level - 1, 0) if mark == ">" else 0
        if level > DEEPEST:
            return True
    return False


def _has_backslashes_alone(text: str) -> bool:
    """Whether more than MOST_BACKSLASHES stand together with nothing but blanks between them.

    Where no word begins, a parser looks for one at each character, in one step; and Ruby's reads on to the last of such
    backslashes each time: 16 kB took 0.46 s.
    """
    return text.count("\\") > MOST_BACKSLASHES and "\\" * (MOST_BACKSLASHES + 1) in "".join(text.split())


def _count_levels(widths: list[int]) -> int:
    deepest, open_ = 0, [0]
    for width in widths:
        while open_[-1] > width:
            open_.pop()
        if width > open_[-1]:
            open_.append(width)
            deepest = max(deepest, len(open_))
    return deepest
