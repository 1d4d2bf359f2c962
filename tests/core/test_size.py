"""How large an answer may be."""

from __future__ import annotations

import json
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postil.core import size as module
from postil.core.answer import LARGEST
from postil.core.content import Block, Document, Embedded, Image, Link, Text
from postil.core.size import bound, cut, measure

REST = "Ask for less with limit."


def size(blocks: list[Block]) -> int:
    return sum(len(each.text.encode()) for each in blocks if isinstance(each, Text))


def test_what_fits_is_left_alone() -> None:
    blocks = [Text("a" * LARGEST)]
    assert bound(blocks, REST) is blocks
    assert cut("ä" * (LARGEST // 2)) == ("ä" * (LARGEST // 2), 0)


def test_a_long_text_loses_whole_lines_of_its_middle() -> None:
    lines = [f"line {number} of the answer" for number in range(5000)]
    shown, note = bound([Text("\n".join(lines))], REST)
    assert isinstance(shown, Text)
    assert isinstance(note, Text)
    head, tail = shown.text.split("\n[...]\n")
    assert head.split("\n") == lines[: len(head.split("\n"))]
    assert tail.split("\n") == lines[-len(tail.split("\n")) :]
    assert size([shown, note]) <= LARGEST


def test_the_end_is_kept_because_it_closes_the_words_of_others() -> None:
    text = "[text by others until 1f2e]\n" + "evil\n" * 20_000 + "[end 1f2e]"
    shown, note = bound([Text(text)], REST)
    assert isinstance(shown, Text)
    assert shown.text.endswith("[end 1f2e]")
    assert isinstance(note, Text)
    assert REST in note.text


def test_how_much_is_missing_is_said() -> None:
    text = "\n".join("x" * 99 for _ in range(1000))
    shown, note = bound([Text(text)], REST)
    assert isinstance(shown, Text)
    assert isinstance(note, Text)
    kept = len(shown.text) - len("\n[...]\n")
    assert f"{len(text) - kept:,} of {len(text):,} bytes" in note.text


def test_one_endless_line_is_cut_between_signs() -> None:
    shown, _ = bound([Text("€" * 100_000)], REST)
    assert isinstance(shown, Text)
    assert set(shown.text) == {"€", "\n", "[", ".", "]"}


def test_an_embedded_document_is_cut_and_a_picture_is_left_out() -> None:
    document = Document("comment://all", "text/plain", text="row\n" * 20_000)
    picture = Image("A" * 100_000, "image/png")
    first, note = bound([Embedded(document), picture], REST)
    assert isinstance(first, Embedded)
    assert first.resource.text is not None
    assert first.resource.text.startswith("row\n")
    assert len(first.resource.text) < LARGEST
    assert isinstance(note, Text)


def test_links_beyond_the_bound_are_left_out() -> None:
    links: list[Block] = [Link(f"a://{number}", "n" * 100) for number in range(1000)]
    *kept, note = bound(links, REST)
    assert 0 < len(kept) < 300
    assert isinstance(note, Text)


def document(mime_type: str, text: str) -> str | None:
    """What is left of a document that is too large."""
    *kept, note = bound([Embedded(Document("export://all", mime_type, text=text))], REST)
    assert isinstance(note, Text)
    assert REST in note.text
    if not kept:
        return None
    assert isinstance(kept[0], Embedded)
    left = kept[0].resource.text
    assert left is not None
    assert len(left.encode()) <= LARGEST
    return left


def test_json_loses_whole_items_and_stays_json() -> None:
    files = [{"filePath": "a.py", "comments": [{"id": number, "text": "ä" * 90} for number in range(400)]}]
    left = json.loads(document("application/json", json.dumps({"files": files, "totalComments": 400})) or "")
    assert left["totalComments"] == 400
    kept = left["files"][0]["comments"]
    assert 50 < len(kept) < 400
    assert kept == files[0]["comments"][: len(kept)]


def test_an_answer_that_is_json_stays_json() -> None:
    shown, note = bound([Text(json.dumps([{"id": number} for number in range(9000)]))], REST)
    assert isinstance(shown, Text)
    assert isinstance(note, Text)
    assert json.loads(shown.text)[:2] == [{"id": 0}, {"id": 1}]
    assert "bytes are left out here" in note.text


@pytest.mark.parametrize("text", [json.dumps({"text": "x" * 50_000}), json.dumps(["x" * 50_000]), '{"broken": ' * 9000])
def test_json_of_which_no_item_can_be_left_out_is_left_out(text: str) -> None:
    assert document("application/json", text) is None


def test_json_lines_lose_whole_lines() -> None:
    lines = [json.dumps({"id": number, "text": "€" * 20}, ensure_ascii=False) for number in range(2000)]
    left = document("application/x-ndjson", "".join(f"{line}\n" for line in lines)) or ""
    assert left.splitlines() == lines[: len(left.splitlines())] != []
    assert document("application/x-ndjson", "x" * 50_000) is None


@pytest.mark.parametrize("mime_type", ["text/csv", "text/html", "application/vnd.apache.parquet", "image/svg+xml"])
def test_what_programs_read_is_never_cut_inside(mime_type: str) -> None:
    assert document(mime_type, "row\r\n" * 20_000) is None


@settings(max_examples=30)
@given(
    st.recursive(st.text(max_size=9) | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_shortened_json_is_json_and_fits(value: object) -> None:
    for block in bound([Text(json.dumps([value] * 3))], REST, 640)[:-1]:
        assert isinstance(block, Text)
        json.loads(block.text)


@given(st.text(), st.integers(20, 60))
def test_a_cut_text_is_never_larger_than_asked(text: str, largest: int) -> None:
    shown, missing = cut(text, largest)
    assert len(shown.encode("utf-8", "surrogatepass")) <= largest
    assert (missing == 0) == (shown == text)


@pytest.mark.parametrize("room", [0, 1, 5])
def test_no_room_at_all_is_no_bug(room: int) -> None:
    assert bound([Text("words " * 100)], REST, room)
    assert cut("ab" * 100, room) == ("\n[...]\n" + "b" * (room // 4), 200 - room // 4)


@pytest.mark.parametrize(("room", "kept"), [(102, 50), (101, 49), (4, 1)])
def test_an_item_that_just_fits_is_kept(room: int, kept: int) -> None:
    shown, _ = bound([Text("[" + ",".join("7" * 1000) + "]")], REST, 600 + room)
    assert isinstance(shown, Text)
    assert json.loads(shown.text) == [7] * kept


def test_content_is_measured_in_bytes_of_all_kinds() -> None:
    linked = Link("a://b", "name", description="about")
    embedded = Embedded(Document("a://b", "text/plain", text="é"))
    assert measure([Text("ab"), Text("é"), linked, embedded]) == 2 + 2 + (5 + 4 + 5) + (5 + 2)
    assert measure([]) == 0


def test_several_long_texts_fit_together() -> None:
    long = Text("".join(f"line {number}\n" for number in range(4000)))
    shown = bound([long, long, long], REST)
    assert measure(shown) <= LARGEST


def test_json_that_fits_without_its_blanks_loses_nothing_else() -> None:
    shown, _ = bound([Text('{"a":' + " " * 30_000 + '"b"}')], REST)
    assert isinstance(shown, Text)
    assert json.loads(shown.text) == {"a": "b"}


@pytest.mark.parametrize("text", ["{%s}", '{"a":{%s}}', '[{"a":[%s]}]'])
def test_blanks_alone_are_nothing_that_is_missing(text: str) -> None:
    shown, _ = bound([Text(text % (" " * 500_000))], REST)
    assert isinstance(shown, Text)
    assert json.loads(shown.text) == json.loads(text % "")


@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}")])
def test_of_deeply_nested_json_the_outer_levels_are_looked_into(open_: str, close: str) -> None:
    many = f"[{','.join(['12345'] * 300_000)}]"
    (shown, _) = bound([Text(open_ * 60 + many + close * 60)], REST)
    assert isinstance(shown, Text)
    assert 20_000 < len(shown.text) < LARGEST
    begun = time.process_time()
    left_out = bound([Text(open_ * 900 + many + close * 900)], REST)
    assert len(left_out) == 1
    assert time.process_time() - begun < 1, "each level was walked through"


@given(
    st.recursive(
        st.integers(0, 9) | st.text("ab", max_size=300),
        lambda below: st.lists(below, max_size=9) | st.dictionaries(st.sampled_from("abcd"), below, max_size=4),
        max_leaves=60,
    ),
    st.integers(2, 3000),
)
def test_of_large_json_the_same_is_kept_as_of_small(value: object, room: int) -> None:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FEW", 1)
        kept = vars(module)["_fit_written"](text.encode(), room)
    assert kept == vars(module)["_fit"](value, room)


def test_large_json_is_understood_only_as_far_as_it_is_kept() -> None:
    """Of an export of 12 MB of replies 65 MB were held, of which a model got 24 kB."""
    text = json.dumps({"files": [{"path": "a", "comments": [{"replies": [{"a": "b"}] * 9}] * 40_000}]})
    tracemalloc.start()
    try:
        (shown, note) = bound([Embedded(Document("x:y", "application/json", text=text))], REST)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(text)
    finally:
        tracemalloc.stop()
    assert isinstance(shown, Embedded)
    assert 20_000 < len(shown.resource.text or "") < LARGEST
    assert isinstance(note, Text)
