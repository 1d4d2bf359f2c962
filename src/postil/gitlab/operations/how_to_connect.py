"""The operation that is offered where no token is configured: it says how to connect."""

from __future__ import annotations

from postil.core.answer import Answer
from postil.core.group import Finding, check
from postil.core.operation import reads
from postil.gitlab.instance.connection import HOW_TO_CONNECT
from postil.gitlab.part import GitLab


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

    @reads("connect_gitlab", title="Connect GitLab", toolset="connect", shell="gitlab connect")
    async def connect_gitlab(self) -> HowToConnect:
        """Say how to connect GitLab: no token is configured"""
        connected = self._gitlab.is_connected
        return HowToConnect(connected, self._gitlab.instance.url, "" if connected else HOW_TO_CONNECT)

    @check("gitlab")
    def check_token(self) -> Finding:
        """Whether a token is configured and its address is well formed."""
        url = self._gitlab.instance.url
        if not url.startswith(("https://", "http://")):
            return Finding("error", f"GITLAB_URL is {url}", "Set it to an address such as https://gitlab.example.com")
        if not self._gitlab.is_connected:
            return Finding("ok", "no GitLab token is configured, so GitLab is off", HOW_TO_CONNECT)
        if url.startswith("http://"):
            return Finding("warning", f"{url} is not encrypted, and the token is sent to it", "Use https where you can")
        return Finding("ok", f"a token for {url} is configured")
