"""Comments that two sidecars hold: one branch moved a comment to another file, another branch edited it in the old one.

git merges file by file, so both stay. They are one comment: in the file it was moved to, with what either says. It is
shown so at once, and written so with the next change of it, or by `postil comments check --fix`.
"""

from __future__ import annotations

from collections.abc import Sequence

from postil.comments.clock import new_id
from postil.comments.git.before_merge import BeforeMerge
from postil.comments.sidecar.dialects import trim_line
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.json_edit import JsonObject
from postil.comments.sidecar.merge import merge_comment
from postil.comments.storage.giants import read_to_change
from postil.comments.storage.store import Store
from postil.core.failure import Failure
from postil.workspace.paths import RelativePath

PLACE = ("line", "startLine", "endLine", "ghostMarkerId")


def find_home(sidecars: Sequence[Sidecar], comment: str) -> Sidecar | None:
    """Returns the one that a comment was moved to last, when all of them hold the same comment; else None.

    They do where it left one of the files for the other, or a third one for both. A file that was copied with its
    comments is no such case: there are two of them.
    """
    left = {each.path: _list_left(each, comment) for each in sidecars}
    home = max(sidecars, key=lambda each: (max(left[each.path].values(), default=""), each.path))
    mine = left[home.path]
    for each in sidecars:
        theirs = left[each.path]
        if each is not home and not (
            max(theirs.values(), default="") != max(mine.values(), default="")
            and (mine.keys() | {home.path}) & (theirs.keys() | {each.path})
        ):
            return None
    return home


def merge_into(home: Sidecar, others: Sequence[Sidecar], comment: str, before: BeforeMerge) -> None:
    """Give a comment what the others' versions of it say. Where it is stays as it is.

    What only one of them changed since they parted is no second wording.
    """
    was = before.find(comment, [home.path, *(each.path for each in others)])
    for other in others:
        mine, theirs = home.raw_comment(comment), other.raw_comment(comment)
        places = {key: mine[key] for key in PLACE if key in mine}
        home.change(comment, {**merge_comment(was, mine, theirs), **places})


def give_own_id(copy: Sidecar, comment: str) -> str:
    """Give a comment of a file that was copied with its comments an id of its own, and return that."""
    found, raw, own = copy.comment(comment), copy.raw_comment(comment), new_id("c_")
    marker = copy.marker_of(found) if found else None
    kept = copy.raw_marker(marker.id) if marker else None
    copy.remove(comment)
    renamed: JsonObject = {**raw, "id": own}
    copy.add(renamed, {**kept, "commentIds": [own]}) if kept else copy.add_bare(renamed)
    return own


def join_comment(store: Store, comment: str, paths: Sequence[str]) -> str:
    """Make one of a comment that several sidecars hold. Returns the file it is in; empty when nothing was done."""
    with store.locked():
        sidecars = [read_to_change(store, RelativePath(path)) for path in paths]
        sidecars = [each for each in sidecars if each.comment(comment)]
        if len(sidecars) < 2 or not all(each.writable for each in sidecars):
            return ""
        home = find_home(sidecars, comment) or next(
            (each for each in sidecars if _has_its_code(store, each, comment)), sidecars[0]
        )
        others = [each for each in sidecars if each is not home]
        merge_into(home, others, comment, BeforeMerge(store.tree))
        store.write(home)  # before it is taken out of the others: at no time it is in none
        for other in others:
            other.remove(comment)
            store.write(other)
    return home.path


def _list_left(sidecar: Sidecar, comment: str) -> dict[str, str]:
    """Returns the other files that a comment was in before it came to this one, and when it left them."""
    found = sidecar.comment(comment)
    marker = sidecar.marker_of(found) if found else None
    events = marker.anchor.history if marker and marker.anchor else ()
    return {
        each.path: each.at for each in events if each.path not in ("", sidecar.path) and each.comment in ("", comment)
    }


def _has_its_code(store: Store, sidecar: Sidecar, comment: str) -> bool:
    """Whether the code a comment is tied to stands in its file."""
    found = sidecar.comment(comment)
    marker = sidecar.marker_of(found) if found else None
    try:
        lines = store.tree.source(RelativePath(sidecar.path)).lines
    except Failure:
        return False
    return marker is not None and marker.lineText in set(map(trim_line, lines))
