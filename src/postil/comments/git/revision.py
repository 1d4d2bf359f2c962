"""The comments that a revision held, in the places they had in its code. Reads git and the sidecars, writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from msgspec.structs import replace

from postil.comments.anchoring.reader import CommentReader
from postil.comments.git.blame import list_sidecars_at, require_revision
from postil.comments.git.file_names import find_new_name, list_old_names
from postil.comments.git.objects import read_objects
from postil.comments.operations.answers import CommentNow, comment_now
from postil.comments.search.filters import file_matches
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.source_tree import Source, decode
from postil.comments.storage.store import SUFFIX, is_sidecar
from postil.core import call
from postil.workspace.digest import blob_id
from postil.workspace.paths import RelativePath

AT_ONCE = 200


class AtRevision(NamedTuple):
    """Comments at a commit."""

    commit: str
    held: list[CommentNow]
    """What the commit itself held."""
    later: list[CommentNow]
    """Comments made since, where their code was then."""


def list_at(reader: CommentReader, revision: str, file: str) -> AtRevision:
    """Returns the comments of a revision in these files. Raises NotFound when there is no such revision."""
    commit = require_revision(reader.tree, revision)
    held = [
        name.removesuffix(SUFFIX)
        for name in list_sidecars_at(reader.tree, commit.id)
        if is_sidecar(name.rsplit("/", 1)[-1]) and (not file or file_matches(file, name.removesuffix(SUFFIX)))
    ]
    present = [path for path in reader.store.paths() if not file or file_matches(file, path)]
    root = reader.tree.root
    listed = list(_read_at(reader, commit.id, held, {}, lambda path: find_new_name(root, path, commit.id)))
    known = {each.id for each in listed}
    now: dict[str, bytes] = {path: data for path in present if (data := reader.store.read_bytes(path)) is not None}
    names = cache(lambda: list_old_names(root, commit.id))  # asked once, and only where a file was not there
    later = _read_at(reader, commit.id, present, now, lambda path: names().get(path, ""))
    return AtRevision(commit.id, listed, [each for each in later if each.id not in known and each.state != "orphaned"])


def _read_at(
    reader: CommentReader,
    commit: str,
    paths: Sequence[str],
    sidecars: Mapping[str, bytes],
    other_name: Callable[[str], str],
) -> Iterator[CommentNow]:
    """Yields the comments of these files in the code of a commit; sidecars that are not given are the commit's own.

    `other_name` says what a file that the commit does not have was called in it.
    """
    for first in range(0, len(paths), AT_ONCE):
        call.current().check()
        call.current().progress(first, len(paths), f"reading {commit[:12]}")
        some = paths[first : first + AT_ONCE]
        names = {path: (f"{commit}:{path}", f"{commit}:{path}{SUFFIX}") for path in some}
        there = read_objects(reader.tree.root, (name for both in names.values() for name in both))
        others = {path: other_name(path) for path, (source, _) in names.items() if source not in there}
        renamed = read_objects(reader.tree.root, (f"{commit}:{other}" for other in others.values() if other))
        for path, (source, sidecar) in names.items():
            called = others.get(path, "") or path
            content = there.get(source, renamed.get(f"{commit}:{called}"))
            yield from _locate(reader, path, sidecars.get(path, there.get(sidecar)), called, content)


def _locate(
    reader: CommentReader, path: str, data: bytes | None, called: str, content: bytes | None
) -> list[CommentNow]:
    try:
        sidecar = Sidecar(path, data)
    except Unreadable:
        return []
    if content is None:
        return [comment_now(each) for each in reader.locate(sidecar, None)]
    source = Source(RelativePath(path), decode(content), blob_id(content, reader.tree.id_width))
    located = [comment_now(each) for each in reader.locate(sidecar, source)]
    return located if called == path else [replace(each, movedTo=each.movedTo or called) for each in located]
