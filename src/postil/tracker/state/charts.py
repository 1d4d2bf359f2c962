"""Pictures of a milestone: burn-down and progress, as text for a terminal and as SVG for documents and pages. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from postil.tracker.state.burndown import Day
from postil.tracker.text import is_day

_COLUMNS, _ROWS = 60, 8
"""Of a chart on a terminal."""
_BAR = 24
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_WIDTH, _HEIGHT = 640, 240
_LEFT, _TOP, _RIGHT, _BOTTOM = 40, 34, 16, 30


def draw_chart(title: str, due: str | None, days: Sequence[Day]) -> str:
    """Returns a burn-down of block characters: how many issues were open on each day."""
    if not days:
        return f"{title}: no issues yet"
    shown = _thin_out(days, _COLUMNS)
    top = max(1, *(day.open for day in shown))
    lines: list[str] = []
    for row in range(_ROWS, 0, -1):
        cells = [_EIGHTHS[max(0, min(8, round((day.open / top * _ROWS - row + 1) * 8)))] for day in shown]
        label = str(top) if row == _ROWS else "0" if row == 1 else ""
        lines.append(f"{label:>5} │{''.join(cells)}")
    last = days[-1]
    lines.append(f"      └{'─' * len(shown)}")
    span = f"{shown[0].day} … {shown[-1].day}"
    return "\n".join(
        [
            f"{title}{f' (due {due})' if due else ''}",
            draw_progress(last.open, last.closed),
            "",
            *lines,
            f"       {span}",
        ]
    )


def draw_chart_svg(title: str, due: str | None, days: Sequence[Day]) -> str:
    """Returns a burn-down as SVG: open issues as a line over the closed ones, and the straight way to the due date."""
    due = due if is_day(due or "") else None  # from a log that anybody may have written
    first = datetime.date.fromisoformat(days[0].day) if days else datetime.date(2000, 1, 1)
    last = datetime.date.fromisoformat(days[-1].day) if days else first
    end = max(last, datetime.date.fromisoformat(due)) if due else last
    span = max((end - first).days, 1)
    top = max((day.open + day.closed for day in days), default=1) or 1

    def x(day: str) -> float:
        passed = (datetime.date.fromisoformat(day) - first).days
        return _LEFT + passed / span * (_WIDTH - _LEFT - _RIGHT)

    def y(count: float) -> float:
        return _HEIGHT - _BOTTOM - count / top * (_HEIGHT - _TOP - _BOTTOM)

    base = y(0)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img"'
            f' aria-label="{_escape(title)}: burn-down" font-family="system-ui, sans-serif" font-size="12">'
        ),
        f"<title>{_escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="20" font-size="14" fill="#1b1f24">{_escape(_clip(title))}</text>',
        f'<path d="M{_LEFT} {base:.1f}H{_WIDTH - _RIGHT}" stroke="#8c959f"/>',
        f'<text x="{_LEFT - 6}" y="{y(top) + 4:.1f}" text-anchor="end" fill="#57606a">{top}</text>',
        f'<text x="{_LEFT - 6}" y="{base:.1f}" text-anchor="end" fill="#57606a">0</text>',
    ]
    if days:
        total = "".join(f"L{x(day.day):.1f} {y(day.open + day.closed):.1f}" for day in days)
        parts.append(f'<path d="M{_LEFT} {base:.1f}{total}V{base:.1f}Z" fill="#dafbe1"/>')
        remaining = " ".join(f"{x(day.day):.1f},{y(day.open):.1f}" for day in days)
        parts.append(f'<polyline points="{remaining}" fill="none" stroke="#0969da" stroke-width="2"/>')
        # Where it stands now; on the first day there is no line yet.
        parts.append(f'<circle cx="{x(days[-1].day):.1f}" cy="{y(days[-1].open):.1f}" r="3.5" fill="#0969da"/>')
        parts.append(
            f'<text x="{_LEFT}" y="{_HEIGHT - 10}" fill="#57606a">{days[0].day}</text>'
            f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 10}" text-anchor="end" fill="#57606a">{end.isoformat()}</text>'
            f'<text x="{_WIDTH - _RIGHT}" y="20" text-anchor="end" fill="#1b1f24">{days[-1].open} open,'
            f" {days[-1].closed} closed</text>"
        )
    if days and due:
        start = max(day.open for day in days)
        parts.append(
            f'<path d="M{_LEFT} {y(start):.1f}L{x(due):.1f} {base:.1f}" stroke="#cf222e" stroke-dasharray="4 4"/>'
        )
    if days:
        parts.append(
            _draw_legend([("open", "#0969da"), ("all", "#4ac26b"), *([("to the due date", "#cf222e")] if due else [])])
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def draw_progress(open_: int, closed: int, what: str = "closed") -> str:
    """Returns a bar of how much is done."""
    total = open_ + closed
    filled = round(_BAR * closed / total) if total else 0
    share = f"{100 * closed // total}%" if total else "no issues"
    return f"{'█' * filled}{'░' * (_BAR - filled)} {share} ({closed} of {total} {what})"


def draw_progress_svg(title: str, open_: int, closed: int) -> str:
    """Returns a bar of how much is done, as SVG."""
    total = open_ + closed
    share = closed / total if total else 0.0
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 40" role="img" font-family="system-ui, sans-serif"'
        f' font-size="12" aria-label="{_escape(title)}: {share:.0%}">\n<title>{_escape(title)}</title>\n'
        f'<rect y="20" width="320" height="14" rx="7" fill="#eaeef2"/>\n'
        f'<rect y="20" width="{320 * share:.1f}" height="14" rx="7" fill="#2da44e"/>\n'
        f'<text y="13" fill="#1b1f24">{_escape(_clip(title)[:36])}</text>\n'
        f'<text x="320" y="13" text-anchor="end" fill="#57606a">{closed} of {total}</text>\n</svg>\n'
    )


def _draw_legend(entries: Sequence[tuple[str, str]]) -> str:
    words = "  ".join(f'<tspan fill="{color}">■</tspan> {name}' for name, color in entries)
    return (
        f'<text x="{_WIDTH / 2:g}" y="{_HEIGHT - 10}" text-anchor="middle" fill="#57606a" xml:space="preserve">'
        f"{words}</text>"
    )


def _clip(title: str) -> str:
    return title if len(title) <= 60 else title[:59] + "…"


def _thin_out(days: Sequence[Day], width: int) -> list[Day]:
    if len(days) <= width:
        return list(days)
    return [days[round(i * (len(days) - 1) / (width - 1))] for i in range(width)]


def _escape(text: str) -> str:
    plain = "".join(c for c in text if c >= " ")
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
