"""The shell's commands for identities: create, list, adopt, protect."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Meta

from postil.core.failure import Conflict
from postil.core.operation import reads, writes
from postil.tracker.events import Created, Set, new_entity_id
from postil.tracker.failures import InvalidParams
from postil.tracker.issues import Desk, checked_text, checked_title, one_line
from postil.tracker.log.replica import known_replica
from postil.tracker.operations.assistant import Id
from postil.tracker.shell.input import text_or_file
from postil.tracker.state.identities import Adopted, Identities, Identity, adopt_here, identity_of
from postil.tracker.store import Pen
from postil.tracker.vocabulary import IDENTITY

_FINGERPRINT = re.compile(r"[0-9A-F]{16,64}\Z")
Fingerprint = Annotated[str, Meta(description="of a PGP key, in hexadecimal digits")]


class AlreadyAdopted(Conflict):
    """Another clone has adopted this identity."""


class IdentityCommands(Desk):
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
        key = _key(protect_pgp) if protect_pgp is not None else ""
        if protect_pgp_armored is not None and not key:
            raise InvalidParams("A key was given without its fingerprint", advice="Add --protect-pgp FINGERPRINT")
        if key and not adopt:
            raise InvalidParams("Only an adopted identity can be protected", advice="Add --adopt")
        armored = text_or_file("key", None, protect_pgp_armored) or ""
        with self.writing() as pen:
            pen.message = message
            id_ = new_entity_id()
            pen.write(Created, id_, kind=IDENTITY, title=checked_title(display_name))
            self._set(pen, id_, email=_address(email), login=one_line("login", login), signature=signature)
            if adopt:
                self._set(pen, id_, adopted_by=pen.replica)
            if key:
                self._set(pen, id_, **{f"pgp:{key}": armored or "-"})
        return self._settled(id_)

    @reads("identity.list", tool=False, shell="identity list", output_depth=0, spellings={"mile list identity": {}})
    def identity_list(self) -> Identities:
        """List identities"""
        self.fresh()
        with self.store.index.lock:
            rows = self.store.index.db.execute("SELECT id FROM ent WHERE kind = ? ORDER BY created_l", (IDENTITY,))
            found = [self.store.entity(id_) for (id_,) in rows.fetchall()]
        return Identities([identity_of(entity) for entity in found if entity is not None])

    @writes(
        "identity.adopt",
        tool=False,
        shell="identity adopt",
        positional=("id",),
        spellings={"mile adopt identity": {}},
    )
    def identity_adopt(self, id: Id, signature: str = "") -> Identity:
        """Write as this identity in this clone from now on"""
        with self.writing() as pen:
            identity = identity_of(self.entity(id, IDENTITY))
            if identity.adopted_by and identity.adopted_by != pen.replica:
                raise AlreadyAdopted(
                    f"{identity.id[:8]} is adopted by the clone {identity.adopted_by}",
                    advice="Create another identity for this clone, with the same name if you like",
                )
            self._set(pen, identity.id, adopted_by=pen.replica, adoption_signature=signature)
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
        key, armored = _key(pgp_fingerprint), text_or_file("key", None, armored_key) or "-"
        with self.writing() as pen:
            identity = identity_of(self.entity(id, IDENTITY))
            if identity.status == "pending_adoption":
                raise InvalidParams("Only an adopted identity can be protected", advice="Adopt it first")
            if key not in identity.protections:
                self._set(pen, identity.id, **{f"pgp:{key}": checked_text("key", armored)})
        return self._settled(identity.id)

    def _set(self, pen: Pen, id_: str, **fields: str) -> None:
        for field, value in fields.items():
            if value:
                pen.write(Set, id_, f=field, value=checked_text(field, value))

    def _settled(self, id_: str) -> Identity:
        """The identity after a write; this clone writes under its name if it is the one that adopted it."""
        entity = self.store.entity(id_)
        assert entity is not None
        identity = identity_of(entity)
        mine = known_replica(self.store.repository)
        if mine is not None and identity.adopted_by == mine.id:
            adopt_here(self.store.repository, Adopted(identity.id, identity.display_name, identity.email))
        return identity


def _key(fingerprint: str) -> str:
    plain = fingerprint.replace(" ", "").upper().removeprefix("0X")
    if not _FINGERPRINT.match(plain):
        raise InvalidParams(
            f"`{fingerprint[:64]}` is not a fingerprint", advice="Give its 40 hexadecimal digits, as gpg prints them"
        )
    return plain


def _address(email: str) -> str:
    line = one_line("address", email)
    if "@" not in line or any(mark in line for mark in "<> "):
        raise InvalidParams(f"`{email[:64]}` is not an address", advice="Write it as name@example.org")
    return line
