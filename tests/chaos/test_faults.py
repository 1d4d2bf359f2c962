"""After a failed sync, write or rename nothing is acknowledged that is not there."""

from __future__ import annotations

import pytest

from tests.chaos.faults import inject_faults
from tests.chaos.power import SUBJECTS


@pytest.mark.parametrize("name", SUBJECTS)
def test_an_error_of_the_disk_is_told_and_loses_nothing(name: str) -> None:
    found = inject_faults(SUBJECTS[name], 2)
    assert (found.lost, found.unreadable) == (0, 0)
