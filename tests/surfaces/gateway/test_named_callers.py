"""A name in the operator's lists that nobody can have stops the start."""

from __future__ import annotations

import pytest

from postil.settings.model import HttpSettings, Settings, WorkspaceSettings
from postil.surfaces.gateway.named_callers import NobodysName, check_names, find_strangers


@pytest.mark.parametrize("name", ["@alice", "group:g", "key:ci", "id:alice", "id:", "alice bob", "", "-x", "oauth:"])
def test_who_cannot_be_a_member_stops_the_start(name: str) -> None:
    with pytest.raises(NobodysName, match=r"http\.members") as caught:
        check_names(Settings(http=HttpSettings(members=("alice", name))))
    assert ("--workspace" if name.startswith("key:") else "oauth:SUBJECT") in caught.value.advice


@pytest.mark.parametrize("name", ["@alice", "key:ci", "group:", "oauth:x"])
def test_who_cannot_be_a_caller_stops_the_start(name: str) -> None:
    with pytest.raises(NobodysName, match=r"http\.callers"):
        check_names(Settings(http=HttpSettings(callers=(name,))))


def test_a_workspaces_lists_are_read_too() -> None:
    with pytest.raises(NobodysName, match=r"workspaces\.web\.readers names 'group:x'"):
        check_names(Settings(workspaces={"web": WorkspaceSettings(path="/srv", readers=("group:x",))}))
    with pytest.raises(NobodysName, match=r"workspaces\.web\.members names '@alice'"):
        check_names(Settings(workspaces={"web": WorkspaceSettings(path="/srv", members=("@alice",))}))


def test_an_operator_whom_nobody_can_be_stops_the_start() -> None:
    with pytest.raises(NobodysName, match=r"http\.operators names '@alice'"):
        check_names(Settings(http=HttpSettings(operators=("@alice",))))
    named = ("*", "key:ci", "key:9823c9ecaa2b3d12", "gitlab:host:42", "id:42")
    check_names(Settings(http=HttpSettings(operators=named)))


def test_names_that_the_mode_gives_to_nobody_are_warned_of() -> None:
    web = WorkspaceSettings(path="/srv", members=("ann", "key:ci"), readers=("*", "oauth:key:1"))
    http = HttpSettings(auth="key", members=("alice",), operators=("ann", "key:ci"))
    warned = find_strangers(Settings(http=http, workspaces={"web": web}))
    assert [sentence.split(",")[0] for sentence in warned] == [
        "http.members names 'alice'",
        "http.operators names 'ann'",
        "workspaces.web.members names 'ann'",
        "workspaces.web.readers names 'oauth:key:1'",
    ]
    assert "say key:ann" in warned[2]
    assert find_strangers(Settings(http=HttpSettings(auth="pat", members=("alice",)))) == []


def test_every_form_of_the_page_is_taken() -> None:
    members = ("alice", "a.b-c_1", "id:42", "oauth:auth0|12:3", "*")
    http = HttpSettings(members=members, callers=("alice", "id:42", "group:our/group", "*"))
    web = WorkspaceSettings(path="/srv", members=("alice", "key:ci"), readers=("*",))
    check_names(Settings(http=http, workspaces={"web": web}))
