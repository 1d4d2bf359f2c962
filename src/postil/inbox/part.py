"""The inbox of one repository: what its groups of operations are made of.

Knows where messages are kept, which repository they are about and how one is handed to an assistant. The operations
are in operations/; how messages are kept is store.py's business, what they are about capture.py's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

from postil.core import call
from postil.core.failure import Failure
from postil.inbox.answers import Shown, cut_page, show
from postil.inbox.contract import MOST_SHOWN
from postil.inbox.model import ASSISTANT, PERSON, Message, Place, check_comment
from postil.inbox.store import LEASE_SECONDS, MessageStore
from postil.storage.holder import this_process
from postil.workspace.failures import NoRepository
from postil.workspace.repository import Repository

if TYPE_CHECKING:
    from postil.core.ports import State
    from postil.inbox.legacy import LegacyMessage
    from postil.inbox.review_requests.request_store import RequestStore


OUTSIDE = "Start the assistant in the repository, or the server with `postil -C FOLDER serve`"
"""What to do where there is no repository."""


class Terminal(Protocol):
    """What the inbox has to know of the person's terminal."""

    @property
    def drawer(self) -> Literal["", "tmux", "kitty", "wezterm", "zellij"]: ...

    @property
    def pane(self) -> str: ...

    @property
    def editor(self) -> str: ...

    @property
    def lazygit_configs(self) -> tuple[str, ...]: ...

    @property
    def clipboards(self) -> tuple[str, ...]: ...


class Inbox:
    """The messages of one repository, and its surroundings."""

    def __init__(
        self,
        state: Callable[[], State],
        repository: Callable[[], Repository],
        cwd: str,
        config_folder: str = "",
        terminal: Terminal | None = None,
    ) -> None:
        self.repository = repository
        """Returns the repository. Raises NoRepository."""
        self.cwd = cwd
        self.config_folder = config_folder
        self.terminal = terminal
        self.drafts_first = False
        """Whether a remark is a draft unless it is said otherwise."""
        self._state = state
        self._kept: tuple[Repository, MessageStore] | None = None

    @property
    def messages(self) -> MessageStore:
        """Where the messages of this repository are kept."""
        repository = self.repository_or_folder()
        if self._kept is None or self._kept[0] != repository:
            self._kept = repository, MessageStore(self._state(), repository.key, home=repository)
        return self._kept[1]

    @property
    def requests(self) -> RequestStore:
        """Where the reviews are kept that assistants ask for here."""
        from postil.inbox.review_requests.request_store import RequestStore  # a send asks for none

        return RequestStore(self._state(), self.repository_or_folder(), LEASE_SECONDS)

    @property
    def state(self) -> State:
        """The state database."""
        return self._state()

    def name(self) -> str:
        """Returns what tells this inbox from those of other repositories."""
        return self.repository_or_folder().key

    def repository_or_folder(self) -> Repository:
        """Returns the repository. Outside of any, the folder stands for one: only old messages reach its inbox."""
        try:
            return self.repository()
        except NoRepository:
            folder = os.path.realpath(self.cwd)
            return Repository(folder, folder, folder, bare=True)

    def repository_or_none(self) -> Repository | None:
        """Returns the repository, if there is one."""
        try:
            return self.repository()
        except Failure:
            return None

    def type_text(self, text: str, about: str) -> str:
        """Returns what the person's editor made of the text. Raises InvalidArguments."""
        from postil.workspace.editing.editor import run_editor  # only those who type pay for it

        editor, hint = self.terminal.editor if self.terminal else "", f"<!-- {about}; this line is dropped -->"
        typed = run_editor(editor, f"{hint}\n{text}\n", "REMARK.md", self.repository_or_none())
        return typed.removeprefix(hint).strip("\n")

    def retype(self, number: int) -> Message:
        """Open the words of a message in the person's editor and keep what became of them. Returns the message."""
        from postil.workspace.editing.editor import keep_typed

        typed = self.type_text(self.messages.get(number).comment, f"Remark #{number}")
        with keep_typed(self.repository_or_none(), typed):
            return self.messages.edit(number, check_comment(typed))

    def warn_outside(self) -> str:
        """Returns what to say where an inbox is empty because nothing can reach it: outside of any repository."""
        try:
            self.repository()
        except NoRepository as fault:
            return f"{fault.message}, so remarks cannot arrive here. {OUTSIDE}"
        return ""

    def receive(self, source: str, text: str, delivery: str) -> bool:
        """Queue what another system reported, as a note. Returns False when this delivery came before."""
        comment = check_comment(text)
        digest = f"{source} {self.name()} {delivery}"

        def make(number: int) -> Message:
            return Message(number, Place(""), comment, timestamp(), "note", source=source)

        return self.messages.add_once(digest, make)

    def deliver(self, after: int | None = None) -> list[tuple[Shown, int]]:
        """Lease messages to the caller. Returns each with its sequence. The call's end makes them seen or queued."""
        store = self.messages

        def fitting(waiting: list[Message]) -> int:
            return len(cut_page([self.show(message) for message in waiting])) if len(waiting) > 1 else 1

        messages = store.take(client(), this_process(), MOST_SHOWN, after, fitting)
        leases = [(message.id, message.lease.id) for message in messages if message.lease is not None]
        try:
            shown = cut_page([self.show(message, own=True) for message in messages])
            delivered = [(one, message.sequence) for one, message in zip(shown, messages, strict=False)]
            store.lose(leases[len(shown) :])  # it grew since it was measured: the next page begins with it
            del leases[len(shown) :]
        except BaseException:
            store.lose(leases)  # the answer will be this error
            raise
        if leases:
            call.current().when_delivered(lambda: store.confirm(leases), lambda: store.lose(leases))
        return delivered

    def show(self, message: Message, *, own: bool = False) -> Shown:
        """Returns a message with where its code is now; with its lease only for the client that holds it."""
        from postil.inbox.anchoring import anchor  # a send shows nothing

        kept = self.messages.text_of(message) if message.place.line else None
        return show(message, anchor(self.repository_or_folder(), message, kept), own=own)

    # -- the old bridge's file ------------------------------------------------------------------------------------

    @property
    def legacy_file(self) -> str:
        """The message file of the original bridge."""
        return os.path.join(self.config_folder, "jesseduffield", "lazygit", "mcp-messages.json")

    def take_legacy(self) -> LegacyMessage | None:
        """Take in what the old file holds for this repository. Returns the message, also when it was known before."""
        if not self.config_folder or not os.path.exists(self.legacy_file):
            return None
        from postil.inbox.capture import Captured, capture
        from postil.inbox.legacy import is_for, read_message  # only where the old file exists

        found = read_message(self.legacy_file)
        repository = self.repository_or_folder()
        if found is None or not is_for(found, repository):
            return None
        if not self.messages.knows(found.digest()):
            base = found.project_root or repository.root
            try:
                caught = capture(repository, base, found.file, found.span(), "new", "", "")
            except Failure:  # it names nothing that can be found: kept as it is
                caught = Captured(Place(found.file, found.span()), None)

            def make(number: int) -> Message:
                return Message(number, caught.place, found.comment, found.time or timestamp())

            self.messages.add_once(found.digest(), make, caught.text)
        return found

    def on_news(self, look: Callable[[], None]) -> Callable[[], None]:
        """Call `look` after any process wrote, and when the old file changed. Returns a function that stops this."""

        def look_quietly() -> None:
            try:
                look()
            except Failure:
                pass  # a database that is busy or gone for now: the next change looks again

        stops = [self._state().on_change(look_quietly)]
        if self.config_folder:
            from postil.inbox.legacy import watch  # only servers watch

            stops.append(watch(self.legacy_file, look_quietly))

        def stop() -> None:
            for each in stops:
                each()

        return stop


def client() -> str:
    """Returns the name of the connection that asks: what one assistant has is not given to another."""
    caller = call.current().caller
    return caller.client or f"principal-{caller.principal}"  # the same on every replica


def name_speaker() -> str:
    """Returns who says this: `you` for the person whose machine this is, `assistant` for theirs.

    Anybody else by the principal that the gateway knows, an assistant of theirs so: `key:… (bob as assistant)`.
    """
    present = call.current()
    return (present.sign("") or PERSON) if present.person else present.sign(ASSISTANT)


def timestamp() -> str:
    """Returns the present time as messages write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
