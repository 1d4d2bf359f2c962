"""What of the server is shown to whom, and how a credential is named without telling it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from postil.core.catalogue import OperationEntry, ResourceEntry
from postil.surfaces.gateway.refused import Refused
from postil.surfaces.gateway.visitor import MOST_TOOLSETS, READ_ONLY, TOOLSETS, View, fingerprint, tighten


def operation(part: str, effect: Any) -> OperationEntry:
    return OperationEntry("name", part, "group", "name", effect, "", Raw(b"{}"))


@pytest.mark.parametrize(
    ("view", "shown"),
    [
        (View(), {"gitlab reads", "gitlab writes", "gitlab resource", "inbox reads", "inbox writes", "inbox resource"}),
        (View(workspace=False), {"gitlab reads", "gitlab writes", "gitlab resource"}),
        (View(workspace=False, writes=False), {"gitlab reads", "gitlab resource"}),
        (
            View(writes=False),
            {"gitlab reads", "gitlab resource", "inbox reads", "inbox resource"},
        ),
    ],
)
def test_the_workspace_and_writes_are_shown_apart(view: View, shown: set[str]) -> None:
    entries: dict[str, Any] = {
        f"{part} {effect}": operation(part, effect) for part in ("gitlab", "inbox") for effect in ("reads", "writes")
    }
    entries |= {f"{part} resource": ResourceEntry("x://y", "y", part, "group", "y") for part in ("gitlab", "inbox")}
    assert {name for name, entry in entries.items() if view.shows(entry)} == shown


def test_a_fingerprint_is_stable_and_tells_nothing() -> None:
    assert fingerprint("glpat-token") == fingerprint(b"glpat-token")
    assert fingerprint("glpat-token") != fingerprint("glpat-token2")
    assert len(fingerprint("glpat-token")) == 32
    assert "glpat" not in fingerprint("glpat-token")
    assert len(fingerprint("caf\udce9")) == 32  # bytes that came in a header, whatever they are


def test_a_flow_that_writes_to_gitlab_is_hidden_from_those_who_may_only_read_there() -> None:
    flow = OperationEntry("gitlab_issue", "flows", "group", "name", "writes", "", Raw(b"{}"), open_world=True)
    assert View().shows(flow)
    assert not View(writes=False).shows(flow)
    assert not View(workspace=False).shows(flow)


def test_what_a_contract_promises_is_in_every_toolset_of_its_part() -> None:
    def entry(part: str, toolset: str) -> OperationEntry:
        return OperationEntry("name", part, "group", "name", "reads", "", Raw(b"{}"), toolset=toolset)

    entries = [entry("gitlab", name) for name in ("contract", "issues", "ci")] + [entry("inbox", "")]
    view = View(toolsets=("issues",))
    assert [view.lists(one, {"gitlab"}) for one in entries] == [True, True, False, False]
    assert [View(toolsets=("inbox",)).lists(one, set()) for one in entries] == [False, False, False, True]
    assert all(View().lists(one, set()) for one in entries)
    assert all(view.shows(one) for one in entries)  # a method is called whatever the toolset


@pytest.mark.parametrize(
    ("headers", "seen"),
    [
        ({}, View()),
        ({READ_ONLY: b" TRUE "}, View(writes=False)),
        ({READ_ONLY: b"1"}, View(writes=False)),
        ({READ_ONLY: b"false"}, View()),
        ({READ_ONLY: b"0", TOOLSETS: b"issues"}, View(toolsets=("issues",))),
        ({TOOLSETS: b" issues,,merge_requests, issues "}, View(toolsets=("issues", "merge_requests"))),
    ],
)
def test_a_request_may_ask_to_see_less(headers: dict[bytes, bytes], seen: View) -> None:
    assert tighten(View(), headers) == seen


def test_no_header_gives_what_the_credential_does_not() -> None:
    for asked in (b"false", b"0", b"true"):
        assert tighten(View(writes=False), {READ_ONLY: asked}) == View(writes=False)


@pytest.mark.parametrize(
    "headers",
    [
        {READ_ONLY: b"perhaps"},
        {TOOLSETS: b"a b"},
        {TOOLSETS: b"issues,\xe9"},
        {TOOLSETS: b"issues;ci"},
        {TOOLSETS: b",".join(b"t%d" % number for number in range(MOST_TOOLSETS + 1))},
    ],
)
def test_a_header_that_nobody_understands_is_refused(headers: dict[bytes, bytes]) -> None:
    with pytest.raises(Refused) as refused:
        tighten(View(), headers)
    assert refused.value.status == 400
    most = b",".join(b"t%d" % number for number in range(MOST_TOOLSETS))
    assert len(tighten(View(), {TOOLSETS: most}).toolsets) == MOST_TOOLSETS
