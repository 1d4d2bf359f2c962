"""Listing and showing: the two tools of the contract, and the commands `list` and `show`.

On the contract's face their arguments are exactly those of its document (`ListArguments`, `ShowArguments`). The
commands settle `in_full`: people get a table, and `--json` has the keys of the contract's program too.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from postil.core import call
from postil.core.failure import Cancelled, Failure
from postil.core.operation import Spelling, reads
from postil.tracker.failures import InvalidParams, InvalidRequest, ServerError, TrackerFailure
from postil.tracker.index.pages import DEFAULT_LIMIT, Page
from postil.tracker.issues import Issues
from postil.tracker.operations.answers import Listed, Shown, bound_shown, show_comment, trim
from postil.tracker.operations.arguments import Columns, EntityKind, Filter, Format, Id, Kind, Sort, full_kind
from postil.tracker.shell.columns import COLUMNS, DEFAULT_COLUMNS, Drawing
from postil.tracker.shell.tables import Details, ListedDetails, Listing, ShownInFull, make_details


class ListArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the contract lets clients ask of a list."""

    entity: EntityKind
    filter: Annotated[str, Meta(description='status == "open" and labels contains "x"')] | None = None
    sort: Annotated[list[str], Meta(description="field[:asc|desc]")] | None = None
    limit: Annotated[int, Meta(ge=1)] = DEFAULT_LIMIT
    cursor: str | None = None
    includeClosed: bool = False


class ShowArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the contract lets clients ask of one entity."""

    entity: EntityKind
    id: Annotated[str, Meta(description="UUID or its beginning")]


class ContractTools:
    """What the contract's clients rely on."""

    def __init__(self, issues: Issues) -> None:
        self._issues = issues

    @reads(
        "git_mile_list",
        aliases=("git_mile.list",),
        older={"kind": "entity"},
        title="List git-mile entities",
        closed=True,
        fault=InvalidRequest,
        crash=ServerError,
        contract=ListArguments,
        positional=("entity", "query"),
        requires=("entity",),
        shell_only=("query", "all", "long", "columns", "format", "label", "as_of", "saved", "in_full"),
        spellings=(
            Spelling("mile list", {"in_full": True, "includeClosed": False}, "List issues or milestones"),
            Spelling("issue list", {"entity": "issue", "in_full": True, "includeClosed": False}, "List issues"),
            Spelling(
                "milestone list", {"entity": "milestone", "in_full": True, "includeClosed": False}, "List milestones"
            ),
        ),
    )
    def list_entities(
        self,
        entity: Kind = "issue",
        filter: Filter | None = None,
        sort: Sort | None = None,
        limit: Annotated[int, Meta(ge=1)] = DEFAULT_LIMIT,
        cursor: str | None = None,
        includeClosed: bool = False,
        query: Annotated[tuple[str, ...], Meta(description="a filter, as words")] = (),
        all: Annotated[bool, Meta(description="closed ones too")] = False,
        long: bool = False,
        columns: Columns | None = None,
        format: Format = "table",
        label: Annotated[tuple[str, ...], Meta(description="only with this label; may be repeated")] = (),
        as_of: Annotated[str, Meta(description="as it was at the end of this day, YYYY-MM-DD")] | None = None,
        saved: Annotated[str, Meta(description="the query that was saved under this name")] | None = None,
        in_full: bool = False,
    ) -> Listed | Listing:
        """List git-mile issues or milestones"""
        issues = self._issues
        if not in_full:
            with _contract_codes():
                page = issues.list_page(full_kind(entity), filter, sort or (), limit, cursor, includeClosed)
                return Listed(items=issues.make_items(page), nextCursor=page.next_cursor)
        if query and filter is not None:
            raise InvalidParams("Both words and --filter were given", advice="Give one of them")
        names = tuple(name.strip() for name in columns.split(",")) if columns else COLUMNS if long else DEFAULT_COLUMNS
        for name in names:
            if name not in COLUMNS:
                raise InvalidParams(f"Unknown column `{name}`", advice=f"Columns are {', '.join(COLUMNS)}")
        asked = " ".join(query) if query else filter
        if saved is not None:
            if asked is not None:
                raise InvalidParams("Both a saved query and a filter were given", advice="Give one of them")
            from postil.tracker.operations.saved_queries import find_saved  # only who asks for one pays for it

            known = find_saved(issues.store.repository.common_dir, saved)
            entity = "milestone" if known.entity == "milestone" else "issue"
            asked, sort, all = known.filter, sort or known.sort, all or known.include_closed
        people: dict[int, str] = {}
        if as_of is not None:
            from postil.tracker.index.as_of import read_past_page  # only who looks back pays for it

            if columns and "assignees" in names:
                raise InvalidParams("The people of a past day are not listed", advice="`show ID --as-of DAY` has them")
            names = tuple(name for name in names if name != "assignees")
            issues.refresh()
            me = issues.name_writer
            page = read_past_page(issues.store, full_kind(entity), asked, sort or (), limit, all, label, as_of, me)
        else:
            page = issues.list_page(full_kind(entity), asked, sort or (), limit, cursor, all, label)
            people = issues.list_assignees(page.rows) if "assignees" in names else people
        sql = "SELECT id, title FROM ent WHERE kind = 'milestone'"
        titles = dict(issues.store.index.query(sql)) if "milestone" in names else {}
        return Listing(
            page.rows,
            self._draw(names, format),
            page.next_cursor,
            lambda: self._read_details(page, long),
            titles,
            issues.shorten(row.id for row in page.rows),
            people,
            *([] if page.rows or cursor else [_say_nothing(issues)]),
        )

    @reads(
        "git_mile_show",
        thing="id",
        aliases=("git_mile.show",),
        title="Show git-mile entity details",
        closed=True,
        fault=InvalidRequest,
        crash=ServerError,
        contract=ShowArguments,
        positional=("id",),
        shell_only=("as_of", "in_full"),
        spellings=(
            Spelling(
                "issue show",
                {"entity": None, "in_full": True},
                "Show an issue or milestone with its comments, links, conflicts and progress",
            ),
            Spelling(
                "milestone show", {"entity": None, "in_full": True}, "Show a milestone with its progress and comments"
            ),
        ),
    )
    def show_entity(
        self,
        id: Id,
        entity: EntityKind | None = None,
        limit_comments: Annotated[int, Meta(ge=0, description="the newest so many")] = 20,
        skip_comments: Annotated[int, Meta(ge=0, description="but not the newest so many")] = 0,
        as_of: Annotated[str, Meta(description="as it was at the end of this day, YYYY-MM-DD")] | None = None,
        in_full: bool = False,
    ) -> Shown | ShownInFull:
        """Show git-mile issue or milestone details"""
        issues = self._issues
        if not in_full:
            with _contract_codes():
                issues.refresh()
                found = issues.find(id, entity)
                return bound_shown(issues.show(trim(found), limit_comments, skip_comments), found)
        store = issues.refresh()
        found = issues.find(id) if as_of is None else issues.find_past(id, as_of)
        milestone = store.entity(found.milestone) if found.milestone else None
        shown = issues.show(found, limit_comments, skip_comments)
        return ShownInFull(shown, milestone.title if milestone else "", store.now() if call.current().columns else None)

    def _draw(self, names: tuple[str, ...], style: str) -> Drawing:
        """Returns how to draw a list for the caller: ages and colours only on a terminal."""
        now = call.current()
        return Drawing(names, style, now.columns, now.colors, self._issues.store.now() if now.columns else None)

    def _read_details(self, page: Page, long: bool) -> ListedDetails:
        """Returns the page for programs. What was worked out once is kept in the index until the entity changes."""
        index, store = self._issues.store.index, self._issues.store
        marks = ", ".join("?" * len(page.rows))
        kept: dict[int, str] = {}
        if not long:
            kept = dict(index.query(f"SELECT n, json FROM detail WHERE n IN ({marks})", [row.n for row in page.rows]))
        entities = {one.id: one for one in store.entities([row.id for row in page.rows if row.n not in kept])}
        items: list[Details | msgspec.Raw] = []
        new: list[tuple[object, ...]] = []
        for row, item in zip(page.rows, self._issues.make_items(page), strict=True):
            if row.n in kept:
                items.append(msgspec.Raw(kept[row.n].encode()))
                continue
            entity = entities.get(row.id)
            comments = [show_comment(c) for c in entity.comments] if long and entity else []
            items.append(made := make_details(row, item, entity, comments))
            if row.kind == "issue" and not long:
                new.append((row.n, msgspec.json.encode(made).decode()))
        if page.generation == index.generation():
            index.keep("INSERT OR REPLACE INTO detail VALUES (?, ?)", new)
        cursor = page.next_cursor
        return ListedDetails(items=items, nextCursor=cursor, next_cursor=cursor, generation=page.generation)


@contextmanager
def _contract_codes() -> Generator[None]:
    """The contract knows three codes: what git, the disk or the workspace refuse is its ServerError."""
    try:
        yield
    except (TrackerFailure, Cancelled):
        raise
    except Failure as failure:
        error = ServerError(failure.message, advice=failure.advice, **failure.data)
        error.exit_status = failure.exit_status
        raise error from failure


def _say_nothing(issues: Issues) -> str:
    """Returns what to say of an empty list: a clone brings no issues, and looks like a tracker without any."""
    if issues.store.index.query("SELECT 1 FROM ent LIMIT 1"):
        return "Nothing matches"
    from postil.workspace.git import run_git

    remotes = run_git(issues.store.repository.root, "remote").decode("utf-8", "replace").split()
    pull = "git mile pull" if "origin" in remotes else f"git mile pull {remotes[0]}" if remotes else ""
    more = f", and `{pull}` brings what others pushed" if pull else ""
    return f"Nothing is here yet: `git mile create issue TITLE` makes one{more}"
