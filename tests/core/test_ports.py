"""What has two implementations has the same shape in both."""

from __future__ import annotations

import inspect

import msgspec
import pytest

from postil.core.ports import Delivery, EphemeralStore, Keys, State
from postil.storage import ephemeral, idempotency, memory, sqlite
from postil.storage.postgresql import postgres
from postil.storage.redis_store import redis, redis_ephemeral


def implementations(module: object, port: type) -> list[type]:
    wanted = {name for name in vars(port) if not name.startswith("_")}
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind) and kind.__module__ == module.__name__]  # type: ignore[attr-defined]
    return [kind for kind in kinds if wanted <= set(dir(kind))]


@pytest.mark.parametrize(
    ("port", "modules"),
    [
        (State, (memory, sqlite, redis, postgres)),
        (EphemeralStore, (ephemeral, redis_ephemeral)),
        (Keys, (idempotency,)),
    ],
)
def test_every_implementation_takes_what_the_port_says(port: type, modules: tuple[object, ...]) -> None:
    for module in modules:
        (kind,) = implementations(module, port)
        for name, declared in vars(port).items():
            if not name.startswith("_"):
                assert parameters(getattr(kind, name)) == parameters(declared), f"{kind.__name__}.{name}"
                assert inspect.iscoroutinefunction(getattr(kind, name)) == inspect.iscoroutinefunction(declared)


def parameters(function: object) -> list[tuple[str, object, object]]:
    signature = inspect.signature(function)  # type: ignore[arg-type]
    return [(each.name, each.kind, each.default) for each in signature.parameters.values()]


def test_a_delivery_survives_being_kept_with_its_body_byte_for_byte() -> None:
    body = b'{"object_kind" :  "push","n":1.0}'
    delivery = Delivery("d-1", "Push Hook", None, "group/project", 1.5, msgspec.Raw(body))
    kept = msgspec.json.decode(msgspec.json.encode(delivery), type=Delivery)
    assert (kept.id, kept.event, kept.project_id, kept.project) == ("d-1", "Push Hook", None, "group/project")
    assert bytes(kept.body) == body
