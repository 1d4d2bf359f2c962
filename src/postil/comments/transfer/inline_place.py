"""Where a line with a comment may stand in a source: above a string, another comment or a continued line, never inside.

Pure. With a grammar its tree says what spans several lines; without one only what the lines themselves show is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from postil.anchor.syntax.languages import language_of, parse_for_person
from postil.comments.transfer.inline import is_inline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node, Tree

_MOST_STEPS = 100
_TEXT_IN = (
    *("string", "comment", "heredoc", "nowdoc", "template", "scalar", "attribute_value"),
    *("fenced_code_block", "script_element", "style_element"),
)
"""Parts of the names of what holds text over several lines, in all grammars."""
_TEXT_BETWEEN = ("jsx_element", "jsx_fragment")
"""What holds text between its parts."""
_PROSE = frozenset({"html", "markdown"})
"""Where text is what the file is made of, and a comment may stand between its lines."""
_FIRST_LINES = ("#!", "<?", "<!doctype", "\ufeff#!")
"""What has to stay the first line of its file."""


class CommentLines:
    """Where comments may stand in one source."""

    def __init__(self, path: str, text: str) -> None:
        self._language = language_of(path)
        self._tree: Tree | None = parse_for_person(text, self._language)
        self._lines: Sequence[str] = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line.encode("utf-8", "surrogatepass")) + 1)

    def above(self, line: int) -> int:
        """Returns the line above which a comment on a line may be written: that line, or one before it.

        Behind a first line that has to stay the first, it is the second.
        """
        row = min(max(line, 1), len(self._lines)) - 1
        for _ in range(_MOST_STEPS):
            outer = self._find_opening(row)
            if outer == row:
                break
            row = outer
        if row == 0 and self._lines[0].lower().startswith(_FIRST_LINES):
            return 2
        return row + 1

    def find_code(self, line: int) -> int:
        """Returns the line that a comment above a line speaks of: the next one that is code, or else the last."""
        below = range(line - 1, len(self._lines))
        is_code = (row for row in below if self._lines[row].strip() and not is_inline(self._lines[row]))
        return next(is_code, max((row for row, text in enumerate(self._lines) if text.strip()), default=0)) + 1

    def _find_opening(self, row: int) -> int:
        """Returns the row on which what spans the beginning of a row begins; the same when nothing does."""
        if row and _is_continued(self._lines[row - 1]):
            return row - 1
        if self._tree is None or row == 0:
            return row
        offset, found = self._starts[row], row
        node: Node | None = self._tree.root_node.descendant_for_byte_range(offset, offset)
        if node is not None and node.type in _TEXT_BETWEEN:
            found = node.start_point.row
        while node is not None:
            if self._holds(node, offset):
                found = min(found, node.start_point.row)
            elif node.type == "heredoc_body" and node.start_byte == offset:  # it begins with its first line
                found = min(found, row - 1)
            node = node.parent
        return found

    def _holds(self, node: Node, offset: int) -> bool:
        """Whether a node is text of several lines, and an offset is inside it."""
        if not node.start_byte < offset < node.end_byte:
            return False
        return any(word in node.type for word in _TEXT_IN) or (node.child_count == 0 and self._language not in _PROSE)


def _is_continued(line: str) -> bool:
    """Whether a line goes on with the next one: it ends with a backslash that is not itself quoted."""
    bare = line.rstrip("\r")
    return (len(bare) - len(bare.rstrip("\\"))) % 2 == 1
