"""The commands that `git mile` spells its own way, with the kind as a word: create, list, comment, label.

And milestones'.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from postil.core.operation import reads, writes
from postil.tracker.assistant import Id
from postil.tracker.pages import DEFAULT_LIMIT
from postil.tracker.shell_answers import CommentAnswer, LabelAnswer, MadeAnswer, StatusAnswer
from postil.tracker.shell_issue import Columns, Filter, IssueCommands, Sort, Style
from postil.tracker.tables import ListedDetails, Listing, ShownInShell
from postil.tracker.typing_in import labels_from, text_or_file

Kind = Literal["milestone", "mile", "issue"]


class MileCommands(IssueCommands):
    """`git mile create|list|comment|label KIND …` and `postil milestone …`."""

    @writes("mile.create", tool=False, shell="mile create", positional=("kind", "title"))
    def mile_create(
        self,
        kind: Kind,
        title: str,
        description: str | None = None,
        description_file: str | None = None,
        comment: str | None = None,
        comment_file: str | None = None,
        editor: bool = False,
        no_editor: bool = False,
        allow_empty: bool = False,
        label: tuple[str, ...] = (),
        label_file: tuple[str, ...] = (),
        milestone: Annotated[str, Meta(description="id or title")] | None = None,
        due: Annotated[str, Meta(description="YYYY-MM-DD")] | None = None,
        message: str = "",
        draft: bool = False,
        dry_run: bool = False,
        author: str | None = None,
        email: str | None = None,
    ) -> MadeAnswer:
        """Create an issue or a milestone"""
        return self.make(
            _kind(kind),
            title,
            description=text_or_file("description", description, description_file),
            comment=text_or_file("comment", comment, comment_file),
            type_in=editor and not no_editor,
            labels=labels_from(label, label_file),
            milestone=milestone,
            due=due,
            message=message,
            draft=draft,
            dry_run=dry_run,
            author=author,
            email=email,
        )

    @reads("mile.list", tool=False, shell="mile list", positional=("kind",), output_depth=0)
    def mile_list(
        self,
        kind: Kind,
        filter: Filter | None = None,
        sort: Sort = (),
        limit: Annotated[int, Meta(ge=1)] = DEFAULT_LIMIT,
        cursor: str | None = None,
        all: Annotated[bool, Meta(description="closed ones too")] = False,
        long: bool = False,
        columns: Columns | None = None,
        format: Style = "table",
        legacy_query: Annotated[
            bool, Meta(description="accepted and without effect: all syntaxes are understood")
        ] = False,
    ) -> Listing | ListedDetails:
        """List issues or milestones"""
        return self.listing(_kind(kind), filter, sort, limit, cursor, all, long, columns, format)

    @writes("mile.comment", tool=False, shell="mile comment", positional=("kind", "id"))
    def mile_comment(
        self,
        kind: Kind,
        id: Id,
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
        body = text_or_file("comment", comment, comment_file)
        type_in = editor or not no_editor
        return self.remark(_kind(kind), id, body, quote, dry_run, message, author, email, type_in=type_in)

    @writes("mile.label", tool=False, shell="mile label", positional=("kind", "id"))
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
        return self.relabel(_kind(kind), id, add, remove, set, clear, author, email)

    @writes("milestone.create", tool=False, shell="milestone create", positional=("title",))
    def milestone_create(
        self,
        title: str,
        description: str | None = None,
        description_file: str | None = None,
        label: tuple[str, ...] = (),
        due: Annotated[str, Meta(description="YYYY-MM-DD")] | None = None,
        draft: bool = False,
        author: str | None = None,
        email: str | None = None,
    ) -> MadeAnswer:
        """Create a milestone"""
        return self.make(
            "milestone",
            title,
            description=text_or_file("description", description, description_file),
            comment=None,
            type_in=False,
            labels=label,
            milestone=None,
            due=due,
            message="",
            draft=draft,
            dry_run=False,
            author=author,
            email=email,
        )

    @reads("milestone.list", tool=False, shell="milestone list", positional=("query",), output_depth=0)
    def milestone_list(
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
        """List milestones"""
        wanted = " ".join(query) if query else filter
        return self.listing("milestone", wanted, sort, limit, cursor, all, long, columns, format)

    @reads("milestone.show", tool=False, shell="milestone show", positional=("id",), output_depth=0)
    def milestone_show(self, id: Id, limit_comments: Annotated[int, Meta(ge=0)] = 20) -> ShownInShell:
        """Show a milestone with its progress"""
        self.fresh()
        return self.shown_in_shell(self.entity(id, "milestone"), limit_comments)

    @writes("milestone.close", tool=False, shell="milestone close", positional=("id",))
    def milestone_close(self, id: Id, message: str = "") -> StatusAnswer:
        """Close a milestone"""
        return self.set_status(id, "closed", message, None, None)

    @writes("milestone.open", tool=False, shell="milestone open", positional=("id",))
    def milestone_open(self, id: Id, message: str = "") -> StatusAnswer:
        """Open a milestone again"""
        return self.set_status(id, "open", message, None, None)


def _kind(kind: Kind) -> str:
    return "milestone" if kind == "mile" else kind
