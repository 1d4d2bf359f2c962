"""Answers to writers: the contract's own words on its face, and what can be done next everywhere else."""

from __future__ import annotations

from postil.comments.operations.written import Deleted


def test_the_contracts_face_says_of_a_deletion_what_is_published() -> None:
    deleted = Deleted("c_1", "src/a.ts", "postil comments restore c_1")
    assert deleted.for_contract() == "✅ Comment deleted\n\nComment ID: c_1\nFile: src/a.ts"
    assert deleted.for_person() == deleted.for_contract() + "\n\nTo undo it: `postil comments restore c_1`"
    assert deleted.for_model() == deleted.for_contract() + "\n\nTo undo it: comments_undo c_1"
