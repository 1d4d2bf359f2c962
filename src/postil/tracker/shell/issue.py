"""The shell's commands for one issue or milestone that is there already (`postil issue …`, `git mile …`)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from postil.core import call
from postil.core.operation import destroys, reads, writes
from postil.tracker.events import Set
from postil.tracker.failures import AmbiguousId, InvalidParams, NoSuchEntity
from postil.tracker.model import Entity
from postil.tracker.operations.answers import Changed
from postil.tracker.operations.assistant import AssistantTools, Id
from postil.tracker.shell.answers import StatusAnswer
from postil.tracker.shell.input import edit_text, read_text_or_file
from postil.tracker.shell.tables import ShownInShell
from postil.tracker.state.history import History, describe_history


class IssueCommands(AssistantTools):
    """`git mile show|edit|assign|open|close|draft|log|delete ID`; `postil milestone …` says the same."""

    @reads(
        "issue.show",
        tool=False,
        shell="issue show",
        positional=("id",),
        output_depth=0,
        spellings={"milestone show": {}},
        says={"milestone show": "Show a milestone with its progress and comments"},
    )
    def issue_show(self, id: Id, limit_comments: Annotated[int, Meta(ge=0)] = 20) -> ShownInShell:
        """Show an issue or milestone with its comments, links, conflicts and progress"""
        self.refresh()
        entity = self.entity(id)
        milestone = self.store.entity(entity.milestone) if entity.milestone else None
        return ShownInShell(self.shown(entity), milestone.title if milestone else "", limit_comments)

    @writes("issue.edit", tool=False, shell="issue edit", positional=("id",), spellings={"milestone edit": {}})
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
        text = read_text_or_file("description", description, description_file)
        self.refresh()
        entity = self.entity(id)
        if all(value is None for value in (title, text, milestone, due)):
            title, text = self._typed_edit(entity)
        with self.transaction(author, email) as tx:
            entity = self.entity(entity.id)
            changed = self.update(tx, entity, title=title, description=text, milestone=milestone, due=due)
        return self.changed(entity.id, changed)

    @writes(
        "issue.assign",
        tool=False,
        shell="issue assign",
        positional=("id", "names"),
        spellings={"milestone assign": {}},
    )
    def issue_assign(
        self,
        id: Id,
        names: tuple[str, ...] = (),
        remove: tuple[str, ...] = (),
        author: str | None = None,
        email: str | None = None,
    ) -> Changed:
        """Assign people to an issue, or take them off"""
        if not names and not remove:
            raise InvalidParams("Nobody was named", advice="Name people, or take them off with --remove NAME")
        with self.transaction(author, email) as tx:
            entity = self.entity(id)
            changed = self.update(tx, entity, assign=names, unassign=remove)
        return self.changed(entity.id, changed)

    @writes("issue.open", tool=False, shell="issue open", positional=("id",), spellings={"milestone open": {}})
    def issue_open(
        self, id: Id, message: str = "", author: str | None = None, email: str | None = None
    ) -> StatusAnswer:
        """Open an issue or milestone again"""
        return self._set_status(id, "open", message, author, email)

    @writes("issue.close", tool=False, shell="issue close", positional=("id",), spellings={"milestone close": {}})
    def issue_close(
        self, id: Id, message: str = "", author: str | None = None, email: str | None = None
    ) -> StatusAnswer:
        """Close an issue or milestone"""
        return self._set_status(id, "closed", message, author, email)

    @writes("issue.draft", tool=False, shell="issue draft", positional=("id",), spellings={"milestone draft": {}})
    def issue_draft(
        self, id: Id, message: str = "", author: str | None = None, email: str | None = None
    ) -> StatusAnswer:
        """Make an issue or milestone a draft"""
        return self._set_status(id, "draft", message, author, email)

    @reads(
        "issue.log", tool=False, shell="issue log", positional=("id",), output_depth=0, spellings={"milestone log": {}}
    )
    def issue_log(self, id: Id) -> History:
        """Everything that happened to an issue or milestone"""
        self.refresh()
        found = self.find(id)
        return describe_history(found, self.store.events(found))

    @destroys("issue.delete", tool=False, shell="issue delete", positional=("id",), spellings={"milestone delete": {}})
    def issue_delete(self, id: Id, undo: Annotated[bool, Meta(description="bring it back")] = False) -> Changed:
        """Take an issue or milestone out of every list; its history stays, and --undo brings it back"""
        with self.transaction() as tx:
            found = self._deleted(id) if undo else self.find(id)
            tx.write(Set, found, f="deleted", value="false" if undo else "true")
        return self.changed(found, ["restored" if undo else "deleted"])

    def _deleted(self, given: str) -> str:
        """What was meant among all that ever was: lists and prefixes know only what is not deleted."""
        prefix = given.strip().lower()
        with self.store.index.lock:
            rows = self.store.index.db.execute(
                "SELECT id FROM log WHERE id >= ? AND id < ? ORDER BY id LIMIT 10", (prefix, prefix + "g")
            ).fetchall()
        if len(rows) > 1 and rows[0][0] != prefix:
            raise AmbiguousId(prefix[:64], [id_ for (id_,) in rows])
        if not rows or not prefix:
            raise NoSuchEntity("Entity", given)
        return rows[0][0]

    def _set_status(self, id_: str, status: str, message: str, author: str | None, email: str | None) -> StatusAnswer:
        with self.transaction(author, email) as tx:
            tx.message = message
            entity = self.entity(id_)
            changed = self.update(tx, entity, status=status)
        if not changed:
            call.current().log("warning", f"{entity.kind} {entity.id} already {status}")
        return StatusAnswer(id=entity.id, kind=entity.kind, status=status, changed=bool(changed))

    def _typed_edit(self, entity: Entity) -> tuple[str, str]:
        text = edit_text(
            self._editor,
            "First the title, then an empty line, then the description.",
            f"{entity.title}\n\n{entity.description}\n",
        )
        title, _, description = text.partition("\n")
        return title, description.strip("\n")
