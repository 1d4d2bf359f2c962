"""Ready-made requests: review a file, explain what is complex, export training data, find new homes for orphans."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from msgspec.json import encode

from postil.anchor.syntax.complexity import complexities
from postil.anchor.syntax.languages import language_of
from postil.comments.model import ALL_TAGS, Located
from postil.comments.operations.answers import comment_now, leave_out_unlikely, list_old_code
from postil.comments.source_tree import Source
from postil.core.answer import in_rows
from postil.core.failure import InvalidArguments
from postil.core.others.framing import frame
from postil.core.others.one_line import on_one_line
from postil.core.prompt import prompt
from postil.workspace.git import git_lines

if TYPE_CHECKING:
    from postil.comments.part import CommentsContext

LONGEST_SOURCE = 200_000
MOST_COMPLETIONS = 100
MOST_ORPHANS = 50


_POINTS = {
    "security": (
        "Authentication vulnerabilities",
        "Input validation",
        "Cryptographic issues",
        "Rate limiting",
        "Session management",
    ),
    "performance": (
        "Work repeated inside loops",
        "Algorithms worse than they need to be",
        "Blocking input and output",
        "Memory that grows without bound",
        "Missing caching or batching",
    ),
    "maintainability": (
        "Functions that do several things",
        "Names that do not say what is meant",
        "Duplicated code",
        "Missing error handling",
        "Missing tests and documentation",
    ),
    "all": (
        "Security: authentication, input validation, cryptography",
        "Performance: needless work, blocking calls, memory",
        "Maintainability: structure, names, duplication",
        "Correctness: edge cases, error handling, concurrency",
    ),
}
FOCUSES = tuple(_POINTS)
"""What a review looks for."""


class CommentPrompts:
    """The four prompts of the contract."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context

    @prompt("review_code", complete={"focus": FOCUSES, "filePath": "complete_file"})
    def review_code(
        self,
        filePath: Annotated[str, Meta(description="File to review")],
        focus: Annotated[str, Meta(description="Review focus area", extra_json_schema={"enum": list(FOCUSES)})] = "all",
    ) -> str:
        """Review code and suggest TODO/FIXME comments for improvements"""
        if focus not in _POINTS:
            raise InvalidArguments(
                f"Invalid prompt arguments: unknown focus {focus[:50]!r}",
                advice=f"Use one of {', '.join(FOCUSES)}",
                path="focus",
            )
        about = "" if focus == "all" else f"{focus} "
        source = self._context.tree.source(self._context.tree.path(filePath))
        return (
            f"Review this code for {about}issues and suggest TODO/FIXME comments:\n\n{_fence(source)}\n\n"
            f"For each issue found:\n1. Identify the specific line number\n2. Explain the {about}concern\n"
            "3. Suggest a TODO or FIXME comment\n4. Provide a brief fix recommendation\n\n"
            "Focus on:\n" + "\n".join(f"- {point}" for point in _POINTS[focus])
        )

    @prompt(
        "explain_complexity", complete={"filePath": "complete_file", "complexityThreshold": ("5", "10", "15", "20")}
    )
    def explain_complexity(
        self,
        filePath: Annotated[str, Meta(description="File to analyze")],
        complexityThreshold: Annotated[int, Meta(description="Cyclomatic complexity threshold")] = 10,
    ) -> str:
        """Add NOTE comments explaining complex functions/algorithms"""
        source = self._context.tree.source(self._context.tree.path(filePath))
        language = language_of(source.path)
        found = [each for each in complexities(source.text, language) if each.cyclomatic >= complexityThreshold]
        if language is None:
            listed = "The language of this file is not known here: judge the complexity of its functions yourself."
        elif not found:
            listed = (
                f"No function in it reaches a cyclomatic complexity of {complexityThreshold}: nothing needs a note."
            )
        else:
            ranked = sorted(found, key=lambda each: -each.cyclomatic)
            listed = f"Functions with a cyclomatic complexity of {complexityThreshold} or more:\n" + "\n".join(
                f"- {each.function.label}, line {each.function.span.start}: complexity {each.cyclomatic}"
                for each in ranked
            )
        return (
            f"Explain the complex code of {on_one_line(source.path)} with NOTE comments.\n\n{listed}\n\n"
            f"{_fence(source)}\n\n"
            "For each function listed:\n1. Say what it is for and what its branches decide\n"
            "2. Name what is surprising or easy to break\n"
            f"3. Add the explanation with add_comment (filePath {encode(source.path).decode()}, "
            "the line of the function, tag NOTE)"
        )

    @prompt("training_export", complete={"includeContext": ("true", "false")})
    def write_training_export(
        self, includeContext: Annotated[bool, Meta(description="Include code context around comments")] = True
    ) -> str:
        """Export workspace comments as AI training data (JSONL format)"""
        counts = dict.fromkeys(ALL_TAGS, 0)
        total = orphaned = 0
        for each in self._context.overview.everything():
            total += 1
            orphaned += each.place.state == "orphaned"
            if each.comment.tag in counts:
                counts[each.comment.tag] += 1
        tags = ", ".join(f"{count} {tag}" for tag, count in counts.items() if count) or "none has a tag"
        context = "true" if includeContext else "false"
        return (
            f"Export the comments of this workspace as training data. There are {total} ({tags}); {orphaned} of them "
            "are orphaned: their code is gone, and their records carry the old code.\n\n"
            f'1. Call export_comments with {{"format": "jsonl", "options": {{"includeSourceContext": {context}}}}}\n'
            "2. Check that every line is one JSON object with prompt, completion and metadata\n"
            '3. Leave out records whose metadata.state is "orphaned" or "review" unless they are wanted\n'
            "4. Report how many records there are, by tag and by author, and what was left out"
        )

    @prompt("fix_orphans", complete={"filePath": "complete_commented_file"})
    def fix_orphans(
        self,
        filePath: Annotated[str, Meta(description="File with orphaned comments (omit for all files)")] | None = None,
    ) -> str:
        """Analyze orphaned comments and suggest new anchor locations"""
        if filePath:
            from postil.comments.index.cache import IN_FILE  # SQLite, which the overview loads

            path = self._context.tree.path(filePath)
            found = self._context.overview.where(f"{IN_FILE} AND state IN ('orphaned', 'review')", path, path)
        else:
            found = self._context.overview.where("state IN ('orphaned', 'review')")
        where = f" of {filePath}" if filePath else ""
        if not found:
            return f"No comment{where} is orphaned or waits for review: there is nothing to fix."
        shown = "\n\n".join(_show_orphan(number, each) for number, each in enumerate(found[:MOST_ORPHANS], 1))
        more = f"\n\nand {len(found) - MOST_ORPHANS} more" if len(found) > MOST_ORPHANS else ""
        return (
            f"Find where the code of these comments{where} is now, or decide that it is gone.\n\n"
            f"{frame(shown + more, 'comments')}\n\n"
            "For each comment:\n1. Read the candidates and the code around them\n"
            "2. If one of them is the code the comment speaks of, call move_comment with that file and line\n"
            "3. If the code is gone and the comment with it, say so and call delete_comment once the user agrees\n"
            "4. If you cannot tell, leave the comment as it is and say what is missing"
        )

    def complete_file(self, value: str) -> list[str]:
        """Files of the workspace that begin with the value, or have it in their name."""
        if not self._context.tree.git:
            return []
        tracked = git_lines(
            self._context.tree.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", separator=b"\0"
        )
        return _complete(value, (name.decode("utf-8", "replace") for name in tracked))

    def complete_commented_file(self, value: str) -> list[str]:
        """Returns the files with comments that begin with the value, or have it in their name."""
        return _complete(value, self._context.store.paths())


def _complete(value: str, names: Iterable[str]) -> list[str]:
    wanted = value.lower()
    beginning: list[str] = []
    containing: list[str] = []
    for name in names:
        if name.endswith(".comments"):
            continue
        if name.lower().startswith(wanted):
            beginning.append(name)
        elif wanted in name.lower() and len(containing) < MOST_COMPLETIONS:
            containing.append(name)
    return [*sorted(beginning), *sorted(containing)][:MOST_COMPLETIONS]


def _fence(source: Source) -> str:
    text = source.text.rstrip("\n")
    if len(text) > LONGEST_SOURCE:
        text = text[:LONGEST_SOURCE] + "\n… (the rest is left out: the file is too long)"
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language_of(source.path) or ''}\n{text}\n{fence}"


def _show_orphan(number: int, each: Located) -> str:
    now = in_rows(leave_out_unlikely(comment_now(each)))
    code = "\n".join(f"   | {line}" for line in (list_old_code(now) or ["(not kept)"])[:20])
    options = "\n".join(
        f"   {rank}. {option.path}:{option.line} (confidence {option.confidence:.2f}): "
        f"{on_one_line(option.text.strip()[:120])}"
        for rank, option in enumerate(now.candidates, 1)
    )
    return (
        f"{number}. {now.tag or 'COMMENT'} {now.id} in {now.filePath}, last at line {each.comment.line} ({now.state})\n"
        f'   "{now.text}"\n   Why: {now.reason}\n   Its code was:\n{code}\n'
        f"   Candidates:\n{options or '   (none)'}"
    )
