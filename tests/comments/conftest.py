"""What tests of comments share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postil.comments.storage import store
from tests.anchor.budgets import lifted_budgets
from tests.comments.client import Client
from tests.comments.workspaces import contract_workspace


@pytest.fixture(scope="module", autouse=True)
def unhurried() -> Iterator[None]:
    """Comments follow the names of their code, however long a busy machine takes to read it."""
    with lifted_budgets():
        yield


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment file that a test damages stays so: nobody waits long for it to be whole."""
    monkeypatch.setattr(store, "HALF_WRITTEN", 0.01)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """A client of the contract's server, after the handshake."""
    contract_workspace(tmp_path)
    made = Client(tmp_path)
    made.ask("initialize", protocolVersion="2024-11-05", capabilities={}, clientInfo={"name": "t", "version": "1"})
    yield made
    made.close()
