"""Sidecars that another program is writing just now: whoever reads many of them waits once, for all of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from postil.comments.storage import store as sidecars
from postil.core.failure import Failure

if TYPE_CHECKING:
    from postil.comments.storage.store import Store
    from postil.workspace.paths import RelativePath

MOST_AWAITED = 20
"""Sidecars that are waited for: a merge may leave very many that stay as they are."""


def await_whole(store: Store, paths: Sequence[RelativePath]) -> bool:
    """Read sidecars again for a moment that cannot be understood and are new. Returns whether one can be now."""
    until = time.monotonic() + sidecars.HALF_WRITTEN
    left = [path for path in paths[:MOST_AWAITED] if store.is_new(path)]
    found = False
    while left:
        for path in list(left):
            with suppress(Failure):
                store.parse(path, store.read_bytes(path))
                left.remove(path)
                found = True
        if time.monotonic() >= until:
            break
        time.sleep(sidecars.A_WHILE)
    return found
