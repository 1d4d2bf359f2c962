"""Lines of a log become events, and what is no event is not believed."""

from __future__ import annotations

from postil.core import limits
from postil.tracker import events as ev
from postil.tracker.events import decode, decode_lines, encode, encode_lines, entity_of
from postil.tracker.validation import LONGEST_TEXT
from tests.tracker.worlds import ENTITY, pair


def test_a_clock_beyond_belief_is_not_an_event():
    line = b'{"t":"set","ent":"%s","id":"zz1","r":"zzz","n":1,"l":99999999999999999,"f":"title"}' % ENTITY.encode()
    assert decode(line) is None


def test_the_entity_of_a_line_is_found_without_decoding_and_never_inside_a_text():
    one, _ = pair()
    event = one.write(ev.Commented, c="c1", body='"ent":"ffffffff-0000-4000-8000-000000000001"')
    line = encode(event)  # pyright: ignore[reportArgumentType]
    assert entity_of(line) == ENTITY
    shuffled = b'{"a":{"ent":"ffffffff-0000-4000-8000-000000000001"},"t":"x","ent":"%s","id":"i","r":"r","n":1,"l":1}'
    assert entity_of(shuffled % ENTITY.encode()) is None
    assert entity_of(b"not an event") is None
    twice = b'{"t":"release","ent":"%s",%s:"%s","id":"i","r":"r","n":1,"l":1}'
    for name in (b'"ent"', b'"\\u0065nt"', b' "en\\u0074" '):
        line = twice % (b"a" * 36, name, b"b" * 36)
        event = decode(line)
        assert event is not None
        assert entity_of(line) == event.ent == "b" * 36


def test_lines_that_are_no_events_are_left_out():
    one, _ = pair()
    good = encode_lines(one.known())  # pyright: ignore[reportArgumentType]
    assert decode_lines(b"garbage\n" + good + b"\xff\xfe\n") == one.known()


def test_an_event_that_names_more_than_anybody_can_mean_is_not_believed():
    head = b'{"t":"%s","ent":"%s","id":"%s","r":"x","n":1,"l":1,%s}'
    many, ent = b"[" + b'"a",' * (limits.LOG_NAMES // 4) + b'"a"]', ENTITY.encode()
    labels = head % (b"labels", ent, b"a", b'"add":' + many)
    forged = [
        labels,
        labels[:-1] + b',"add":[]}',  # a key twice: the last counts
        labels.replace(b"add", b"\\u0061dd")[:-1] + b',"add":[]}',
        head % (b"comment", ent, b"a", b'"c":"c","body":' + many + b',"body":""'),
        head % (b"labels", ent, b"a", b'"dep":{' + b'"a":1,' * (limits.LOG_NAMES // 6) + b'"b":1}'),
        head % (b"of tomorrow", ent, b"a", b'"dep":{' + b'"a":1,' * (limits.LOG_NAMES // 6) + b'"b":1}'),
    ]
    assert [decode(line) for line in forged] == [None] * len(forged)
    good = head % (b"release", ent, b"good", b'"who":"w"')
    long = head % (b"comment", ent, b"long", b'"c":"c","body":"' + b"b" * 3 * limits.LOG_NAMES + b'"')
    lines = b"\n".join([good, *forged, good, long, good, *forged])
    assert [event.id for event in decode_lines(lines)] == ["good", "good", "long", "good"]


def test_a_line_is_one_event_or_none():
    """Two on a line, or one on two lines, are none: whoever reads line by line would not see them."""
    one = b'{"t":"release","ent":"%s","id":"a","r":"x","n":1,"l":1}' % (b"e" * 36)
    two = one.replace(b'"a"', b'"b"')
    assert [event.id for event in ev.decode_lines(one + b"\n" + two + b"\n")] == ["a", "b"]
    assert ev.decode_lines(one + b" " + two) == []
    assert [event.id for event in ev.decode_lines(one + two + b"\n" + two)] == ["b"]
    assert ev.decode_lines(one.replace(b",", b",\n", 1)) == []
    balanced = one + two + b"\n" + one.replace(b",", b",\n", 1)
    assert ev.decode_lines(balanced) == []
    assert [event.id for event in ev.decode_lines(one + b"],[" + two + b"\n" + two)] == ["b"]
    assert ev.decode_lines(one + b"," + two) == ev.decode_lines(b"") == []
    spanning = one[:-1] + b',"unknown":[\n]}'  # what is put between lines makes an array of it
    assert ev.decode_lines(one + b" " + two + b"\n" + spanning) == []
    assert [event.id for event in ev.decode_lines(one + b"\n5\n\n" + two + b"\n6")] == ["a", "b"]  # numbers are none
    assert [event.id for part in ev.decode_parts(b"\n".join([one, two] * 9), 100) for event in part] == ["a", "b"] * 9


def test_an_event_that_is_longer_than_any_that_can_be_written_is_not_believed():
    head = b'{"t":"comment","ent":"%s","id":"%s","r":"x","n":1,"l":1,"c":"c","body":"%s"}'
    most = limits.LOG_EVENT - len(head % (ENTITY.encode(), b"a", b""))
    good = head % (ENTITY.encode(), b"a", b"b" * most)
    long = head % (ENTITY.encode(), b"c", b"b" * (most + 1))
    assert [event.id for event in decode_lines(long + b"\n" + good + b"\n" + long)] == ["a"]
    assert most > 4 * LONGEST_TEXT
