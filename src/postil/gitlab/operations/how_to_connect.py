"""The operation that is offered where no token is configured: it says how to connect."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta

from postil.core.answer import Answer
from postil.core.group import Finding, check
from postil.core.operation import reads
from postil.gitlab.failures import GitLabFailure
from postil.gitlab.instance.connection import HOW_TO_CONNECT
from postil.gitlab.instance.records import Record
from postil.gitlab.part import GitLab

LONGEST_QUESTION = 10.0
SOON = 14
"""Days before a token expires in which it is told."""


class HowToConnect(Answer, frozen=True):
    """Whether there is a token, and what to do when there is none."""

    connected: bool
    url: str
    advice: str

    def for_model(self) -> str:
        return f"GitLab at {self.url} is connected" if self.connected else f"GitLab is not connected. {self.advice}"


class ConnectOperations:
    """What can be asked about the connection itself."""

    def __init__(self, context: GitLab) -> None:
        self._gitlab = context.connection
        self._callers_bring_tokens = context.callers_bring_tokens

    @reads("connect_gitlab", title="Connect GitLab", toolset="connect", shell="gitlab connect")
    async def connect_gitlab(self) -> HowToConnect:
        """Say how to connect GitLab: no token is configured"""
        connected = self._gitlab.is_connected
        return HowToConnect(connected, self._gitlab.instance.url, "" if connected else HOW_TO_CONNECT)

    @check("gitlab")
    def check_token(self) -> Finding:
        """Whether GitLab is reached at its address and takes the token, and until when."""
        url = self._gitlab.instance.url
        if url.rstrip("/").endswith("/api/v4"):
            whole = url.rstrip("/").removesuffix("/api/v4")
            return Finding("error", f"GITLAB_URL is {url}, which is GitLab's API", f"Set GITLAB_URL to {whole}")
        if not url.startswith(("https://", "http://")):
            return Finding("error", f"GITLAB_URL is {url}", "Set it to an address such as https://gitlab.example.com")
        if not self._gitlab.is_connected:
            if self._callers_bring_tokens:
                return asyncio.run(self._ask_without_token())
            return Finding("ok", "no GitLab token is configured, so GitLab is off", HOW_TO_CONNECT)
        found = asyncio.run(self._ask_gitlab())
        if found.status == "ok" and url.startswith("http://"):
            said = f"{found.seen}; the address is not encrypted, and the token is sent to it"
            return Finding("warning", said, "Use https where you can")
        return found

    async def _ask_gitlab(self) -> Finding:
        """Ask GitLab what it is and whose token this is; at most ten seconds."""
        url = self._gitlab.instance.url
        try:
            async with asyncio.timeout(LONGEST_QUESTION):
                me = await self._gitlab.get_one("user")
                token = await self._ask_or_nothing("personal_access_tokens/self")
                version = (await self._ask_or_nothing("version")).text("version") or "of an unknown version"
        except TimeoutError:
            return Finding("warning", f"GitLab at {url} does not answer within {LONGEST_QUESTION:.0f} s", "Try again")
        except GitLabFailure as failure:
            state = "error" if failure.status in (401, 403) else "warning"
            return Finding(state, f"GitLab at {url}: {failure.data.get('message')}", failure.advice or HOW_TO_CONNECT)
        finally:
            await self._gitlab.instance.close()
        scopes, expires = token.texts("scopes"), token.text("expires_at")
        said = f"GitLab {version} at {url}, as @{me.text('username')}"
        if scopes and not {"api", "read_api"} & set(scopes):
            return Finding("warning", f"{said}: the token has only {', '.join(scopes)}", "Give it api or read_api")
        if expires and _is_soon(expires):
            return Finding("warning", f"{said}: the token expires on {expires}", "Make a new one in GitLab")
        may = f" ({', '.join(scopes)})" if scopes else ""
        return Finding("ok", f"{said}{may}" + (f", until {expires}" if expires else ""))

    async def _ask_without_token(self) -> Finding:
        """Ask GitLab for anything; that it wants a token is an answer. At most ten seconds."""
        url = self._gitlab.instance.url
        try:
            async with asyncio.timeout(LONGEST_QUESTION):
                await self._gitlab.instance.get("version", token="")
        except TimeoutError:
            return Finding("warning", f"GitLab at {url} does not answer within {LONGEST_QUESTION:.0f} s", "Try again")
        except GitLabFailure as failure:
            if failure.status != 401:
                return Finding("error", f"GitLab at {url}: {failure.data.get('message')}", failure.advice)
        finally:
            await self._gitlab.instance.close()
        said = f"GitLab at {url} answers; every caller brings a token of their own"
        if url.startswith("http://"):
            return Finding("warning", f"{said}, and it is sent unencrypted", "Use https where you can")
        return Finding("ok", said)

    async def _ask_or_nothing(self, path: str) -> Record:
        try:
            return await self._gitlab.get_one(path)
        except GitLabFailure:  # an older GitLab, an OAuth token, or a scope that does not tell
            return Record(None)


def _is_soon(day: str) -> bool:
    try:
        return date.fromisoformat(day) <= datetime.now(UTC).date() + timedelta(days=SOON)
    except ValueError:
        return False
