"""The days of a milestone: its burn-down and its progress, drawn from its events."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from postil.core.answer import Answer
from postil.core.operation import reads
from postil.tracker.events import decode_lines
from postil.tracker.failures import InvalidParams
from postil.tracker.model import Entity
from postil.tracker.operations.arguments import Id
from postil.tracker.state.burndown import Day, count_days

if TYPE_CHECKING:
    from postil.tracker.issues import Issues


class Chart(Answer, frozen=True, kw_only=True):
    """The days of a milestone."""

    id: str
    title: str
    due: str | None
    days: list[Day]

    def for_person(self) -> str:
        """A burn-down for the terminal."""
        from postil.tracker.state.charts import draw_chart  # only who looks at a chart pays for drawing it

        return draw_chart(self.title, self.due, self.days)


class ChartCommands:
    """`git mile milestone chart ID`."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @reads(
        "milestone_chart",
        aliases=("milestone.chart",),
        toolset="extra",
        shell="milestone chart",
        positional=("id",),
    )
    def chart(
        self,
        id: Id,
        svg: Annotated[bool, Meta(description="print SVG")] = False,
        bar: Annotated[bool, Meta(description="only the progress bar")] = False,
        as_of: Annotated[str, Meta(description="as it was at the end of this day, YYYY-MM-DD")] | None = None,
    ) -> Chart | str:
        """Burn-down and progress of a milestone, as text or SVG, now or at any day"""
        self._issues.refresh()
        made = make_chart(self._issues, self._issues.find(id, "milestone"), as_of)
        if not svg and not bar:
            return made
        from postil.tracker.state.charts import draw_chart_svg, draw_progress, draw_progress_svg

        if not bar:
            return draw_chart_svg(made.title, made.due, made.days)
        last = made.days[-1] if made.days else Day("", 0, 0)
        return draw_progress_svg(made.title, last.open, last.closed) if svg else draw_progress(last.open, last.closed)


def make_chart(issues: Issues, milestone: Entity, as_of: str | None = None) -> Chart:
    """Returns the days of a milestone, up to now or to a day."""
    store = issues.store
    until = store.now().date()
    if as_of is not None:
        try:
            until = datetime.date.fromisoformat(as_of)
        except ValueError:
            raise InvalidParams(f"`{as_of[:64]}` is not a day", advice="Write it as 2026-11-15") from None
    ever = store.index.query("SELECT id FROM aim JOIN log ON log.n = aim.n WHERE milestone = ?", (milestone.id,))
    histories = store.index.read_histories([id_ for (id_,) in ever])
    days = count_days((decode_lines(lines) for _, lines in histories), milestone.id, until)
    return Chart(id=milestone.id, title=milestone.title, due=milestone.due, days=days)
