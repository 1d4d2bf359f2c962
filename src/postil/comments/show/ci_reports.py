"""Comments as reports that CI shows: SARIF 2.1.0 and GitLab's code quality. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from postil import __version__
from postil.comments.model import Damage
from postil.comments.operations.answers import CommentNow

Level: TypeAlias = Literal["error", "warning", "note"]
_LEVELS: dict[str, Level] = {"FIXME": "warning", "WARNING": "warning", "HACK": "warning", "TODO": "warning"}
_SEVERITY = {"error": "major", "warning": "minor", "note": "info"}
_RULES = {
    "lost": "The code of a comment is gone or uncertain",
    "stale": "The code under a comment changed in substance",
    "comment": "An open comment on changed code",
}
_HELP = {
    "lost": "The change deleted or rewrote the code that this comment speaks of, and it may be elsewhere. "
    "`postil comments review` shows what it was and where it may be; tie the comment there, resolve it or delete it.",
    "stale": "Little is left of the code that this comment was written about. Read it again: "
    "`postil comments confirm ID` says that it still holds, `postil comments resolve ID` that it is settled.",
    "comment": "Somebody wrote this about lines that the change touches. Answer it (`postil comments reply ID`), "
    "or say that it is settled (`postil comments resolve ID`).",
}
"""What a report says of each rule, and GitHub asks for: why a comment is in it, and what to do."""


def judge_rule(each: CommentNow) -> tuple[str, Level]:
    """Returns why a comment is reported, and how loudly."""
    if each.state in ("orphaned", "review"):
        return "lost", "warning"
    if each.stale:
        return "stale", "warning"
    return "comment", _LEVELS.get(each.tag or "", "note")


def make_sarif(
    comments: Sequence[CommentNow], lengths: Mapping[str, int], rest: str = "", damaged: Sequence[Damage] = ()
) -> bytes:
    """Returns a SARIF log with one result a comment; `rest` and `damaged` say what it does not hold.

    `lengths`: how many lines the files have in which code is gone.
    """
    rules = [_describe_rule(rule) for rule in _RULES]
    driver = {"name": "Postil", "version": __version__, "rules": rules}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "results": [msgspec.Raw(msgspec.json.encode(_make_result(each, lengths))) for each in comments],
    }
    missing = [("warning", rest)] if rest else []
    missing += [("error", f"{each.filePath}.comments cannot be read: {each.problem}") for each in damaged]
    if missing:
        told = [{"level": level, "message": {"text": text}} for level, text in missing]
        run["invocations"] = [{"executionSuccessful": not damaged, "toolExecutionNotifications": told}]
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}
    return msgspec.json.format(msgspec.json.encode(log), indent=2) + b"\n"


def _describe_rule(rule: str) -> dict[str, Any]:
    plain = _HELP[rule].replace("`", "")
    return {
        "id": f"postil/{rule}",
        "name": f"{rule.capitalize()}Comment" if rule != "comment" else "OpenComment",
        "shortDescription": {"text": _RULES[rule]},
        "fullDescription": {"text": f"{_RULES[rule]}. {plain.split('. ')[0]}."},
        "help": {"text": plain, "markdown": _HELP[rule]},
    }


def _make_result(each: CommentNow, lengths: Mapping[str, int]) -> dict[str, Any]:
    rule, level = judge_rule(each)
    place: dict[str, Any] = {"artifactLocation": {"uri": _address(each), "uriBaseId": "%SRCROOT%"}}
    if first := _find_line(each, lengths):
        last = max(first, each.endLine) if rule != "lost" else first
        place["region"] = {"startLine": first, "endLine": last}
    return {
        "ruleId": f"postil/{rule}",
        "level": level,
        "message": {"text": _describe(each)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"postilComment/v1": each.id},
    }


def _find_line(each: CommentNow, lengths: Mapping[str, int]) -> int:
    """Returns the line that a report may name: one of the file as it is. 0 where the file is gone."""
    if judge_rule(each)[0] != "lost":
        return max(1, each.line)
    return min(max(1, each.line), lengths.get(each.path, 0))


def make_code_quality(comments: Sequence[CommentNow], lengths: Mapping[str, int]) -> bytes:
    """Returns a report in GitLab's code quality format: one issue a comment."""
    issues: list[dict[str, Any]] = []
    known: set[str] = set()
    for each in comments:
        rule, level = judge_rule(each)
        name = f"{rule} {each.id}"
        if name in known:  # a copied sidecar: GitLab shows one issue a fingerprint
            name += f" {each.filePath}"
        known.add(name)
        issues.append(
            {
                "description": _describe(each),
                "check_name": f"postil/{rule}",
                "fingerprint": hashlib.sha256(name.encode()).hexdigest(),
                "severity": _SEVERITY[level],
                "location": {"path": each.movedTo or each.filePath, "lines": {"begin": _find_line(each, lengths) or 1}},
            }
        )
    return msgspec.json.format(msgspec.json.encode(issues), indent=2) + b"\n"


def _describe(each: CommentNow) -> str:
    rule, _ = judge_rule(each)
    why = "" if rule == "comment" else f" ({_RULES[rule].lower()}: {each.reason}{_tell_old_place(each)})"
    tag = f"{each.tag}: " if each.tag and not each.said.startswith(each.tag) else ""
    return f"{tag}{each.said} — {each.signed}{why}"


def _tell_old_place(each: CommentNow) -> str:
    """Returns what the comment was about: an orphan is reported where its code was, and other code is there now."""
    if each.state == "review":
        return f"; {each.origin}" if each.origin else ""
    was = each.oldText.strip().split("\n")[0][:100]
    return f"; it was at line {each.line}{f': {was}' if was else ''}" if each.state == "orphaned" else ""


def _address(each: CommentNow) -> str:
    from urllib.parse import quote  # only reports have addresses

    return quote(each.movedTo or each.filePath)
