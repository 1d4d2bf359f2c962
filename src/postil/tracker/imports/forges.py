"""Issues of GitHub and GitLab as their APIs and command lines print them, and the task files of Backlog.md."""

from __future__ import annotations

import datetime
import re
from typing import Any, cast

import msgspec

from postil.core.others.number import read_float
from postil.core.others.unreadable import UNREADABLE
from postil.tracker.failures import InvalidParams
from postil.tracker.imports.model import ForeignComment, ForeignIssue
from postil.tracker.text import format_moment
from postil.tracker.vocabulary import ADDRESS_FIELD, PRIORITIES

Record = dict[str, Any]
_lists = msgspec.json.Decoder(list[Record] | Record, float_hook=read_float)
CONFIDENTIAL = "confidential"
"""The field of an issue that not everybody may see where it comes from."""
_KEY = re.compile(r"^(?P<key>[A-Za-z_][\w-]*):\s*(?P<value>.*)$")


def looks_like_host(text: str) -> bool:
    """Returns whether a text is a list of issues of GitHub or GitLab, or one of them."""
    begin = text.lstrip()[:1]
    is_empty = re.fullmatch(r"\s*\[\s*\]\s*", text) is not None  # of a project without issues
    return (begin == "[" and (is_empty or '"iid"' in text or '"number"' in text)) or (
        begin == "{" and '"iid"' in text and '"origin"' not in text
    )


def read_host(text: str) -> list[ForeignIssue]:
    """Read lists of `gh issue list --json …`, of `glab`, or of the REST APIs, one after the other; or single issues."""
    try:
        read: list[list[Record] | Record] = _lists.decode_lines(text)
    except UNREADABLE as fault:
        raise InvalidParams(f"This is no list of issues: {fault}", advice="Import the JSON as it was printed") from None
    records: list[Record] = []
    for one in read:
        records += one if isinstance(one, list) else [one]
    if any("iid" not in record and "issues" in record for record in records):  # `gitlab issues --json` prints the short
        raise InvalidParams(
            "These issues come without their addresses, labels and times",
            advice="Import what `glab api --paginate projects/GROUP%2FPROJECT/issues` prints, or the REST API there, or"
            " single ones: `postil gitlab issue GROUP/PROJECT --issue-iid N --json`",
        )
    milestones: dict[str, ForeignIssue] = {}
    issues = [_convert(record, milestones) for record in records if "pull_request" not in record]
    return [*milestones.values(), *issues]


def looks_like_backlog(text: str) -> bool:
    """Returns whether a text is a task of Backlog.md."""
    head = text.partition("\n---")[0]
    return text.startswith("---\n") and re.search(r"^id: ", head, re.MULTILINE) is not None and "origin: " not in head


def read_backlog(text: str) -> list[ForeignIssue]:
    """Read one task of Backlog.md."""
    _, _, rest = text.partition("---\n")
    head, _, body = rest.partition("\n---")
    facts = _read_front_matter(head)
    status = _first(facts, "status").casefold()
    priority = _first(facts, "priority").casefold()
    fields = {"priority": priority} if priority in PRIORITIES else {}
    if status not in ("done", "to do", "open", ""):
        fields["state"] = _first(facts, "status")
    parent = _first(facts, "parent_task_id")
    return [
        ForeignIssue(
            origin=f"backlog:{_first(facts, 'id').casefold()}",
            title=_first(facts, "title"),
            description=_drop_remarks(body).strip(),
            status="closed" if status == "done" else "draft" if status == "draft" else "open",
            labels=tuple(facts.get("labels", ())),
            assignees=tuple(name.removeprefix("@") for name in facts.get("assignee", ())),
            author=_first(facts, "reporter").removeprefix("@"),
            ts=_read_moment(_first(facts, "created_date")),
            updated_ts=_read_moment(_first(facts, "updated_date")),
            links=(("parent", f"backlog:{parent.casefold()}"),) if parent else (),
            waits_for=tuple(f"backlog:{one.casefold()}" for one in facts.get("dependencies", ())),
            fields=fields,
        )
    ]


def _convert(record: Record, milestones: dict[str, ForeignIssue]) -> ForeignIssue:
    """An issue of either host; gh writes its keys in camel case. Its milestone is put to the others."""
    on_gitlab = "iid" in record
    number = record["iid"] if on_gitlab else record.get("number", "")
    url = str(record.get("web_url") or record.get("html_url") or record.get("url") or "")
    place = re.sub(r"^https?://(api\.)?|/(-/)?issues/\d+$", "", url) or "unknown"
    host = "gitlab" if on_gitlab else "github"
    milestone = _convert_milestone(record.get("milestone"), f"{host}:{place}")
    if milestone is not None:
        milestones.setdefault(milestone.origin, milestone)
    fields = {ADDRESS_FIELD: url} if url else {}
    if isinstance(record.get("weight"), int):
        fields["estimate"] = f"{record['weight']}p"
    if record.get("confidential") is True:
        fields[CONFIDENTIAL] = "yes"
    comments = [cast("Record", one) if isinstance(one, dict) else {"body": one} for one in _list(record, "comments")]
    return ForeignIssue(
        origin=f"{host}:{place}#{number}",
        title=str(record.get("title") or ""),
        description=str(record.get("description" if on_gitlab else "body") or "").replace("\r\n", "\n"),
        status="closed" if str(record.get("state", "")).lower() == "closed" else "open",
        labels=tuple(_name(label) for label in _list(record, "labels")),
        assignees=tuple(_name(one) for one in _list(record, "assignees")),
        author=_name(record.get("author") or record.get("user") or ""),
        ts=_read_moment(str(record.get("created_at") or record.get("createdAt") or "")),
        updated_ts=_read_moment(str(record.get("updated_at") or record.get("updatedAt") or "")),
        closed_ts=_read_moment(str(record.get("closed_at") or record.get("closedAt") or "")),
        comments=tuple(
            ForeignComment(
                str(one.get("id") or at),
                _name(one.get("author") or one.get("user") or ""),
                _read_moment(str(one.get("created_at") or one.get("createdAt") or "")),
                str(one.get("body") or ""),
            )
            for at, one in enumerate(comments)
        ),
        milestone=milestone.origin if milestone is not None else None,
        due=str(record.get("due_date") or "")[:10] or None,
        fields=fields,
    )


def _convert_milestone(value: object, project: str) -> ForeignIssue | None:
    """Returns the milestone of an issue, given as a record or by its title."""
    record = cast("Record", value) if isinstance(value, dict) else {"title": value}
    title = str(record.get("title") or "")
    if not title:
        return None
    due = str(record.get("due_on") or record.get("dueOn") or record.get("due_date") or "")[:10]
    return ForeignIssue(
        origin=f"{project}/milestones/{record.get('number') or record.get('iid') or title}",
        kind="milestone",
        title=title,
        description=str(record.get("description") or "").replace("\r\n", "\n"),
        status="closed" if str(record.get("state", "")).lower() == "closed" else "open",
        due=due or None,
        ts=_read_moment(str(record.get("created_at") or record.get("createdAt") or "")),
        updated_ts=_read_moment(str(record.get("updated_at") or record.get("updatedAt") or "")),
        closed_ts=_read_moment(str(record.get("closed_at") or record.get("closedAt") or "")),
    )


def _list(record: Record, key: str) -> list[object]:
    """Returns what is a list there; comments may be told by their number."""
    value: object = record.get(key)
    return [one for one in cast("list[object]", value) if one] if isinstance(value, list) else []


def _name(value: object) -> str:
    """Returns the name of a label or a person, given as a text or as a record."""
    if isinstance(value, dict):
        record = cast("Record", value)
        return str(record.get("login") or record.get("username") or record.get("name") or "")
    return str(value)


def _drop_remarks(text: str) -> str:
    """Returns a text without its HTML comments. One that is not closed stays."""
    kept, at = list[str](), 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start])
        at = end + 3 + text.startswith("\n", end + 3)
    return "".join([*kept, text[at:]])


def _first(facts: dict[str, list[str]], key: str) -> str:
    return next(iter(facts.get(key, ())), "")


def _read_front_matter(head: str) -> dict[str, list[str]]:
    """Returns the keys of the little YAML that Backlog.md writes: scalars and lists of scalars."""
    facts: dict[str, list[str]] = {}
    key = ""
    for line in head.split("\n"):
        found = _KEY.match(line)
        if found:
            key, value = found["key"], found["value"].strip()
            items = value[1:-1].split(",") if value.startswith("[") else [value]
            facts[key] = [item for one in items if (item := _unquote(one))]
        elif key and line.strip().startswith("- "):
            facts[key].append(_unquote(line.strip()[2:]))
        elif key and line.startswith("  ") and facts[key][-1:] in ([">-"], [">"], ["|"], ["|-"], []):
            facts[key] = [line.strip()]
    return facts


def _unquote(text: str) -> str:
    plain = text.strip()
    return plain[1:-1] if len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "'\"" else plain


def _read_moment(text: str) -> str:
    if not text:
        return ""
    try:
        return format_moment(datetime.datetime.fromisoformat(text))
    except (ValueError, OverflowError):  # the zone may lead out of the years there are
        return ""
