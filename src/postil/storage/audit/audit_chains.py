"""Checking the audit: every chain whole and unchanged, every opening with its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from postil.core.effects.witness import Report, Unended
from postil.storage.audit import audit_records as audit
from postil.storage.audit.audit_records import Head, Record
from postil.storage.holder import is_alive

MOST_LISTED = 100
RUNNING_SECONDS = 900.0
"""For how long an opening without an end counts as running, where its process cannot be seen."""


class _Chain(NamedTuple):
    n: int
    digest: str
    process: str
    at: float


def verify(values: Iterable[tuple[str, bytes]], heads: Mapping[str, Head | None]) -> Report:
    """Read the whole audit and check it. The heads are of a moment before the records were read."""
    chains: dict[str, _Chain] = {}
    opened: dict[tuple[str, int], Record] = {}
    stored: set[tuple[str, int]] = set()
    digests: dict[str, str] = {}
    broken: list[str] = []
    links: list[tuple[str, tuple[str, str]]] = []
    gaps: list[str] = []
    count = unchained = last = writes = 0
    for key, value in values:
        count += 1
        digests[key] = audit.digest(value)
        record = audit.decode(value)
        last = _note_gap(last, key, record, gaps)
        if record is None:
            broken.append(f"record {key} cannot be read")
        elif not record.kind:
            unchained += 1
        else:
            chains[record.writer] = _follow(chains.get(record.writer), record, key, digests[key], broken)
            place = (record.writer, record.of)
            if record.kind == "begin" and record.after is not None:
                links.append((key, record.after))
            elif record.kind == "open":
                opened[record.writer, record.n] = record
                writes += 1
            elif record.kind == "stored":
                stored.add(place)
            elif record.kind == "end":
                opened.pop(place, None)
    broken += [
        f"record {key} follows {at}, which is gone or changed" for key, (at, was) in links if digests.get(at) != was
    ]
    broken += _compare_heads(chains, heads) + gaps
    unended = [
        Unended(record.at, record.principal, record.operation, record.object, place in stored, _runs(chains[place[0]]))
        for place, record in opened.items()
    ]
    return Report(count, len(chains), unchained, broken[:MOST_LISTED], unended[-MOST_LISTED:], writes)


def _note_gap(last: int, key: str, record: Record | None, gaps: list[str]) -> int:
    """Returns the number of this record in the whole log; says whether there is a gap before it.

    Numbers are given out in the transaction that uses them. A beginning takes two: see `_find_last` in `audit_log`.
    """
    number = int(key) if key.isascii() and key.isdigit() else last
    used = 2 if record is None or record.kind == "begin" else 1
    if number > last + used:
        gaps.append(f"records behind {last:016d} and before {key} are gone")
    return number


def _follow(chain: _Chain | None, record: Record, key: str, digest: str, broken: list[str]) -> _Chain:
    """Returns the chain with this record at its end; says what does not fit."""
    if record.kind == "begin":
        if chain is not None or record.n != 0:
            broken.append(f"record {key} begins a chain that has begun before")
        return _Chain(record.n, digest, record.process, record.at)
    if chain is None:
        broken.append(f"the chain {record.writer} has lost its beginning: record {key} has number {record.n}")
        return _Chain(record.n, digest, "", record.at)
    if record.n != chain.n + 1:
        broken.append(f"the chain {record.writer} has number {record.n} behind {chain.n} (record {key})")
    elif record.before != chain.digest:
        broken.append(f"the record before {key} in the chain {record.writer} was changed")
    return chain._replace(n=record.n, digest=digest, at=record.at)


def _compare_heads(chains: dict[str, _Chain], heads: Mapping[str, Head | None]) -> list[str]:
    """Returns what the heads say that the chains do not: a last record that was changed or taken away."""
    found = [
        f"the chain {writer} is gone: it had {head.n + 1} records"
        for writer, head in heads.items()
        if head is not None and writer not in chains
    ]
    found += [f"the head of the chain {writer} cannot be read" for writer, head in heads.items() if head is None]
    for writer, chain in chains.items():
        head = heads.get(writer)
        if head is None:
            found += [] if writer in heads else [f"the chain {writer} has no head"]
        elif chain.n < head.n or (chain.n == head.n and head.digest != chain.digest):
            found.append(f"the chain {writer} ends at number {chain.n}, not at {head.n} as its head says")
    return found


def _runs(chain: _Chain) -> bool:
    return bool(chain.process) and is_alive(chain.process, chain.at, RUNNING_SECONDS)
