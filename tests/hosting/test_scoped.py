"""Keys and notes of one workspace are none of another's."""

from __future__ import annotations

import pytest

from postil.core.call import Caller
from postil.hosting.scoped import WorkspaceKeys, WorkspaceWitness
from postil.storage.audit.audit_log import AuditLog
from postil.storage.failures import KeyReused
from postil.storage.memory import MemoryState


def test_the_same_key_in_another_workspace_is_another_key() -> None:
    state = MemoryState()
    web, api = (WorkspaceKeys(state, name, lambda _: "") for name in ("web", "api"))
    assert web.begin("me\nadd", "k", "f") is None
    web.finish("me\nadd", "k", b"web's")
    assert api.begin("me\nadd", "k", "g") is None
    assert web.begin("me\nadd", "k", "f") == b"web's"
    with pytest.raises(KeyReused):
        web.begin("me\nadd", "k", "g")
    api.abandon("me\nadd", "k")
    assert api.begin("me\nadd", "k", "h") is None


def test_a_claim_is_bound_to_what_the_operation_is_bound_to() -> None:
    state, asked = MemoryState(), list[str]()

    def fence(operation: str) -> str:
        asked.append(operation)
        return ""

    WorkspaceKeys(state, "web", fence).begin("me\nadd_comment", "k", "f")
    assert asked == ["add_comment"]


def test_the_audit_names_the_workspace() -> None:
    state = MemoryState()
    audit = AuditLog(lambda: state)
    WorkspaceWitness(audit, "web").open(Caller("alice"), "add_comment", {"filePath": "a.py"}).close("ok")
    (entry,) = audit.read(10)
    assert (entry.principal, entry.operation) == ("alice", "web/add_comment")
