"""Paths that stay inside a folder, at the time of the check and at the time of use.

`resolve_inside` turns what a user or a model wrote into a path relative to the root, with symlinks followed as long as
they stay inside. `open_inside` and `open_folder` then walk that path one component at a time, following no symlink at
all: a link swapped in between makes the open fail, it cannot lead it elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import NewType

from postil.workspace.failures import FileMissing, FileUnreadable, UnsafePath

RelativePath = NewType("RelativePath", str)
"""A path below some root: no `..`, no `.`, no empty component, never absolute, nothing inside `.git`."""


def resolve_inside(root: str, user_path: str, base: str = "") -> RelativePath:
    """Return where `user_path` lies below `root`; raises UnsafePath when it does not.

    A relative path counts from `base` (a folder, itself relative to the root or absolute), else from the root.
    The file need not exist.
    """
    if not base and _is_plain(root, user_path):
        return RelativePath(user_path)
    if not user_path or user_path.isspace():
        raise UnsafePath(user_path, "is empty")
    if "\0" in user_path:
        raise UnsafePath(user_path.replace("\0", "\\0"), "contains a NUL character")
    try:
        os.fsencode(user_path)
    except UnicodeEncodeError:
        raise UnsafePath(ascii(user_path), "cannot be a file name") from None
    try:
        top = os.path.realpath(root, strict=True)
    except OSError as error:
        raise FileUnreadable(root, error.strerror or "unknown") from error
    real = _follow(os.path.join(top, base, user_path), user_path)
    inside = _find_below(top, real)
    if inside is None:
        raise UnsafePath(user_path, "lies outside the repository")
    if not inside:
        raise UnsafePath(user_path, "is the repository itself")
    if any(_is_git(part) for part in inside.split("/")):
        raise UnsafePath(user_path, "lies in git's own folder")
    return RelativePath(inside)


def _is_plain(root: str, user_path: str) -> bool:
    """Whether a path is written as it would be answered, and all of it is there and no symlink: most paths are."""
    here = root
    for part in user_path.split("/"):
        if part in ("", ".", "..") or _is_git(part):
            return False
        here = f"{here}/{part}"
        try:
            if stat.S_ISLNK(os.lstat(here).st_mode):
                return False
        except (OSError, ValueError):
            return False
    return not user_path.isspace()


def _follow(path: str, user_path: str) -> str:
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError) as error:
        raise UnsafePath(user_path, f"cannot be resolved: {error}") from error
    # realpath leaves a link that leads round in a circle as it is
    if os.path.islink(real):
        raise UnsafePath(user_path, "is a symlink that leads to itself")
    return real


def _find_below(top: str, real: str) -> str | None:
    if real == top:
        return ""
    prefix = top if top.endswith("/") else top + "/"
    return real[len(prefix) :] if real.startswith(prefix) else None


def _is_git(part: str) -> bool:
    # Case: macOS and some mounts fold it. "git~1" is the same folder's short name on others.
    return part.lower() in (".git", "git~1")


def open_folder(root: str, inside: str) -> int:
    """A descriptor of a folder below the root, reached without following a symlink. The caller closes it."""
    parts = _split(inside)
    here = _open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, None, root)
    for part in parts:
        try:
            below = _open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, here, inside)
        finally:
            os.close(here)
        here = below
    return here


def open_inside(root: str, inside: RelativePath) -> int:
    """A descriptor of a regular file below the root, reached without following a symlink. The caller closes it."""
    folder, _, name = inside.rpartition("/")
    parent = open_folder(root, folder)
    try:
        # Without O_NONBLOCK, opening a FIFO planted there would wait for ever.
        wanted = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        file = _open("".join(_split(name)), wanted, parent, inside)
    finally:
        os.close(parent)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise UnsafePath(inside, "is not a regular file")
    return file


def _split(inside: str) -> list[str]:
    parts = inside.split("/")
    if "." in parts or ".." in parts or "\0" in inside:
        raise UnsafePath(inside, "is not a plain relative path")
    return [*filter(None, parts)]


def _open(name: str, flags: int, folder: int | None, shown: str) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        raise FileMissing(shown) from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENAMETOOLONG):
            raise UnsafePath(shown, _REASONS[error.errno]) from error
        raise FileUnreadable(shown, error.strerror or str(error)) from error


_REASONS = {
    errno.ELOOP: "leads through a symlink",
    errno.ENOTDIR: "leads through something that is not a folder",
    errno.EISDIR: "is a folder",
    errno.ENXIO: "is not a regular file",
    errno.ENAMETOOLONG: "is too long for a file name",
}
