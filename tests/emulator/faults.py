"""Knobs that make the emulator misbehave: each names one way real GitLab instances have been seen to answer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from tests.emulator.params import Refusal

KINDS = (
    "429-seconds",  # Retry-After: 1, JSON body
    "429-date",  # Retry-After as an HTTP date
    "429-reset",  # no Retry-After, RateLimit-Reset only
    "429-text",  # plain text "Retry later", no header at all
    "404",
    "500",
    "502",
    "503",
    "504",
    "400",
    "409",
    "422",
    "echo",  # a refusal that repeats the token it was sent
    "slow",
    "truncated",  # the body ends in the middle of the JSON
    "html",  # a sign-in page with status 200
    "nulls",  # every nullable field null
    "missing",  # every optional key absent
    "extra",  # keys nobody has heard of
    "odd",  # a success whose body is not what anybody expects
    "redirect-same",
    "redirect-other",
    "cookie",
    "no-totals",
    "drop",  # the connection is closed without an answer, after the work was done
)

# Never absent and never null in any recorded answer: what identifies a thing.
FIRM = {"id", "iid"}


@dataclass
class Fault:
    """One kind of misbehaviour, for the next `times` requests whose path contains `path`."""

    kind: str
    times: int = 1_000_000
    path: str = ""
    other: str = "http://other.invalid"
    seconds: float = 5.0


@dataclass
class Faults:
    """The faults in force."""

    active: list[Fault] = field(default_factory=list[Fault])

    def add(self, kind: str, **more: Any) -> Fault:
        if kind not in KINDS:
            raise ValueError(f"{kind} is not one of {', '.join(KINDS)}")
        fault = Fault(kind, **more)
        self.active.append(fault)
        return fault

    def take(self, path: str) -> list[Fault]:
        """The faults for this request, counted down."""
        chosen = [fault for fault in self.active if fault.times > 0 and fault.path in path]
        for fault in chosen:
            fault.times -= 1
        return chosen


def refusal(fault: Fault) -> Refusal | None:
    """The error answer a fault stands for, if it stands for one."""
    limited = {"message": {"error": "Too many requests. Please try again later."}}
    answers = {
        "429-seconds": lambda: Refusal(429, limited, {"Retry-After": "1"}),
        "429-date": lambda: Refusal(429, limited, {"Retry-After": formatdate(time.time() + 2, usegmt=True)}),
        "429-reset": lambda: Refusal(
            429, limited, {"RateLimit-Reset": str(int(time.time()) + 1), "RateLimit-Remaining": "0"}
        ),
        "429-text": lambda: Refusal(429, "Retry later\n"),
        "404": lambda: Refusal(404, {"message": "404 Not Found"}),
        "500": lambda: Refusal(500, {"message": "500 Internal Server Error"}),
        "502": lambda: Refusal(502, "<html><body>GitLab is not responding</body></html>"),
        "503": lambda: Refusal(503, "<html><body>Deploy in progress</body></html>"),
        "504": lambda: Refusal(504, "<html><body>Gateway time-out</body></html>"),
        "400": lambda: Refusal(
            400, {"message": {"base": ["Something is wrong", "and more"], "title": ["can't be blank"]}}
        ),
        "409": lambda: Refusal(
            409, {"message": ["Another open merge request already exists for this source branch: !1"]}
        ),
        "422": lambda: Refusal(422, {"error": "Invalid url given"}),
        "html": lambda: Refusal(200, "<!DOCTYPE html><html><body>Sign in</body></html>"),
        "odd": lambda: Refusal(201, "[]"),
    }
    make = answers.get(fault.kind)
    return make() if make else None


def nulled(value: Any) -> Any:
    """The same answer with everything null except what identifies it."""
    if isinstance(value, list):
        return [nulled(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {name: item if name in FIRM else None for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def stripped(value: Any) -> Any:
    """The same answer with only the keys that identify it."""
    if isinstance(value, list):
        return [stripped(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if name in FIRM}  # pyright: ignore[reportUnknownVariableType]
    return value


def swollen(value: Any) -> Any:
    """The same answer with unknown keys everywhere."""
    if isinstance(value, list):
        return [swollen(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        grown: dict[str, Any] = {str(name): swollen(item) for name, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return grown | {"from_the_future": {"deeply": [{"nested": True}]}, "runner_secret": "glrt-fromthefuture"}
    return value


RESHAPE = {"nulls": nulled, "missing": stripped, "extra": swollen}
