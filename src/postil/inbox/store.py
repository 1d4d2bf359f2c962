"""How messages are kept: records of one repository in the state, a space for each state a message can be in.

Every method of MessageStore is one read or one write; what it decides on cannot change under it. Not here: files, git,
texts.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from msgspec import Struct, structs

from postil.core import call
from postil.inbox.failures import AlreadyClosed, NothingToSubmit, NotTheirs, StillOpen
from postil.inbox.message_records import HOMES, OPEN, SPACES, Counts, MessageRecords, decode, make_key, read_text
from postil.inbox.model import CLOSED, Lease, Message, Outcome, Reply

if TYPE_CHECKING:
    from postil.core.ports import Changes, State
    from postil.workspace.repository import Repository

LEASE_SECONDS = 900.0
HASHES_KEPT_SECONDS = 30 * 24 * 3600.0
REPEATED_WITHIN = 3600.0
"""Seconds for which a send is remembered, so that the same one is not a second message."""
NOTED_EVERY = 30.0
RECENT = 50
"""Replies that come along wherever a message is not shown alone: a list must not grow with every word."""


class Look(Struct, frozen=True):
    """What a list tells: everything that is open, what of it cannot be read, and answers nobody was told of."""

    messages: list[Message]
    """Oldest first."""
    damaged: list[int]
    """Their numbers. They are left as they are."""
    answers: int
    others: list[Message]
    """Those of other spaces that were asked for, of the same moment."""


def find_last(messages: Iterable[Message]) -> int:
    """Returns the highest sequence number of some messages."""
    return max((message.sequence for message in messages), default=0)


def _select(messages: MessageRecords, spaces: Sequence[str]) -> list[Message]:
    found = (messages.join_replies(one, RECENT) for space in spaces for one in messages.shown(space))
    return sorted(map(messages.as_of_now, found), key=lambda message: message.id)


class MessageStore:
    """The messages of one repository."""

    def __init__(
        self, state: State, repository_key: str, lease_seconds: float = LEASE_SECONDS, home: Repository | None = None
    ) -> None:
        self._home = home
        self._state = state
        self._lease_seconds = lease_seconds
        self._prefix = f"inbox/{repository_key}/"

    @contextmanager
    def _reading(self) -> Generator[MessageRecords]:
        with self._state.reading() as records:
            yield MessageRecords(cast("Changes", records), self._prefix, self._lease_seconds)  # a read only reads

    @contextmanager
    def _writing(self) -> Generator[MessageRecords]:
        with self._state.writing() as changes:
            yield MessageRecords(changes, self._prefix, self._lease_seconds)

    # -- adding ---------------------------------------------------------------------------------------------------

    def add(
        self, make: Callable[[int], Message], text: bytes | None = None, digest: str = ""
    ) -> tuple[Message, Counts]:
        """Queue a message, or keep it as a draft, with the text it is about. Returns it, and how many wait now.

        A message with the same digest that was sent a moment ago is returned instead.
        """
        with self._writing() as messages:
            known = messages.records.get("inbox/hashes", digest) if digest else None
            if known:
                return messages.find(int(known)), messages.counts()
            message = messages.add(make, text)
            if self._home is not None and messages.records.get(HOMES, self._home.key) is None:
                from postil.inbox.homes import note_home  # only with the first message of a repository

                note_home(messages.records, self._home)
            if digest:
                expires = time.time() + REPEATED_WITHIN
                messages.records.put("inbox/hashes", digest, b"%d" % message.id, expires)
            return message, messages.counts()

    def add_once(self, digest: str, make: Callable[[int], Message], text: bytes | None = None) -> bool:
        """Queue a message, unless one with this digest came before. Returns whether it was queued."""
        with self._writing() as messages:
            if messages.records.get("inbox/hashes", digest) is not None:
                return False
            messages.records.put("inbox/hashes", digest, b"", time.time() + HASHES_KEPT_SECONDS)
            messages.add(make, text)
        return True

    def knows(self, digest: str) -> bool:
        """Returns whether a message with this digest was ever taken in."""
        with self._state.reading() as records:
            return records.get("inbox/hashes", digest) is not None

    # -- reading --------------------------------------------------------------------------------------------------

    def counts(self) -> Counts:
        """Returns how many messages wait, and when an assistant last looked."""
        with self._reading() as messages:
            return messages.counts()

    def open_messages(self) -> list[Message]:
        """Returns everything not addressed, declined or dismissed, oldest first."""
        return self.select(*OPEN)

    def look(self, *others: str) -> Look:
        """Returns the open messages and what a list tells beside them, and those of other spaces, all of one moment."""
        with self._reading() as messages:
            rows = [row for space in OPEN for row in messages.records.range(self._prefix + space)]
            read = [(key, decode(value)) for key, value in rows]
            found = [messages.as_of_now(messages.join_replies(one, RECENT)) for _, one in read if one is not None]
            damaged = sorted(int(key) if key.isdecimal() else 0 for key, one in read if one is None)
            ordered = sorted(found, key=lambda message: message.id)
            return Look(ordered, damaged, messages.count_answers(), _select(messages, others))

    def select(self, *spaces: str) -> list[Message]:
        """Returns the messages of these spaces that the caller may know of, all of one moment, oldest first."""
        with self._reading() as messages:
            return _select(messages, spaces)

    def find_page(
        self, spaces: Sequence[str], keep: Callable[[Message], bool], most: int
    ) -> tuple[list[Message], int, int]:
        """Returns the newest messages of these spaces that are kept, how many are older, and how many drafts there are.

        Only those that are returned get their replies: thousands may be passed over.
        """
        with self._reading() as messages:
            found = [one for space in spaces for one in messages.shown(space) if keep(one)]
            found.sort(key=lambda message: message.id, reverse=True)
            page = [messages.as_of_now(messages.join_replies(one, RECENT)) for one in found[:most]]
            return page, len(found) - len(page), messages.counts().drafts

    def describe(self) -> int:
        """Returns a number that tells one moment of all messages from another."""
        with self._state.reading() as records:
            rows = (row for space in SPACES for row in records.range(self._prefix + space))
            return hash(tuple((key, zlib.crc32(value)) for key, value in rows))

    def waiting(self, client: str, most: int) -> list[Message]:
        """Returns what a client would be given now, the oldest first."""
        with self._reading() as messages:
            return messages.find_deliverable(client, most)

    def get(self, number: int) -> Message:
        """Returns one message, open or closed, with all its replies. Raises NoSuchMessage."""
        with self._reading() as messages:
            return messages.as_of_now(messages.join_replies(messages.find(number), None))

    def text_of(self, message: Message) -> bytes | None:
        """Returns the text of the file as it was when the message was sent."""
        with self._state.reading() as records:
            return read_text(records, self._prefix, message.place)

    def sequence(self) -> int:
        """Returns the highest sequence number of any open message."""
        return find_last(self.open_messages())

    # -- delivering -----------------------------------------------------------------------------------------------

    def take(
        self,
        client: str,
        holder: str,
        most: int,
        after: int | None = None,
        fitting: Callable[[list[Message]], int] | None = None,
    ) -> list[Message]:
        """Lease waiting messages to a client, the oldest first; or the next after a sequence number.

        No more than are `fitting` of those that wait. Reads first, so that asking again and again writes nothing.
        """
        now = time.time()
        with self._reading() as messages:
            waiting = messages.find_deliverable(client, most if fitting is not None else 1, after)
            if not waiting and abs(now - messages.last_read()) < NOTED_EVERY:
                return []
        if fitting is not None:
            most = fitting(waiting)
        with self._writing() as messages:
            messages.records.put(self._prefix + "about", "read", b"%.3f" % now)
            messages.requeue_lapsed()
            taken: list[Message] = []
            for message in messages.find_deliverable(client, most, after):
                lease = Lease(os.urandom(8).hex(), client, holder, now, now + self._lease_seconds)
                taken.append(messages.join_replies(messages.lend(message, lease), RECENT))
        return taken

    def confirm(self, leases: Sequence[tuple[int, str]]) -> None:
        """Mark as seen what is still on these leases: the answer reached the client."""
        if not leases:
            return  # a transaction that writes nothing wakes everybody who waits, too
        with self._writing() as messages:
            for number, lease in leases:
                message = messages.find_leased(number, lease)
                if message is not None:
                    messages.move(message, "seen")

    def hand_over(self, leases: Iterable[tuple[int, str]]) -> None:
        """Let these leases outlive their process: the answer is printed, and only time or the client ends them."""
        with self._writing() as messages:
            for number, name in leases:
                message = messages.find_leased(number, name)
                if message is not None and message.lease is not None:
                    messages.put(structs.replace(message, lease=structs.replace(message.lease, holder="")))

    def lose(self, leases: Sequence[tuple[int, str]]) -> None:
        """Queue again what is still on these leases: the answer did not reach the client."""
        if not leases:
            return
        with self._writing() as messages:
            for number, lease in leases:
                message = messages.find_leased(number, lease)
                if message is not None:
                    messages.requeue(message)
                    continue
                message = decode(messages.records.get(self._prefix + "broadcast", make_key(number)))
                if message is not None:
                    readers = tuple(reader for reader in message.readers if reader.rpartition(" ")[2] != lease)
                    messages.put(structs.replace(message, readers=readers))

    def confirm_client(self, client: str) -> None:
        """Confirm all leases of a client that is back: its answers have reached it."""
        with self._reading() as messages:
            mine = [
                (message.id, message.lease.id)
                for message in messages.decode_all("leased")
                if message.lease is not None and message.lease.client == client
            ]
        if mine:
            self.confirm(mine)

    # -- changing -------------------------------------------------------------------------------------------------

    def acknowledge(self, number: int, lease: str, client: str) -> Message:
        """Mark a message as seen. Raises StaleLease when its lease has passed on."""
        with self._writing() as messages:
            message = messages.find_own(number, lease, client)
            return messages.move(message, "seen") if message.state in ("queued", "leased") else message

    def close(
        self, number: int, outcome: Outcome, reply: Reply | None, lease: str, client: str, *, tells: bool = False
    ) -> Message:
        """Close a message as addressed, declined or dismissed; `tells` the person of it though nothing was said.

        Raises StaleLease, AlreadyClosed.
        """
        with self._writing() as messages:
            message = messages.find_own(number, lease, client)
            if message.state in CLOSED and message.state != outcome:
                raise AlreadyClosed(number, message.state)
            if reply is not None:
                message = messages.add_reply(message, reply)
            elif tells and message.state != outcome:
                messages.tell_outcome(message)
            return messages.join_replies(messages.move(message, outcome), RECENT)

    def reply(self, number: int, reply: Reply) -> Message:
        """Add a reply."""
        with self._writing() as messages:
            message = messages.put(messages.add_reply(messages.find(number), reply))
            return messages.join_replies(message, RECENT)

    def reply_and_queue(self, number: int, reply: Reply) -> Message:
        """Add a reply of the person, and queue the message again with it: an assistant gets the whole thread."""
        with self._writing() as messages:
            found = messages.find(number)
            message = messages.add_reply(found, reply)
            queued = found.state in ("draft", "queued")
            message = messages.put(message) if queued else messages.requeue(message, readers=())
            return messages.join_replies(message, RECENT)

    def submit(self, summary: str) -> tuple[list[Message], Counts]:
        """Queue all drafts of the caller at once, as one review. Raises NothingToSubmit."""
        with self._writing() as messages:
            drafts = [*messages.shown("draft")]
            if not drafts:
                raise NothingToSubmit
            review = drafts[0].id
            sent = [messages.requeue(draft, review=review) for draft in drafts]
            if summary:
                sent[0] = messages.put(structs.replace(sent[0], summary=summary))
            return sent, messages.counts()

    def count_read(self) -> int:
        """Returns how many were read and are not closed."""
        with self._reading() as messages:
            return messages.count_read()

    # -- what assistants answered and the person has not been told ------------------------------------------------

    def count_answers(self) -> int:
        """Returns how many answers the person has not been told of."""
        with self._reading() as messages:
            return messages.count_answers()

    def hear_answers(self, most: int) -> tuple[list[tuple[int, str, Reply]], int]:
        """Returns the oldest answers that the person has not been told of, and how many more there are.

        They count as told. Reads first, so that a send that has nothing to tell writes nothing more.
        """
        if not self.count_answers():
            return [], 0
        with self._writing() as messages:
            return messages.hear_answers(most), messages.count_answers()

    def edit(self, number: int, comment: str) -> Message:
        """Change the words of a message that nobody has read; one that is leased is queued again.

        Raises NotTheirs: words that others change would still bear its author's name.
        """
        with self._writing() as messages:
            message = messages.find_unread(number)
            if not call.current().caller.signed(message.author):
                raise NotTheirs(number, message.author)
            message = structs.replace(message, comment=comment, edited=True)
            return messages.requeue(message) if message.state == "leased" else messages.put(message)

    def withdraw(self, number: int) -> Message:
        """Take back a message that nobody has read. The person whose machine this is may do so with everybody's.

        Raises NotTheirs.
        """
        with self._writing() as messages:
            message, caller = messages.find_unread(number), call.current().caller
            if caller.principal != call.LOCAL and not caller.signed(message.author):
                raise NotTheirs(number, message.author)
            return messages.move(message, "dismissed", unsent=message.state == "draft")

    def reopen(self, number: int) -> Message:
        """Queue a message again that was read or closed."""
        with self._writing() as messages:
            message = messages.find(number)
            if message.state in ("queued", "leased"):
                raise StillOpen(number, message.state)
            return messages.requeue(message, readers=())
