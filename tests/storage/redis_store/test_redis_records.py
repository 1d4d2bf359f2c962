"""Records in Redis through the changes of one block: what it put, deleted and counted is seen before the commit."""

import time

import pytest

from postil.storage.redis_store.redis import RedisState
from postil.storage.redis_store.redis_records import RedisRecords


@pytest.fixture
def records(address: str) -> RedisRecords:
    state = RedisState(address)
    with state.writing() as changes:
        for number in range(250):
            changes.put("s", f"{number:03d}", b"%d" % number)
        changes.put("s", "line\nbreak", b"two\nlines")
        changes.next("c")
    return RedisRecords(state._redis)  # pyright: ignore[reportPrivateUsage]


def test_what_the_block_put_and_deleted_is_seen_by_it(records: RedisRecords) -> None:
    records.put("s", "0005", b"new")
    records.put("s", "003", b"changed")
    records.delete("s", "004")
    assert records.get("s", "0005") == b"new"
    assert records.get("s", "003") == b"changed"
    assert records.get("s", "004") is None
    assert records.range("s", after="002", limit=2) == [("003", b"changed"), ("005", b"5")]
    assert records.range("s", after="003", limit=1) == [("005", b"5")], "a range begins behind its key"
    assert records.count("s") == 251


def test_a_limited_range_is_whole_although_many_records_fall_out(records: RedisRecords) -> None:
    for number in range(220):
        records.delete("s", f"{number:03d}")
    assert [key for key, _ in records.range("s", limit=3)] == ["220", "221", "222"]


def test_a_change_behind_the_rows_that_were_read_is_not_shown_before_them(records: RedisRecords) -> None:
    records.put("s", "zzz", b"last")
    records.put("s", "0000", b"early")
    assert [key for key, _ in records.range("s", limit=2)] == ["000", "0000"]
    assert records.range("s")[-1] == ("zzz", b"last")


def test_another_space_is_not_touched(records: RedisRecords) -> None:
    records.put("t", "k", b"v")
    assert records.count("s") == 251
    assert records.changed_spaces() == {"t"}


def test_what_expired_is_not_seen_even_in_the_same_block(records: RedisRecords) -> None:
    records.put("s", "000", b"old", time.time() - 1)
    records.put("s", "001", b"young", time.time() + 100)
    assert records.get("s", "000") is None
    assert records.range("s", limit=1) == [("001", b"young")]


def test_a_value_may_hold_line_breaks(records: RedisRecords) -> None:
    assert records.get("s", "line\nbreak") == b"two\nlines"


def test_a_counter_goes_on_from_what_is_stored(records: RedisRecords) -> None:
    assert [records.next("c"), records.next("c"), records.next("new")] == [2, 3, 1]


def test_the_commit_is_told_every_change_once(records: RedisRecords) -> None:
    records.put("s", "a", b"first", 12.5)
    records.put("s", "a", b"second")
    records.delete("s", "b")
    records.next("c")
    commands, values = records.changes()
    assert [command[0] for command in commands] == ["put", "delete", "count"]
    assert values == [b"0.000000\nsecond"]
    assert commands[2] == ["count", "c", 2]


def test_a_record_is_gone_exactly_when_it_expires(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.0)
    state = RedisState(address)
    records = RedisRecords(state._redis)  # pyright: ignore[reportPrivateUsage]
    records.put("s", "now", b"", 1000.0)
    records.put("s", "soon", b"", 1000.001)
    assert records.range("s") == [("soon", b"")]
    assert records.get("s", "now") is None
    state.close()
