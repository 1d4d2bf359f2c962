"""Lists and entities as they were at the end of a day."""

from __future__ import annotations

from pathlib import Path

from tests.tracker.programs import answered, run, said


def test_a_list_as_of_a_day_is_the_one_of_that_day(story: tuple[Path, str]):
    where, mile = story

    def names(day: str, *more: str) -> list[str]:
        return sorted(
            said(where, "list", "issue", "--as-of", day, "--columns", "title", "--format", "raw", *more).split()
        )

    assert names("2025-12-31") == []
    assert names("2026-01-01") == ["one", "three", "two"]
    assert names("2026-01-02") == ["three", "two"]
    assert names("2026-01-03", "--all", "--filter", "status == closed") == ["one", "two"]
    id_ = next(item["id"] for item in answered(where, "list", "issue", "--all")["items"] if item["title"] == "two")
    assert answered(where, "show", id_, "--as-of", "2026-01-03")["status"] == "closed"
    assert answered(where, "show", id_)["status"] == "open"
    assert run(where, "show", mile, "--as-of", "2025-01-01").returncode == 5
    assert run(where, "list", "issue", "--as-of", "someday").returncode == 2
