"""The meanings that several operations share."""

from postil.core.arguments.described import MEANINGS, describe_fields


def test_what_an_operation_says_itself_stays() -> None:
    schema = {"properties": {"limit": {"type": "integer"}, "title": {"description": "mine"}, "odd": {"type": "string"}}}
    assert describe_fields(schema)["properties"] == {
        "limit": {"description": MEANINGS["limit"], "type": "integer"},
        "title": {"description": "mine"},
        "odd": {"type": "string"},
    }
    assert describe_fields({"type": "object"}) == {"type": "object"}
