"""Creating, changing and claiming issues and milestones: tools for assistants, and the commands of the same names.

The tools' schemas are kept short: together with the contract's two tools they stay within 6 kB. What only a person at a
shell has (files, an editor, dry runs, another author) is `shell_only`. The commands settle `in_full`: they answer with
the keys that the contract's program has.
"""

from __future__ import annotations

import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta
from msgspec.structs import replace

from postil.core import call
from postil.core.operation import Spelling, reads, writes
from postil.tracker.events import Claimed as ClaimEvent
from postil.tracker.events import Released
from postil.tracker.failures import ClaimLost, InvalidParams, ServerError
from postil.tracker.index.pages import LARGEST_LIMIT
from postil.tracker.index.tables import Row
from postil.tracker.issues import Issues
from postil.tracker.model import Entity
from postil.tracker.operations.answers import Ready, ReadyItem
from postil.tracker.operations.arguments import AllowEmpty, Id, Kind, Message, NoEditor, full_kind
from postil.tracker.operations.write_answers import (
    Changed,
    Claimed,
    CommentAdded,
    Created,
    LabelsChanged,
    report_change,
)
from postil.tracker.shell.input import cut_preview, edit_text, quote_comment, read_labels, read_text_or_file
from postil.tracker.state.graph import cut_cycles
from postil.tracker.text import format_moment, round_to_second
from postil.tracker.validation import check_comment, check_names

Status = Literal["draft", "open", "closed"]
LEASE_MINUTES = 240
_WRITER = ("author", "email")
_NO_FIELDS = {"title": None, "description": None, "description_file": None, "milestone": None, "due": None}


def _spell(verb: str, settles: dict[str, object], says: str, issue: str = "", milestone: str = "") -> list[Spelling]:
    """Returns `mile VERB KIND …` and the same with the kind settled by the first word."""
    full = {"in_full": True, **settles}
    return [
        Spelling(f"mile {verb}", full, says, requires=("entity",)),
        Spelling(f"issue {verb}", {"entity": "issue", **full}, issue or says),
        Spelling(f"milestone {verb}", {"entity": "milestone", **full}, milestone or says),
    ]


def _spell_both(
    verb: str, settles: dict[str, object], says: str, positional: tuple[str, ...] = ("id",)
) -> list[Spelling]:
    """Returns `issue VERB ID` and `milestone VERB ID`, which mean the same."""
    return [Spelling(f"{kind} {verb}", settles, says, positional) for kind in ("issue", "milestone")]


class AssistantTools:
    """What may be done with issues and milestones besides listing and showing them."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @writes(
        "git_mile_create",
        aliases=("git_mile.create",),
        crash=ServerError,
        positional=("entity", "title"),
        flags={"description": "d", "label": "l", "milestone": "m"},
        shell_only=(
            *("description_file", "comment", "comment_file", "editor", "no_editor", "allow_empty", "label"),
            *("label_file", "assign", "message", "dry_run", *_WRITER, "in_full"),
        ),
        spellings=_spell(
            "create",
            {"labels": [], "assignees": []},
            "Create an issue or a milestone",
            "Create an issue",
            "Create a milestone",
        ),
    )
    def create(
        self,
        title: str,
        entity: Kind = "issue",
        description: str = "",
        labels: tuple[str, ...] = (),
        milestone: Annotated[str, Meta(description="id or title")] | None = None,
        due: Annotated[str, Meta(description="YYYY-MM-DD")] | None = None,
        assignees: tuple[str, ...] = (),
        draft: bool = False,
        description_file: str | None = None,
        comment: Annotated[str, Meta(description="a first comment")] | None = None,
        comment_file: str | None = None,
        editor: Annotated[bool, Meta(description="type the first comment in your editor")] = False,
        no_editor: NoEditor = False,
        allow_empty: AllowEmpty = False,
        label: tuple[str, ...] = (),
        label_file: tuple[str, ...] = (),
        assign: tuple[str, ...] = (),
        message: Message = "",
        dry_run: bool = False,
        author: str | None = None,
        email: str | None = None,
        in_full: bool = False,
    ) -> Created:
        """Create an issue or milestone in git"""
        first = read_text_or_file("comment", comment, comment_file)
        if editor and not no_editor:
            if first is not None:
                raise InvalidParams("Both a comment and --editor were given", advice="Give one of them")
            first = edit_text(self._issues.editor, f"The first comment on: {title}")
        if first is not None and not allow_empty:
            first = check_comment(first)
        with self._issues.transaction(author, email, message, dry_run) as tx:
            id_ = self._issues.create(
                tx,
                full_kind(entity),
                title,
                description=read_text_or_file("description", description or None, description_file) or "",
                labels=(*labels, *read_labels(label, label_file)),
                milestone=milestone,
                due=due,
                assignees=(*assignees, *assign),
                status="draft" if draft else "open",
            )
            if first is not None:
                self._issues.comment(tx, id_, first)
            made = tx.fold_created(id_)
        created = Created(id=id_, title=made.title, status=made.status, kind=made.kind)
        if not in_full:
            return replace(created, changed=["created"])
        return replace(
            created,
            description=made.description or None,
            labels=made.labels,
            initial_comment=bool(made.comments),
            milestone=made.milestone or UNSET,
            due=made.due or UNSET,
            dry_run=True if dry_run else UNSET,
        )

    @writes(
        "git_mile_update",
        aliases=("git_mile.update",),
        crash=ServerError,
        positional=("id",),
        clears=("description",),
        flags={"description": "d", "milestone": "m"},
        shell_only=("description_file", "remove", *_WRITER, "when_empty"),
        spellings=(
            *_spell_both(
                "edit",
                {"status": None, "assign": [], "unassign": [], "remove": [], "when_empty": "edit"},
                "Change title, description, milestone or due date; without a flag, in your editor",
            ),
            *_spell_both(
                "assign",
                {**_NO_FIELDS, "status": None, "unassign": [], "when_empty": "refuse"},
                "Assign people to an issue, or take them off",
                positional=("id", "assign"),
            ),
        ),
    )
    def update(
        self,
        id: Id,
        title: str | None = None,
        description: str | None = None,
        status: Status | None = None,
        milestone: Annotated[str, Meta(description="id, title or none")] | None = None,
        due: Annotated[str, Meta(description="YYYY-MM-DD or none")] | None = None,
        assign: tuple[str, ...] = (),
        unassign: tuple[str, ...] = (),
        description_file: str | None = None,
        remove: tuple[str, ...] = (),
        author: str | None = None,
        email: str | None = None,
        when_empty: Literal["nothing", "edit", "refuse"] = "nothing",
    ) -> Changed:
        """Change fields of an issue or milestone; writing a field settles its conflict"""
        text = read_text_or_file("description", description, description_file)
        if when_empty == "refuse" and not assign and not remove:
            raise InvalidParams("Nobody was named", advice="Name people, or take them off with --remove NAME")
        if when_empty == "edit" and all(value is None for value in (title, text, milestone, due)):
            self._issues.refresh()
            entity = self._issues.find(id)
            id, (title, text) = entity.id, self._edit_fields(entity)
        with self._issues.transaction(author, email) as tx:
            entity = self._issues.find(id)
            changed = self._issues.update(
                tx,
                entity,
                title=title,
                description=text,
                status=status,
                milestone=milestone,
                due=due,
                assign=assign,
                unassign=(*unassign, *remove),
            )
        return report_change(self._issues.store.entity(entity.id), changed)

    @writes(
        "git_mile_comment",
        thing="id",
        aliases=("git_mile.comment",),
        crash=ServerError,
        positional=("entity", "id", "text"),
        flags={"comment": "m"},
        shell_only=(
            *("entity", "text", "comment", "comment_file", "editor", "no_editor", "allow_empty", "quote"),
            *("dry_run", "message", *_WRITER, "in_full"),
        ),
        spellings=_spell(
            "comment", {"body": ""}, "Comment on an issue or milestone", "Comment on an issue", "Comment on a milestone"
        ),
    )
    def comment(
        self,
        id: Id,
        body: Annotated[str, Meta(description="Markdown")],
        entity: Kind | None = None,
        text: str | None = None,
        comment: str | None = None,
        comment_file: str | None = None,
        editor: Annotated[bool, Meta(description="type it in your editor, as without any text")] = False,
        no_editor: NoEditor = False,
        allow_empty: AllowEmpty = False,
        quote: Annotated[str, Meta(description="id of a comment to quote")] | None = None,
        dry_run: bool = False,
        message: Message = "",
        author: str | None = None,
        email: str | None = None,
        in_full: bool = False,
    ) -> CommentAdded:
        """Comment on an issue or milestone"""
        if not in_full:
            return self._comment_briefly(id, body)
        given = read_text_or_file("comment", comment if comment is not None else text, comment_file)
        if given is not None and editor:
            raise InvalidParams("Both a comment and --editor were given", advice="Give one of them")
        self._issues.refresh()
        found = self._issues.find(id, full_kind(entity) if entity else None)
        quoted = quote_comment(found, quote) if quote is not None else ""
        if given is None and not no_editor and (editor or call.current().interactive):
            given = edit_text(self._issues.editor, f"Comment on: {found.title}", quoted)
        elif given is not None or quoted:
            given = quoted + (given or "")
        words = (given or "").rstrip() if allow_empty else check_comment(given or "")
        would = CommentAdded(
            resource=found.kind,
            resource_id=found.id,
            body=words,
            preview=cut_preview(words),
            created=False,
            dry_run=True,
        )
        if dry_run:
            return would
        with self._issues.transaction(author, email, message) as tx:
            comment_id = self._issues.comment(tx, found.id, words)
        ts = round_to_second(tx.ts)
        return replace(
            would,
            created=True,
            comment_id=comment_id,
            created_at=ts,
            timestamp=ts,
            author=tx.author.name,
            dry_run=UNSET,
        )

    def _comment_briefly(self, id_: str, body: str) -> CommentAdded:
        with self._issues.transaction() as tx:
            found = self._issues.find_id(id_)
            comment_id = self._issues.comment(tx, found, check_comment(body))
        return CommentAdded(id=found, comment_id=comment_id, ts=round_to_second(tx.ts))

    @writes(
        "git_mile_close",
        aliases=("git_mile.close",),
        crash=ServerError,
        positional=("id",),
        shell_only=("status", "message", *_WRITER, "in_full"),
        spellings=[
            spelling
            for verb, status, says in (
                ("open", "open", "Open an issue or milestone again"),
                ("close", "closed", "Close an issue or milestone"),
                ("draft", "draft", "Make an issue or milestone a draft"),
            )
            for spelling in _spell_both(verb, {"comment": "", "reopen": False, "status": status, "in_full": True}, says)
        ],
    )
    def close(
        self,
        id: Id,
        comment: str = "",
        reopen: bool = False,
        status: Status | None = None,
        message: str = "",
        author: str | None = None,
        email: str | None = None,
        in_full: bool = False,
    ) -> Changed:
        """Close (or reopen) an issue or milestone"""
        wanted = status or ("open" if reopen else "closed")
        with self._issues.transaction(author, email, message) as tx:
            entity = self._issues.find(id)
            changed = self._issues.update(tx, entity, status=wanted)
            if comment.strip():
                self._issues.comment(tx, entity.id, comment)
                changed.append("comment")
        if not in_full:
            return report_change(self._issues.store.entity(entity.id), changed)
        if not changed:
            call.current().log("warning", f"{entity.kind} {entity.id} already {wanted}")
        return Changed(id=entity.id, kind=entity.kind, status=wanted, changed=bool(changed))

    @writes(
        "git_mile_label",
        aliases=("git_mile.label",),
        crash=ServerError,
        positional=("entity", "id"),
        shell_only=("entity", "set", "clear", *_WRITER, "in_full"),
        spellings=_spell("label", {}, "Attach, detach, set or clear labels"),
    )
    def label(
        self,
        id: Id,
        add: tuple[str, ...] = (),
        remove: tuple[str, ...] = (),
        entity: Kind | None = None,
        set: Annotated[tuple[str, ...], Meta(description="exactly these")] = (),
        clear: bool = False,
        author: str | None = None,
        email: str | None = None,
        in_full: bool = False,
    ) -> LabelsChanged:
        """Attach and detach labels"""
        if in_full and sum((bool(add or remove), bool(set), clear)) != 1:
            raise InvalidParams("Use exactly one of: --add/--remove, --set, --clear.")
        with self._issues.transaction(author, email) as tx:
            found = self._issues.find(id, full_kind(entity) if entity else None)
            if set or clear:
                add, remove = set, tuple(label for label in found.labels if label not in set)
            added, removed = self._issues.label(tx, found, add, remove)
        if not in_full:
            what = [*(f"+{label}" for label in added), *(f"-{label}" for label in removed)]
            return LabelsChanged(id=found.id, kind=found.kind, title=found.title, status=found.status, changed=what)
        return LabelsChanged(
            resource=found.kind,
            resource_id=found.id,
            changed=bool(added or removed),
            added=added,
            removed=removed,
            current=sorted({*found.labels, *added} - {*removed}),
        )

    @writes(
        "git_mile_link",
        aliases=("git_mile.link",),
        crash=ServerError,
        shell="issue link",
        positional=("id", "type", "target"),
    )
    def link(
        self,
        id: Id,
        type: Literal["blocks", "parent", "related", "duplicate", "discovered-from"],
        target: Id,
        remove: bool = False,
    ) -> Changed:
        """Link two entities: id blocks target, id has parent target, …"""
        with self._issues.transaction() as tx:
            entity = self._issues.find(id)
            done = self._issues.link(tx, entity, type, target, remove)
        return report_change(self._issues.store.entity(entity.id), [f"{'un' * remove}linked {type}"] if done else [])

    @reads("git_mile_ready", aliases=("git_mile.ready",), crash=ServerError, shell="issue ready")
    def ready(self, limit: Annotated[int, Meta(ge=1)] = 20, filter: str | None = None) -> Ready:
        """Open issues that nothing blocks and nobody has claimed"""
        self._issues.refresh()
        kept, circles = cut_cycles(self._issues.list_edges("blocks", open_only=True))
        blocked = {then for _, then in kept}
        now = self._issues.now_text()
        free: list[Row] = []
        cursor: str | None = None
        while len(free) < limit:
            page = self._issues.list_page("issue", filter, ("created",), LARGEST_LIMIT, cursor, include_closed=False)
            free += [
                row for row in page.rows if row.id not in blocked and row.status == "open" and row.claim_until <= now
            ]
            cursor = page.next_cursor
            if cursor is None:
                break
        return Ready(
            items=[
                ReadyItem(
                    id=row.id,
                    title=row.title,
                    labels=row.label_names(),
                    milestone=row.milestone or UNSET,
                    due=row.due or UNSET,
                )
                for row in free[:limit]
            ],
            blocked=len(blocked),
            cycles=[[id_[:8] for id_ in circle] for circle in circles] or UNSET,
        )

    @writes(
        "git_mile_claim",
        aliases=("git_mile.claim",),
        crash=ServerError,
        shell="issue claim",
        positional=("id",),
        spellings=(Spelling("issue release", {"release": True}, "Give a claimed issue back"),),
    )
    def claim(
        self,
        id: Id,
        who: Annotated[str, Meta(description="default: the git user")] = "",
        minutes: Annotated[int, Meta(ge=1, le=44640)] = LEASE_MINUTES,
        release: bool = False,
    ) -> Claimed:
        """Claim an issue so that nobody else takes it, or release it"""
        with self._issues.transaction() as tx:
            entity = self._issues.find(id, "issue")
            (name,) = check_names("claimer", (who,)) or (tx.author.name,)
            held = entity.claim if entity.claim and entity.claim.until > tx.ts else None
            if entity.status == "closed" and not release:
                raise InvalidParams(f"{entity.id[:8]} is closed", advice="Reopen it, or take another issue")
            if held is not None and held.who != name:
                raise ClaimLost(entity.id, held.who, round_to_second(held.until))
            if release:
                if held is not None:
                    tx.write(Released, entity.id, who=name)
                return Claimed(id=entity.id, title=entity.title, who="", until="")
            until = format_moment(self._issues.store.now() + datetime.timedelta(minutes=minutes))
            tx.write(ClaimEvent, entity.id, who=name, until=until)
        return Claimed(id=entity.id, title=entity.title, who=name, until=round_to_second(until))

    def _edit_fields(self, entity: Entity) -> tuple[str, str]:
        text = edit_text(
            self._issues.editor,
            "First the title, then an empty line, then the description.",
            f"{entity.title}\n\n{entity.description}\n",
        )
        title, _, description = text.partition("\n")
        return title, description.strip("\n")
