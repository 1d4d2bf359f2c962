"""Creating, changing and claiming issues and milestones: tools for assistants, and the commands of the same names.

The tools' schemas are kept short: together with the contract's two tools they stay within 6 kB. What only a person at a
shell has (files, an editor, dry runs, another author) is `shell_only`. The commands settle `in_full`: they answer with
the keys that the contract's program has.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta
from msgspec.structs import replace

from postil.core import call
from postil.core.operation import Spelling, writes
from postil.tracker.failures import InvalidParams, ServerError
from postil.tracker.imports.model import derive_comment_id, derive_entity_id
from postil.tracker.issues import Issues
from postil.tracker.model import Entity
from postil.tracker.operations.answers import list_left
from postil.tracker.operations.arguments import AllowEmpty, Id, IssueType, Kind, Message, NoEditor, Priority, full_kind
from postil.tracker.operations.write_answers import (
    Changed,
    CommentAdded,
    Created,
    LabelsChanged,
    report_change,
)
from postil.tracker.shell.input import (
    cut_preview,
    edit_text,
    quote_comment,
    read_labels,
    read_text_or_file,
)
from postil.tracker.text import round_to_second
from postil.tracker.validation import check_comment, check_key
from postil.tracker.vocabulary import ADDRESS_FIELD
from postil.workspace.editing.editor import keep_typed

Status = Literal["draft", "open", "closed"]
Key = Annotated[str, Meta(description="the same key again changes nothing")]
_WRITER = ("author", "email")
_NO_FIELDS: dict[str, object] = {
    **dict.fromkeys(("title", "description", "description_file", "milestone", "due", "status")),
    **dict.fromkeys(("priority", "type", "estimate", ADDRESS_FIELD)),
    "label": [],
    "unlabel": [],
}


def _spell(verb: str, settles: dict[str, object], says: str, issue: str = "", milestone: str = "") -> list[Spelling]:
    """Returns `mile VERB KIND …` and the same with the kind settled by the first word."""
    full = {"in_full": True, **settles}
    return [
        Spelling(f"mile {verb}", full, says, requires=("entity",)),
        Spelling(f"issue {verb}", {"entity": "issue", **full}, issue or says),
        Spelling(f"milestone {verb}", {"entity": "milestone", **full}, milestone or says),
    ]


def _spell_by_id(verb: str, settles: dict[str, object], says: str, *more: str) -> Spelling:
    """Returns the command of `git mile VERB ID`: the id knows its kind."""
    return Spelling(f"mile {verb}-by-id", {"entity": None, "in_full": True, **settles}, says, ("id", *more))


def _spell_both(
    verb: str, settles: dict[str, object], says: str, positional: tuple[str, ...] = ("id",)
) -> list[Spelling]:
    """Returns `issue VERB ID` and `milestone VERB ID`, which mean the same."""
    flags: dict[str, str] | None = {} if "description" in settles else None  # no short flags for what the words settle
    return [Spelling(f"{kind} {verb}", settles, says, positional, flags) for kind in ("issue", "milestone")]


class AssistantTools:
    """What may be done with issues and milestones besides listing and showing them."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @writes(
        "git_mile_create",
        aliases=("git_mile.create",),
        older={"kind": "entity"},
        crash=ServerError,
        positional=("entity", "title"),
        shell_only=(
            *("description_file", "comment", "comment_file", "editor", "no_editor", "allow_empty", "label"),
            *("label_file", "assign", "parent", "message", "dry_run", *_WRITER, "in_full"),
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
        priority: Priority | None = None,
        type: IssueType | None = None,
        estimate: Annotated[str, Meta(description="4h, 2d, 3p")] | None = None,
        key: Key | None = None,
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
        parent: Annotated[str, Meta(description="the issue of which it is a part")] | None = None,
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
            first = edit_text(self._issues.store.repository, self._issues.editor, f"The first comment on: {title}")
        if first is not None and not allow_empty:
            first = check_comment(first)
        with (
            keep_typed(self._issues.store.repository, first if editor else None),
            self._issues.transaction(author, email, message, dry_run) as tx,
        ):
            known = derive_entity_id(f"key:{check_key(key)}") if key is not None else ""
            before = self._issues.store.entity(known) if known else None
            if before is not None:  # the same call again: what it made is answered
                return Created(id=known, title=before.title, status=before.status, kind=before.kind, changed=[])
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
                fields={"priority": priority, "type": type, "estimate": estimate},
                id_=known,
            )
            if first is not None:
                self._issues.comment(tx, id_, first)
            made = tx.fold_created(id_)
            if parent is not None:
                self._issues.link(tx, made, "parent", parent, remove=False)
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
        idempotent=True,
        older={"names": "assign"},
        crash=ServerError,
        positional=("id",),
        clears=("description",),
        shell_only=("description_file", "remove", "label", "unlabel", "external_ref", *_WRITER, "when_empty"),
        spellings=(
            *_spell_both(
                "edit",
                {"assign": [], "unassign": [], "remove": [], "when_empty": "edit"},
                "Change title, description, status, labels, milestone, due date; without a flag, in your editor",
            ),
            *_spell_both(
                "assign",
                {**_NO_FIELDS, "unassign": [], "when_empty": "refuse"},
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
        priority: Priority | None = None,
        type: IssueType | None = None,
        estimate: Annotated[str, Meta(description="4h, 2d, 3p or none")] | None = None,
        description_file: str | None = None,
        remove: tuple[str, ...] = (),
        label: Annotated[tuple[str, ...], Meta(description="attach; may be repeated")] = (),
        unlabel: Annotated[tuple[str, ...], Meta(description="detach; may be repeated")] = (),
        external_ref: Annotated[str, Meta(description="its address at another tracker, or none")] | None = None,
        author: str | None = None,
        email: str | None = None,
        when_empty: Literal["nothing", "edit", "refuse"] = "nothing",
    ) -> Changed:
        """Change fields of an issue or milestone; writing a field settles its conflict"""
        text = read_text_or_file("description", description, description_file)
        if when_empty == "refuse" and not assign and not remove:
            raise InvalidParams("Nobody was named", advice="Name people, or take them off with --remove NAME")
        fields = {"priority": priority, "type": type, "estimate": estimate, ADDRESS_FIELD: external_ref}
        given = (title, text, status, milestone, due, *fields.values())
        typed = when_empty == "edit" and all(value is None for value in given) and not label and not unlabel
        if typed:
            self._issues.refresh()
            entity = self._issues.find(id)
            id, (title, text) = entity.id, self._edit_fields(entity)
        with (
            keep_typed(self._issues.store.repository, f"{title}\n\n{text}" if typed else None),
            self._issues.transaction(author, email) as tx,
        ):
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
                fields=fields,
            )
            added, removed = self._issues.label(tx, entity, label, unlabel) if label or unlabel else ([], [])
            changed += [*(f"+{name}" for name in added), *(f"-{name}" for name in removed)]
        return report_change(self._issues.store.entity(entity.id), changed)

    @writes(
        "git_mile_comment",
        thing="id",
        aliases=("git_mile.comment",),
        older={"kind": "entity"},
        crash=ServerError,
        positional=("entity", "id", "text"),
        flags={"comment": "m"},
        shell_only=(
            *("entity", "text", "comment", "comment_file", "editor", "no_editor", "allow_empty", "quote"),
            *("dry_run", "message", *_WRITER, "in_full"),
        ),
        spellings=[
            *_spell(
                "comment",
                {"body": ""},
                "Comment on an issue or milestone",
                "Comment on an issue",
                "Comment on a milestone",
            ),
            _spell_by_id("comment", {"body": ""}, "Comment on whatever has this id", "text"),
        ],
    )
    def comment(
        self,
        id: Id,
        body: Annotated[str, Meta(description="Markdown")],
        key: Key | None = None,
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
            return self._comment_briefly(id, body, key)
        given = read_text_or_file("comment", comment if comment is not None else text, comment_file)
        if given is not None and editor:
            raise InvalidParams("Both a comment and --editor were given", advice="Give one of them")
        self._issues.refresh()
        found = self._issues.find(id, full_kind(entity) if entity else None)
        quoted = quote_comment(found, quote) if quote is not None else ""
        typed = given is None and not no_editor and (editor or call.current().interactive)
        if typed:
            given = edit_text(self._issues.store.repository, self._issues.editor, f"Comment on: {found.title}", quoted)
            given = "" if given.strip() == quoted.strip() else given  # nothing was said about it
        elif given is not None or quoted:
            given = quoted + (given or "")
        with keep_typed(self._issues.store.repository, given if typed else None):
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
        with (
            keep_typed(self._issues.store.repository, words if typed else None),
            self._issues.transaction(author, email, message) as tx,
        ):
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

    def _comment_briefly(self, id_: str, body: str, key: str | None) -> CommentAdded:
        with self._issues.transaction() as tx:
            found = self._issues.find_id(id_)
            known = derive_comment_id(found, f"key:{check_key(key)}") if key is not None else ""
            if known:
                entity = self._issues.find(found)
                said = next((one for one in entity.comments if one.id == known), None)
                if said is not None:  # the same call again
                    return CommentAdded(id=found, comment_id=known, ts=round_to_second(said.ts))
            comment_id = self._issues.comment(tx, found, check_comment(body), known)
        return CommentAdded(id=found, comment_id=comment_id, ts=round_to_second(tx.ts))

    @writes(
        "git_mile_close",
        aliases=("git_mile.close",),
        crash=ServerError,
        positional=("id", "more"),
        shell_only=("status", "more", "message", *_WRITER, "in_full"),
        spellings=[
            spelling
            for verb, status, says in (
                ("open", "open", "Open an issue or milestone again"),
                ("close", "closed", "Close an issue or milestone"),
                ("draft", "draft", "Make an issue or milestone a draft"),
            )
            for spelling in _spell_both(
                verb, {"comment": "", "reopen": False, "status": status, "in_full": True}, says, ("id", "more")
            )
        ],
    )
    def close(
        self,
        id: Id,
        comment: str = "",
        reopen: bool = False,
        status: Status | None = None,
        more: Annotated[tuple[str, ...], Meta(description="more of them")] = (),
        message: str = "",
        author: str | None = None,
        email: str | None = None,
        in_full: bool = False,
    ) -> Changed:
        """Close (or reopen) an issue or milestone"""
        wanted = status or ("open" if reopen else "closed")
        if more:
            return self._set_status((id, *more), wanted, author, email, message)
        with self._issues.transaction(author, email, message) as tx:
            entity = self._issues.find(id)
            changed = self._issues.update(tx, entity, status=wanted)
            if comment.strip():
                self._issues.comment(tx, entity.id, comment)
                changed.append("comment")
        left = list_left(self._issues.show(entity, 0)) if wanted == "closed" and changed else []
        if not in_full:
            return report_change(self._issues.store.entity(entity.id), [*changed, *left])
        if left:
            call.current().log("warning", f"{entity.kind} {entity.id[:8]}: {', '.join(left)}")
        if not changed:
            call.current().log("warning", f"{entity.kind} {entity.id} already {wanted}")
        return Changed(id=entity.id, kind=entity.kind, status=wanted, changed=bool(changed))

    def _set_status(
        self, ids: tuple[str, ...], wanted: str, author: str | None, email: str | None, message: str
    ) -> Changed:
        """Set the status of several, all or none."""
        done: list[Changed] = []
        with self._issues.transaction(author, email, message) as tx:
            for entity in [self._issues.find(id_) for id_ in dict.fromkeys(ids)]:
                changed = self._issues.update(tx, entity, status=wanted)
                if not changed:
                    call.current().log("warning", f"{entity.kind} {entity.id} already {wanted}")
                done.append(Changed(id=entity.id, kind=entity.kind, status=wanted, changed=bool(changed)))
        return replace(done[0], more=done[1:])

    @writes(
        "git_mile_label",
        aliases=("git_mile.label",),
        idempotent=True,
        older={"kind": "entity"},
        crash=ServerError,
        positional=("entity", "id"),
        shell_only=("entity", "set", "clear", *_WRITER, "in_full"),
        spellings=[
            *_spell("label", {}, "Attach, detach, set or clear labels"),
            _spell_by_id("label", {}, "Change the labels of whatever has this id"),
        ],
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
        idempotent=True,
        crash=ServerError,
        shell="issue link",
        positional=("id", "type", "target"),
    )
    def link(
        self,
        id: Id,
        type: Literal["blocks", "blocked-by", "parent", "child", "related", "duplicate", "discovered-from"],
        target: Id,
        remove: Annotated[bool, Meta(description="take it off")] = False,
    ) -> Changed:
        """Link two entities: id blocks target, id has parent target, …"""
        turned = {"blocked-by": "blocks", "child": "parent"}.get(type)
        with self._issues.transaction() as tx:
            entity = self._issues.find(id)
            if turned:  # the same link, told from its other end
                done = self._issues.link(tx, self._issues.find(target), turned, entity.id, remove)
            else:
                done = self._issues.link(tx, entity, type, target, remove)
        return report_change(self._issues.store.entity(entity.id), [f"{'un' * remove}linked {type}"] if done else [])

    def _edit_fields(self, entity: Entity) -> tuple[str, str]:
        text = edit_text(
            self._issues.store.repository,
            self._issues.editor,
            "First the title, then an empty line, then the description.",
            f"{entity.title}\n\n{entity.description}\n",
        )
        title, _, description = text.partition("\n")
        return title, description.strip("\n")
