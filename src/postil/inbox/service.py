"""The inbox: a person's remarks, sent from lazygit or the shell, reach an assistant and are never lost.

The operations of this part. How messages are kept is store.py's business, what they are about capture.py's, where the
code is now anchoring.py's.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from msgspec import Meta

from postil.core import call
from postil.core.announcer import Announcement, Tell, announcer
from postil.core.check import Finding, check
from postil.core.failure import Failure
from postil.core.glance import glance
from postil.core.operation import destroys, reads, writes
from postil.core.resource import resource
from postil.inbox import contract
from postil.inbox.anchoring import anchor
from postil.inbox.answers import Changed, Checked, Hooked, Listed, Picked, Receipt, Sent, Shown, Waited, overflow, shown
from postil.inbox.capture import Captured, capture
from postil.inbox.model import Context, Kind, Message, Outcome, Place, Reply, Side, checked_comment
from postil.inbox.store import LEASE_SECONDS, Shelf
from postil.storage.holder import this_process
from postil.workspace.failures import NoRepository
from postil.workspace.repository import Repository

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

    from postil.core.ports import State
    from postil.inbox.legacy import LegacyMessage


class Terminal(Protocol):
    """What the inbox has to know of the person's terminal."""

    @property
    def in_tmux(self) -> bool: ...

    @property
    def lazygit_configs(self) -> tuple[str, ...]: ...


LONGEST_WAIT = 600
LOOK_AGAIN = 5.0
"""While waiting, how often to see whether the holder of a lease has died: nothing else would say so."""

Number = Annotated[int, Meta(ge=1, description="the number of a message, as in #12")]
LeaseName = Annotated[str, Meta(description="the lease that came with the message")]


class Inbox:
    """Messages of one repository."""

    def __init__(
        self,
        state: Callable[[], State],
        repository: Callable[[], Repository],
        cwd: str,
        config_folder: str = "",
        terminal: Terminal | None = None,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._state = state
        self._find = repository
        self._cwd = cwd
        self._config = config_folder
        self._terminal = terminal
        self._lease_seconds = lease_seconds

    # -- for the person -------------------------------------------------------------------------------------------

    @writes(
        "inbox_send",
        shell="inbox send",
        tool=False,
        flags={"file": "f", "comment": "c", "line": "l"},
    )
    def send(
        self,
        comment: Annotated[str, Meta(description="the remark; - reads it from standard input")],
        file: Annotated[str, Meta(description="the file it is about")] = "",
        line: Annotated[str | int, Meta(description="a line (42) or a range (42-45)")] = "",
        kind: Annotated[Kind, Meta(description="what is wanted: a fix, an answer, or nothing")] = "fix",
        context: Annotated[Context, Meta(description="where in lazygit the person stands")] = "",
        commit: Annotated[str, Meta(description="the commit that is looked at, instead of the work tree")] = "",
        side: Annotated[Side, Meta(description="which side of the diff the line counts on")] = "new",
        broadcast: Annotated[bool, Meta(description="every assistant gets it, not just one")] = False,
    ) -> Receipt:
        """Send a remark about a file, a line or a commit to the assistant."""
        message = self._send(comment, file, str(line), kind, context, commit, side, broadcast)
        counts = self._shelf().counts()
        note = overflow(counts.waiting) if counts.waiting > contract.MOST_SHOWN else ""
        about = contract.file_row(message.place.file, message.place.commit)
        return Receipt(message.id, about, message.place.line, counts.waiting, counts.last_read, note)

    @writes(
        "bridge_send", shell="bridge send", tool=False, flags={"file": "f", "comment": "c", "line": "l"}, output_depth=0
    )
    def bridge_send(self, file: str, comment: str, line: str | int = "") -> Sent:
        """Send a comment about a file, as lazygit-mcp-bridge does."""
        message = self._send(comment, file, str(line), "fix", "", "", "new", False)
        waiting = self._shelf().counts().waiting
        if waiting > contract.MOST_SHOWN:
            call.current().log("warning", overflow(waiting))  # beside the contract's sentence, not in it
        return Sent(file, message.id)

    def _send(
        self,
        comment: str,
        file: str,
        line: str,
        kind: Kind,
        context: Context,
        commit: str,
        side: Side,
        broadcast: bool,
    ) -> Message:
        text = checked_comment(comment)
        caught = capture(self._find(), self._cwd, file, line, side, context, commit)

        def make(number: int) -> Message:
            return Message(number, caught.place, text, _now(), kind, broadcast=broadcast)

        message = self._shelf().add(make, caught.text)
        assert message is not None  # only a digest makes it None
        return message

    @reads("inbox_list", shell="inbox list")
    def list_messages(
        self,
        all: Annotated[bool, Meta(description="also those addressed, declined or dismissed")] = False,
    ) -> Listed:
        """List the messages people sent about this repository that are still open, with where their code is now."""
        self._take_legacy()
        shelf = self._shelf()
        messages = shelf.open_messages()
        if all:
            messages = sorted([*shelf.closed_messages(), *messages], key=lambda message: message.id)
        damaged = shelf.damaged()
        if damaged:
            numbers = ", ".join(f"#{number}" for number in damaged)
            call.current().log("warning", f"damaged and not shown: {numbers}. Send them again")
        return Listed(tuple(self._shown(message, own=False) for message in messages), shelf.sequence())

    @reads("inbox_show", shell="inbox show", positional=("id",), tool=False)
    def show(self, id: Number) -> Shown:
        """Show one message with its code, its hunk and its replies."""
        return self._shown(self._shelf().get(id), own=False)

    @writes("inbox_edit", shell="inbox edit", positional=("id",), flags={"comment": "c"}, tool=False)
    def edit(self, id: Number, comment: str) -> Changed:
        """Change the words of a message that no assistant has read yet."""
        message = self._shelf().edit(id, checked_comment(comment))
        return self._changed(message, f"#{id} changed")

    @destroys("inbox_withdraw", shell="inbox withdraw", positional=("id",), tool=False)
    def withdraw(self, id: Number) -> Changed:
        """Take back a message that no assistant has read yet."""
        return self._changed(self._shelf().withdraw(id), f"#{id} withdrawn")

    @writes("inbox_reopen", shell="inbox reopen", positional=("id",), tool=False)
    def reopen(self, id: Number) -> Changed:
        """Queue a message again that was read or closed."""
        return self._changed(self._shelf().reopen(id), f"#{id} queued again")

    # -- for the assistant ----------------------------------------------------------------------------------------

    @writes("check_lazygit_messages")
    def check_messages(self) -> Checked:
        """Check for new messages from lazygit"""
        taken_in = self._take_legacy()
        delivered = self._deliver(None)
        if taken_in is not None:
            from postil.inbox.legacy import delete_if_unchanged  # only where the old file exists

            delete_if_unchanged(self._legacy_file(), taken_in)
        return Checked(tuple(one for one, _ in delivered))

    @resource("lazygit://messages", name="Lazygit Messages", watch="watch")
    def messages(self) -> str:
        """Messages from lazygit for code improvement"""
        self._take_legacy()
        return contract.view([shown(one, None) for one in self._shelf().waiting(_client(), contract.MOST_SHOWN)])

    @writes("inbox_acknowledge", shell="inbox ack", positional=("id",))
    def acknowledge(self, id: Number, lease: LeaseName = "") -> Changed:
        """Say that you have read a message, so that it is not delivered again. Refused when its lease has passed on."""
        return self._changed(self._shelf().acknowledge(id, lease, _owner()), f"#{id} seen")

    @writes("inbox_reply", shell="inbox reply", positional=("id",))
    def reply(self, id: Number, text: Annotated[str, Meta(min_length=1, description="what to say")]) -> Changed:
        """Answer a message; the person sees it in their list."""
        message = self._shelf().reply(id, Reply(_author(), checked_comment(text), _now()))
        return self._changed(message, f"#{id} answered")

    @writes("inbox_resolve", shell="inbox resolve", positional=("id",))
    def resolve(
        self,
        id: Number,
        outcome: Annotated[Outcome, Meta(description="what became of it")] = "addressed",
        reply: Annotated[str, Meta(description="what was done, or why not")] = "",
        lease: LeaseName = "",
    ) -> Changed:
        """Close a message: addressed when it is done, declined when it should not be done, dismissed otherwise."""
        said = Reply(_author(), checked_comment(reply), _now()) if reply.strip() else None
        return self._changed(self._shelf().close(id, outcome, said, lease, _owner()), f"#{id} {outcome}")

    @writes("inbox_wait", shell="inbox wait")
    async def wait(
        self,
        after: Annotated[int, Meta(ge=0, description="the sequence of your last wait")] = 0,
        seconds: Annotated[float, Meta(ge=0, le=LONGEST_WAIT, description="how long at most")] = 30,
    ) -> Waited:
        """Wait for the next message from lazygit and take it."""
        import asyncio  # only what waits needs a loop

        loop = asyncio.get_running_loop()
        news = asyncio.Event()
        deadline = loop.time() + seconds
        stop = await asyncio.to_thread(self._on_news, lambda: _soon(loop, news.set))
        try:
            while True:
                news.clear()
                delivered = await asyncio.to_thread(self._deliver_after, after)
                left = deadline - loop.time()
                if delivered or left <= 0:
                    break
                try:
                    await asyncio.wait_for(news.wait(), min(left, LOOK_AGAIN))
                except TimeoutError:
                    continue
        finally:
            await asyncio.to_thread(stop)
        return Waited(tuple(one for one, _ in delivered), max([after, *(sequence for _, sequence in delivered)]))

    # -- for programs between them ----------------------------------------------------------------------------------

    @reads("inbox_hunks", shell="inbox hunks", positional=("file",), tool=False)
    def hunks(
        self,
        file: str,
        context: Context = "",
        commit: str = "",
    ) -> Picked:
        """List the changed places of a file, one a line, for a menu of lazygit."""
        from postil.inbox.picking import places  # a menu's work, not needed to send

        in_tmux = self._terminal is not None and self._terminal.in_tmux
        return Picked(places(self._find(), self._cwd, file, context, commit, in_tmux))

    @writes("inbox_hook", shell="inbox hook", positional=("event",), tool=False)
    def hook(self, event: Literal["prompt", "stop", "start"]) -> Hooked:
        """Print unread messages for an assistant that runs hooks; nothing when there are none."""
        from postil.inbox.hooks import Payload, output, read_payload  # reads standard input: a hook's work alone

        asked = read_payload() if call.current().caller.surface == "shell" else Payload()
        client = asked.client()
        shelf = self._shelf()
        shelf.confirm_client(client)
        if event == "stop" and asked.stop_hook_active:
            return Hooked()
        self._take_legacy()
        # Leased by time alone: this process ends at once, and the next hook of the session says that it arrived.
        messages = shelf.take(client, "", contract.MOST_SHOWN)
        return Hooked(output(event, [self._shown(message, own=True) for message in messages]))

    @writes("inbox_setup_lazygit", shell="setup lazygit", tool=False)
    def setup_lazygit(
        self,
        print: Annotated[bool, Meta(description="only print the binding")] = False,
        remove: Annotated[bool, Meta(description="take the binding away again")] = False,
        user: Annotated[bool, Meta(description="for all repositories, in a file of its own")] = False,
        key: Annotated[str, Meta(description="the key to press")] = "<c-y>",
    ) -> Hooked:
        """Install the key with which lazygit sends a remark to the assistant."""
        from postil.inbox.lazygit import binding, find_version, install, uninstall  # set-up only

        if print:
            return Hooked(binding(key, find_version()))
        repository = None if user else self._find()
        if remove:
            return Hooked(uninstall(repository, self._config))
        return Hooked(install(repository, self._config, key))

    @check("lazygit")
    def check_lazygit(self) -> list[Finding]:
        """Look for lazygit bindings that would run what a remark says, and for configs that hide others."""
        from postil.inbox.lazygit_check import findings  # the doctor's work

        try:
            repository = self._find()
        except Failure:
            repository = None
        named = self._terminal.lazygit_configs if self._terminal is not None else ()
        return findings(self._config, repository, named)

    @check("messages")
    def check_inbox(self) -> Finding:
        """See whether messages can be kept."""
        try:
            counts, damaged = self._shelf().counts(), self._shelf().damaged()
        except Failure as failure:
            return Finding("error", failure.message, failure.advice)
        if damaged:
            numbers = ", ".join(f"#{number}" for number in damaged)
            return Finding("error", f"these messages are damaged: {numbers}", "Send them again; the others are whole")
        return Finding("ok", f"{counts.waiting} messages waiting")

    @glance
    def glance(self) -> str:
        """One line for `postil status`."""
        waiting = self._shelf().counts().waiting
        return f"{waiting} {'message' if waiting == 1 else 'messages'} waiting"

    # -- for flows ------------------------------------------------------------------------------------------------

    def name(self) -> str:
        """What tells this inbox from those of other repositories."""
        return self._repository().key

    def receive(self, source: str, text: str, delivery: str) -> bool:
        """Queue what another system reported, as a note; False when this delivery came before."""
        comment = checked_comment(text)
        digest = f"{source} {self.name()} {delivery}"
        add = self._shelf().add
        made = add(lambda number: Message(number, Place(""), comment, _now(), "note", source=source), digest=digest)
        return made is not None

    # -- noticing -------------------------------------------------------------------------------------------------

    def watch(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` when what `lazygit://messages` shows has changed."""
        shelf = self._shelf()
        seen = [message.id for message in shelf.waiting("", contract.MOST_SHOWN)]

        def look() -> None:
            nonlocal seen
            self._take_legacy()
            now = [message.id for message in shelf.waiting("", contract.MOST_SHOWN)]
            if now != seen:
                seen = now
                changed()

        return self._on_news(look)

    @announcer("new messages")
    def announce(self, tell: Tell) -> Callable[[], None]:
        """Tell of each message that is queued from now on: its file, never its words."""
        shelf = self._shelf()
        last = shelf.sequence()

        def look() -> None:
            nonlocal last
            self._take_legacy()
            fresh = [message for message in shelf.waiting("", 1000) if message.sequence > last]
            for message in fresh:
                file = message.source or contract.file_row(message.place.file, message.place.commit)
                tell(Announcement("info", "New message from lazygit", {"file": file}))
            last = max([last, *(message.sequence for message in fresh)])

        return self._on_news(look)

    def _on_news(self, look: Callable[[], None]) -> Callable[[], None]:
        """Call `look` after anything that may bring a message: a write by any process, or the old file."""

        def quietly() -> None:
            try:
                look()
            except Failure:
                pass  # a database that is busy or gone for now: the next change looks again

        stops = [self._state().on_change(quietly)]
        if self._config:
            from postil.inbox.legacy import watch  # only who waits

            stops.append(watch(self._legacy_file(), quietly))

        def stop() -> None:
            for each in stops:
                each()

        return stop

    # -- shared ---------------------------------------------------------------------------------------------------

    def _shelf(self) -> Shelf:
        return Shelf(self._state(), self._repository().key, self._lease_seconds)

    def _repository(self) -> Repository:
        """The repository; a server outside of any has an inbox for its folder, which only old messages reach."""
        try:
            return self._find()
        except NoRepository:
            folder = os.path.realpath(self._cwd)
            return Repository(folder, folder, folder, bare=True)

    def _deliver(self, after: int | None) -> list[tuple[Shown, int]]:
        """Lease messages to whoever calls, each with its sequence; the call's end decides whether they are seen."""
        shelf = self._shelf()
        messages = shelf.take(_client(), this_process(), contract.MOST_SHOWN, after)
        leases = [(message.id, message.lease.id) for message in messages if message.lease is not None]
        try:
            delivered = [(self._shown(message, own=True), message.sequence) for message in messages]
        except BaseException:
            shelf.lose(leases)  # the answer will be this error
            raise
        if leases:
            call.current().settle(lambda: shelf.confirm(leases), lambda: shelf.lose(leases))
        return delivered

    def _deliver_after(self, after: int) -> list[tuple[Shown, int]]:
        self._take_legacy()
        return self._deliver(after)

    def _shown(self, message: Message, own: bool) -> Shown:
        """A message with where its code is now; the name of its lease only for whoever holds it."""
        repository = self._repository()
        kept = self._shelf().text_of(message) if message.place.line else None
        if not own and message.lease is not None:
            from msgspec import structs

            return shown(structs.replace(message, lease=None), anchor(repository, message, kept))
        return shown(message, anchor(repository, message, kept))

    def _changed(self, message: Message, said: str) -> Changed:
        return Changed(self._shown(message, own=False), said)

    def _legacy_file(self) -> str:
        return os.path.join(self._config, "jesseduffield", "lazygit", "mcp-messages.json")

    def _take_legacy(self) -> LegacyMessage | None:
        """Take in what the old bridge's file holds for this repository; the message, also when it was known before."""
        if not self._config or not os.path.exists(self._legacy_file()):
            return None
        from postil.inbox.legacy import is_for, read_message  # only where the old file exists

        found = read_message(self._legacy_file())
        repository = self._repository()
        if found is None or not is_for(found, repository):
            return None
        shelf = self._shelf()
        if not shelf.knows(found.digest()):
            base = found.project_root or repository.root
            caught = _caught(repository, base, found.file, found.span())

            def make(number: int) -> Message:
                return Message(number, caught.place, found.comment, found.time or _now())

            shelf.add(make, caught.text, found.digest())
        return found


def _caught(repository: Repository, base: str, file: str, line: str) -> Captured:
    """What an old message is about; one that names nothing we can find is kept as it is."""
    try:
        return capture(repository, base, file, line, "new", "", "")
    except Failure:
        return Captured(Place(file, line), None)


def _client() -> str:
    """The connection that asks: what one assistant has is not given to another."""
    caller = call.current().caller
    if caller.surface == "http" and not caller.client:
        return f"http-{caller.principal}"  # the same on every replica
    return caller.client or f"{caller.surface}-{os.getpid()}"


def _owner() -> str:
    """Who must own a lease: an assistant its own; the person at the shell may settle any message."""
    caller = call.current().caller
    return "" if caller.surface == "shell" else _client()


def _author() -> str:
    return "you" if call.current().caller.surface == "shell" else "assistant"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _soon(loop: AbstractEventLoop, act: Callable[[], object]) -> None:
    try:
        loop.call_soon_threadsafe(act)
    except RuntimeError:
        pass  # the loop has ended
