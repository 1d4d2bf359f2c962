"""Only our own words have colours."""

from __future__ import annotations

from postil.core import call
from postil.core.others.own_words import in_brackets, in_color
from postil.core.others.visible import paint


def test_states_have_colours_where_the_answer_may_be_coloured() -> None:
    assert in_brackets("open") == "[open]"
    assert in_color("a", "blue") == "a"
    person = call.Call()
    person.colors = True
    call.enter(person)
    try:
        shown = [paint(in_brackets(word), colors=True) for word in ("open", "closed", "NOTE", "opening", None)]
    finally:
        call.enter(call.Call())
    assert shown == ["[\x1b[32mopen\x1b[0m]", "[\x1b[35mclosed\x1b[0m]", "[\x1b[36mNOTE\x1b[0m]", "[opening]", "[None]"]
