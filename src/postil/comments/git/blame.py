"""The code of a comment through time: the commits that touched it.

Each step from one version of the file to the next is judged by the anchoring engine, as a read of the present is. Reads
git's history and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Literal

from msgspec import Struct

from postil.anchor.model import Relocation, Span
from postil.anchor.relocate import relocate
from postil.anchor.syntax.languages import parses_everything_here
from postil.comments.git.versions import MOST_COMMITS, Version, list_versions
from postil.comments.model import Commit
from postil.comments.source_tree import SourceTree
from postil.comments.storage.file_versions import FileVersions
from postil.core import call, limits
from postil.core.failure import NotFound
from postil.workspace.git import read_blob, run_git, try_git
from postil.workspace.paths import RelativePath

MOST_VERSIONS = 16 * limits.MIB
"""Bytes of small versions that the server holds; a worker compares more."""


class Touch(Struct, frozen=True, omit_defaults=True):
    """A commit that touched the code of a comment, and how."""

    commit: Commit
    did: Literal["added", "changed", "renamed", "deleted", "before"]
    """`before`: a shallow clone begins with this commit, and the code was made in it or earlier."""
    path: str
    line: int
    before: str = ""
    after: str = ""


def list_touches(
    tree: SourceTree, versions: FileVersions, path: str, line: int, end: int = 0, blob: str = ""
) -> list[Touch]:
    """Returns the commits that made or changed these lines, newest first: blame for a comment.

    They are lines of the present file; of code that is gone, those of the version with that blob.
    """
    found: list[Touch] = []
    history = list_versions(tree, path)
    if blob:
        while history and history[0].blob != blob:
            del history[0]
    wanted = [blob for each in history for blob in (each.blob, each.old_blob) if blob]
    by_blob = read_small(versions, wanted)
    if by_blob is None or (not blob and tree.size(path) > limits.HERE and not parses_everything_here()):
        from postil.comments.git.past_worker import ask_past  # only for large files

        return ask_past(tree, "touches", path, (line, end, blob), list[Touch])
    span = Span(line, end)
    if not blob and history and (newest := by_blob.get(history[0].blob)) is not None:
        now = tree.source_or_none(RelativePath(path))
        if now is not None and now.text != newest:  # edited since the last commit
            there = relocate(now.text, newest, span, path)
            if there.span is None:
                return []
            span = there.span
    at = (history[0].path, history[0].blob) if history else ("", "")
    for number, (_, some) in enumerate(groupby(history, lambda each: each.commit.id)):
        call.current().check()
        call.current().progress(number, len(history), "following the code back")
        made = [each for each in some if (each.path, each.blob) == at]
        if not made:
            continue  # of a branch that this version was not made on
        new = by_blob.get(at[1])
        if new is None:
            at = made[0].old_path, made[0].old_blob
            continue
        lines = new.split("\n")
        after = "\n".join(lines[span.start - 1 : span.last])
        version, there = _find_origin(made, new, by_blob, span)
        at = version.old_path, version.old_blob
        if there is None or there.span is None:
            old = by_blob.get(version.old_blob)
            cut = old is None and is_cut(tree, version.commit)
            found.append(Touch(version.commit, "before" if cut else "added", version.path, span.start, "", after))
            break
        if there.state in ("modified", "review"):
            found.append(Touch(version.commit, "changed", version.path, span.start, there.new_text, after))
        elif version.path != version.old_path and not version.merged:
            found.append(Touch(version.commit, "renamed", version.path, span.start))
        span = there.span
    return found


def _find_origin(
    made: Sequence[Version], new: str, by_blob: Mapping[str, str], span: Span
) -> tuple[Version, Relocation | None]:
    """Returns what a version was made of, and where the lines were there: of a merge, a version that had them so."""
    best: tuple[Version, Relocation | None] = made[0], None
    for version in sorted(made, key=lambda each: each.path != each.old_path):
        old = by_blob.get(version.old_blob)
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


def read_small(versions: FileVersions, blobs: Sequence[str]) -> dict[str, str] | None:
    """Returns versions of a file; None where there are large ones, which are left to a worker."""
    if parses_everything_here():
        return versions.read(blobs)
    large: set[str] = set()
    found = versions.read(blobs, limits.HERE, MOST_VERSIONS, large)
    return None if large else found


def read_at(tree: SourceTree, revision: str, path: str) -> bytes | None:
    """Returns a file as it was at a revision, or None."""
    return read_blob(tree.root, f"{revision}:{path}")


def list_committed_blobs(tree: SourceTree, path: str, most: int = MOST_COMMITS) -> list[str]:
    """Returns the versions of a file that commits of any branch made, newest first."""
    shape = ("--all", "--raw", "--no-abbrev", "--no-renames", "-z", f"--max-count={most}", "--format=")
    rows = run_git(tree.root, "log", *shape, "--", path).split(b"\0")
    blobs = [row.split()[3].decode() for row in rows if row.lstrip(b"\n").startswith(b":")]
    return list(dict.fromkeys(blob for blob in blobs if blob.strip("0")))


def list_sidecars_at(tree: SourceTree, revision: str) -> list[str]:
    """Returns the sidecars that a revision holds."""
    out = run_git(tree.root, "ls-tree", "-r", "-z", "--name-only", "--full-tree", revision)
    return [name for name in out.decode("utf-8", "surrogateescape").split("\0") if name.endswith(".comments")]


def resolve_revision(tree: SourceTree, revision: str) -> Commit | None:
    """Returns the commit a revision names, or None."""
    done = try_git(tree.root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if done.status != 0 or revision.startswith("^"):  # `^HEAD` is what is not in HEAD: no commit
        return None
    name = done.out.decode().strip()
    shown = run_git(tree.root, "show", "-s", "--no-show-signature", "--format=%H%x00%an%x00%aI%x00%s", name)
    return Commit(*_fields(shown.decode("utf-8", "replace").strip()))


def require_revision(tree: SourceTree, revision: str) -> Commit:
    """Returns the commit a revision names. Raises NotFound, with what can be done about it here."""
    if not tree.git:
        raise NotFound("There is no git repository here, so no revision", advice="Run it in a repository")
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
        why, advice = ": nothing is committed here yet", "Commit something first"
    raise NotFound(f"There is no revision {revision[:100]!r}{why}", advice=advice)


def is_shallow(tree: SourceTree) -> bool:
    """Whether the history was cut when the repository was cloned or fetched."""
    return tree.git and try_git(tree.root, "rev-parse", "--is-shallow-repository").out.strip() == b"true"


def _fields(text: str) -> Sequence[str]:
    parts = text.split("\0")
    return (parts + [""] * 4)[:4]
