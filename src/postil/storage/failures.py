"""What can go wrong with the state database, each with what to do next."""

from __future__ import annotations

from postil.core import call
from postil.core.failure import Conflict, StorageFailed

ASK = "Tell whoever runs the server: `postil doctor` there says more"


def _tells() -> bool:
    """Returns whether the caller may be told where the state is, and what its server says of itself."""
    return call.current().reveals_paths


def _name(path: str) -> str:
    return path if _tells() else "of the server"


def _because(why: str) -> str:
    return f": {why}" if _tells() else ""


class StateDamaged(StorageFailed):
    """The file is not a database of ours any more. It is never overwritten."""

    def __init__(self, path: str, why: str) -> None:
        is_file = path.startswith("/")
        super().__init__(
            f"The state database {_name(path)} is damaged{_because(why)}",
            advice=ASK
            if not _tells()
            else f"It was left as it is. Run `postil doctor`, or move it away (`mv {path} {path}.damaged`): "
            "the next command makes a new one"
            if is_file
            else "It was left as it is. Mend its tables, or restore a backup (`postil restore`) into an empty database",
        )


class StateNewer(StorageFailed):
    """Written by a later version, whose meaning we do not know."""

    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(
            f"The state database {_name(path)} has format {found}; this version of Postil knows up to {known}",
            advice="Update Postil; the database was left as it is",
        )


class StateUnwritable(StorageFailed):
    """The folder or the file does not let us write."""

    def __init__(self, path: str, why: str) -> None:
        is_file = path.startswith("/")
        super().__init__(
            f"The state database {_name(path)} cannot be {'written' if is_file else 'used'}{_because(why)}",
            advice=ASK
            if not _tells()
            else "Make its folder writable for you, or point XDG_STATE_HOME to another place"
            if is_file
            else "Check the user, the password and the rights behind POSTIL_STATE and POSTIL_EPHEMERAL",
            status=503,
        )


class StateFull(StorageFailed):
    """The disk or the quota is full; what was stored before is whole."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"The disk is full: nothing was added to the state database {_name(path)}",
            advice="Free some space and do it again; everything stored before is intact",
            status=503,
        )


class StateBusy(Conflict):
    """Another process kept the database for longer than we wait."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__(
            f"Other processes kept the state database {_name(path)} busy for {seconds:g} seconds",
            advice="Do it again in a moment",
        )


class StateAway(StorageFailed):
    """The shared state cannot be reached: reads may be tried again, writes were not made."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The shared state cannot be reached{_because(why)}",
            advice="Nothing was changed: try again in a moment",
            status=503,
        )


class StateReadOnly(StateAway):
    """The shared state answers, and takes no writes: a standby, or set so by its administrator."""

    def __init__(self, where: str, why: str) -> None:
        said = _because(f"{where} says: {why}")
        StorageFailed.__init__(
            self,
            f"The shared state takes no writes: it is a standby, or was made read-only{said}",
            advice=f"Nothing was changed. {ASK}"
            if not _tells()
            else "Nothing was changed. While a standby takes over, try again in a moment; else make it writable "
            "(default_transaction_read_only = off) or name the primary server in POSTIL_STATE",
            status=503,
        )


class EphemeralAway(StorageFailed):
    """The store of what may vanish does not answer: each process goes on alone."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"POSTIL_EPHEMERAL does not answer, so limits, nonces and sessions are each replica's own: {why}",
            advice="Start that Redis, or mend the address",
        )


class StateUnable(StorageFailed):
    """The shared state does not let us ask for its settings."""

    def __init__(self, why: str) -> None:
        super().__init__(why, advice='Say what it promises with state.durability = "stated" or "none"')


class StateUnclear(StorageFailed):
    """The shared state fell silent while it committed: the write may have been made."""

    doubtful = True
    in_state = True

    def __init__(self, why: str) -> None:
        super().__init__(
            f"Whether this was stored is not known: the shared state fell silent while it committed{_because(why)}",
            advice="Look whether it is there. A call with an idempotency key may be repeated with it: that finds out",
            status=504,
            outcome="unknown",
        )


class KeyReused(Conflict):
    """An idempotency key that came before with other arguments."""

    def __init__(self) -> None:
        super().__init__(
            "This idempotency key was used before with other arguments",
            advice="Use a new key for a new request; repeat a key only with exactly the same arguments",
            status=422,
        )


class KeyInterrupted(Conflict):
    """The first call with this key died before it could say how it ended."""

    def __init__(self) -> None:
        super().__init__(
            "The first call with this idempotency key was interrupted; whether it took effect is not known",
            advice="Look whether the effect is there; if it is not, call again with a new key",
            status=409,
            outcome="unknown",
        )


class KeyEffected(Conflict):
    """The first call with this key took effect, but its answer was not stored."""

    def __init__(self) -> None:
        super().__init__(
            "The first call with this idempotency key took effect, but its answer was lost",
            advice="It is done: do not repeat it. Read the object to see it",
            status=409,
            outcome="made",
        )


class KeyInFlight(Conflict):
    """The first call with this key still runs."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The first call with this idempotency key is still running after {seconds:g} seconds",
            advice="Repeat the call later with the same key to get its answer",
            status=409,
        )
