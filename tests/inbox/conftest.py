"""A person for every test of the inbox, and nobody's call in progress."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from postil.core import call
from tests.inbox.people import Person


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


@pytest.fixture(autouse=True)
def silent_call() -> Iterator[None]:
    """What one test enters is no call of the next."""
    yield
    call.enter(call.Call())
