"""A repository whose config, hooks, attributes and submodule run a program at every chance that git gives."""

import os
from pathlib import Path
from typing import NamedTuple

from tests.workspace.repositories import git, new_repository

HOOKS = (
    "reference-transaction", "pre-commit", "post-commit", "post-checkout", "commit-msg", "post-index-change",
    "pre-push", "fsmonitor-watchman", "pre-receive", "update", "post-receive", "post-update", "push-to-checkout",
)  # fmt: skip


class Hostile(NamedTuple):
    """A hostile repository."""

    root: Path
    program: Path
    """What it wants to run."""
    marker: Path
    """The file that the program leaves."""


def make_hostile(folder: Path) -> Hostile:
    """Make the program and the repository, both in this folder."""
    marker, program = folder / "ran", folder / "evil"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >> {marker}\ncat\n')
    program.chmod(0o755)
    root = new_repository(folder / "hostile", a__txt="one\n", b__txt="two\n", c__txt="three\n")
    new_repository(folder / "library", d__txt="four\n")
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(folder / "library"), "library")
    (root / ".gitattributes").write_text(
        "* filter=evil diff=evil merge=evil\n*.txt filter=e=v diff=e=v\nc.txt filter= diff=\n"
    )
    (root / "shared-config").write_text(f'[core]\n\tfsmonitor = "{program} pulled"\n')
    git(root, "add", "-A")
    git(root, "commit", "-qm", "attributes")
    plant_hooks(root / ".git", program)
    (root / ".git/more").write_text(drivers(program))
    with (root / ".git/config").open("a") as config:
        config.write(CONFIG.replace("PROGRAM", str(program)).replace("FOLDER", str(folder)))
    with (root / ".git/modules/library/config").open("a") as config:
        config.write(f"[core]\n\tfsmonitor = {program} in the submodule\n" + drivers(program))
    (root / ".git/modules/library/info/attributes").write_text("* filter=evil diff=evil\n")
    (root / ".git/info/attributes").write_text("* filter=evil diff=evil\n")
    for name in ("a.txt", "c.txt", "library/d.txt"):
        (root / name).write_text("changed\n")
    os.utime(root / "b.txt", (1, 1))
    marker.unlink(missing_ok=True)
    return Hostile(root, program, marker)


def plant_hooks(git_dir: Path, program: Path) -> None:
    """Put the program in the place of every hook."""
    (git_dir / "hooks").mkdir(exist_ok=True)
    for hook in HOOKS:
        (git_dir / "hooks" / hook).write_text(program.read_text())
        (git_dir / "hooks" / hook).chmod(0o755)


def drivers(program: Path) -> str:
    """Filters and differs under ordinary names, a name with `=`, and no name at all."""
    return "".join(
        f"""
[filter "{name}"]
  clean = {program} clean
  smudge = {program} smudge
  required = true
[diff "{name}"]
  textconv = {program} textconv
  command = {program} command
"""
        for name in ("evil", "e=v", "")
    )


CONFIG = """
[include]
  path = more
  path = ../shared-config
[core]
  fsmonitor = PROGRAM fsmonitor
  pager = PROGRAM pager
  editor = PROGRAM editor
  sshCommand = PROGRAM ssh
  askPass = PROGRAM askpass
  alternateRefsCommand = PROGRAM alternates
  gitProxy = PROGRAM proxy
  hooksPath = FOLDER
  worktree = FOLDER
  attributesFile = FOLDER/attributes
[hook "evil"]
  command = PROGRAM hook
  event = reference-transaction
  event = pre-push
  event = post-index-change
[diff]
  external = PROGRAM external
[merge "evil"]
  driver = PROGRAM driver
[gpg]
  program = PROGRAM gpg
[commit]
  gpgSign = true
[tag]
  gpgSign = true
[log]
  showSignature = true
[credential]
  helper = PROGRAM helper
[credential ""]
  helper = PROGRAM helper
[credential "https://example.org"]
  helper = PROGRAM helper
[http]
  cookieFile = FOLDER/cookies
  saveCookies = true
  sslCert = FOLDER/cert
[http "https://example.org"]
  proxy = FOLDER
[trailer "evil"]
  key = one
  cmd = PROGRAM trailer
  ifmissing = add
[tar "evil"]
  command = PROGRAM tar
[alias]
  status = !PROGRAM alias
[extensions]
  partialClone = evil
  worktreeConfig = true
[remote "evil"]
  url = FOLDER/nothing
  uploadpack = PROGRAM uploadpack
  receivepack = PROGRAM receivepack
  vcs = evil
  promisor = true
[remote "shell"]
  url = FOLDER/hostile
  uploadpack = PROGRAM uploadpack
  receivepack = PROGRAM receivepack
[remote "ssh"]
  url = git@host.invalid:path
[remote "git"]
  url = git://host.invalid/path
[remote "ext"]
  url = ext::PROGRAM ext
[url "ext::PROGRAM "]
  insteadOf = https://
[protocol]
  allow = always
[protocol "ext"]
  allow = always
[uploadpack]
  packObjectsHook = PROGRAM pack
"""
