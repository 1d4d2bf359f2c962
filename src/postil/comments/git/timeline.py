"""What happened to a comment since it was made: its texts, tags, replies and status, commit by commit, and its moves.

What was said comes from the versions of its sidecars that git has; where it was, from its marker. Reads git and nothing
else.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, groupby
from typing import NamedTuple

from msgspec import Struct

from postil.comments.git.blame import is_cut
from postil.comments.git.objects import iterate_objects
from postil.comments.git.versions import PATIENCE, Version, read_history
from postil.comments.model import Comment, Commit, Event
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.source_tree import SourceTree
from postil.comments.storage.store import SUFFIX
from postil.core import call

MOST_READ = 500
"""Versions that are read however long it takes."""


class Change(Struct, frozen=True, omit_defaults=True):
    """One thing that happened to a comment."""

    at: str
    did: str
    by: str = ""
    before: str = ""
    after: str = ""
    commit: Commit | None = None


class Changes(NamedTuple):
    """What is known to have happened to a comment, oldest first."""

    changes: list[Change]
    complete: bool
    """Whether all versions of its file were read."""
    partial: bool
    """Whether some are missing in this clone."""


def list_changes(
    tree: SourceTree, comment: Comment, path: str, events: Sequence[Event], patience: float | None = None
) -> Changes:
    """Returns what is known to have happened to a comment.

    `patience`: seconds after which it is not looked further back.
    """
    until = time.monotonic() + (PATIENCE if patience is None else patience)
    found = [
        Change(each.at, f"left {each.path or path}:{each.line}", before=each.reason, after=each.state)
        for each in events
    ]
    before: Comment | None = None
    paths = dict.fromkeys([path, *(each.path for each in events if each.path)])
    committed, complete, partial = _read_committed(tree, comment.id, list(paths), until)
    for commit, then, olds, is_next in committed:
        if before is None:
            is_first = complete and not partial and not is_cut(tree, commit)
            found += _begin(then, commit if is_first else None)
        else:
            first, *others = ([*_compare(old or before, then, commit if is_next else None)] for old in olds)
            told = [{(each.did, each.after) for each in changes} for changes in others]
            found += [each for each in first if all((each.did, each.after) in changes for changes in told)]
        before = then
    found += _compare(before, comment, None) if before else _begin(comment, None)
    return Changes(sorted(found, key=lambda each: each.at), complete, partial)


def _read_committed(
    tree: SourceTree, comment: str, paths: Sequence[str], until: float
) -> tuple[list[tuple[Commit, Comment, list[Comment | None], bool]], bool, bool]:
    """Returns the comment as commits left it, oldest first, and as it was before: of a merge, in all that it joined.

    Each with whether what was before could be read; then whether all was read that is here, and whether some is not.
    """
    known: list[tuple[Version, str]] = []
    moments: list[int] = []
    complete, partial = True, False
    for path in paths:
        history = read_history(tree, path + SUFFIX, until)
        complete = complete and (history.complete or history.partial)
        partial = partial or history.partial
        some = [each for each in reversed(history.versions) if each.blob]
        known += [(each, path) for each in some]
        moments += accumulate((each.time for each in some), max)  # git's order, whatever the clocks said
    known = [known[at] for at in sorted(range(len(known)), key=moments.__getitem__)]
    paths_of = {blob: path for version, path in reversed(known) for blob in (version.blob, version.old_blob) if blob}
    found: dict[str, Comment | None] = {}
    elsewhere = set[str]()
    for number, (blob, data) in enumerate(iterate_objects(tree.root, paths_of, elsewhere=elsewhere)):
        if number >= MOST_READ and time.monotonic() > until:
            complete = False
            break
        call.current().check()
        call.current().progress(number, len(paths_of), "reading earlier versions")
        with suppress(Unreadable):
            found[blob] = Sidecar(paths_of[blob], data).comment(comment) if comment.encode() in data else None
    committed: list[tuple[Commit, Comment, list[Comment | None], bool]] = []
    for commit, some in groupby((version for version, _ in known), lambda version: version.commit):
        made = [version for version in some if found.get(version.blob)]
        if made and (then := found[made[0].blob]):
            is_next = all(not version.old_blob or version.old_blob in found for version in made)
            committed.append((commit, then, [found.get(version.old_blob) for version in made], is_next))
    return committed, complete, partial or bool(elsewhere)


def _begin(first: Comment, commit: Commit | None) -> Iterator[Change]:
    """What is known to have happened until a comment was committed first, if it was."""
    yield Change(first.created, "made", first.author, commit=commit)
    for each in first.replies:
        yield Change(each.created, "replied", each.author, after=each.text, commit=commit)


def _compare(old: Comment, new: Comment, commit: Commit | None) -> Iterator[Change]:
    at, by = new.updated, commit.author if commit else ""
    if new.text != old.text:
        yield Change(at, "edited", new.editedBy or by, old.text, new.text, commit)
    if new.tag != old.tag:
        yield Change(at, "tagged", by, old.tag or "", new.tag or "", commit)
    known = {each.id for each in old.replies}
    for each in new.replies:
        if each.id not in known:
            yield Change(each.created, "replied", each.author, after=each.text, commit=commit)
    if new.status != old.status:
        when = new.resolvedAt or at
        yield Change(when, "reopened" if new.status == "open" else new.status, new.resolvedBy or by, commit=commit)
