"""Access keys of ours: made, listed and revoked by `postil key`, hashed at rest, each with its GitLab credential.

A key is `postil_<id>_<secret>` with 256 random bits, so a plain hash is enough: there is nothing to guess. The GitLab
token stored with it is sealed with a key derived from the installation's secret, or brought along as `PRIVATE-TOKEN`.
"""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import time
from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct

from postil.core.call import Caller
from postil.core.failure import Conflict, Extra, Failure, NotFound
from postil.core.ports import State
from postil.surfaces.gateway.auth import Attempt
from postil.surfaces.gateway.refused import Unavailable
from postil.surfaces.gateway.visitor import View, Visitor, fingerprint

SPACE = "access-keys"
REMEMBERED = 2.5
WITHOUT_STATE = 600.0
_KEY = re.compile(r"postil_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")

IDS_FORM = re.compile(r"[0-9a-f]{16}")


class AccessKey(Struct, frozen=True):
    """What is stored of a key."""

    id: str
    name: str
    digest: str
    created: float
    workspace: bool = False
    """Whether its bearer may use this workspace's inbox, comments and issues."""
    read_only: bool = False
    sealed: bytes = b""
    """The GitLab token, sealed."""
    must_sign: bool = False
    """Whether its calls need a signature, also where the server asks for none."""
    expires: float = 0.0
    """From when on it opens nothing; 0 where it has no end."""

    def has_ended(self) -> bool:
        """Returns whether its time is over."""
        return 0.0 < self.expires <= time.time()


class NoSuchKey(NotFound):
    """No access key of that name."""


class KeyExists(Conflict):
    """An access key of that name exists already."""


def create(
    state: State,
    name: str,
    *,
    workspace: bool,
    read_only: bool,
    gitlab_token: str,
    secret: Callable[[], bytes],
    must_sign: bool = False,
    days: int = 0,
) -> str:
    """Make a key and answer it: the only time that it is seen. Without a number of days it has no end."""
    key_id, secret_part = secrets.token_hex(8), secrets.token_urlsafe(32)
    key = f"postil_{key_id}_{secret_part}"
    sealed = seal(gitlab_token, key_id, secret()) if gitlab_token else b""
    now = time.time()
    ends = now + days * 86_400 if days else 0.0
    record = AccessKey(key_id, name, fingerprint(key), now, workspace, read_only, sealed, must_sign, ends)
    with state.writing() as changes:
        if IDS_FORM.fullmatch(name):  # http.operators may name a key by its id: nobody else is called so
            raise KeyExists(f"{name!r} may be the id of another key", advice="Choose another name")
        if any(_read(key, value).name == name for key, value in changes.range(SPACE)):
            raise KeyExists(f"There is a key named {name!r} already", advice="Choose another name, or revoke that one")
        changes.put(SPACE, key_id, msgspec.json.encode(record))
    return key


def list_keys(state: State) -> list[AccessKey]:
    """Returns all keys, in the order of their making."""
    with state.reading() as records:
        return sorted((_read(key, value) for key, value in records.range(SPACE)), key=lambda key: key.created)


def revoke(state: State, name: str) -> AccessKey:
    """Forget a key: its bearer is unknown from now on (within seconds where a server remembers it)."""
    with state.writing() as changes:
        for key_id, value in changes.range(SPACE):
            record = _read(key_id, value)
            if record.name == name:
                changes.delete(SPACE, key_id)
                return record
        raise NoSuchKey(f"There is no key named {name!r}", advice="`postil key list` shows them")


class AccessKeys:
    """The bearers of our keys."""

    def __init__(self, state: State, secret: Callable[[], bytes]) -> None:
        self._state, self._secret = state, secret
        self._known: dict[str, tuple[float, AccessKey | None]] = {}
        self._looking: dict[str, asyncio.Task[AccessKey | None]] = {}
        """The keys that are looked up now, each once: one caller with many calls must not stand before the others."""

    async def identify(self, bearer: str, headers: Mapping[bytes, bytes], attempt: Attempt) -> Visitor | None:
        """Returns the holder of this key."""
        found = _KEY.fullmatch(bearer)
        if found is None:
            return None
        _, known = self._known.get(found[1], (0.0, None))
        is_known = known is not None and hmac.compare_digest(known.digest, fingerprint(bearer))
        if not is_known and found[1] not in self._looking:
            await attempt()  # before the state is asked; who is wrong is counted after it in any case
        record = await self._record(found[1])
        if record is None or not hmac.compare_digest(record.digest, fingerprint(bearer)) or record.has_ended():
            return None
        brought = headers.get(b"private-token", b"").strip(b" \t").decode("latin-1")
        credential = brought or (unseal(record.sealed, record.id, self._secret()) if record.sealed else "")
        caller = Caller(f"key:{record.id}", surface="http", credential=credential, name=record.name)
        view, names = View(record.workspace, not record.read_only), frozenset({f"key:{record.name}"})
        return Visitor(caller, record.digest, view, must_sign=record.must_sign, names=names)

    async def _record(self, key_id: str) -> AccessKey | None:
        now = time.monotonic()
        expires, known = self._known.get(key_id, (0.0, None))
        if expires - now > REMEMBERED / 2:
            return known
        looking = self._looking.get(key_id)
        if looking is None:
            looking = self._looking[key_id] = asyncio.create_task(self._look_again(key_id))
            looking.add_done_callback(lambda ended: self._end_looking(key_id, ended))
        if expires > now:  # asked for before it is needed: who calls all the time never waits for the state
            return known
        try:
            return await asyncio.shield(looking)
        except Failure:
            # While the state is away, a key that was good minutes ago still reads; its writes fail by themselves.
            if known is not None and now - expires < WITHOUT_STATE:
                return known
            raise Unavailable("The access key cannot be looked up just now: try again", 5) from None

    async def _look_again(self, key_id: str) -> AccessKey | None:
        record = await asyncio.to_thread(self._look_up, key_id)
        if len(self._known) > 10_000:
            self._known.clear()
        self._known[key_id] = (time.monotonic() + REMEMBERED, record)
        return record

    def _end_looking(self, key_id: str, ended: asyncio.Task[AccessKey | None]) -> None:
        del self._looking[key_id]
        if not ended.cancelled():
            ended.exception()  # whoever needs the key asks again, and is told

    def _look_up(self, key_id: str) -> AccessKey | None:
        with self._state.reading() as records:
            value = records.get(SPACE, key_id)
        return _read(key_id, value) if value is not None else None


def seal(text: str, bound_to: str, secret: bytes) -> bytes:
    """Returns a text that only this installation can read, and only in its place."""
    with Extra("gateway", "A stored credential"):
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # only stored credentials need it

    nonce = secrets.token_bytes(12)
    return nonce + AESGCM(secret).encrypt(nonce, text.encode(), bound_to.encode())


def unseal(sealed: bytes, bound_to: str, secret: bytes) -> str:
    """Returns what was sealed, or nothing when the secret is another one."""
    with Extra("gateway", "A stored credential"):
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(secret).decrypt(sealed[:12], sealed[12:], bound_to.encode()).decode()
    except (InvalidTag, ValueError):  # of another secret, or cut off
        return ""


def _read(key_id: str, value: bytes) -> AccessKey:
    """Returns a key. One that cannot be read lets nobody in; it can be seen and revoked as `damaged-ID`."""
    try:
        return msgspec.json.decode(value, type=AccessKey)
    except (ValueError, RecursionError):
        return AccessKey(key_id, f"damaged-{key_id}", "", 0.0, workspace=False, read_only=True)
