"""What was read last is shown while the state is away: of the same question, for some minutes, within a bound."""

import pytest

from postil.core import call
from postil.core.failure import Failure, StorageFailed
from postil.storage import last_seen
from postil.storage.last_seen import LONGEST, OVERHEAD, LastSeen, Question, StaleRecords

GET: Question = ("get", "s", "k", None)


class Clock:
    now = 5000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(last_seen, "time", clock)
    return clock


def test_the_same_question_gets_its_answer_with_its_age(clock: Clock) -> None:
    seen = LastSeen()
    seen.note(GET, b"v")
    clock.now += 7
    assert seen.find(GET) == (7, b"v")
    assert seen.find(("get", "s", "other", None)) is None
    assert seen.find(("range", "s", "k", None)) is None


def test_that_there_was_nothing_is_an_answer_too(clock: Clock) -> None:
    seen = LastSeen()
    seen.note(GET, None)
    assert seen.find(GET) == (0, None)


def test_an_answer_is_too_old_exactly_at_the_limit(clock: Clock) -> None:
    seen = LastSeen()
    seen.note(GET, b"v")
    clock.now += LONGEST - 0.5
    assert seen.find(GET) is not None
    clock.now += 0.5
    assert seen.find(GET) is None


def test_a_space_that_was_written_to_is_forgotten_and_others_are_not(clock: Clock) -> None:
    seen = LastSeen()
    seen.note(GET, b"v")
    seen.note(("range", "s", "", 10), [("k", b"v")])
    seen.note(("get", "t", "k", None), b"w")
    seen.forget(["s", "unknown"])
    assert seen.find(GET) is None
    assert seen.find(("range", "s", "", 10)) is None
    assert seen.find(("get", "t", "k", None)) == (0, b"w")


def test_the_oldest_answers_make_room(clock: Clock) -> None:
    seen = LastSeen(most_bytes=2 * (OVERHEAD + 10))
    for key in "abc":
        seen.note(("get", "s", key, None), b"v" * 10)
    assert [seen.find(("get", "s", key, None)) is not None for key in "abc"] == [False, True, True]
    seen.note(("get", "s", "b", None), b"v" * 10)  # noted again: not counted twice
    assert [seen.find(("get", "s", key, None)) is not None for key in "bc"] == [True, True]


def test_a_list_counts_with_all_its_keys_and_values(clock: Clock) -> None:
    rows = [("key", b"v" * 20), ("key2", b"v" * 20)]
    size = OVERHEAD + sum(len(key) + len(value) + OVERHEAD for key, value in rows)
    fits, too_small = LastSeen(most_bytes=size), LastSeen(most_bytes=size - 1)
    for seen in (fits, too_small):
        seen.note(("range", "s", "", None), rows)
    assert fits.find(("range", "s", "", None)) == (0, rows)
    assert too_small.find(("range", "s", "", None)) is None


def test_one_very_large_answer_is_not_kept_and_drops_no_other(clock: Clock) -> None:
    seen = LastSeen()
    seen.note(GET, b"v")
    seen.note(("get", "s", "large", None), b"v" * (2 * 1024 * 1024 - OVERHEAD + 1))
    assert seen.find(("get", "s", "large", None)) is None
    assert seen.find(GET) is not None
    seen.note(("get", "s", "large", None), b"v" * (2 * 1024 * 1024 - OVERHEAD))
    assert seen.find(("get", "s", "large", None)) is not None


class Heard(call.Call):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[object] = []

    def tell(self, name: str, value: str) -> None:
        self.said.append((name, value))

    def log(self, level: call.Level, data: object, logger: str = "") -> None:
        self.said.append((level, data))


def test_stale_records_answer_and_report_the_greatest_age(clock: Clock) -> None:
    seen = LastSeen()
    seen.note(GET, b"v")
    clock.now += 5
    seen.note(("range", "s", "", None), [("k", b"v"), ("l", b"w")])
    clock.now += 2
    stale = StaleRecords(seen, Failure("away"))
    assert stale.get("s", "k") == b"v"
    assert stale.range("s") == [("k", b"v"), ("l", b"w")]
    assert stale.count("s") == 2
    heard = Heard()
    call.enter(heard)
    stale.report_age()
    assert heard.said == [
        ("X-Postil-Stale", "7"),
        ("warning", "The shared state is away: this was read 7 seconds ago"),
    ]


def test_an_answer_of_this_moment_is_reported_too(clock: Clock) -> None:
    seen = LastSeen()
    seen.note(GET, b"v")
    stale = StaleRecords(seen, Failure("away"))
    assert stale.get("s", "k") == b"v"
    heard = Heard()
    call.enter(heard)
    stale.report_age()
    assert heard.said[0] == ("X-Postil-Stale", "0")


def test_where_nothing_is_remembered_the_state_is_away(clock: Clock) -> None:
    stale = StaleRecords(LastSeen(), StorageFailed("away"))
    with pytest.raises(StorageFailed, match="away"):
        stale.get("s", "k")
    heard = Heard()
    call.enter(heard)
    stale.report_age()
    assert heard.said == []
