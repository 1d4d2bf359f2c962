"""What `list` and `show` print, and their JSON."""

from __future__ import annotations

from pathlib import Path

from tests.tracker.programs import answered, said


def test_a_list_can_be_a_table_raw_or_json(repository: Path):
    for title in ("One", "Two"):
        answered(repository, "create", "issue", title, "--label", "x")
    table = said(repository, "list", "issue").splitlines()
    assert table[0].split() == ["ID", "TITLE", "STATUS", "LABELS", "COMMENTS", "UPDATED"]
    assert len(table) == 3
    raw = said(repository, "list", "issue", "--format", "raw", "--columns", "title,labels", "--sort", "title:desc")
    assert raw == "Two\tx\nOne\tx\n"
    page = answered(repository, "list", "issue", "--limit", "1", "--sort", "title")
    assert [item["title"] for item in page["items"]] == ["One"]
    assert page["nextCursor"] == page["next_cursor"] is not None
    rest = answered(repository, "list", "issue", "--limit", "1", "--sort", "title", "--cursor", page["nextCursor"])
    assert ([item["title"] for item in rest["items"]], rest["nextCursor"]) == (["Two"], None)


def test_show_has_the_documents_keys_and_beside_them_the_programs(repository: Path):
    id_ = answered(repository, "create", "issue", "T", "--label", "a")["id"]
    answered(repository, "label", "issue", id_, "--add", "b")
    answered(repository, "comment", "issue", id_, "hello")
    shown = answered(repository, "show", id_)
    (comment,) = shown["comments"]
    assert comment["ts"] == comment["timestamp"] == comment["created_at"] == shown["stats"]["last_commented_at"]
    assert (shown["stats"]["comment_count"], shown["stats"]["created_at"]) == (1, shown["created_at"])
    (change,) = shown["label_events"]
    assert (change["operation"], change["label"], change["actor"]) == ("add", "b", "Tester")
    (item,) = answered(repository, "list", "issue", "--long")["items"]
    assert (item["comments"], item["label_events"]) == ([comment], [change])
    assert (item["comment_count"], item["latest_comment_excerpt"]) == (1, "hello")
    assert "comments" not in answered(repository, "list", "issue")["items"][0]
