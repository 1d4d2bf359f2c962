"""Editing JSON with comments: what is not ours stays as it was."""

import json
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.surfaces.setup.jsonc import NotJson, get, put, read, remove

ENTRY = {"command": "/bin/postil", "args": ["serve"]}
PATH = ("mcpServers", "postil")
SAMPLES = [
    "{}",
    "{}\n",
    '{"mcpServers": {}}',
    '{"mcpServers": {"other": {"command": "x"}}}',
    '{\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
    '{\n    "theme": "dark", // mine\n    "mcpServers": {\n        "other": {"command": "x"}, // keep\n    },\n}\n',
    '{\n\t"a": 1 // last\n}\n',
    "// first\n{\n  /* nothing yet */\n}\n",
    '{\r\n  "a": [1, 2, {"b": "}"}],\r\n  "mcpServers": {\r\n    "o": 1\r\n  }\r\n}\r\n',
    '\ufeff{\n  "a": "// no comment \\" {"\n}\n',
    '{"a": {"b": 1}, "c": [1,2,],}',
]


@pytest.mark.parametrize("text", SAMPLES)
def test_an_entry_is_added_and_everything_else_stays(text: str) -> None:
    added = put(text, PATH, ENTRY)
    assert get(added, PATH) == ENTRY
    before = read(text)
    after = read(added)
    after["mcpServers"].pop("postil")
    if "mcpServers" not in before:
        assert after.pop("mcpServers") == {}
    assert after == before
    for line in text.splitlines():
        for comment in ("// mine", "// keep", "// last", "// first", "/* nothing yet */"):
            if comment in line:
                kept = next(each for each in added.splitlines() if comment in each)
                assert line.rstrip().rstrip(",").split(comment)[0].rstrip(" ,") in kept


@pytest.mark.parametrize("text", SAMPLES)
def test_putting_twice_changes_nothing_more(text: str) -> None:
    added = put(text, PATH, ENTRY)
    assert put(added, PATH, ENTRY) == added


@pytest.mark.parametrize("text", SAMPLES)
def test_removing_leaves_a_readable_file_without_the_entry(text: str) -> None:
    removed = remove(put(text, PATH, ENTRY), PATH)
    assert get(removed, PATH) is None
    before = read(text)
    assert read(removed) == {**before, "mcpServers": before.get("mcpServers", {})}


@pytest.mark.parametrize("text", ['{"a": "\\ud83d\\ude00 \\ud800"}', '{"a": 1, "\\\\x \\udc00": 2}'])
def test_half_a_surrogate_pair_is_named_with_its_place(text: str) -> None:
    """It was called data that is truncated; as a key it ended in an internal error."""
    at = max(text.find("\\ud800"), text.find("\\udc00")) + 1
    with pytest.raises(NotJson, match=rf"lone half of a surrogate pair \(line 1, column {at}\)"):
        read(text)


def test_an_empty_file_becomes_a_whole_one() -> None:
    assert json.loads(put("", PATH, ENTRY)) == {"mcpServers": {"postil": ENTRY}}


def test_the_files_own_indentation_is_used() -> None:
    assert put('{\n\t"a": 1\n}\n', ("b",), {"c": 2}) == '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}\n'


def test_an_old_entry_is_replaced_in_its_place() -> None:
    text = '{"x": {"p": {"old": true}}, "y": 1}'
    assert get(put(text, ("x", "p"), 3), ("x", "p")) == 3
    assert put(text, ("x", "p"), 3) == '{"x": {"p": 3}, "y": 1}'


@pytest.mark.parametrize("text", ["{", '{"a" 1}', '{"a": }', "{} x", '{"a": 1 "b": 2}', "[", '{"a": "\n"}', "{a: 1}"])
def test_what_is_no_json_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(NotJson, match="line"):
        read(text)


def test_a_value_that_is_no_object_is_not_overwritten() -> None:
    with pytest.raises(NotJson, match="not an object"):
        put('{"mcpServers": []}', PATH, ENTRY)


def test_deep_nesting_is_refused_and_not_a_crash() -> None:
    with pytest.raises(NotJson, match="deeply"):
        read("[" * 100_000)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=5), st.sampled_from([None, 1, 2, 4, "\t"]))
def test_whatever_json_there_is_adding_and_removing_keeps_the_rest(
    before: dict[str, object], indent: int | str | None
) -> None:
    text = json.dumps(before, indent=indent, ensure_ascii=False)
    added = put(text, PATH, ENTRY)
    assert json.loads(added) == {**before, "mcpServers": {"postil": ENTRY}}
    assert json.loads(remove(added, PATH)) == {**before, "mcpServers": {}}


@pytest.mark.parametrize(
    "text", ['{"a": "' + "x" * 2_000_000 + '"}', "//\n" * 500_000 + "{}", '{"a": "' + "\\\\" * 900_000 + '"}']
)
def test_a_long_text_is_read_in_little_memory(text: str) -> None:
    tracemalloc.start()
    try:
        read(text)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(text)
    finally:
        tracemalloc.stop()
