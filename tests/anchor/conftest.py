"""What tests of anchoring share."""

from collections.abc import Iterator

import pytest

from tests.anchor.budgets import lifted_budgets


@pytest.fixture(scope="module")
def unhurried() -> Iterator[None]:
    """No tree is given up for the CPU time that it takes: a busy machine is no odd text."""
    with lifted_budgets():
        yield
