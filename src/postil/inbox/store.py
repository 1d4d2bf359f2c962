"""How messages are kept: records of one repository in the state, a space for each state a message can be in.

Every method is one write or one look; what it decides on cannot change under it. Not here: files, git, texts.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from postil.inbox.failures import (
    AlreadyClosed,
    AlreadyRead,
    MessageDamaged,
    NoSuchMessage,
    StaleLease,
    StillOpen,
)
from postil.inbox.model import CLOSED, Lease, Message, Outcome, Reply
from postil.storage.holder import is_alive

if TYPE_CHECKING:
    from postil.core.ports import Changes, Records, State

LEASE_SECONDS = 900.0
CLOSED_KEPT_SECONDS = 90 * 24 * 3600.0
HASHES_KEPT_SECONDS = 30 * 24 * 3600.0
NOTED_EVERY = 30.0
RECENT = 50
"""Replies that come along wherever a message is not shown alone: a list must not grow with every word."""
_OPEN = ("queued", "broadcast", "leased", "seen")

_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Message)


class Counts(msgspec.Struct, frozen=True):
    """What a receipt says."""

    waiting: int
    last_read: float


class Shelf:
    """The messages of one repository."""

    def __init__(self, state: State, repository_key: str, lease_seconds: float = LEASE_SECONDS) -> None:
        self._state = state
        self._lease_seconds = lease_seconds
        self._prefix = f"inbox/{repository_key}/"

    # -- adding ---------------------------------------------------------------------------------------------------

    def add(self, make: Callable[[int], Message], text: bytes | None = None, digest: str = "") -> Message | None:
        """Queue a message, with the text it is about; None when one with this digest came before."""
        with self._state.writing() as changes:
            if digest:
                if changes.get("inbox/hashes", digest) is not None:
                    return None
                changes.put("inbox/hashes", digest, b"", time.time() + HASHES_KEPT_SECONDS)
            message = structs.replace(make(changes.next("inbox")), sequence=changes.next("inbox/sequence"))
            self._put(changes, message)
            if text is not None and message.place.blob:
                changes.put(self._prefix + "texts", _text_key(message), zlib.compress(text, 1))
        return message

    def knows(self, digest: str) -> bool:
        """Whether a message with this digest was ever taken in."""
        with self._state.reading() as records:
            return records.get("inbox/hashes", digest) is not None

    # -- looking --------------------------------------------------------------------------------------------------

    def counts(self) -> Counts:
        """How many wait, and when an assistant last looked."""
        with self._state.reading() as records:
            lapsed = sum(1 for message in self._all(records, "leased") if self._lapsed(message))
            waiting = records.count(self._prefix + "queued") + records.count(self._prefix + "broadcast") + lapsed
            noted = records.get(self._prefix + "about", "read")
        return Counts(waiting, _seconds(noted))

    def open_messages(self) -> list[Message]:
        """Everything not addressed, declined or dismissed, oldest first."""
        with self._state.reading() as records:
            found = [self._whole(records, one, RECENT) for space in _OPEN for one in self._all(records, space)]
        return sorted((self._as_of_now(message) for message in found), key=lambda message: message.id)

    def closed_messages(self) -> list[Message]:
        """What was addressed, declined or dismissed in the last ninety days, oldest first."""
        with self._state.reading() as records:
            return [self._whole(records, message, RECENT) for message in self._all(records, "closed")]

    def damaged(self) -> list[int]:
        """The numbers of open messages whose records cannot be read. They are left as they are, and keep no one up."""
        with self._state.reading() as records:
            rows = [row for space in _OPEN for row in records.range(self._prefix + space)]
        return sorted(int(key) if key.isdigit() else 0 for key, value in rows if _decode(value) is None)

    def waiting(self, client: str, most: int) -> list[Message]:
        """The newest that a client would be given now, oldest of these first."""
        with self._state.reading() as records:
            return self._deliverable(records, client, most)

    def get(self, number: int) -> Message:
        """One message, open or closed, with everything that was said to it."""
        with self._state.reading() as records:
            return self._as_of_now(self._whole(records, self._found(records, number), None))

    def text_of(self, message: Message) -> bytes | None:
        """The text of the file as it was when the message was sent."""
        with self._state.reading() as records:
            kept = records.get(self._prefix + "texts", _text_key(message))
        try:
            return None if kept is None else zlib.decompress(kept)
        except zlib.error:
            return None  # damaged: the message is still good, only its code cannot be found again

    def sequence(self) -> int:
        """The highest sequence number of any open message."""
        return max((message.sequence for message in self.open_messages()), default=0)

    # -- delivering -----------------------------------------------------------------------------------------------

    def take(self, client: str, holder: str, most: int, after: int | None = None) -> list[Message]:
        """Lease waiting messages to a client: the newest, oldest of these first; or the oldest after a sequence number.

        Looks first, so that asking again and again writes nothing.
        """
        with self._state.reading() as records:
            nothing = not self._deliverable(records, client, 1, after)
            noted = _seconds(records.get(self._prefix + "about", "read"))
        now = time.time()
        if nothing and abs(now - noted) < NOTED_EVERY:
            return []
        with self._state.writing() as changes:
            changes.put(self._prefix + "about", "read", b"%.3f" % now)
            self._sweep(changes)
            taken: list[Message] = []
            for message in self._deliverable(changes, client, most, after):
                lease = Lease(os.urandom(8).hex(), client, holder, now, now + self._lease_seconds)
                taken.append(self._whole(changes, self._lend(changes, message, lease), RECENT))
        return taken

    def confirm(self, leases: Iterable[tuple[int, str]]) -> None:
        """The answer reached the client: what is still on these leases is seen."""
        with self._state.writing() as changes:
            for number, lease in leases:
                message = self._leased(changes, number, lease)
                if message is not None:
                    self._move(changes, message, structs.replace(message, state="seen", lease=None))

    def lose(self, leases: Iterable[tuple[int, str]]) -> None:
        """The answer did not reach the client: what is still on these leases waits again."""
        with self._state.writing() as changes:
            for number, lease in leases:
                message = self._leased(changes, number, lease)
                if message is not None:
                    self._requeue(changes, message)
                    continue
                message = _decode(changes.get(self._prefix + "broadcast", _key(number)))
                if message is not None:
                    readers = tuple(reader for reader in message.readers if reader.rpartition(" ")[2] != lease)
                    self._put(changes, structs.replace(message, readers=readers))

    def confirm_client(self, client: str) -> None:
        """A client that came before is back: whatever it had on lease has reached it."""
        with self._state.reading() as records:
            mine = [
                (message.id, message.lease.id)
                for message in self._all(records, "leased")
                if message.lease is not None and message.lease.client == client
            ]
        if mine:
            self.confirm(mine)

    # -- changing -------------------------------------------------------------------------------------------------

    def acknowledge(self, number: int, lease: str, client: str) -> Message:
        """Say that it was read. Bound to the lease: one that has passed on is refused."""
        with self._state.writing() as changes:
            message = self._mine(changes, number, lease, client)
            if message.state in ("queued", "leased"):
                return self._move(changes, message, structs.replace(message, state="seen", lease=None))
            return message

    def close(self, number: int, outcome: Outcome, reply: Reply | None, lease: str, client: str) -> Message:
        """Addressed, declined or dismissed."""
        with self._state.writing() as changes:
            message = self._mine(changes, number, lease, client)
            if message.state in CLOSED and message.state != outcome:
                raise AlreadyClosed(number, message.state)
            if reply is not None:
                message = self._say(changes, message, reply)
            closed = structs.replace(message, state=outcome, lease=None)
            return self._whole(changes, self._move(changes, message, closed), RECENT)

    def reply(self, number: int, reply: Reply) -> Message:
        """Add to what was said."""
        with self._state.writing() as changes:
            message = self._say(changes, self._found(changes, number), reply)
            return self._whole(changes, self._put(changes, message), RECENT)

    def edit(self, number: int, comment: str) -> Message:
        """Change the words of a message that nobody has read; one that is on its way goes out again."""
        with self._state.writing() as changes:
            message = self._unread(changes, number)
            edited = structs.replace(message, comment=comment, edited=True)
            return self._requeue(changes, edited) if message.state == "leased" else self._put(changes, edited)

    def withdraw(self, number: int) -> Message:
        """Take back a message that nobody has read."""
        with self._state.writing() as changes:
            message = self._unread(changes, number)
            return self._move(changes, message, structs.replace(message, state="dismissed", lease=None))

    def reopen(self, number: int) -> Message:
        """Queue a message again that was read or closed."""
        with self._state.writing() as changes:
            message = self._found(changes, number)
            if message.state in ("queued", "leased"):
                raise StillOpen(number, message.state)
            return self._requeue(changes, structs.replace(message, readers=()))

    # -- inside one write or look ---------------------------------------------------------------------------------

    def _all(self, records: Records, space: str) -> Iterable[Message]:
        found = (_decode(value) for _, value in records.range(self._prefix + space))
        return (message for message in found if message is not None)

    def _whole(self, records: Records, message: Message, most: int | None) -> Message:
        """A message with what was said to it, the last `most`."""
        if not message.said:
            return message
        first = 0 if most is None else max(0, message.said - most)
        said = [
            reply for _, value in self._said(records, message, first) if (reply := _decode_reply(value)) is not None
        ]
        return structs.replace(message, replies=(*message.replies, *said) if first == 0 else tuple(said))

    def _said(self, records: Records, message: Message, first: int = 0) -> list[tuple[str, bytes]]:
        """The records of its replies from one on. Where some are gone, the next records are another message's."""
        if message.said == first:
            return []
        found = records.range(self._prefix + "replies", _reply_key(message.id, first), message.said - first)
        return [(key, value) for key, value in found if key.startswith(_reply_key(message.id, 0)[:13])]

    def _say(self, changes: Changes, message: Message, reply: Reply) -> Message:
        """Keep a reply beside its message; the message that knows of it is still to be put."""
        said = message.said + 1
        expires = time.time() + CLOSED_KEPT_SECONDS if message.state in CLOSED else None
        changes.put(self._prefix + "replies", _reply_key(message.id, said), _encode(reply), expires)
        return structs.replace(message, said=said)

    def _found(self, records: Records, number: int) -> Message:
        for space in (*_OPEN, "closed"):
            value = records.get(self._prefix + space, _key(number))
            if value is not None:
                message = _decode(value)
                if message is None:
                    raise MessageDamaged(number)
                return message
        raise NoSuchMessage(number)

    def _unread(self, records: Records, number: int) -> Message:
        message = self._found(records, number)
        if message.state not in ("queued", "leased") or message.readers:
            raise AlreadyRead(number, message.state if not message.readers else "seen")
        return message

    def _mine(self, records: Records, number: int, lease: str, client: str) -> Message:
        message = self._found(records, number)
        held = message.lease
        if lease and (held is None or held.id != lease):
            # After the answer reached the client the lease is over, and saying so again is no fault.
            if message.state in ("queued", "leased"):
                raise StaleLease(number)
        elif not lease and client and held is not None and held.client != client and not self._lapsed(message):
            raise StaleLease(number)
        return message

    def _leased(self, records: Records, number: int, lease: str) -> Message | None:
        message = _decode(records.get(self._prefix + "leased", _key(number)))
        return message if message is not None and message.lease is not None and message.lease.id == lease else None

    def _lapsed(self, message: Message) -> bool:
        lease = message.lease
        if lease is None:
            return False
        now = time.time()
        # A lease that began in the future was made before the clock was set back: it would never end.
        if now >= lease.until or lease.since > now + 60:
            return True
        return bool(lease.holder) and not is_alive(lease.holder, lease.since, self._lease_seconds)

    def _as_of_now(self, message: Message) -> Message:
        return structs.replace(message, state="queued", lease=None) if self._lapsed(message) else message

    def _sweep(self, changes: Changes) -> None:
        for message in self._all(changes, "leased"):
            if self._lapsed(message):
                self._requeue(changes, message)

    def _deliverable(self, records: Records, client: str, most: int, after: int | None = None) -> list[Message]:
        waiting = records.range(self._prefix + "queued")
        queued: list[Message] = []
        for _, value in reversed(waiting):
            message = _decode(value)
            if message is not None:
                queued.append(message)
            if after is None and len(queued) == most:
                break
        # Whoever had these is gone, and nobody has written so yet.
        lapsed = [self._as_of_now(message) for message in self._all(records, "leased") if self._lapsed(message)]
        broadcast = [
            message
            for message in self._all(records, "broadcast")
            if all(reader.rpartition(" ")[0] != client for reader in message.readers)
        ]
        if after is None:
            return sorted([*queued, *lapsed, *broadcast], key=lambda message: message.id)[-most:]
        later = [message for message in (*queued, *broadcast) if message.sequence > after]
        return sorted([*lapsed, *later], key=lambda message: message.sequence)[:most]

    def _lend(self, changes: Changes, message: Message, lease: Lease) -> Message:
        lent = structs.replace(message, attempt=message.attempt + 1)
        if message.broadcast:
            self._put(changes, structs.replace(lent, readers=(*message.readers, f"{lease.client} {lease.id}")))
            return structs.replace(lent, lease=lease)
        return self._move(changes, message, structs.replace(lent, state="leased", lease=lease))

    def _requeue(self, changes: Changes, message: Message) -> Message:
        again = structs.replace(message, state="queued", lease=None, sequence=changes.next("inbox/sequence"))
        return self._move(changes, message, again)

    def _move(self, changes: Changes, old: Message, new: Message) -> Message:
        for space in (*_OPEN, "closed"):
            changes.delete(self._prefix + space, _key(old.id))
        if (old.state in CLOSED) != (new.state in CLOSED):
            self._keep_text(changes, new)
            self._keep_replies(changes, new)
        return self._put(changes, new)

    def _keep_replies(self, changes: Changes, message: Message) -> None:
        """They live as long as their message."""
        expires = time.time() + CLOSED_KEPT_SECONDS if message.state in CLOSED else None
        for key, value in self._said(changes, message):
            changes.put(self._prefix + "replies", key, value, expires)

    def _keep_text(self, changes: Changes, message: Message) -> None:
        """The text lives as long as a message that needs it."""
        space, key = self._prefix + "texts", _text_key(message)
        text = changes.get(space, key)
        if text is None:
            return
        others = (other for name in _OPEN for other in self._all(changes, name) if other.id != message.id)
        needed = message.state not in CLOSED or any(_text_key(other) == key for other in others)
        changes.put(space, key, text, None if needed else time.time() + CLOSED_KEPT_SECONDS)

    def _put(self, changes: Changes, message: Message) -> Message:
        expires = time.time() + CLOSED_KEPT_SECONDS if message.state in CLOSED else None
        changes.put(self._prefix + _space(message), _key(message.id), _encode(message), expires)
        return message


def _decode(value: bytes | None) -> Message | None:
    """A message from its record; None when there is none, or none that can be read."""
    try:
        return None if value is None else _decoder.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _decode_reply(value: bytes) -> Reply | None:
    try:
        return msgspec.json.decode(value, type=Reply)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _reply_key(number: int, which: int) -> str:
    return f"{number:012d}.{which:08d}"


def _seconds(value: bytes | None) -> float:
    try:
        return float(value or b"0")
    except ValueError:
        return 0.0


def _space(message: Message) -> str:
    if message.state in CLOSED:
        return "closed"
    return "broadcast" if message.broadcast else message.state


def _key(number: int) -> str:
    return f"{number:012d}"


def _text_key(message: Message) -> str:
    return f"{message.place.blob}+{message.place.start}"
