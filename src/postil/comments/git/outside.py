"""What a clone has not got: comment files that a sparse checkout leaves out, and the past of a shallow one.

Only files are counted: a partial clone does not even have what is in them.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from postil.core.failure import Failure

MOST_NAMED = 3


def tell_outside(root: str, git_dir: str, wanted: Callable[[str], bool], *among: str) -> str:
    """Returns how many comment files of those that are wanted lie outside, and how to see them; empty if none does.

    With names git is asked of these alone.
    """
    if not _is_sparse(git_dir):
        return ""
    try:
        outside = _list_outside(root, *among)
    except Failure as fault:
        return f"Whether comments lie outside of the sparse checkout is not known: {fault.message}"
    files = [name.removesuffix(".comments") for name in outside if name.endswith(".comments")]
    files = [name for name in files if wanted(name)]
    if not files:
        return ""
    those = "1 file" if len(files) == 1 else f"{len(files)} files"
    folders = dict.fromkeys(map(os.path.dirname, files))
    how = _add(list(folders)) if len(folders) <= MOST_NAMED else "`git sparse-checkout disable`"
    return (
        f"The comments of {those} outside of the sparse checkout are left out: {how} brings them here; "
        "`postil comments at HEAD` lists them as they were committed"
    )


def tell_shallow(common_dir: str) -> str:
    """Returns what is said of code that is lost or uncertain in a clone without its whole past; empty in another."""
    try:
        is_cut = bool(common_dir) and os.path.getsize(f"{common_dir}/shallow") > 0
    except OSError:
        return ""
    if not is_cut:
        return ""
    return "This clone is shallow: with its whole history (`git fetch --unshallow`) more code may be found again"


def advise_outside(root: str, git_dir: str, path: str) -> str:
    """Returns what to do about a file or folder that is not here because it lies outside; empty where it does not.

    Raises a Failure where git does not say.
    """
    if not _is_sparse(git_dir):
        return ""
    there = _list_outside(root, path)
    if not there:
        return ""
    folder = os.path.dirname(path) if path in there else path
    return f"It lies outside of the sparse checkout: {_add([folder])} brings it here"


def _is_sparse(git_dir: str) -> bool:
    return bool(git_dir) and os.path.exists(f"{git_dir}/info/sparse-checkout")


def _list_outside(root: str, *paths: str) -> list[str]:
    from postil.workspace.git import run_git  # few have a sparse checkout

    rows = run_git(root, "ls-files", "-t", "-z", "--", *paths).decode("utf-8", "surrogateescape").split("\0")
    marked = (row[2:] for row in rows if row.startswith("S "))
    return [name for name in marked if not os.path.lexists(os.path.join(root, name))]


def _add(folders: list[str]) -> str:
    if "" in folders:  # a cone always holds the root; without one its files are named by pattern
        return "`git sparse-checkout disable`"
    from shlex import quote  # only here are commands told

    return f"`git sparse-checkout add {' '.join(map(quote, folders))}`"
