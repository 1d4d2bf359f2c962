"""How git is started so that a hostile repository runs nothing: the program, the command line, the environment.

The program is found on PATH without the entries that lead into the repository. The verbs are those that Postil uses;
another one is refused until somebody has looked at what it can run. The environment holds what git, ssh and the
user's own helpers need, and no secret of ours. Which configuration git reads: git_folder.py.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import NamedTuple

import msgspec

from postil.core import limits
from postil.core.failure import Failure, InvalidArguments
from postil.workspace.disk import find_git_roots, open_regular, read_regular
from postil.workspace.failures import GitMissing
from postil.workspace.git_folder import AskUser, check_trusted, find_git_folder, find_served_folder
from postil.workspace.repository import Repository, locate, locate_exactly
from postil.workspace.spawn import run


class GitMode(msgspec.Struct, frozen=True):
    """What a git command is allowed beyond reading and writing this repository."""

    network: bool = False
    """Reach remotes with the user's own ssh and credentials. The repository's hooks and drivers stay off."""
    durable: bool = False
    """fsync objects and refs, so that what is acknowledged survives a power cut."""


class GitCommand(NamedTuple):
    """What is started."""

    words: list[str]
    environment: dict[str, str]
    memory: int
    """Bytes that it may take."""


_SMALL_CACHE = ("-c", "core.deltaBaseCacheLimit=24m")
"""Of 96 MB, which git takes by itself, most is memory that is touched once: an eighth of its time."""
_DRIVERS = ("--no-ext-diff", "--no-textconv")
# A submodule is a repository with a config of its own: nobody looks into its work tree.
_DIFF = (*_DRIVERS, "--ignore-submodules=dirty")
# Every verb that Postil uses, each with what keeps it from running a driver, or another program at the far end.
_VERBS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("blame", "grep"), ("--no-textconv",)),
    **dict.fromkeys(("diff", "diff-files", "diff-index"), _DIFF),
    **dict.fromkeys(("diff-tree", "log", "show"), _DRIVERS),
    # Of several remote.<name>.uploadpack git takes the first, so an override by config would come too late.
    **dict.fromkeys(("fetch", "ls-remote"), ("--upload-pack=git-upload-pack",)),
    "push": ("--receive-pack=git-receive-pack",),
    "status": ("--ignore-submodules=dirty",),
    "init": ("--template=",),
    # Writes the work tree: drivers of attributes are the user's own or none, and hooks are not there.
    "read-tree": ("--no-recurse-submodules",),
    **dict.fromkeys((
        "cat-file", "config", "fast-import", "for-each-ref", "hash-object", "index-pack", "ls-files", "ls-tree",
        "merge-base", "merge-file", "pack-objects", "remote", "rev-list", "rev-parse", "symbolic-ref", "update-ref",
        "version",
    ), ()),
}  # fmt: skip
# Every option that Postil gives. Another one may be a name, an address or a revision that somebody chose so that git
# takes it for an option, which may name a program to run or a file to write.
_OPTIONS = frozenset({
    "-", "--abbrev", "--add", "--all", "--bare", "--batch", "--batch-all-objects", "--batch-check", "--cached",
    "--create-reflog", "--date-format", "--deleted", "--diff-filter", "--diff-merges", "--done", "--dst-prefix",
    "--exclude", "--exclude-standard", "--file", "--find-renames", "--first-parent", "--fixed-value", "--follow",
    "--force", "--format",
    "--full-history", "--full-name", "--full-tree", "--get", "--get-all", "--get-regexp", "--get-url", "--git-dir",
    "--ignore-submodules", "--ignored", "--inter-hunk-context", "--is-ancestor", "--is-shallow-repository",
    "--max-count", "--max-parents", "--merges", "--name-only", "--name-status", "--no-abbrev", "--no-color",
    "--no-commit-id",
    "--no-deref", "--no-ext-diff", "--no-prefix", "--no-recurse-submodules", "--no-renames", "--no-show-signature",
    "--no-tags", "--no-verify", "--no-write-fetch-head", "--null", "--numstat", "--others", "--parents", "--porcelain",
    "--prune", "--quiet", "--raw", "--reflog", "--refmap", "--remove-section", "--reset", "--revs", "--root",
    "--src-prefix", "--stdin", "--stdout", "--symref", "--topo-order", "--unified", "--unset-all", "--untracked",
    "--verify", "-C", "-F", "-I", "-M", "-U", "-co", "-d", "-e", "-l", "-m", "-n", "-p", "-r", "-s", "-t", "-u", "-v",
    "-w", "-z",
})  # fmt: skip
_NO_OPTION_AFTER = ("--", "--end-of-options")
_TAKES_A_WORD = "-e"  # a pattern: any text
# Those that hold an index, or a pack that they make.
_HOLD_MUCH = frozenset({
    "diff", "diff-files", "diff-index", "fast-import", "fetch", "grep", "index-pack", "ls-files", "pack-objects",
    "push", "read-tree", "status",
})  # fmt: skip
# Those that may walk a whole history: each commit of it stays in memory.
_WALK = frozenset({"blame", "log", "merge-base", "rev-list"})
_NOWHERE = "/dev/null"


def name_unheeded(found: Repository | None = None) -> str:
    """Says which variables of the environment lead git to another repository than the one found; mostly nothing.

    git's own hooks set them to where they run, which is the same.
    """
    places = (
        {"GIT_DIR": (), "GIT_WORK_TREE": ()}
        if found is None
        else {"GIT_DIR": (found.git_dir, found.common_dir), "GIT_WORK_TREE": (found.root,)}
    )
    named = [name for name, own in places.items() if (to := os.environ.get(name)) and os.path.realpath(to) not in own]
    return f"{' and '.join(named)} {'has' if len(named) == 1 else 'have'} no effect here" if named else ""


def read_author_name() -> str:
    """Returns the author's name that the environment gives git, before any config; mostly none."""
    return os.environ.get("GIT_AUTHOR_NAME", "")


def prepare(root: str, arguments: tuple[str, ...], extra: Mapping[str, str] | None, mode: GitMode) -> GitCommand:
    """Returns how git is started with these arguments in the repository around `root`.

    Raises the failures of git_folder.py where git must not run, GitMissing, and InvalidArguments for a NUL.
    """
    if any("\0" in argument for argument in arguments):
        raise InvalidArguments("No name, path or revision can hold a NUL character", advice="Leave it out")
    _refuse_options(arguments[1:])
    where = locate(root)
    program, path = _find_program(os.environ.get("PATH", os.defpath), "" if where is None else where.root)
    ask_user = partial(_read_user_setting, program, path)
    clean = _clean(mode.network)
    clean["PATH"] = path
    # Where there is no repository, git must not find one that we did not see.
    if arguments[:1] == ("init",):  # a new one, which the arguments name
        where = None
    else:
        clean["GIT_DIR"] = _NOWHERE if where is None else where.git_dir
    if where is not None:
        clean["GIT_COMMON_DIR"] = find_git_folder(where, _find_cache(), ask_user)
        if where.bare:
            clean["GIT_IMPLICIT_WORK_TREE"] = "0"  # or git would take the folder that it starts in for the work tree
        else:
            clean["GIT_WORK_TREE"] = where.root
    if mode.durable:
        clean |= _DURABLE
    # An object that claims to be larger ends git before it is unpacked.
    holds_much = bool(arguments) and arguments[0] in _HOLD_MUCH
    clean["GIT_ALLOC_LIMIT"] = str(limits.GIT_INDEX_MEMORY if holds_much else limits.GIT_MEMORY)
    if extra:
        clean |= extra
    verb, *rest = arguments
    if verb not in _VERBS:
        raise ValueError(f"git {verb} is not in the table of hardening.py: look at what it can run, then add it")
    words = [program, "-C", root, "--no-pager", "--literal-pathspecs"]
    if verb == "cat-file":
        words += _SMALL_CACHE
    if verb == "push" and where is not None:
        _check_push(where, words, rest, clean, ask_user)
    elif verb in ("fetch", "ls-remote") and mode.network:
        clean |= _fetch_cleanly("/" if where is None else where.root, words, rest, clean, ask_user)
    return GitCommand([*words, verb, *_VERBS[verb], *rest], clean, _find_memory(verb, rest))


def _find_memory(verb: str, rest: list[str]) -> int:
    """Returns how much memory a command gets.

    A few hundred bytes of a clone can name one folder many times in each of many folders: who compares whole commits
    lists a thousand million files. Who names files, or walks the commits alone, may need more for a long history.
    """
    if verb in _HOLD_MUCH:
        return limits.GIT_INDEX_MEMORY
    paths = rest[rest.index("--") + 1 :] if "--" in rest else []
    is_bounded = verb not in ("log", "show") or (bool(paths) and "--follow" not in rest)
    return limits.GIT_WALK_MEMORY if verb in _WALK and is_bounded else limits.GIT_ALL_MEMORY


def _refuse_options(words: tuple[str, ...]) -> None:
    """Raises InvalidArguments for what git would take for an option that is none of ours."""
    before = ""
    for word in words:
        if word in _NO_OPTION_AFTER:
            return
        known = not word.startswith("-") or word.partition("=")[0].rstrip("0123456789") in _OPTIONS
        if not known and before != _TAKES_A_WORD:
            raise InvalidArguments(f"git would take {word[:64]!r} for an option", advice="Give it another name")
        before = word


# PATH


_worked_in = {""}
"""The repositories that this process has worked in, and those around them."""


def _find_program(path: str, root: str) -> tuple[str, str]:
    """Returns git's absolute path, and PATH without what leads into a repository: `.`, or a folder of a clone.

    That of `root`, those around it (it may be a submodule), and all that were worked in before: what one of them asks
    for may be done in a folder elsewhere.
    """
    if root not in _worked_in:
        _worked_in.update((root, *find_git_roots(root)))
        _search_path.cache_clear()
    return _search_path(path)


@lru_cache(maxsize=8)
def _search_path(path: str) -> tuple[str, str]:
    home = os.path.expanduser("~") + "/"
    below = tuple(f"{root}/" for root in _worked_in if root and not home.startswith(root.rstrip("/") + "/"))
    folders = [
        folder
        for folder in path.split(os.pathsep)
        if os.path.isabs(folder) and not (os.path.realpath(folder) + "/").startswith(below)
    ]
    for folder in folders:
        program = os.path.join(folder, "git")
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return program, os.pathsep.join(folders)
    raise GitMissing


# The environment

_NEEDED = frozenset({
    "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "XDG_CONFIG_HOME",
    # who the user is, and which config is theirs
    "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
})  # fmt: skip
# ssh, credential helpers and proxies: all that lets the user's own programs reach a host.
_NEEDED_FOR_NETWORK = frozenset({
    "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_SSL_CAINFO",
    "SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
    "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "GNUPGHOME", "GPG_TTY",
    "KRB5CCNAME", "KRB5_CONFIG", "SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE",
    "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
})  # fmt: skip
_DURABLE = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "core.fsync",
    "GIT_CONFIG_VALUE_0": "all",
    "GIT_CONFIG_KEY_1": "core.fsyncMethod",
    "GIT_CONFIG_VALUE_1": "fsync",
}


def _clean(network: bool) -> dict[str, str]:
    kept = _NEEDED | _NEEDED_FOR_NETWORK if network else _NEEDED
    environ = os.environ
    clean = {name: value for name in kept if (value := environ.get(name)) is not None}
    return clean | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
        "GIT_NO_LAZY_FETCH": "1",  # a missing object must not start a fetch from a remote that the repository names
        "GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file" if network else "none",
        "LC_ALL": "C",
    }


def _find_cache() -> str:
    """Returns the user's cache folder, as the settings name it."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    return os.path.join(given if os.path.isabs(given) else os.path.expanduser("~/.cache"), "postil")


def read_sudo_user() -> int:
    """Returns the user on whose behalf root works, or -1: git lets root enter that user's repositories."""
    given = os.environ.get("SUDO_UID", "")
    return int(given) if re.fullmatch(r"\d{1,9}", given) else -1


# What no repository has a say in: git's version, and the user's own settings. Pushing to another folder of this machine


def read_version(folder: str) -> str:
    """Returns what git says of its version, whatever is wrong with the repository around a folder. Raises GitMissing.

    It is the git that works in that repository: none of a folder inside of it.
    """
    try:
        where = locate(folder)
        root = "" if where is None else where.root
    except Failure:
        root = os.path.realpath(folder)
    program, path = _find_program(os.environ.get("PATH", os.defpath), root)
    clean = _clean(network=False) | {"PATH": path, "GIT_DIR": _NOWHERE}
    return run([program, "-C", "/", "version"], clean, b"", timeout=60)[1].decode("utf-8", "replace")


def _read_user_setting(program: str, path: str, key: str) -> list[str]:
    """Returns every value of a setting in the user's and the system's git configuration; no repository is asked."""
    clean = _clean(network=False) | {"PATH": path, "GIT_DIR": _NOWHERE}
    status, out, _ = run([program, "-C", "/", "config", "-z", "--get-all", key], clean, b"", timeout=60)
    return out.decode("utf-8", "surrogateescape").split("\0")[:-1] if status == 0 else []


def check_trusted_from(folder: str, path: str, what: str) -> None:
    """Raises UntrustedPath unless the user's own settings name the path to which a folder leads."""
    program, searched = _find_program(os.environ.get("PATH", os.defpath), folder)
    _ask_once(program, searched, path, what, tuple(map(_note_file, _list_user_files(program))))


@lru_cache(maxsize=64)
def _ask_once(program: str, searched: str, path: str, what: str, files: tuple[tuple[str, int, int], ...]) -> None:
    check_trusted(path, what, partial(_read_user_setting, program, searched))


def shares_new_files(root: str) -> bool:
    """Returns whether the user's own settings say whom new files in repositories are for (`core.sharedRepository`)."""
    where = locate(root)
    program, path = _find_program(os.environ.get("PATH", os.defpath), "" if where is None else where.root)
    return _asks_to_share(program, path, tuple(map(_note_file, _list_user_files(program))))


def _list_user_files(program: str) -> list[str]:
    """Returns where git looks for the settings of the user and the system."""
    environ = os.environ
    if "GIT_CONFIG_GLOBAL" in environ:
        files = [environ["GIT_CONFIG_GLOBAL"]]
    else:
        home = environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
        files = [os.path.join(home, "git", "config"), os.path.expanduser("~/.gitconfig")]
    if "GIT_CONFIG_SYSTEM" in environ:
        return [*files, environ["GIT_CONFIG_SYSTEM"]]
    # By how it was built: /etc, or beside its own folder.
    beside = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    return [*files, "/etc/gitconfig", os.path.join(beside, "etc", "gitconfig")]


def _note_file(path: str) -> tuple[str, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, -1
    return path, found.st_mtime_ns, found.st_size


@lru_cache(maxsize=8)
def _asks_to_share(program: str, path: str, files: tuple[tuple[str, int, int], ...]) -> bool:
    """Returns whether sharing is set. git is asked only where one of the files may say so, or name another one."""
    texts = [read_regular(file, limits.CONFIG) for file, _, size in files if size >= 0]
    if all(text is not None and not re.search(rb"(?i)sharedrepository|include", text) for text in texts):
        return False
    return bool(_read_user_setting(program, path, "core.sharedRepository"))


def _check_push(where: Repository, start: list[str], rest: list[str], clean: dict[str, str], ask_user: AskUser) -> None:
    """A push into a folder of this machine runs that folder's hooks: only where the user's own settings name it."""
    remote = next((word for word in rest if not word.startswith("-")), "")
    # `insteadOf` of the user's config may turn one into the other, so git itself says where it would push.
    asked = [*start, "remote", "get-url", "--push", "--all", "--", remote]
    status, out, _ = run(asked, clean, b"", timeout=60)
    addresses = out.decode("utf-8", "surrogateescape").splitlines() if status == 0 else [remote]
    for address in addresses:
        if folder := _find_folder(where.root, address):
            check_trusted(folder, "A push would run the hooks of", ask_user)


def _find_folder(root: str, address: str) -> str:
    """Returns the folder of this machine that an address names, or an empty text."""
    if address.startswith("file://"):
        from urllib.parse import unquote

        return unquote(address.removeprefix("file://"))
    before, colon, _ = address.partition(":")
    is_path = not colon or "/" in before  # as git tells a path from host:path
    return os.path.join(root, os.path.expanduser(address)) if is_path and address else ""


def _fetch_cleanly(
    root: str, start: list[str], rest: list[str], clean: dict[str, str], ask_user: AskUser
) -> dict[str, str]:
    """Returns settings with which git fetches from a folder of this machine, and none of that folder's config is read.

    Its address is replaced by one of a git directory of ours. Raises UntrustedPath where that is not possible.
    """
    remote = next((word for word in rest if not word.startswith("-")), "")
    address = _ask(start, clean, "ls-remote", "--get-url", "--end-of-options", remote)
    folder = _find_folder(root, address)
    if not folder:
        return {}
    served = locate_exactly(folder)
    is_folder = os.path.isdir(folder) or os.path.isdir(f"{folder}.git")
    if served is None and not is_folder and not _is_git_link(folder):
        return {}  # nothing, or a bundle, which has no config
    if served is not None:
        written = _ask(start, clean, "config", "-z", "--get-all", f"remote.{remote}.url").partition("\0")[0] or remote
        number = int(clean.get("GIT_CONFIG_COUNT", "0"))
        mine = find_served_folder(served, _find_cache(), ask_user)
        more = {
            "GIT_CONFIG_COUNT": str(number + 1),
            f"GIT_CONFIG_KEY_{number}": f"url.{mine}.insteadOf",
            f"GIT_CONFIG_VALUE_{number}": written,
        }
        # A rule of the user for the same address comes before ours.
        if _ask(start, clean | more, "ls-remote", "--get-url", "--end-of-options", remote) == mine:
            return more
    check_trusted(folder, "A fetch would use the configuration of", ask_user)
    return {}


def _is_git_link(path: str) -> bool:
    try:
        with open_regular(path) as file:
            return file.read(7) == b"gitdir:"
    except OSError:
        return False


def _ask(start: list[str], clean: dict[str, str], *words: str) -> str:
    status, out, _ = run([*start, *words], clean, b"", timeout=60)
    return out.decode("utf-8", "surrogateescape").removesuffix("\n") if status == 0 else ""
