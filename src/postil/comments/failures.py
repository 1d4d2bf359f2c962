"""What can go wrong with comments, with the codes of their contract.

Failure
├── SourceNotFound      -32001  exit 5   "File not found"
├── CommentNotFound     -32002  exit 5
├── SeveralHold         -32602  exit 2   a file was copied with its comments: which one is meant?
├── InvalidFilePath     -32003  exit 2   absolute, leading outside, NUL, empty
├── FileAccessDenied    -32004  exit 3   a symlink out, .git, .env, permissions
├── InvalidLine         -32005  exit 2
├── SourceNotParsed     -32006  exit 2   binary, or a syntax error where the comment should stand
├── SidecarDamaged      -32007  exit 7   never overwritten
├── CommentTooLarge     -32602  exit 2   another program's: its file is read, and not changed
├── CommentFileFull     -32602  exit 2   it takes nothing more
├── ThreadFull          -32602  exit 2   no more replies
├── CommentChanged      -32000  exit 6   someone edited it in between
├── PatternRefused      -32602  exit 2   a regular expression that RE2 does not take
└── ExtraMissing        -32603  exit 2   a format whose library is not installed
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from postil.core import call, codes, limits
from postil.core.failure import (
    Conflict,
    Failure,
    InvalidArguments,
    NotAllowed,
    NotFound,
    StorageFailed,
    describe_install,
)
from postil.core.others.one_line import on_one_line

if TYPE_CHECKING:
    from postil.comments.model import Damage


def _because(failure: Failure, fact: str) -> str:
    """Returns what a person reads: the contract's sentence alone does not say why."""
    return f"{failure.message}: {on_one_line(str(failure.data[fact]))}\n{failure.advice}"


def tell_problem(failure: Failure) -> str:
    """Returns why a comment file was not read, for a list that names the file itself."""
    why = str(failure.data.get("problem") or failure.data.get("reason") or failure.message)
    return why.removeprefix(f"{failure.data.get('filePath')} ")


class SourceNotFound(NotFound):
    """The source file is not there."""

    code = codes.SOURCE_NOT_FOUND

    def __init__(self, path: str, root: str = "", advice: str = "") -> None:
        facts: dict[str, object] = {"workspaceRoot": root} if root else {}
        super().__init__("File not found", filePath=path)
        self.advice = advice or "Check that the file exists in the workspace"
        self.data = {"filePath": path, "suggestion": self.advice, **facts}

    def text(self) -> str:
        return _because(self, "filePath")


class CommentNotFound(NotFound):
    """No comment of that id in that file."""

    code = codes.COMMENT_NOT_FOUND

    def __init__(self, path: str, comment: str, unread: Sequence[Damage] = ()) -> None:
        typed = call.current().person
        how = "See them with `postil comments list`" if typed else "Use get_file_comments to list valid comment IDs"
        if unread:
            files = ", ".join(f"{each.filePath}.comments" for each in unread[:3])
            more = f" and {len(unread) - 3} more" if len(unread) > 3 else ""
            check = "`postil comments check`" if typed else "comments_check"
            how = f"It may be in a comment file that could not be read ({files}{more}): see {check}"
        facts = {"filePath": path} if path else {}
        super().__init__("Comment not found", advice=how, **facts, commentId=comment)

    def text(self) -> str:
        return _because(self, "commentId")


class SeveralHold(InvalidArguments):
    """An id that comments of several files have: one was copied with its sidecar."""

    def __init__(self, comment: str, paths: Sequence[str]) -> None:
        named = ", ".join(f"`{path}:{comment}`" for path in paths[:5])
        own = "; `postil comments check --fix` gives the copies ids of their own" if call.current().person else ""
        super().__init__(
            f"{len(paths)} files hold a comment {comment}: {', '.join(paths[:5])}",
            advice=f"Name one with its file: {named}{own}",
            path="commentId",
        )


class InvalidFilePath(InvalidArguments):
    """A path that cannot name a file of the workspace."""

    code = codes.INVALID_FILE_PATH

    def __init__(self, path: str, why: str, advice: str = "") -> None:
        super().__init__(
            "Invalid file path",
            advice=advice or "Give a path relative to the workspace root, such as src/app.ts",
            filePath=path,
            reason=why,
        )

    def text(self) -> str:
        return _because(self, "reason")


class FileAccessDenied(NotAllowed):
    """A file that may not be read or written from here."""

    code = codes.FILE_ACCESS_DENIED

    def __init__(self, path: str, why: str, advice: str = "") -> None:
        super().__init__(
            "File access denied",
            advice=advice or "Choose a file inside the workspace that you may read and write",
            filePath=path,
            reason=why,
        )

    def text(self) -> str:
        return _because(self, "reason")


class InvalidLine(InvalidArguments):
    """A line that the file does not have."""

    code = codes.INVALID_LINE

    def __init__(self, path: str, line: int, count: int) -> None:
        super().__init__(
            "Invalid line number",
            advice=f"Line must be between 1 and {count}" if count else "The file is empty: it has no line to comment",
            filePath=path,
            line=line,
            fileLineCount=count,
        )

    def text(self) -> str:
        return _because(self, "line")


class SourceNotParsed(InvalidArguments):
    """No code can be made out where the comment should stand."""

    code = codes.SOURCE_NOT_PARSED

    def __init__(self, path: str, fault: str, advice: str) -> None:
        super().__init__("Failed to parse source code", advice=advice, filePath=path, parseError=fault)

    def text(self) -> str:
        return _because(self, "parseError")


class CommentTooLarge(InvalidArguments):
    """A comment, or what ties it to its code, that another program made larger than can be changed here."""

    def __init__(self, path: str, comment: str, size: int, limit: int, what: str = "comment") -> None:
        super().__init__(
            f"{path}.comments holds a {what} of {size:,} bytes ({comment}); a file with one above {limit:,} is read "
            "and not changed",
            advice=f"Shorten that {what} in an editor, or take it out, and try again",
            filePath=path,
            commentId=comment,
        )


class CommentFileFull(InvalidArguments):
    """A comment file that takes nothing more: with it, it would be too long, or it holds too many already."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            f"{path}.comments is left as it is: it {why}",
            advice="Delete or export comments of this file that are settled, and try again",
            filePath=path,
        )


def refuse_full(path: str, size: int) -> None:
    """Raises CommentFileFull where a comment file would be so long that nobody could read it again."""
    if size > limits.FILE:
        raise CommentFileFull(path, f"would have {size:,} bytes, and one above {limits.FILE:,} cannot be read")


class ThreadFull(InvalidArguments):
    """A comment whose text and replies are so long together that no reply is added."""

    def __init__(self, comment: str, limit: int) -> None:
        super().__init__(
            f"Comment {comment} and its replies have more than {limit:,} bytes: no more replies are added",
            advice="Go on in a new comment on the same line",
            commentId=comment,
        )


class SidecarDamaged(StorageFailed):
    """A sidecar that cannot be understood. It is left exactly as it is."""

    code = codes.SIDECAR_DAMAGED

    def __init__(self, path: str, problem: str, advice: str = "") -> None:
        super().__init__(
            "Comment file corrupted",
            advice=advice
            or f"{path}.comments was left untouched; run `postil comments check --fix` to restore or set it aside",
            filePath=path,
            commentFile=f"{path}.comments",
            problem=problem,
        )
        self.problem = problem

    def text(self) -> str:
        return _because(self, "problem")


class CommentChanged(Conflict):
    """The comment is not what the caller last saw."""

    def __init__(self, path: str, comment: str, updated: str) -> None:
        super().__init__(
            "The comment was changed in the meantime",
            advice="Read it again with get_file_comments, then repeat the edit",
            filePath=path,
            commentId=comment,
            updated=updated,
        )


class PatternRefused(InvalidArguments):
    """A regular expression that RE2 does not take."""

    def __init__(self, pattern: str, why: str) -> None:
        super().__init__(
            f"Invalid search pattern: {why}",
            advice="Use RE2 syntax (no look-around, no back-references), or search for plain text",
            path="query",
            query=pattern[:200],
        )


class ExtraMissing(Failure):
    """A format whose library is an optional extra that is not installed."""

    exit_status = 2
    code = codes.INTERNAL_ERROR

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional library", advice=f"Install it with: {describe_install(extra)}")
