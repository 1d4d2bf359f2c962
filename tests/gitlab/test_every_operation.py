"""Every operation of the part under the rules for all: offered projects, read-only, redirects, lockdown.

The operations are found in the catalogue; `calls.py` fails where one has no call.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from postil.core.call import Call, Caller, enter
from postil.core.failure import Failure
from postil.core.operation import Operation
from postil.gitlab.failures import NotOffered
from postil.gitlab.instance.connection import Connection
from postil.gitlab.part import GitLab
from postil.gitlab.policy.guard import Guard, Policy
from tests.emulator.app import Emulator
from tests.emulator.changes import changed
from tests.emulator.world import DEVELOPER, Project, World
from tests.gitlab.answers import direct, structured, text
from tests.gitlab.calls import CALLS, ENTRIES, WRITES
from tests.gitlab.conftest import Connect
from tests.gitlab.groups import Groups
from tests.gitlab.scripted import API, URL, ScriptedInstance, answer

pytestmark = pytest.mark.anyio
OF_A_PROJECT = sorted(name for name, given in CALLS.items() if "project_id" in given)
OF_MANY = sorted(set(CALLS) - set(OF_A_PROJECT))
READS = sorted(set(CALLS) - set(WRITES))
TARGETS = [
    f"{URL}.evil.org/api/v4/projects/9",
    f"{URL}.evil/api/v4/projects/9",
    "https://gitlab.example.com@evil.org/api/v4/projects/9",
    "http://gitlab.example.com/api/v4/projects/9",
    f"{URL}:8443/api/v4/projects/9",
    "//evil.org/api/v4/projects/9",
    "http://127.0.0.1/api/v4/projects/9",
    "http://[::1]/api/v4/projects/9",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "ftp://gitlab.example.com/api/v4/",
    "/users/sign_in",
]


async def run(groups: Groups, name: str, **more: Any) -> Any:
    """Call an operation as the wire does: arguments are decoded first."""
    enter(Call(Caller()))
    operation = Operation(groups.method(name))
    return await operation.run(**operation.decode({**CALLS[name], **more}))


def say(result: Any) -> str:
    """All halves of an answer."""
    halves = (direct(result), structured(result)) if not isinstance(result, str) else (result,)
    return json.dumps(halves) + text(result)


def test_there_are_operations_of_each_kind() -> None:
    assert set(ENTRIES) == {*OF_A_PROJECT, *OF_MANY} == {*READS, *WRITES}
    assert len(OF_A_PROJECT) > 30
    assert {"my_work", "list_projects", "search_projects"} <= set(OF_MANY)


# Projects that are not offered


@pytest.mark.parametrize("name", OF_A_PROJECT)
async def test_a_project_that_is_not_offered_is_refused_however_it_is_named(
    connect: Connect, emulator: Emulator, address: str, name: str
) -> None:
    part = connect(projects=("group/sub/open-tools",))
    path = "username/my-project"
    ways: list[Any] = [123, "123", path, path.upper(), f"{address}/{path}", f"{address}/{path}.git"]
    if name == "list_webhook_events":  # the local user owns what came here, and GitLab is not asked
        assert direct(await run(part, name))["events"] == []
        return
    for way in ways:
        with pytest.raises(NotOffered):
            await run(part, name, project_id=way)
    for seen in emulator.seen:  # which project it is may be asked, nothing else
        assert (seen.method, seen.path.lower().replace("%2f", "/")) in {
            ("GET", "/api/v4/projects/123"),
            ("GET", f"/api/v4/projects/{path}"),
        }


@pytest.mark.parametrize("name", [*OF_MANY, "search_issues", "list_webhook_events"])
async def test_what_is_found_anywhere_is_never_of_a_project_that_is_not_offered(
    connect: Connect, emulator: Emulator, name: str
) -> None:
    spread_words(emulator.world, "NOTOFFERED")
    part = connect(projects=("group/sub/open-tools",))
    result = await (part.method(name)(CALLS[name]["search"]) if name == "search_issues" else run(part, name))
    said = say(result)
    assert "NOTOFFERED" not in said
    assert "my-project" not in said


# Read-only


@pytest.mark.parametrize("name", WRITES)
async def test_a_read_only_instance_sends_no_write_of_any_operation(
    connect: Connect, emulator: Emulator, name: str
) -> None:
    with pytest.raises(NotOffered):
        await run(connect(read_only=True), name)
    assert {seen.method for seen in emulator.seen} <= {"GET"}


# Redirects


@pytest.mark.parametrize("name", [name for name in CALLS if ENTRIES[name].toolset != "connect"])
async def test_no_redirect_leads_a_token_away_from_the_instance(name: str) -> None:
    instance = ScriptedInstance(answer())
    groups = Groups(GitLab(Connection(instance, lambda: DEVELOPER)))
    for status in (301, 302, 303, 307, 308):
        for target in TARGETS if status == 302 else TARGETS[:2]:
            instance.script[:] = [answer(status=status, location=target, link=f'<{target}>; rel="next"')]
            try:
                said = say(await run(groups, name))
            except Failure as failure:
                said = f"{failure.text()} {failure.details()}"
            assert DEVELOPER not in said
    if name != "list_webhook_events":  # which asks nobody on behalf of the local user
        assert instance.asked
    assert [one for one in instance.asked if not is_home(one)] == []
    await groups.close()


async def test_the_next_page_is_asked_of_the_instance_whatever_the_link_says() -> None:
    instance = ScriptedInstance(answer())
    groups = Groups(GitLab(Connection(instance, lambda: DEVELOPER)))
    for target in TARGETS:
        instance.script[:] = [answer([{"id": 1}], link=f'<{target}>; rel="next"', x_next_page="2")]
        await run(groups, "configure_webhook")
    assert len(instance.asked) == len(TARGETS) * 11, "ten pages of hooks, and the new one"
    assert [one for one in instance.asked if not is_home(one)] == []
    await groups.close()


def is_home(asked: str) -> bool:
    return asked.partition(" ")[2].startswith((API, f"{URL}/api/graphql"))


# Lockdown: words by people who may not push


def spread_words(world: World, words: str) -> None:
    """Everything in the main project that somebody else than a Developer can write says these words."""
    main = world.projects[0]
    for row in (*main.issues, *main.merge_requests):
        row |= {"author": 7, "title": words, "description": words}
        for note in row.get("notes", []):
            note |= {"author": 7, "body": words}
        for thread in row.get("discussions", []):
            for note in thread["notes"]:
                note |= {"author": 7, "body": words}
    for row in main.merge_requests:
        row["source_branch"] = words
        world.push(main, row, [changed(f"{words}.py", f"{words}.py", None, words)])
    target = main.merge_requests[0]
    world.todos.append({"id": 1, "user": 456, "project": 123, "author": 7, "action": "mentioned", "target": target})


def open_to_all(world: World) -> Project:
    """The main project as a public one, with a stranger's fork merged nowhere: its commits are in it all the same."""
    main = world.projects[0]
    main.visibility = "public"
    main.members[7] = 20
    return main


@pytest.mark.parametrize("name", READS)
async def test_lockdown_withholds_what_strangers_wrote_from_every_read(
    connect: Connect, emulator: Emulator, name: str
) -> None:
    spread_words(emulator.world, "STRANGERSAYS")
    open_to_all(emulator.world)
    said = say(await run(connect(guard=Guard(Policy(lockdown=True))), name))
    assert "STRANGERSAYS" not in said
