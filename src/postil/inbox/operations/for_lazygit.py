"""What programs between the person and the assistant call: lazygit's menu, its binding, and assistants' hooks."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from postil.core import call
from postil.core.failure import Failure
from postil.core.group import Finding, check
from postil.core.operation import reads, writes
from postil.inbox.answers import Picked, Printed
from postil.inbox.contract import MOST_SHOWN
from postil.inbox.model import Context
from postil.inbox.part import Inbox


class LazygitTools:
    """Operations for lazygit and for hooks."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @reads("inbox_hunks", shell="inbox hunks", positional=("file",), tool=False)
    def hunks(
        self,
        file: str,
        context: Context = "",
        commit: str = "",
    ) -> Picked:
        """List the changed places of a file, one a line, for a menu of lazygit."""
        from postil.inbox.lazygit.menu import list_places

        terminal = self._inbox.terminal
        in_tmux = terminal is not None and terminal.in_tmux and call.current().person
        return Picked(list_places(self._inbox.repository(), self._inbox.cwd, file, context, commit, in_tmux))

    @writes("inbox_hook", shell="inbox hook", positional=("event",), tool=False)
    def hook(self, event: Literal["prompt", "stop", "start"]) -> Printed:
        """Print unread messages for an assistant that runs hooks; nothing when there are none."""
        from postil.inbox.hooks import Payload, format_output, read_payload

        asked = read_payload() if call.current().person else Payload()
        client, store = asked.client(), self._inbox.messages
        store.confirm_client(client)
        if event == "stop" and asked.stop_hook_active:
            return Printed()
        self._inbox.take_legacy()
        # Leased by time alone: this process ends at once, and the next hook of the session says that it arrived.
        messages = store.take(client, "", MOST_SHOWN)
        return Printed(format_output(event, [self._inbox.show(message, own=True) for message in messages]))

    @writes("inbox_setup_lazygit", shell="setup lazygit", tool=False)
    def setup_lazygit(
        self,
        print: Annotated[bool, Meta(description="only print the binding")] = False,
        remove: Annotated[bool, Meta(description="take the binding away again")] = False,
        user: Annotated[bool, Meta(description="for all repositories, in a file of its own")] = False,
        key: Annotated[str, Meta(description="the key to press")] = "<c-y>",
    ) -> Printed:
        """Install the key with which lazygit sends a remark to the assistant."""
        from postil.inbox.lazygit.binding import find_version, format_bindings, install, uninstall

        if print:
            return Printed(format_bindings(key, find_version()))
        repository = None if user else self._inbox.repository()
        if remove:
            return Printed(uninstall(repository, self._inbox.config_folder))
        return Printed(install(repository, self._inbox.config_folder, key))

    @check("lazygit")
    def check_lazygit(self) -> list[Finding]:
        """Look for lazygit bindings that would run what a remark says, and for configs that hide others."""
        from postil.inbox.lazygit.config_check import check_configs

        try:
            repository = self._inbox.repository()
        except Failure:
            repository = None
        terminal = self._inbox.terminal
        return check_configs(self._inbox.config_folder, repository, terminal.lazygit_configs if terminal else ())
