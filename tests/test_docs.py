"""Pages that people read: what they say is true of the code."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from postil import __version__
from postil.app import read_catalogue
from postil.comments.model import State
from postil.core.failure import Failure
from postil.gitlab.failures import GitLabFailure
from postil.inbox.anchoring import Whereabouts
from postil.settings.files import HARMLESS, settable_keys
from postil.settings.load import ENVIRONMENT
from postil.surfaces.setup.clients import CLIENTS
from postil.surfaces.setup.connect import snippet
from postil.surfaces.shell.argv import PROGRAMS, find, split_globals
from postil.surfaces.shell.commands import Words
from postil.surfaces.shell.help import BUILTINS
from scripts import demo
from scripts.errors import every_kind
from tests.wire.talk import Talk

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = (ROOT / "docs" / "settings.md").read_text("utf-8")


def rows() -> dict[str, str]:
    """The keys of the table, each with its row."""
    found: dict[str, str] = {}
    for line in SETTINGS.splitlines():
        cell = line.split("|")[1] if line.startswith("| `") else ""
        found |= dict.fromkeys(re.findall(r"`([a-zA-Z_.]+)`", cell), line)
    return found


def test_the_settings_page_has_every_key_and_no_other() -> None:
    assert set(rows()) == settable_keys()


def test_the_settings_page_marks_what_a_repository_may_say() -> None:
    assert {key for key, line in rows().items() if line.split("|")[2].strip() == "●"} == HARMLESS


def test_the_settings_page_names_every_variable() -> None:
    for name in ENVIRONMENT:
        assert f"`{name}`" in SETTINGS


README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"<!-- run -->\n```sh\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.split()[1])
def test_the_readmes_commands_work_as_they_stand(block: str, tmp_path: Path) -> None:
    repository = tmp_path / "repo"
    (repository / "src").mkdir(parents=True)
    (repository / "src" / "app.py").write_text("PORT = 3000\n")
    script = f"set -e\ngit init -q\ngit add .\ngit commit -qm first\n{block}"
    environ = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=repository, env=environ, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


COMMAND = re.compile(r"^(?:\$ )?(postil|git mile|lazygit-mcp-bridge) (.+)$", re.MULTILINE)


def written_commands() -> list[tuple[str, str, str]]:
    """Every command of one of our operations that stands in a block of shell on a page: page, program, words."""
    found: list[tuple[str, str, str]] = []
    for page in sorted({*(ROOT / "docs").rglob("*.md")} - {ROOT / "docs" / "reference.md"}):  # generated, a synopsis
        for block in re.findall(r"```(?:sh|bash|console)\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            found += [(page.name, program, words) for program, words in COMMAND.findall(block.replace("\\\n", " "))]
    return found


def plain_words(line: str) -> list[str]:
    """The words of a command up to a pipe or a redirection, without a remark behind them."""
    words = shlex.split(line, comments=True)
    ends = [place for place, word in enumerate(words) if word in ("|", "&&", ";", ">", "<") or word.startswith("<<")]
    return words[: min(ends, default=len(words))]


@pytest.mark.parametrize(("page", "program", "line"), written_commands())
def test_the_commands_on_every_page_can_be_parsed(page: str, program: str, line: str) -> None:
    _, words = split_globals(plain_words(line))
    found = find(read_catalogue().operations, words, PROGRAMS.get(program, ()))
    if found is None:
        assert program != "postil" or words[0] in (*BUILTINS, "--version", "--help"), words
    elif not {"--help", "…", "..."} & {*words}:
        entry, rest = found
        reader = Words(entry, program)
        reader.check(reader.read(rest)[0])


def test_the_picture_shows_what_the_commands_answer() -> None:
    assert demo.PICTURE.read_text("utf-8") == demo.svg(), "run `make docs`"


def test_the_readmes_json_is_what_setup_prints() -> None:
    blocks = re.findall(r"```json\n(.*?)\n```", README, re.DOTALL)
    assert blocks == [snippet(CLIENTS["claude"], "postil", "")]


def test_the_readme_lists_every_client_with_its_file() -> None:
    for client in CLIENTS.values():
        row = next(line for line in README.splitlines() if f"`postil setup {client.name}` |" in line)
        assert client.title in row
        assert Path(client.file).name in row


def test_the_links_of_the_front_pages_lead_somewhere() -> None:
    for page in ("README.md", "llms.txt"):
        for target in re.findall(r"\]\(([\w./-]+)\)", (ROOT / page).read_text("utf-8")):
            assert (ROOT / target).exists(), f"{page}: {target}"


def test_the_registry_entry_has_our_version() -> None:
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    assert {entry["version"], *(package["version"] for package in entry["packages"])} == {__version__}
    assert len(entry["description"]) <= 100


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def test_the_words_for_where_code_is_are_all_explained() -> None:
    for word in (*get_args(State), *get_args(Whereabouts)):
        assert re.search(rf"(^\| |`){word}[ `]", page("anchoring.md"), re.MULTILINE), word


@pytest.mark.anyio
async def test_the_page_of_errors_says_which_code_an_unknown_tool_has() -> None:
    codes: dict[str, set[int]] = {}
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        talk = Talk()
        await talk.initialize(version)
        codes.setdefault(version, set()).add((await talk.call("no_such_tool"))["error"]["code"])
    assert codes.pop("2024-11-05") == {-32601}
    assert {code for some in codes.values() for code in some} == {-32602}
    table = page("errors.md")
    assert "| -32601 | no such method; in 2024-11-05 also no such tool" in table
    assert "| -32602 | `Unknown tool`: none of that name is offered, from 2025-03-26 on |" in table


def test_the_page_of_errors_says_with_which_status_a_failure_ends() -> None:
    for kind in every_kind():
        try:
            made = kind("x") if kind.__init__ is Failure.__init__ else kind()  # type: ignore[call-arg]
        except TypeError:
            continue  # it is made of more
        assert made.exit_status == kind.exit_status, kind.__name__
    (row,) = [line for line in page("errors.md").splitlines() if line.startswith("| `GitLabFailure`")]
    for status in (400, 401, 403, 404, 409, 500):
        shown = "5xx" if status == 500 else str(status)
        assert re.search(rf"{GitLabFailure(status, 'x').exit_status} \([^)]*{shown}", row), row


def test_no_page_puts_a_token_on_a_command_line() -> None:
    """Others on the machine can list it, and the shell remembers it. `${…}` in single quotes the client expands."""
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for line in page.read_text().splitlines():
            found = re.search(r"(-H|--header|--token)[ =]\S*(Bearer|PRIVATE-TOKEN|glpat-).*", line)
            assert not found or "Bearer ${POSTIL_TOKEN}'" in line, f"{page.name}: {line}"


def test_no_page_calls_the_united_servers_tools_by_names_with_a_dot() -> None:
    for name in ("tracker.md", "reference/mcp-clients.md"):
        assert "`git_mile_list` and `git_mile_show`" in page(name)


def test_the_page_of_the_inbox_names_every_tool_in_its_set() -> None:
    (said,) = re.findall(r"Assistants have the tools.*?\.(?=\s+What)", page("inbox.md"), re.DOTALL)
    usual, extra = said.split("with the toolset `extra`")
    for toolset, part in (("", usual), ("extra", extra)):
        tools = {
            each.name
            for each in read_catalogue().operations
            if each.part == "inbox" and each.tool and each.toolset == toolset
        }
        assert {name for name in re.findall(r"`([a-z_]+)`", part) if "_" in name} == tools
