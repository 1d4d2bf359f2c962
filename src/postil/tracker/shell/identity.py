"""The shell's commands for identities: create, list, adopt, protect."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

from postil.core.failure import Conflict
from postil.core.operation import reads, writes
from postil.tracker.events import Created, Set, new_entity_id
from postil.tracker.failures import InvalidParams
from postil.tracker.issues import Issues
from postil.tracker.log.replica import read_replica
from postil.tracker.operations.assistant import Id
from postil.tracker.shell.input import read_text_or_file
from postil.tracker.state.identities import Adopted, Identities, Identity, make_identity, write_adopted
from postil.tracker.store import Transaction
from postil.tracker.validation import check_line, check_text, check_title
from postil.tracker.vocabulary import IDENTITY

_FINGERPRINT = re.compile(r"[0-9A-F]{16,64}\Z")
Fingerprint = Annotated[str, Meta(description="of a PGP key, in hexadecimal digits")]


class AlreadyAdopted(Conflict):
    """Another clone has adopted this identity."""


class IdentityCommands(Issues):
    """`git mile create|list|adopt|protect identity`; also `postil identity …`."""

    @writes("identity.create", tool=False, shell="identity create", spellings={"mile create identity": {}})
    def identity_create(
        self,
        display_name: str,
        email: str,
        login: str = "",
        signature: str = "",
        message: Annotated[str, Meta(description="a note for the history")] = "",
        adopt: Annotated[bool, Meta(description="write as this identity in this clone from now on")] = False,
        protect_pgp: Fingerprint | None = None,
        protect_pgp_armored: Annotated[str, Meta(description="a file with the public key")] | None = None,
    ) -> Identity:
        """Create an identity: a person who writes issues, under a name and an address"""
        key = _check_fingerprint(protect_pgp) if protect_pgp is not None else ""
        if protect_pgp_armored is not None and not key:
            raise InvalidParams("A key was given without its fingerprint", advice="Add --protect-pgp FINGERPRINT")
        if key and not adopt:
            raise InvalidParams("Only an adopted identity can be protected", advice="Add --adopt")
        armored = read_text_or_file("key", None, protect_pgp_armored) or ""
        with self.transaction() as tx:
            tx.message = message
            id_ = new_entity_id()
            tx.write(Created, id_, kind=IDENTITY, title=check_title(display_name))
            self._set(tx, id_, email=_check_address(email), login=check_line("login", login), signature=signature)
            if adopt:
                self._set(tx, id_, adopted_by=tx.replica)
            if key:
                self._set(tx, id_, **{f"pgp:{key}": armored or "-"})
        return self._settled(id_)

    @reads("identity.list", tool=False, shell="identity list", output_depth=0, spellings={"mile list identity": {}})
    def identity_list(self) -> Identities:
        """List identities"""
        self.refresh()
        with self.store.index.lock:
            rows = self.store.index.db.execute("SELECT id FROM ent WHERE kind = ? ORDER BY created_l", (IDENTITY,))
            found = [self.store.entity(id_) for (id_,) in rows.fetchall()]
        return Identities([make_identity(entity) for entity in found if entity is not None])

    @writes(
        "identity.adopt",
        tool=False,
        shell="identity adopt",
        positional=("id",),
        spellings={"mile adopt identity": {}},
    )
    def identity_adopt(self, id: Id, signature: str = "") -> Identity:
        """Write as this identity in this clone from now on"""
        with self.transaction() as tx:
            identity = make_identity(self.entity(id, IDENTITY))
            if identity.adopted_by and identity.adopted_by != tx.replica:
                raise AlreadyAdopted(
                    f"{identity.id[:8]} is adopted by the clone {identity.adopted_by}",
                    advice="Create another identity for this clone, with the same name if you like",
                )
            self._set(tx, identity.id, adopted_by=tx.replica, adoption_signature=signature)
        return self._settled(identity.id)

    @writes(
        "identity.protect",
        tool=False,
        shell="identity protect",
        positional=("id",),
        spellings={"mile protect identity": {}},
    )
    def identity_protect(
        self,
        id: Id,
        pgp_fingerprint: Fingerprint,
        armored_key: Annotated[str, Meta(description="a file with the public key")] | None = None,
    ) -> Identity:
        """Note the PGP key of an adopted identity; a key that is noted already stays as it is"""
        key, armored = _check_fingerprint(pgp_fingerprint), read_text_or_file("key", None, armored_key) or "-"
        with self.transaction() as tx:
            identity = make_identity(self.entity(id, IDENTITY))
            if identity.status == "pending_adoption":
                raise InvalidParams("Only an adopted identity can be protected", advice="Adopt it first")
            if key not in identity.protections:
                self._set(tx, identity.id, **{f"pgp:{key}": check_text("key", armored)})
        return self._settled(identity.id)

    def _set(self, tx: Transaction, id_: str, **fields: str) -> None:
        for field, value in fields.items():
            if value:
                tx.write(Set, id_, f=field, value=check_text(field, value))

    def _settled(self, id_: str) -> Identity:
        """The identity after a write; this clone writes under its name if it is the one that adopted it."""
        entity = self.store.entity(id_)
        assert entity is not None
        identity = make_identity(entity)
        mine = read_replica(self.store.repository)
        if mine is not None and identity.adopted_by == mine.id:
            write_adopted(self.store.repository, Adopted(identity.id, identity.display_name, identity.email))
        return identity


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
