"""The message file of the original bridge: what is read from it, for whom, and when it is deleted."""

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.inbox.legacy import LegacyMessage, delete_if_unchanged, is_for, parse, read_message
from postil.inbox.model import LONGEST_COMMENT
from postil.workspace.repository import find_repository
from tests.workspace.repositories import new_repository


@given(st.binary(max_size=200))
def test_no_content_of_the_old_file_breaks_its_reader(content: bytes) -> None:
    parse(content)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"file": "a"}', b'{"comment": " "}', b'{"comment": 5}',
     json.dumps({"comment": "x" * (LONGEST_COMMENT + 1)}).encode()],
)  # fmt: skip
def test_what_is_no_message_or_not_yet_one_is_none(content: bytes) -> None:
    assert parse(content) is None


@pytest.mark.parametrize(("line", "span"), [(None, ""), (3, "3"), ("3-5", "3-5"), ("0", ""), ("three", ""), ("", "")])
def test_a_line_is_a_number_or_a_text_and_nonsense_is_left_out(line: str | int | None, span: str) -> None:
    message = parse(json.dumps({"file": "a", "comment": "x", "line": line, "extra": 1}).encode())
    assert message is not None
    assert message.span() == span


def test_the_digest_is_the_contract_s_and_the_line_joins_in_when_there_is_one() -> None:
    message = LegacyMessage("a", "why", time="now")
    assert message.digest() == hashlib.sha256(b"awhynow").hexdigest()
    assert LegacyMessage("a", "why", time="now", line=3).digest() == hashlib.sha256(b"awhynow3").hexdigest()


def test_a_message_is_for_its_repository_whatever_way_its_root_is_written(tmp_path: Path) -> None:
    here, there = new_repository(tmp_path / "here", a="x"), new_repository(tmp_path / "there", a="x")
    (tmp_path / "link").symlink_to(here)
    repository = find_repository(str(here))
    for root in (str(here), str(tmp_path / "link"), "", " "):
        assert is_for(LegacyMessage(project_root=root), repository)
    for root in (str(there), str(tmp_path), "/nonexistent"):
        assert not is_for(LegacyMessage(project_root=root), repository)


def test_it_is_deleted_only_while_it_holds_what_was_taken(tmp_path: Path) -> None:
    file = tmp_path / "mcp-messages.json"
    file.write_text('{"comment": "first"}')
    first = read_message(str(file))
    assert first is not None
    file.write_text('{"comment": "second"}')
    delete_if_unchanged(str(file), first)
    assert file.exists()
    delete_if_unchanged(str(file), LegacyMessage(comment="second"))
    assert list(tmp_path.iterdir()) == []
    delete_if_unchanged(str(file), first)
    assert read_message(str(file)) is None
