"""The house: how the tree is built, as docs/architecture.md says it. Run it with `-s` to see the numbers.

Every rule has a list of exceptions, each with its reason; a new one needs a reason too.
"""

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from postil.app import read_catalogue
from tests.tree import (
    PACKAGE,
    ROOT,
    Module,
    bases_of,
    circle,
    classes,
    longest_chain,
    may_have_several_bases,
    members,
    modules,
)

ROOMS = sorted({module.room for module in modules().values() if "/" in module.where})

# ----- classes ------------------------------------------------------------------------------------------------------

MOST_MEMBERS = 25
MANY_MEMBERS = {
    "comments/sidecar/document.py:Sidecar": (33, "one noun: a comment file and every edit of it"),
    "comments/index/cache.py:Index": (29, "one noun: the cache of comments, each method one read or one write"),
    "wire/runtime/tasks.py:TaskCall": (26, "one noun: a call, and what a task adds to one"),
    "inbox/store.py:MessageStore": (32, "one noun: the messages of a repository, each method one read or one write"),
}


def test_only_structs_exceptions_and_protocols_have_several_bases() -> None:
    several = {
        found.label for found in classes() if len(bases_of(found.node)) > 1 and not may_have_several_bases(found)
    }
    assert several == set()


def test_a_class_has_at_most_25_members() -> None:
    many = {found.label: len(members(found)) for found in classes() if len(members(found)) > MOST_MEMBERS}
    assert {label: count for label, count in many.items() if count > MANY_MEMBERS.get(label, (0, ""))[0]} == {}


# ----- folders and names --------------------------------------------------------------------------------------------


def test_a_folder_has_at_most_16_modules() -> None:
    held = Counter(module.path.parent for module in modules().values() if module.path.name != "__init__.py")
    assert {folder.relative_to(PACKAGE).as_posix(): count for folder, count in held.items() if count > 16} == {}


MOST_IMPORTS_DEEP = 7
DEEPER = {
    "gitlab": 8,  # an operation, its answers and their presentation stand above the five of an instance
    "workspace": 10,  # what changed, in four steps, stands above the six of the one way to run git
}


@pytest.mark.parametrize("room", ROOMS)
def test_a_chain_of_imports_inside_a_part_has_at_most_7_modules(room: str) -> None:
    package = f"postil.{room}"
    assert circle(package) == ()
    below = [name for name, module in modules().items() if module.room == room and module.path.name != "__init__.py"]
    longest = max((longest_chain(name, package) for name in below), key=len, default=())
    print(f"{room}: {len(longest)}: {' > '.join(name.removeprefix(package + '.') for name in longest)}")
    assert len(longest) <= DEEPER.get(room, MOST_IMPORTS_DEEP), longest


# What these modules were named before, or what their classes and functions were: a reader could not guess the meaning.
GONE_MODULES = """
desk ground words placer places settling elsewhere oldtexts additions adding past exchange threads upkeep corpus
growing arrivals reading histories spool checkup typing_in pictures threeway moments lean patience turns
page_asking faces
"""
GONE_CLASSES = """
Desk Ground Words Placer Places Settling Elsewhere Leaving Saying Past Exchange Threads Upkeep Corpus Growing Nursery
Arrivals Histories Spool Pen Checkup Pictures Moments Lean Patience Turns Faces
"""
GONE_FUNCTIONS = {"found", "placed", "settle", "told", "desk", "ground"}
STILL_MEANT = {
    "surfaces/shell/commands.py:Words": "the words of a command line, and nothing else",
}


def definitions(module: Module) -> list[str]:
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [node.name for node in ast.walk(module.tree) if isinstance(node, kinds)]


def camel_words(name: str) -> set[str]:
    return set(re.findall(r"[A-Z][a-z]*", name))


def test_names_that_went_do_not_come_back() -> None:
    back: set[str] = set()
    gone_modules, gone_classes = set(GONE_MODULES.split()), set(GONE_CLASSES.split())
    for module in modules().values():
        if module.path.stem in gone_modules or (module.room == "surfaces" and module.path.stem == "handshake"):
            back.add(module.where)
        for name in definitions(module):
            plain = name.strip("_")
            if plain in GONE_FUNCTIONS or (plain[:1].isupper() and camel_words(plain) & gone_classes):
                back.add(f"{module.where}:{name}")
    assert back == {*STILL_MEANT}


# A name that stands in several folders means the same in each of them; this is what it means.
RECURRING = {
    "anchoring": "how what is kept stays tied to code",
    "answers": "the structs that operations return",
    "app_views": "the views inside the assistant: who is told of them, and their documents",
    "app": "what is composed: the whole server, or its HTTP side",
    "arguments": "annotated types of operations' arguments",
    "changes": "what differs between two versions",
    "board": "issues as cards in columns",
    "cache": "kept answers that can be had again",
    "comments": "what was said beside the code",
    "connect": "one side tied to the other: an account, an assistant",
    "contract": "the operations that an old contract fixes to the letter",
    "dialects": "other spellings of a format that are read and answered",
    "events": "what happened, in the order in which it happened",
    "failures": "what can go wrong",
    "gitlab": "what is done with GitLab, and how a page shows it",
    "files": "which files there are of this kind, and how they are read",
    "format": "how it is written: bytes ↔ structs",
    "gateway": "who may call over HTTP",
    "git": "running git, and what is asked of it",
    "git_bug": "what git-bug writes: its queries, its refs",
    "history": "what was before",
    "hooks": "programs that assistants run at certain moments",
    "http": "HTTP: the transport and the surface on it",
    "help": "what to type or press",
    "inbox": "messages of people, and their answers",
    "index": "a database that can be built anew from what it indexes",
    "issues": "issues",
    "model": "frozen structs",
    "operations": "the operations",
    "pages": "lists that are read in pieces",
    "page": "what is read as a whole: a text in lines, or what a browser shows",
    "overview": "everything there is, at a glance",
    "part": "the part's context: what its groups are made of",
    "relocate": "where code, or a comment, is now",
    "repository": "a git repository",
    "resources": "MCP resources",
    "prompts": "MCP prompts",
    "search": "finding",
    "serve": "`postil serve`",
    "server": "what answers requests",
    "service": "the class with the operations of a small part",
    "shell": "what is typed in a terminal",
    "storage": "how it is kept durably",
    "status": "how things stand, in a line or two",
    "store": "how it is kept durably",
    "tables": "rows and columns",
    "transfer": "export and import",
    "validation": "arguments checked beyond their types",
    "views": "what a person is shown",
    "visit": "one person's look at something, from its beginning to its end",
    "webhooks": "GitLab's deliveries",
}


def test_a_module_name_has_one_meaning() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for module in modules().values():
        stem = module.path.parent.name if module.path.name == "__init__.py" else module.path.stem
        places[stem].append(module.where)
    assert {stem: where for stem, where in places.items() if len(where) > 1 and stem not in RECURRING} == {}


# ----- who knows whom -----------------------------------------------------------------------------------------------


def test_the_wire_and_the_http_surface_name_no_part() -> None:
    part = re.compile("gitlab|tracker|comments|inbox", re.IGNORECASE)
    below = [module for module in modules().values() if module.where.startswith(("wire/", "surfaces/http/"))]
    assert [module.where for module in below if part.search(module.text)] == []


def test_only_core_and_surfaces_ask_on_which_surface_a_call_came() -> None:
    asks = re.compile(r"\bcaller\.surface\b|\)\.surface\b")
    outside = [module for module in modules().values() if module.room not in ("core", "surfaces")]
    assert [module.where for module in outside if asks.search(module.text)] == []


CODES = "core/codes.py"


def bare_codes(module: Module) -> list[int]:
    """JSON-RPC error codes written as numbers, with their lines."""
    return [
        node.lineno
        for node in ast.walk(module.tree)
        if isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
        and isinstance(node.operand.value, int)
        and 32000 <= node.operand.value <= 32999
    ]


def test_error_codes_have_names() -> None:
    assert {m.where: lines for m in modules().values() if m.where != CODES and (lines := bare_codes(m))} == {}


# ----- nothing is left over -----------------------------------------------------------------------------------------

ENTRY_POINTS = {
    "lazygit_mcp_bridge": "an executable of pyproject.toml",
    "paired_comments": "an executable of pyproject.toml",
    "MemoryState": "the State port without a disk, for those who embed us and for tests",
}
# Built-in commands are found by their name.
BUILTIN = re.compile("run_[a-z_]+")
FOR_TESTS = {
    "tracker/events.py:encode_lines": "the inverse of decode_lines: a law is tested with it",
}


def top_level_names(module: Module) -> list[str]:
    """The functions, classes and constants at the top of a module."""
    names: list[str] = []
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
    return names


def mentions(tree: ast.Module) -> set[str]:
    """Every name that is read, imported, or written in a short text: groups are named in texts."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            found |= {*re.findall(r"\w+", node.value)}
    return found


def test_nothing_at_the_top_of_a_module_is_unused() -> None:
    beside = [path for folder in ("scripts", "bench") for path in (ROOT / folder).rglob("*.py")]
    used = set[str]().union(
        *(mentions(module.tree) for module in modules().values()),
        *(mentions(ast.parse(path.read_text("utf-8"))) for path in beside),
    )
    unused = {
        f"{module.where}:{name}"
        for module in modules().values()
        for name in top_level_names(module)
        if name not in used and name not in ENTRY_POINTS and not BUILTIN.fullmatch(name) and not name.startswith("__")
    }
    assert unused == {*FOR_TESTS}


# ----- tests, operations, size --------------------------------------------------------------------------------------

MIRRORED = 0.8


def test_from_a_module_one_finds_its_test_by_name() -> None:
    own = [module for module in modules().values() if module.path.name != "__init__.py"]
    missing = [module.where for module in own if not mirror(module).exists()]
    share = 1 - len(missing) / len(own)
    print(f"{share:.1%} of {len(own)} modules have a test of their name; without:", *missing, sep="\n  ")
    assert share >= MIRRORED


def mirror(module: Module) -> Path:
    """Where the test of a module stands."""
    inside = module.path.relative_to(PACKAGE)
    return ROOT / "tests" / inside.parent / f"test_{inside.name}"


MOST_OPERATIONS = 160
ON_EVERY_SURFACE = 0.8


def test_one_operation_is_one_capability_on_every_surface() -> None:
    entries = read_catalogue().operations
    operations = [entry for entry in entries if not entry.same_as]
    commands = {entry.same_as or entry.name for entry in entries if entry.shell}
    everywhere = [entry for entry in operations if entry.tool and entry.name in commands]
    share = len(everywhere) / len(operations)
    print(f"{len(operations)} operations, {share:.1%} of them tool, method and command")
    print("tool only:", *(entry.name for entry in operations if entry.name not in commands))
    print("command only:", *(entry.name for entry in operations if not entry.tool))
    advice = (
        "give an operation that exists another argument or spelling; or raise the bound, with the reason in your commit"
    )
    assert len(operations) <= MOST_OPERATIONS, advice
    assert share >= ON_EVERY_SURFACE


def test_the_source_is_counted() -> None:
    counted = Counter[str]()
    for module in modules().values():
        counted[module.room] += module.text.count("\n")
    print(f"{counted.total()} lines:", *(f"{room} {lines}" for room, lines in counted.most_common()))
    assert counted.total() > 0
