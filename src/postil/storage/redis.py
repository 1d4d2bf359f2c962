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
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, cast

import msgspec

from postil.core.ports import Changes, Records
from postil.storage.failures import StateBusy
from postil.storage.holder import is_alive, this_process
from postil.storage.last_seen import LastSeen, OldLook
from postil.storage.redis_connection import PREFIX, StateAway, connect, outage_of, text, translated
from postil.storage.redis_scripts import LEAVE, PASSING

LEASE_MS = 3_000
"""How long a replica that was killed in the middle of a block holds up the others: blocks take milliseconds."""
BUSY_SECONDS = 15.0
PATIENCE = 0.1
"""Seconds after which whoever waits looks whether those inside still live."""
WANTED, WANTED_MS = PREFIX + "wanted", 250
LOCK, READERS, VERSION, COUNTERS = PREFIX + "lock", PREFIX + "readers", PREFIX + "version", PREFIX + "counters"
EXPIRING, CHANNEL = PREFIX + "expiring", PREFIX + "changed"

# KEYS: lock, readers, wanted. ARGV: token, lease in ms. 1 when the lock is ours. A writer that finds readers asks new
# ones to hold back for a moment, or an unbroken row of them would keep it out; not longer, for a reader may begin
# another look inside its own.
_ENTER_WRITE = (
    PASSING
    + """
local now = redis.call('TIME')
local ms = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ms)
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then return 1 end
if holder then return 0 end
if redis.call('ZCARD', KEYS[2]) > 0 then
  redis.call('SET', KEYS[3], ARGV[1], 'NX', 'PX', '%w')
  return 0
end
redis.call('DEL', KEYS[3])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
""".replace("%w", str(WANTED_MS))
)
# KEYS: lock, readers, wanted. ARGV: token, lease in ms. 1 when we may read.
_ENTER_READ = (
    PASSING
    + """
if redis.call('EXISTS', KEYS[1], KEYS[3]) > 0 then return 0 end
local now = redis.call('TIME')
redis.call('ZADD', KEYS[2], now[1] * 1000 + math.floor(now[2] / 1000) + ARGV[2], ARGV[1])
return 1
"""
)
# KEYS: lock, version, counters, committed, expiring. ARGV: token, changes as JSON, values…
# The new version; -1 when the lock was lost. Expired records are cleared away a few at a time.
_COMMIT = """
local known = redis.call('GET', KEYS[4])
if known then return tonumber(known) end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
local changes = cjson.decode(ARGV[2])
for _, change in ipairs(changes) do
  local names, values = change[2], change[3]
  if change[1] == 'put' then
    redis.call('ZADD', names, 0, change[4])
    redis.call('HSET', values, change[4], ARGV[change[5]])
    if change[6] > 0 then
      redis.call('ZADD', KEYS[5], change[6], change[7])
    else
      redis.call('ZREM', KEYS[5], change[7])
    end
  elseif change[1] == 'delete' then
    redis.call('ZREM', names, change[4])
    redis.call('HDEL', values, change[4])
    redis.call('ZREM', KEYS[5], change[5])
  else
    redis.call('HSET', KEYS[3], names, values)
  end
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', redis.call('TIME')[1], 'LIMIT', 0, 100)) do
  local cut = string.find(member, string.char(10), 1, true)
  local space, key = string.sub(member, 1, cut - 1), string.sub(member, cut + 1)
  redis.call('ZREM', '%pnames:' .. space, key)
  redis.call('HDEL', '%pvalues:' .. space, key)
  redis.call('ZREM', KEYS[5], member)
end
local version = redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[4], version, 'EX', 60)
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', '%s', version)
return version
""".replace("%s", CHANNEL).replace("%p", PREFIX)
_LEAVE = PASSING + "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"


class RedisState:
    """The State port over Redis."""

    def __init__(self, address: str, busy_seconds: float = BUSY_SECONDS) -> None:
        self._redis = connect(address)
        self._busy_seconds = busy_seconds
        self._scripts = {
            name: self._redis.register_script(name) for name in (_ENTER_WRITE, _ENTER_READ, _COMMIT, _LEAVE, LEAVE)
        }
        self._local = threading.Lock()
        self._seen = LastSeen()
        self._outage = outage_of(address)
        self._listeners: list[Callable[[], None]] = []
        self._changed = threading.Condition()
        self._noticed = 0
        self._watcher: threading.Thread | None = None
        self._closed = False

    @contextmanager
    def reading(self) -> Generator[Records]:
        """A consistent look at the records."""
        token = _token()
        try:
            self._enter(_ENTER_READ, token)
        except StateAway as away:
            old = OldLook(self._seen, away)
            yield old
            old.tell()
            return
        is_whole = True
        try:
            yield _Look(self._redis, self._seen)
        finally:
            with suppress(StateAway), translated():
                is_whole = bool(self._scripts[LEAVE](keys=[READERS], args=[token]))
        if not is_whole:  # it took longer than its lease, so a write may have happened in the middle
            raise StateBusy("in Redis", LEASE_MS / 1000)

    @contextmanager
    def writing(self) -> Generator[Changes]:
        """Change records: kept when the block ends, nothing changed when it raises."""
        token = _token()
        with self._local:  # threads of one process take turns here, without asking Redis
            self._enter(_ENTER_WRITE, token)
            look = _Look(self._redis)
            try:
                yield look
                version = self._commit(look, token)
            except BaseException:
                with suppress(Exception), translated():
                    self._scripts[_LEAVE](keys=[LOCK], args=[token])
                raise
            finally:
                self._seen.forget(look.touched())
        if version < 0:
            raise StateBusy("in Redis", self._busy_seconds)

    def version(self) -> int:
        """A number that grows with every write."""
        with self._reached():
            return int(cast("bytes | None", self._redis.get(VERSION)) or 0)

    def wait(self, beyond: int, timeout: float) -> bool:
        """Wait until the version is greater than `beyond`."""
        self._watch()
        deadline = time.monotonic() + timeout
        while True:
            with self._changed:
                noticed = self._noticed
            if self.version() > beyond:
                return True
            with self._changed:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                # A message may be lost while the connection is made anew: look again every second.
                self._changed.wait_for(lambda seen=noticed: self._noticed != seen, min(left, 1.0))

    def on_change(self, changed: Callable[[], None]) -> Callable[[], None]:
        """Call `changed` after writes, by whichever replica."""
        with self._changed:
            self._listeners.append(changed)
        self._watch()

        def stop() -> None:
            with self._changed, suppress(ValueError):
                self._listeners.remove(changed)

        return stop

    def close(self) -> None:
        """Let go of connections and the watching thread."""
        self._closed = True
        watcher = self._watcher
        if watcher is not None:
            watcher.join(2)
        self._redis.close()

    def promise(self) -> tuple[str, list[str]]:
        """What this Redis was told to promise, in words; and what must be changed, if anything."""
        with translated():
            said: dict[str, str] = {}
            for name in ("appendonly", "appendfsync", "maxmemory-policy"):
                told = cast("dict[Any, Any]", self._redis.config_get(name))
                said |= {text(key): text(value) for key, value in told.items()}
        faults: list[str] = []
        if said.get("maxmemory-policy", "noeviction") != "noeviction":
            faults.append(f"maxmemory-policy is {said['maxmemory-policy']}: it may forget messages; set noeviction")
        if said.get("appendonly") != "yes":
            return "what was written since its last snapshot is lost when it stops (appendonly is off)", faults
        if said.get("appendfsync") != "always":
            return "at most the last second is lost when its machine stops", faults
        return "nothing acknowledged is lost", faults

    # -- entering and committing ------------------------------------------------------------------------------------

    def _enter(self, script: str, token: str) -> None:
        begun = time.monotonic()
        deadline, look = begun + self._busy_seconds, begun + PATIENCE
        pause = 0.001
        while True:
            with self._reached():
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
    def _reached(self) -> Generator[None]:
        """Ask, unless it hangs just now."""
        if self._outage.lasts:
            raise StateAway("it did not answer in time")
        try:
            with translated():
                yield
        except StateAway as away:
            self._outage.note(away.__cause__)
            raise
        self._outage.end()

    def _clear_dead(self) -> None:
        """End the blocks of processes of this machine that were killed in them, without waiting for their lease."""
        with translated():
            holder = cast("bytes | None", self._redis.get(LOCK))
            if holder is not None and _is_dead(text(holder)):
                self._scripts[_LEAVE](keys=[LOCK], args=[holder])
            dead = [reader for reader in self._redis.zrange(READERS, 0, -1) if _is_dead(text(reader))]
            if dead:
                self._scripts[LEAVE](keys=[READERS], args=dead)

    def _commit(self, look: _Look, token: str) -> int:
        changes, values = look.changes()
        keys = [LOCK, VERSION, COUNTERS, f"{PREFIX}commit:{token.partition(' ')[0]}", EXPIRING]
        arguments = [token, msgspec.json.encode(changes), *values]
        with translated():
            return int(cast("int", self._scripts[_COMMIT](keys=keys, args=arguments)))

    # -- hearing of changes -----------------------------------------------------------------------------------------

    def _watch(self) -> None:
        with self._changed:
            if self._watcher is not None:
                return
            self._watcher = threading.Thread(target=self._listen, name="postil-redis", daemon=True)
        self._watcher.start()

    def _listen(self) -> None:
        import redis

        while not self._closed:
            try:
                with self._redis.pubsub(ignore_subscribe_messages=True) as heard:
                    heard.subscribe(CHANNEL)
                    self._notice()  # whatever happened before this subscription
                    while not self._closed:
                        if heard.get_message(timeout=0.5) is not None:
                            self._notice()
            except (redis.RedisError, OSError):
                time.sleep(0.2)

    def _notice(self) -> None:
        with self._changed:
            self._noticed += 1
            self._changed.notify_all()
            listeners = list(self._listeners)
        for changed in listeners:
            changed()


class _Look:
    """Records through the block's own changes."""

    def __init__(self, client: Any, seen: LastSeen | None = None) -> None:
        self._redis, self._seen = client, seen
        self._now = time.time()
        self._puts: dict[tuple[str, str], bytes | None] = {}
        self._counters: dict[str, int] = {}

    def get(self, space: str, key: str) -> bytes | None:
        if (space, key) in self._puts:
            stored = self._puts[space, key]
        else:
            with translated():
                stored = cast("bytes | None", self._redis.hget(_values(space), key))
        alive = self._alive(stored)
        if self._seen is not None:
            self._seen.note(("get", space, key, None), alive)
        return alive

    def range(self, space: str, after: str = "", limit: int | None = None) -> list[tuple[str, bytes]]:
        changed = {key: value for (of, key), value in self._puts.items() if of == space and key > after}
        found: dict[str, bytes] = {}
        start = b"(" + after.encode() if after else b"-"
        while True:
            # Expired and changed ones fall out below: ask for more until there are enough.
            size = 1000 if limit is None else max(100, limit)
            with translated():
                names: list[bytes] = self._redis.zrangebylex(_names(space), start, b"+", 0, size)
                stored: list[bytes | None] = self._redis.hmget(_values(space), names) if names else []
            for name, value in zip(names, stored, strict=True):
                alive = self._alive(value)
                if alive is not None and text(name) not in changed:
                    found[text(name)] = alive
            if len(names) < size or (limit is not None and len(found) >= limit):
                break
            start = b"(" + names[-1]
        edge = None if len(names) < size else text(names[-1])
        for key, value in changed.items():
            alive = self._alive(value)
            if alive is not None and (edge is None or key <= edge):
                found[key] = alive
        ordered = sorted(found.items())
        ordered = ordered if limit is None else ordered[:limit]
        if self._seen is not None:
            self._seen.note(("range", space, after, limit), ordered)
        return ordered

    def count(self, space: str) -> int:
        return len(self.range(space))

    def put(self, space: str, key: str, value: bytes, expires: float | None = None) -> None:
        self._puts[space, key] = f"{expires or 0:.6f}\n".encode() + value

    def delete(self, space: str, key: str) -> None:
        self._puts[space, key] = None

    def next(self, counter: str) -> int:
        if counter not in self._counters:
            with translated():
                self._counters[counter] = int(self._redis.hget(COUNTERS, counter) or 0)
        self._counters[counter] += 1
        return self._counters[counter]

    def touched(self) -> set[str]:
        """The spaces that the block changed, or would have."""
        return {space for space, _ in self._puts}

    def changes(self) -> tuple[list[list[object]], list[bytes]]:
        """What the commit has to do: commands, and the values they point to."""
        commands: list[list[object]] = []
        values: list[bytes] = []
        for (space, key), value in self._puts.items():
            if value is None:
                commands.append(["delete", _names(space), _values(space), key, f"{space}\n{key}"])
            else:
                values.append(value)
                expires = float(value.partition(b"\n")[0])
                names = [_names(space), _values(space), key]
                commands.append(["put", *names, len(values) + 2, expires, f"{space}\n{key}"])
        for name, value in self._counters.items():
            commands.append(["count", name, value])
        return commands, values

    def _alive(self, stored: bytes | None) -> bytes | None:
        if stored is None:
            return None
        expires, _, value = stored.partition(b"\n")
        return None if 0 < float(expires) <= self._now else value


def _token() -> str:
    return f"{secrets.token_hex(16)} {this_process()}"


def _is_dead(token: str) -> bool:
    return not is_alive(token.partition(" ")[2], time.time(), LEASE_MS)


def _names(space: str) -> str:
    return f"{PREFIX}names:{space}"


def _values(space: str) -> str:
    return f"{PREFIX}values:{space}"
