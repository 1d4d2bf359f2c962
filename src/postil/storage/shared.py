"""The state that replicas share, by its address: PostgreSQL or Redis; and whether it keeps what it acknowledges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from postil.core import codes
from postil.core.failure import Failure, describe_install
from postil.storage.failures import StateUnable

if TYPE_CHECKING:
    from postil.core.ports import State

POSTGRESQL = ("postgresql://", "postgres://")
REDIS = ("redis://", "rediss://", "unix://")


class Promising(Protocol):
    """A state that can be asked what its server was told to promise."""

    def promise(self) -> tuple[str, list[str]]:
        """Returns the promise in words, and what must be changed for nothing acknowledged to be lost."""
        ...


class BadState(Failure):
    """An address that no state can be kept at."""

    code = codes.INVALID_PARAMS
    exit_status = 2


class NotDurable(Failure):
    """The shared state may lose what it acknowledged."""

    exit_status = 7

    def __init__(self, where: str, faults: list[str]) -> None:
        super().__init__(
            f"{where} may lose what was acknowledged: {'; '.join(faults)}",
            advice='Change that, or accept the loss with state.durability = "none" (POSTIL_STATE_DURABILITY)',
        )


def open_shared(address: str) -> State:
    """Returns the state at this address. Raises BadState."""
    if address.startswith(POSTGRESQL):
        from postil.storage.postgresql.postgres import PostgresState

        try:
            return PostgresState(address)
        except ImportError:  # an extra
            raise _missing("PostgreSQL", "postgres") from None
    if address.startswith(REDIS):
        from postil.storage.redis_store.redis import RedisState

        try:
            return RedisState(address)
        except ImportError:  # an extra
            raise _missing("Redis", "redis") from None
    raise BadState(
        f"State cannot be kept at {address.partition('://')[0]}://… by this version",
        advice="Name a file, postgresql://… or redis://… with POSTIL_STATE, or leave it out",
    )


def check_promise(state: State, address: str, durability: str) -> tuple[str, list[str]]:
    """Returns where the state is and what it promises; and what is wrong with that, as the operator wants it judged."""
    where = describe(address)
    if durability == "stated":
        return f"{where}: the operator states that nothing acknowledged is lost", []
    promise, faults = _ask(state, where)
    return f"{where}: {promise}", ([] if durability == "none" else faults)


def require_promise(state: State, address: str, durability: str) -> None:
    """Raises NotDurable where the state may lose what it acknowledges, and nobody accepted that."""
    if durability == "checked":
        _, faults = _ask(state, describe(address))
        if faults:
            raise NotDurable(describe(address), faults)


def describe(address: str) -> str:
    """Returns where the state is, without a password."""
    kind = "PostgreSQL" if address.startswith(POSTGRESQL) else "Redis"
    where = address.partition("://")[2].rpartition("@")[2].partition("?")[0]
    return f"{kind} at {where if where.strip('/') else 'this machine'}"


def _ask(state: State, where: str) -> tuple[str, list[str]]:
    promising: Promising = state  # type: ignore[assignment]  # both can be asked
    try:
        return promising.promise()
    except StateUnable as unable:
        raise NotDurable(
            where,
            [f'it does not tell its settings ({unable.message}): state them with state.durability = "stated"'],
        ) from unable


def _missing(what: str, extra: str) -> BadState:
    return BadState(f"State in {what} needs the extra '{extra}'", advice=f"Install it with: {describe_install(extra)}")
