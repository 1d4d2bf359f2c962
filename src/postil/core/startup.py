"""Starting and ending with less: what a library would load and most starts never need.

Assistants start a server for every window, and almost all of its start is the import of two libraries. Both can do
without a module that costs them milliseconds, and both try to import it and go on where it is missing.
"""

from __future__ import annotations

import sys


def prepare() -> None:
    """What every executable does first, before anything else is imported."""
    import gc

    gc.set_threshold(50_000, 10, 10)  # importing makes many objects and no garbage: looking for it costs 4 ms
    import_without("msgspec", "typing_extensions")  # 7 ms, and Python 3.11 has all that it needs of it


def end_start() -> None:
    """What a server does when it has started: what was imported is never garbage, and is not looked at again."""
    import gc

    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


def release() -> None:
    """What every executable does last: the process ends, so Python need not look for garbage once more (8 of 60 ms)."""
    import gc

    gc.freeze()


def import_without(module: str, missing: str) -> None:
    """Import a module as if another, which it can do without, were not installed."""
    if module in sys.modules or missing in sys.modules:
        return
    sys.modules[missing] = None  # type: ignore[assignment] # an import of it now raises ImportError
    try:
        __import__(module)
    finally:
        del sys.modules[missing]


def give_asyncio_tls() -> None:
    """Give asyncio the ssl that it was imported without; whoever speaks TLS on its event loop calls this first."""
    import ssl
    from asyncio import sslproto

    for name, module in list(sys.modules.items()):
        if name.startswith("asyncio.") and getattr(module, "ssl", ssl) is None:
            module.ssl = ssl  # type: ignore[attr-defined]
    sslproto.SSLAgainErrors = (ssl.SSLWantReadError, ssl.SSLSyscallError)
