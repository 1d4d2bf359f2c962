"""A small part for tests: one operation of each kind, a resource, a template, a prompt."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from postil.core import call
from postil.core.answer import Answer
from postil.core.content import Message, said
from postil.core.failure import Failure, NotFound
from postil.core.operation import Spelling, destroys, reads, writes
from postil.core.prompt import prompt
from postil.core.resource import resource


class Echoed(Struct, frozen=True):
    """What came back."""

    text: str
    times: int


class Counted(Answer, frozen=True):
    """How often it was counted."""

    count: int

    def plain(self) -> object:
        return {"counted": self.count}

    def metadata(self) -> dict[str, Any]:
        return {"count": self.count}


class Doubt(Failure):
    """Nobody knows."""

    code = -32000
    doubtful = True


class Echo:
    """A part that does very little, in every way there is."""

    def __init__(self) -> None:
        self.count = 0
        self.note = "first"
        self.changed: list[Callable[[], None]] = []
        self.forgotten: Callable[[str], None] = lambda _: None

    @reads("echo", shell="echo say", positional=("text",), spellings=(Spelling("echo twice", {"times": 2}),))
    async def echo(
        self,
        text: Annotated[str, Meta(description="What to say", max_length=5_000_000)],
        times: Annotated[int, Meta(ge=1, le=5)] = 1,
        mood: Literal["loud", "soft"] = "soft",
    ) -> Echoed:
        """Say it again"""
        return Echoed(text * times, times)

    @writes("count", shell="echo count")
    def add(self, by: int = 1) -> Counted:
        """Count one more"""
        self.count += by
        return Counted(self.count)

    @reads("total")
    def total(self) -> Counted:
        """How often it was counted so far"""
        return Counted(self.count)

    @destroys("forget")
    def forget(self, name: str = "") -> Counted:
        """Start from nothing"""
        self.count = 0
        self.forgotten(name)
        return Counted(0)

    @reads("wait")
    async def wait(self, steps: int = 3) -> Counted:
        """Report progress, then end"""
        for step in range(steps):
            call.current().progress(step + 1, steps, f"step {step + 1}")
            call.current().log("info", {"step": step + 1})
            await asyncio.sleep(0)
        return Counted(steps)

    @reads("hold")
    def hold(self, path: str) -> Counted:
        """Work until whoever writes to a pipe closes it"""
        with open(path, "rb") as pipe:
            return Counted(len(pipe.read()))

    @reads("sleep", waits=True)
    async def sleep(self, seconds: float = 60) -> Counted:
        """Say that it begins, then wait long"""
        call.current().progress(0, seconds)
        await asyncio.sleep(seconds)
        return Counted(0)

    @reads("break")
    def broken(self) -> Counted:
        """Raise a bug"""
        raise ValueError("secret detail")

    @reads("chatter")
    def chatter(self) -> Counted:
        """Print where nothing may be printed"""
        print("a stray print")
        os.write(1, b"a stray write\n")
        subprocess.run(["echo", "a stray child"], check=True)
        return Counted(0)

    @reads("fail")
    def fail(self, what: str = "it") -> Counted:
        """Fail on purpose"""
        raise NotFound(f"No {what}", advice="Look elsewhere", what=what)

    @writes("gamble")
    async def gamble(self) -> Counted:
        """Do it, and fail to say so"""
        self.count += 1
        raise Doubt("The write may have happened", advice="Look first", outcome="unknown")

    @writes("note")
    def write(self, text: str) -> Counted:
        """Change the note that the resource shows"""
        self.note = text
        for changed in self.changed:
            changed()
        return Counted(0)

    @resource("echo://note", name="Note", watch="watch_note")
    def read_note(self) -> str:
        """The note"""
        return self.note

    def watch_note(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        self.changed.append(changed)
        return lambda: self.changed.remove(changed)

    @resource("echo://files/{+path}", name="File", mime_type="application/json")
    def read_file(self, path: str) -> Echoed:
        """A file that is its own name"""
        return Echoed(path, 1)

    @prompt("greet", complete={"tone": ("warm", "cold"), "name": "names"})
    def greet(
        self, name: Annotated[str, Meta(description="Whom to greet")], tone: str = "warm", times: int = 1
    ) -> list[Message]:
        """Greet someone"""
        return [said(f"Greet {name}, {tone}, {times} times")]

    def names(self, value: str) -> list[str]:
        return [name for name in ("Ada", "Alan", "Grace") if name.lower().startswith(value.lower())]
