"""Hooks in Claude Code's settings: ours beside whatever others the user has, and out again without touching those.

Pure functions over the text of the file. A hook of ours is known by its command, `… inbox hook EVENT`.
"""

from __future__ import annotations

import shlex
from typing import Any, cast

from postil.surfaces.setup import jsonc

EVENTS = {"SessionStart": "start", "UserPromptSubmit": "prompt", "Stop": "stop"}
"""The client's name of an event, and ours."""


def wanted(program: str) -> dict[str, Any]:
    """Returns what stands under `hooks`, if there is nothing else."""
    return {event: [_hook(program, ours)] for event, ours in EVENTS.items()}


def find(text: str) -> dict[str, Any] | None:
    """Returns our hooks in this text, or None when not all of them are there."""
    found = {event: [hook for hook in _hooks(text, event) if _is_ours(hook)] for event in EVENTS}
    return found if all(found.values()) else None


def put(text: str, program: str) -> str:
    """Returns the text with our hooks in it, each once."""
    for event, ours in EVENTS.items():
        others = [hook for hook in _hooks(text, event) if not _is_ours(hook)]
        value = [*others, _hook(program, ours)]
        if _hooks(text, event) != value:
            text = jsonc.put(text, ("hooks", event), value)
    return text


def remove(text: str) -> str:
    """Returns the text without our hooks; an event that has no other goes with them."""
    for event in EVENTS:
        hooks = _hooks(text, event)
        others = [hook for hook in hooks if not _is_ours(hook)]
        if others and others != hooks:
            text = jsonc.put(text, ("hooks", event), others)
        elif hooks and not others:
            text = jsonc.remove(text, ("hooks", event))
    return text


def _hook(program: str, event: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": f"{shlex.quote(program)} inbox hook {event}"}]}


def _hooks(text: str, event: str) -> list[dict[str, Any]]:
    found = jsonc.get(text, ("hooks", event))
    if found is None:
        return []
    if not isinstance(found, list):
        raise jsonc.NotJson(f"`hooks.{event}` is not a list")
    return cast("list[dict[str, Any]]", found)


def _is_ours(hook: object) -> bool:
    commands: object = cast("dict[str, object]", hook).get("hooks") if isinstance(hook, dict) else None
    if not isinstance(commands, list) or len(cast("list[object]", commands)) != 1:
        return False
    only = cast("list[object]", commands)[0]
    command = str(cast("dict[str, object]", only).get("command", "")) if isinstance(only, dict) else ""
    return any(command.endswith(f"inbox hook {event}") for event in EVENTS.values())
