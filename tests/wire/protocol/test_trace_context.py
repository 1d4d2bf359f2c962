"""Which texts can name a trace."""

from __future__ import annotations

import pytest

from postil.wire.protocol.trace_context import LONGEST_STATE, is_parent, read

GOOD = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("text", [GOOD, "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"])
def test_a_trace_is_taken(text: str) -> None:
    assert read({"traceparent": text}) == {"traceparent": text}


@pytest.mark.parametrize(
    "text",
    [
        "", "x", GOOD.upper(), GOOD + "-more", "ff" + GOOD[2:], GOOD[:-1], GOOD + "\r\nx: y", GOOD.replace("-", "_"),
        "00-" + "0" * 32 + "-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-" + "0" * 16 + "-01",
        "01" + GOOD[2:] + "-" + "x" * 600, "01" + GOOD[2:] + "-é", "-" * 55,
    ],
)  # fmt: skip
def test_what_cannot_be_one_is_left_out(text: str) -> None:
    assert not is_parent(text)
    assert read({"traceparent": text, "tracestate": "a=b"}) == {}


@pytest.mark.parametrize("state", ["a=b", "x" * 512])
def test_a_state_goes_with_its_trace(state: str) -> None:
    assert read({"traceparent": GOOD, "tracestate": state}) == {"traceparent": GOOD, "tracestate": state}


@pytest.mark.parametrize("state", ["x" * 513, "x" * 600, "a=\x00", "é=1", 5, None])
def test_a_strange_state_is_left_out_alone(state: object) -> None:
    assert read({"traceparent": GOOD, "tracestate": state}) == {"traceparent": GOOD}


def test_a_trace_of_a_later_version_has_a_bound() -> None:
    later = f"01-{'a' * 32}-{'b' * 16}-01-"
    assert is_parent(later + "x" * (LONGEST_STATE - len(later)))
    assert not is_parent(later + "x" * (LONGEST_STATE - len(later) + 1))
