"""What `postil doctor` asks of the workspace: git, the repository, the state database, what killed processes left."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Annotated

from msgspec import Meta

from postil.core.failure import Failure
from postil.core.group import Finding, check
from postil.core.operation import destroys
from postil.workspace.clones.sharing import read_sharing
from postil.workspace.disk import read_regular
from postil.workspace.failures import DamagedConfig, NoRepository, printable
from postil.workspace.files import find_leftovers, remove_leftovers
from postil.workspace.git import git_lines, read_git_version
from postil.workspace.git_config import LARGEST, Setting, is_true, keep_allowed, parse_config
from postil.workspace.operations.answers import Cleaned
from postil.workspace.part import Workspace
from postil.workspace.repository import Repository
from postil.workspace.watch import Watch

OLDEST_GIT = (2, 36)
"""Before it, `core.fsync` does not exist, and what git acknowledged may be lost with the power."""


MOST_FOLDERS = 2000
"""Folders of ours in which temporary files are looked for."""
MOST_NAMED = 8
"""How many settings of the repository are named."""


class WorkspaceChecks:
    """Checks that need no part."""

    def __init__(self, context: Workspace) -> None:
        self._workspace = context

    @check("git")
    def git_is_recent(self) -> Finding:
        """Whether git is there and new enough to keep what it acknowledges."""
        version = read_git_version(os.getcwd())
        if not version:
            return Finding("error", "git was not found", "Install git and put it on PATH")
        found = tuple(int(number) for number in version.split(".")[:2] if number.isdecimal())
        if found < OLDEST_GIT:
            wanted = ".".join(map(str, OLDEST_GIT))
            return Finding("warning", f"git {version}", f"Install git {wanted} or newer: older ones do not fsync refs")
        return Finding("ok", f"git {version}")

    @check("repository")
    def repository_is_found(self) -> Finding:
        """Whether we are in a repository."""
        try:
            found = self._workspace.find()
        except NoRepository as failure:
            return Finding("warning", failure.message, failure.advice)
        except Failure as failure:
            return Finding("error", failure.message, failure.advice)
        from postil.storage.writable import is_full  # a sibling; only the doctor asks

        if is_full(found.root):
            advice = "Free some space: comments and issues are written there"
            return Finding("error", f"{printable(found.root)}: the disk is full, or nearly", advice)
        return Finding("ok", printable(found.root))

    @check("own folder")
    def folder_can_be_written(self) -> Finding:
        """Whether this user may write what Postil keeps in the git directory: its locks, caches and logs."""
        try:
            found = self._workspace.find()
            folder = found.postil_folder()
        except Failure as failure:
            return Finding("ok", f"not looked for: {failure.message}")
        closed = find_closed(folder)
        if not closed:
            return Finding("ok", printable(folder))
        from shlex import quote  # only here is a command told

        whose = f"it belongs to {_name_owner(closed)}"
        how = f"`chmod -R g+rwX {quote(folder)}`, and `git config core.sharedRepository group` for what comes later"
        if read_sharing(found.common_dir):
            how = f"`chmod -R g+rwX {quote(folder)}`: it was made before the repository was shared"
        return Finding("error", f"{printable(closed)} cannot be written by you: {whose}", f"Let its owner run {how}")

    @check("git config")
    def settings_are_used(self) -> list[Finding]:
        """Which settings of the repository git sees in your shell and not here; those that run programs there first."""
        try:
            found = self._workspace.find()
            unused = [name for name in list_unused(found) if ".postil-" not in name]  # ours: git's own
            running = list_running(found, self._workspace.git_settings())
        except Failure as failure:
            return [Finding("ok", f"not looked for: {failure.message}")]
        if not unused and not running:
            return [Finding("ok", "every setting of the repository is used")]
        return [*_warn_of(running), *([self._tell_unused(unused)] if unused else [])]

    def _tell_unused(self, unused: list[str]) -> Finding:
        shown = ", ".join(printable(name) for name in unused[:MOST_NAMED])
        more = f" and {len(unused) - MOST_NAMED} more" if len(unused) > MOST_NAMED else ""
        seen = f"not used here, since a repository may bring them: {shown}{more}"
        return Finding("ok", f"{seen}. Set those that Postil shall use with `git config --global`")

    @check("state")
    def state_is_sound(self) -> Finding:
        """Whether the state database is whole."""
        try:
            address, damage = self._workspace.state_damage()
        except Failure as failure:
            return Finding("error", failure.message, failure.advice)
        if damage:
            is_file = os.path.isabs(address)
            advice = "Move the file away (messages are in it), and restore it from a backup if there is one"
            advice = advice if is_file else "docs/deploy.md says which settings it needs, and how to accept a loss"
            return Finding("error", f"{address}: {'; '.join(damage[:3])}", advice)
        return Finding("ok", address)


def find_closed(folder: str) -> str:
    """Returns the first of our folders and files that this user may not write; empty where all is open."""
    if not os.path.isdir(folder):
        return ""
    if not os.access(folder, os.W_OK | os.X_OK | os.R_OK):
        return folder
    for inside, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if not os.access(path := os.path.join(inside, name), os.W_OK, follow_symlinks=False):
                return path
    return ""


def _name_owner(path: str) -> str:
    owner = os.lstat(path).st_uid
    import pwd  # only where something is closed

    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return f"user {owner}"


class Watching:
    """How this machine tells of changes."""

    def __init__(self, context: Workspace) -> None:
        self._workspace = context

    @check("watching")
    def changes_are_told(self) -> Finding:
        """Whether the kernel has room for one more watch."""
        try:
            with Watch([os.getcwd()]) as watch:
                is_immediate = watch.immediate
        except OSError as error:
            return Finding("error", f"nothing can be watched: {error.strerror}", "Close programs that hold many files")
        if is_immediate:
            return Finding("ok", "changes are told by the kernel")
        advice = "Raise fs.inotify.max_user_instances and max_user_watches (sysctl); until then Postil looks by itself"
        return Finding("warning", "the kernel has no inotify instance left: changes are noticed by looking", advice)


class Leftovers:
    """Temporary files that killed processes left in the work tree or in the git folder."""

    def __init__(self, context: Workspace) -> None:
        self._workspace = context

    @destroys("workspace_clean", title="Remove what killed processes left", shell="workspace clean", toolset="extra")
    def clean(self, fix: Annotated[bool, Meta(description="Remove them instead of listing them")] = False) -> Cleaned:
        """List the temporary files that killed processes left here, or remove them"""
        return Cleaned(tuple(clean_leftovers(self._workspace.find(), fix=fix)), removed=fix)

    @check("leftovers")
    def leftovers_are_gone(self) -> Finding:
        """Whether killed processes left temporary files."""
        try:
            found = self.clean().files
        except Failure as failure:
            return Finding("ok", f"not looked for: {failure.message}")
        if found:
            return Finding(
                "warning", f"{len(found)} temporary files of killed processes", "Run `postil workspace clean --fix`"
            )
        return Finding("ok", "none")


_RUNS = re.compile(
    r"core\.(fsmonitor|hookspath|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)|sequence\.editor|pager\..*"
    r"|filter\..*\.(clean|smudge|process)|diff\.external|diff\..*\.(command|textconv)|merge\..*\.driver|gpg\.(.*\.)?program"
    r"|credential\.(.*\.)?helper|(diff|merge)tool\..*\.(cmd|path)|(browser|man)\..*\.(cmd|path)|trailer\..*\.(cmd|command)"
    r"|interactive\.difffilter|uploadpack\.packobjectshook|remote\..*\.(uploadpack|receivepack|vcs)|protocol\..*allow"
    r"|include(if\..*)?\.path|gpg\.ssh\.defaultkeycommand|gc\.recentobjectshook|tar\..*\.command|hook\..*\.command"
    r"|guitool\..*\.cmd|imap\.tunnel|instaweb\.httpd|web\.browser|sendemail\.(.*\.)?(smtpserver|sendmailcmd|\w+cmd)"
    r"|lfs\.(customtransfer|extension)\..*\.(path|clean|smudge)",
    re.IGNORECASE | re.DOTALL,
)
"""Settings that name a program, or a file that may. An alias and a submodule's update do with a `!` before it."""
_RUNS_AFTER_A_MARK = re.compile(r"alias\..*|submodule\..*\.update", re.IGNORECASE | re.DOTALL)
_MAY_BE_TRUE = re.compile(r"core\.fsmonitor|pager\..*", re.IGNORECASE | re.DOTALL)
"""Those that say by a truth value whether something of git's own runs. Elsewhere `on` is a program, or a folder."""
_TRUTH = frozenset({"true", "false", "yes", "no", "on", "off", "0", "1"})
_NONE: Mapping[str, str] = {}
_LFS = re.compile(r"git[ -]lfs( [a-z%-]+)+")


def list_running(repository: Repository, ours: Mapping[str, str] = _NONE) -> list[str]:
    """Returns the names of the repository's settings that make the user's own git run something, sorted.

    `ours` are those that Postil wrote, which are left out where they still say the same.
    """
    names = set[str]()
    for section, of, key, value in _read_settings(repository):
        name, said = section + ("" if of is None else f".{of}") + f".{key}", (value or "").strip()
        if not said or _LFS.fullmatch(said) or (_MAY_BE_TRUE.fullmatch(name) and said.lower() in _TRUTH):
            continue
        if ours.get(name) == value:
            continue
        if _RUNS.fullmatch(name) or (said.startswith("!") and _RUNS_AFTER_A_MARK.fullmatch(name)):
            names.add(name)
    return sorted(names)


def _warn_of(running: list[str]) -> list[Finding]:
    if not running:
        return []
    shown = ", ".join(printable(name) for name in running[:MOST_NAMED])
    more = f" and {len(running) - MOST_NAMED} more" if len(running) > MOST_NAMED else ""
    return [
        Finding(
            "warning",
            f"your own git runs what these settings of the repository name, Postil does not: {shown}{more}",
            "Before you run git in a repository that somebody else made, read its .git/config, and take out what you "
            "do not know",
        )
    ]


def list_unused(repository: Repository) -> list[str]:
    """Returns the names of the repository's settings that git is not told of, sorted. Raises DamagedConfig."""
    settings = _read_settings(repository)
    used = set(keep_allowed(settings, _name_config(repository)))
    return sorted({".".join(filter(None, each[:3])) for each in settings if each not in used})


def _name_config(repository: Repository) -> str:
    return os.path.join(repository.common_dir, "config")


def _read_settings(repository: Repository) -> list[Setting]:
    """Returns what git reads: a second file, too, where the first one announces it."""
    settings = _read_file(_name_config(repository))
    announced = [each.value for each in settings if each[:3] == ("extensions", None, "worktreeconfig")]
    if announced and is_true(announced[-1]):
        settings += _read_file(os.path.join(repository.git_dir, "config.worktree"))
    return settings


def _read_file(file: str) -> list[Setting]:
    content = read_regular(file, LARGEST)
    if content is None and os.path.lexists(file):
        raise DamagedConfig(file)
    return [*parse_config((content or b"").decode("utf-8", "surrogateescape"), file)]


def clean_leftovers(repository: Repository, *, fix: bool) -> list[str]:
    """Returns the temporary files that killed processes left here; with `fix` they are removed."""
    act = remove_leftovers if fix else find_leftovers
    files: list[str] = []
    for root, folder in _list_folders(repository):
        with suppress(Failure):  # a folder that is gone, or led elsewhere by a link
            files += [os.path.join(folder, name) for name in act(root, folder)]
    return files


def _list_folders(repository: Repository) -> Iterator[tuple[str, str]]:
    """Yields root and folder of each place that may hold some: git names those of the work tree in one walk."""
    yield repository.common_dir, ""
    own = repository.postil_folder()
    for here, _, _ in islice(os.walk(own), MOST_FOLDERS):  # which follows no link
        yield own, os.path.relpath(here, own) if here != own else ""
    if not repository.bare:
        found = git_lines(
            repository.root, "ls-files", "-z", "--others", "--ignored", "--exclude=.postil-*.tmp", separator=b"\0"
        )
        folders = {os.path.dirname(os.fsdecode(name)) for name in found if name}
        yield from ((repository.root, folder) for folder in sorted(folders))
