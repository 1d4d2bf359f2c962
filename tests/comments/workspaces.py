"""Workspaces for tests of comments: the files of the contract's examples, in real git."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from contextvars import copy_context
from pathlib import Path

import msgspec
import pytest

from postil.comments.index.overview import Overview
from postil.comments.operations.answers import Moved
from postil.comments.operations.by_id import CommentsById
from postil.comments.operations.contract import ContractTools
from postil.comments.operations.glance import Glance
from postil.comments.operations.history import HistoryTools
from postil.comments.operations.maintenance import MaintenanceTools
from postil.comments.operations.prompts import CommentPrompts
from postil.comments.operations.relocate import RelocateTools
from postil.comments.operations.resources import CommentResources
from postil.comments.operations.review import ReviewTools
from postil.comments.operations.transfer import TransferTools
from postil.comments.operations.written import Deleted, Edited, TakenBack
from postil.comments.part import CommentsContext
from postil.contracts import CONTRACTS
from postil.core import call
from postil.core.answer import Answer
from postil.core.arguments.published import describe
from postil.core.call import Call
from postil.core.failure import Failure
from postil.core.registry import Registry
from tests.workspace.repositories import git

CONTRACT = msgspec.json.decode((Path(__file__).parent / "contract.json").read_bytes())

AUTH = """import { hash } from './hash';

const ATTEMPTS = 5;

interface User {
  name: string;
  password: string;
}

// Sessions live for an hour.
const HOUR = 3600;



class AuthService {
  private users = new Map<string, User>();

  constructor(private readonly salt: string) {}

  register(name: string, password: string): void {
    const stored = hash(password, this.salt);
    this.users.set(name, { name, password: stored });
  }

  find(name: string): User | undefined {
    return this.users.get(name);
  }

  rename(from: string, to: string): boolean {
    const user = this.find(from);
    if (!user) {
      return false;
    }
    this.users.delete(from);
    this.users.set(to, { ...user, name: to });
    return true;
  }

  // The password is compared with what was stored.
  validatePassword(name: string, password: string): boolean {
    const user = this.find(name);
    if (!user) {
      return false;
    }
    return this.comparePasswords(user.password, hash(password, this.salt));
  }
"""


def root_of(comments: Comments) -> Path:
    """The folder of its workspace."""
    return Path(comments.tree.root)


def damage_table(folder: Path, table: str) -> None:
    """Overwrite the page of the cache on disk that a table begins on."""
    (cache,) = (folder / ".git" / "postil").glob("comments-*.db")
    with closing(sqlite3.connect(cache)) as db:
        ((page,),) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
        ((size,),) = db.execute("PRAGMA page_size")
    with cache.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


def code_of(comments: Comments, path: str, line: int = 1) -> int:
    """The code of the failure when a comment is added there."""
    with pytest.raises(Failure) as caught:
        comments.add(path, line, "x", "NOTE")
    assert caught.value.details().get("suggestion"), "a failure says what to do next"
    return caught.value.code


FUNCTIONS = "".join(f"def function_{n}(value):\n    return value + {n}\n\n\n" for n in range(8))


def split(root: Path, number: int) -> None:
    """Take one of the FUNCTIONS out of a.py and into b.py."""
    piece = f"def function_{number}(value):\n    return value + {number}\n\n\n"
    write(root, "a.py", FUNCTIONS.replace(piece, ""))
    write(root, "b.py", "import os\n\n\n" + piece)


def auth_source() -> str:
    """150 lines: validatePassword covers line 42, comparePasswords line 78, the class line 15."""
    lines = list[str](AUTH.splitlines())
    while len(lines) < 74:
        lines.append(f"  field{len(lines)} = {len(lines)};")
    lines += ["  comparePasswords(a: string, b: string): boolean {", "    if (a.length !== b.length) {"]
    lines += ["      return false;", "    }", "    return a === b;", "  }", "}"]
    while len(lines) < 150:
        lines.append(f"export const value{len(lines)} = {len(lines)};")
    return "\n".join(lines) + "\n"


SECURITY_AUTH = """import { hash } from '../hash';

export class AuthService {
  private readonly salt = 'x';

  register(name: string): void {
    console.log(name);
  }

  find(name: string): string {
    return name;
  }

  rename(from: string, to: string): string {
    return from + to;
  }

  drop(name: string): string {
    return name;
  }

  validatePassword(name: string, password: string): boolean {
    const user = this.find(name);
    return user === hash(password, this.salt);
  }
}
"""


class Typed(Call):
    """A call that a person typed."""

    person = True


def tell_person(answer: Answer) -> str:
    """Returns what a person who typed the call reads."""
    context = copy_context()
    context.run(call.enter, Typed())
    return str(context.run(answer.for_model))


class Comments:
    """Every group of operations over one context, as a server has them."""

    def __init__(self, start: str, *, cache_home: str = "", author: str = "") -> None:
        self.context = CommentsContext(start, cache_home=cache_home, author=author)
        self.tree, self.store, self.reader = self.context.tree, self.context.store, self.context.reader
        self.contract = ContractTools(self.context)
        self.by_id = CommentsById(self.context)
        self.relocating = RelocateTools(self.context)
        self.reviewing = ReviewTools(self.context)
        self.history = HistoryTools(self.context)
        self.transfer = TransferTools(self.context)
        self.maintenance = MaintenanceTools(self.context)
        self.resources = CommentResources(self.context)
        self.prompts = CommentPrompts(self.context)
        self.glance = Glance(self.context).glance
        self.add, self.edit_by_id, self.search = self.contract.add, self.contract.edit, self.contract.search
        self.export, self.file_comments = self.contract.export, self.contract.file_comments
        self.listed, self.show = self.by_id.list_comments, self.by_id.show
        self.reply, self.resolve = self.by_id.reply, self.by_id.resolve
        self.relocate, self.move_all = self.relocating.relocate, self.relocating.move_all
        self.blame = self.history.blame

    def edit(self, path: str, comment: str, text: str) -> Edited:
        """As the contract has it."""
        return self.contract.edit(comment, text, filePath=path)

    def delete(self, path: str, comment: str) -> Deleted:
        """As the contract has it."""
        return self.contract.delete(comment, path)

    def move(self, source: str, target: str, comment: str, line: int) -> Moved:
        """As the contract has it."""
        return self.contract.move(comment, target, line, sourceFile=source)

    def undo(self, comment: str) -> Moved:
        """Take a comment back to where it was; what was said of it since is undone before."""
        made = self.relocating.undo(comment)
        while isinstance(made, TakenBack):
            made = self.relocating.undo(comment)
        assert isinstance(made, Moved)
        return made

    @property
    def overview(self) -> Overview:
        return self.context.overview

    def registry(self) -> Registry:
        """All of it, as the united server offers it."""
        return Registry.of([("comments", each) for each in self._groups()])

    def face(self) -> Registry:
        """What the contract's own server offers, by the contract's arguments."""
        living = {type(each).__name__: each for each in self._groups()}
        whole = describe(("comments", name, type(each)) for name, each in living.items())
        return Registry(CONTRACTS["comments"].only("comments", whole), lambda _, name: living[name])

    def _groups(self) -> list[object]:
        own = vars(self).values()
        return [each for each in own if type(each).__module__.startswith("postil.comments.operations")]


def workspace(folder: Path, **files: str) -> Comments:
    """A repository with some files, committed, and its comments."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    for name, text in files.items():
        write(folder, name, text)
    if files:
        commit(folder, "first")
    return Comments(str(folder))


def plain_workspace(folder: Path, **files: str) -> Comments:
    """A folder without git with some files, and its comments."""
    for name, text in files.items():
        write(folder, name, text)
    return Comments(str(folder))


def contract_workspace(folder: Path) -> Comments:
    """The workspace the contract's examples speak of."""
    return workspace(
        folder,
        **{
            "src/services/auth.ts": auth_source(),
            "src/services/security/auth.ts": SECURITY_AUTH,
            "src/api/login.ts": "".join(f"export const step{n} = {n};\n" for n in range(30)),
            "src/middleware/security.ts": "".join(f"export const guard{n} = {n};\n" for n in range(10)),
            "src/app.ts": "".join(f"export const app{n} = {n};\n" for n in range(150)),
        },
    )


def write(folder: Path, name: str, text: str | bytes) -> Path:
    """Write a file of a workspace, with the folders above it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def commit(folder: Path, message: str) -> str:
    """Commit everything; the commit's id."""
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def sidecar(folder: Path, name: str) -> bytes:
    """The bytes of a source's sidecar."""
    return (folder / f"{name}.comments").read_bytes()
