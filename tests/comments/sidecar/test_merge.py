"""Merging sidecars: no conflict, nothing lost, and the same whichever side is ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from postil.comments.sidecar.merge import merge_sidecars
from tests.comments.sidecars import as_javascript, extension_accepts
from tests.comments.workspaces import Comments, sidecar, workspace

SOURCE = "".join(f"value_{n} = {n}\n" for n in range(1, 31))


def comment(identity: str, text: str, updated: str = "2026-01-01T00:00:00.000Z", **more: object) -> dict[str, Any]:
    line = int(identity[2:]) % 30 + 1
    made = {"id": identity, "line": line, "text": text, "author": "a", "created": "2026-01-01T00:00:00.000Z"}
    return {**made, "updated": updated, "ghostMarkerId": f"gm_{line}", **more}


def document(*comments: dict[str, Any]) -> bytes:
    lines = sorted({each["line"] for each in comments})
    markers = [
        {
            "id": f"gm_{line}",
            "line": line,
            "commentIds": [each["id"] for each in comments if each["line"] == line],
            "lineHash": "",
            "lineText": f"value_{line} = {line}",
            "prevLineText": "",
            "nextLineText": "",
            "lastVerified": "2026-01-01T00:00:00.000Z",
        }
        for line in lines
    ]
    return as_javascript({"file": "a.py", "version": "2.1.0", "ghostMarkers": markers, "comments": list(comments)})


def read(text: bytes) -> dict[str, dict[str, Any]]:
    assert extension_accepts(text)
    return {each["id"]: each for each in json.loads(text)["comments"]}


def test_comments_added_on_both_sides_are_both_there() -> None:
    base = document(comment("c_1", "base"))
    ours = document(comment("c_1", "base"), comment("c_2", "ours"))
    theirs = document(comment("c_1", "base"), comment("c_3", "theirs"))
    result = read(merge_sidecars("a.py", base, ours, theirs))
    assert {key: each["text"] for key, each in result.items()} == {"c_1": "base", "c_2": "ours", "c_3": "theirs"}


def test_a_deleted_comment_stays_deleted_where_the_other_side_only_followed_its_code() -> None:
    base = document(comment("c_1", "base"), comment("c_2", "kept"))
    deleted = document(comment("c_2", "kept"))
    followed = document(comment("c_1", "base", line=9, startLine=9), comment("c_2", "kept"))
    edited = document(comment("c_1", "edited"), comment("c_2", "kept"))
    moved = document(comment("c_1", "base", line=9, ghostMarkerId="gm_9"), comment("c_2", "kept"))
    for other, kept in ((followed, {"c_2"}), (edited, {"c_1", "c_2"}), (moved, {"c_1", "c_2"})):
        assert read(merge_sidecars("a.py", base, deleted, other)).keys() == kept
        assert read(merge_sidecars("a.py", base, other, deleted)).keys() == kept


def test_both_may_begin_the_file() -> None:
    result = read(merge_sidecars("a.py", None, document(comment("c_2", "ours")), document(comment("c_3", "theirs"))))
    assert result.keys() == {"c_2", "c_3"}


def test_an_edit_of_one_side_is_taken() -> None:
    base = document(comment("c_1", "base"))
    theirs = document(comment("c_1", "better", "2026-02-01T00:00:00.000Z", tag="TODO"))
    (result,) = read(merge_sidecars("a.py", base, base, theirs)).values()
    assert (result["text"], result["tag"]) == ("better", "TODO")
    assert "x-revisions" not in result


def test_a_text_edited_on_both_sides_keeps_the_newer_and_the_other_as_a_revision() -> None:
    base = document(comment("c_1", "base"))
    ours = document(comment("c_1", "ours", "2026-02-01T00:00:00.000Z"))
    theirs = document(comment("c_1", "theirs", "2026-03-01T00:00:00.000Z"))
    (result,) = read(merge_sidecars("a.py", base, ours, theirs)).values()
    assert result["text"] == "theirs"
    assert [each["text"] for each in result["x-revisions"]] == ["ours"]


def test_different_keys_edited_on_two_sides_are_both_taken() -> None:
    base = document(comment("c_1", "base", replies=[], status="open"))
    reply = {"id": "r_1", "text": "why", "author": "b", "created": "2026-02-01T00:00:00.000Z"}
    other = {"id": "r_2", "text": "so", "author": "c", "created": "2026-02-02T00:00:00.000Z"}
    ours = document(comment("c_1", "base", "2026-02-01T00:00:00.000Z", replies=[reply], status="open"))
    theirs = document(comment("c_1", "base", "2026-02-02T00:00:00.000Z", replies=[other], status="resolved"))
    (result,) = read(merge_sidecars("a.py", base, ours, theirs)).values()
    assert result["status"] == "resolved"
    assert [each["id"] for each in result["replies"]] == ["r_1", "r_2"]


def test_a_comment_deleted_here_and_untouched_there_is_gone() -> None:
    base = document(comment("c_1", "base"), comment("c_2", "other"))
    ours = document(comment("c_2", "other"))
    assert read(merge_sidecars("a.py", base, ours, base)).keys() == {"c_2"}
    assert read(merge_sidecars("a.py", base, base, ours)).keys() == {"c_2"}


def test_a_comment_deleted_here_and_edited_there_stays() -> None:
    base = document(comment("c_1", "base"))
    edited = document(comment("c_1", "edited", "2026-02-01T00:00:00.000Z"))
    for ours, theirs in ((document(), edited), (edited, document())):
        (result,) = read(merge_sidecars("a.py", base, ours, theirs)).values()
        assert result["text"] == "edited"


def test_a_marker_moved_on_one_side_is_where_that_side_put_it() -> None:
    base = document(comment("c_1", "base"))
    moved = json.loads(base)
    moved["ghostMarkers"][0] |= {"line": 20, "lineText": "value_20 = 20", "lastVerified": "2026-02-01T00:00:00.000Z"}
    for ours, theirs in ((base, as_javascript(moved)), (as_javascript(moved), base)):
        (marker,) = json.loads(merge_sidecars("a.py", base, ours, theirs))["ghostMarkers"]
        assert marker["line"] == 20


TEXTS = st.sampled_from(["x", "y", "z"])
STAMPS = st.sampled_from(["2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z", "2026-03-01T00:00:00.000Z"])
IDS = st.sampled_from([f"c_{number}" for number in range(1, 7)])
SIDES = st.dictionaries(IDS, st.tuples(TEXTS, STAMPS), max_size=5)


def side(values: dict[str, tuple[str, str]]) -> bytes:
    return document(*(comment(identity, *values[identity]) for identity in sorted(values)))


@given(base=SIDES, ours=SIDES, theirs=SIDES)
def test_it_does_not_matter_which_side_is_ours(
    base: dict[str, tuple[str, str]], ours: dict[str, tuple[str, str]], theirs: dict[str, tuple[str, str]]
) -> None:
    one = read(merge_sidecars("a.py", side(base), side(ours), side(theirs)))
    other = read(merge_sidecars("a.py", side(base), side(theirs), side(ours)))
    assert one == other


@given(base=SIDES, ours=SIDES, theirs=SIDES)
def test_whatever_was_said_on_a_side_is_still_said(
    base: dict[str, tuple[str, str]], ours: dict[str, tuple[str, str]], theirs: dict[str, tuple[str, str]]
) -> None:
    result = read(merge_sidecars("a.py", side(base), side(ours), side(theirs)))
    for mine, other in ((ours, theirs), (theirs, ours)):
        for identity, value in mine.items():
            if value == base.get(identity):
                continue  # what only the other side changed or deleted may go
            assert identity in result
            said = [result[identity]["text"], *(each["text"] for each in result[identity].get("x-revisions", []))]
            assert value[0] in said or value[0] == base.get(identity, ("",))[0], other


def test_the_merged_file_is_read_by_a_new_process(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    comments.add("a.py", 1, "one", "NOTE")
    assert Comments(str(tmp_path)).listed().total == 1


def test_a_comment_moved_on_one_side_is_where_that_side_put_it(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    moved = comments.add("a.py", 3, "moves", "NOTE").commentId
    stays = comments.add("a.py", 3, "stays", "NOTE").commentId
    base = sidecar(tmp_path, "a.py")
    comments.move("a.py", "a.py", moved, 20)
    theirs = sidecar(tmp_path, "a.py")
    (tmp_path / "a.py.comments").write_bytes(base)
    comments.edit("a.py", moved, "edited here")
    comments.add("a.py", 9, "new here", "NOTE")
    ours = sidecar(tmp_path, "a.py")
    for result in (merge_sidecars("a.py", base, ours, theirs), merge_sidecars("a.py", base, theirs, ours)):
        assert extension_accepts(result)
        (tmp_path / "a.py.comments").write_bytes(result)
        found = {each.id: each for each in comments.file_comments("a.py").comments}
        assert len(found) == 3
        assert (found[moved].line, found[moved].text) == (20, "edited here")
        assert found[stays].line == 3
        assert comments.undo(moved).targetLine == 3


def test_a_comment_moved_on_both_sides_is_in_one_place_whichever_side_is_ours(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": SOURCE})
    identity = comments.add("a.py", 3, "moves", "NOTE").commentId
    base = sidecar(tmp_path, "a.py")
    sides: list[bytes] = []
    for line in (20, 25):
        (tmp_path / "a.py.comments").write_bytes(base)
        comments.move("a.py", "a.py", identity, line)
        sides.append(sidecar(tmp_path, "a.py"))
    places: set[int] = set()
    for ours, theirs in (sides, sides[::-1]):
        (tmp_path / "a.py.comments").write_bytes(merge_sidecars("a.py", base, ours, theirs))
        (found,) = comments.file_comments("a.py").comments
        places.add(found.line)
    assert len(places) == 1
    assert places < {20, 25}


def test_the_marker_of_the_other_side_is_taken_whole_though_ours_begins_its_name() -> None:
    def at(line: int, verified: str) -> bytes:
        return document(comment("c_1", "said", line=line, ghostMarkerId=f"gm_{line}")).replace(
            b'"lastVerified": "2026-01-01', b'"lastVerified": "%s' % verified.encode()
        )

    merged = merge_sidecars("a.py", at(3, "2026-01-01"), at(1, "2026-01-02"), at(12, "2026-01-03"))
    assert (read(merged)["c_1"]["ghostMarkerId"], read(merged)["c_1"]["line"]) == ("gm_12", 12)


def test_a_comment_of_the_other_side_that_names_no_line_is_taken_to_its_markers() -> None:
    theirs = document(comment("c_1", "base"), comment("c_4", "theirs"))
    value = json.loads(theirs)
    value["comments"][1]["line"] = None
    merged = merge_sidecars(
        "a.py", document(comment("c_1", "base")), document(comment("c_1", "base")), as_javascript(value)
    )
    assert read(merged)["c_4"]["line"] == 5
