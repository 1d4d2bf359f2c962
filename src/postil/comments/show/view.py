"""Code with its comments between the lines. Pure: lines and comments in, text out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from postil.comments.operations.answers import CommentNow, list_old_code
from postil.comments.sidecar.format import strip_tag
from postil.core import call
from postil.core.others.one_line import on_one_line
from postil.core.others.own_words import in_brackets, in_color

NEAR = 3
"""Lines of code around a comment or a change that are shown with it."""
WIDEST = 400


def render_view(
    path: str,
    lines: Sequence[str],
    comments: Sequence[CommentNow],
    short: Mapping[str, str],
    *,
    added: frozenset[int] | None = None,
    removed: Mapping[int, Sequence[str]] | None = None,
    whole: bool = True,
    around: Sequence[int] = (),
) -> str:
    """Returns a file's code with each comment below its last line, and comments without a place in it at the end.

    With `added` (and `removed`, by the line that they stood before) it is a diff. Not `whole`: only what is near
    comments and changes, or (with `around`) these lines.
    """
    by_line: dict[int, list[CommentNow]] = {}
    lost: list[CommentNow] = []
    left: list[CommentNow] = []
    for each in comments:
        if each.path != path and each.state != "orphaned" and not each.has_left:
            left.append(each)
        elif each.state == "orphaned" or each.has_left or not 1 <= each.line <= len(lines):
            lost.append(each)
        else:
            by_line.setdefault(min(max(each.line, each.endLine), len(lines)), []).append(each)
    gone = removed or {}
    wanted = None if whole else _choose(len(lines), around or [*by_line, *(added or ()), *gone])
    width = len(str(len(lines)))
    out: list[str] = []
    last = 0
    for number in range(1, len(lines) + 2):
        if wanted is not None and number not in wanted:
            continue
        if last and number > last + 1:
            out.append(f"{'⋮':>{width}}")
        last = number
        out += [in_color(f"{'':>{width}} - {text[:WIDEST]}", "red") for text in gone.get(number, ())]
        if number > len(lines):
            break
        code = lines[number - 1][:WIDEST]
        if added and number in added:
            out.append(in_color(f"{number:>{width}} + {code}".rstrip(), "green"))
        else:
            out.append(in_color(f"{number:>{width}}", "dim") + f"   {code}".rstrip())
        for each in by_line.get(number, ()):
            out += _render_comment(each, " " * (width + 3), short)
    for title, some in (("Their code is in another file now:", left), ("Without their code:", lost)):
        if some:
            out += ["", title] if out else [title]
        for each in some:
            *drawn, end = _render_comment(each, "   ", short)
            now = [f"{_draw('   ', '│')} now at {each.path}:{each.lines}"] if some is left else []
            out += [*drawn, *now, end]
    return "\n".join(out)


def _choose(count: int, marks: Iterable[int]) -> frozenset[int]:
    return frozenset(number for mark in marks for number in range(max(1, mark - NEAR), min(count + 1, mark + NEAR) + 1))


def _render_comment(each: CommentNow, margin: str, short: Mapping[str, str]) -> list[str]:
    told = call.current().tell_moment
    status = "" if each.status == "open" else f" ({each.status})"
    state = f" {in_brackets(each.state)}" if each.state in ("review", "orphaned") else ""
    stale = f" {in_brackets('stale')}" if each.stale else ""
    lines = f" lines {each.lines}" if each.endLine > each.line else ""
    name = short.get(each.id, each.id)
    beside = _draw(margin, "│")
    made = told(each.created, each.created[:10])
    marks = f"{in_brackets(each.tag or 'COMMENT')}{state}{stale}{each.wordings}{status}"
    head = on_one_line(f"{marks} {each.signed}, {made}{lines}  {name}")
    body = strip_tag(each.said, each.tag).split("\n")
    found = [f"{_draw(margin, '┌')} {head}", *(f"{beside} {line}" for line in body)]
    for reply in each.replies:
        said = reply.text.split("\n")
        found.append(f"{_draw(margin, '├')} {reply.author}, {told(reply.created, reply.created[:10])}: {said[0]}")
        found += [f"{beside}   {line}" for line in said[1:]]
    if each.state in ("orphaned", "review"):
        found += [f"{beside} was: {line}" for line in list_old_code(each)[: None if each.oldAround else 3]]
    if each.state == "review" and each.origin:
        found.append(f"{beside} {each.origin}")
    return [*found, _draw(margin, "└")]


def _draw(margin: str, frame: str) -> str:
    """Returns what stands before a line of a comment."""
    return in_color(f"{margin}{frame}", "blue")
