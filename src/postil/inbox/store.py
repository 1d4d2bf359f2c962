"""How messages are kept: records of one repository in the state, a space for each state a message can be in.

Every method of MessageStore is one read or one write; what it decides on cannot change under it. Not here: files, git,
texts.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import structs

from postil.inbox.failures import AlreadyClosed, AlreadyRead, MessageDamaged, NoSuchMessage, StaleLease, StillOpen
from postil.inbox.model import CLOSED, Lease, Message, Outcome, Reply
from postil.storage.holder import is_alive

if TYPE_CHECKING:
    from postil.core.ports import Changes, State

LEASE_SECONDS = 900.0
CLOSED_KEPT_SECONDS = 90 * 24 * 3600.0
HASHES_KEPT_SECONDS = 30 * 24 * 3600.0
NOTED_EVERY = 30.0
HOOK = "hook-"
"""How the names of clients begin that got a message through a hook."""
RECENT = 50
"""Replies that come along wherever a message is not shown alone: a list must not grow with every word."""
_OPEN = ("queued", "broadcast", "leased", "seen")

_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Message)


class Counts(msgspec.Struct, frozen=True):
    """What a receipt says."""

    waiting: int
    last_read: float


class MessageStore:
    """The messages of one repository."""

    def __init__(self, state: State, repository_key: str, lease_seconds: float = LEASE_SECONDS) -> None:
        self._state = state
        self._lease_seconds = lease_seconds
        self._prefix = f"inbox/{repository_key}/"

    @contextmanager
    def _reading(self) -> Generator[_Messages]:
        with self._state.reading() as records:
            yield _Messages(cast("Changes", records), self._prefix, self._lease_seconds)  # a read only reads

    @contextmanager
    def _writing(self) -> Generator[_Messages]:
        with self._state.writing() as changes:
            yield _Messages(changes, self._prefix, self._lease_seconds)

    # -- adding ---------------------------------------------------------------------------------------------------

    def add(self, make: Callable[[int], Message], text: bytes | None = None) -> tuple[Message, Counts]:
        """Queue a message, with the text it is about. Returns it, and how many wait now."""
        with self._writing() as messages:
            return messages.add(make, text), messages.counts()

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
        with self._reading() as messages:
            found = [messages.join_replies(one, RECENT) for space in _OPEN for one in messages.decode_all(space)]
            return sorted(map(messages.as_of_now, found), key=lambda message: message.id)

    def closed_messages(self) -> list[Message]:
        """Returns what was addressed, declined or dismissed in the last ninety days, oldest first."""
        with self._reading() as messages:
            return [messages.join_replies(message, RECENT) for message in messages.decode_all("closed")]

    def damaged(self) -> list[int]:
        """Returns the numbers of open messages whose records cannot be read. They are left as they are."""
        with self._state.reading() as records:
            rows = [row for space in _OPEN for row in records.range(self._prefix + space)]
        return sorted(int(key) if key.isdigit() else 0 for key, value in rows if _decode(value) is None)

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
            kept = records.get(self._prefix + "texts", _text_key(message))
        try:
            return None if kept is None else zlib.decompress(kept)
        except zlib.error:
            return None  # damaged: the message is still good, only its code cannot be found again

    def sequence(self) -> int:
        """Returns the highest sequence number of any open message."""
        return max((message.sequence for message in self.open_messages()), default=0)

    # -- delivering -----------------------------------------------------------------------------------------------

    def take(self, client: str, holder: str, most: int, after: int | None = None) -> list[Message]:
        """Lease waiting messages to a client, the oldest first; or the next after a sequence number.

        Reads first, so that asking again and again writes nothing.
        """
        now = time.time()
        with self._reading() as messages:
            if not messages.find_deliverable(client, 1, after) and abs(now - messages.last_read()) < NOTED_EVERY:
                return []
        with self._writing() as messages:
            messages.records.put(self._prefix + "about", "read", b"%.3f" % now)
            messages.requeue_lapsed()
            taken: list[Message] = []
            for message in messages.find_deliverable(client, most, after):
                lease = Lease(os.urandom(8).hex(), client, holder, now, now + self._lease_seconds)
                taken.append(messages.join_replies(messages.lend(message, lease), RECENT))
        return taken

    def confirm(self, leases: Iterable[tuple[int, str]]) -> None:
        """Mark as seen what is still on these leases: the answer reached the client."""
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

    def lose(self, leases: Iterable[tuple[int, str]]) -> None:
        """Queue again what is still on these leases: the answer did not reach the client."""
        with self._writing() as messages:
            for number, lease in leases:
                message = messages.find_leased(number, lease)
                if message is not None:
                    messages.requeue(message)
                    continue
                message = _decode(messages.records.get(self._prefix + "broadcast", _key(number)))
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

    def close(self, number: int, outcome: Outcome, reply: Reply | None, lease: str, client: str) -> Message:
        """Close a message as addressed, declined or dismissed. Raises StaleLease, AlreadyClosed."""
        with self._writing() as messages:
            message = messages.find_own(number, lease, client)
            if message.state in CLOSED and message.state != outcome:
                raise AlreadyClosed(number, message.state)
            if reply is not None:
                message = messages.add_reply(message, reply)
            return messages.join_replies(messages.move(message, outcome), RECENT)

    def reply(self, number: int, reply: Reply) -> Message:
        """Add a reply."""
        with self._writing() as messages:
            message = messages.put(messages.add_reply(messages.find(number), reply))
            return messages.join_replies(message, RECENT)

    def edit(self, number: int, comment: str) -> Message:
        """Change the words of a message that nobody has read; one that is leased is queued again."""
        with self._writing() as messages:
            message = structs.replace(messages.find_unread(number), comment=comment, edited=True)
            return messages.requeue(message) if message.state == "leased" else messages.put(message)

    def withdraw(self, number: int) -> Message:
        """Take back a message that nobody has read."""
        with self._writing() as messages:
            return messages.move(messages.find_unread(number), "dismissed")

    def reopen(self, number: int) -> Message:
        """Queue a message again that was read or closed."""
        with self._writing() as messages:
            message = messages.find(number)
            if message.state in ("queued", "leased"):
                raise StillOpen(number, message.state)
            return messages.requeue(message, readers=())


class _Messages:
    """Messages inside one read or one write."""

    def __init__(self, records: Changes, prefix: str, lease_seconds: float) -> None:
        self.records = records
        self._prefix = prefix
        self._lease_seconds = lease_seconds

    def decode_all(self, space: str) -> Iterable[Message]:
        """Returns the messages of a space that can be read."""
        found = (_decode(value) for _, value in self.records.range(self._prefix + space))
        return (message for message in found if message is not None)

    def counts(self) -> Counts:
        """Returns how many wait, those on leases that are over included, and when an assistant last looked."""
        lapsed = sum(self.is_lapsed(message) for message in self.decode_all("leased"))
        waiting = sum(self.records.count(self._prefix + space) for space in ("queued", "broadcast"))
        return Counts(waiting + lapsed, self.last_read())

    def last_read(self) -> float:
        """Returns when an assistant last looked."""
        try:
            return float(self.records.get(self._prefix + "about", "read") or b"0")
        except ValueError:
            return 0.0

    def find(self, number: int) -> Message:
        """Returns the message of this number. Raises NoSuchMessage, MessageDamaged."""
        for space in (*_OPEN, "closed"):
            value = self.records.get(self._prefix + space, _key(number))
            if value is not None:
                message = _decode(value)
                if message is None:
                    raise MessageDamaged(number)
                return message
        raise NoSuchMessage(number)

    def find_unread(self, number: int) -> Message:
        """Returns the message of this number. Raises AlreadyRead."""
        message = self.find(number)
        if message.state not in ("queued", "leased") or message.readers:
            raise AlreadyRead(number, message.state if not message.readers else "seen")
        return message

    def find_own(self, number: int, lease: str, client: str) -> Message:
        """Returns the message of this number. Raises StaleLease when another client has it."""
        message = self.find(number)
        held = message.lease
        if lease and (held is None or held.id != lease):
            # After the answer reached the client the lease is over, and saying so again is no fault.
            if message.state in ("queued", "leased"):
                raise StaleLease(number)
        elif not lease and client and held is not None and held.client != client:
            by_hook = held.client.startswith(HOOK)  # the session behind it calls through another connection
            if not by_hook and not self.is_lapsed(message):
                raise StaleLease(number)
        return message

    def find_leased(self, number: int, lease: str) -> Message | None:
        """Returns the message of this number if it is on this lease."""
        message = _decode(self.records.get(self._prefix + "leased", _key(number)))
        return message if message is not None and message.lease is not None and message.lease.id == lease else None

    def find_deliverable(self, client: str, most: int, after: int | None = None) -> list[Message]:
        """Returns what a client would be given now, the oldest first; or the next after a sequence number."""
        queued: list[Message] = []
        for _, value in self.records.range(self._prefix + "queued"):
            message = _decode(value)
            if message is not None:
                queued.append(message)
            if after is None and len(queued) == most:
                break
        # Their holders are gone, and nobody has written so yet.
        lapsed = [self.as_of_now(message) for message in self.decode_all("leased") if self.is_lapsed(message)]
        broadcast = [
            message
            for message in self.decode_all("broadcast")
            if all(reader.rpartition(" ")[0] != client for reader in message.readers)
        ]
        if after is None:
            return sorted([*queued, *lapsed, *broadcast], key=lambda message: message.id)[:most]
        later = [message for message in (*queued, *broadcast) if message.sequence > after]
        return sorted([*lapsed, *later], key=lambda message: message.sequence)[:most]

    # -- leases ---------------------------------------------------------------------------------------------------

    def is_lapsed(self, message: Message) -> bool:
        """Returns whether the lease of a message is over."""
        lease = message.lease
        if lease is None:
            return False
        now = time.time()
        # A lease that began in the future was made before the clock was set back: it would never end.
        if now >= lease.until or lease.since > now + 60:
            return True
        return bool(lease.holder) and not is_alive(lease.holder, lease.since, self._lease_seconds)

    def as_of_now(self, message: Message) -> Message:
        """Returns a message whose lease is over as queued."""
        return structs.replace(message, state="queued", lease=None) if self.is_lapsed(message) else message

    def requeue_lapsed(self) -> None:
        """Queue again what is on leases that are over."""
        for message in self.decode_all("leased"):
            if self.is_lapsed(message):
                self.requeue(message)

    def lend(self, message: Message, lease: Lease) -> Message:
        """Give a message to a client. A broadcast message stays where it is and notes its reader."""
        lent = structs.replace(message, attempt=message.attempt + 1)
        if message.broadcast:
            self.put(structs.replace(lent, readers=(*message.readers, f"{lease.client} {lease.id}")))
            return structs.replace(lent, lease=lease)
        return self.move(lent, "leased", lease=lease)

    # -- writing --------------------------------------------------------------------------------------------------

    def add(self, make: Callable[[int], Message], text: bytes | None) -> Message:
        """Queue a new message, with the text it is about."""
        changes = self.records
        message = structs.replace(make(changes.next("inbox")), sequence=changes.next("inbox/sequence"))
        if text is not None and message.place.blob:
            changes.put(self._prefix + "texts", _text_key(message), zlib.compress(text, 1))
        return self.put(message)

    def requeue(self, message: Message, **changed: Any) -> Message:
        """Queue a message again, behind all others."""
        return self.move(message, "queued", sequence=self.records.next("inbox/sequence"), **changed)

    def move(self, old: Message, state: str, *, lease: Lease | None = None, **changed: Any) -> Message:
        """Bring a message into another state."""
        new: Message = structs.replace(old, state=state, lease=lease, **changed)
        for space in (*_OPEN, "closed"):
            self.records.delete(self._prefix + space, _key(old.id))
        if (old.state in CLOSED) != (new.state in CLOSED):
            self._keep_text(new)
            for key, value in self._reply_records(new):
                self.records.put(self._prefix + "replies", key, value, _expiry(new))
        return self.put(new)

    def put(self, message: Message) -> Message:
        """Write a message to the space of its state."""
        self.records.put(self._prefix + _space(message), _key(message.id), _encode(message), _expiry(message))
        return message

    def _keep_text(self, message: Message) -> None:
        """Keep the text as long as a message needs it."""
        space, key = self._prefix + "texts", _text_key(message)
        text = self.records.get(space, key)
        if text is None:
            return
        others = (other for name in _OPEN for other in self.decode_all(name) if other.id != message.id)
        needed = message.state not in CLOSED or any(_text_key(other) == key for other in others)
        self.records.put(space, key, text, None if needed else _expiry(message))

    # -- replies: records of their own, which live as long as their message ---------------------------------------

    def add_reply(self, message: Message, reply: Reply) -> Message:
        """Keep a reply beside its message. Returns the message that counts it, which is still to be put."""
        said = message.said + 1
        self.records.put(self._prefix + "replies", _reply_key(message.id, said), _encode(reply), _expiry(message))
        return structs.replace(message, said=said)

    def join_replies(self, message: Message, most: int | None) -> Message:
        """Returns a message with its last `most` replies."""
        if not message.said:
            return message
        first = 0 if most is None else max(0, message.said - most)
        said = [reply for _, value in self._reply_records(message, first) if (reply := _decode_reply(value))]
        return structs.replace(message, replies=(*message.replies, *said) if first == 0 else tuple(said))

    def _reply_records(self, message: Message, first: int = 0) -> list[tuple[str, bytes]]:
        """Returns the records of its replies from one on. Where some are gone, the next are another message's."""
        if message.said == first:
            return []
        found = self.records.range(self._prefix + "replies", _reply_key(message.id, first), message.said - first)
        return [(key, value) for key, value in found if key.startswith(_reply_key(message.id, 0)[:13])]


def _decode(value: bytes | None) -> Message | None:
    """Returns the message of a record, or None if there is none or it cannot be read."""
    try:
        return None if value is None else _decoder.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _decode_reply(value: bytes) -> Reply | None:
    try:
        return msgspec.json.decode(value, type=Reply)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _expiry(message: Message) -> float | None:
    return time.time() + CLOSED_KEPT_SECONDS if message.state in CLOSED else None


def _space(message: Message) -> str:
    if message.state in CLOSED:
        return "closed"
    return "broadcast" if message.broadcast else message.state


def _key(number: int) -> str:
    return f"{number:012d}"


def _reply_key(number: int, which: int) -> str:
    return f"{number:012d}.{which:08d}"


def _text_key(message: Message) -> str:
    return f"{message.place.blob}+{message.place.start}"
