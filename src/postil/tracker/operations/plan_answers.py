"""What the planning operations answer."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from postil.core.answer import Answer
from postil.core.others.framing import frame
from postil.core.others.visible import harmless
from postil.tracker.index.tables import Row
from postil.tracker.state.checklist import Criterion
from postil.tracker.text import align, cut_names, cut_title, flatten, format_count
from postil.tracker.vocabulary import NO_PRIORITY, PRIORITIES

_HOW = (
    "How to work: git_mile_next takes the most urgent ready issue; git_mile_show reads it; git_mile_check ticks a"
    " criterion; git_mile_comment says what was found; git_mile_create and git_mile_link (discovered-from, blocks) keep"
    " new work; git_mile_close ends it, and the claim. issue_sync exchanges with the team."
)

_HOW_IN_SHELL = (
    "How to work: `git mile next` takes the most urgent ready issue; `show` reads it; `check` ticks a criterion;"
    " `comment` says what was found; `create` and `link` (discovered-from, blocks) keep new work; `close` ends it, and"
    " the claim. `sync` exchanges with the team."
)
_LONGEST = 200
"""Letters of a title in a line."""


class ReadyItem(Struct, frozen=True, kw_only=True):
    """An issue that nothing blocks and nobody holds."""

    id: str
    title: str
    labels: tuple[str, ...]
    milestone: str | UnsetType = UNSET
    due: str | UnsetType = UNSET
    priority: str | UnsetType = UNSET
    type: str | UnsetType = UNSET
    short: str | UnsetType = UNSET


class Ready(Answer, frozen=True, kw_only=True):
    """What can be worked on now."""

    items: list[ReadyItem]
    blocked: int
    cycles: list[list[str]] | UnsetType = UNSET
    claimed: int | UnsetType = UNSET
    """Where nothing is ready: how many somebody has."""
    epics: int | UnsetType = UNSET
    """Where nothing is ready: how many are epics, whose sub-issues are worked on."""

    def for_person(self) -> str:
        """A table, then what waits."""
        rows = [
            [
                item.short or item.id[:8],
                item.priority or "",
                flatten(item.title[:_LONGEST]),
                flatten(",".join(item.labels)),
                flatten(item.due or ""),
            ]
            for item in self.items
        ]
        lines = [align([["ID", "PRIORITY", "TITLE", "LABELS", "DUE"], *rows])]
        if not rows:
            lines = [_say_nothing(self.blocked, self.claimed, self.epics)]
        elif self.blocked:
            lines.append(f"{format_count(self.blocked, 'issue')} blocked by others")
        lines += [f"Circle, cut at its youngest link: {' → '.join(circle)}" for circle in self.cycles or ()]
        return "\n".join(lines)


class BlockedItem(Struct, frozen=True, kw_only=True):
    """An issue that waits."""

    id: str
    title: str
    because: list[str]
    """What it waits for, then what that waits for, and so on."""
    short: str | UnsetType = UNSET


class Blocked(Answer, frozen=True, kw_only=True):
    """What waits for others."""

    items: list[BlockedItem]
    total: int

    def for_person(self) -> str:
        """A line an issue, and below it the reasons."""
        lines: list[str] = []
        for item in self.items:
            lines.append(f"{item.short or item.id[:8]} {flatten(item.title[:_LONGEST])}")
            lines += [f"{'  ' * depth}← {flatten(reason)}" for depth, reason in enumerate(item.because, 1)]
        if self.total > len(self.items):
            lines.append(f"({self.total - len(self.items)} more; --limit shows them)")
        return "\n".join(lines) or "Nothing is blocked"


class Taken(Answer, frozen=True, kw_only=True):
    """The issue that was chosen."""

    id: str | None
    title: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    priority: str | UnsetType = UNSET
    labels: tuple[str, ...] | UnsetType = UNSET
    criteria: list[Criterion] | UnsetType = UNSET
    until: str | UnsetType = UNSET
    blocked: int
    claimed: int | UnsetType = UNSET
    epics: int | UnsetType = UNSET

    def for_model(self) -> str:
        """What to do, until when it is theirs, and what to call."""
        if self.id is None:
            return self.for_person()
        holds = f"is yours until {self.until}" if self.until else "is next; nobody has claimed it"
        lines = [f"{self.id[:8]} “{(self.title or '')[:_LONGEST]}” {holds}"]
        facts = [f"priority {self.priority}"] if self.priority else []
        facts += [f"labels {', '.join(self.labels)}"] if self.labels else []
        lines += ["; ".join(facts)] if facts else []
        if self.description:
            lines += ["", self.description]
        if self.criteria:
            done = sum(one.done for one in self.criteria)
            lines += ["", f"{done} of {len(self.criteria)} criteria done; git_mile_check ticks one by its number."]
        return "\n".join([*lines, "", f"git_mile_show {self.id[:8]} has its comments; git_mile_close ends it."])

    def for_person(self) -> str:
        """What to do, and until when it is yours."""
        if self.id is None:
            return _say_nothing(self.blocked, self.claimed, self.epics)
        lines = [f"{self.id[:8]} {flatten((self.title or '')[:_LONGEST])}"]
        if self.until:
            lines.append(f"claimed until {self.until}")
        if self.description:
            lines += ["", harmless(self.description)]
        return "\n".join(lines)


def _say_nothing(blocked: int, claimed: int | UnsetType, epics: int | UnsetType) -> str:
    """Returns why nothing is ready: an open issue that is in no list would be lost."""
    why = [f"{format_count(blocked, 'issue')} blocked by others"] if blocked else []
    why += [f"{format_count(claimed, 'issue')} claimed"] if claimed else []
    why += [f"{format_count(epics, 'epic')} open, of which sub-issues are worked on"] if epics else []
    return "; ".join(["Nothing is ready", *why])


class Prime(Answer, frozen=True, kw_only=True):
    """What an assistant must know to start, within 2 kB."""

    open: int
    blocked: int
    claimed: list[str]
    ready: list[str]

    @property
    def has_words(self) -> bool:
        """The titles are framed here: what Postil itself says stands outside."""
        return False

    def for_model(self) -> str:
        """A short page: counts, what others wrote in a frame, how to work."""
        titles = self._list_titles()
        return "\n".join([self._count(), *([frame("\n".join(titles), "issues")] if titles else []), _HOW])

    def for_person(self) -> str:
        """The same page, without a frame."""
        return "\n".join([self._count(), *self._list_titles(), _HOW_IN_SHELL])

    def _count(self) -> str:
        return f"{format_count(self.open, 'open issue')}, {self.blocked} blocked."

    def _list_titles(self) -> list[str]:
        lines = ["In progress:", *(f"- {flatten(one)}" for one in self.claimed)] if self.claimed else []
        return lines + (
            ["Ready, the most urgent first:", *(f"- {flatten(one)}" for one in self.ready)] if self.ready else []
        )


def make_ready_item(row: Row, short: str) -> ReadyItem:
    """Returns a row as something to work on."""
    return ReadyItem(
        id=row.id,
        title=cut_title(row.title),
        labels=cut_names(row.label_names()),
        milestone=row.milestone or UNSET,
        due=row.due or UNSET,
        priority=PRIORITIES[row.priority] if row.priority < NO_PRIORITY else UNSET,
        type=row.type or UNSET,
        short=short if short != row.id[:8] else UNSET,
    )
