"""What a remark is about, caught when it is sent: the file's text, the lines, the hunk, git's name of the version.

The version depends on where in lazygit the person stood: the work tree, the index or a commit. All reading, no writing.
"""

from __future__ import annotations

import os

from msgspec import Struct

from postil.core import limits
from postil.core.failure import Failure
from postil.inbox.diff import Hunk, make_added, parse_hunks
from postil.inbox.failures import LineOutOfRange, NoSuchCommit, NothingToCommentOn
from postil.inbox.model import Context, Place, Side, format_span, parse_span
from postil.workspace.digest import blob_id
from postil.workspace.failures import FileMissing
from postil.workspace.files import read_file
from postil.workspace.git import read_blob, try_git
from postil.workspace.paths import RelativePath, resolve_inside
from postil.workspace.repository import Repository

LARGEST_TEXT = 1024 * 1024
LARGEST_READ = limits.FILE
MOST_CODE_LINES = 60
MOST_CODE = 4 * 1024
MOST_HUNK = 4 * 1024
"""Characters. A hunk is context: whoever wants more of it reads the file."""
MOST_ROW = 1024
WINDOW = 400
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""git's name of no files at all: what a first commit is compared with."""
MOST_NEW_FILES = 50
"""Files that git does not know yet, of which the content is listed for one folder."""


class Captured(Struct, frozen=True):
    """The place, and the text to keep with it (None for binary files and whole commits)."""

    place: Place
    text: bytes | None


def capture(
    repository: Repository,
    cwd: str,
    file: str,
    line: str,
    side: Side,
    context: Context,
    commit: str,
    base: str = "",
) -> Captured:
    """Returns what a remark is about. Raises FileMissing, BadLine, LineOutOfRange, NoSuchCommit, NothingToCommentOn."""
    span = parse_span(line)
    whole = resolve_commit(repository, commit) if commit else ""
    since = base if base in ("", EMPTY_TREE) else resolve_commit(repository, base)
    branch = repository.branch() or ""
    if not file.strip():
        if not whole:
            raise NothingToCommentOn
        return Captured(Place("", context=context, commit=whole, base=since, branch=branch), None)
    if span is None and file in (".", "./"):  # all of the repository
        return Captured(Place(".", context=context, commit=whole, base=since, branch=branch), None)
    inside = locate_file(repository, cwd, file)
    if span is None and os.path.isdir(os.path.join(repository.root, inside)):
        return Captured(Place(inside, context=context, commit=whole, base=since, branch=branch), None)
    content = _read_version(repository, inside, side, context, whole, since)
    text = split_lines(content)
    if span is not None:
        _check_span(span, text)
    kept, start = _cut_window(content, text, span)
    place = Place(
        file=inside,
        line=format_span(span),
        side=side,
        context=context,
        commit=whole,
        base=since,
        branch=branch,
        blob=blob_id(content),
        code=_cut_code(text, span),
        hunk=_find_hunk(read_diff(repository, inside, context, whole, since), span, side) if span else "",
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


def _read_version(
    repository: Repository, inside: RelativePath, side: Side, context: Context, commit: str, base: str
) -> bytes:
    for version in _list_versions(side, context, commit, base):
        if version == "work tree":
            try:
                return read_file(repository.root, inside, LARGEST_READ)
            except FileMissing:
                continue
        found = read_blob(repository.root, f"{version}:{inside}")
        if found is not None:
            return found
    raise FileMissing(inside)


def _list_versions(side: Side, context: Context, commit: str, base: str) -> tuple[str, ...]:
    """Returns where the text may be, first choice first. A file deleted here is still known to the index or HEAD."""
    if commit:
        before = base or f"{commit}^"
        return (commit, before) if side == "new" else (before, commit)
    if context == "stagingSecondary":
        return ("", "HEAD") if side == "new" else ("HEAD", "")
    if context == "staging":
        return ("work tree", "", "HEAD") if side == "new" else ("", "HEAD", "work tree")
    return ("work tree", "", "HEAD") if side == "new" else ("HEAD", "", "work tree")


def split_lines(content: bytes) -> list[str] | None:
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
    return _cut("\n".join(text[span[0] - 1 : span[1]][:MOST_CODE_LINES]), MOST_CODE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + "\n…"


def _cut_window(content: bytes, text: list[str] | None, span: tuple[int, int] | None) -> tuple[bytes | None, int]:
    """Returns what to keep of the file to find the lines again: all of it, or a window of a very large one."""
    if text is None or span is None:
        return None, 0
    if len(content) <= LARGEST_TEXT:
        return content, 0
    start = max(0, span[0] - 1 - WINDOW)
    window = "\n".join(text[start : span[1] + WINDOW]).encode("utf-8", "replace")
    return (window, start) if len(window) <= LARGEST_TEXT else (None, 0)


def _find_hunk(hunks: list[Hunk], span: tuple[int, int], side: Side) -> str:
    """Returns the hunk around these lines: of a long one the rows nearest to them."""
    for hunk in hunks:
        if hunk.covers(span, side):
            return hunk.text() if len(hunk.text()) <= MOST_HUNK else _cut_hunk(hunk, span, side)
    return ""


def _cut_hunk(hunk: Hunk, span: tuple[int, int], side: Side) -> str:
    numbers = [line.new if side == "new" else line.old for line in hunk.lines]
    first = next((at for at, number in enumerate(numbers) if number >= span[0]), 0)
    shown, at, size = list[str](), max(0, first - 3), 0
    rows = [_cut(line.sign + line.text, MOST_ROW) for line in hunk.lines]
    cut = "…\n" if at else ""
    for row in rows[at:]:
        size += len(row) + 1
        if shown and size > MOST_HUNK:
            return _cut(hunk.header + "\n" + cut + "\n".join(shown), MOST_HUNK) + "\n…"
        shown.append(row)
    return _cut(hunk.header + "\n" + cut + "\n".join(shown), MOST_HUNK)


def read_diff(
    repository: Repository, inside: str, context: Context, commit: str, base: str = "", *, unified: int = 3
) -> list[Hunk]:
    """Returns the hunks of the diff that the person sees in this context; `inside` is a file, a folder or all."""
    if repository.bare:
        return []
    if commit and base:
        arguments = ["diff", "--end-of-options", base, commit]
    elif commit:
        arguments = ["diff-tree", "-p", "--root", "-m", "--first-parent", "--no-commit-id", "--end-of-options", commit]
    elif context == "stagingSecondary":
        arguments = ["diff", "--cached"]
    elif context == "staging":
        arguments = ["diff"]
    else:  # all that changed, staged or not, in one question
        arguments = ["diff", "HEAD"]
    options = ["--no-color", "--no-ext-diff", "--src-prefix=a/", "--dst-prefix=b/", f"--unified={unified}"]
    path = ["--", inside] if inside not in ("", ".") else []
    shown = try_git(repository.root, arguments[0], *options, *arguments[1:], *path)
    # A repository without a commit has no HEAD to compare with; a remark is not refused for want of a hunk.
    return parse_hunks(shown.out.decode("utf-8", "replace")) if shown.status == 0 else []


def read_untracked(repository: Repository, inside: str) -> list[Hunk]:
    """Returns the files that git does not know yet, as wholly new."""
    path = ["--", inside] if inside not in ("", ".") else []
    listed = try_git(repository.root, "ls-files", "-z", "--others", "--exclude-standard", *path)
    hunks: list[Hunk] = []
    for name in listed.out.split(b"\0")[:MOST_NEW_FILES] if listed.status == 0 else []:
        file = name.decode("utf-8", "surrogateescape")
        try:
            content = read_file(repository.root, RelativePath(file), LARGEST_TEXT) if file else b""
        except Failure:
            continue
        hunks += make_added(file, split_lines(content) or [], blob_id(content))
    return hunks
