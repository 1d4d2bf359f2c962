"""Keeping the comment files well: what is damaged, git's merges of them, and what `postil doctor` asks."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from postil.anchor.syntax.languages import is_installed, language_of
from postil.comments.failures import CommentFileFull, CommentTooLarge, refuse_full
from postil.comments.index.fit import digest_shown
from postil.comments.operations.restore import (
    Restored,
    WholeFile,
    restore_all,
    restore_file,
    restore_one,
    show_name,
    show_said,
    tell_overwritten,
)
from postil.comments.operations.wordings import tell_merged
from postil.comments.sidecar.dialects import Unreadable
from postil.comments.sidecar.document import Sidecar
from postil.comments.sidecar.merge import list_reworded, merge_sidecars
from postil.comments.storage.erased import (
    Erased,
    Overwritten,
    describe,
    describe_reply,
    find_erased_replies,
    read_gone,
)
from postil.comments.storage.giants import refuse_merge
from postil.comments.storage.overwritten import find_overwritten
from postil.comments.storage.repair import Fault, find_faults
from postil.comments.storage.set_aside import list_set_aside
from postil.comments.storage.store import SUFFIX
from postil.core import call, limits
from postil.core.answer import Answer
from postil.core.arguments.typed import type_words
from postil.core.failure import Failure, NotFound, StorageFailed, describe_install
from postil.core.group import Finding, check
from postil.core.operation import reads, writes
from postil.workspace.disk import read_whole
from postil.workspace.failures import FileMissing, GitFailed
from postil.workspace.files import atomic_write, read_file
from postil.workspace.git import change_config, try_git
from postil.workspace.paths import RelativePath
from postil.workspace.program import find_own_program
from postil.workspace.repository import find_repository

if TYPE_CHECKING:
    from postil.comments.part import CommentsContext

DRIVER = "postil-comments"
MOST_NAMED = 20
ATTRIBUTE = f"*.comments merge={DRIVER} diff={DRIVER}"
_OUR_LINES = re.compile(
    rb"^[ \t]*\*\.comments merge=postil-comments(?: diff=postil-comments)?[ \t\r]*(?:\n|\Z)", re.MULTILINE
)
"""The line of today, and that of before comment files were shown as text."""
# The program that set it up, then the one on the PATH; where neither starts, git goes on as it would without Postil.
_MERGE = """\
f() { for p in %s postil; do command -v "$p" >/dev/null 2>&1 || continue; \
"$p" comments merge "$1" "$2" "$3" -- "$4"; s=$?; [ $s -lt 126 ] && return $s; done; \
git merge-file "$2" "$1" "$3"; }; f %%O %%A %%B %%P"""
_SHOW = """\
f() { for p in %s postil; do "$p" comments text -- "$1" 2>/dev/null && return; done; cat "$1"; }; f"""


def list_settings(program: str) -> dict[str, str]:
    """Returns the settings by which git merges and shows comment files with a program."""
    return {
        f"merge.{DRIVER}.name": "Postil's merge of comment files",
        f"merge.{DRIVER}.driver": _MERGE % quote(program.replace("%", "%%")),
        f"diff.{DRIVER}.textconv": _SHOW % quote(program),
    }


class Checked(Answer, frozen=True):
    """What is wrong with the sidecars."""

    faults: tuple[Fault, ...]
    files: int
    erased: tuple[Erased, ...] = ()
    """Comments written here that another program took out."""
    gone: tuple[WholeFile, ...] = ()
    """Comment files that git has and another program deleted, with how many comments."""
    to_commit: tuple[str, ...] = ()
    """The files that were changed, where git has to be told."""
    aside: tuple[str, ...] = ()
    """Copies of damaged files, of now and of before."""
    reworded: tuple[str, ...] = ()
    """Comments of which a merge kept another wording beside their own."""
    replaced: tuple[str, ...] = ()
    """Those of the copies set aside whose comment file can be read again."""
    overwritten: tuple[Overwritten, ...] = ()
    """Comments that another program made again what they were before they were changed here."""

    @property
    def exit_status(self) -> int:
        """7 while something is still wrong."""
        is_less = self.erased or self.gone or self.overwritten
        return 7 if is_less or any(not fault.fixed for fault in self.faults) else 0

    def for_model(self) -> str:
        if not self.faults and not self.erased and not self.gone and not self.overwritten:
            said = f"{self.files} comment file{'s' * (self.files != 1)}, nothing wrong"
            return "\n".join([said, *self._tell_aside(), *self._tell_reworded()])
        lines = [
            f"{fault.shown}: {fault.problem}" + (f" — {fault.fixed}" if fault.fixed else "") for fault in self.faults
        ]
        whole = {each.filePath for each in self.gone}
        lines += [
            f"{each.filePath}{SUFFIX}: it is gone with {each.counted}, and git has it; "
            f"{_restore(each.first)} brings it back"
            for each in self.gone[:MOST_NAMED]
        ]
        single = [each for each in self.erased if each.filePath not in whole]
        lines += [
            f"{each.filePath}{SUFFIX}: {show_name(each)} was taken out by another program ({show_said(each)}); "
            f"{_restore(each.id)} brings it back{_forget(each)}"
            for each in single[:MOST_NAMED]
        ]
        lines += [
            f"{each.filePath}{SUFFIX}: another program made {each.id} again what it was ({tell_overwritten(each)}); "
            f"{_restore(each.id)} brings back what was said since"
            for each in self.overwritten[:MOST_NAMED]
        ]
        more = sum(max(0, len(some) - MOST_NAMED) for some in (single, self.gone, self.overwritten))
        if more:
            lines.append(f"… and {more} more; {_restore('')} brings all back")
        if self.to_commit:
            named = " ".join(map(quote, self.to_commit)) if len(self.to_commit) <= MOST_NAMED else "'*.comments'"
            lines.append(f"To keep it, commit it: `git add -- {named}`")
        return "\n".join([*lines, *self._tell_aside(), *self._tell_reworded()])

    def _tell_reworded(self) -> list[str]:
        how = "postil comments show %s" if call.current().person else "comments_show"
        lines = [
            f"{name} has another wording, which a merge kept: `{how.replace('%s', type_words(name))}` tells both"
            for name in self.reworded[:MOST_NAMED]
        ]
        if len(self.reworded) > MOST_NAMED:
            lines.append(f"… and {len(self.reworded) - MOST_NAMED} more; lists mark them [2 wordings]")
        return lines

    def _tell_aside(self) -> list[str]:
        there = "its comment file can be read again"
        named = [f"{name} ({there})" if name in self.replaced else name for name in self.aside[:MOST_NAMED]]
        lines = [f"Set aside, as it was: {name}" for name in named]
        if len(self.aside) > MOST_NAMED:
            lines.append(f"… and {len(self.aside) - MOST_NAMED} more beside them")
        if len(self.replaced) < len(self.aside):
            lines.append("Mend such a copy and put it in the place of its comment file, or delete it")
        if self.replaced:
            lines.append(
                "Where the comment file can be read again, delete the copy when you miss nothing that it holds"
            )
        return lines


def _is_uncommitted(root: str, name: str) -> bool:
    """Whether a file is new to git, changed or deleted since the last commit."""
    return bool(try_git(root, "status", "--porcelain", "-u", "--", name).out.strip())


def _forget(each: Erased) -> str:
    if each.replyTo:
        return ""
    how = f"`postil comments delete {type_words(each.id)}`" if call.current().person else "delete_comment"
    return f", {how} forgets it"


def _restore(name: str) -> str:
    if call.current().person:
        return f"`postil comments restore {type_words(name) if name else '--all'}`"
    return f"comments_undo with commentId {name}" if name else "comments_undo with the commentId of each"


class GitSetUp(Answer, frozen=True):
    """Whether git merges comment files with Postil."""

    attributes: bool
    driver: bool
    did: str

    def for_model(self) -> str:
        return self.did


class GitNotSetUp(GitSetUp, frozen=True):
    """What is said to who only asks."""

    @property
    def exit_status(self) -> int:
        """As for everything that is not there."""
        return NotFound.exit_status


class Merged(Answer, frozen=True):
    """A sidecar merged by the driver."""

    path: str
    said: str = ""

    def for_model(self) -> str:
        return self.said


class MaintenanceTools:
    """Comment files as files."""

    def __init__(self, context: CommentsContext) -> None:
        self._context = context

    @reads(
        "comments_check",
        title="Check the comment files",
        aliases=("comments_repair",),
        shell="comments check",
        says="Name the comment files that are damaged or that the extension would not take; restore them (--fix)",
        shell_only=("fix",),
        writes_with=("fix",),
    )
    def check_files(
        self, fix: Annotated[bool, Meta(description="Restore or set aside what is damaged")] = False
    ) -> Checked:
        """Name the comment files that are damaged or that the extension would not take"""
        store = self._context.store
        if self._context.tree.bare:
            raise self._context.tree.without_files()
        read: dict[str, int] = {}
        reworded: list[str] = []

        def note(sidecar: Sidecar) -> None:
            read[sidecar.path] = digest_shown(sidecar.comments)
            reworded.extend(each.id for each in sidecar.comments if each.revisions)

        def bring_back(path: RelativePath) -> None:
            restore_file(self._context, path)

        faults = [*find_faults(store, fix=fix, note=note, bring_back=bring_back), *self._find_lies(read, fix=fix)]
        erased, gone = self._list_erased()
        changed = self._list_changed(faults) if self._context.tree.git else ()
        aside = [*list_set_aside(self._context.tree)]
        whole = tuple(name for name, path in aside if path in read)
        files = sum(1 for _ in store.paths())
        return Checked(
            tuple(faults),
            files,
            tuple(erased),
            gone,
            changed,
            tuple(name for name, _ in aside),
            tuple(reworded),
            whole,
            tuple(each.describe() for each in find_overwritten(store).values()),
        )

    def _list_changed(self, faults: Sequence[Fault]) -> tuple[str, ...]:
        """Returns the files that repairs changed, and of those that they joined them with the ones to be committed."""
        changed = dict.fromkeys(each.shown for each in faults if each.fixed and not each.shown.startswith("("))
        others = dict.fromkeys(f"{each.other}{SUFFIX}" for each in faults if each.other)
        root = self._context.tree.root
        changed = [name for name in changed if os.path.lexists(os.path.join(root, name)) or _is_uncommitted(root, name)]
        return (*changed, *(name for name in others if name not in changed and _is_uncommitted(root, name)))

    def _list_erased(self) -> tuple[list[Erased], tuple[WholeFile, ...]]:
        """Returns what another program took out of files, and the files that it deleted whole and git has."""
        store = self._context.store
        with read_gone(store, self._context.overview.held) as gone:
            found = [describe(each) for kept in gone.find_erased().values() if (each := gone.load(kept))]
            whole = gone.find_deleted_files()
        for each in found:
            if each.filePath in whole and each.id not in whole[each.filePath]:
                whole[each.filePath].append(each.id)
        files = tuple(WholeFile(path, len(names), names[0]) for path, names in whole.items() if names)
        return found + [describe_reply(name, each) for name, each in find_erased_replies(store).items()], files

    @writes(
        "comments_restore",
        title="Restore erased comments",
        shell="comments restore",
        positional=("commentId",),
        toolset="extra",
    )
    def restore(
        self,
        commentId: Annotated[str, Meta(description="The comment, as `delete` or `comments check` named it")] = "",
        all: Annotated[bool, Meta(description="All that another program took out")] = False,
    ) -> Restored:
        """Bring back a deleted comment, or those that another program took out of their files"""
        return restore_all(self._context) if all else restore_one(self._context, commentId)

    def _find_lies(self, read: Mapping[str, int], *, fix: bool) -> list[Fault]:
        overview = self._context.overview
        found = overview.find_lies(read)
        if found and fix:
            overview.make_anew()
        return [Fault("(cache)", problem, "the cache was made anew" if fix else "") for problem in found]

    @check("comment cache")
    def doctor_cache(self) -> Finding:
        """Whether the cache shows what the files hold, in a sample of them."""
        found = [] if self._context.tree.bare else self._context.overview.find_lies()
        if found:
            return Finding("error", "; ".join(found[:3]), "Run `postil comments check --fix`")
        return Finding("ok", "the cache shows what the comment files hold")

    @check("erased comments")
    def doctor_erased(self) -> Finding:
        """Whether another program took out comments that were written here."""
        found, whole = ([], ()) if self._context.tree.bare else self._list_erased()
        again = [] if self._context.tree.bare else [*find_overwritten(self._context.store).values()]
        if again and not found and not whole:
            some = ", ".join(f"{each.id} in {each.path}{SUFFIX}" for each in again[:5])
            said = f"another program made {len(again)} again what they were before: {some}"
            return Finding("warning", said, "See `postil comments check`")
        if not found and not whole:
            return Finding("ok", "no comment was taken out by another program")
        deleted = {each.filePath for each in whole}
        named = [f"{each.filePath}{SUFFIX} with {each.counted}" for each in whole]
        single = [f"{each.id} in {each.filePath}{SUFFIX}" for each in found if each.filePath not in deleted]
        count = len(single) + sum(each.comments for each in whole)
        said = f"another program took out {count}: {'; '.join([*named, *single][:5])}"
        return Finding("warning", said, "See `postil comments check`")

    @check("comment files")
    def doctor_files(self) -> Finding:
        """Whether every sidecar can be read."""
        found = list(find_faults(self._context.store, fix=False))
        if not found:
            count = sum(1 for _ in self._context.store.paths())
            return Finding("ok", f"{count} comment file{'s' * (count != 1)} can be read")
        named = "; ".join(f"{fault.shown}: {fault.problem}" for fault in found[:5])
        by_hand = all(fault.byHand for fault in found)
        return Finding("error", named, "Mend them by hand" if by_hand else "Run `postil comments check --fix`")

    @check("grammars")
    def doctor_grammars(self) -> Finding:
        """Whether comments in this repository's languages follow the syntax, not the text alone."""
        missing: dict[str, int] = {}
        for path in self._context.store.paths():
            language = language_of(path)
            if language is not None and not is_installed(language):
                missing[language] = missing.get(language, 0) + 1
        if not missing:
            return Finding("ok", "every commented file's language has its grammar")
        named = ", ".join(
            f"{language} ({count} file{'s' * (count != 1)})" for language, count in sorted(missing.items())
        )
        install = f"Install them with: {describe_install('languages')}"
        return Finding("warning", f"comments follow the text alone in {named}", install)

    @check("comment merge driver")
    def doctor_driver(self) -> Finding:
        """Whether git merges sidecars without conflicts."""
        if not self._context.tree.git or not any(True for _ in self._context.store.paths()):
            return Finding("ok", "no comment files to merge")
        state = self._read_git_state()
        if state.attributes and state.driver:
            return Finding("ok", "git merges comment files with Postil")
        return Finding("warning", "git would merge comment files line by line", "Run `postil setup git`")

    @writes("comments_merge", shell="comments merge", positional=("base", "ours", "theirs", "path"), tool=False)
    def merge_files(
        self,
        base: Annotated[str, Meta(description="The common ancestor (%O)")],
        ours: Annotated[str, Meta(description="Our version, which becomes the result (%A)")],
        theirs: Annotated[str, Meta(description="Their version (%B)")],
        path: Annotated[str, Meta(description="The path in the repository (%P)")] = "",
    ) -> Merged:
        """Merge three versions of a comment file: git's merge driver"""
        sides: list[bytes | None] = []
        for name in (base, ours, theirs):
            try:
                sides.append(read_whole(name, limits.FILE) or None)
            except OSError as fault:
                raise StorageFailed(f"{name} cannot be read: {fault.strerror}", advice="Merge it by hand") from fault
        try:
            refuse_merge((path or ours).removesuffix(SUFFIX), *sides)
        except (CommentFileFull, CommentTooLarge):
            return self._merge_lines(base, ours, theirs, path or ours)
        try:
            result = merge_sidecars((path or ours).removesuffix(SUFFIX), *sides)
        except Unreadable as fault:
            raise Failure(f"{path or ours} cannot be merged: {fault}", advice="Resolve it by hand") from None
        refuse_full((path or ours).removesuffix(SUFFIX), len(result))
        reworded = list_reworded((path or ours).removesuffix(SUFFIX), sides[1], sides[2], result)
        folder, name = os.path.split(os.path.abspath(ours))
        atomic_write(folder, RelativePath(name), result)
        return Merged(path or ours, tell_merged(path or ours, reworded))

    def _merge_lines(self, base: str, ours: str, theirs: str, path: str) -> Merged:
        """Leave a file that is too large for us to git, which merges it line by line."""
        names = (os.path.abspath(each) for each in (ours, base, theirs))
        done = try_git(self._context.tree.root, "merge-file", *names)
        said = f"{path} is too large to be merged by comment, and was merged by git, line by line"
        if done.status != 0:
            raise Failure(f"{said}, with conflicts", advice="Resolve them by hand")
        return Merged(path, said)

    @writes("comments_setup_git", shell="setup git", tool=False)
    def setup_git(
        self,
        check: Annotated[bool, Meta(description="Only say whether it is set up")] = False,
        remove: Annotated[bool, Meta(description="Undo it")] = False,
        write: Annotated[bool, Meta(description="Set it up (the default)")] = False,
    ) -> GitSetUp:
        """Let git merge comment files with Postil, without conflicts, and show them as text in diffs and logs"""
        if not self._context.tree.git:
            raise NotFound("There is no git repository here", advice="Run it in a repository")
        state = self._read_git_state()
        if check:
            return state
        root, text = self._context.tree.root, self._read_attributes()
        kept = _OUR_LINES.sub(b"", text)
        if remove:
            if kept != text:
                _write_attributes(root, kept)
            for section in ("merge", "diff"):
                change_config(find_repository(root), "--remove-section", f"{section}.{DRIVER}")
            return GitSetUp(False, False, "git merges comment files line by line again")
        if not state.attributes:
            end = b"\r\n" if kept.endswith(b"\r\n") else b"\n"
            between = end if kept and not kept.endswith(b"\n") else b""
            _write_attributes(root, kept + between + ATTRIBUTE.encode() + end)
        for key, value in list_settings(find_own_program()).items():
            done = change_config(find_repository(root), key, value)
            if done.status != 0:
                raise GitFailed("config", done.status, done.err.decode("utf-8", "replace"))
        return GitSetUp(
            True,
            True,
            "git merges comment files with Postil now, and shows them as text. Commit .gitattributes before you "
            "branch; everyone runs `postil setup git` once.",
        )

    def _read_git_state(self) -> GitSetUp:
        attributes = False
        with suppress(Failure):
            found = _OUR_LINES.findall(self._read_attributes())
            attributes = any(line.strip() == ATTRIBUTE.encode() for line in found)
        root = self._context.tree.root
        both = (("--get", f"merge.{DRIVER}.driver"), ("--get", f"diff.{DRIVER}.textconv"))
        driver = all(self._has_setting(root, asked) for asked in both)
        if attributes and driver:
            return GitSetUp(True, True, "git merges comment files with Postil")
        return GitNotSetUp(attributes, driver, "Not set up: run `postil setup git`")

    @staticmethod
    def _has_setting(root: str, asked: tuple[str, str]) -> bool:
        """Whether the repository's own config, which git does not see when we run it, has a setting, or the user's."""
        return change_config(find_repository(root), *asked).status == 0 or try_git(root, "config", *asked).status == 0

    def _read_attributes(self) -> bytes:
        """Returns the file to the byte, and not as lines: it may have millions. Raises a Failure for what is none."""
        try:
            return read_file(self._context.tree.root, RelativePath(".gitattributes"))
        except FileMissing:
            return b""


def _write_attributes(root: str, text: bytes) -> None:
    atomic_write(root, RelativePath(".gitattributes"), text)
