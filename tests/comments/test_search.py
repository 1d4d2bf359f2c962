"""Searching many texts at once finds what searching each would, in this process and in the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postil.comments.failures import PatternRefused
from postil.comments.search import patterns
from postil.comments.search import text_file as corpus_module
from postil.comments.search.patterns import Pattern
from postil.comments.search.text_file import TextFile
from tests.comments.workspaces import Comments, workspace

TEXTS = ["abc", "xab\ncd", "z", "da", "", "Grüße\nan die\n", "z\n", "x\x00y", "\n a"]


def database(texts: Iterable[str]) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.executescript(
        corpus_module.TABLES
        + "CREATE TABLE note (seq INTEGER PRIMARY KEY AUTOINCREMENT);"
        + "CREATE TABLE body (seq INTEGER PRIMARY KEY, text TEXT);"
        + "CREATE TRIGGER note_gone AFTER DELETE ON note BEGIN"
        + " DELETE FROM body WHERE seq = old.seq; INSERT INTO gone (seq) VALUES (old.seq); END;"
    )
    add(db, texts)
    return db


def add(db: sqlite3.Connection, texts: Iterable[str]) -> None:
    with db:
        for text in texts:
            number = db.execute("INSERT INTO note DEFAULT VALUES").lastrowid
            db.execute("INSERT INTO body VALUES (?, ?)", (number, text))


def alone(pattern: Pattern, texts: Iterable[str]) -> list[int]:
    return [number for number, text in enumerate(texts, 1) if pattern.matches(text.encode("utf-8", "replace"))]


@pytest.mark.parametrize(
    "query",
    [
        "a",
        "^a",
        "z$",
        r"\Aa",
        r"\Ada\z",
        "b\nc",
        "[^q]+",
        "z\nd",
        "x*",
        r"\bda\b",
        "a|z",
        "(?s)b.c",
        r"\sa",
        r"d\s",
        "$",
        r"\n",
        "ü",
        "GRÜSSE",
        "grüße",
        r"\C\C\C\C\C\C\C",
        r"\Qx\E",
        "(?-i)A",
        r"(?-m)^c",
        r"^\s*$",
        r"\B",
        r"\W",
        ".",
        "(",
        r"(a)(b)",
        r"\PL",
        "[[:space:]]",
        r"\\A",
        "x.y",
        "an die$",
    ],
)
def test_a_pattern_finds_in_many_texts_what_it_finds_in_each(query: str, tmp_path: Path) -> None:
    try:
        pattern = Pattern(query)
    except PatternRefused:
        assert query == "("
        return
    hits = TextFile(str(tmp_path / "c")).search(database(TEXTS), pattern)
    assert hits.numbers() == alone(pattern, TEXTS)
    assert len(hits) == len(hits.numbers())


@given(
    texts=st.lists(st.text("ab \nÄk", max_size=8), max_size=12),
    query=st.text("ab .*|()^$[]\\sn\nÄ?:", min_size=1, max_size=7),
    loose=st.sampled_from([0, 3, 100]),
    dense=st.sampled_from([1, 2, 1000]),
)
@settings(max_examples=100, deadline=None)
def test_any_pattern_finds_in_any_texts_what_it_finds_in_each(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str, loose: int, dense: int
) -> None:
    try:
        pattern = Pattern(query)
    except PatternRefused:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_module, "MOST_LOOSE", loose)
        patch.setattr(patterns, "DENSE", dense)
        hits = TextFile(str(tmp_path_factory.mktemp("corpus") / "c")).search(database(texts), pattern)
    expected = alone(pattern, texts)
    assert hits.numbers() == expected
    assert len(hits) == len(expected)
    assert [number for number in range(len(texts) + 2) if number in hits] == expected


def test_the_next_process_searches_the_file_and_reads_no_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "MOST_LOOSE", 3)
    db = database(f"text {number}" for number in range(10))
    TextFile(str(tmp_path / "c")).catch_up(db)
    read: list[str] = []
    db.set_trace_callback(read.append)
    corpus = TextFile(str(tmp_path / "c"))
    assert corpus.search(db, Pattern("text 7")).numbers() == [8]
    assert len(corpus._file) == 10  # pyright: ignore[reportPrivateUsage]
    assert not any("count(*)" in sentence or "BEGIN" in sentence for sentence in read)


def test_texts_that_came_and_went_are_seen_by_every_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "MOST_LOOSE", 3)
    db = database(f"text {number}" for number in range(10))
    one, other = TextFile(str(tmp_path / "c")), TextFile(str(tmp_path / "c"))
    every = Pattern("text")
    assert len(one.search(db, every)) == len(other.search(db, every)) == 10
    add(db, ["text a", "none"])
    with db:
        db.execute("DELETE FROM note WHERE seq IN (1, 2)")
    assert one.search(db, every).numbers() == other.search(db, every).numbers() == [*range(3, 12)]
    add(db, [f"text {number}" for number in range(20)])  # the file grows: only one of them writes it
    for corpus in (one, other, TextFile(str(tmp_path / "c"))):
        assert len(corpus.search(db, every)) == 29
    with db:
        db.execute("DELETE FROM note WHERE seq < 25")  # most is gone: the file is made anew
    for corpus in (one, other, TextFile(str(tmp_path / "c"))):
        assert corpus.search(db, every).numbers() == [*range(25, 33)]
    assert len(list(tmp_path.glob("c.*"))) == 2


@pytest.mark.parametrize("harm", ["unlink", "truncate", "garble"])
def test_a_lost_or_damaged_file_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: str) -> None:
    monkeypatch.setattr(corpus_module, "MOST_LOOSE", 3)
    db = database(f"text {number}" for number in range(10))
    TextFile(str(tmp_path / "c")).catch_up(db)
    for file in tmp_path.glob("c.*"):
        if harm == "unlink":
            file.unlink()
        elif harm == "truncate":
            file.write_bytes(file.read_bytes()[:-1])
        else:
            file.write_bytes(bytes(len(file.read_bytes())))
    assert len(TextFile(str(tmp_path / "c")).search(db, Pattern("text"))) == 10


def test_a_folder_that_cannot_be_written_costs_time_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "MOST_LOOSE", 3)
    db = database(f"text {number}" for number in range(10))
    corpus = TextFile(str(tmp_path / "missing" / "c"))
    assert len(corpus.search(db, Pattern("text"))) == 10
    add(db, ["more text"])
    assert len(corpus.search(db, Pattern("text"))) == 11


def test_comments_are_found_newest_first_whether_few_or_most_match(tmp_path: Path) -> None:
    comments: Comments = workspace(tmp_path, **{"a.py": "".join(f"value_{n} = {n}\n" for n in range(40))})
    made = [comments.add("a.py", n + 1, f"text {n}", "NOTE").commentId for n in range(40)]
    found = comments.search("text", limit=5)
    assert (found.totalResults, [each.id for each in found.comments]) == (40, sorted(made, reverse=True)[:5])
    assert comments.search("text 7").totalResults == 1
    assert comments.search("text 1").totalResults == 11
