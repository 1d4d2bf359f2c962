"""The shell's `export` and `import`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta
from msgspec.structs import replace

from postil.core.answer import Verbatim
from postil.core.failure import NotFound
from postil.core.operation import reads, writes
from postil.tracker.events import decode, decode_lines
from postil.tracker.failures import InvalidParams
from postil.tracker.imports.model import (
    ForeignComment,
    ForeignHistory,
    ForeignIssue,
    Imported,
    derive_entity_id,
    write_histories,
    write_issues,
)
from postil.tracker.index.pages import LARGEST_LIMIT
from postil.tracker.issues import Issues
from postil.tracker.model import Entity
from postil.tracker.origins import find_addresses, find_titled
from postil.tracker.shell.input import read_whole
from postil.tracker.state.fold import fold_lines
from postil.tracker.store import Transaction
from postil.tracker.text import format_count
from postil.workspace.files import atomic_write
from postil.workspace.paths import RelativePath

Source = Literal["auto", "jsonl", "events", "markdown", "beads", "backlog", "github", "gitlab", "git-mile", "git-bug"]


class TransferCommands:
    """`git mile export` and `git mile import`."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @reads("issue_export", aliases=("issue.export",), tool=False, shell="issue export")
    def export(
        self,
        format: Annotated[
            Literal["jsonl", "markdown", "events"],
            Meta(description="jsonl: one entity a line; events: everything, losslessly"),
        ] = "jsonl",
        filter: str | None = None,
        folder: Annotated[str, Meta(description="markdown: one file an entity, in this folder")] | None = None,
    ) -> Iterator[str] | Iterator[msgspec.Raw] | str:
        """Print all issues and milestones as JSON lines, Markdown or events"""
        found = self._chosen(filter)
        if format == "events":
            if filter is None:  # what was deleted and who wrote are no rows of a list, and still part of everything
                found = [id_ for (id_,) in self._issues.store.index.query("SELECT id FROM log ORDER BY n", ())]
            return (msgspec.Raw(lines) for _, lines in self._issues.store.index.read_histories(found))
        entities = self._issues.store.entities(found)
        if format == "jsonl":
            return (msgspec.Raw(msgspec.json.encode(to_foreign(entity))) for entity in entities)
        from postil.tracker.imports.files import write_markdown

        if folder is None:
            return (Verbatim(write_markdown(to_foreign(entity))) for entity in entities)
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as error:
            raise InvalidParams(f"{folder} cannot be made: {error.strerror}", advice="Name another folder") from None
        count = 0
        for entity in entities:
            # Kind and id come from logs that anybody may have written: they are words here, never a path.
            name = re.sub(r"[^\w-]", "_", f"{entity.kind[:20]}-{entity.id}", flags=re.ASCII) + ".md"
            atomic_write(folder, RelativePath(name), write_markdown(to_foreign(entity)).encode("utf-8", "replace"))
            count += 1
        return f"Wrote {format_count(count, 'file')} into {folder}"

    @writes("issue_import", aliases=("issue.import",), tool=False, shell="issue import", positional=("file",))
    def import_(
        self,
        file: Annotated[tuple[str, ...], Meta(description="files to read; - is standard input")] = (),
        source: Annotated[
            Source,
            Meta(description="the format, if guessed wrong; git-mile and git-bug read this repository's own refs"),
        ] = "auto",
        dry_run: Annotated[bool, Meta(description="say what would be made, and make nothing")] = False,
    ) -> Imported:
        """Import issues from files, or from the refs of git-mile or git-bug; a second time adds nothing"""
        if source in ("git-mile", "git-bug"):
            from postil.tracker.imports.git_refs import read_refs  # other commands do not pay for the foreign formats

            stories, unread = read_refs(self._issues.store.repository.root, source)
            if not stories and not unread:  # a clone has none of them, which looks like an empty tracker
                refs = "refs/bugs/*" if source == "git-bug" else "refs/git-mile/*"
                raise NotFound(
                    f"There are no refs of {source} here ({refs})",
                    advice=f"A clone does not bring them: `git fetch origin '{refs}:{refs}'`, then import again",
                )
            return replace(self._retell(stories, dry_run), unread=unread or UNSET)
        if not file:
            raise InvalidParams("No file was named", advice="Name files, or --source git-mile or git-bug")
        texts = {name: read_whole(name) for one in file for name in _list_files(one)}
        if source == "events" or (source == "auto" and next(iter(texts.values())).startswith('{"t":"')):
            return self._copy(list(texts.values()), dry_run)
        return self._take(_parse_files(texts, source), dry_run)

    def _chosen(self, filter_: str | None) -> list[str]:
        found: list[str] = []
        cursor: str | None = None
        while True:
            page = self._issues.list_page(None, filter_, ("created",), LARGEST_LIMIT, cursor, include_closed=True)
            found += [row.id for row in page.rows]
            cursor = page.next_cursor
            if cursor is None:
                return found

    def _take(self, foreign: list[ForeignIssue], dry_run: bool) -> Imported:
        with self._issues.transaction(dry_run=dry_run) as tx:
            named = dict.fromkeys(origin for one in foreign for origin in (one.origin, *one.waits_for))
            here = self._read_together(tx, list(map(derive_entity_id, named)))
            new = {origin: None for origin in named if derive_entity_id(origin) not in here}
            titled = find_titled(self._issues.store, [one for one in foreign if one.origin in new])
            foreign = [one for one in foreign if one.origin not in titled]
            at = {**find_addresses(self._issues.store, new), **titled}
            here |= self._read_together(tx, list(at.values()))
            known = {id_: entity for id_, lines in here.items() if (entity := fold_lines(lines)) is not None}
            secret = sum("confidential" in one.fields for one in foreign)
            return replace(write_issues(tx, foreign, known, at), confidential=secret or UNSET)

    def _retell(self, stories: list[ForeignHistory], dry_run: bool) -> Imported:
        with self._issues.transaction(dry_run=dry_run) as tx:
            here = self._read_together(tx, [derive_entity_id(story.origin) for story in stories])
            return write_histories(tx, stories, lambda id_: _list_events(here.get(id_, b"")))

    def _copy(self, texts: list[str], dry_run: bool) -> Imported:
        lines = [line.encode() for text in texts for line in text.split("\n") if line]
        events = [decode(line) for line in lines]
        if None in events:
            raise InvalidParams("A line is no event of this tracker", advice="Use --source jsonl or beads")
        created: set[str] = set()
        changed: set[str] = set()
        same: set[str] = set()
        copied: set[str] = set()
        with self._issues.transaction(dry_run=dry_run) as tx:
            here = self._read_together(tx, [event.ent for event in events if event is not None])
            present = {id_: _list_events(stored) for id_, stored in here.items()}
            for event, line in zip(events, lines, strict=True):
                if event is None:
                    continue
                known = present.get(event.ent, ())
                if event.id in known or event.id in copied:
                    same.add(event.ent)
                else:
                    copied.add(event.id)
                    tx.copy(line)
                    (changed if known else created).add(event.ent)
        return Imported(created=len(created), updated=len(changed), unchanged=len(same - created - changed))

    def _read_together(self, tx: Transaction, ids: list[str]) -> dict[str, bytes]:
        """Returns what is stored of these entities, read at once; the transaction has seen it then."""
        here = dict(self._issues.store.known_lines(ids))
        for id_ in dict.fromkeys(ids):
            tx.look_at(id_, here.get(id_, b""))
        return here


def _list_events(lines: bytes) -> set[str]:
    return {event.id for event in decode_lines(lines)} if lines else set()


def to_foreign(entity: Entity) -> ForeignIssue:
    """Returns an entity in the neutral form."""
    return ForeignIssue(
        origin=entity.id,
        kind=entity.kind,
        title=entity.title,
        description=entity.description,
        status=entity.status,
        labels=entity.labels,
        assignees=entity.assignees,
        milestone=entity.milestone,
        due=entity.due,
        author=entity.author,
        ts=entity.created_ts,
        updated_ts=entity.updated_ts,
        closed_ts=entity.closed_ts or "",
        comments=tuple(ForeignComment(c.id, c.author, c.ts, c.body, c.edited_ts or "") for c in entity.comments),
        links=tuple((link.type, link.target) for link in entity.links),
        fields=entity.fields,
    )


def _list_files(name: str) -> list[str]:
    """Returns a file, or the Markdown files of a folder: Backlog.md keeps a task in each."""
    if not os.path.isdir(name):
        return [name]
    found = [os.path.join(where, one) for where, _, files in os.walk(name) for one in files if one.endswith(".md")]
    if not found:
        raise InvalidParams(f"There is no Markdown file in {name}", advice="Name the folder of the tasks")
    inside = os.path.join(os.path.realpath(name), "")
    for one in found:  # the folder may be somebody else's, and what is imported is pushed
        if not os.path.realpath(one).startswith(inside):
            raise InvalidParams(
                f"{one} is a link that leads out of {name}", advice="Name that file itself, if you mean it"
            )
    return sorted(found)


def _parse_files(texts: dict[str, str], source: Source) -> list[ForeignIssue]:
    """Returns the issues of all files. Raises InvalidParams for the first that has none, before anything is written."""
    found: list[ForeignIssue] = []
    for name, text in texts.items():
        try:
            found += _parse_file(text, source)
        except InvalidParams as fault:
            if len(texts) == 1:
                raise
            told = f"{name}: {fault.message}; nothing was imported"
            raise InvalidParams(told, advice=fault.advice, **fault.data) from None
    return found


def _parse_file(text: str, source: Source) -> list[ForeignIssue]:
    from postil.tracker.imports.files import looks_like_beads, read_beads, read_jsonl, read_markdown
    from postil.tracker.imports.forges import looks_like_backlog, looks_like_host, read_backlog, read_host

    if source in ("github", "gitlab") or (source == "auto" and looks_like_host(text)):
        return read_host(text)
    if source == "backlog" or (source == "auto" and looks_like_backlog(text)):
        return read_backlog(text)
    if source == "markdown" or (source == "auto" and text.startswith("---\n")):
        return read_markdown(text)
    if source == "beads" or (source == "auto" and looks_like_beads(text)):
        return read_beads(text)
    return read_jsonl(text)
