"""Changes of a merge request with both texts of every file, and the judge of positions in them.

The judge works on the texts, not on the diff: it knows which lines belong together, and refuses what GitLab refuses.
"""

from __future__ import annotations

import hashlib
from difflib import SequenceMatcher, unified_diff
from typing import Any

from tests.emulator.params import Refusal, Row

BAD_LINE = 'Note {:line_code=>["can\'t be blank", "must be a valid line code"]}'


def changed(old_path: str, new_path: str, old: str | None, new: str | None, **flags: bool) -> Row:
    """One changed file as GitLab shows it, with its texts beside it; None where there is no file."""
    before, after = (old or "").splitlines(keepends=True), (new or "").splitlines(keepends=True)
    lines = list(unified_diff(before, after, n=3))[2:]
    text = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return {
        "old_path": old_path,
        "new_path": new_path,
        "diff": text,
        "new_file": old is None,
        "deleted_file": new is None,
        "renamed_file": old_path != new_path,
        "_old": before,
        "_new": after,
        **flags,
    }


def line_codes(row: Row) -> dict[tuple[int | None, int | None], str]:
    """Every line of the diff by its two numbers, with the name that GitLab gives it: added, removed and unchanged."""
    before, after = row["_old"], row["_new"]
    digest = hashlib.sha1(row["new_path"].encode()).hexdigest()
    found: dict[tuple[int | None, int | None], str] = {}
    matcher = SequenceMatcher(None, before, after)
    for kind, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        if kind == "equal":
            for step in range(old_to - old_from):
                old, new = old_from + step + 1, new_from + step + 1
                found[old, new] = f"{digest}_{old}_{new}"
            continue
        for old in range(old_from + 1, old_to + 1):
            found[old, None] = f"{digest}_{old}_{new_from + 1 if after else 0}"
        for new in range(new_from + 1, new_to + 1):
            found[None, new] = f"{digest}_{old_to + 1 if before else 0}_{new}"
    return found


def judge(versions: list[Row], position: Row) -> None:
    """Refuse a position that GitLab refuses, in its words."""
    for name in ("base_sha", "start_sha", "head_sha", "position_type"):
        if not position.get(name):
            raise Refusal(400, {"error": f"position[{name}] is missing"})
    if position["position_type"] != "text":
        raise Refusal(400, {"error": "position[position_type] does not have a valid value"})
    refs = {name: position[name] for name in ("base_sha", "start_sha", "head_sha")}
    version = next((one for one in versions if {name: one[name] for name in refs} == refs), None)
    if version is None:
        raise Refusal(400, {"message": f"400 Bad request - {BAD_LINE}"})
    paths = (position.get("old_path"), position.get("new_path"))
    row = next((one for one in version["diffs"] if (one["old_path"], one["new_path"]) == paths), None)
    if row is None or "_old" not in row:
        raise Refusal(400, {"message": f"400 Bad request - {BAD_LINE}"})
    codes = line_codes(row)
    if _numbers(position) not in codes:
        raise Refusal(400, {"message": f"400 Bad request - {BAD_LINE}"})
    spanned = position.get("line_range")
    if spanned is not None:
        _judge_range(spanned, _numbers(position), codes)


def _judge_range(spanned: Row, own: tuple[int | None, int | None], codes: dict[Any, str]) -> None:
    order = list(codes)
    ends = [spanned["start"], spanned["end"]]
    for end in ends:
        if codes.get(_numbers(end)) != end.get("line_code") or end.get("type") not in ("old", "new"):
            raise Refusal(400, {"message": '400 Bad request - Note {:position=>["is invalid"]}'})
        if (end["type"] == "new") != (_numbers(end)[0] is None):
            raise Refusal(400, {"message": '400 Bad request - Note {:position=>["is invalid"]}'})
    first, last = (order.index(_numbers(end)) for end in ends)
    if first > last or _numbers(ends[1]) != own:
        raise Refusal(400, {"message": '400 Bad request - Note {:position=>["is invalid"]}'})


def _numbers(place: Row) -> tuple[int | None, int | None]:
    old, new = place.get("old_line"), place.get("new_line")
    return int(old) if old else None, int(new) if new else None
