"""Marks of reviewed files."""

import json
import sqlite3

from tests.inbox.people import Person


def run(person: Person, *words: str, status: int = 0) -> str:
    done = person.run("postil", "inbox", *words)
    assert done.returncode == status, done.stderr
    return done.stdout


def test_a_mark_is_about_one_content_and_can_be_taken_away(person: Person) -> None:
    assert run(person, "reviewed") == "No file is marked as reviewed\n"
    run(person, "mark-reviewed", "a.txt", "--content", "1a2b")
    run(person, "mark-reviewed", "b.txt", "--content", "3c4d")
    run(person, "mark-reviewed", "a.txt", "--content", "5e6f")
    marks = {mark["file"]: mark["content"] for mark in json.loads(run(person, "reviewed", "--json"))["files"]}
    assert marks == {"a.txt": "5e6f", "b.txt": "3c4d"}
    assert run(person, "mark-reviewed", "a.txt") == "b.txt\n"


def test_a_mark_needs_a_file(person: Person) -> None:
    run(person, "mark-reviewed", "", status=2)
    run(person, "mark-reviewed", "a.txt", "--content", "x" * 65, status=2)


def test_a_damaged_mark_is_no_mark_and_hides_no_other(person: Person) -> None:
    run(person, "mark-reviewed", "a.txt", "--content", "1a2b")
    run(person, "mark-reviewed", "b.txt", "--content", "3c4d")
    (path,) = person.state.rglob("state.db")
    database = sqlite3.connect(path)
    database.execute("UPDATE records SET value = x'ff' WHERE cast(value AS TEXT) LIKE '%a.txt%'")
    database.commit()
    database.close()
    assert run(person, "reviewed") == "b.txt\n"
