"""A workspace that lives on many hosts: the one with the lease serves it, the others are told where that is.

A turn is the time of one lease number. It begins by bringing this host's clone to what was recorded last, and ends as
soon as anything is in doubt: the lease is lost, a write cannot be published or recorded, an operation failed halfway.
The next turn, here or on another host, has a higher number and begins from what was recorded. So there is one way to
recover, and it is taken at every beginning.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from postil.core import call
from postil.core.failure import Failure
from postil.storage.postgresql.postgres_leases import SECONDS, Fenced

if TYPE_CHECKING:
    from postil.core.catalogue import OperationEntry
    from postil.core.ports import State
    from postil.storage.postgresql.postgres_leases import Lease, PostgresLeases
    from postil.wire.server import Server
    from postil.workspace.clones.clone import SharedClone

RENEW_EVERY = 1.0
FOLLOW_EVERY = 60.0
MARGIN = 0.5
BUSY = 1.0
FILES = frozenset({"comments", "tracker", "flows", "workspace"})
"""The parts whose operations change files or refs of the workspace."""
FENCED = frozenset({"comments", "tracker"})
"""Those that change nothing else: an effect of an earlier turn that was not recorded was not made."""


class Peer(NamedTuple):
    """The replica that serves a workspace now."""

    address: str
    number: int


class Turn:
    """The time in which this process serves the workspace under one number."""

    def __init__(self, lease: Lease, deadline: float) -> None:
        self.lease = lease
        self.deadline = deadline
        """Until when nobody else can have the lease, by this process's monotonic clock."""
        self.over = threading.Event()
        self.server: Server | None = None

    @property
    def lasts(self) -> bool:
        """Whether this process may serve the workspace now."""
        return not self.over.is_set() and time.monotonic() < self.deadline


class HostedWorkspace:
    """One workspace, as this process takes part in serving it. Methods block: use a thread."""

    def __init__(
        self,
        name: str,
        clone: SharedClone,
        state: State,
        leases: PostgresLeases,
        holder: str,
        address: str,
        make_server: Callable[[HostedWorkspace, Turn], Server],
    ) -> None:
        self.name = name
        self._clone, self._state, self._leases = clone, state, leases
        self._holder, self._address = holder, address
        self._make_server = make_server
        self._lock = threading.Lock()
        self._writes = threading.Lock()
        """Held while the clone is changed: also over the end of a turn, so that a late writer disturbs no later one."""
        self._turn: Turn | None = None

    @property
    def current(self) -> Server | None:
        """The server of the turn that lasts; None where another host may have it. Does not block."""
        turn = self._turn
        return turn.server if turn is not None and turn.lasts else None

    @property
    def turn(self) -> int:
        """The number of the turn that lasts; 0 where another host may have it. Does not block."""
        turn = self._turn
        return turn.lease.number if turn is not None and turn.lasts else 0

    def find(self) -> Server | Peer:
        """Returns the server if this host has the lease, or takes it now; else who serves it. Raises a Failure."""
        with self._lock:
            served = self.current
            if served is not None:
                return served
            if self._turn is not None:
                self._end(self._turn)
            # A write of an earlier turn may still be on its way to the remote; or another process has this clone.
            if not self._clone.take() or not self._writes.acquire(timeout=BUSY):
                other = self._leases.find(self.name)
                if other is None or other.holder == self._holder:
                    raise Fenced(self.name)
                return Peer(other.address, other.number)
            try:
                asked = time.monotonic()
                lease = self._leases.acquire(self.name, self._holder, self._address)
                if lease.holder != self._holder:
                    return Peer(lease.address, lease.number)
                return self._begin(Turn(lease, asked + SECONDS - MARGIN))
            finally:
                self._writes.release()

    def _begin(self, turn: Turn) -> Server:
        threading.Thread(target=self._renew, args=[turn], name=f"postil-lease-{self.name}", daemon=True).start()
        try:
            self._clone.begin(turn.lease.head, turn.lease.head_number)
            turn.server = self._make_server(self, turn)
        except BaseException:
            self._end(turn)
            with suppress(Failure):
                self._leases.release(turn.lease)
            raise
        self._turn = turn
        if not turn.lasts:  # it took too long, or the lease was lost meanwhile
            raise Fenced(self.name)
        return turn.server

    def _renew(self, turn: Turn) -> None:
        """Renew the lease until the turn is over; bring in what people pushed, and give them what was recorded."""
        followed = time.monotonic()
        while not turn.over.wait(RENEW_EVERY):
            asked = time.monotonic()
            try:
                if not self._leases.renew(turn.lease):
                    self._end(turn)
                    return
                turn.deadline = asked + SECONDS - MARGIN
                if turn.server is None or not self._writes.acquire(blocking=False):
                    continue
                try:
                    self._clone.send_logs()
                    if time.monotonic() - followed > FOLLOW_EVERY:
                        followed = time.monotonic()
                        self._clone.follow()
                finally:
                    self._writes.release()
            except Failure:
                continue  # PostgreSQL or the remote is away: the deadline decides

    def _end(self, turn: Turn) -> None:
        turn.over.set()

    @contextmanager
    def writing(self, turn: Turn, entry: OperationEntry) -> Generator[None]:
        """Make an operation's change of files count: published and recorded when the block ends, else refused."""
        if entry.part not in FILES:
            yield
            return
        with self._writes:
            if not turn.lasts:
                raise Fenced(self.name)
            try:
                yield
            except BaseException:
                if self._clone.has_changed():
                    self._end(turn)  # half an effect: the next turn begins without it
                raise
            try:
                commit = self._clone.publish(turn.lease.number, call.current().caller.principal)
                if commit:
                    with self._state.writing() as changes:
                        self._leases.record(changes, turn.lease, commit)
                    self._clone.accept()
            except BaseException:
                self._end(turn)
                raise

    def fence(self, turn: Turn, part: str) -> str:
        """Returns what a claim of a key is bound to: a claim of an earlier turn holds nobody up."""
        return f"{self.name} {turn.lease.number}" if part in FENCED else ""

    def close(self) -> None:
        """Give the lease back: another host may take it at once."""
        turn = self._turn
        if turn is not None and not turn.over.is_set():
            self._end(turn)
            with self._writes, suppress(Failure):
                self._leases.release(turn.lease)
