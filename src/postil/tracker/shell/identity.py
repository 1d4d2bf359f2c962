"""The shell's commands for identities: create, list, adopt, protect."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

from postil.core.failure import Conflict
from postil.core.operation import Spelling, reads, writes
from postil.tracker.events import Created, Set, new_entity_id
from postil.tracker.failures import InvalidParams
from postil.tracker.issues import Issues
from postil.tracker.log.replica import read_replica
from postil.tracker.operations.arguments import Id, Message
from postil.tracker.shell.input import read_text_or_file
from postil.tracker.state.identities import Adopted, Identities, Identity, make_identity, write_adopted
from postil.tracker.store import Transaction
from postil.tracker.validation import check_line, check_text, check_title
from postil.tracker.vocabulary import IDENTITY

_FINGERPRINT = re.compile(r"[0-9A-F]{16,64}\Z")
Fingerprint = Annotated[str, Meta(description="of a PGP key, in hexadecimal digits")]


KeyFile = Annotated[str, Meta(description="a file with the public key")]
_ADOPTS = "Write as this identity in this clone from now on"
_PROTECTS = "Note the PGP key of an adopted identity; a key that is noted already stays as it is"


def _spell(verb: str, settles: dict[str, object], says: str, requires: tuple[str, ...] = ()) -> list[Spelling]:
    """Returns `identity VERB` and, as the contract's program has it, `VERB identity`."""
    return [
        Spelling(words, settles, says, requires=requires) for words in (f"identity {verb}", f"mile {verb} identity")
    ]


class AlreadyAdopted(Conflict):
    """Another clone has adopted this identity."""


class IdentityCommands:
    """`git mile create|list|adopt|protect identity`; also `postil identity …`."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @writes(
        "identity_create",
        aliases=("identity.create",),
        toolset="extra",
        shell="identity create",
        shell_only=("adopt", "protect_pgp", "protect_pgp_armored"),
        spellings=(Spelling("mile create identity"),),
    )
    def create(
        self,
        display_name: str,
        email: str,
        login: str = "",
        signature: str = "",
        message: Message = "",
        adopt: Annotated[bool, Meta(description="write as this identity in this clone from now on")] = False,
        protect_pgp: Fingerprint | None = None,
        protect_pgp_armored: KeyFile | None = None,
    ) -> Identity:
        """Create an identity: a person who writes issues, under a name and an address"""
        key = _check_fingerprint(protect_pgp) if protect_pgp is not None else ""
        if protect_pgp_armored is not None and not key:
            raise InvalidParams("A key was given without its fingerprint", advice="Add --protect-pgp FINGERPRINT")
        if key and not adopt:
            raise InvalidParams("Only an adopted identity can be protected", advice="Add --adopt")
        armored = read_text_or_file("key", None, protect_pgp_armored) or "-"
        with self._issues.transaction(message=message) as tx:
            id_ = new_entity_id()
            tx.write(Created, id_, kind=IDENTITY, title=check_title(display_name))
            _set_fields(tx, id_, email=_check_address(email), login=check_line("login", login), signature=signature)
            if adopt:
                _set_fields(tx, id_, adopted_by=tx.replica)
            if key:
                _set_fields(tx, id_, **{f"pgp:{key}": armored})
        return self._finish(id_)

    @reads(
        "identity_list",
        aliases=("identity.list",),
        toolset="extra",
        shell="identity list",
        spellings=(Spelling("mile list identity"),),
    )
    def list_identities(self) -> Identities:
        """List identities"""
        store = self._issues.refresh()
        rows = store.index.query("SELECT id FROM ent WHERE kind = ? ORDER BY created_l", (IDENTITY,))
        found = [store.entity(id_) for (id_,) in rows]
        return Identities([make_identity(entity) for entity in found if entity is not None])

    @writes(
        "identity_update",
        aliases=("identity.update",),
        tool=False,
        positional=("id",),
        spellings=(
            *_spell("adopt", {"pgp_fingerprint": None, "armored_key": None}, _ADOPTS),
            *_spell("protect", {"signature": ""}, _PROTECTS, ("pgp_fingerprint",)),
        ),
    )
    def update(
        self,
        id: Id,
        signature: str = "",
        pgp_fingerprint: Fingerprint | None = None,
        armored_key: KeyFile | None = None,
    ) -> Identity:
        """Write as an identity in this clone from now on; with a fingerprint, note its PGP key"""
        key = _check_fingerprint(pgp_fingerprint) if pgp_fingerprint is not None else ""
        armored = read_text_or_file("key", None, armored_key) or "-"
        with self._issues.transaction() as tx:
            identity = make_identity(self._issues.find(id, IDENTITY))
            if key:
                if identity.status == "pending_adoption":
                    raise InvalidParams("Only an adopted identity can be protected", advice="Adopt it first")
                if key not in identity.protections:
                    _set_fields(tx, identity.id, **{f"pgp:{key}": armored})
            elif identity.adopted_by and identity.adopted_by != tx.replica:
                raise AlreadyAdopted(
                    f"{identity.id[:8]} is adopted by the clone {identity.adopted_by}",
                    advice="Create another identity for this clone, with the same name if you like",
                )
            else:
                _set_fields(tx, identity.id, adopted_by=tx.replica, adoption_signature=signature)
        return self._finish(identity.id)

    def _finish(self, id_: str) -> Identity:
        """Returns the identity after a write; from now on this clone writes under its name if it has adopted it."""
        store = self._issues.store
        entity = store.entity(id_)
        assert entity is not None
        identity = make_identity(entity)
        mine = read_replica(store.repository)
        if mine is not None and identity.adopted_by == mine.id:
            write_adopted(store.repository, Adopted(identity.id, identity.display_name, identity.email))
        return identity


def _set_fields(tx: Transaction, id_: str, **fields: str) -> None:
    for field, value in fields.items():
        if value:
            tx.write(Set, id_, f=field, value=check_text(field, value))


def _check_fingerprint(fingerprint: str) -> str:
    plain = fingerprint.replace(" ", "").upper().removeprefix("0X")
    if not _FINGERPRINT.match(plain):
        raise InvalidParams(
            f"`{fingerprint[:64]}` is not a fingerprint", advice="Give its 40 hexadecimal digits, as gpg prints them"
        )
    return plain


def _check_address(email: str) -> str:
    line = check_line("address", email)
    if "@" not in line or any(mark in line for mark in "<> "):
        raise InvalidParams(f"`{email[:64]}` is not an address", advice="Write it as name@example.org")
    return line
