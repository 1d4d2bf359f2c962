"""The keys in lazygit: safe bindings for each context, in the form that the installed version reads. Pure.

Every template is quoted: a remark or a file name must not reach a shell as code. The menu's choice names all that the
remark is about, so `send` is the same in each context. Writing the file is install.py's business.
"""

from __future__ import annotations

import re

from msgspec import Struct

from postil.core.failure import InvalidArguments

MARK = "# Written by `postil setup lazygit`; `postil setup lazygit --remove` takes it away again."
Version = tuple[int, int]
KEY, TALK_KEY, EDITOR_KEY, SUBMIT_KEY = "<c-y>", "Y", "<c-x>", "U"
"""For a remark, the conversation, a remark in the editor, and the review. No version of lazygit binds the last three
in any panel: there its own key would hide ours (Ctrl-G is one in the diffs of 0.66)."""
OUTPUT_SINCE: Version = (0, 51)
"""From here on lazygit has `output:`. It migrates `showOutput` into it, so a file must not hold both."""
RANGE_SINCE: Version = (0, 46)
"""From here on a template may ask for the selected range of commits."""
ONE_DIFF_SINCE: Version = (0, 66)
"""From here on all diffs are one context, and a file that names the older ones stops lazygit from starting."""
_OLD_DIFFS = ("staging", "stagingSecondary", "patchBuilding")

_FILE = " --file {{.SelectedPath | quote}}"
_COMMIT_FILE = " --commit-file {{.SelectedCommitFilePath | quote}}"
_COMMIT = "{{with .SelectedCommit}} --commit {{.Hash | quote}}{{end}}"
_RANGE = "{{with .SelectedCommitRange}} --first {{.From | quote}} --last {{.To | quote}}{{end}}"
_STASH = '{{with .SelectedStashEntry}} --stash {{printf "stash@{%d}" .Index | quote}}{{end}}'


class Binding(Struct, frozen=True):
    """One context of lazygit, and what it can say there of what the person looks at."""

    context: str
    about: tuple[str, ...]


_IN_COMMIT = (_COMMIT_FILE, _COMMIT, _RANGE, _STASH)
BINDINGS = (
    Binding("files", (_FILE,)),
    Binding("staging", (_FILE,)),
    Binding("stagingSecondary", (_FILE,)),
    Binding("commitFiles", _IN_COMMIT),
    Binding("patchBuilding", _IN_COMMIT),  # .SelectedPath is another panel's file there
    Binding("commits", (_COMMIT, _RANGE)),
    Binding("subCommits", (_COMMIT, _RANGE)),
    Binding("reflogCommits", (_COMMIT, _RANGE)),
    Binding("stash", (_STASH,)),
    Binding("normal", (_FILE, *_IN_COMMIT)),
    Binding("normalSecondary", (_FILE, *_IN_COMMIT)),
)


class BadKey(InvalidArguments):
    """Not the name of a key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"{key[:40]!r} is not a key of lazygit", advice="Use one such as <c-y> or Y")


def parse_version(said: bytes) -> Version | None:
    """Returns the version that `lazygit --version` prints, or None if it does not say."""
    found = re.search(rb"(?<!git )version='?v?(\d{1,9})\.(\d{1,9})", said)
    return (int(found[1]), int(found[2])) if found else None


def list_bindings(version: Version | None) -> tuple[Binding, ...]:
    """Returns the bindings whose contexts this version knows; None stands for the newest."""
    newest = version is None or version >= ONE_DIFF_SINCE
    return tuple(one for one in BINDINGS if not (newest and one.context in _OLD_DIFFS))


def format_bindings(key: str = KEY, version: Version | None = None, program: str = "postil") -> str:
    """Returns the whole file for this version of lazygit; None stands for the newest. Raises BadKey."""
    if not re.fullmatch(r"<[\w-]{1,20}>|[\w!-/:-@\[-`{-~]", key) or key in ('"', "\\"):
        raise BadKey(key)
    named = "the newest lazygit" if version is None else f"lazygit {version[0]}.{version[1]}"
    newest = version is None or version >= OUTPUT_SINCE
    rows = [MARK, f"# For {named}; after an upgrade `postil doctor --fix` writes it anew.", "customCommands:"]
    for one in list_bindings(version):
        rows += _format_remark(one, key, version, _quote_program(program), newest)
        rows += _format_editor(one, EDITOR_KEY, version, _quote_program(program), newest)
    for context, about in (("global", ""), ("files", _FILE)):
        rows += [
            f'  - key: "{TALK_KEY}"',
            f'    context: "{context}"',
            '    description: "Conversation with the assistant"',
            f"    command: '{_quote_program(program)} inbox talk{about}'",
            _in_terminal(newest),
        ]
    rows += [
        f'  - key: "{SUBMIT_KEY}"',
        '    context: "global"',
        '    description: "Send the drafts to the assistant as one review"',
        "    prompts:",
        '      - type: "input"',
        "        title: 'Send the drafts; what do you say of the whole? (may be empty)'",
        '        key: "Summary"',
        f"    command: '{_quote_program(program)} inbox submit --summary {{{{.Form.Summary | quote}}}}'",
        *_in_popup(newest),
    ]
    return "\n".join(rows) + "\n"


def _format_remark(one: Binding, key: str, version: Version | None, program: str, newest: bool) -> list[str]:
    return [
        *_format_place(one, key, "Remark to the assistant", version, program),
        '      - type: "input"',
        "        title: 'Remark on {{.Form.Where}} (? asks, note: tells)'",
        '        key: "Comment"',
        f"    command: '{program} inbox send --at {{{{.Form.Where | quote}}}} --comment {{{{.Form.Comment | quote}}}}'",
        *_in_popup(newest),
    ]


def _format_editor(one: Binding, key: str, version: Version | None, program: str, newest: bool) -> list[str]:
    return [
        *_format_place(one, key, "Remark to the assistant, in your editor", version, program),
        f"    command: '{program} inbox send --at {{{{.Form.Where | quote}}}}'",
        _in_terminal(newest),
    ]


def _format_place(one: Binding, key: str, description: str, version: Version | None, program: str) -> list[str]:
    """Returns the beginning of a binding: its key, and the menu that asks what is meant."""
    ranged = version is None or version >= RANGE_SINCE
    about = "".join(piece for piece in one.about if ranged or piece != _RANGE)
    return [
        f'  - key: "{key}"',
        f'    context: "{one.context}"',
        f'    description: "{description}"',
        "    prompts:",
        '      - type: "menuFromCommand"',
        '        title: "Remark on what?"',
        '        key: "Where"',
        f"        command: '{program} inbox places --context {one.context}{about}'",
        "        filter: '(?P<place>[^|]+)\\|(?P<label>.+)'",
        "        valueFormat: '{{ .place }}'",
        "        labelFormat: '{{ .label }}'",
    ]


def _in_popup(newest: bool) -> list[str]:
    """Returns the rows for a popup; an old lazygit writes the whole command line above it."""
    return ["    output: popup", '    outputTitle: "To the assistant"'] if newest else ["    showOutput: true"]


def _in_terminal(newest: bool) -> str:
    return "    output: terminal" if newest else "    subprocess: true"


def _quote_program(program: str) -> str:
    """Returns the path for a command line inside a single-quoted YAML text."""
    if not re.fullmatch(r"[\w@%+=:,./-]+", program):
        program = '"' + re.sub(r'(["\\$`])', r"\\\1", program) + '"'
    return program.replace("'", "''")
