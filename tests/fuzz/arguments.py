"""Arguments for operations, made from their published schemas: fitting ones, and ones that lie about everything.

Ids cannot be guessed, so the maker of arguments learns them from answers and uses them again.
"""

from __future__ import annotations

import copy
import random
import re
from typing import Any, cast

Schema = dict[str, Any]

ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{6,63}")
ODD: list[Any] = [
    None, True, 0, -1, 2**31, 2**63, 10**30, 1.5, 1e308, "", " ", "\u0000", "\n", "a\nb", "é", "💥" * 40, "x" * 5000,
    "\u202e", [], [None], [[[]]], {}, {"": {}}, {"a": {"b": 1}},
]  # fmt: skip
TEXTS = [
    "a.py", "folder/b.py", "a.py.comments", "missing.py", "../outside", "/etc/passwd", ".git/config", "link", "-rf",
    "--output=x", "HEAD", "@{-1}", "main..", "0" * 40, "deadbeef", "issue-1", "1", "#1", "*", "[", "(", "%s%n", "{{x}}",
    "$(id)", "`id`", "';--", "2026-01-01T00:00:00Z", "2026-13-45", "tomorrow", "-1h", "file:///etc/passwd", "x@y",
    "http://127.0.0.1:1/", "a" * 300, "is:open label:bug", "author:", "AND OR NOT", "\\", '"', "🙂", "ı", "\u0301",
]  # fmt: skip


class Arguments:
    """Makes arguments, the same ones for the same seed and the same answers."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._learned: list[str] = []

    def learn(self, answer: Any) -> None:
        """Keep what looks like an id."""
        if isinstance(answer, dict):
            for inner in cast("Schema", answer).values():
                self.learn(inner)
        elif isinstance(answer, list):
            for inner in cast("list[Any]", answer)[:20]:
                self.learn(inner)
        elif isinstance(answer, str) and ID.fullmatch(answer):
            self._learned = [*self._learned[-99:], answer]

    def make(self, schema: Schema) -> Schema:
        """Arguments for one call: mostly of the right types, sometimes of none."""
        chance = self._chance
        if chance.random() < 0.05:
            return {"unknown": self._odd()}
        required = set(schema.get("required", ()))
        given: Schema = {}
        for name, field in cast("Schema", schema.get("properties", {})).items():
            if name in required or chance.random() < 0.4:
                given[name] = self._odd() if chance.random() < 0.1 else self._value(field)
        if given and chance.random() < 0.05:
            del given[chance.choice(list(given))]
        return given

    def _value(self, schema: Schema, depth: int = 0) -> Any:
        """A value that fits a schema, or nearly does."""
        chance = self._chance
        if "enum" in schema:
            return chance.choice(schema["enum"])
        if "anyOf" in schema:
            return self._value(chance.choice(schema["anyOf"]), depth)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = chance.choice(cast("list[str]", kind))
        if kind == "integer":
            return chance.choice([schema.get("minimum", 0), 1, 2, 3, 50, chance.randrange(-5, 10_000)])
        if kind == "number":
            return chance.choice([0, 0.5, 1, -3.25])
        if kind == "boolean":
            return chance.random() < 0.5
        if kind == "array":
            return [self._value(schema.get("items", {}), depth + 1) for _ in range(chance.randrange(0, 4))]
        if kind == "object":
            if depth > 3 or "properties" not in schema:
                return {chance.choice(TEXTS): chance.choice(TEXTS)} if chance.random() < 0.5 else {}
            return {name: self._value(field, depth + 1) for name, field in schema["properties"].items()}
        return chance.choice(self._learned) if self._learned and chance.random() < 0.4 else chance.choice(TEXTS)

    def _odd(self) -> Any:
        return copy.deepcopy(self._chance.choice(ODD))
