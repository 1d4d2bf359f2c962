"""Asking another server about a credential: an answer has a bound in bytes and in time, whatever that server does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from postil.core import limits

if TYPE_CHECKING:
    import httpx2

DEADLINE = 15.0
"""Seconds to the last byte: one byte now and then would always be in time for the client."""
LARGEST = limits.VERDICT


async def get_bounded(
    client: httpx2.AsyncClient, url: str, headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Returns status and body; of a larger body nothing. Raises httpx2.HTTPError or TimeoutError where none comes."""
    sent = {**(headers or {}), "accept-encoding": "identity"}  # nothing is unpacked
    async with asyncio.timeout(DEADLINE):
        answer = await client.send(client.build_request("GET", url, headers=sent), stream=True)
        try:
            return answer.status_code, await _read_some(answer)
        finally:
            await answer.aclose()


async def _read_some(answer: httpx2.Response) -> bytes:
    content = b""
    async for chunk in answer.aiter_raw():
        content += chunk
        if len(content) > LARGEST:
            return b""
    return content
