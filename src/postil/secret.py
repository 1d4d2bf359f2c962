"""The secret of this installation, made on first need, and the keys derived from it for each purpose (HKDF, RFC 5869).

Only servers that share the secret can open what is sealed with these keys (request state, sessions, stored
credentials), so all replicas of a server are given the same `POSTIL_SECRET`.
"""

from __future__ import annotations

import os
from contextlib import suppress

from postil.core.failure import StorageFailed
from postil.settings.model import BadSettings, Settings
from postil.workspace.disk import sync

SHORTEST = 16


def load(settings: Settings) -> bytes:
    """Returns `POSTIL_SECRET`, or the content of the file `secret` in the state folder, which is made on first need."""
    if settings.secret:
        if len(settings.secret) < SHORTEST:
            raise BadSettings(
                f"POSTIL_SECRET is shorter than {SHORTEST} characters",
                advice="Make one with: python3 -c 'import secrets; print(secrets.token_hex(32))'",
            )
        return settings.secret.encode("utf-8", "surrogateescape")
    path = os.path.join(settings.folders.state, "secret")
    try:
        found = _read(path)
        if found is None:
            found = _make(path)
    except OSError as error:
        raise StorageFailed(
            f"The secret {path} cannot be read or made: {error.strerror}",
            advice="Check the permissions of the folder, or set POSTIL_SECRET",
        ) from error
    if len(found) < SHORTEST:  # anybody could make the keys of an empty one
        raise StorageFailed(
            f"The secret {path} is damaged: it has {len(found)} bytes",
            advice=f"Restore it from a backup (`postil restore`), or remove it (`rm {path}`): a new one is made, and "
            "what was sealed with the old one (stored tokens, sessions) has to be made anew",
        )
    return found


def replace(settings: Settings, secret: bytes) -> None:
    """Put another secret in the place of the one in the state folder: what was sealed with it can be opened again."""
    path = os.path.join(settings.folders.state, "secret")
    try:
        if _read(path) != secret:
            from postil.workspace.files import atomic_write  # only where a backup is restored
            from postil.workspace.paths import RelativePath

            _make(path)  # so that there is one, closed to others
            with suppress(FileExistsError):
                os.link(path, f"{path}.before-restore")
            atomic_write(os.path.dirname(path), RelativePath("secret"), secret, mode=0o600)
    except OSError as error:
        raise StorageFailed(f"The secret {path} cannot be written: {error.strerror}") from error


def subkey(secret: bytes, purpose: str, length: int = 32) -> bytes:
    """Returns the key for one purpose. It tells nothing about the secret or the other keys."""
    import hashlib
    import hmac

    extracted = hmac.digest(b"postil", secret, hashlib.sha256)
    made = block = b""
    for counter in range(1, -(-length // 32) + 1):
        block = hmac.digest(extracted, block + purpose.encode() + bytes([counter]), hashlib.sha256)
        made += block
    return made[:length]


def _read(path: str) -> bytes | None:
    """Returns what the file holds, or None where there is none."""
    try:
        with open(path, "rb") as file:
            return file.read(4096)
    except FileNotFoundError:
        return None


def _make(path: str) -> bytes:
    """Make the file whole or not at all. Of several processes the first wins, and all of them read its secret."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    draft = os.path.join(folder, f".postil-{os.getpid():x}-{os.urandom(6).hex()}.tmp")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, os.urandom(32))
        os.fsync(file)
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        os.close(file)
        os.unlink(draft)
    sync(folder)  # what is sealed with it is of no use without it
    return _read(path) or b""
