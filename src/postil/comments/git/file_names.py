"""What a file is called at a commit that does not have it under the name we know. Reads git."""

from __future__ import annotations

from postil.workspace.git import try_git

MOST_RENAMES = 200
"""A file that was renamed more often than that is not followed further."""


def list_old_names(root: str, commit: str) -> dict[str, str]:
    """Returns what files of the working tree were called at a commit, for those that were renamed since."""
    return {new: old for old, new in _list_renames(root, commit)}


def find_new_name(root: str, path: str, commit: str) -> str:
    """Returns what a file that was renamed at or before a commit is called there; empty when it is not known."""
    for _ in range(MOST_RENAMES):
        gone = try_git(root, "log", "-1", "--format=%H", "--diff-filter=D", "--no-renames", commit, "--", path)
        at = gone.out.decode().strip()
        new = dict(_list_renames(root, f"{at}^", at)).get(path, "") if gone.status == 0 and at else ""
        if not new or try_git(root, "cat-file", "-e", f"{commit}:{new}").status == 0:
            return new
        path = new
    return ""


def _list_renames(root: str, *between: str) -> list[tuple[str, str]]:
    """Returns old and new names between two commits, or a commit and the working tree."""
    done = try_git(root, "diff", "--name-status", "-M", "-z", "--diff-filter=R", *between, "--")
    fields = [field.decode("utf-8", "surrogateescape") for field in done.out.split(b"\0") if field]
    return list(zip(fields[1::3], fields[2::3], strict=False)) if done.status == 0 else []
