"""Stalls: the shared state hangs at random moments of writes. Whatever a writer is told has to be so afterwards."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from postil.core.ports import State
from postil.storage.failures import StateAway, StateBusy, StateUnclear


class Stalled(NamedTuple):
    """What writers were told, and what was not so."""

    stalls: int
    acknowledged: int
    refused: int
    unknown: int
    lost: int
    """Acknowledged, and not there."""
    denied: int
    """Refused as unmade, and there."""


def stall_server(
    state: State, pause: Callable[[], None], go_on: Callable[[], None], stalls: int, chance: random.Random
) -> Stalled:
    """Write while the server hangs so many times, for up to four seconds."""
    over = threading.Event()
    told: dict[int, str] = {}

    def write(first: int) -> None:
        number = first
        while not over.is_set():
            number += 1
            try:
                with state.writing() as changes:
                    changes.put("stalls", f"{number:09d}", b"v" * 200)
                    time.sleep(0.002)  # so that stalls fall into blocks, too
                told[number] = "acknowledged"
            except StateUnclear:
                told[number] = "unknown"
            except (StateAway, StateBusy):
                told[number] = "refused"
                time.sleep(0.05)

    writers = [threading.Thread(target=write, args=[n * 1_000_000]) for n in range(3)]
    for writer in writers:
        writer.start()
    for _ in range(stalls):
        time.sleep(chance.uniform(0.02, 0.3))
        pause()
        time.sleep(chance.choice([0.1, 0.5, 1.5, 4.0]))
        go_on()
    over.set()
    for writer in writers:
        writer.join()
    with state.reading() as records:
        there = {int(key) for key, _ in records.range("stalls")}
    by = {word: {n for n, said in told.items() if said == word} for word in ("acknowledged", "refused", "unknown")}
    counted = (len(by["acknowledged"]), len(by["refused"]), len(by["unknown"]))
    return Stalled(stalls, *counted, len(by["acknowledged"] - there), len(by["refused"] & there))
