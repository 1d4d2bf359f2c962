"""A delivery is kept as it came."""

from __future__ import annotations

import msgspec

from postil.core.delivery import Delivery


def test_a_delivery_survives_being_kept_with_its_body_byte_for_byte() -> None:
    body = b'{"object_kind" :  "push","n":1.0}'
    delivery = Delivery("d-1", "Push Hook", None, "group/project", 1.5, msgspec.Raw(body))
    kept = msgspec.json.decode(msgspec.json.encode(delivery), type=Delivery)
    assert (kept.id, kept.event, kept.project_id, kept.project) == ("d-1", "Push Hook", None, "group/project")
    assert bytes(kept.body) == body
