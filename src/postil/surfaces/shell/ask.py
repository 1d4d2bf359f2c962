"""Questions of an operation to the person at the terminal: the shell's form of elicitation.

Only plain forms are asked here: a sentence and a few fields. Sampling and roots are for clients that have them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, cast

from postil.core.call import Question
from postil.core.failure import Failure
from postil.core.others.visible import harmless

ATTEMPTS = 3


def ask(questions: Mapping[str, Question]) -> Mapping[str, object]:
    """Ask each question in turn; the answers have the shape a client's would have."""
    return {key: _asked(question) for key, question in questions.items()}


def _asked(question: Question) -> object:
    if question.method != "elicitation/create":
        raise Failure("The shell cannot be asked for this", advice="Give the answer as an argument")
    sys.stderr.write(harmless(str(question.params.get("message", "Please answer"))) + "\n")
    schema = cast("dict[str, Any]", question.params.get("requestedSchema") or {})
    fields: dict[str, dict[str, Any]] = schema.get("properties", {})
    if not fields:
        return {"action": "accept", "content": {}} if _line("Go on? [y/N] ").lower() in ("y", "yes") else _DECLINED
    content: dict[str, object] = {}
    for name, field in fields.items():
        answer = _field(name, field, required=name in schema.get("required", ()))
        if answer is None:
            return _DECLINED
        if answer != "":
            content[name] = answer
    return {"action": "accept", "content": content}


_DECLINED = {"action": "decline"}


def _field(name: str, field: dict[str, Any], *, required: bool) -> object:
    """Returns one field: its value, an empty text where it may be left out, or None when the person gives up."""
    kind = field.get("type", "string")
    choices = [str(value) for value in field.get("enum", [])]
    hint = "y/n" if kind == "boolean" else ", ".join(choices)
    label = f"{field.get('title') or field.get('description') or name}{f' ({hint})' if hint else ''}: "
    for _ in range(ATTEMPTS):
        line = _line(label)
        if not line and not required:
            return field.get("default", "")
        try:
            value = _value(line, kind)
        except ValueError:
            continue
        if line and (not choices or line in choices):
            return value
    return None


def _value(line: str, kind: str) -> object:
    if kind == "boolean":
        if line.lower() not in ("y", "yes", "n", "no"):
            raise ValueError(line)
        return line.lower() in ("y", "yes")
    if kind in ("integer", "number"):
        return int(line) if kind == "integer" else float(line)
    return line


def _line(label: str) -> str:
    sys.stderr.write(label)
    sys.stderr.flush()
    return sys.stdin.readline().strip()
