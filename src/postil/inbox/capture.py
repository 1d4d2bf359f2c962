"""What a remark is about, caught when it is sent: the file's text, the lines, the hunk, git's name of the version.

The version depends on where in lazygit the person stood: the work tree, the index or a commit. All reading, no writing.
"""

from __future__ import annotations

import os

from msgspec import Struct

from postil.inbox.diff import Hunk, parse_hunks
from postil.inbox.failures import LineOutOfRange, NoSuchCommit, NothingToCommentOn
from postil.inbox.model import Context, Place, Side, format_span, parse_span
from postil.workspace.digest import blob_id
from postil.workspace.failures import FileMissing
from postil.workspace.files import read_file
from postil.workspace.git import try_git
from postil.workspace.paths import RelativePath, resolve_inside
from postil.workspace.repository import Repository

LARGEST_TEXT = 1024 * 1024
LARGEST_READ = 64 * 1024 * 1024
MOST_CODE_LINES = 60
MOST_HUNK_BYTES = 16 * 1024
WINDOW = 400


class Captured(Struct, frozen=True):
    """The place, and the text to keep with it (None for binary files and whole commits)."""

    place: Place
    text: bytes | None


def capture(
    repository: Repository, cwd: str, file: str, line: str, side: Side, context: Context, commit: str
) -> Captured:
    """Returns what a remark is about. Raises FileMissing, BadLine, LineOutOfRange, NoSuchCommit, NothingToCommentOn."""
    span = parse_span(line)
    whole = resolve_commit(repository, commit) if commit else ""
    if not file.strip():
        if not whole:
            raise NothingToCommentOn
        return Captured(Place("", context=context, commit=whole, branch=repository.branch() or ""), None)
    inside = locate_file(repository, cwd, file)
    content = _read_version(repository, inside, side, context, whole)
    text = _split_lines(content)
    if span is not None:
        _check_span(span, text)
    kept, start = _cut_window(content, text, span)
    place = Place(
        file=inside,
        line=format_span(span),
        side=side,
        context=context,
        commit=whole,
        branch=repository.branch() or "",
        blob=blob_id(content),
        code=_cut_code(text, span),
        hunk=_find_hunk(repository, inside, span, side, context, whole) if span else "",
        start=start,
    )
    return Captured(place, kept)


def locate_file(repository: Repository, cwd: str, file: str) -> RelativePath:
    """Returns the file below the root. A relative path counts from where the person stands, else from the root."""
    here = resolve_inside(repository.root, file, base=cwd if _is_below(cwd, repository.root) else "")
    if os.path.isabs(file) or os.path.lexists(os.path.join(repository.root, here)):
        return here
    from_root = resolve_inside(repository.root, file)
    return from_root if os.path.lexists(os.path.join(repository.root, from_root)) else here


def _is_below(folder: str, root: str) -> bool:
    real = os.path.realpath(folder)
    return real == root or real.startswith(root + "/")


def resolve_commit(repository: Repository, name: str) -> str:
    """Returns the id of the commit that a person named. Raises NoSuchCommit, also for an option of git."""
    asked = try_git(repository.root, "rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}")
    if asked.status != 0:
        raise NoSuchCommit(name)
    return asked.out.decode().strip()


def _read_version(repository: Repository, inside: RelativePath, side: Side, context: Context, commit: str) -> bytes:
    for version in _list_versions(side, context, commit):
        if version == "work tree":
            try:
                return read_file(repository.root, inside, LARGEST_READ)
            except FileMissing:
                continue
        asked = try_git(repository.root, "cat-file", "blob", f"{version}:{inside}")
        if asked.status == 0:
            return asked.out
    raise FileMissing(inside)


def _list_versions(side: Side, context: Context, commit: str) -> tuple[str, ...]:
    """Returns where the text may be, first choice first. A file deleted here is still known to the index or HEAD."""
    if commit:
        return (commit, f"{commit}^") if side == "new" else (f"{commit}^", commit)
    if context == "stagingSecondary":
        return ("", "HEAD") if side == "new" else ("HEAD", "")
    return ("work tree", "", "HEAD") if side == "new" else ("", "HEAD", "work tree")


def _split_lines(content: bytes) -> list[str] | None:
    """Returns the lines, or None for a binary file."""
    if b"\0" in content[:8192]:
        return None
    lines = content.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _check_span(span: tuple[int, int], text: list[str] | None) -> None:
    count = len(text or ())
    for line in span:
        if line > count:
            raise LineOutOfRange(line, count)


def _cut_code(text: list[str] | None, span: tuple[int, int] | None) -> str:
    if text is None or span is None:
        return ""
    return "\n".join(text[span[0] - 1 : span[1]][:MOST_CODE_LINES])


def _cut_window(content: bytes, text: list[str] | None, span: tuple[int, int] | None) -> tuple[bytes | None, int]:
    """Returns what to keep of the file to find the lines again: all of it, or a window of a very large one."""
    if text is None or span is None:
        return None, 0
    if len(content) <= LARGEST_TEXT:
        return content, 0
    start = max(0, span[0] - 1 - WINDOW)
    window = "\n".join(text[start : span[1] + WINDOW]).encode("utf-8", "replace")
    return (window, start) if len(window) <= LARGEST_TEXT else (None, 0)


def _find_hunk(
    repository: Repository, inside: str, span: tuple[int, int], side: Side, context: Context, commit: str
) -> str:
    for hunk in read_diff(repository, inside, context, commit):
        if hunk.covers(span, side):
            text = hunk.text()
            return text if len(text) <= MOST_HUNK_BYTES else text[:MOST_HUNK_BYTES] + "\n…"
    return ""


def read_diff(repository: Repository, inside: str, context: Context, commit: str) -> list[Hunk]:
    """Returns the hunks of the diff that the person sees in this context."""
    if repository.bare:
        return []
    if commit:
        arguments = ["diff-tree", "-p", "--root", "-m", "--first-parent", "--no-commit-id", "--end-of-options", commit]
    elif context == "stagingSecondary":
        arguments = ["diff", "--cached"]
    elif context == "staging":
        arguments = ["diff"]
    else:  # all that changed, staged or not, in one question
        arguments = ["diff", "HEAD"]
    shown = try_git(repository.root, arguments[0], "--no-color", *arguments[1:], "--", inside)
    # A repository without a commit has no HEAD to compare with; a remark is not refused for want of a hunk.
    return parse_hunks(shown.out.decode("utf-8", "replace")) if shown.status == 0 else []
