"""A text cut into lines, with what the measures need of it, each computed once and when asked. No comparing here."""

import re
from bisect import bisect_left, bisect_right
from functools import cached_property, lru_cache
from itertools import accumulate

from postil.anchor.model import Source
from postil.anchor.side_by_side.token_counts import TOKEN, TokenCounts
from postil.anchor.syntax.definitions import TYPES
from postil.anchor.syntax.languages import language_of
from postil.anchor.syntax.symbols import Symbol, symbols

_OPENING = re.compile(r"\b[A-Za-z_]\w*")
_NAME = re.compile(r"(?<![\w$])([A-Za-z_$][\w$]*+)\s*+(?:[=;(:,){]|$)")  # never goes back: linear in the row
_TAB = 4
_DEEPEST = 1 << 30
_COUNTED = 12_000  # rows whose tokens are counted
_FRAME = 200  # rows of a long function
# A statement may run over several lines; more than this is data, and its beginning is enough to know it by.
_HEADER_LINES = 6
_LONGEST_COMMENT = 200
# A minified line is known by its beginning too: comparing is quadratic in the length.
LONGEST_KEY = 400
# Of the code of a span so much is handed back, in characters and rows: thousands of spans may be asked for.
LONGEST_TEXT, MOST_ROWS = 4_000, 400
_BARE = re.compile(r"[\])};,{]*")
_BARE_ROWS = 3  # bare rows that may stand between a row and what it belongs to
_DIRECTIVE = re.compile(r"\s*#\s*(?:if|ifdef|ifndef|else|elif|elifdef|elifndef|endif)\b")
_DIRECTIVES = 200  # rows of a preprocessor that may stand between a bracket and what it closes
_REMARKS = ("//", "/*", "*", "#", "--", "<!--", ";", "%", '"""')


class Page:
    """One version of a file. Rows count from 0 here; only the public functions speak of lines, counted from 1."""

    def __init__(self, source: Source) -> None:
        self.source = source
        text = source.text.removeprefix("\ufeff")
        if "\n" not in text and "\r" in text:
            text = text.replace("\r", "\n")
        self.text = text
        self.rows = text.split("\n")
        if len(self.rows) > 1 and not self.rows[-1]:
            self.rows.pop()
        # The code of a row without any whitespace: re-indenting changes nothing.
        self.keys = ["".join(row.split())[:LONGEST_KEY] for row in self.rows]
        self._tokens: dict[int, list[str]] = {}
        self._headers: dict[int, list[str]] = {}
        self._header_rows: dict[int, int] = {}
        self._openings: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._frame_ends: dict[int, int] = {}
        self.language = language_of(source.path)

    def __len__(self) -> int:
        return len(self.rows)

    def tokens(self, row: int) -> list[str]:
        found = self._tokens.get(row)
        if found is None:
            found = self._tokens[row] = TOKEN.findall(self.rows[row][: 2 * LONGEST_KEY])
        return found

    def between(self, first: int, last: int) -> str:
        """The text of the rows from first to last, both included; of very much its beginning."""
        if first == last:
            return self.rows[first][:LONGEST_TEXT].rstrip("\r")
        rows = self.rows[first : min(last + 1, first + MOST_ROWS)]
        return "\n".join(row[:LONGEST_TEXT].rstrip("\r") for row in rows)[:LONGEST_TEXT]

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Every row where a key stands."""
        found: dict[str, list[int]] = {}
        for row, key in enumerate(self.keys):
            found.setdefault(key, []).append(row)
        return found

    @cached_property
    def indents(self) -> list[int]:
        """Columns of leading whitespace; a blank row counts as deep as can be, so that it ends no block."""
        rows = self.rows
        if "\t" in self.text:
            rows = self.text.expandtabs(_TAB).split("\n")[: len(rows)]
        pairs = zip(rows, self.keys, strict=True)
        return [len(row) - len(row.lstrip()) if key else _DEEPEST for row, key in pairs]

    @cached_property
    def parents(self) -> list[int]:
        """For each row the row it is indented under, or -1. A brace on a row of its own stands for the row above it."""
        stack: list[tuple[int, int]] = []
        found: list[int] = []
        keys = self.keys
        for row, indent in enumerate(self.indents):
            while stack and stack[-1][0] >= indent:
                opener = stack.pop()
                if opener[0] == indent and keys[row] == "{":
                    stack.append(opener)
                    break
            found.append(stack[-1][1] if stack and stack[-1][0] < indent else self._under(stack))
            if indent != _DEEPEST and not (stack and stack[-1][0] == indent):
                stack.append((indent, row))
        return found

    @staticmethod
    def _under(stack: list[tuple[int, int]]) -> int:
        return stack[-2][1] if len(stack) > 1 else -1

    @cached_property
    def children(self) -> dict[int, list[int]]:
        """The rows directly under each row, blank ones left out; -1 has those of the outermost level."""
        found: dict[int, list[int]] = {}
        for row, (parent, key) in enumerate(zip(self.parents, self.keys, strict=True)):
            if key:
                found.setdefault(parent, []).append(row)
        return found

    def before(self, row: int) -> int:
        """The row before this one under the same row, or -1: for a closing bracket the row that it closes."""
        siblings = self.children.get(self.parents[row], [])
        place = bisect_left(siblings, row)
        return siblings[place - 1] if place else -1

    def after(self, row: int) -> int:
        """The row after this one under the same row, or -1."""
        siblings = self.children.get(self.parents[row], [])
        place = bisect_right(siblings, row)
        return siblings[place] if place < len(siblings) else -1

    def ancestors(self, row: int) -> list[int]:
        """The rows this one is under, the outermost first."""
        found: list[int] = []
        while (row := self.parents[row]) >= 0:
            found.append(row)
        return found[::-1]

    @cached_property
    def ends(self) -> list[int]:
        """For each row the last row of what is under it; the row itself where there is nothing."""
        found = list(range(len(self.rows)))
        parents, keys = self.parents, self.keys
        for row in range(len(found) - 1, -1, -1):
            parent = parents[row]
            if parent >= 0 and keys[row] and found[row] > found[parent]:
                found[parent] = found[row]
        return found

    def opening(self, row: int) -> str:
        """The first word of a row, or its first sign where it has no word."""
        found = self._openings.get(row)
        if found is None:
            text = self.rows[row][: 2 * LONGEST_KEY]
            word = _OPENING.search(text) if text.isascii() else None
            found = self._openings[row] = word[0] if word else _find_opening(self.tokens(row))
        return found

    def name(self, row: int) -> str:
        """What a row defines, assigns or calls first: the first word before a bracket, an assignment or an end."""
        name = self._names.get(row)
        if name is None:
            found = _NAME.search(self.rows[row][: 2 * LONGEST_KEY])
            name = self._names[row] = found[1] if found else ""
        return name

    def documented(self, row: int) -> int:
        """The declaration that a row of a comment stands above, or -1: the first row below that is no comment."""
        at = self._declared[row]
        return at if row < at < len(self.keys) and self.keys[at] and not is_remark(self.keys[at]) else -1

    @cached_property
    def _declared(self) -> list[int]:
        """For each row the first one from there on that is neither a comment nor, behind those, a decorator."""
        end = len(self.keys)
        behind, found = end, [end] * end
        for row in range(end - 1, -1, -1):
            behind = behind if self.keys[row].startswith("@") else row
            remark = is_remark(self.keys[row])
            found[row] = (found[row + 1] if row + 1 < end else end) if remark else behind
        return found

    @cached_property
    def _decorated(self) -> list[int]:
        """For each row the first one of the decorators that stand right above it, else itself."""
        found = list(range(len(self.keys)))
        for row in range(1, len(self.keys)):
            if self.keys[row - 1].startswith("@"):
                found[row] = found[row - 1]
        return found

    def comment_above(self, row: int) -> range:
        """The rows of the comment that stands above a declaration."""
        first = last = self._decorated[row]
        while first and last - first < _LONGEST_COMMENT and is_remark(self.keys[first - 1]):
            first -= 1
        return range(first, last)

    @cached_property
    def symbols(self) -> "list[Symbol]":
        return symbols(self.text, self.language)

    @cached_property
    def frames(self) -> list[int]:
        """For each row the first row of the function it is in, or -1.

        Without symbols it is the outermost block that is no longer than a function is.
        """
        found = [-1] * len(self.rows)
        if self.symbols:
            for symbol in self.symbols:  # inner ones come later
                head = symbol.line - 1 if symbol.is_function else -1
                first, last = symbol.span.start - 1, min(symbol.span.last, len(found))
                found[first:last] = [head] * (last - first)
            return found
        for row, parent in enumerate(self.parents):
            if parent >= 0:
                found[row] = found[parent]
            if found[row] < 0 and 0 < self.ends[row] - row <= _FRAME:
                found[row] = row
        return found

    def frame_end(self, head: int) -> int:
        """The last row of the function that begins on a row: by its syntax, or by its layout where that is broken."""
        last = self._frame_ends.get(head)
        if last is None:
            last, frames = self.ends[head], self.frames
            while last + 1 < len(frames) and frames[last + 1] == head:
                last += 1
            last = self._frame_ends[head] = max(last, _find_function_ends(self).get(head, last))
        return last

    @cached_property
    def owners(self) -> "dict[int, tuple[str, ...]]":
        """For each row the path of the symbol it is in."""
        found: dict[int, tuple[str, ...]] = {}
        for symbol in self.symbols:
            found.update(dict.fromkeys(range(symbol.span.start - 1, symbol.span.last), symbol.path))
        return found

    @cached_property
    def singles(self) -> "dict[tuple[str, ...], int]":
        """The first rows of the functions and types by their paths; -1 where there are several of one path."""
        found: dict[tuple[str, ...], int] = {}
        for symbol in self.symbols:
            if symbol.is_function or symbol.kind in TYPES:
                path = symbol.path
                found[path] = -1 if path in found else symbol.line - 1
        return found

    def header(self, row: int) -> list[str]:
        """The tokens of the statement that begins on this row, to where its brackets are balanced."""
        found = self._headers.get(row)
        if found is None:
            found = self._headers[row] = self._read_header(row)
        return found

    def header_rows(self, row: int) -> int:
        """How many rows the head of a statement takes."""
        self.header(row)
        return self._header_rows[row]

    def _read_header(self, row: int) -> list[str]:
        depth, last = _count_open(self.rows[row]), row
        while depth > 0 and last + 1 < min(row + _HEADER_LINES, len(self.rows)):
            last += 1
            depth += _count_open(self.rows[last])
        self._header_rows[row] = last - row + 1
        if last == row:
            return self.tokens(row)
        return [token for at in range(row, last + 1) for token in self.tokens(at)]


def _count_open(text: str) -> int:
    """How many more brackets a row opens than it closes. Braces hold bodies: they belong to no head."""
    text = text[: 2 * LONGEST_KEY]
    return text.count("(") + text.count("[") - text.count(")") - text.count("]")


def is_remark(key: str) -> bool:
    """Whether a row is a comment, as far as its beginning tells."""
    return key.startswith(_REMARKS)


def is_bare(key: str) -> bool:
    """Whether a row holds only what belongs to another: brackets, or nothing."""
    return _BARE.fullmatch(key) is not None


def find_opener(page: Page, row: int) -> int:
    """The row that a bracket closes: the one before it under the same row; or -1.

    Lone braces are skipped, and the lines of a preprocessor, which stand at the margin whatever they are in.
    """
    above, bare = page.before(row), 0
    for _ in range(_DIRECTIVES):
        if above < 0 or not (is_bare(page.keys[above]) or _DIRECTIVE.match(page.rows[above])):
            return above
        bare += is_bare(page.keys[above])
        if bare > _BARE_ROWS:
            break
        above = page.before(above)
    return -1


def closes_function(page: Page, row: int) -> bool:
    """Whether a row holds the bracket that ends the function that it is in, as far as syntax tells."""
    if page.keys[row][:1] != "}" or not page.symbols:
        return False
    head = page.frames[row]
    return row > head >= 0 and page.frame_end(head) == row


def find_closing(page: Page, row: int, mark: str) -> int:
    """The row after this one, under the same row, that begins with a bracket; or -1 where none is near."""
    at, left = row, _BARE_ROWS
    for _ in range(_DIRECTIVES):
        at = page.after(at)
        if at < 0 or page.keys[at][:1] == mark:
            return at
        left -= not _DIRECTIVE.match(page.rows[at])
        if not left:
            break
    return -1


def list_alike(page: Page, head: int, key: str) -> list[int]:
    """The rows of a function that say the same."""
    return [at for at in range(head, page.frame_end(head) + 1) if page.keys[at] == key]


def find_telling(page: Page, row: int, step: int) -> int:
    """The nearest row above (step -1) or below that is not bare; -1 if none is near."""
    near = range(row + step, row + step * (_BARE_ROWS + 1), step)
    return next((at for at in near if 0 <= at < len(page.rows) and not is_bare(page.keys[at])), -1)


def _find_opening(tokens: list[str]) -> str:
    words = (token for token in tokens if token[0].isalpha() or token[0] == "_")
    return next(words, tokens[0] if tokens else "")


@lru_cache(4)
def count_tokens(page: Page) -> TokenCounts:
    """How often each token stands there; of a page that is very long, in the beginnings of its first rows."""
    rows = page.rows[:_COUNTED]
    if len(rows) == len(page.rows) and max(map(len, rows)) <= 2 * LONGEST_KEY:
        return TokenCounts(page.text)
    return TokenCounts("\n".join(row[: 2 * LONGEST_KEY] for row in rows))


def find_word(page: Page, word: str) -> list[int]:
    """The rows that hold a word as a whole, each once."""
    text, starts = page.text, _find_starts(page)
    found: list[int] = []
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        row = bisect_right(starts, at) - 1
        alone = not (at and _is_letter(text[at - 1])) and not (end < len(text) and _is_letter(text[end]))
        if alone and row < len(page.rows):
            found.append(row)
            end = starts[row + 1] if row + 1 < len(starts) else len(text)
        at = text.find(word, end)
    return found


@lru_cache(4)
def _find_function_ends(page: Page) -> dict[int, int]:
    """The last row of each function as syntax tells, by its first row."""
    return {each.line - 1: min(each.span.last, len(page)) - 1 for each in page.symbols if each.is_function}


@lru_cache(4)
def _find_starts(page: Page) -> list[int]:
    """Where each row begins in the text."""
    return [0, *accumulate(len(row) + 1 for row in page.rows)][:-1]


def _is_letter(char: str) -> bool:
    return char.isalnum() or char == "_"
