"""Random questions, and what they should find."""

from __future__ import annotations

import datetime
import random

from postil.tracker import events as ev
from postil.tracker.model import Entity
from postil.tracker.store import Store

NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


LABELS = ["a", "b", "c"]


PEOPLE = ["Ann <ann@x>", "Bob <bob@y>"]


STATUSES = ["open", "closed", "draft"]


def fill(store: Store, count: int, dice: random.Random) -> list[Entity]:
    ids = [ev.new_entity_id() for _ in range(count)]
    miles = [ev.new_entity_id() for _ in range(2)]
    with store.transaction() as tx:
        for i, mile in enumerate(miles):
            tx.write(ev.Created, mile, kind="milestone", title=f"Mile {i}")
        for id_ in ids:
            tx.write(
                ev.Created,
                id_,
                kind="issue",
                title=dice.choice(["Crash on start", "crash on exit", "Docs", "Zeta"]),
                status=dice.choice(STATUSES),
                description=dice.choice(["", "needs Words", "nothing"]),
                labels=tuple(sorted(dice.sample(LABELS, dice.randrange(3)))),
                milestone=dice.choice([None, *miles]),
                due=dice.choice([None, "2026-02-01", "2026-04-01"]),
                a=dice.choice(PEOPLE),
                ts=f"2026-0{dice.randrange(1, 4)}-0{dice.randrange(1, 10)}T00:00:00.000Z",
                assignees=tuple(dice.sample(["ann", "bob"], dice.randrange(2))),
            )
        for id_ in dice.sample(ids, count // 2):
            tx.write(ev.Commented, id_, c=ev.new_event_id(), body=dice.choice(["words here", "else"]))
    entities = [store.entity(id_) for id_ in [*miles, *ids]]
    return [entity for entity in entities if entity is not None]


def random_filter(dice: random.Random, depth: int = 0) -> str:
    if depth < 3 and dice.random() < 0.4:
        left, right = random_filter(dice, depth + 1), random_filter(dice, depth + 1)
        return dice.choice([f"({left} and {right})", f"({left} or {right})", f"not ({left})"])
    return dice.choice([
        f"status {dice.choice(['==', '!='])} {dice.choice(STATUSES)}",
        f"status in [{dice.choice(STATUSES)}, {dice.choice(STATUSES)}]",
        f"labels {dice.choice(['contains', '=', '!='])} {dice.choice(LABELS)}",
        f"labels in [{dice.choice(LABELS)}, zzz]",
        f"assignee {dice.choice(['contains', '!='])} {dice.choice(['ann', 'bob'])}",
        f"title {dice.choice(['contains', '~', '==', '!='])} {dice.choice(['Crash', 'crash', 'Docs', 'Zeta'])}",
        f"milestone {dice.choice(['==', '!='])} {dice.choice(['none', chr(34) + 'Mile 0' + chr(34)])}",
        f"author {dice.choice(['==', '!=', '~'])} {dice.choice(['Ann', 'bob@y', 'nobody'])}",
        f"created {dice.choice(['>', '<', '>=', '<=', '=='])} 2026-02{dice.choice(['', '-05'])}",
        f"due {dice.choice(['>', '<', '!='])} 2026-02-01",
        f"comments {dice.choice(['=', '>', '<='])} {dice.choice([0, 1])}",
        f"has_comments == {dice.choice(['true', 'no'])}",
        f"kind == {dice.choice(['issue', 'milestone'])}",
        f"text ~ {dice.choice(['WORDS', 'docs', 'nothing'])}",
    ])  # fmt: skip
