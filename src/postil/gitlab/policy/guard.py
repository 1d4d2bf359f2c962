"""What an operator may forbid beyond GitLab's own rules: strangers' words, and private things made public.

Anyone can write an issue in a public project, and a model that reads it may do as it says: read a private project, and
put what it found where everyone sees it. With `lockdown`, words in public projects by people below Developer there do
not reach the caller at all. With `no_private_to_public`, who has read a project cannot write to a more visible one for
an hour. Both are the operator's: no caller, header or repository can loosen them. Off by default, and then no request
more is made.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from postil.core import call
from postil.core.ports import EphemeralStore
from postil.gitlab.failures import GitLabFailure, NotOffered
from postil.gitlab.instance.records import Record
from postil.storage.ephemeral import MemoryEphemeralStore

Ask: TypeAlias = Callable[[str], Awaitable[Record]]
"""Read a route of GitLab as this caller."""
RANKS = {"private": 0, "internal": 1, "public": 2}
NAMES = ("private", "internal", "public")
DEVELOPER = 30
REMEMBERED = 60.0
MOST_REMEMBERED = 10_000
TAINTED_FOR = 3600.0
AT_ONCE = 8
WITHHELD = "[withheld: written in a public project by someone below Developer there]"
WORDS = ("title", "description", "body", "source_branch")


class Policy(Struct, frozen=True):
    """Which rules hold."""

    lockdown: bool = False
    no_private_to_public: bool = False

    @property
    def is_on(self) -> bool:
        """Whether there is anything to do."""
        return self.lockdown or self.no_private_to_public


class Guard:
    """The rules at work for every read and write of one instance."""

    def __init__(self, policy: Policy, ephemeral: EphemeralStore | None = None) -> None:
        self.policy = policy
        self._ephemeral = ephemeral or MemoryEphemeralStore()
        self._ranks: dict[str, tuple[float, int]] = {}
        self._levels: dict[str, tuple[float, int]] = {}
        self._room = asyncio.Semaphore(AT_ONCE)

    async def filter_rows(self, project: str, rows: Sequence[Record], ask: Ask, token: str) -> list[Record]:
        """Return rows as this caller may have them, and remember which projects they are about."""
        of_each = [project or str(row.number("project_id") or "") or _read_own_number(row) for row in rows]
        for row, of in zip(rows, of_each, strict=True):
            said = row.text("visibility")
            if said in RANKS and of == _read_own_number(row):
                self._ranks[_hash(token, of)] = (time.monotonic() + REMEMBERED, RANKS[said])
        names = sorted({project, *of_each} - {""})
        found = await asyncio.gather(*(self._find_rank(name, ask, token) for name in names))
        ranks = dict(zip(names, found, strict=True))
        lowest = min(ranks, key=lambda name: ranks[name], default="")
        if lowest:
            await self._remember_read(ranks[lowest], lowest)
        if not self.policy.lockdown:
            return list(rows)
        checked = (self._withhold(of, row, ranks.get(of, 0), ask, token) for of, row in zip(of_each, rows, strict=True))
        return list(await asyncio.gather(*checked))

    async def locks(self, project: str, ask: Ask, token: str) -> bool:
        """Whether words of strangers are withheld in this project: anybody may write there."""
        return self.policy.lockdown and await self._find_rank(project, ask, token) == RANKS["public"]

    async def check_write(self, project: str, ask: Ask, token: str) -> None:
        """Refuse a write to a project that more people see than one which this caller has read."""
        if not self.policy.no_private_to_public or not project:
            return
        found = await self._ephemeral.recall(self._name_taint())
        if found is None:
            raise NotOffered("It cannot be told just now what you have read", advice="Try again in a moment")
        if found[0] is None:
            return
        rank, _, source = found[0].decode().partition(" ")
        target = await self._find_rank(project, ask, token)
        if target > int(rank):
            raise NotOffered(
                f"This project is {NAMES[target]}, and you have read {source}, which is {NAMES[int(rank)]}: "
                "nothing of it may be written here",
                advice="Write to a project that is no more visible, or ask the operator (gitlab.no_private_to_public)",
            )

    async def _remember_read(self, rank: int, project: str) -> None:
        if rank < RANKS["public"]:
            call.current().labels.add(NAMES[rank])
            call.current().tell("X-GitLab-Visibility", NAMES[rank])
        if not self.policy.no_private_to_public or rank == RANKS["public"]:
            return
        found = await self._ephemeral.recall(self._name_taint())
        known = int(found[0].decode().partition(" ")[0]) if found and found[0] else RANKS["public"]
        taint = {self._name_taint(): f"{rank} {project}".encode()}
        if rank <= known and not await self._ephemeral.keep(taint, TAINTED_FOR):
            raise NotOffered("What you read cannot be remembered just now", advice="Try again in a moment")

    @staticmethod
    def _name_taint() -> str:
        return "gitlab-read:" + hashlib.sha256(call.current().caller.principal.encode()).hexdigest()[:40]

    async def _find_rank(self, project: str, ask: Ask, token: str) -> int:
        """Return how visible a project is; one that nobody can tell counts as private."""

        async def look() -> int:
            return RANKS.get((await ask(f"projects/{project}")).text("visibility") or "", 0)

        return await self._recall_or_look(self._ranks, _hash(token, project), look)

    async def _withhold(self, project: str, row: Record, rank: int, ask: Ask, token: str) -> Record:
        """Return a row without the words of strangers, and its notes likewise."""
        if rank < RANKS["public"]:
            return row
        fields = dict(row.fields)
        author = row.record("author")
        if author and not await self._is_developer(project, author.number("id") or 0, ask, token):
            fields |= {name: WITHHELD for name in WORDS if isinstance(fields.get(name), str)}
            fields |= {name: None for name in ("suggestions", "position") if name in fields}  # code and names of files
            fields["author"] = {**author.fields, "name": None}  # a name may be a sentence; a username may not
        for name in ("notes", "discussions"):
            inner = row.records(name)
            if inner:
                locked = [await self._withhold(project, one, rank, ask, token) for one in inner]
                fields[name] = [dict(one.fields) for one in locked]
        return Record(fields)

    async def _is_developer(self, project: str, user: int, ask: Ask, token: str) -> bool:
        async def look() -> int:
            return (await ask(f"projects/{project}/members/all/{user}")).number("access_level") or 0

        return await self._recall_or_look(self._levels, _hash(token, project, user), look) >= DEVELOPER

    async def _recall_or_look(
        self, known: dict[str, tuple[float, int]], name: str, look: Callable[[], Awaitable[int]]
    ) -> int:
        expires, value = known.get(name, (0.0, 0))
        if expires > time.monotonic():
            return value
        async with self._room:
            try:
                value = await look()
            except GitLabFailure as failure:
                if failure.status not in (403, 404):
                    raise
                value = 0  # what cannot be told counts as private, and as no member
        if len(known) >= MOST_REMEMBERED:
            known.clear()
        known[name] = (time.monotonic() + REMEMBERED, value)
        return value


def _read_own_number(row: Record) -> str:
    """Return the number of a row that is itself a project; empty for other rows."""
    return str(row.number("id") or "") if row.text("path_with_namespace") else ""


def _hash(*words: str | int) -> str:
    return hashlib.sha256(repr(words).encode()).hexdigest()
