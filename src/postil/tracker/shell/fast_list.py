"""Everything works without this file: it answers `git mile list` sooner; `test_fast_list.py` keeps both ways equal.

When the index is up to date, the list is printed before most of Postil would be imported: this reads the refs and the
cache directly, without msgspec and git's process. For everything else (a stale or missing cache, a cursor,
worktrees, other ref formats, settings, a question that is wrong) it returns None, and the ordinary way is taken.
"""

from __future__ import annotations

import datetime
import os
import sqlite3
import stat
import sys
from collections.abc import Sequence
from functools import partial

from postil.tracker.index.db_files import find_current, open_database
from postil.tracker.index.tables import COLUMNS, Row, find_assignees, find_short_ids
from postil.tracker.log.refs import read_ref_files
from postil.tracker.query.order import Cursor, build_select, hash_question, parse_order, write_cursor
from postil.tracker.query.parse import parse
from postil.tracker.query.sql import QueryContext, compile_condition, find_milestones, has_status, restrict
from postil.tracker.query.tree import QueryFault
from postil.tracker.shell.columns import COLUMNS as NAMES
from postil.tracker.shell.columns import DEFAULT_COLUMNS, Drawing, draw_list
from postil.workspace.disk import find_git_roots

_KINDS = {"issue": "issue", "milestone": "milestone", "mile": "milestone"}
_VALUED = ("--filter", "--sort", "--limit", "--columns", "--format")


def fast_list(kind: str | None, words: Sequence[str], cwd: str, width: int = 0, colors: bool = False) -> str | None:
    """Returns the text of a list, or None when it takes the ordinary way. Without a kind, it is the first word."""
    asked = _read_words(kind, words)
    if asked is None:
        return None
    name, filters, sort, limit, columns, style, everything = asked
    git_dir = _find_git_dir(cwd)
    if git_dir is None:
        return None
    path = find_current(os.path.join(git_dir, "postil"))
    tips = read_ref_files(git_dir)
    if tips is None or path is None:
        return None
    refs = {tip.ref: tip.oid for tip in tips}
    try:
        question = parse(filters)
        keys = parse_order(sort or question.sort)
        db = open_database(path)
        if db is None:
            return None
        db.execute("BEGIN")
        if dict(db.execute("SELECT name, oid FROM ref").fetchall()) != refs:
            return None
        if db.execute("SELECT 1 FROM meta WHERE key GLOB '*:refs/*'").fetchone():
            return None  # something is to be said
        now = datetime.datetime.now(datetime.UTC)
        around = QueryContext(now, partial(find_milestones, db), partial(has_status, db), _leave)
        wanted = compile_condition(restrict(question.tree, name, everything), around)
        if wanted.needs_words:
            return None
        rows = db.execute(build_select(COLUMNS, keys, wanted.sql, limit + 1), wanted.values).fetchall()
        if not rows and db.execute("SELECT 1 FROM ent LIMIT 1").fetchone() is None:
            return None  # where there is nothing at all, the ordinary way says how issues come
        width_ = len(keys)
        following = None
        if len(rows) > limit:
            bound = hash_question(name, filters or "", tuple(sort), everything)
            meta = dict(db.execute("SELECT key, value FROM meta WHERE key IN ('epoch', 'generation')").fetchall())
            following = write_cursor(
                Cursor(bound, str(meta["epoch"]), int(meta["generation"]), rows[limit - 1][:width_])
            )
        if style == "json":
            return _draw_json(db, [Row(*row[width_:]) for row in rows[:limit]], following)
        titles: dict[str, str] = {}
        if "milestone" in columns:
            titles = dict(db.execute("SELECT id, title FROM ent WHERE kind = 'milestone'").fetchall())
        found = [Row(*row[width_:]) for row in rows[:limit]]
        short = find_short_ids(db, [row.id for row in found])
        people = find_assignees(db, found) if "assignees" in columns else {}
        db.close()
    except (QueryFault, sqlite3.Error, KeyError, UnicodeError):
        return None
    how = Drawing(columns, style, width, colors, now if width else None)
    text = draw_list(found, how, following, titles, short, people)
    return None if sys.stdout.isatty() and text.count("\n") > 20 else text


def _leave() -> tuple[str, ...]:
    """Who asks is known to the ordinary way only."""
    raise QueryFault("me")


def _draw_json(db: sqlite3.Connection, rows: Sequence[Row], following: str | None) -> str | None:
    """Returns a page for programs, if the ordinary way has worked out every item of it before."""
    found = dict(
        db.execute(f"SELECT n, json FROM detail WHERE n IN ({', '.join('?' * len(rows))})", [row.n for row in rows])
    )
    if len(found) != len(rows):
        return None
    (generation,) = db.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
    items, cursor = ",".join(found[row.n] for row in rows), f'"{following}"' if following else "null"
    return f'{{"items":[{items}],"nextCursor":{cursor},"next_cursor":{cursor},"generation":{generation}}}'


Asked = tuple[str, str | None, list[str], int, tuple[str, ...], str, bool]


def _read_words(kind: str | None, words: Sequence[str]) -> Asked | None:
    """Returns the kind, filter, sort, limit, columns, format and whether closed ones too; None for anything unusual."""
    given: dict[str, list[str]] = {}
    bare: list[str] = []
    flags: set[str] = set()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, joined, value = word.partition("=")
        if name in _VALUED and (joined or rest):
            given.setdefault(name, []).append(value if joined else rest.pop(0))
        elif word in ("--all", "--long", "--json"):
            flags.add(word)
        elif word.startswith("-"):
            return None
        else:
            bare.append(word)
    if kind is None:
        first = bare.pop(0) if bare else "issue"
        if first not in _KINDS:
            return None
        kind = _KINDS[first]
    if any(len(values) > 1 for name, values in given.items() if name != "--sort") or (bare and "--filter" in given):
        return None
    limit = given.get("--limit", ["50"])[0]
    style = "json" if "--json" in flags else given.get("--format", ["table"])[0]
    if style == "json" and "--long" in flags:
        return None
    columns = DEFAULT_COLUMNS if "--long" not in flags else NAMES
    if "--columns" in given:
        columns = tuple(name.strip() for name in given["--columns"][0].split(","))
    if (
        not limit.isdecimal()
        or len(limit) > 4
        or not 1 <= int(limit) <= 1000
        or style not in ("table", "raw", "json")
        or not {*columns} <= {*NAMES}
    ):
        return None
    filters = " ".join(bare) if bare else given.get("--filter", [None])[0]
    return kind, filters, given.get("--sort", []), int(limit), columns, style, "--all" in flags


def _find_git_dir(cwd: str) -> str | None:
    """Returns the plain `.git` folder around here; None for worktrees, submodules, bare repositories, settings."""
    folder = next(find_git_roots(os.path.realpath(cwd)), "")
    git_dir = os.path.join(folder, ".git")
    if not folder or any(os.path.exists(os.path.join(folder, f"postil.{kind}")) for kind in ("toml", "yaml", "yml")):
        return None
    return git_dir if _is_plain(folder, git_dir) else None


def _is_plain(folder: str, git_dir: str) -> bool:
    """Returns whether nothing here leads elsewhere or belongs to another: the ordinary way knows who may allow it."""
    try:
        if any(os.lstat(each).st_uid != os.geteuid() for each in (folder, git_dir)):
            return False
        inside = (os.path.join(git_dir, name) for name in ("objects", "refs", "postil"))
        kinds = [os.lstat(each).st_mode for each in (git_dir, *inside)]
    except OSError:
        return False
    return all(map(stat.S_ISDIR, kinds)) and not any(
        os.path.lexists(os.path.join(git_dir, name)) for name in ("commondir", "objects/info/alternates")
    )
