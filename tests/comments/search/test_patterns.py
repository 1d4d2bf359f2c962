"""A pattern finds in a run of texts what it finds in each of them."""

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

TEXTS = [
    *("abc", "xab\ncd", "z", "da", "", "Grüße\nan die\n", "z\n", "x\x00y", "\n a"),
    *("Security first", "in\u017fecurity", "obscurity", "\u212aelvin", "elvin", "a secret\nkelvin", "kein"),
]


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
        "security",
        "secret|kelvin|grisly",
        "security|kelvin|",
        "an die|kein",
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
    texts=st.lists(st.text("ab \nÄks\u017f", max_size=8), max_size=12),
    query=st.one_of(
        st.text("ab .*|()^$[]\\sn\nÄ?:", min_size=1, max_size=7), st.text("abks |", min_size=1, max_size=7)
    ),
    loose=st.sampled_from([0, 3, 100]),
    dense=st.sampled_from([1, 2, 1000]),
    piece=st.sampled_from([1, 9, 1 << 18]),
)
@settings(max_examples=100, deadline=None)
def test_any_pattern_finds_in_any_texts_what_it_finds_in_each(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str, loose: int, dense: int, piece: int
) -> None:
    try:
        pattern = Pattern(query)
    except PatternRefused:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus_module, "MOST_LOOSE", loose)
        patch.setattr(patterns, "DENSE", dense)
        patch.setattr(patterns, "PIECE", piece)
        patch.setattr(patterns, "SHORTEST_PIECE", 1)
        hits = TextFile(str(tmp_path_factory.mktemp("corpus") / "c")).search(database(texts), pattern)
        expected = alone(pattern, texts)
        assert hits.numbers() == expected
        assert len(hits) == len(expected)
        assert [number for number in range(len(texts) + 2) if number in hits] == expected
