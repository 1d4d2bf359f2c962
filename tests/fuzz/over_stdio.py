"""Fuzzing over stdio: a thousand frames, then a good call; every readable id must have come back by then."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from tests.fuzz.frames import cancelled_id, frames, readable_id
from tests.needs import ROOT

PATIENCE = 20.0
GOOD = {"method": "tools/call", "params": {"name": "echo", "arguments": {"text": "still here"}}}


class Faults(AssertionError):
    """What the server did wrong, with the seed that shows it again."""


def fuzz(seed: int, count: int) -> int:
    """Send `count` frames; gives how many of them had to be answered, and were."""
    # stderr is not read here, so it must not fill a pipe: the log of a fuzzed server is long.
    command = [sys.executable, "-m", "tests.conformance.serve", "--part", "echo"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            return Visit(process, seed).run(count)
        finally:
            process.kill()


class Visit:
    """One run against one process."""

    def __init__(self, process: subprocess.Popen[bytes], seed: int) -> None:
        self._process = process
        self._seed = seed
        self._answered: set[str | int] = set()
        self._good: dict[str, Any] = {}
        self._news = threading.Condition()
        self._garbage: list[bytes] = []
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def run(self, count: int) -> int:
        sent = frames(self._seed, count)
        must = 0
        for block in range(0, count, 1000):
            must += self._thousand(islice(sent, 1000), block)
        return must

    def _thousand(self, block: Iterator[bytes], number: int) -> int:
        expected: dict[str | int, bytes] = {}
        for frame in block:
            found = readable_id(frame)
            if found is not None:
                expected[found] = frame
            taken_back = cancelled_id(frame)
            if taken_back is not None:
                expected.pop(taken_back, None)
            self._write(frame)
        good = f"good-{number}"
        self._write(json.dumps({"jsonrpc": "2.0", "id": good, **GOOD}).encode())
        self._wait(lambda: good in self._good, f"no answer to a good call after frame {number + 1000}")
        if "still here" not in json.dumps(self._good[good]):
            raise self._fault(f"a wrong answer to a good call: {self._good[good]}")
        self._wait(lambda: expected.keys() <= self._answered, lambda: self._unanswered(expected))
        if self._garbage:
            raise self._fault(f"not a frame on stdout: {self._garbage[0][:300]!r}")
        self._answered.clear()
        return len(expected)

    def _write(self, frame: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(frame + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._fault(f"the server closed its stdin; last frame {frame[:300]!r}") from None

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answers = sound_answers(line)
            with self._news:
                if answers is None:
                    self._garbage.append(line)
                for answer in answers or ():
                    if "method" not in answer and answer.get("id") is not None:
                        self._answered.add(answer["id"])
                        if str(answer["id"]).startswith("good-"):
                            self._good[answer["id"]] = answer
                self._news.notify()
        with self._news:
            self._ended = True
            self._news.notify()

    def _wait(self, done: Any, complaint: Any) -> None:
        until = time.monotonic() + PATIENCE
        with self._news:
            while not done():
                left = until - time.monotonic()
                if self._ended or left <= 0:
                    said = complaint() if callable(complaint) else complaint
                    raise self._fault(f"{said}; {'the server died' if self._ended else 'in time'}")
                self._news.wait(left)

    def _unanswered(self, expected: dict[str | int, bytes]) -> str:
        missing = [(found, frame[:300]) for found, frame in expected.items() if found not in self._answered]
        return f"{len(missing)} ids without an answer, first {missing[0]}"

    def _fault(self, what: object) -> Faults:
        return Faults(f"seed {self._seed}: {what}")


def sound_answers(line: bytes) -> list[dict[str, Any]] | None:
    """The messages of a line of stdout, one or a batch; None where it is anything else."""
    try:
        said: Any = json.loads(line)
        messages = cast("list[dict[str, Any]]", said if isinstance(said, list) else [said])
        sound = all(
            message["jsonrpc"] == "2.0" and ("method" in message or ("result" in message) != ("error" in message))
            for message in messages
        )
    except (ValueError, KeyError, TypeError):
        return None
    return messages if sound and messages else None
