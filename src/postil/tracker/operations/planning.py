"""Planning and taking work: what is ready, what waits for what, taking the next issue, ticking its criteria.

An issue is in progress while somebody holds a claim on it. The claimer is the session or process that asks, unless it
gives a name: so of several processes of one git user one wins; all that is typed in one terminal is one session. A
claim ends when it is released, when its time is over (a month at most), or when the issue is closed.
"""

from __future__ import annotations

import datetime
import hashlib
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated

from msgspec import UNSET, Meta

from postil.core import call
from postil.core.operation import Spelling, reads, writes
from postil.tracker.events import Claimed as ClaimEvent
from postil.tracker.events import Released
from postil.tracker.failures import ClaimLost, InvalidParams, ServerError
from postil.tracker.index.pages import LARGEST_LIMIT
from postil.tracker.index.tables import Row
from postil.tracker.issues import Issues
from postil.tracker.model import Claim, Entity
from postil.tracker.operations.arguments import Id
from postil.tracker.operations.plan_answers import Blocked, BlockedItem, Prime, Ready, Taken, make_ready_item
from postil.tracker.operations.write_answers import Changed, Claimed, report_change
from postil.tracker.query.order import URGENCY
from postil.tracker.state.checklist import add_criteria, list_criteria, tick
from postil.tracker.state.graph import cut_cycles
from postil.tracker.store import Transaction
from postil.tracker.text import LONGEST_CLAIM, format_moment, round_to_second
from postil.tracker.validation import check_line, check_names
from postil.workspace.disk import read_regular

LEASE_MINUTES = 240
ROOM = 50
"""Issues that are read beyond those that are wanted: some are claimed, or epics."""
MOST_CIRCLES = 20
"""Circles that are told, and issues of each."""
_MOST_MINUTES = LONGEST_CLAIM // datetime.timedelta(minutes=1)
_PROCESS = os.urandom(6).hex()
Minutes = Annotated[int, Meta(ge=1, description="a month at most")]
Who = Annotated[str, Meta(description="default: the git user, in this session")]


class Planning:
    """What to do next, and who does it."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @reads("git_mile_ready", aliases=("git_mile.ready",), crash=ServerError, shell="issue ready")
    def ready(self, limit: Annotated[int, Meta(ge=1)] = 20, filter: str | None = None) -> Ready:
        """Open issues that nothing blocks and nobody has claimed, the most urgent first"""
        self._issues.refresh()
        free, blocked, circles = self._find_free(filter, limit)
        short = self._issues.shorten([row.id for row in free])
        claimed, epics = (0, 0) if free else self._count_others(filter)
        return Ready(
            items=[make_ready_item(row, short[row.id]) for row in free],
            blocked=blocked,
            cycles=[_shorten_circle(circle) for circle in circles[:MOST_CIRCLES]] or UNSET,
            claimed=claimed or UNSET,
            epics=epics or UNSET,
        )

    @reads("git_mile_blocked", crash=ServerError, shell="issue blocked")
    def blocked(self, limit: Annotated[int, Meta(ge=1, le=200)] = 20, filter: str | None = None) -> Blocked:
        """Open issues that wait for others, each with the chain of reasons down to what can be worked on"""
        self._issues.refresh()
        kept, _ = cut_cycles(self._issues.list_edges("blocks", open_only=True))
        before: dict[str, list[str]] = {}
        for one, two in kept:
            before.setdefault(two, []).append(one)
        rows = [row for row in self._list_open(filter) if row.id in before]
        titles = {row.id: row.title for row in self._list_open(None)}
        short = self._issues.shorten({*before, *(one for ones in before.values() for one in ones)})
        return Blocked(
            items=[
                BlockedItem(
                    id=row.id,
                    title=row.title,
                    short=short[row.id],
                    because=[
                        f"{short.get(id_, id_[:8])} {titles.get(id_, '')}".strip()
                        for id_ in _find_chain(before, row.id)
                    ],
                )
                for row in rows[:limit]
            ],
            total=len(rows),
        )

    @writes("git_mile_next", crash=ServerError, shell="issue next")
    def next(
        self, filter: str | None = None, who: Who = "", minutes: Minutes = LEASE_MINUTES, claim: bool = True
    ) -> Taken:
        """Choose the most urgent ready issue and claim it, in one step; only one caller gets it"""
        with self._issues.transaction() as tx:
            free, blocked, _ = self._find_free(filter, 1)
            if not free:
                claimed, epics = self._count_others(filter)
                return Taken(id=None, blocked=blocked, claimed=claimed or UNSET, epics=epics or UNSET)
            entity = self._issues.find(free[0].id)
            until = self._write_claim(tx, entity, who, minutes) if claim else ""
        return Taken(
            id=entity.id,
            title=entity.title,
            description=entity.description or UNSET,
            priority=entity.fields.get("priority") or UNSET,
            labels=entity.labels or UNSET,
            criteria=list_criteria(entity.description) or UNSET,
            until=round_to_second(until) or UNSET,
            blocked=blocked,
        )

    @writes(
        "git_mile_claim",
        aliases=("git_mile.claim",),
        crash=ServerError,
        shell="issue claim",
        positional=("id",),
        spellings=(Spelling("issue release", {"release": True}, "Give a claimed issue back; another's with --reason"),),
    )
    def claim(
        self,
        id: Id,
        who: Who = "",
        minutes: Minutes = LEASE_MINUTES,
        release: bool = False,
        reason: Annotated[str, Meta(description="why another's claim is ended")] = "",
    ) -> Claimed:
        """Claim an issue so that nobody else takes it, or release it"""
        with self._issues.transaction(message=check_line("reason", reason)) as tx:
            entity = self._issues.find(id, "issue")
            held = self._find_holder(entity)
            if release:
                return self._release(tx, entity, held, who, reason)
            if entity.status == "closed":
                raise InvalidParams(f"{entity.id[:8]} is closed", advice="Reopen it, or take another issue")
            until = self._write_claim(tx, entity, who, minutes)
            waits = self._list_blockers(entity.id)
        name = check_names("claimer", (who,)) or (tx.author.name,)
        return Claimed(
            id=entity.id, title=entity.title, who=name[0], until=round_to_second(until), blocked_by=waits or UNSET
        )

    @writes("git_mile_check", crash=ServerError, shell="issue check", positional=("id", "number"))
    def check(
        self,
        id: Id,
        number: Annotated[int, Meta(ge=1, description="counted from 1")] | None = None,
        done: bool = True,
        add: Annotated[tuple[str, ...], Meta(description="new criteria")] = (),
    ) -> Changed:
        """Tick (or clear) an acceptance criterion: a check box of the description; or add some"""
        with self._issues.transaction() as tx:
            entity = self._issues.find(id)
            text = add_criteria(entity.description, [check_line("criterion", one) for one in add])
            if not add:
                text = entity.description
            if number is not None:
                ticked = tick(text, number, done)
                if ticked is None:
                    count = len(list_criteria(text))
                    raise InvalidParams(
                        f"There is no criterion {number}; {entity.id[:8]} has {count}",
                        advice="`show` lists them, and `add` makes new ones",
                    )
                text = ticked
            elif not add:
                raise InvalidParams("Which criterion?", advice="Give its number, or a new one with `add`")
            # A tick that is there already decides nothing between concurrent descriptions.
            changed = self._issues.update(tx, entity, description=text) if text != entity.description else []
        told = list_criteria(text)
        what = [f"{sum(one.done for one in told)} of {len(told)} criteria done"] if changed else []
        if changed and any(one.field == "description" for one in entity.conflicts):
            what.append("and the description as shown stands; issue_log has the other")
        return report_change(self._issues.store.entity(entity.id), what)

    @reads("git_mile_prime", crash=ServerError, shell="issue prime")
    def prime(self) -> Prime:
        """What to know before starting: counts, what is in progress, what is ready, how to take and finish work"""
        self._issues.refresh()
        free, blocked, _ = self._find_free(None, 5)
        rows = list(self._list_open(None))
        now = self._issues.now_text()
        held = [row for row in rows if self._is_held(row.claim_who, row.claim_until, now)]
        short = self._issues.shorten([row.id for row in (*free, *held[:5])])
        return Prime(
            open=len(rows),
            blocked=blocked,
            claimed=[f"{short[row.id]} {row.title[:60]} ({row.claim_who[:40]})" for row in held[:5]],
            ready=[f"{short[row.id]} {row.title[:80]}" for row in free],
        )

    # Claims

    def _write_claim(self, tx: Transaction, entity: Entity, who: str, minutes: int) -> str:
        """Claim an issue. Returns until when. Raises ClaimLost if another holds it."""
        name, by = self._identify(tx, who)
        held = self._find_holder(entity)
        if held is not None and (held.who, held.by) != (name, by):
            raise ClaimLost(entity.id, held.who, round_to_second(held.until), same=held.who == name)
        until = format_moment(self._issues.store.now() + datetime.timedelta(minutes=min(minutes, _MOST_MINUTES)))
        tx.write(ClaimEvent, entity.id, who=name, until=until, by=by)
        return until

    def _release(self, tx: Transaction, entity: Entity, held: Claim | None, who: str, reason: str) -> Claimed:
        name, _ = self._identify(tx, who)
        if held is not None:
            if held.who != name and not reason.strip():
                raise ClaimLost(entity.id, held.who, round_to_second(held.until), ending=True)
            tx.write(Released, entity.id, who=held.who)
        return Claimed(id=entity.id, title=entity.title, who="", until="")

    def _identify(self, tx: Transaction, who: str) -> tuple[str, str]:
        """Returns who claims: a name that was given stands for itself, the git user only together with the session."""
        given = check_names("claimer", (who,))
        if given:
            return given[0], ""
        return tx.author.name, name_session()

    def _find_holder(self, entity: Entity) -> Claim | None:
        claim = entity.claim
        return claim if claim and self._is_held(claim.who, claim.until, self._issues.now_text()) else None

    def _is_held(self, who: str, until: str, now: str) -> bool:
        """Returns whether a claim holds; one that ends later than any could was made by a clock that is wrong."""
        latest = format_moment(self._issues.store.now() + LONGEST_CLAIM + datetime.timedelta(days=1))
        return bool(who) and now < until <= latest

    # What can be worked on

    def _find_free(self, filter_: str | None, limit: int) -> tuple[list[Row], int, list[list[str]]]:
        """Returns the ready issues, how many are blocked, and the circles among the links."""
        kept, circles = cut_cycles(self._issues.list_edges("blocks", open_only=True))
        blocked = {two for _, two in kept}
        now = self._issues.now_text()
        free = (
            row
            for row in self._read_urgent(filter_, limit + len(blocked))
            if row.id not in blocked
            and row.status == "open"
            and row.type != "epic"
            and not self._is_held(row.claim_who, row.claim_until, now)
        )
        return list(islice(free, limit)), len(blocked), circles

    def _count_others(self, filter_: str | None) -> tuple[int, int]:
        """Returns how many open issues somebody has, and how many are epics: those that are never ready."""
        rows, now = self._list_open(filter_), self._issues.now_text()
        claimed = sum(self._is_held(row.claim_who, row.claim_until, now) for row in rows)
        epics = sum(row.type == "epic" and row.status == "open" for row in rows)
        return claimed, epics

    def _read_urgent(self, filter_: str | None, first: int) -> Iterator[Row]:
        """Yields the open issues, the most urgent first; they are read as they are asked for."""
        size, cursor = first + ROOM, None
        while True:
            page = self._issues.read_list("issue", filter_, (URGENCY,), min(size, LARGEST_LIMIT), cursor, False)
            yield from page.rows
            size, cursor = LARGEST_LIMIT, page.next_cursor
            if cursor is None:
                return

    def _list_open(self, filter_: str | None) -> list[Row]:
        """Returns the open issues: the most urgent first, then those due soonest, then the oldest."""
        rows: list[Row] = []
        cursor: str | None = None
        while True:
            page = self._issues.read_list("issue", filter_, ("created",), LARGEST_LIMIT, cursor, False)
            rows += page.rows
            cursor = page.next_cursor
            if cursor is None:
                break
        return sorted(rows, key=lambda row: (row.priority, row.due or "9999", row.created_l))

    def _list_blockers(self, id_: str) -> list[str]:
        return [one[:8] for one, two in self._issues.list_edges("blocks", open_only=True) if two == id_]


def _shorten_circle(circle: Sequence[str]) -> list[str]:
    """Returns what is shown of a circle, which anybody's log can make as long as it likes."""
    shown = [id_[:8] for id_ in circle]
    return shown if len(shown) <= MOST_CIRCLES else [*shown[: MOST_CIRCLES - 1], "…", shown[-1]]


def _find_chain(before: dict[str, list[str]], start: str) -> Sequence[str]:
    """Returns one way from an issue to something that waits for nothing: what it waits for, then why that waits."""
    chain: list[str] = []
    at = start
    while at in before and len(chain) < 50:
        at = before[at][0]
        chain.append(at)
    return chain


def name_session() -> str:
    """Returns what tells a claimer from others of the same git user: a person's terminal, or the client and process."""
    leader = os.getsid(0)  # mostly the shell; its number is used again, but not with the same start
    caller = call.current().caller
    if not caller.types or not leader or _is_in_background():
        return f"{caller.client}.{_PROCESS}"
    stat = read_regular(f"/proc/{leader}/stat", 4096) or b""
    started = stat.rpartition(b")")[2].split()[19:20]
    told = f"{os.uname().nodename} {leader} {started}".encode("utf-8", "replace")
    return f"terminal:{hashlib.sha256(told).hexdigest()[:16]}"


def _is_in_background() -> bool:
    """Returns whether it is a job beside others of its terminal: of those that run at once one wins."""
    try:
        return os.tcgetpgrp(0) != os.getpgrp()
    except OSError:  # a terminal that controls no jobs
        return False
