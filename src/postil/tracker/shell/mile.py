"""The commands that `git mile` spells with the kind as a word: create, list, comment, label.

`postil issue …` and `postil milestone …` are the same commands, with the kind settled by their first word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import UNSET, Meta
from msgspec.structs import replace

from postil.core.operation import reads, writes
from postil.tracker.failures import InvalidParams
from postil.tracker.index.pages import DEFAULT_LIMIT, Page
from postil.tracker.model import Entity
from postil.tracker.operations.answers import show_comment
from postil.tracker.operations.assistant import AssistantTools, Id
from postil.tracker.shell.answers import CommentAnswer, LabelAnswer, MadeAnswer
from postil.tracker.shell.columns import COLUMNS, DEFAULT_COLUMNS
from postil.tracker.shell.input import can_edit, cut_preview, edit_text, read_labels, read_text_or_file
from postil.tracker.shell.tables import ListedDetails, Listing, make_details
from postil.tracker.text import round_to_second, strip_address
from postil.tracker.validation import check_comment

Kind = Literal["milestone", "mile", "issue"]
Filter = Annotated[
    str, Meta(description='status == "open" and labels contains "x"; (= status open); status:open words')
]
Sort = Annotated[tuple[str, ...], Meta(description="field[:asc|desc]; may be repeated")]
Columns = Annotated[str, Meta(description="by comma: " + ",".join(COLUMNS))]
Message = Annotated[str, Meta(description="a note for the history")]


def _says(verb: str, issue: str, milestone: str) -> Mapping[str, str]:
    return {f"issue {verb}": issue, f"milestone {verb}": milestone}


def _spelled(verb: str) -> Mapping[str, Mapping[str, object]]:
    return {f"{kind} {verb}": {"kind": kind} for kind in ("issue", "milestone")}


class MileCommands(AssistantTools):
    """`git mile create|list|comment|label KIND …`."""

    @writes(
        "mile.create",
        tool=False,
        shell="mile create",
        positional=("kind", "title"),
        spellings=_spelled("create"),
        says=_says("create", "Create an issue", "Create a milestone"),
    )
    def mile_create(
        self,
        kind: Kind,
        title: str,
        description: str | None = None,
        description_file: str | None = None,
        comment: Annotated[str, Meta(description="a first comment")] | None = None,
        comment_file: str | None = None,
        editor: Annotated[bool, Meta(description="type the first comment in your editor")] = False,
        no_editor: Annotated[bool, Meta(description="open no editor, whatever else is said")] = False,
        allow_empty: Annotated[bool, Meta(description="record the comment though it is empty")] = False,
        label: tuple[str, ...] = (),
        label_file: tuple[str, ...] = (),
        milestone: Annotated[str, Meta(description="id or title")] | None = None,
        due: Annotated[str, Meta(description="YYYY-MM-DD")] | None = None,
        assign: tuple[str, ...] = (),
        message: Message = "",
        draft: bool = False,
        dry_run: bool = False,
        author: str | None = None,
        email: str | None = None,
    ) -> MadeAnswer:
        """Create an issue or a milestone"""
        first = read_text_or_file("comment", comment, comment_file)
        if editor and not no_editor:
            if first is not None:
                raise InvalidParams("Both a comment and --editor were given", advice="Give one of them")
            first = edit_text(self._editor, f"The first comment on: {title}")
        if first is not None and not allow_empty:
            first = check_comment(first)
        with self.transaction(author, email) as tx:
            tx.message = message
            id_ = self.create(
                tx,
                _full_kind(kind),
                title,
                description=read_text_or_file("description", description, description_file) or "",
                labels=read_labels(label, label_file),
                milestone=milestone,
                due=due,
                assignees=assign,
                status="draft" if draft else "open",
            )
            if first is not None:
                self.comment(tx, id_, first)
            made = tx.fold_created(id_)
            if dry_run:
                tx.discard()
        return MadeAnswer(
            id=id_,
            title=made.title,
            status=made.status,
            description=made.description or None,
            labels=made.labels,
            initial_comment=bool(made.comments),
            kind=made.kind,
            milestone=made.milestone or UNSET,
            due=made.due or UNSET,
            dry_run=True if dry_run else UNSET,
        )

    @reads(
        "mile.list",
        tool=False,
        shell="mile list",
        positional=("kind", "query"),
        flags={"filter": "f"},
        output_depth=0,
        spellings=_spelled("list"),
        says=_says("list", "List issues", "List milestones"),
    )
    def mile_list(
        self,
        kind: Kind = "issue",
        query: Annotated[tuple[str, ...], Meta(description="a filter, as words")] = (),
        filter: Filter | None = None,
        sort: Sort = (),
        limit: Annotated[int, Meta(ge=1)] = DEFAULT_LIMIT,
        cursor: str | None = None,
        all: Annotated[bool, Meta(description="closed ones too")] = False,
        long: bool = False,
        columns: Columns | None = None,
        format: Literal["table", "raw", "json"] = "table",
    ) -> Listing | ListedDetails:
        """List issues or milestones"""
        if query and filter is not None:
            raise InvalidParams("Both words and --filter were given", advice="Give one of them")
        shown = tuple(name.strip() for name in columns.split(",")) if columns else COLUMNS if long else DEFAULT_COLUMNS
        for name in shown:
            if name not in COLUMNS:
                raise InvalidParams(f"Unknown column `{name}`", advice=f"Columns are {', '.join(COLUMNS)}")
        found = self.list_page(_full_kind(kind), " ".join(query) if query else filter, sort, limit, cursor, all)
        if format == "json":
            return self._details(found, long)
        titles = self._milestone_titles() if "milestone" in shown else {}
        return Listing(found.rows, shown, format, found.next_cursor, lambda: self._details(found, long), titles)

    @writes(
        "mile.comment",
        tool=False,
        shell="mile comment",
        positional=("kind", "id", "text"),
        spellings=_spelled("comment"),
        says=_says("comment", "Comment on an issue", "Comment on a milestone"),
    )
    def mile_comment(
        self,
        kind: Kind,
        id: Id,
        text: str | None = None,
        comment: str | None = None,
        comment_file: str | None = None,
        editor: Annotated[bool, Meta(description="type it in your editor, as without any text")] = False,
        no_editor: Annotated[bool, Meta(description="open no editor, whatever else is said")] = False,
        allow_empty: Annotated[bool, Meta(description="record the comment though it is empty")] = False,
        quote: Annotated[str, Meta(description="id of a comment to quote")] | None = None,
        dry_run: bool = False,
        message: Message = "",
        author: str | None = None,
        email: str | None = None,
    ) -> CommentAnswer:
        """Comment on an issue or milestone"""
        body = read_text_or_file("comment", comment if comment is not None else text, comment_file)
        if body is not None and editor:
            raise InvalidParams("Both a comment and --editor were given", advice="Give one of them")
        self.refresh()
        entity = self.entity(id, _full_kind(kind))
        quoted = _quote_comment(entity, quote) if quote is not None else ""
        if body is None and not no_editor and (editor or can_edit()):
            body = edit_text(self._editor, f"Comment on: {entity.title}", quoted)
        elif body is not None or quoted:
            body = quoted + (body or "")
        words = (body or "").rstrip() if allow_empty else check_comment(body or "")
        would = CommentAnswer(
            resource=entity.kind,
            resource_id=entity.id,
            body=words,
            preview=cut_preview(words),
            created=False,
            dry_run=True,
        )
        if dry_run:
            return would
        with self.transaction(author, email) as tx:
            tx.message = message
            comment_id = self.comment(tx, entity.id, words)
        return replace(
            would,
            created=True,
            comment_id=comment_id,
            created_at=round_to_second(tx.ts),
            timestamp=round_to_second(tx.ts),
            author=tx.author.name,
            dry_run=UNSET,
        )

    @writes("mile.label", tool=False, shell="mile label", positional=("kind", "id"), spellings=_spelled("label"))
    def mile_label(
        self,
        kind: Kind,
        id: Id,
        add: tuple[str, ...] = (),
        remove: tuple[str, ...] = (),
        set: Annotated[tuple[str, ...], Meta(description="exactly these")] = (),
        clear: bool = False,
        author: str | None = None,
        email: str | None = None,
    ) -> LabelAnswer:
        """Attach, detach, set or clear labels"""
        if sum((bool(add or remove), bool(set), clear)) != 1:
            raise InvalidParams("Nothing to do, or too much", advice="Give --add and --remove, or --set, or --clear")
        with self.transaction(author, email) as tx:
            entity = self.entity(id, _full_kind(kind))
            if set or clear:
                add, remove = set, tuple(label for label in entity.labels if label not in set)
            added, removed = self.label(tx, entity, add, remove)
        return LabelAnswer(
            resource=entity.kind,
            resource_id=entity.id,
            changed=bool(added or removed),
            added=added,
            removed=removed,
            current=sorted({*entity.labels, *added} - {*removed}),
        )

    def _details(self, found: Page, long: bool) -> ListedDetails:
        items = [
            make_details(row, item, entity, [show_comment(c) for c in entity.comments] if long and entity else [])
            for row, item in zip(found.rows, self.items(found), strict=True)
            for entity in [self.store.entity(row.id)]
        ]
        cursor = found.next_cursor
        return ListedDetails(items=items, nextCursor=cursor, next_cursor=cursor, generation=found.generation)

    def _milestone_titles(self) -> dict[str, str]:
        with self.store.index.lock:
            return dict(self.store.index.db.execute("SELECT id, title FROM ent WHERE kind = 'milestone'").fetchall())


def _full_kind(kind: Kind) -> str:
    return "milestone" if kind == "mile" else kind


def _quote_comment(entity: Entity, quote: str) -> str:
    found = [comment for comment in entity.comments if comment.id.startswith(quote)] if quote else []
    if len(found) != 1:
        said = "No comment has" if not found else f"{len(found)} comments have"
        raise InvalidParams(
            f"{said} an id that begins with `{quote[:64]}`", advice="`show` lists the ids of comments; give one of them"
        )
    lines = "\n".join(f"> {line}" for line in found[0].body.split("\n"))
    return f"> {strip_address(found[0].author)} wrote:\n{lines}\n\n"
