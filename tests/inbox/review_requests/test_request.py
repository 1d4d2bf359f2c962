"""How an assistant writes a note about lines."""

import pytest

from postil.inbox.review_requests.request import BadNote, GivenNote, parse_note


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ("a.txt:2: why: so?", GivenNote("a.txt", "2", "new", "why: so?")),
        ("a.txt:2-5:   two\nrows", GivenNote("a.txt", "2-5", "new", "two\nrows")),
        ("a.txt:-2: it is gone", GivenNote("a.txt", "2", "old", "it is gone")),
        ("a.txt: the whole", GivenNote("a.txt", "", "new", "the whole")),
        ("src/a b:c.txt:7: odd name", GivenNote("src/a b:c.txt", "7", "new", "odd name")),
    ],
)
def test_a_note_begins_with_its_place(given: str, note: GivenNote) -> None:
    assert parse_note(given) == note


@pytest.mark.parametrize("given", ["", "a.txt", "a.txt:2", "a.txt:2:", "a.txt:2:  ", ": text", "just words"])
def test_anything_else_is_no_note(given: str) -> None:
    with pytest.raises(BadNote):
        parse_note(given)
