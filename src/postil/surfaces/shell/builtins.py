"""Built-in commands over the whole: `tools`, `call`, `backup`, `restore`, and for HTTP `key` and `audit`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from postil.core import call
from postil.surfaces.composition import Composition
from postil.surfaces.shell.argv import Globals
from postil.surfaces.shell.commands import Usage, read_json
from postil.surfaces.shell.flags import Parser
from postil.surfaces.shell.output import show, table
from postil.surfaces.shell.run import run_named
from postil.workspace.disk import read_named

if TYPE_CHECKING:
    from postil.surfaces.gateway.access_keys import AccessKey


def run_tools(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """List the tools of the united server."""
    common = Parser(prog=f"{program} tools", description="List what assistants see").read(words[1:])[1]
    tools = composed.tools()
    if not common.as_json:
        shown = table([(entry.name, entry.effect, entry.description) for entry in tools])
        return show(shown, composed.settings, as_json=False)
    listed = [
        {
            "name": entry.name,
            "part": entry.part,
            "effect": entry.effect,
            "description": entry.description,
            "shell": entry.shell,
            "inputSchema": entry.input_schema,
        }
        for entry in tools
    ]
    return show(listed, composed.settings, as_json=True)


def run_call(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Call an operation by its name."""
    parser = Parser(
        prog=f"{program} call",
        description="Call an operation by its name, with arguments as a JSON object",
    )
    parser.add_argument("NAME", help="the operation, as in `postil tools`")
    parser.add_argument("ARGUMENTS", nargs="?", default="{}", help="JSON; @FILE reads a file, - reads standard input")
    parsed, common = parser.read(words[1:], writes=True)
    common = common._replace(no_input=options.no_input or common.no_input)
    result = run_named(composed, parsed["NAME"], read_json(parsed["ARGUMENTS"], "ARGUMENTS"), common)
    return show(result, composed.settings, as_json=common.as_json)


MOST_DAYS = 3_650
MOST_SECONDS = 5.0
"""For the end of a note in the audit: its beginning is stored already."""


def run_key(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Make, list and revoke access keys."""
    from postil import secret
    from postil.surfaces.gateway import access_keys

    parser = Parser(prog=f"{program} key", description="Access keys for `serve --http --auth key`")
    parser.add_argument("VERB", choices=("create", "list", "revoke"), help="what to do")
    parser.add_argument("NAME", nargs="?", default="", help="the key's name")
    parser.add_argument("--workspace", action="store_true", help="may use this workspace's inbox, comments and issues")
    parser.add_argument(
        "--read-only",
        "--gitlab-read-only",
        dest="gitlab_read_only",
        action="store_true",
        help="may change nothing, here or on GitLab",
    )
    parser.add_argument("--gitlab-token-file", metavar="FILE", help="the GitLab token to use for it; - reads stdin")
    parser.add_argument("--require-signature", action="store_true", help="takes signed calls only (X-MCP-Signature)")
    parser.add_argument("--days", type=int, help="ends by itself after so many days; without, it has no end")
    parsed, common = parser.read(words[1:])
    as_json, verb, name = common.as_json, parsed["VERB"], parsed["NAME"]
    state = composed.state_database()
    if verb == "list":
        keys = [_shown(key) for key in access_keys.list_keys(state)]
        if as_json:
            return show(keys, composed.settings, as_json=True)
        told = call.current().tell_moment
        rows = [
            (str(key["name"]), f"key:{key['id']}", told(str(key["created"])), ", ".join(map(str, key["may"])))  # type: ignore[arg-type]
            for key in keys
        ]
        head = ("NAME", "KEY", "CREATED", "MAY")
        return show(table([head, *rows]) if rows else "No access keys", composed.settings, as_json=False)
    if not access_keys.NAME.fullmatch(name):
        raise Usage("A key needs a name of letters, digits and . _ @ -", advice=f"{program} key {verb} NAME")
    if options.flags.get("read_only") or composed.settings.read_only:
        raise Usage("Read-only: keys are neither made nor revoked", advice="Leave out --read-only")
    if parsed["days"] is not None and not 1 <= parsed["days"] <= MOST_DAYS:
        raise Usage(
            f"A key lives 1 to {MOST_DAYS:,} days, not {parsed['days']}",
            advice="Leave --days out for one without an end",
        )
    if verb == "revoke":
        with _noted(composed, "key revoke", name):
            record = access_keys.revoke(state, name)
        return show({"revoked": record.name}, composed.settings, as_json=as_json)
    credential = read_token(parsed["gitlab_token_file"] or "")
    with _noted(composed, "key create", name):
        key = access_keys.create(
            state,
            name,
            workspace=parsed["workspace"],
            read_only=parsed["gitlab_read_only"],
            gitlab_token=credential,
            secret=lambda: secret.subkey(secret.load(composed.settings), "stored-credentials"),
            must_sign=parsed["require_signature"],
            days=parsed["days"] or 0,
        )
    if parsed["require_signature"] and not composed.settings.security.signing_key_files:
        sys.stderr.write("No secret is named in security.signing_key_files: until one is, this key opens nothing\n")
    if not as_json:
        sys.stderr.write("This key is shown once; Postil keeps only its hash:\n")
    return show({"key": key} if as_json else key, composed.settings, as_json=as_json)


@contextmanager
def _noted(composed: Composition, operation: str, name: str) -> Generator[None]:
    """Note in the audit what is done to a key: who looks there for a caller's writes asks when it was let in."""
    from postil.core.effects.joining import joining

    opened = composed.state_operations.audit().open(call.current().caller, operation, {"name": name})
    try:
        with joining(opened.join):
            yield
    except BaseException as fault:
        opened.close("failed", fault)
        raise
    else:
        opened.close("ok")
    finally:
        composed.state_operations.finish_writes(MOST_SECONDS)


def run_audit(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Show the last writes that came over HTTP and what was done to keys, or check that their record is whole."""
    parser = Parser(prog=f"{program} audit", description="Who changed what over HTTP")
    parser.add_argument("VERB", nargs="?", choices=("verify",), help="check the chains, and find writes without an end")
    parser.add_argument("-L", "--limit", type=int, default=50, help="how many, counted from the last")
    parsed, common = parser.read(words[1:])
    log = composed.state_operations.audit()
    if parsed["VERB"] == "verify":
        from postil.core.effects.witness import AuditBroken

        report = log.verify()
        shown = msgspec.to_builtins(report) if common.as_json else report.text()
        status = show(shown, composed.settings, as_json=common.as_json)
        if report.broken:
            raise AuditBroken(report)
        return status
    entries = log.read(max(1, min(int(parsed["limit"]), 10_000)))
    if common.as_json:
        return show([msgspec.to_builtins(entry) for entry in entries], composed.settings, as_json=True)
    rows = [entry.line() for entry in entries]
    return show(table(rows) if rows else "No writes yet", composed.settings, as_json=False)


def run_backup(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Write a backup."""
    parser = Parser(prog=f"{program} backup", description="Copy the state and the secret into one file (mode 0600)")
    parser.add_argument("FILE", help="where to write it; an older backup of that name is replaced")
    parsed, common = parser.read(words[1:])
    records, made = composed.state_operations.save_backup(os.path.abspath(parsed["FILE"]))
    shown = {"file": parsed["FILE"], "records": records, "made": _utc(made)}
    text = f"{records} records are in {parsed['FILE']}. It holds the secret: keep it where you keep secrets"
    return show(shown if common.as_json else text, composed.settings, as_json=common.as_json)


def run_restore(composed: Composition, words: list[str], program: str, options: Globals) -> int:
    """Restore a backup."""
    parser = Parser(prog=f"{program} restore", description="Put a backup in the place of the state and the secret")
    parser.add_argument("FILE", help="the backup")
    parser.add_argument("-f", "--force", action="store_true", help="also where the state is not empty: it is replaced")
    parsed, common = parser.read(words[1:])
    if options.flags.get("read_only") or composed.settings.read_only:
        raise Usage("Read-only: nothing is restored", advice="Leave out --read-only")
    records, made = composed.state_operations.restore_backup(os.path.abspath(parsed["FILE"]), force=parsed["force"])
    shown = {"records": records, "made": _utc(made)}
    text = (
        f"Restored {records} records of {call.current().tell_moment(_utc(made))}. Restart the servers that were running"
    )
    return show(shown if common.as_json else text, composed.settings, as_json=common.as_json)


def _utc(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _shown(key: AccessKey) -> dict[str, object]:
    """Returns what may be told of a key."""
    may = [word for word, given in (("workspace", key.workspace), ("GitLab token", bool(key.sealed))) if given]
    when = _utc(key.created)
    only = [word for word, given in (("read only", key.read_only), ("signed only", key.must_sign)) if given]
    ends = {"expires": _utc(key.expires)} if key.expires else {}
    if ends:
        only.append(f"{'ended' if key.has_ended() else 'until'} {call.current().tell_moment(ends['expires'])}")
    return {"name": key.name, "id": key.id, "created": when, "may": [*may, *only], **ends}


def read_token(path: str) -> str:
    """Returns a GitLab token from a file or standard input: never from the command line, which others can see."""
    if not path:
        return ""
    try:
        if path == "-":
            return sys.stdin.read(4096).strip()
        return read_named(os.path.expanduser(path), 4096).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Usage(f"The token file {path} cannot be read: {error}", advice="Name a readable file, or -") from error
