"""Files that a commit renamed, and whose names others have now: their comments belong to the file that they knew.

git's history says so, however much the two are alike. Nothing is asked of a version that the index has under its name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from postil.comments.anchoring.renamed_in_steps import follow_versions
from postil.comments.anchoring.swapped_files import Content
from postil.comments.git.recent_versions import RecentVersions
from postil.comments.model import OtherFile
from postil.comments.source_tree import SourceTree
from postil.core import limits
from postil.workspace.git import git_lines
from postil.workspace.paths import RelativePath

MOST_NAMED = 200
"""Files that git is asked about by their names; of more it lists all that it has."""


def find_renamed_away(
    tree: SourceTree, read: Mapping[str, Content], recent: RecentVersions
) -> dict[str, list[OtherFile]]:
    """Returns for files whose name another one has now what they are called, with the versions that went along."""
    if not tree.git:
        return {}
    held = {path: each.versions for path, each in read.items() if each.now and each.versions}
    staged = _list_staged(tree, held) if held else {}
    asked = {path: left for path, versions in held.items() if (left := versions - {staged.get(path, "")})}
    became: dict[tuple[str, str], set[str]] = {}
    for (path, blob), name in follow_versions(tree, asked, recent).items():
        became.setdefault((path, name), set()).add(blob)
    found: dict[str, list[OtherFile]] = {}
    for (path, name), blobs in became.items():
        source = tree.source_or_none(RelativePath(name)) if tree.size(name) <= limits.HERE else None
        found.setdefault(path, []).append(OtherFile(name, source.text if source else "", former=frozenset(blobs)))
    return found


def _list_staged(tree: SourceTree, paths: Collection[str]) -> dict[str, str]:
    """Returns what git's index holds of some files."""
    found: dict[str, str] = {}
    named = paths if len(paths) <= MOST_NAMED else ()
    for row in git_lines(tree.root, "ls-files", "-s", "-z", "--", *named, separator=b"\0"):
        about, _, name = row.decode("utf-8", "surrogateescape").partition("\t")
        if about:
            found[name] = about.split(" ")[1]
    return found
