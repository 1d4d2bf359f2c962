"""How git is started so that a hostile repository runs nothing: the command line and the environment.

Two kinds of setting make git run a program. Those with fixed names are overridden always. Those that carry a name of
the attacker's choice (filters, textconv, merge drivers, remotes, credential helpers) are overridden one by one, from
what the repository's own config holds; the user's own config (global, system) is trusted, and a value of theirs is put
back.

Overrides travel in GIT_CONFIG_COUNT: on the command line a name that contains `=` would slip through.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from postil.core.failure import InvalidArguments
from postil.workspace.failures import GitFailed, GitMissing
from postil.workspace.repository import Repository, locate
from postil.workspace.spawn import run


class GitMode(msgspec.Struct, frozen=True):
    """What a git command is allowed beyond reading and writing this repository."""

    network: bool = False
    """Reach remotes with the user's own ssh and credentials. The repository's hooks and drivers stay off."""
    durable: bool = False
    """fsync objects and refs, so that what is acknowledged survives a power cut."""


Pairs = tuple[tuple[str, str], ...]

# What the repository's config could make git run or do, by settings whose names are known.
_FIXED: Pairs = (
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", ""),
    ("core.alternateRefsCommand", "true"),
    ("diff.external", ""),
    ("interactive.diffFilter", ""),
    ("sequence.editor", "false"),
    ("log.showSignature", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("merge.verifySignatures", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
    ("status.submoduleSummary", "false"),
    ("safe.bareRepository", "explicit"),
    ("protocol.ext.allow", "never"),
    ("color.ui", "false"),
    ("core.hooksPath", "/dev/null"),
)
_DURABLE: Pairs = (("core.fsync", "all"), ("core.fsyncMethod", "fsync"))

# Commands that would run a driver, or another program at the far end, unless told not to.
_DIFFING = ("diff", "diff-tree", "diff-index", "diff-files", "show", "log", "format-patch", "whatchanged")
_SWITCHES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_DIFFING, ("--no-ext-diff", "--no-textconv")),
    **dict.fromkeys(("blame", "annotate", "grep"), ("--no-textconv",)),
    # Of several remote.<name>.uploadpack git takes the first, so an override by config would come too late.
    **dict.fromkeys(("fetch", "ls-remote", "fetch-pack"), ("--upload-pack=git-upload-pack",)),
    **dict.fromkeys(("push", "send-pack"), ("--receive-pack=git-receive-pack",)),
}


def command(root: str, arguments: tuple[str, ...]) -> list[str]:
    """The command line. `safe.bareRepository=explicit` is honoured by naming a bare repository's folder."""
    if any("\0" in argument for argument in arguments):
        raise InvalidArguments("No name, path or revision can hold a NUL character", advice="Leave it out")
    start = ["git", "-C", root, "--no-pager", "--literal-pathspecs"]
    where = locate(root)
    if where is not None and where.bare:
        start.append(f"--git-dir={where.git_dir}")
    if not arguments:
        return start
    verb, *rest = arguments
    return [*start, verb, *_SWITCHES.get(verb, ()), *rest]


# Kept from the caller's environment: who the user is, and which config is theirs. All else named GIT_* could point git
# at another repository, another index or another program.
_KEPT = frozenset({
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CEILING_DIRECTORIES",
})  # fmt: skip
_KEPT_FOR_NETWORK = frozenset({"GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS", "GIT_SSL_CAINFO"})


def environment(root: str, extra: Mapping[str, str] | None, mode: GitMode) -> dict[str, str]:
    """The environment, with every override in it."""
    settings = list(_FIXED)
    if mode.durable:
        settings += _DURABLE
    where = locate(root)
    if where is not None:
        settings += _overrides(where, mode.network, _stamps(where))
    clean = _clean(mode.network)
    clean["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings):
        clean[f"GIT_CONFIG_KEY_{number}"] = key
        clean[f"GIT_CONFIG_VALUE_{number}"] = value
    if extra:
        clean |= extra
    return clean


def _clean(network: bool) -> dict[str, str]:
    kept = _KEPT | _KEPT_FOR_NETWORK if network else _KEPT
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in kept}
    return clean | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
        "GIT_NO_LAZY_FETCH": "1",  # a missing object must not start a fetch from a remote that the repository names
        "GIT_ALLOW_PROTOCOL": "https:http:ssh:git:file" if network else "none",
        "LC_ALL": "C",
    }


# A config without any of these words holds none of the named drivers and need not be parsed, which costs a process.
_SUSPECT = re.compile(rb"filter|textconv|command|driver|helper|program|trailer|vcs|proxy|include", re.IGNORECASE)
# Patterns of the names, each with the value that runs nothing. Compiled only for a config that is suspect.
_NAMED = (
    (r"filter\..+\.(clean|smudge|process)", ""),
    (r"filter\..+\.required", "false"),
    (r"diff\..+\.textconv", "cat"),
    (r"diff\..+\.command", "true"),
    (r"merge\..+\.driver", "false"),
    (r"gpg\.(.+\.)?program|gpg\.ssh\.defaultkeycommand", "false"),
    (r"trailer\..+\.(cmd|command)", "true"),
    (r"tar\..+\.command", "false"),
    (r"remote\..+\.(vcs|proxy)|core\.gitproxy|http\.(.+\.)?proxy", ""),
    (r"core\.sshcommand", "ssh"),
)
_HELPER = r"credential\.(.+\.)?helper"
_CONFIGS = ("config", "config.worktree")

Stamp = tuple[str, int, int, int]


def _stamps(where: Repository) -> tuple[Stamp, ...]:
    folders = dict.fromkeys((where.common_dir, where.git_dir))
    return tuple(_stamp(os.path.join(folder, name)) for folder in folders for name in _CONFIGS)


def _stamp(file: str) -> Stamp:
    try:
        seen = os.stat(file)
    except OSError:
        return file, 0, 0, 0
    return file, seen.st_mtime_ns, seen.st_size, seen.st_ino


@lru_cache(maxsize=64)
def _overrides(where: Repository, network: bool, stamps: tuple[Stamp, ...]) -> Pairs:
    """Overrides for the drivers that this repository's config names; made again when a config file changes."""
    if not any(_suspect(file) for file, _, size, _ in stamps if size):
        return ()
    theirs: dict[str, str] = {}
    helpers: list[tuple[str, str]] = []
    own: list[str] = []
    for scope, key, value in _settings(where, network):
        if scope in ("local", "worktree"):
            own.append(key)
        elif _is(_HELPER, key):
            helpers.append((key, value))
        else:
            theirs[key] = value
    made = {key: theirs.get(key, harmless) for key in own for pattern, harmless in _NAMED if _is(pattern, key)}
    forget = {key: "" for key in own if _is(_HELPER, key)}
    if forget:
        # An empty helper forgets all before it, the user's too, so those are named again.
        return (*made.items(), *forget.items(), *helpers)
    return tuple(made.items())


def _is(pattern: str, key: str) -> bool:
    return re.fullmatch(pattern, key, re.DOTALL) is not None  # a name may hold any character


def _suspect(file: str) -> bool:
    try:
        with open(file, "rb") as config:
            return _SUSPECT.search(config.read()) is not None
    except OSError:
        return True


def _settings(where: Repository, network: bool) -> list[tuple[str, str, str]]:
    """Every setting with the scope it comes from. `git config` itself runs nothing."""
    asked = ["git", f"--git-dir={where.git_dir}", "config", "--list", "--includes", "--show-scope", "-z"]
    try:
        status, out, err = run(asked, _clean(network), b"", timeout=60)
    except FileNotFoundError as error:
        raise GitMissing from error
    if status != 0:
        raise GitFailed("config", status, err.decode("utf-8", "replace"))
    fields = out.decode("utf-8", "surrogateescape").split("\0")
    settings: list[tuple[str, str, str]] = []
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        key, _, value = setting.partition("\n")
        settings.append((scope, key, value))
    return settings
