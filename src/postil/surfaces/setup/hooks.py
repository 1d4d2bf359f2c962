"""Hooks in the settings of assistants: ours beside whatever others the user has, and out again without touching those.

Pure functions over the text of the file. A hook of ours is known by its command, `… inbox hook EVENT`.
"""

from __future__ import annotations

import shlex
from typing import Any, Literal, cast

from msgspec import Struct

from postil.surfaces.setup import jsonc


class HookShape(Struct, frozen=True):
    """How one client writes its hooks down."""

    client: str
    events: dict[str, str]
    """The client's name of an event, and ours."""
    form: Literal["grouped", "bare", "bash"] = "grouped"
    """`grouped`: a list of groups with a list of commands each; `bare`: `{"command": …}`; `bash`: `{"bash": …}`."""
    timeout: int = 0
    """In the unit of the client; 0 leaves it out."""
    version: int = 0
    """What stands beside `hooks`, where the client asks for it."""
    then: str = ""
    """What the person has to do in the client before it runs them."""


SHAPES = {
    shape.client: shape
    for shape in (
        HookShape("claude", {"SessionStart": "start", "UserPromptSubmit": "prompt", "Stop": "stop"}),
        HookShape(
            "codex",
            {"SessionStart": "start", "UserPromptSubmit": "prompt", "Stop": "stop"},
            timeout=30,
            then="Codex runs hooks that you have seen: type /hooks in Codex once and trust them",
        ),
        HookShape("gemini", {"SessionStart": "start", "BeforeAgent": "prompt", "AfterAgent": "stop"}, timeout=30_000),
        HookShape("cursor", {"sessionStart": "start", "stop": "stop"}, "bare", version=1),
        HookShape("copilot", {"sessionStart": "start", "agentStop": "stop"}, "bash", timeout=30, version=1),
    )
}


HARMLESS = frozenset({"timeout", "timeoutSec", "matcher", "name", "description"})
"""What a hook may say beside what we write: how long it may take, when it runs, and what it is called."""


def wanted(program: str, shape: HookShape) -> dict[str, Any]:
    """Returns what stands under `hooks`, if there is nothing else."""
    return {event: [_hook(program, ours, shape)] for event, ours in shape.events.items()}


def find(text: str, shape: HookShape) -> dict[str, Any] | None:
    """Returns our hooks in this text, or None when not all of them are there."""
    every = _list_hooks(text, shape)
    found = {event: [hook for hook in hooks if command_in(hook)] for event, hooks in every.items()}
    return found if all(found.values()) else None


def list_programs(found: dict[str, Any]) -> list[str]:
    """Returns the programs that our hooks start. Raises ValueError where a command is none of a shell."""
    return list(dict.fromkeys(shlex.split(command_in(hook))[0] for hooks in found.values() for hook in hooks))


def find_more(found: dict[str, Any], shape: HookShape) -> str:
    """Returns what stands in our hooks beside what we write, the first of it; nothing where they are ours entirely.

    A command is run by a shell, so that words behind ours are one more program.
    """
    for event, hooks in found.items():
        for hook in hooks:
            ours = _hook(shlex.split(command_in(hook))[0], shape.events[event], shape)
            if more := _find_more_in(hook, ours):
                return more
    return ""


def _find_more_in(hook: dict[str, Any], ours: dict[str, Any]) -> str:
    if ("hooks" in ours) != ("hooks" in hook):
        return command_in(hook)
    if "hooks" in ours:
        more = sorted(hook.keys() - ours.keys() - HARMLESS)
        return more[0] if more else _find_more_in(hook["hooks"][0], ours["hooks"][0])
    for key in ("command", "bash", "type"):
        said = hook.get(key)
        if said != ours.get(key) and not (said is None and key == "type"):
            wanted = str(ours.get(key, ""))
            return str(said).removeprefix(wanted).strip() if wanted and key != "type" else key
    more = sorted(hook.keys() - ours.keys() - HARMLESS)
    return more[0] if more else ""


def put(text: str, program: str, shape: HookShape) -> str:
    """Returns the text with our hooks in it, each once."""
    if shape.version and jsonc.get(text, ("version",)) is None:
        text = jsonc.put(text, ("version",), shape.version)
    for event, hooks in _list_hooks(text, shape).items():
        others = [hook for hook in hooks if not command_in(hook)]
        value = [*others, _hook(program, shape.events[event], shape)]
        if hooks != value:
            text = jsonc.put(text, ("hooks", event), value)
    return text


def remove(text: str, shape: HookShape) -> str:
    """Returns the text without our hooks; an event that has no other goes with them."""
    for event, hooks in _list_hooks(text, shape).items():
        others = [hook for hook in hooks if not command_in(hook)]
        if others and others != hooks:
            text = jsonc.put(text, ("hooks", event), others)
        elif hooks and not others:
            text = jsonc.remove(text, ("hooks", event))
    return text


def command_in(hook: object) -> str:
    """Returns the command of a hook of ours; empty for somebody else's."""
    if not isinstance(hook, dict):
        return ""
    one = cast("dict[str, object]", hook)
    grouped = one.get("hooks")
    if isinstance(grouped, list):
        inside = cast("list[object]", grouped)
        return command_in(inside[0]) if len(inside) == 1 else ""
    command = str(one.get("command") or one.get("bash") or "")
    words = command.split()
    at = words.index("hook") if "hook" in words else 0
    # `hook idle` is what a person put there: docs/inbox.md has it as a recipe.
    return command if at and words[at - 1] == "inbox" and words[at + 1 : at + 2] not in ([], ["idle"]) else ""


def _hook(program: str, event: str, shape: HookShape) -> dict[str, Any]:
    command = f"{shlex.quote(program)} inbox hook {event}"
    if shape.client != "claude":
        command += f" --client {shape.client}"
    if shape.form == "bare":
        return {"command": command}
    if shape.form == "bash":
        return {"type": "command", "bash": command, "timeoutSec": shape.timeout}
    return {"hooks": [{"type": "command", "command": command, **({"timeout": shape.timeout} if shape.timeout else {})}]}


def _list_hooks(text: str, shape: HookShape) -> dict[str, list[dict[str, Any]]]:
    """Returns all hooks of the events that we hear of; reads the text once."""
    given = jsonc.get(text, ("hooks",))
    table = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    listed: dict[str, list[dict[str, Any]]] = {}
    for event in shape.events:
        found = table.get(event)
        if found is not None and not isinstance(found, list):
            raise jsonc.NotJson(f"`hooks.{event}` is not a list")
        listed[event] = cast("list[dict[str, Any]]", found or [])
    return listed
