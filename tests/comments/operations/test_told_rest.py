"""What lists leave out, and how the rest is seen; places are told as the ranges that they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postil.comments.operations import relocate
from tests.comments.workspaces import tell_person, workspace, write

CODE = "".join(f"value_{number} = {number}\n" for number in range(9))


def test_a_search_that_shows_not_all_says_how_to_see_more(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    for line in range(1, 5):
        comments.add("a.py", line, f"number {line}", "NOTE")
    found = comments.search("number", limit=2)
    assert "4 matching comments (showing the newest 2; limit for more):" in found.for_model()
    assert "(showing the newest 2; --limit for more):" in tell_person(found)
    assert "(showing the newest 2):" in found.for_contract()
    assert "newest" not in comments.search("number").for_model()
    assert 'matching query: "none" with AI metadata' in comments.search("none", ai=True).for_model()


def test_what_relocate_does_not_list_is_listed_by_orphans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relocate, "MOST_SHOWN", 1)
    comments = workspace(tmp_path, **{"a.py": CODE})
    for line in (3, 4):
        comments.add("a.py", line, "goes", "NOTE")
    write(tmp_path, "a.py", "other = 1\n")
    done = comments.relocate("a.py")
    assert done.for_model().endswith("… and 1 more to review or orphaned: comments_orphans lists them")
    assert tell_person(done).endswith("`postil comments orphans` lists them")


def test_exports_and_imports_give_a_range_as_one(tmp_path: Path) -> None:
    comments = workspace(tmp_path, **{"a.py": CODE})
    comments.add("a.py", 4, "a range", "NOTE", endLine=7)
    assert "line 4-7 (" in str(comments.export("markdown").document)
    whole = str(comments.export("json").document)
    there = workspace(tmp_path / "there", **{"a.py": CODE})
    write(tmp_path, "all.json", json.dumps(json.loads(whole)))
    assert "a.py:4-7  NOTE" in there.transfer.import_files((str(tmp_path / "all.json"),)).for_model()
