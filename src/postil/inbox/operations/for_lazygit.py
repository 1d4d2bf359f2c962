"""What programs between the person and the assistant call: lazygit's menu, its binding, and assistants' hooks."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from postil.core import call
from postil.core.group import Finding, check
from postil.core.operation import Spelling, reads, writes
from postil.inbox.answers import Picked
from postil.inbox.contract import MOST_SHOWN
from postil.inbox.lazygit.binding import KEY
from postil.inbox.model import Context
from postil.inbox.operations.printed import NotSetUp, Printed, PrintedDocument
from postil.inbox.part import Inbox
from postil.storage.holder import this_process
from postil.workspace.program import find_own_program

MOST_COUNTED = 1000


class LazygitTools:
    """Operations for lazygit and for hooks."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    @reads(
        "inbox_places",
        shell="inbox places",
        spellings=(
            Spelling(
                "inbox hunks",
                {"bare": True, "commit_file": "", "first": "", "last": "", "stash": ""},
                "List the changed lines of a file, one a line, for bindings that older versions of Postil wrote.",
                positional=("file",),
                requires=("file",),
                aliases=("inbox_hunks",),
            ),
        ),
        shell_only=("bare",),
        tool=False,
    )
    def places(
        self,
        context: Annotated[Context, Meta(description="where in lazygit the person stands")] = "",
        file: Annotated[str, Meta(description="the file or folder of the work tree that is selected")] = "",
        commit_file: Annotated[str, Meta(description="the file of a commit that is selected")] = "",
        commit: Annotated[str, Meta(description="the selected commit")] = "",
        first: Annotated[str, Meta(description="the oldest of several selected commits")] = "",
        last: Annotated[str, Meta(description="the newest of several selected commits")] = "",
        stash: Annotated[str, Meta(description="the selected stash entry")] = "",
        bare: Annotated[bool, Meta(description="only lines of the new file, and the word file")] = False,
    ) -> Picked:
        """List what a remark may be about, one a line, for a menu of lazygit."""
        from postil.inbox.lazygit.menu import Looked, list_lines, list_places

        if bare and commit:
            file, commit_file = "", file
        looked = Looked(context, file, commit_file, commit, stash, first, last)
        make = list_lines if bare else list_places
        return Picked(make(self._inbox.repository(), self._inbox.cwd, looked, self._read_screen))

    def _read_screen(self) -> str:
        terminal = self._inbox.terminal
        if terminal is None or not terminal.drawer or not call.current().person:
            return ""
        from postil.inbox.lazygit.terminal import read_screen

        return read_screen(terminal.drawer, terminal.pane)

    @writes("inbox_hook", shell="inbox hook", positional=("event",), tool=False)
    def hook(
        self,
        event: Literal["prompt", "stop", "start", "idle"],
        client: Annotated[
            Literal["claude", "codex", "gemini", "cursor", "copilot"], Meta(description="whose shape is printed")
        ] = "claude",
    ) -> Printed:
        """Print unread messages for an assistant that runs hooks; nothing when there are none. `idle` waits for one."""
        from postil.inbox import hooks

        asked = hooks.read_payload() if call.current().person else hooks.Payload()
        store = self._inbox.messages
        store.confirm_client(asked.client)
        if hooks.is_mute(client, event) or (event == "stop" and asked.goes_on):
            return PrintedDocument(hooks.format_output(client, event, ""))
        if event == "idle":
            from postil.inbox.idle import wait_for_remark

            wait_for_remark(self._inbox, asked.client)
        self._inbox.take_legacy()
        before = [] if event != "start" else [one for one in store.open_messages() if one.state == "seen"]
        fitting = hooks.count_fitting([self._inbox.show(one) for one in store.waiting(asked.client, MOST_SHOWN)])
        taken = store.take(asked.client, this_process(), fitting) if fitting else []
        leases = [(message.id, message.lease.id) for message in taken if message.lease is not None]
        if leases:
            # Printed, it is leased by time alone: this process ends, and the session's next hook says that it arrived.
            call.current().when_delivered(lambda: store.hand_over(leases), lambda: store.lose(leases))
        new = [self._inbox.show(message, own=True) for message in taken]
        more = len(store.waiting(asked.client, MOST_COUNTED))
        text = hooks.format_text(new, more, [self._inbox.show(message) for message in before])
        return PrintedDocument(hooks.format_output(client, event, text))

    @writes("inbox_setup_lazygit", shell="setup lazygit", tool=False)
    def setup_lazygit(
        self,
        print: Annotated[bool, Meta(description="only print the bindings")] = False,
        remove: Annotated[bool, Meta(description="take the bindings away again")] = False,
        user: Annotated[bool, Meta(description="for all repositories, in a file of its own")] = False,
        key: Annotated[str, Meta(description="the key to press")] = KEY,
        fix: Annotated[bool, Meta(description="write anew what does not suit the installed lazygit")] = False,
        write: Annotated[bool, Meta(description="write the bindings (the default)")] = False,
        check: Annotated[bool, Meta(description="only say whether they are there")] = False,
    ) -> Printed:
        """Install the key with which lazygit sends a remark to the assistant."""
        from postil.inbox.lazygit.binding import format_bindings
        from postil.inbox.lazygit.install import describe_installed, find_version, install, renew, uninstall

        if check:
            found = describe_installed(self._inbox.repository_or_none(), self._inbox.config_folder)
            return Printed(found) if found else NotSetUp("Not set up: run `postil setup lazygit`")
        config, version, program = self._inbox.config_folder, find_version(), find_own_program()
        if print:
            return Printed(format_bindings(key, version, program))
        if fix:
            renewed = renew(self._inbox.repository_or_none(), config, version, program)
            return Printed(f"Wrote {', '.join(renewed)} anew" if renewed else "There is nothing to write anew")
        repository = None if user else self._inbox.repository()
        if remove:
            return Printed(uninstall(repository, config))
        terminal = self._inbox.terminal
        named = terminal.lazygit_configs if terminal else ()
        return Printed(install(repository, config, key, version, program, named))

    @check("lazygit")
    def check_lazygit(self) -> list[Finding]:
        """See whether lazygit starts with its configuration, and whether its bindings are safe and up to date."""
        from postil.inbox.lazygit.config_check import check_configs
        from postil.inbox.lazygit.install import find_version

        terminal = self._inbox.terminal
        named = terminal.lazygit_configs if terminal else ()
        return check_configs(
            self._inbox.config_folder, self._inbox.repository_or_none(), named, find_version(), find_own_program()
        )
