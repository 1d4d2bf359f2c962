"""The state database in Redis or Valkey: shared by replicas on many machines.

A write holds one lock for all replicas while its block runs, and is committed by one script that first checks that the
lock is still its own (a fencing token): a writer that was stopped for too long changes nothing. Readers register, so
that a write waits for them and what a block reads is of one moment. A commit whose answer was lost is known by its
name, so it is never made twice.

Durable means what the server was told: `appendfsync always` for no loss at all. `doctor` says which promise holds.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import msgspec

from postil.core.effects.joining import join
from postil.core.ports import Changes, CounterRow, RecordRow, Records
from postil.storage.failures import StateAway, StateBusy, StateUnable, StateUnclear
from postil.storage.holder import is_alive, this_process
from postil.storage.last_seen import LastSeen, StaleRecords
from postil.storage.listeners import ChangeListeners
from postil.storage.outage import find_outage
from postil.storage.redis_store.redis_connection import PREFIX, connect, text, translate_errors
from postil.storage.redis_store.redis_records import COUNTERS, RedisRecords
from postil.storage.redis_store.redis_scripts import CHANNEL, COMMIT, ENTER_READ, ENTER_WRITE, LEAVE, UNLOCK
from postil.storage.unanswered import ask_until_known

LEASE_MS = 3_000
"""How long a replica that was killed in the middle of a block holds up the others: blocks take milliseconds."""
BUSY_SECONDS = 15.0
PATIENCE = 0.1
"""Seconds after which a waiting block looks whether those inside still live."""
COMMIT_SECONDS = 10.0
"""How long a commit without an answer is asked for again, before its outcome is called unknown."""
LOCK, READERS, WANTED = PREFIX + "lock", PREFIX + "readers", PREFIX + "wanted"
VERSION, EXPIRING = PREFIX + "version", PREFIX + "expiring"


class RedisState:
    """The State port over Redis."""

    def __init__(self, address: str, busy_seconds: float = BUSY_SECONDS) -> None:
        self._redis = connect(address)
        self._busy_seconds = busy_seconds
        self._scripts = {
            script: self._redis.register_script(script) for script in (ENTER_WRITE, ENTER_READ, COMMIT, UNLOCK, LEAVE)
        }
        self._local = threading.Lock()
        self._seen = LastSeen()
        self._outage = find_outage(address)
        self._listeners = ChangeListeners()
        self._starting = threading.Lock()
        self._watcher: threading.Thread | None = None
        self._closed = False

    @contextmanager
    def reading(self) -> Generator[Records]:
        """Give a consistent view of the records; of what was read before, while Redis is away."""
        token = _make_token()
        try:
            self._enter(ENTER_READ, token)
        except StateAway as away:
            stale = StaleRecords(self._seen, away)
            yield stale
            stale.report_age()
            return
        is_whole = True
        try:
            yield RedisRecords(self._redis, self._seen)
        finally:
            with suppress(StateAway), translate_errors():
                is_whole = bool(self._scripts[LEAVE](keys=[READERS], args=[token]))
        if not is_whole:  # it took longer than its lease, so a write may have happened in the middle
            raise StateBusy("in Redis", LEASE_MS / 1000)

    @contextmanager
    def writing(self) -> Generator[Changes]:
        """Change records: kept when the block ends, nothing changed when it raises."""
        token = _make_token()
        with self._local:  # threads of one process take turns here, without asking Redis
            self._enter(ENTER_WRITE, token)
            records = RedisRecords(self._redis)
            try:
                yield records
                join(records)
                version = self._commit(records, token)
            except StateUnclear:
                raise
            except BaseException:
                with suppress(Exception), translate_errors():
                    self._scripts[UNLOCK](keys=[LOCK], args=[token])
                raise
            finally:
                self._seen.forget(records.changed_spaces())
        if version < 0:
            raise StateBusy("in Redis", self._busy_seconds)

    def version(self) -> int:
        """Returns a number that grows with every write."""
        with self._reach():
            return int(cast("bytes | None", self._redis.get(VERSION)) or 0)

    def wait(self, beyond: int, timeout: float) -> bool:
        """Wait until the version is greater than `beyond`. Returns False when the time is over first."""
        self._watch()
        # A message may be lost while the connection is made anew: look again every second.
        return self._listeners.wait_until(lambda: self.version() > beyond, timeout, longest_pause=1.0)

    def on_change(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after every write of any replica. Returns a function that stops this."""
        stop = self._listeners.add(changed)
        self._watch()
        return stop

    def close(self) -> None:
        """Close the connections and end the watching thread."""
        self._closed = True
        watcher = self._watcher
        if watcher is not None:
            watcher.join(2)
        self._redis.close()

    def dump(self) -> tuple[list[CounterRow], Iterator[RecordRow]]:
        """Returns all counters and records of one moment. Raises StateBusy where that takes longer than a lease."""
        with self.reading() as records:
            assert isinstance(records, RedisRecords)
            counters, rows = records.read_all()
        return counters, iter(rows)

    def load(self, counters: Iterable[CounterRow], records: Iterable[RecordRow]) -> None:
        """Replace all counters and records, all or nothing."""
        with self.writing() as changes:
            assert isinstance(changes, RedisRecords)
            changes.replace_all(counters, records)

    def promise(self) -> tuple[str, list[str]]:
        """Returns what this Redis was told to promise, in words; and what must be changed for nothing to be lost."""
        import redis

        said: dict[str, str] = {}
        try:
            with translate_errors():
                for name in ("appendonly", "appendfsync", "maxmemory-policy"):
                    told = cast("dict[Any, Any]", self._redis.config_get(name))
                    said |= {text(key): text(value) for key, value in told.items()}
                replicas = int(cast("dict[str, Any]", self._redis.info("replication")).get("connected_slaves", 0))
        except StateAway as away:
            if isinstance(away.__cause__, redis.ResponseError):  # renamed or forbidden, as managed services do
                raise StateUnable(str(away.__cause__)) from away
            raise
        faults: list[str] = []
        if said.get("maxmemory-policy", "noeviction") != "noeviction":
            faults.append(f"maxmemory-policy is {said['maxmemory-policy']}: it may forget messages; set noeviction")
        promise = "nothing acknowledged is lost"
        if said.get("appendonly") != "yes":
            promise = "what was written since its last snapshot is lost when it stops"
            faults.append("appendonly is off: set appendonly yes and appendfsync always")
        elif said.get("appendfsync") != "always":
            promise = "at most the last second is lost when its machine stops"
            faults.append(f"appendfsync is {said.get('appendfsync')}: set appendfsync always")
        if replicas:
            promise += "; a failover to a replica loses what that had not received"
        return promise, faults

    # -- entering and committing ------------------------------------------------------------------------------------

    def _enter(self, script: str, token: str) -> None:
        begun = time.monotonic()
        deadline, look = begun + self._busy_seconds, begun + PATIENCE
        pause = 0.001
        while True:
            with self._reach():
                if self._scripts[script](keys=[LOCK, READERS, WANTED], args=[token, LEASE_MS]):
                    return
            if time.monotonic() > deadline:
                raise StateBusy("in Redis", self._busy_seconds)
            if time.monotonic() > look:
                self._clear_dead()
                look = time.monotonic() + PATIENCE
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - spreads those who wait, hides nothing
            pause = min(pause * 1.5, 0.02)

    @contextmanager
    def _reach(self) -> Generator[None]:
        """Ask Redis. Raises StateAway at once while an outage lasts."""
        if self._outage.lasts:
            raise StateAway("it did not answer in time")
        try:
            with translate_errors():
                yield
        except StateAway as away:
            self._outage.note(away.__cause__)
            raise
        self._outage.end()

    def _clear_dead(self) -> None:
        """End the blocks of processes of this machine that were killed in them, without waiting for their lease."""
        with translate_errors():
            holder = cast("bytes | None", self._redis.get(LOCK))
            if holder is not None and _is_dead(text(holder)):
                self._scripts[UNLOCK](keys=[LOCK], args=[holder])
            dead = [reader for reader in self._redis.zrange(READERS, 0, -1) if _is_dead(text(reader))]
            if dead:
                self._scripts[LEAVE](keys=[READERS], args=dead)

    def _commit(self, records: RedisRecords, token: str) -> int:
        changes, values = records.changes()
        keys = [LOCK, VERSION, COUNTERS, f"{PREFIX}commit:{token.partition(' ')[0]}", EXPIRING]
        arguments = [token, msgspec.json.encode(changes), *values]

        def ask() -> int:
            with translate_errors():
                return int(cast("int", self._scripts[COMMIT](keys=keys, args=arguments)))

        # A commit is known by its name, so it can be asked for again: the answer is its version, or that the lock was
        # lost before it came, which it cannot get back. Only silence leaves the outcome open.
        return ask_until_known(ask, COMMIT_SECONDS, lambda failure: _is_refusal(failure.__cause__))

    # -- hearing of changes -----------------------------------------------------------------------------------------

    def _watch(self) -> None:
        with self._starting:
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._listen, name="postil-redis", daemon=True)
                self._watcher.start()

    def _listen(self) -> None:
        import redis

        while not self._closed:
            try:
                with self._redis.pubsub(ignore_subscribe_messages=True) as heard:
                    heard.subscribe(CHANNEL)
                    self._listeners.notify()  # of all that happened before this subscription
                    while not self._closed:
                        if heard.get_message(timeout=0.5) is not None:
                            self._listeners.notify()
            except (redis.RedisError, OSError):
                time.sleep(0.2)


def _make_token() -> str:
    return f"{secrets.token_hex(16)} {this_process()}"


def _is_refusal(error: BaseException | None) -> bool:
    """Returns whether Redis answered, and refused: nothing of the script was done."""
    import redis

    return isinstance(error, redis.ResponseError)


def _is_dead(token: str) -> bool:
    return not is_alive(token.partition(" ")[2], time.time(), LEASE_MS)
