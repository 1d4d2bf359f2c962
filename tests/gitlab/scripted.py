"""An instance whose HTTP client is real and whose network is a list of answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx2

from postil.gitlab.instance.client import Instance, Trust, trust_everyone

URL = "https://gitlab.example.com"
API = f"{URL}/api/v4/"


def answer(body: Any = None, status: int = 200, **headers: str) -> httpx2.Response:
    """One answer of GitLab; bytes are sent as they are, anything else as JSON. `_` in a header's name is `-`."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named: Mapping[str, str] = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.Response(status, headers=named, content=content)


class ScriptedInstance(Instance):
    """Answers in turn, the last one again and again; an exception is raised as the network would."""

    def __init__(self, *script: httpx2.Response | Exception, url: str = URL, trust: Trust = trust_everyone) -> None:
        self.script = list(script)
        self.requests: list[httpx2.Request] = []
        self.naps: list[float] = []
        self.opened = 0
        self.packed = False
        """Whether the answers are packed already."""
        super().__init__(url, trust=trust, sleep=self._nap)

    @property
    def asked(self) -> list[str]:
        """What was asked for, in order: method and address."""
        return [f"{request.method} {request.url}" for request in self.requests]

    def open_client(self, transport: httpx2.AsyncBaseTransport | None = None) -> httpx2.AsyncClient:
        self.opened += 1
        return super().open_client(httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        said = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(said, Exception):
            raise said
        named = {**said.headers, "content-encoding": "gzip"} if self.packed else said.headers
        return httpx2.Response(said.status_code, headers=named, stream=httpx2.ByteStream(said.content))

    async def _nap(self, seconds: float) -> None:
        self.naps.append(seconds)
