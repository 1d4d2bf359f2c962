"""Events of a private project, as a webhook brought them."""

from __future__ import annotations

import time
from typing import Any

import msgspec
from msgspec import Raw

from postil.core.ports import Delivery
from postil.gitlab.events import EventLog
from postil.storage.memory import MemoryState
from tests.emulator.app import Emulator
from tests.emulator.routing import GUEST
from tests.emulator.world import Token

GUEST_TOKEN = "glpat-emulator-guest"
PROJECT = 123


def delivered(name: str, event: str, **body: Any) -> Delivery:
    said = {"project": {"id": PROJECT, "path_with_namespace": "username/my-project"}, **body}
    return Delivery(name, event, PROJECT, "username/my-project", time.time(), Raw(msgspec.json.encode(said)))


def keep_events(emulator: Emulator) -> EventLog:
    """A private project with an open issue, a confidential one, and a guest."""
    project = emulator.world.project(str(PROJECT))
    assert project is not None
    project.visibility = "private"
    secret = emulator.world.add_issue(project, 456, "the plan", confidential=True)
    guest = 900
    emulator.world.users[guest] = {**emulator.world.users[456], "id": guest, "username": "guest"}
    emulator.world.tokens[GUEST_TOKEN] = Token(guest, ("api",))
    project.members[guest] = GUEST
    log = EventLog(MemoryState())
    about = {"iid": secret["iid"], "title": "the plan", "confidential": True}
    log.keep(delivered("open", "issues", object_attributes={"iid": 1, "title": "open"}))
    log.keep(delivered("secret", "issues", event_type="confidential_issue", object_attributes=about))
    log.keep(delivered("marked", "issues", object_attributes=about))
    log.keep(delivered("odd", "issues", event_type="confidential_issue", object_attributes={"title": "the plan"}))
    log.keep(delivered("push", "push", ref="refs/heads/main"))
    log.keep(delivered("note", "Confidential Note Hook", event_type="confidential_note"))
    return log
