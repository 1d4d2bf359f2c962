"""Issues from files: our own JSON lines and Markdown, and beads' JSON lines. Text in, neutral issues out."""

from __future__ import annotations

import datetime
import re
from typing import TypeVar

import msgspec

from postil.core.others.unreadable import UNREADABLE
from postil.tracker.failures import InvalidParams
from postil.tracker.imports.model import ForeignComment, ForeignIssue
from postil.tracker.text import format_moment
from postil.tracker.vocabulary import PRIORITIES, TYPES

_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_BEADS_LINKS = {
    "blocks": "blocks",
    "parent-child": "parent",
    "related": "related",
    "discovered-from": "discovered-from",
    "duplicates": "duplicate",
}
_MARK = r"(?:<!-- comment |---\norigin: )"
_COMMENT = re.compile(r"^<!-- comment (?P<key>\S+) (?P<ts>\S+) (?P<author>.*) -->$", re.MULTILINE)


class _Dependency(msgspec.Struct, frozen=True):
    depends_on_id: str
    type: str = "blocks"


class _BeadsComment(msgspec.Struct, frozen=True):
    text: str = ""
    author: str = ""
    created_at: str = ""
    id: int | str = ""


class _Beads(msgspec.Struct, frozen=True):
    id: str
    title: str
    description: str = ""
    design: str = ""
    acceptance_criteria: str = ""
    notes: str = ""
    status: str = "open"
    issue_type: str = ""
    priority: int | None = None
    assignee: str = ""
    labels: tuple[str, ...] | None = ()
    created_at: str = ""
    updated_at: str = ""
    closed_at: str = ""
    created_by: str = ""
    owner: str = ""
    close_reason: str = ""
    external_ref: str | None = None
    estimated_minutes: int | None = None
    dependencies: tuple[_Dependency, ...] | None = ()
    comments: tuple[_BeadsComment, ...] | None = ()


def read_jsonl(text: str) -> list[ForeignIssue]:
    """Read lines that `export` wrote."""
    return [_decode(line, number, ForeignIssue) for number, line in _number_lines(text)]


def read_beads(text: str) -> list[ForeignIssue]:
    """Read lines of beads' `issues.jsonl`."""
    beads = [_decode(line, number, _Beads) for number, line in _number_lines(text)]
    return [_convert_bead(bead) for bead in beads]


def looks_like_beads(text: str) -> bool:
    """Returns whether the first line is one of beads'."""
    first = next((line for _, line in _number_lines(text)), "")
    return '"issue_type"' in first or ('"origin"' not in first and '"id"' in first)


def read_markdown(text: str) -> list[ForeignIssue]:
    """Read documents that `export --format markdown` wrote, one after another."""
    documents = re.split(r"^(?=---\norigin: )", text, flags=re.MULTILINE)
    return [_read_document(document) for document in documents if document.strip()]


def write_markdown(one: ForeignIssue) -> str:
    """Returns one issue as a document: facts on top, the description, then the comments."""
    facts = [("origin", one.origin), ("kind", one.kind), ("title", one.title), ("status", one.status)]
    for several, single, names in (("labels", "label", one.labels), ("assignees", "assignee", one.assignees)):
        facts.append((several, ", ".join(name for name in names if "," not in name)))
        facts += [(single, name) for name in names if "," in name]
    facts += [("milestone", one.milestone or ""), ("due", one.due or ""), ("author", one.author)]
    facts += [("created", one.ts), ("updated", one.updated_ts), ("closed", one.closed_ts)]
    facts += [("link", f"{type_} {target}") for type_, target in one.links]
    facts += [("field", f"{'_'.join(name.split())} {value}") for name, value in one.fields.items()]
    head = "\n".join(f"{key}: {' '.join(value.split())}" for key, value in facts if value)
    body = f"---\n{head}\n---\n\n{_write_heading(one.title)}{_shield(one.description)}\n"
    for comment in one.comments:
        when = f"{comment.ts or '-'}{'/' * bool(comment.edited_ts)}{comment.edited_ts}"
        body += f"\n<!-- comment {comment.key} {when} {' '.join(comment.author.split())} -->\n{_shield(comment.body)}\n"
    return body


def _read_document(document: str) -> ForeignIssue:
    _, _, rest = document.partition("---\n")
    head, closing, body = rest.partition("\n---\n")
    facts: dict[str, list[str]] = {}
    for line in head.split("\n"):
        key, _, value = line.partition(": ")
        facts.setdefault(key, []).append(value)
    fact = {key: values[-1] for key, values in facts.items()}
    if not closing or "origin" not in fact or "title" not in fact:
        raise InvalidParams(
            "This Markdown has no facts on top", advice="Import what `export --format markdown` wrote: origin, title, …"
        )
    pieces = _COMMENT.split(body.lstrip("\n").removeprefix(_write_heading(fact["title"])))
    comments = [
        ForeignComment(key, author, made if made != "-" else "", _unshield(words), edited)
        for key, when, author, words in zip(pieces[1::4], pieces[2::4], pieces[3::4], pieces[4::4], strict=True)
        for made, _, edited in [when.partition("/")]
    ]
    return ForeignIssue(
        origin=fact["origin"],
        kind=fact.get("kind", "issue"),
        title=fact["title"],
        description=_unshield(pieces[0]),
        status=fact.get("status", "open"),
        labels=(*_split(fact.get("labels", "")), *facts.get("label", ())),
        assignees=(*_split(fact.get("assignees", "")), *facts.get("assignee", ())),
        milestone=fact.get("milestone"),
        due=fact.get("due"),
        author=fact.get("author", ""),
        ts=fact.get("created", ""),
        updated_ts=fact.get("updated", ""),
        closed_ts=fact.get("closed", ""),
        comments=tuple(comments),
        links=tuple((value.partition(" ")[0], value.partition(" ")[2]) for value in facts.get("link", ())),
        fields={value.partition(" ")[0]: value.partition(" ")[2] for value in facts.get("field", ())},
    )


def _write_heading(title: str) -> str:
    return f"# {' '.join(title.split())}\n\n"


def _shield(text: str) -> str:
    """Returns a text in which no line can be taken for a mark of ours: those that could get a backslash in front."""
    return re.sub(rf"^(?=\\*{_MARK})", r"\\", text, flags=re.MULTILINE)


def _unshield(text: str) -> str:
    """Returns the text of a piece between marks, without the shield."""
    return re.sub(rf"^\\(?=\\*{_MARK})", "", text.strip("\n"), flags=re.MULTILINE)


def _convert_bead(bead: _Beads) -> ForeignIssue:
    sections = [("Design", bead.design), ("Acceptance criteria", bead.acceptance_criteria), ("Notes", bead.notes)]
    description = "\n\n".join([bead.description, *(f"## {name}\n\n{text}" for name, text in sections if text)])
    labels = [*(bead.labels or ())]
    # What a field says is no label too; what no field can say as exactly is one.
    if bead.issue_type and bead.issue_type not in TYPES:
        labels.append(f"type:{bead.issue_type}")
    if bead.priority is not None and not 0 <= bead.priority < len(PRIORITIES):
        labels.append(f"priority:{bead.priority}")
    links = [
        (_BEADS_LINKS.get(dependency.type, "related"), f"beads:{dependency.depends_on_id}")
        for dependency in bead.dependencies or ()
        if dependency.type != "blocks"
    ]
    fields = {"state": bead.status} if bead.status not in ("open", "closed", "tombstone", "deleted") else {}
    if bead.status in ("tombstone", "deleted"):
        fields["deleted"] = "true"
    if bead.priority is not None:
        fields["priority"] = PRIORITIES[min(max(bead.priority, 0), len(PRIORITIES) - 1)]
    if bead.issue_type in TYPES:
        fields["type"] = bead.issue_type
    if bead.estimated_minutes:
        fields["estimate"] = f"{bead.estimated_minutes}m"
    fields |= {"close_reason": bead.close_reason} if bead.close_reason else {}
    fields |= {"external_ref": bead.external_ref} if bead.external_ref else {}
    people = [name for name in dict.fromkeys((bead.assignee, bead.owner)) if name]
    return ForeignIssue(
        origin=f"beads:{bead.id}",
        fields=fields,
        title=bead.title,
        description=description.strip(),
        status="closed" if bead.status in ("closed", "tombstone") else "open",
        labels=tuple(labels),
        assignees=tuple(people),
        author=bead.created_by or bead.owner or bead.assignee,
        ts=_read_moment(bead.created_at),
        updated_ts=_read_moment(bead.updated_at),
        closed_ts=_read_moment(bead.closed_at),
        comments=tuple(
            ForeignComment(str(c.id or i), c.author, _read_moment(c.created_at), c.text)
            for i, c in enumerate(bead.comments or ())
        ),
        links=tuple(links),
        waits_for=tuple(f"beads:{one.depends_on_id}" for one in bead.dependencies or () if one.type == "blocks"),
    )


def _read_moment(text: str) -> str:
    if not text:
        return ""
    plain = re.sub(r"(\.\d{6})\d+", r"\1", text)  # more than microseconds, as Go writes them
    try:
        return format_moment(datetime.datetime.fromisoformat(plain))
    except (ValueError, OverflowError):  # no time, or its zone leads out of the years there are
        return ""


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _number_lines(text: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _decode(line: str, number: int, kind: type[_Struct]) -> _Struct:
    try:
        return msgspec.json.decode(line, type=kind)
    except UNREADABLE as fault:
        raise InvalidParams(
            f"Line {number} cannot be read: {fault}",
            advice="Read are our own export, beads, Backlog.md, JSON of GitHub and GitLab; --source names the format",
        ) from None
