"""What happened to a comment since it was made: its texts, tags, replies and status, commit by commit, and its moves.

What was said comes from the versions of its sidecars that git has; where it was, from its marker. Reads git and nothing
else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import accumulate, groupby

from msgspec import Struct

from postil.comments.git.blame import is_cut
from postil.comments.git.objects import iterate_objects
from postil.comments.git.versions import Version, list_versions
from postil.comments.model import Comment, Commit, Event
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.source_tree import SourceTree
from postil.comments.storage.store import SUFFIX
from postil.core import call


class Change(Struct, frozen=True, omit_defaults=True):
    """One thing that happened to a comment."""

    at: str
    did: str
    by: str = ""
    before: str = ""
    after: str = ""
    commit: Commit | None = None


def list_changes(tree: SourceTree, comment: Comment, path: str, events: Sequence[Event]) -> list[Change]:
    """Returns everything that is known to have happened to a comment, oldest first."""
    found = [
        Change(each.at, f"left {each.path or path}:{each.line}", before=each.reason, after=each.state)
        for each in events
    ]
    before: Comment | None = None
    paths = dict.fromkeys([path, *(each.path for each in events if each.path)])
    for commit, then, olds in _read_committed(tree, comment.id, list(paths)):
        if before is None:
            found += _begin(then, None if is_cut(tree, commit) else commit)
        else:
            first, *others = ([*_compare(old or before, then, commit)] for old in olds)
            told = [{(each.did, each.after) for each in changes} for changes in others]
            found += [each for each in first if all((each.did, each.after) in changes for changes in told)]
        before = then
    found += _compare(before, comment, None) if before else _begin(comment, None)
    return sorted(found, key=lambda each: each.at)


def _read_committed(
    tree: SourceTree, comment: str, paths: Sequence[str]
) -> Iterator[tuple[Commit, Comment, list[Comment | None]]]:
    """Yields the comment as commits left it, oldest first, and as it was before: of a merge, in all that it joined."""
    known: list[tuple[Version, str]] = []
    moments: list[int] = []
    for path in paths:
        some = [each for each in reversed(list_versions(tree, path + SUFFIX)) if each.blob]
        known += [(each, path) for each in some]
        moments += accumulate((each.time for each in some), max)  # git's order, whatever the clocks said
    known = [known[at] for at in sorted(range(len(known)), key=moments.__getitem__)]
    paths_of = {blob: path for version, path in known for blob in (version.old_blob, version.blob) if blob}
    found: dict[str, Comment | None] = {}
    for blob, data in iterate_objects(tree.root, paths_of):
        call.current().check()
        call.current().progress(len(found), len(paths_of), "reading earlier versions")
        with suppress(Unreadable):
            found[blob] = Sidecar(paths_of[blob], data).comment(comment)
    for commit, some in groupby((version for version, _ in known), lambda version: version.commit):
        made = [version for version in some if found.get(version.blob)]
        if made and (then := found[made[0].blob]):
            yield commit, then, [found.get(version.old_blob) for version in made]


def _begin(first: Comment, commit: Commit | None) -> Iterator[Change]:
    """What is known to have happened until a comment was committed first, if it was."""
    yield Change(first.created, "made", first.author, commit=commit)
    for each in first.replies:
        yield Change(each.created, "replied", each.author, after=each.text, commit=commit)


def _compare(old: Comment, new: Comment, commit: Commit | None) -> Iterator[Change]:
    at, by = new.updated, commit.author if commit else ""
    if new.text != old.text:
        yield Change(at, "edited", by, old.text, new.text, commit)
    if new.tag != old.tag:
        yield Change(at, "tagged", by, old.tag or "", new.tag or "", commit)
    known = {each.id for each in old.replies}
    for each in new.replies:
        if each.id not in known:
            yield Change(each.created, "replied", each.author, after=each.text, commit=commit)
    if new.status != old.status:
        when = new.resolvedAt or at
        yield Change(when, "reopened" if new.status == "open" else new.status, new.resolvedBy or by, commit=commit)
