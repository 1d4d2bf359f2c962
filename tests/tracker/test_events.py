"""Lines of a log become events, and what is no event is not believed."""

from __future__ import annotations

from postil.tracker import events as ev
from postil.tracker.events import decode, decode_lines, encode, encode_lines, entity_of
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


def test_lines_that_are_no_events_are_left_out():
    one, _ = pair()
    good = encode_lines(one.known())  # pyright: ignore[reportArgumentType]
    assert decode_lines(b"garbage\n" + good + b"\xff\xfe\n") == one.known()
