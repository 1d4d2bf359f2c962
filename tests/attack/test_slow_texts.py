"""Texts that others wrote to make a pattern try every way to read them: each is gone through in linear time.

A pattern holds the interpreter: nobody else is answered meanwhile.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from postil.comments.transfer.documents import redact
from postil.comments.transfer.inline import extract_inline, is_inline
from postil.core.others.untrusted import clean, clean_prose, show_invisible, split_hidden
from postil.gitlab.instance import redaction
from postil.gitlab.instance.logs import clean_log
from postil.gitlab.policy.quick_actions import escape_quick_actions
from postil.surfaces.gateway.addresses import read_lists

MOST_CPU = 2.0
MANY = 1_000_000
HEAD = 60_000
"""Characters of one header of a request."""
ADDRESSES, _ = read_lists([], ["192.0.2.1"], ["10.0.0.0/8"], header="forwarded")


class TookLong(BaseException):
    """The processor was used for longer than allowed."""


@contextmanager
def within(seconds: float) -> Generator[None]:
    """Raises TookLong after so many seconds of CPU; those of other programs do not count."""

    def end(*_: object) -> None:
        raise TookLong

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def forward(header: str) -> object:
    """What is read of a header that a client wrote and a proxy went on with."""
    return ADDRESSES.client("10.0.0.1", {b"forwarded": f"{header}, for=203.0.113.5".encode()})


SLOW: dict[str, tuple[Callable[[str], object], str]] = {
    "a header with a value of spaces": (forward, f"a={' ' * HEAD}!"),
    "a header of spaces": (forward, f"{' ' * HEAD}!"),
    "a header with an open quote": (forward, f'a="{"b" * HEAD}'),
    "a header of pairs": (forward, "a=;" * (HEAD // 3)),
    "a note of ends of lines": (escape_quick_actions, "\r" * MANY),
    "a note of rare ends of lines": (escape_quick_actions, "\u2028\v " * (MANY // 3)),
    "a remark of spaces in a source": (lambda text: extract_inline(text, remove=True), f"# @paired: a{' ' * MANY}x"),
    "a row of spaces in a source": (is_inline, f"#{' ' * MANY}@paired:"),
    "a source of marks": (is_inline, f"{'# ' * (MANY // 2)}@paired"),
    "an export of one word": (redact, "token" * (MANY // 5)),
    "an export of words": (redact, "token_" * (MANY // 6) + "='"),
    "an export of keys that begin": (redact, "-----BEGIN PRIVATE KEY-----\n" * (MANY // 28)),
    "an export of quotes": (redact, "token='secret=\"" * (MANY // 15)),
    "a log of sections": (lambda text: clean_log(text.encode(), ""), "section_start:1:a[" * (MANY // 18)),
    "a log of one colour": (lambda text: clean_log(text.encode(), ""), f"\x1b[{'!' * MANY}"),
    "a log of titles": (lambda text: clean_log(text.encode(), ""), "\x1b]" * (MANY // 2)),
    "an answer of tokens": (lambda text: redaction.redact(text, ""), "glpat-" * (MANY // 6)),
    "an answer of addresses": (lambda text: redaction.redact(text, ""), "://a" * (MANY // 4)),
    "a text of entities": (clean, "&#38;#38;" * (MANY // 18)),
    "a text of comments that begin": (clean_prose, "<!-" + "-<!-" * (MANY // 4)),
    "a text of joiners": (clean, "\u0628\u200c" * (5 * MANY // 2)),
    "a text of blanks of Braille": (clean, "\u2800x" * (5 * MANY // 2)),
    "a text of marks": (clean, "a\u0301" * (5 * MANY // 2)),
    "a long text with one joiner": (clean, "text " * (4 * MANY) + "\u200d"),
    "a text of returns": (clean, "a\r" * (5 * MANY // 2)),
    "a text with ends of lines of two signs": (clean, "a\r\n" * (5 * MANY)),
    "a text of blanks": (show_invisible, "\u2800x" * (MANY // 2)),
}


@pytest.mark.parametrize("name", SLOW)
def test_a_text_that_others_wrote_is_gone_through_in_linear_time(name: str) -> None:
    read, text = SLOW[name]
    with within(MOST_CPU):
        read(text)


def test_a_remark_in_a_source_ends_where_its_mark_says() -> None:
    ends = {
        "/* @paired: a */": "a", "<!-- @paired: a -->": "a", "// @paired: a \r": "a", "/* @paired: a */ \r": "a",
        "// @paired: a --> b": "a --> b", "/* @paired: a*/*/": "a*/", "/* @paired: */": "", "# @paired:a\t": "a",
        "/* @paired: a \r */": "a \r",
    }  # fmt: skip
    for line, said in ends.items():
        found = extract_inline(f"{line}\nx = 1", remove=False).found
        assert [each.text for each in found] == ([said] if said else []), line


def test_of_a_log_and_an_export_the_same_is_taken_out_as_before() -> None:
    log = "\x1b[0Ksection_start:1560896352:my_section[collapsed=true]\r\x1b[0K\x1b[1;31mred\x1b[0m"
    assert clean_log(log.encode(), "") == "red"
    for line in ("my_token_password = 'hunter22'", 'apikey_of: "12345678"', "SECRET_TOKEN='abcdefgh'"):
        assert "[" in redact(line), line
        assert not any(secret in redact(line) for secret in ("hunter", "1234", "abcd"))


@pytest.mark.parametrize("piece", ["\u0628\u200c", "\U0001f468\u200d", "a\u200b", "\u2801\u2800", "a" + "\u0301" * 12])
def test_behind_very_many_signs_that_shape_others_nothing_hides(piece: str) -> None:
    text = clean(piece * 80_000 + "end\u202e\u200b" + "\u0301" * 30)
    assert clean(text) == text
    assert "\u202e" not in text
    assert "\u0301" * 11 not in text
    assert text.rstrip("\u0301").endswith("end")
    assert clean(piece * 10) in text
    assert not any(hidden for _, hidden in split_hidden(text))
