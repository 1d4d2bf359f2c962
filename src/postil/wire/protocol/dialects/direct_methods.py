"""Direct methods: any operation's name as a JSON-RPC method, single or in a batch. Spoken over HTTP.

The answer is the operation's result itself; a failure is an error object with the contract's code.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from postil.core import codes
from postil.wire.protocol import methods, shapes
from postil.wire.protocol.eras.stateless import ProtocolFailure
from postil.wire.protocol.request import Exchange

RESERVED = frozenset({"initialize", "ping", "shutdown", "initialized"})
KEY = "idempotency_key"


def is_direct(method: str) -> bool:
    """Whether this names an operation rather than a method of MCP."""
    return "/" not in method and method not in RESERVED


def call(exchange: Exchange) -> Coroutine[Any, Any, object]:
    """Run the operation that the method names."""
    name = exchange.request.method
    entry = exchange.server.registry.find(name)
    if entry is None or not (entry.tool or entry.direct):  # a command of the shell alone is for who sits at it
        raise ProtocolFailure(codes.METHOD_NOT_FOUND, "Method not found")
    return _call(exchange, name)


async def _call(exchange: Exchange, name: str) -> object:
    arguments = {key: value for key, value in exchange.params.items() if key not in ("_meta", KEY)}
    exchange.key = exchange.params.get(KEY) or exchange.key
    operation = exchange.server.registry.operation(name)
    return shapes.direct(await methods.run_operation(exchange, operation, arguments))
