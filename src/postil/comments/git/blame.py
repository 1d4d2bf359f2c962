"""The code of a comment through time: the commits that touched it.

Each step from one version of the file to the next is judged by the anchoring engine, as a read of the present is. Reads
git's history and nothing else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from itertools import groupby, takewhile
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

from msgspec import Struct

from postil.anchor.model import Relocation, Span
from postil.anchor.relocate import relocate
from postil.anchor.syntax.languages import parses_everything_here
from postil.comments.git.versions import PATIENCE, Version, read_histories
from postil.comments.model import Commit
from postil.comments.source_tree import SourceTree
from postil.comments.storage.file_versions import FileVersions
from postil.core import call, limits
from postil.core.failure import NotFound
from postil.workspace.git import list_rows, read_blob, run_git, try_git
from postil.workspace.paths import RelativePath

MOST_VERSIONS = 16 * limits.MIB
"""Bytes of small versions that the server holds; a worker compares more."""
AT_ONCE = 50
"""Versions that are read together while code is followed back, and commits that are looked at however long it takes."""


class Touch(Struct, frozen=True, omit_defaults=True):
    """A commit that touched the code of a comment, and how."""

    commit: Commit
    did: Literal["added", "changed", "renamed", "deleted", "before"]
    """`before`: what the file was before is not here (a shallow clone begins with this commit, a partial one has not
    fetched it), and the code was made in it or earlier."""
    path: str
    line: int
    before: str = ""
    after: str = ""


class Touches(Struct, frozen=True):
    """The commits that touched some code, newest first, and how far was looked for them."""

    touches: list[Touch]
    complete: bool = True
    """False where older commits of the file were not looked at, and may have touched it."""
    looked: int = 0
    """How many commits of the file were looked at."""
    partial: bool = False
    """Whether what was before them is not known: versions of the file are not here, as in a partial clone."""


def list_touches(
    tree: SourceTree,
    versions: FileVersions,
    path: str,
    line: int,
    end: int = 0,
    blob: str = "",
    patience: float | None = None,
) -> Touches:
    """Returns the commits that made or changed these lines, newest first: blame for a comment.

    They are lines of the present file; of code that is gone, those of the version with that blob. `patience`: seconds
    after which it is not looked further back.
    """
    patience = find_patience(patience)
    until = time.monotonic() + patience
    found = Touches([])
    try:
        if not blob and tree.size(path) > limits.HERE and not parses_everything_here():
            raise _Large
        for history in read_histories(tree, path, until):
            later = [*takewhile(lambda each: blob and each.blob != blob, history.versions)]
            texts = _Texts(versions, history.versions[len(later) :])
            span = Span(line, end) if blob else _find_committed(tree, texts, path, Span(line, end))
            if span is None:
                return Touches([])
            followed = _follow(tree, texts, span, until)
            looked = followed.looked + len({each.commit.id for each in later})
            is_late = not followed.is_origin and looked < history.commits
            complete = followed.is_origin or ((history.complete or history.partial) and not is_late)
            found = Touches(followed.touches, complete, looked, followed.unread or history.partial)
            if followed.is_origin or is_late:
                break
    except _Large:
        from postil.comments.git.past_worker import LONGEST, ask_past  # only for large files

        return ask_past(tree, "touches", path, (line, end, blob, min(patience, 0.8 * LONGEST)), Touches)
    return found


def find_patience(patience: float | None) -> float:
    """Returns for how many seconds older commits are looked at, where a caller has none or its own."""
    return PATIENCE if patience is None else patience


class _Large(Exception):
    """Versions that a worker compares."""


class _Texts:
    """The texts of a file's versions, of which few are held at once."""

    def __init__(self, versions: FileVersions, history: Sequence[Version]) -> None:
        self.history = history
        self._versions = versions
        self._known: dict[str, str] = {}
        self._asked: set[str] = set()

    def get(self, blob: str, at: int = 0) -> str | None:
        """Returns a version that is wanted at a place of the history; None where it cannot be had."""
        if blob and blob not in self._asked:
            near = [one for each in self.history[at : at + AT_ONCE] for one in (each.blob, each.old_blob) if one]
            self._asked = {blob, *near}
            found = read_small(self._versions, [blob, *near])
            if found is None:
                raise _Large
            self._known = found
        return self._known.get(blob)


def _find_committed(tree: SourceTree, texts: _Texts, path: str, span: Span) -> Span | None:
    """Returns where lines of the present file are in its last commit, or None: edited since, it may be without them."""
    newest = texts.get(texts.history[0].blob) if texts.history else None
    now = tree.source_or_none(RelativePath(path))
    if newest is None or now is None or now.text == newest:
        return span
    return relocate(now.text, newest, span, path).span


class _Followed(NamedTuple):
    """The commits that touched some lines, how far they were followed, and how many commits were looked at."""

    touches: list[Touch]
    is_origin: bool
    """Whether nothing older is asked about: the last commit made them, or what was before cannot be read."""
    looked: int
    unread: bool = False


def _follow(tree: SourceTree, texts: _Texts, span: Span, until: float) -> _Followed:
    """Returns the commits that touched lines of the first version."""
    found: list[Touch] = []
    history = texts.history
    at = (history[0].path, history[0].blob) if history else ("", "")
    sure = 1 if parses_everything_here() else AT_ONCE  # a worker is ended when its time is over
    place = looked = 0
    for _, group in groupby(history, lambda each: each.commit.id):
        if looked >= sure and time.monotonic() > until:
            break
        looked += 1
        call.current().check()
        call.current().progress(place, len(history), "following the code back")
        some = [*group]
        made = [each for each in some if (each.path, each.blob) == at]
        place += len(some)
        if not made:
            continue  # of a branch that this version was not made on
        new = texts.get(at[1], place - len(some))
        if new is None and at[1]:
            return _Followed(found, True, looked, unread=True)
        if new is None:
            at = made[0].old_path, made[0].old_blob
            continue
        lines = new.split("\n")
        after = "\n".join(lines[span.start - 1 : span.last])
        version, there = _find_origin(made, new, texts, place - len(some), span)
        at = version.old_path, version.old_blob
        if there is None or there.span is None:
            unread = any(each.old_blob and texts.get(each.old_blob, place - len(some)) is None for each in made)
            cut = unread or (not version.old_blob and is_cut(tree, version.commit))
            found.append(Touch(version.commit, "before" if cut else "added", version.path, span.start, "", after))
            return _Followed(found, True, looked, unread)
        if there.state in ("modified", "review"):
            found.append(Touch(version.commit, "changed", version.path, span.start, there.new_text, after))
        elif version.path != version.old_path and not version.merged:
            found.append(Touch(version.commit, "renamed", version.path, span.start))
        span = there.span
    return _Followed(found, False, looked)


def _find_origin(
    made: Sequence[Version], new: str, texts: _Texts, place: int, span: Span
) -> tuple[Version, Relocation | None]:
    """Returns what a version was made of, and where the lines were there: of a merge, a version that had them so."""
    best: tuple[Version, Relocation | None] = made[0], None
    for version in sorted(made, key=lambda each: each.path != each.old_path):
        old = texts.get(version.old_blob, place)
        if old is None:
            continue
        there = relocate(new, old, span, version.path, version.old_path)
        if there.span is None or there.state == "orphaned":
            continue
        if there.state in ("exact", "moved"):
            return version, there
        if best[1] is None:
            best = version, there
    return best


def is_cut(tree: SourceTree, commit: Commit) -> bool:
    """Whether a shallow clone begins with a commit: to git it made everything that it holds."""
    return is_shallow(tree) and commit.id in run_git(tree.root, "rev-list", "--max-parents=0", "HEAD").decode().split()


def read_small(versions: FileVersions, blobs: Sequence[str], left_out: set[str] | None = None) -> dict[str, str] | None:
    """Returns versions of a file; None where there are large ones, which are left to a worker.

    `left_out` gets those that a worker leaves out, too, since they are too large, or too many.
    """
    large: set[str] = set() if left_out is None else left_out
    if parses_everything_here():
        return versions.read(blobs, left_out=large)
    found = versions.read(blobs, limits.HERE, MOST_VERSIONS, large)
    return None if large else found


def read_at(tree: SourceTree, revision: str, path: str) -> bytes | None:
    """Returns a file as it was at a revision, or None."""
    return read_blob(tree.root, f"{revision}:{path}")


def list_sidecars_at(root: str, revision: str) -> dict[str, str]:
    """Returns the sidecars that a revision holds, with their blob ids."""
    out = run_git(root, "ls-tree", "-r", "-z", "--full-tree", revision)
    rows = (row.partition("\t") for row in list_rows(out))
    return {name: about.split(" ")[2] for about, _, name in rows if name.endswith(".comments")}


def resolve_revision(tree: SourceTree, revision: str) -> Commit | None:
    """Returns the commit a revision names, or None."""
    done = try_git(tree.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.status != 0 or revision.startswith("^"):  # `^HEAD` is what is not in HEAD: no commit
        return None
    name = done.out.decode().strip()
    # `show -s` compares the commit all the same, with folders that a partial clone may not have.
    shown = run_git(tree.root, "log", "-1", "--no-show-signature", "--format=%H%x00%an%x00%aI%x00%s", name, "--")
    return Commit(*_fields(shown.decode("utf-8", "replace").strip()))


def require_revision(tree: SourceTree, revision: str) -> Commit:
    """Returns the commit a revision names. Raises NotFound, with what can be done about it here."""
    require_git(tree, "no revision")
    commit = resolve_revision(tree, revision)
    if commit is not None:
        return commit
    why, advice = "", "Name a commit, a branch or a tag that was fetched"
    if is_shallow(tree):
        why = " in this shallow clone"
        advice = (  # a clone that was cut has one branch only, and --unshallow alone brings no other
            "Fetch all history and branches: `git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*'` "
            "(in CI: `GIT_DEPTH: 0` of GitLab, `fetch-depth: 0` of GitHub)"
        )
    elif resolve_revision(tree, "HEAD") is None:
        run_git(tree.root, "rev-parse", "--git-dir")  # one that is too old for this repository says so
        why, advice = ": nothing is committed here yet", "Commit something first"
    raise NotFound(f"There is no revision {revision[:100]!r}{why}", advice=advice)


def require_git(tree: SourceTree, lacks: str) -> None:
    """Raise NotFound where there is no work tree of git, and say what there is not."""
    if tree.bare:
        raise tree.without_files()
    if not tree.git:
        raise NotFound(f"There is no git repository here, so {lacks}", advice="Run it in a repository")


def find_inner_repository(tree: SourceTree, path: str) -> str:
    """Returns the folder of the submodule, or of another repository inside this one, that a file belongs to."""
    folders = [str(each) for each in PurePosixPath(path).parents][:-1]
    return next((each for each in folders if os.path.exists(os.path.join(tree.root, each, ".git"))), "")


def is_shallow(tree: SourceTree) -> bool:
    """Whether the history was cut when the repository was cloned or fetched."""
    return tree.git and try_git(tree.root, "rev-parse", "--is-shallow-repository").out.strip() == b"true"


def _fields(text: str) -> Sequence[str]:
    parts = text.split("\0")
    return (parts + [""] * 4)[:4]
