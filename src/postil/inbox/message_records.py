"""Messages inside one read or one write of the state: a space for each state a message can be in.

What store.py's methods are made of. Not here: transactions, files, git, texts.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from postil.core import call
from postil.core.others.unreadable import UNREADABLE
from postil.inbox.failures import AlreadyRead, MessageDamaged, NoSuchMessage, StaleLease
from postil.inbox.model import ASSISTANT, CLOSED, Lease, Message, Place, Reply
from postil.storage.holder import is_alive

if TYPE_CHECKING:
    from postil.core.ports import Changes, Records

CLOSED_KEPT_SECONDS = 90 * 24 * 3600.0
OPEN = ("queued", "broadcast", "leased", "seen")
SPACES = (*OPEN, "draft", "closed")
REQUESTS, REQUESTS_ENDED = "requests", "requests-ended"
"""Reviews that assistants ask for: those that wait for the person, and the others."""
HOMES = "inbox/homes"
"""Where the repositories are that have messages."""
HOOK = "hook-"
"""How the names of clients begin that got a message through a hook."""

_NO_REPLY = 0
"""In the place of a reply's number, which begin at 1: closed without a word."""
encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Message)


def is_assistants(author: str) -> bool:
    """Returns whether an assistant says it: that of the person, or of somebody else, as `Call.sign` writes it."""
    return author == ASSISTANT or author.endswith((f" ({ASSISTANT})", f" as {ASSISTANT})"))


class Counts(msgspec.Struct, frozen=True):
    """What a receipt says."""

    waiting: int
    last_read: float
    drafts: int = 0
    requests: int = 0
    """Reviews that are asked for."""


class MessageRecords:
    """Messages inside one read or one write."""

    def __init__(self, records: Changes, prefix: str, lease_seconds: float) -> None:
        self.records = records
        self._prefix = prefix
        self._lease_seconds = lease_seconds

    def decode_all(self, space: str) -> Iterable[Message]:
        """Returns the messages of a space that can be read."""
        found = (decode(value) for _, value in self.records.range(self._prefix + space))
        return (message for message in found if message is not None)

    def shown(self, space: str) -> Iterable[Message]:
        """Returns those of a space that the caller may know of: what was never sent is its author's alone."""
        return (message for message in self.decode_all(space) if not _is_private(message))

    def counts(self) -> Counts:
        """Returns how many wait, those on leases that are over included, and when an assistant last looked."""
        lapsed = sum(self.is_lapsed(message) for message in self.decode_all("leased"))
        waiting = sum(self.records.count(self._prefix + space) for space in ("queued", "broadcast"))
        drafts, requests = (self.records.count(self._prefix + space) for space in ("draft", REQUESTS))
        drafts = len([*self.shown("draft")]) if drafts else 0
        return Counts(waiting + lapsed, self.last_read(), drafts, requests)

    def last_read(self) -> float:
        """Returns when an assistant last looked."""
        try:
            return float(self.records.get(self._prefix + "about", "read") or b"0")
        except ValueError:
            return 0.0

    def find(self, number: int) -> Message:
        """Returns the message of this number. Raises NoSuchMessage, MessageDamaged."""
        for space in SPACES:
            value = self.records.get(self._prefix + space, make_key(number))
            if value is not None:
                message = decode(value)
                if message is None:
                    raise MessageDamaged(number)
                if not _is_private(message):
                    return message
        raise NoSuchMessage(number)

    def find_unread(self, number: int) -> Message:
        """Returns the message of this number. Raises AlreadyRead."""
        message = self.find(number)
        if message.state not in ("draft", "queued", "leased") or message.readers:
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
        message = decode(self.records.get(self._prefix + "leased", make_key(number)))
        return message if message is not None and message.lease is not None and message.lease.id == lease else None

    def find_deliverable(self, client: str, most: int, after: int | None = None) -> list[Message]:
        """Returns what a client would be given now, the oldest first; or the next after a sequence number."""
        queued: list[Message] = []
        for _, value in self.records.range(self._prefix + "queued"):
            message = decode(value)
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
            changes.put(self._prefix + "texts", name_text(message.place), zlib.compress(text, 1))
        return self.put(message)

    def requeue(self, message: Message, **changed: Any) -> Message:
        """Queue a message again, behind all others."""
        sequence = self.records.next("inbox/sequence")
        return self.move(message, "queued", sequence=sequence, unsent=False, **changed)

    def move(self, old: Message, state: str, *, lease: Lease | None = None, **changed: Any) -> Message:
        """Bring a message into another state."""
        new: Message = structs.replace(old, state=state, lease=lease, **changed)
        for space in SPACES:
            self.records.delete(self._prefix + space, make_key(old.id))
        if (old.state in CLOSED) != (new.state in CLOSED):
            self._keep_text(new)
            for key, value in self._reply_records(new):
                self.records.put(self._prefix + "replies", key, value, _expiry(new))
        return self.put(new)

    def put(self, message: Message) -> Message:
        """Write a message to the space of its state."""
        self.records.put(self._prefix + _space(message), make_key(message.id), encode(message), _expiry(message))
        return message

    def _keep_text(self, message: Message) -> None:
        """Keep the text as long as a message needs it."""
        space, key = self._prefix + "texts", name_text(message.place)
        text = self.records.get(space, key)
        if text is None:
            return
        others = (other for name in (*OPEN, "draft") for other in self.decode_all(name) if other.id != message.id)
        needed = message.state not in CLOSED or any(name_text(other.place) == key for other in others)
        self.records.put(space, key, text, None if needed else _expiry(message))

    # -- replies: records of their own, which live as long as their message ---------------------------------------

    def add_reply(self, message: Message, reply: Reply) -> Message:
        """Keep a reply beside its message. Returns the message that counts it, which is still to be put."""
        said = message.said + 1
        key = _reply_key(message.id, said)
        self.records.put(self._prefix + "replies", key, encode(reply), _expiry(message))
        if is_assistants(reply.author):
            self.records.put(self._prefix + "answers", key, b"", time.time() + CLOSED_KEPT_SECONDS)
        return structs.replace(message, said=said)

    def tell_outcome(self, message: Message) -> None:
        """Let the person hear that a message was closed without a word."""
        key = _reply_key(message.id, _NO_REPLY)
        self.records.put(self._prefix + "answers", key, b"", time.time() + CLOSED_KEPT_SECONDS)

    def count_read(self) -> int:
        """Returns how many were read and are not closed."""
        return self.records.count(self._prefix + "seen")

    def count_answers(self) -> int:
        """Returns how many answers the person has not been told of."""
        return self.records.count(self._prefix + "answers")

    def hear_answers(self, most: int) -> list[tuple[int, str, Reply]]:
        """Returns the oldest answers that the person has not been told of, with what they did. They count as told."""
        told: list[tuple[int, str, Reply]] = []
        for key, _ in self.records.range(self._prefix + "answers", limit=most):
            self.records.delete(self._prefix + "answers", key)
            number, _, which = key.partition(".")
            reply = decode_reply(self.records.get(self._prefix + "replies", key) or b"")
            if reply is None and int(which) == _NO_REPLY:
                reply = Reply(ASSISTANT, "", "")
            if reply is not None:
                number = int(number)
                closed = decode(self.records.get(self._prefix + "closed", make_key(number)))
                told.append((number, closed.state if closed else "answered", reply))
        return told

    def join_replies(self, message: Message, most: int | None) -> Message:
        """Returns a message with its last `most` replies."""
        if not message.said:
            return message
        first = 0 if most is None else max(0, message.said - most)
        said = [reply for _, value in self._reply_records(message, first) if (reply := decode_reply(value))]
        return structs.replace(message, replies=(*message.replies, *said) if first == 0 else tuple(said))

    def _reply_records(self, message: Message, first: int = 0) -> list[tuple[str, bytes]]:
        """Returns the records of its replies from one on. Where some are gone, the next are another message's."""
        if message.said == first:
            return []
        found = self.records.range(self._prefix + "replies", _reply_key(message.id, first), message.said - first)
        return [(key, value) for key, value in found if key.startswith(_reply_key(message.id, 0)[:13])]


def _is_private(message: Message) -> bool:
    """Returns whether it was never sent, and somebody else wrote it."""
    return (message.state == "draft" or message.unsent) and not call.current().caller.signed(message.author)


def decode(value: bytes | None) -> Message | None:
    """Returns the message of a record, or None if there is none or it cannot be read."""
    try:
        return None if value is None else _decoder.decode(value)
    except UNREADABLE:
        return None


def decode_reply(value: bytes) -> Reply | None:
    try:
        return msgspec.json.decode(value, type=Reply)
    except UNREADABLE:
        return None


def _expiry(message: Message) -> float | None:
    return time.time() + CLOSED_KEPT_SECONDS if message.state in CLOSED else None


def _space(message: Message) -> str:
    if message.state in CLOSED or message.state == "draft":
        return "draft" if message.state == "draft" else "closed"
    return "broadcast" if message.broadcast else message.state


def make_key(number: int) -> str:
    return f"{number:012d}"


def _reply_key(number: int, which: int) -> str:
    return f"{number:012d}.{which:08d}"


def read_text(records: Records, prefix: str, place: Place) -> bytes | None:
    """Returns the text that a place was found in, None where it is gone or damaged: what is said of it stays good."""
    kept = records.get(prefix + "texts", name_text(place))
    try:
        return None if kept is None else zlib.decompress(kept)
    except zlib.error:
        return None


def name_text(place: Place) -> str:
    """Returns the key of the text that a place was found in."""
    return f"{place.blob}+{place.start}"
