"""What a write answers: one sentence, and one of two sets of keys."""

from __future__ import annotations

import msgspec
import pytest

from postil.tracker.operations.write_answers import Changed, Claimed, CommentAdded, Created, Done, LabelsChanged

ID = "0123456789abcdef"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Changed(id=ID, kind="issue", title="T", status="open", changed=["title"]), "Issue 01234567 “T” [open]: title"),
        (
            Changed(id=ID, kind="issue", title="T", status="open", changed=[]),
            "Issue 01234567 “T” [open]: nothing to change",
        ),
        (Changed(id=ID, kind="issue", status="closed", changed=True), f"Issue {ID} closed"),
        (Changed(id=ID, kind="issue", status="closed", changed=False), ""),
        (
            LabelsChanged(resource="issue", resource_id=ID, changed=True, added=["a"], removed=["b"], current=["a"]),
            "+a -b\nLabels: a",
        ),
        (
            LabelsChanged(resource="issue", resource_id=ID, changed=False, added=[], removed=[], current=[]),
            "nothing to change\nLabels: -",
        ),
        (CommentAdded(id=ID, comment_id="c", ts=""), f"Comment c recorded on {ID}"),
        (
            CommentAdded(resource="issue", resource_id=ID, body="b", preview="b", created=False, dry_run=True),
            f"Would comment on issue {ID}:\nb",
        ),
        (Claimed(id=ID, title="T", who="", until=""), "01234567 “T” is free again"),
        (Done(done="It is done"), "It is done"),
    ],
)
def test_an_answer_says_what_happened(answer: Changed, said: str):
    assert answer.for_model() == said
    assert answer.for_person() is None  # people read the same


def test_the_tools_answer_and_the_commands_answer_have_no_keys_of_one_another():
    tool = msgspec.to_builtins(Created(id=ID, title="T", status="open", kind="issue", changed=["created"]))
    shell = msgspec.to_builtins(
        Created(id=ID, title="T", status="open", kind="issue", description=None, labels=(), initial_comment=False)
    )
    assert set(tool) == {"id", "title", "status", "kind", "changed"}
    assert set(shell) == {"id", "title", "status", "kind", "description", "labels", "initial_comment"}


def test_an_answer_kept_for_an_idempotency_key_reads_again_as_itself():
    for answer in (
        LabelsChanged(id=ID, kind="issue", title="T", status="open", changed=["+a"]),
        LabelsChanged(resource="issue", resource_id=ID, changed=True, added=["a"], removed=[], current=["a"]),
        Changed(id=ID, kind="issue", status="open", changed=True),
    ):
        assert msgspec.json.decode(msgspec.json.encode(answer), type=type(answer)) == answer
