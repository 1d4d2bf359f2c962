"""Issues from files: our own JSON lines and Markdown, and beads' JSON lines. Text in, neutral issues out."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from postil.tracker.failures import InvalidParams
from postil.tracker.interchange import Foreign, ForeignComment

_Struct = TypeVar("_Struct", bound=msgspec.Struct)
_BEADS_LINKS = {
    "blocks": "blocks",
    "parent-child": "parent",
    "related": "related",
    "discovered-from": "discovered-from",
    "duplicates": "duplicate",
}
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
    dependencies: tuple[_Dependency, ...] | None = ()
    comments: tuple[_BeadsComment, ...] | None = ()


def from_jsonl(text: str) -> list[Foreign]:
    """Lines that `export` wrote."""
    return [_decoded(line, number, Foreign) for number, line in _lines(text)]


def from_beads(text: str) -> list[Foreign]:
    """Lines of beads' `issues.jsonl`."""
    return [_from_bead(_decoded(line, number, _Beads)) for number, line in _lines(text)]


def looks_like_beads(text: str) -> bool:
    """Whether the first line is one of beads'."""
    first = next((line for _, line in _lines(text)), "")
    return '"issue_type"' in first or ('"origin"' not in first and '"id"' in first)


def from_markdown(text: str) -> list[Foreign]:
    """Documents that `export --format markdown` wrote, one after another."""
    documents = re.split(r"^(?=---\norigin: )", text, flags=re.MULTILINE)
    return [_from_document(document) for document in documents if document.strip()]


def to_markdown(one: Foreign) -> str:
    """One issue as a document: facts on top, the description, then the comments."""
    facts = [("origin", one.origin), ("kind", one.kind), ("title", one.title), ("status", one.status)]
    facts += [("labels", ", ".join(one.labels)), ("assignees", ", ".join(one.assignees))]
    facts += [("milestone", one.milestone or ""), ("due", one.due or ""), ("author", one.author)]
    facts += [("created", one.ts), ("updated", one.updated_ts), ("closed", one.closed_ts)]
    facts += [("link", f"{type_} {target}") for type_, target in one.links]
    head = "\n".join(f"{key}: {value}" for key, value in facts if value)
    body = f"---\n{head}\n---\n\n# {one.title}\n\n{one.description}\n"
    for comment in one.comments:
        body += f"\n<!-- comment {comment.key} {comment.ts} {comment.author} -->\n{comment.body}\n"
    return body


def _from_document(document: str) -> Foreign:
    _, _, rest = document.partition("---\n")
    head, closing, body = rest.partition("\n---\n")
    facts: dict[str, str] = {}
    links: list[tuple[str, str]] = []
    for line in head.split("\n"):
        key, _, value = line.partition(": ")
        if key == "link":
            links.append((value.partition(" ")[0], value.partition(" ")[2]))
        else:
            facts[key] = value
    if not closing or "origin" not in facts or "title" not in facts:
        raise InvalidParams(
            "This Markdown has no facts on top", advice="Import what `export --format markdown` wrote: origin, title, …"
        )
    text = body.lstrip("\n").removeprefix(f"# {facts['title']}\n").lstrip("\n")
    pieces = _COMMENT.split(text)
    comments = [
        ForeignComment(key, author, ts, words.strip("\n"))
        for key, ts, author, words in zip(pieces[1::4], pieces[2::4], pieces[3::4], pieces[4::4], strict=True)
    ]
    return Foreign(
        origin=facts["origin"],
        kind=facts.get("kind", "issue"),
        title=facts["title"],
        description=pieces[0].strip("\n"),
        status=facts.get("status", "open"),
        labels=_split(facts.get("labels", "")),
        assignees=_split(facts.get("assignees", "")),
        milestone=facts.get("milestone"),
        due=facts.get("due"),
        author=facts.get("author", ""),
        ts=facts.get("created", ""),
        updated_ts=facts.get("updated", ""),
        closed_ts=facts.get("closed", ""),
        comments=tuple(comments),
        links=tuple(links),
    )


def _from_bead(bead: _Beads) -> Foreign:
    sections = [("Design", bead.design), ("Acceptance criteria", bead.acceptance_criteria), ("Notes", bead.notes)]
    description = "\n\n".join([bead.description, *(f"## {name}\n\n{text}" for name, text in sections if text)])
    labels = [*(bead.labels or ())]
    if bead.issue_type:
        labels.append(f"type:{bead.issue_type}")
    if bead.priority is not None:
        labels.append(f"priority:{bead.priority}")
    # In beads the dependent names what it waits for; a link here goes from the one that blocks.
    links = [
        (_BEADS_LINKS.get(dependency.type, "related"), f"beads:{dependency.depends_on_id}")
        for dependency in bead.dependencies or ()
    ]
    return Foreign(
        origin=f"beads:{bead.id}",
        title=bead.title,
        description=description.strip(),
        status="closed" if bead.status in ("closed", "tombstone") else "open",
        labels=tuple(labels),
        assignees=(bead.assignee,) if bead.assignee else (),
        author=bead.created_by or bead.assignee,
        ts=_moment(bead.created_at),
        updated_ts=_moment(bead.updated_at),
        closed_ts=_moment(bead.closed_at),
        comments=tuple(
            ForeignComment(str(c.id or i), c.author, _moment(c.created_at), c.text)
            for i, c in enumerate(bead.comments or ())
        ),
        links=tuple(link for link in links if link[0] != "blocks"),
    )


def blocking_beads(text: str) -> dict[str, list[str]]:
    """Blocker's origin → origins of those that wait for it."""
    waiting: dict[str, list[str]] = {}
    for number, line in _lines(text):
        bead = _decoded(line, number, _Beads)
        for dependency in bead.dependencies or ():
            if dependency.type == "blocks":
                waiting.setdefault(f"beads:{dependency.depends_on_id}", []).append(f"beads:{bead.id}")
    return waiting


def with_blockers(beads: list[Foreign], waiting: dict[str, list[str]]) -> list[Foreign]:
    """The beads with their blocking links on the side that blocks."""
    return [
        msgspec.structs.replace(
            bead, links=(*bead.links, *(("blocks", target) for target in waiting.get(bead.origin, ())))
        )
        for bead in beads
    ]


def _moment(text: str) -> str:
    if not text:
        return ""
    import datetime

    from postil.tracker.query.sql import moment_text

    try:
        return moment_text(datetime.datetime.fromisoformat(text))
    except ValueError:
        # More than microseconds, as Go writes them.
        return moment_text(datetime.datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text)))


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _lines(text: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _decoded(line: str, number: int, kind: type[_Struct]) -> _Struct:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, RecursionError) as fault:
        raise InvalidParams(
            f"Line {number} cannot be read: {fault}", advice="Check that it is the right format"
        ) from None
