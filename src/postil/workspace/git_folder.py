"""The git directory that git gets: the repository's own data, under a config that we wrote.

git takes HEAD, index and refs from the repository (GIT_DIR), and config, hooks, attributes and objects from a folder of
ours (GIT_COMMON_DIR). In that folder the data are links into the repository, the config is the allowed part of the
repository's (git_config.py) with our own settings after it, and there is nothing else: no hook, no attribute, no graft.
The user's global and system configuration still applies.

Also here: what must hold before git touches a repository at all. It belongs to the user, nothing in it leads git out of
it, and other repositories from which it takes objects are known to the user. Not here: the environment (hardening.py).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from os import path as p

from postil import __version__
from postil.workspace.digest import sha256
from postil.workspace.disk import open_regular, read_regular
from postil.workspace.failures import DamagedConfig, ForeignOwner, OddRepository, UntrustedPath, WriteFailed
from postil.workspace.git_config import LARGEST, Setting, is_true, keep_allowed, parse_config, write_config
from postil.workspace.repository import Repository

AskUser = Callable[[str], list[str]]
"""Returns the values of a setting in the user's own git configuration, the repository's left out."""

_LINKED = ("objects", "refs", "packed-refs", "logs", "shallow", "worktrees", "reftable")
_FOLDERS = ("objects", "refs", "logs", "worktrees", "reftable", "postil")
_FILES = (
    "HEAD",
    "config",
    "packed-refs",
    "shallow",
    "index",
    "commondir",
    "config.worktree",
    "objects/info/alternates",
)
_WATCHED = frozenset({"objects", "refs", "config", "config.worktree", "objects/info/alternates"})
_FEWEST_KEPT = 256
_FORMAT = "4"
"""To be changed with the allow-list or our own settings: folders that another version made are then made again."""
_DEEPEST = 5  # as many alternates behind one another as git follows

# What the user's own config could turn on and a program that only reads and records must not have.
_OURS = """
[core]
	fsmonitor = false
	hooksPath = /dev/null
	pager = cat
	editor = false
	askPass = ""
	alternateRefsCommand = true
	bigFileThreshold = 16m
[diff]
	external = ""
	ignoreSubmodules = dirty
[interactive]
	diffFilter = ""
[sequence]
	editor = false
[log]
	showSignature = false
[commit]
	gpgSign = false
[tag]
	gpgSign = false
[push]
	gpgSign = false
	recurseSubmodules = no
[merge]
	verifySignatures = false
[gc]
	auto = 0
[maintenance]
	auto = false
[submodule]
	recurse = false
[fetch]
	recurseSubmodules = false
[status]
	submoduleSummary = false
[protocol "ext"]
	allow = never
[color]
	ui = false
"""


def find_git_folder(where: Repository, cache: str, ask_user: AskUser) -> str:
    """Returns the folder of ours for this work tree, made or renewed when the repository's config changed.

    Raises OddRepository, ForeignOwner, UntrustedPath, DamagedConfig or UnknownExtension when git must not run there.
    """
    _check_owner(where, ask_user)
    return _make_folder(where, cache, _look(where, ask_user), _Asked(ask_user))


def find_served_folder(where: Repository, cache: str, ask_user: AskUser) -> str:
    """Returns a git directory to fetch this repository from: its objects and refs, and nothing of its config.

    git-upload-pack would read that config by itself, with the files that it includes. Raises as `find_git_folder` does.
    """
    if p.isdir(p.join(where.common_dir, "reftable")):  # these keep HEAD among the refs, where ours cannot be put
        check_trusted(where.root, "A fetch would use the configuration of", ask_user)
        return where.git_dir
    folder = p.join(find_git_folder(where, cache, ask_user), "served")
    head = _read_plain(p.join(where.git_dir, "HEAD"), ask_user)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _replace(p.join(folder, "HEAD"), head.encode("utf-8", "surrogateescape"))
        _replace(p.join(folder, "commondir"), b"..\n")
    except OSError as error:
        raise WriteFailed(folder, error.strerror or str(error)) from error
    return folder


class _Asked:
    """The user's settings as an argument that a cache does not look at."""

    def __init__(self, ask: AskUser) -> None:
        self.ask = ask

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Asked)

    def __hash__(self) -> int:
        return 0


# Before git runs


def _check_owner(where: Repository, ask_user: AskUser) -> None:
    """As git does since 2.35.2, which trusts a git directory that is named to it without this check."""
    mine = os.geteuid()
    for path in dict.fromkeys((where.root, p.join(where.root, ".git"), where.git_dir)):
        try:
            owner = os.lstat(path).st_uid
        except OSError:
            continue  # a bare repository has no `.git`
        if owner == mine or (mine == 0 and owner == _find_sudo_user()):
            continue
        if not _is_listed(where.root, ask_user("safe.directory")):
            raise ForeignOwner(where.root, path)


def _find_sudo_user() -> int:
    from postil.workspace.hardening import read_sudo_user  # only there is the environment read

    return read_sudo_user()


def _is_listed(path: str, listed: list[str]) -> bool:
    """Returns whether a path is in a list as `safe.directory` holds it: paths, `folder/*`, `*`; an empty one resets."""
    found = False
    for entry in listed:
        if not entry:
            found = False
        elif entry == "*" or (entry.endswith("/*") and path.startswith(p.realpath(p.expanduser(entry[:-2])) + "/")):
            found = True
        elif p.isabs(entry) or entry.startswith("~"):
            found = found or p.realpath(p.expanduser(entry)) == path
    return found


def check_trusted(path: str, what: str, ask_user: AskUser) -> None:
    """Raises UntrustedPath unless the user's own settings name the path (`postil.trusted`)."""
    real = p.realpath(path)
    if not _is_listed(real, ask_user("postil.trusted")):
        raise UntrustedPath(real, what)


Seen = tuple[str, int, int, int, int]


@lru_cache(maxsize=64)
def _list_entries(where: Repository) -> tuple[tuple[str, bool, bool], ...]:
    """Returns the paths that git would follow, whether each is a folder, and whether its changes matter to us."""
    folders = dict.fromkeys((where.common_dir, where.git_dir))
    return tuple(
        (f"{folder}/{name}", name in _FOLDERS, name in _WATCHED) for folder in folders for name in (*_FOLDERS, *_FILES)
    )


def _look(where: Repository, ask_user: AskUser) -> tuple[Seen, ...]:
    """Returns what the entries are and when they changed. Raises OddRepository for what git would follow out.

    One loop and no call of ours for each: every git command pays for it.
    """
    seen: list[Seen] = []
    for path, is_folder, matters in _list_entries(where):
        try:
            found = os.lstat(path)
        except OSError:
            continue
        kind = stat.S_IFMT(found.st_mode)
        if kind != (stat.S_IFDIR if is_folder else stat.S_IFREG) and not (
            kind == stat.S_IFREG and path.endswith("/postil")
        ):
            if path == f"{where.common_dir}/postil":
                where.postil_folder()  # refuses a link there, whatever is trusted: we write through it
            _refuse_unless_trusted(path, found.st_mode, ask_user)
        # A folder is looked into again when an entry comes or goes; of files only the config matters.
        if matters:
            seen.append((path, found.st_mode, found.st_mtime_ns, found.st_size, found.st_ino))
    return tuple(seen)


def _refuse_unless_trusted(path: str, mode: int, ask_user: AskUser) -> None:
    if not stat.S_ISLNK(mode):
        raise OddRepository(path, "is neither a file nor a folder, as git has them there")
    if p.basename(path) == "HEAD" and _names_ref(os.readlink(path)):
        return
    if not _is_listed(p.realpath(path), ask_user("postil.trusted")):
        raise OddRepository(p.realpath(path), f"is where {p.basename(path)} of {p.dirname(path)} leads", allowed=True)


def _check_inside(where: Repository, ask_user: AskUser) -> None:
    """git writes refs and their logs through links, and waits for FIFOs: none may be there.

    Nor may alternates lead to what the user does not know.
    """
    for path in dict.fromkeys((where.common_dir, where.git_dir)):
        _check_objects(p.join(path, "objects"), ask_user)
        _check_folder(p.join(path, "info"), ask_user)
        for entry in _walk(p.join(path, "worktrees"), deep=False):
            _check_folder(entry.path, ask_user, files=True)
        for name in ("refs", "logs", "reftable"):
            for entry in _walk(p.join(path, name), deep=True):
                if entry.is_symlink() and not (
                    name == "refs" and _names_ref(os.readlink(entry.path)) and _is_dangling(entry)
                ):
                    _refuse_unless_trusted(entry.path, stat.S_IFLNK, ask_user)
                _refuse_special(entry.path, entry.is_file() or entry.is_dir() or _is_dangling(entry))
    for name in (".gitattributes", ".gitignore", ".gitmodules", ".mailmap"):
        path = p.join(where.root, name)
        _refuse_special(path, p.isfile(path) or p.isdir(path) or not p.exists(path))
    _check_alternates(p.join(where.common_dir, "objects"), p.realpath(where.common_dir), ask_user, _DEEPEST)


def _check_objects(folder: str, ask_user: AskUser) -> None:
    _check_folder(folder, ask_user, files=True)
    _check_folder(p.join(folder, "info"), ask_user, deep=True)
    _check_folder(p.join(folder, "pack"), ask_user)


def _check_folder(folder: str, ask_user: AskUser, *, deep: bool = False, files: bool = False) -> None:
    for entry in _walk(folder, deep=deep):
        if entry.is_symlink() and (files or p.isdir(entry.path)):
            _refuse_unless_trusted(entry.path, stat.S_IFLNK, ask_user)
        _refuse_special(entry.path, entry.is_file() or entry.is_dir() or _is_dangling(entry))


def _walk(folder: str, *, deep: bool) -> Iterator[os.DirEntry[str]]:
    """Yields what a folder holds, and the folders in it; follows no link."""
    folders = [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                found = [*entries]
        except OSError:
            continue
        yield from found
        folders += [entry.path for entry in found if deep and entry.is_dir(follow_symlinks=False)]


def _refuse_special(path: str, ordinary: bool) -> None:
    if not ordinary and p.lexists(path):  # else it went meanwhile
        raise OddRepository(path, "is not a regular file")


def _is_dangling(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() and not p.exists(entry.path)


def _names_ref(target: str) -> bool:
    """Returns whether a link says which ref is meant, as the first versions of git wrote it; not where a file is."""
    return target.startswith("refs/") and ".." not in target.split("/")


def _check_alternates(objects: str, inside: str, ask_user: AskUser, left: int) -> None:
    content = _read_plain(p.join(objects, "info", "alternates"), ask_user)
    for line in content.split("\n"):
        if not line or line.startswith("#"):
            continue
        if line.startswith('"'):
            raise OddRepository(p.join(objects, "info", "alternates"), "names a folder in quotes")
        real = p.realpath(p.join(objects, line))
        if not real.startswith(inside + "/"):
            check_trusted(real, f"{inside} takes objects from", ask_user)
        elif left:
            _check_objects(real, ask_user)
            _check_alternates(real, inside, ask_user, left - 1)


def _read_plain(path: str, ask_user: AskUser) -> str:
    """Returns the text of a regular file; empty when there is none."""
    try:
        try:
            file = open_regular(path, follow=False)
        except FileNotFoundError:
            return ""
        except OSError:
            if not p.islink(path):
                raise
            _refuse_unless_trusted(path, stat.S_IFLNK, ask_user)
            file = open_regular(path)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise OddRepository(path, "is not a regular file") from None
        raise DamagedConfig(path) from error
    with file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise DamagedConfig(path)
    return content.decode("utf-8", "surrogateescape")


# The folder


@lru_cache(maxsize=64)
def _make_folder(where: Repository, cache: str, seen: tuple[Seen, ...], asked: _Asked) -> str:
    """Make or renew the folder; asked again when one of the entries changed."""
    name = sha256(os.fsencode(f"{where.common_dir}\0{where.git_dir}\0{where.root}"))[:32]
    made = f"{cache}/git/{name}"
    stamp = f"{_FORMAT} {__version__} {seen}"
    # Another process has looked at the same state of the repository before us.
    if _read_made(f"{made}/seen") == stamp.encode("utf-8", "surrogateescape") and _read_made(f"{made}/config"):
        return made
    _check_inside(where, asked.ask)
    config = _write_allowed(where, asked.ask)
    try:
        os.makedirs(p.join(cache, "git"), mode=0o700, exist_ok=True)
        folder = _renew(p.join(cache, "git"), name, where.common_dir, config)
        _replace(p.join(folder, "seen"), stamp.encode("utf-8", "surrogateescape"))
        return folder
    except OSError:  # no home, or one that cannot be written: a folder for this process alone
        try:
            return _renew(_make_private(), name, where.common_dir, config)
        except OSError as error:
            raise WriteFailed(cache, error.strerror or str(error)) from error


def _write_allowed(where: Repository, ask_user: AskUser) -> bytes:
    file = p.join(where.common_dir, "config")
    settings = [*parse_config(_read_plain(file, ask_user), file)]
    extra = [s.value for s in settings if (s.section, s.key) == ("extensions", "worktreeconfig")]
    if extra and is_true(extra[-1]):
        own = p.join(where.git_dir, "config.worktree")
        settings += parse_config(_read_plain(own, ask_user), own)
    kept = keep_allowed(settings, file)
    kept = [setting for setting in kept if (setting.section, setting.key) != ("core", "bare")]
    kept.append(Setting("core", None, "bare", "true" if where.bare else "false"))
    return (write_config(kept) + _OURS).encode("utf-8", "surrogateescape")


def _renew(home: str, name: str, common_dir: str, config: bytes) -> str:
    """Returns the folder, whole: links first, then the config, each complete or absent."""
    folder = p.join(home, name)
    if _read_made(p.join(folder, "config")) == config and _leads_to(p.join(folder, "objects"), common_dir):
        return folder
    with suppress(OSError):
        os.unlink(p.join(folder, "seen"))  # or it would vouch for what is half renewed
    fresh = not p.isdir(folder)
    os.makedirs(p.join(folder, "info"), mode=0o700, exist_ok=True)
    linked = [*_LINKED, "info/exclude", *(["lfs"] if p.isdir(p.join(common_dir, "lfs")) else [])]
    for entry in linked:
        _link(p.join(common_dir, entry), p.join(folder, entry))
    _replace(p.join(folder, "config"), config)
    if fresh:
        _forget_old(home)
    return folder


def _replace(path: str, content: bytes) -> None:
    temporary = f"{path}-{os.getpid()}-{os.urandom(4).hex()}"
    with open(temporary, "wb") as file:
        file.write(content)
    os.rename(temporary, path)


def _link(target: str, link: str) -> None:
    try:
        os.symlink(target, link)
    except FileExistsError:
        if os.readlink(link) != target:
            raise


def _leads_to(link: str, common_dir: str) -> bool:
    try:
        return os.readlink(link) == p.join(common_dir, "objects")
    except OSError:
        return False


def _read_made(path: str) -> bytes | None:
    return read_regular(path, 2 * LARGEST)


def _forget_old(home: str) -> None:
    """Remove the folders of repositories that are gone, when there are many."""
    names = os.listdir(home)
    if len(names) <= _FEWEST_KEPT:
        return
    from shutil import rmtree

    for name in names:
        if not p.exists(p.join(home, name, "objects")):
            with suppress(OSError):
                rmtree(p.join(home, name))


@lru_cache(maxsize=1)
def _make_private() -> str:
    import atexit
    import shutil
    import tempfile

    folder = tempfile.mkdtemp(prefix="postil-git-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
