"""The seconds of CPU that reading a text may take, lifted: a busy machine is no odd text."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from postil.anchor.syntax import languages


@contextmanager
def lifted_budgets() -> Generator[None]:
    """No tree is given up for the CPU time that it takes."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("QUICK_PARSE", "QUICK_START", "QUICK"):
            patch.setattr(languages, name, 60.0)
        yield
