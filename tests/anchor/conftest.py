"""What tests of anchoring share."""

from collections.abc import Iterator

import pytest

from postil.anchor.syntax import languages


@pytest.fixture(scope="module")
def unhurried() -> Iterator[None]:
    """No tree is given up for the CPU time that it takes: a busy machine is no odd text."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("QUICK_PARSE", "QUICK_START", "QUICK"):
            patch.setattr(languages, name, 60.0)
        yield
