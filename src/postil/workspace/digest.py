"""SHA-1 and SHA-256 from Python's own code: importing hashlib loads OpenSSL, which a short command would feel.

A process that has loaded hashlib anyway uses it: on large files it is sixteen times as fast. SHA-1 only names git
objects; nothing is trusted because of it.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib import import_module
from typing import Any


def sha256(content: bytes) -> str:
    """Return the hexadecimal SHA-256."""
    return _load("hashlib" in sys.modules, "_sha2", "_sha256").sha256(content).hexdigest()


def blob_id(content: bytes, width: int = 40) -> str:
    """Return git's id of a blob with this content: SHA-1, or SHA-256 in a repository whose ids are 64 wide."""
    named = b"blob %d\0" % len(content) + content
    return sha256(named) if width == 64 else sha1(named)


def sha1(content: bytes) -> str:
    """Return the hexadecimal SHA-1."""
    return _load("hashlib" in sys.modules, "_sha1").sha1(content).hexdigest()


@lru_cache
def _load(prefer_hashlib: bool, *small: str) -> Any:
    for module in ("hashlib",) if prefer_hashlib else (*small, "hashlib"):  # their names differ between versions
        try:
            return import_module(module)
        except ImportError:
            continue
    raise ImportError("hashlib")
