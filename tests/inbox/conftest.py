"""A person for every test of the inbox."""

from pathlib import Path

import pytest

from tests.inbox.people import Person


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)
