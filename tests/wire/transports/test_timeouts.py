"""When a silent client is given up, and what is logged of it."""

from __future__ import annotations

import pytest

from postil.wire.transports.timeouts import Level, Timeouts


@pytest.mark.parametrize(
    ("silent", "heard", "busy", "reason"),
    [
        (1.9, False, False, ""),
        (2.0, False, False, "no client introduced itself within 2 s"),
        (4.9, True, False, ""),
        (5.0, True, False, "no request for 5 s"),
        (99.0, True, True, ""),
    ],
)
def test_a_silent_client_is_given_up_when_its_time_is_over(silent: float, heard: bool, busy: bool, reason: str) -> None:
    assert Timeouts(handshake=2, idle=5).reason_to_end(silent, heard=heard, busy=busy) == reason


def test_no_timeout_means_to_wait_forever() -> None:
    waits = Timeouts()
    assert [waits.reason_to_end(1e9, heard=heard, busy=False) for heard in (True, False)] == ["", ""]


@pytest.mark.parametrize(
    ("level", "lines"),
    [
        ("error", []),
        ("warn", ["warn: -> error -32700"]),
        ("debug", ["debug: <- 'ping', 40 bytes", "warn: -> error -32700", "debug: -> 2 bytes"]),
        ("trace", ['trace: <- {"jsonrpc":"2.0","id":1,"method":"ping"}', "warn: -> error -32700", "trace: -> {}"]),
    ],
)
def test_only_the_level_trace_shows_the_texts_of_frames(
    level: Level, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    timeouts = Timeouts(level=level)
    timeouts.tell_heard(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    timeouts.tell_sent(b"{}", -32700)
    assert capsys.readouterr().err.splitlines() == lines
