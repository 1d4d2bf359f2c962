"""20,000 odd frames over each transport. `make fuzz` sends more; a failure prints the seed that shows it again."""

import json

import pytest

from postil.wire.protocol import jsonrpc
from tests.fuzz import over_http, over_stdio
from tests.fuzz.frames import frames, readable_id

SEED = 20261115
FRAMES = 20_000


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_stdio_survives_twenty_thousand_odd_frames_and_answers_every_readable_id() -> None:
    print(f"seed {SEED}")
    assert over_stdio.fuzz(SEED, FRAMES) > FRAMES / 3


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_http_survives_twenty_thousand_odd_requests_and_answers_every_readable_id() -> None:
    print(f"seed {SEED}")
    assert over_http.fuzz(SEED, FRAMES) > FRAMES / 4


def test_the_same_seed_gives_the_same_frames() -> None:
    assert list(frames(7, 500)) == list(frames(7, 500))
    assert list(frames(7, 500)) != list(frames(8, 500))


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        ({"jsonrpc": "2.0", "id": 7, "method": "ping"}, 7),
        ({"jsonrpc": "1.0", "id": "a", "method": 5}, "a"),
        ({"id": "a"}, "a"),
        ({"jsonrpc": "2.0", "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 7, "result": {}}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": "x" * 257, "method": "ping"}, None),
    ],
)
def test_the_judge_knows_which_frames_want_an_answer(frame: dict[str, object], found: object) -> None:
    assert readable_id(json.dumps(frame).encode()) == found


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc": "2.0", "id": "f6003\xe5\xce", "method',
        b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}',
    ],
)
def test_a_frame_that_once_stopped_the_server_is_refused(frame: bytes) -> None:
    refused = jsonrpc.parse(frame)
    assert isinstance(refused, jsonrpc.Invalid)
    assert jsonrpc.encode_error(refused.id, refused.code, refused.message)
