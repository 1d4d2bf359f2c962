"""Faults of the protocol, and failures that pass by themselves."""

from __future__ import annotations

import pytest

from postil.core.failure import Conflict, Failure, StorageFailed
from postil.wire.protocol.failures import ProtocolFailure, is_temporary


@pytest.mark.parametrize(
    ("failure", "temporary"),
    [
        (StorageFailed("away", status=503), True),
        (StorageFailed("full"), False),
        (StorageFailed("full", status=507), False),
        (Conflict("busy", status=503), False),
    ],
)
def test_only_storage_that_is_away_for_a_moment_is_temporary(failure: Failure, temporary: bool) -> None:
    assert is_temporary(failure) is temporary


def test_a_fault_of_the_protocol_carries_its_own_code_and_facts() -> None:
    fault = ProtocolFailure(-32022, "Unsupported", supported=["a"])
    assert (fault.code, fault.details()) == (-32022, {"supported": ["a"]})
