"""SHA-1 and SHA-256 from Python's own code: importing hashlib loads OpenSSL, which a short command would feel.

SHA-1 only names git objects; nothing is trusted because of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any


def sha256(content: bytes) -> str:
    """The hexadecimal SHA-256."""
    return _function("sha256", "_sha2", "_sha256")(content).hexdigest()


def blob_name(content: bytes) -> str:
    """git's name for a blob with this content."""
    return _function("sha1", "_sha1")(b"blob %d\0" % len(content) + content).hexdigest()


@lru_cache
def _function(name: str, *modules: str) -> Callable[[bytes], Any]:
    for module in (*modules, "hashlib"):  # the small modules are named differently from version to version
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(name)
