"""The shell's commands for issues (`postil issue …`, `git mile …`): what needs no network and no other format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import UNSET, Meta

from postil.core import call
from postil.core.operation import destroys, reads, writes
from postil.tracker.answers import Changed, Claimed, comment_of, name_of, second
from postil.tracker.assistant import LEASE_MINUTES, AssistantTools, Id
from postil.tracker.columns import COLUMNS, DEFAULT_COLUMNS
from postil.tracker.events import Set
from postil.tracker.failures import InvalidParams
from postil.tracker.model import Entity
from postil.tracker.pages import DEFAULT_LIMIT
from postil.tracker.shell_answers import CommentAnswer, LabelAnswer, MadeAnswer, StatusAnswer
from postil.tracker.tables import (
    History,
    ListedDetails,
    Listing,
    ShownInShell,
    details_of,
    history_of,
)
from postil.tracker.typing_in import can_edit, edited, labels_from, preview, text_or_file

Filter = Annotated[
    str, Meta(description='status == "open" and labels contains "x"; (= status open); status:open words')
]
Sort = Annotated[tuple[str, ...], Meta(description="field[:asc|desc]; may be repeated")]
Columns = Annotated[str, Meta(description="by comma: " + ",".join(COLUMNS))]
Style = Literal["table", "raw", "json"]


class IssueCommands(AssistantTools):
    """`issue create|list|show|edit|comment|label|assign|open|close|draft|link|claim|release|log|delete`."""

    @writes("issue.create", tool=False, shell="issue create", positional=("title",))
    def issue_create(
        self,
        title: str,
        description: str | None = None,
        description_file: str | None = None,
        comment: str | None = None,
        comment_file: str | None = None,
        editor: Annotated[bool, Meta(description="type the description in your editor")] = False,
        no_editor: bool = False,
        allow_empty: bool = False,
        label: tuple[str, ...] = (),
        label_file: tuple[str, ...] = (),
        milestone: Annotated[str, Meta(description="id or title")] | None = None,
        due: Annotated[str, Meta(description="YYYY-MM-DD")] | None = None,
        assign: tuple[str, ...] = (),
        message: Annotated[str, Meta(description="a note for the history")] = "",
        draft: bool = False,
        dry_run: bool = False,
        author: str | None = None,
        email: str | None = None,
    ) -> MadeAnswer:
        """Create an issue"""
        return self.make(
            "issue",
            title,
            description=text_or_file("description", description, description_file),
            comment=text_or_file("comment", comment, comment_file),
            type_in=editor and not no_editor,
            labels=labels_from(label, label_file),
            milestone=milestone,
            due=due,
            assign=assign,
            message=message,
            draft=draft,
            dry_run=dry_run,
            author=author,
            email=email,
        )

    @reads("issue.list", tool=False, shell="issue list", flags={"filter": "f"}, positional=("query",), output_depth=0)
    def issue_list(
        self,
        query: Annotated[tuple[str, ...], Meta(description="a filter, as words")] = (),
        filter: Filter | None = None,
        sort: Sort = (),
        limit: Annotated[int, Meta(ge=1)] = DEFAULT_LIMIT,
        cursor: str | None = None,
        all: Annotated[bool, Meta(description="closed ones too")] = False,
        long: bool = False,
        columns: Columns | None = None,
        format: Style = "table",
    ) -> Listing | ListedDetails:
        """List issues"""
        wanted = " ".join(query) if query else filter
        return self.listing("issue", wanted, sort, limit, cursor, all, long, columns, format)

    @reads("issue.show", tool=False, shell="issue show", positional=("id",), output_depth=0)
    def issue_show(self, id: Id, limit_comments: Annotated[int, Meta(ge=0)] = 20) -> ShownInShell:
        """Show an issue or milestone with its comments"""
        self.fresh()
        return self.shown_in_shell(self.entity(id), limit_comments)

    @writes("issue.edit", tool=False, shell="issue edit", positional=("id",))
    def issue_edit(
        self,
        id: Id,
        title: str | None = None,
        description: str | None = None,
        description_file: str | None = None,
        milestone: Annotated[str, Meta(description="id, title or none")] | None = None,
        due: Annotated[str, Meta(description="YYYY-MM-DD or none")] | None = None,
        author: str | None = None,
        email: str | None = None,
    ) -> Changed:
        """Change title, description, milestone or due date; without a flag, in your editor"""
        text = text_or_file("description", description, description_file)
        self.fresh()
        entity = self.entity(id)
        if all(value is None for value in (title, text, milestone, due)):
            title, text = self._typed_edit(entity)
        with self.store.writing(author, email) as pen:
            entity = self.entity(id)
            changed = self.update(pen, entity, title=title, description=text, milestone=milestone, due=due)
        return self.changed(entity.id, changed)

    @writes("issue.comment", tool=False, shell="issue comment", positional=("id", "text"))
    def issue_comment(
        self,
        id: Id,
        text: str | None = None,
        comment: str | None = None,
        comment_file: str | None = None,
        editor: bool = False,
        no_editor: bool = False,
        allow_empty: bool = False,
        quote: Annotated[str, Meta(description="id of a comment to quote")] | None = None,
        dry_run: bool = False,
        message: str = "",
        author: str | None = None,
        email: str | None = None,
    ) -> CommentAnswer:
        """Comment on an issue or milestone"""
        body = text_or_file("comment", comment if comment is not None else text, comment_file)
        return self.remark(None, id, body, quote, dry_run, message, author, email, type_in=editor or not no_editor)

    @writes("issue.label", tool=False, shell="issue label", positional=("id",))
    def issue_label(
        self,
        id: Id,
        add: tuple[str, ...] = (),
        remove: tuple[str, ...] = (),
        set: Annotated[tuple[str, ...], Meta(description="exactly these")] = (),
        clear: bool = False,
        author: str | None = None,
        email: str | None = None,
    ) -> LabelAnswer:
        """Attach, detach, set or clear labels"""
        return self.relabel(None, id, add, remove, set, clear, author, email)

    @writes("issue.assign", tool=False, shell="issue assign", positional=("id", "names"))
    def issue_assign(
        self,
        id: Id,
        names: tuple[str, ...] = (),
        remove: tuple[str, ...] = (),
        author: str | None = None,
        email: str | None = None,
    ) -> Changed:
        """Assign people to an issue, or take them off"""
        with self.store.writing(author, email) as pen:
            entity = self.entity(id)
            changed = self.update(pen, entity, assign=names, unassign=remove)
        return self.changed(entity.id, changed)

    @writes("issue.open", tool=False, shell="issue open", positional=("id",))
    def issue_open(
        self, id: Id, message: str = "", author: str | None = None, email: str | None = None
    ) -> StatusAnswer:
        """Open an issue or milestone again"""
        return self.set_status(id, "open", message, author, email)

    @writes("issue.close", tool=False, shell="issue close", positional=("id",))
    def issue_close(
        self, id: Id, message: str = "", author: str | None = None, email: str | None = None
    ) -> StatusAnswer:
        """Close an issue or milestone"""
        return self.set_status(id, "closed", message, author, email)

    @writes("issue.draft", tool=False, shell="issue draft", positional=("id",))
    def issue_draft(
        self, id: Id, message: str = "", author: str | None = None, email: str | None = None
    ) -> StatusAnswer:
        """Make an issue or milestone a draft"""
        return self.set_status(id, "draft", message, author, email)

    @writes("issue.link", tool=False, shell="issue link", positional=("id", "type", "target"))
    def issue_link(
        self,
        id: Id,
        type: Literal["blocks", "parent", "related", "duplicate", "discovered-from"],
        target: Id,
        remove: bool = False,
    ) -> Changed:
        """Link two issues: ID blocks TARGET, ID has the parent TARGET, …"""
        return self.link_entities(id, type, target, remove)

    @writes("issue.claim", tool=False, shell="issue claim", positional=("id",))
    def issue_claim(
        self, id: Id, who: str = "", minutes: Annotated[int, Meta(ge=1, le=44640)] = LEASE_MINUTES
    ) -> Claimed:
        """Claim an issue so that nobody else takes it"""
        return self.claim(id, who, minutes)

    @writes("issue.release", tool=False, shell="issue release", positional=("id",))
    def issue_release(self, id: Id, who: str = "") -> Claimed:
        """Give a claimed issue back"""
        return self.claim(id, who, release=True)

    @reads("issue.log", tool=False, shell="issue log", positional=("id",), output_depth=0)
    def issue_log(self, id: Id) -> History:
        """Everything that happened to an issue or milestone"""
        self.fresh()
        found = self.find(id)
        return history_of(found, self.store.events(found))

    @destroys("issue.delete", tool=False, shell="issue delete", positional=("id",))
    def issue_delete(self, id: Id, undo: Annotated[bool, Meta(description="bring it back")] = False) -> Changed:
        """Take an issue or milestone out of every list; its history stays, and --undo brings it back"""
        with self.store.writing() as pen:
            found = id.lower() if undo and self.store.entity(id.lower()) else self.find(id)
            pen.write(Set, found, f="deleted", value="false" if undo else "true")
        return self.changed(found, ["restored" if undo else "deleted"])

    # What these commands share with those of `git mile` and of milestones

    def make(
        self,
        kind: str,
        title: str,
        *,
        description: str | None,
        comment: str | None,
        type_in: bool,
        labels: Sequence[str],
        milestone: str | None,
        due: str | None,
        assign: Sequence[str] = (),
        message: str,
        draft: bool,
        dry_run: bool,
        author: str | None,
        email: str | None,
    ) -> MadeAnswer:
        """Create an entity as the shell does."""
        if type_in and description is None:
            description = edited(
                self._editor, f"# Describe: {title}\n# Lines that begin with # up here are dropped.\n\n"
            )
        with self.store.writing(author, email) as pen:
            pen.message = message
            id_ = self.create(
                pen,
                kind,
                title,
                description=description or "",
                labels=labels,
                milestone=milestone,
                due=due,
                assignees=assign,
                status="draft" if draft else "open",
                comment=comment or "",
            )
            made = pen.made(id_)
            if dry_run:
                pen.discard()
        return MadeAnswer(
            id=id_,
            title=made.title,
            status=made.status,
            description=made.description or None,
            labels=made.labels,
            initial_comment=bool(made.comments),
            kind=kind,
            milestone=made.milestone or UNSET,
            due=made.due or UNSET,
            dry_run=True if dry_run else UNSET,
        )

    def listing(
        self,
        kind: str,
        filter_: str | None,
        sort: Sequence[str],
        limit: int,
        cursor: str | None,
        everything: bool,
        long: bool,
        columns: str | None,
        style: str,
    ) -> Listing | ListedDetails:
        """A list as the shell shows it."""
        shown = tuple(name.strip() for name in columns.split(",")) if columns else COLUMNS if long else DEFAULT_COLUMNS
        for name in shown:
            if name not in COLUMNS:
                raise InvalidParams(f"Unknown column `{name}`", advice=f"Columns are {', '.join(COLUMNS)}")
        found = self.page_of(kind, filter_, sort, limit, cursor, everything)

        def details() -> ListedDetails:
            items = [
                details_of(row, item, entity, [comment_of(c) for c in entity.comments] if long and entity else [])
                for row, item in zip(found.rows, self.items(found), strict=True)
                for entity in [self.store.entity(row.id)]
            ]
            return ListedDetails(
                items=items,
                nextCursor=found.next_cursor,
                next_cursor=found.next_cursor,
                generation=found.generation,
            )

        if style == "json":
            return details()
        titles: dict[str, str] = {}
        if "milestone" in shown:
            with self.store.index.lock:
                titles = dict(
                    self.store.index.db.execute("SELECT id, title FROM ent WHERE kind = 'milestone'").fetchall()
                )
        return Listing(found.rows, shown, style, found.next_cursor, details, titles)

    def shown_in_shell(self, entity: Entity, most: int) -> ShownInShell:
        """One entity as the shell shows it."""
        milestone = self.store.entity(entity.milestone) if entity.milestone else None
        return ShownInShell(self.shown(entity), milestone.title if milestone else "", most)

    def remark(
        self,
        kind: str | None,
        id_: str,
        body: str | None,
        quote: str | None,
        dry_run: bool,
        message: str,
        author: str | None,
        email: str | None,
        *,
        type_in: bool,
    ) -> CommentAnswer:
        """Comment as the shell does."""
        self.fresh()
        entity = self.entity(id_, kind)
        quoted = self._quoted(entity, quote)
        if body is None and type_in and can_edit():
            body = edited(self._editor, f"# Comment on {entity.title}\n\n{quoted}")
        elif body is not None:
            body = quoted + body
        if body is None or not body.strip():
            raise InvalidParams("The comment is empty", advice="Give it with --comment or --comment-file")
        text = body.rstrip()
        if dry_run:
            return CommentAnswer(
                resource=entity.kind,
                resource_id=entity.id,
                body=text,
                preview=preview(text),
                created=False,
                dry_run=True,
            )
        with self.store.writing(author, email) as pen:
            pen.message = message
            comment_id = self.comment(pen, entity.id, text)
        return CommentAnswer(
            resource=entity.kind,
            resource_id=entity.id,
            body=text,
            preview=preview(text),
            created=True,
            comment_id=comment_id,
            created_at=second(pen.ts),
            timestamp=second(pen.ts),
            author=pen.author.name,
        )

    def relabel(
        self,
        kind: str | None,
        id_: str,
        add: Sequence[str],
        remove: Sequence[str],
        exactly: Sequence[str],
        clear: bool,
        author: str | None,
        email: str | None,
    ) -> LabelAnswer:
        """Change labels as the shell does."""
        if sum((bool(add or remove), bool(exactly), clear)) != 1:
            raise InvalidParams("Nothing to do, or too much", advice="Give --add and --remove, or --set, or --clear")
        with self.store.writing(author, email) as pen:
            entity = self.entity(id_, kind)
            if exactly or clear:
                add, remove = exactly, [label for label in entity.labels if label not in exactly]
            added, removed = self.label(pen, entity, add, remove)
        current = sorted({*entity.labels, *added} - {*removed})
        return LabelAnswer(
            resource=entity.kind,
            resource_id=entity.id,
            changed=bool(added or removed),
            added=added,
            removed=removed,
            current=current,
        )

    def set_status(self, id_: str, status: str, message: str, author: str | None, email: str | None) -> StatusAnswer:
        """Open, close or make a draft, and warn when it was so already."""
        with self.store.writing(author, email) as pen:
            pen.message = message
            entity = self.entity(id_)
            changed = self.update(pen, entity, status=status)
        if not changed:
            call.current().log("warning", f"{entity.kind} {entity.id} already {status}")
        return StatusAnswer(id=entity.id, kind=entity.kind, status=status, changed=bool(changed))

    def _quoted(self, entity: Entity, quote: str | None) -> str:
        if quote is None:
            return ""
        found = [comment for comment in entity.comments if comment.id.startswith(quote)]
        if len(found) != 1:
            raise InvalidParams(f"{len(found)} comments have the id {quote}", advice="`show` lists the ids of comments")
        lines = "\n".join(f"> {line}" for line in found[0].body.split("\n"))
        return f"> {name_of(found[0].author)} wrote:\n{lines}\n\n"

    def _typed_edit(self, entity: Entity) -> tuple[str, str]:
        text = edited(
            self._editor,
            f"# First the title, then an empty line, then the description.\n{entity.title}\n\n{entity.description}\n",
        )
        title, _, description = text.partition("\n")
        return title, description.strip("\n")
