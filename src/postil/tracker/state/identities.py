"""Identities: people who write, as entities of the tracker, and the one that this clone has adopted.

An identity is pending until a clone adopts it, and protected once it names a key. Nothing is signed or checked with
that key here: who wrote what is as trustworthy as the clone that pushed it.
"""

from __future__ import annotations

import os
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from postil.core.answer import Answer
from postil.tracker.model import Entity
from postil.tracker.text import align, flatten
from postil.workspace.disk import read_regular
from postil.workspace.files import atomic_write, make_folder
from postil.workspace.paths import RelativePath
from postil.workspace.repository import Repository

ADOPTED_FILE = "author.json"
_FILE = RelativePath(f"postil/{ADOPTED_FILE}")


class Identity(Answer, frozen=True, kw_only=True):
    """One identity, as `list identity --json` has it."""

    id: str
    status: Literal["pending_adoption", "adopted", "protected"]
    display_name: str
    email: str
    login: str | UnsetType = UNSET
    signature: str | UnsetType = UNSET
    adopted_by: str | UnsetType = UNSET
    adoption_signature: str | UnsetType = UNSET
    protections: list[str] = msgspec.field(default_factory=list[str])
    """Fingerprints of PGP keys."""

    def for_model(self) -> str:
        """A sentence."""
        return f"Identity {self.id} {flatten(self.display_name)} <{flatten(self.email)}> is {self.status}"


class Identities(Answer, frozen=True):
    """All identities."""

    identities: list[Identity]

    def plain(self) -> list[Identity]:
        """The JSON form: an array, as the contract's program has it."""
        return self.identities

    def for_model(self) -> str:
        """A table."""
        rows = [
            [one.id[:8], one.status, one.adopted_by or "-", flatten(f"{one.display_name} <{one.email}>")]
            for one in self.identities
        ]
        return align([["ID", "STATUS", "ADOPTED_BY", "DISPLAY NAME"], *rows]) if rows else "No identities"


class Adopted(msgspec.Struct, frozen=True):
    """Who writes in this clone."""

    id: str
    name: str
    mail: str


def make_identity(entity: Entity) -> Identity:
    """Returns an entity as the identity it is."""
    told = entity.fields
    keys = sorted(key.removeprefix("pgp:") for key in told if key.startswith("pgp:"))
    adopted = told.get("adopted_by")
    return Identity(
        id=entity.id,
        status="pending_adoption" if not adopted else "protected" if keys else "adopted",
        display_name=entity.title,
        email=told.get("email", ""),
        login=told.get("login") or UNSET,
        signature=told.get("signature") or UNSET,
        adopted_by=adopted or UNSET,
        adoption_signature=told.get("adoption_signature") or UNSET,
        protections=keys,
    )


def read_adopted(repository: Repository) -> Adopted | None:
    """Returns the identity that this clone has adopted, if it has one."""
    content = read_regular(os.path.join(repository.common_dir, _FILE), 4096)
    try:
        return None if content is None else msgspec.json.decode(content, type=Adopted)
    except (ValueError, RecursionError):
        return None


def write_adopted(repository: Repository, adopted: Adopted) -> None:
    """Let this clone write as this identity from now on."""
    make_folder(repository.common_dir, "postil", 0o700)
    atomic_write(repository.common_dir, _FILE, msgspec.json.encode(adopted) + b"\n")
