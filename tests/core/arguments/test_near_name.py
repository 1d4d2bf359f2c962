"""What was meant by a name that there is not."""

from __future__ import annotations

import pytest

from postil.core.arguments.near_name import guess_name

LIST = ("file", "tag", "author", "state", "status", "stale", "limit", "revision", "changed")


@pytest.mark.parametrize(
    ("given", "known", "meant"),
    [
        ("path", LIST, "file"),
        ("file_path", LIST, "file"),
        ("filename", LIST, "file"),
        ("commit", LIST, "revision"),
        ("max", LIST, "limit"),
        ("user", LIST, "author"),
        ("autor", LIST, "author"),
        ("stat", LIST, "state"),
        ("path", ("filePath", "line"), "filePath"),
        ("message", ("commentId", "text"), "text"),
        ("filtr", ("filter", "limit"), "filter"),
        ("folder", ("sourceFile", "targetFile"), ""),
        ("colour", LIST, ""),
        ("", LIST, ""),
        ("x" * 100_000, LIST, ""),
    ],
)
def test_a_name_is_guessed_by_its_letters_or_by_what_it_says(given: str, known: tuple[str, ...], meant: str) -> None:
    assert guess_name(given, known) == meant
