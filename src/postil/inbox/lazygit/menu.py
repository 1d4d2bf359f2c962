"""The menu of places in lazygit: the line under the cursor where the screen can be read, then every change.

lazygit tells no command which line is selected, and in its newest versions one context stands for all diffs. So the
menu is made of all that may be looked at, and the screen decides. Where it cannot, the first entry says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct, structs

from postil.core.failure import Failure
from postil.inbox.capture import EMPTY_TREE, locate_file, read_diff, read_untracked, resolve_commit
from postil.inbox.diff import Hunk, Line, find_span
from postil.inbox.lazygit.selection import Selection, find_selection
from postil.inbox.model import Context, format_span
from postil.inbox.target import STAGED, UNSTAGED, WORK, Target, format_target, parse_target
from postil.workspace.changes.changed_files import is_comment_file, tell_comment_files
from postil.workspace.repository import Repository

MOST_PLACES = 200
LONGEST_LABEL = 120
SHORT_HASH = 12
OTHER_CONTEXTS = (4, 2, 5, 1, 6, 0, 8, 10, 20)
"""Other numbers of lines around a change that a person may have chosen in lazygit, the likely ones first."""
_WITH_CURSOR = ("staging", "stagingSecondary", "patchBuilding", "normal", "normalSecondary")


class Looked(Struct, frozen=True):
    """What lazygit says of what the person looks at. Some of it is of other panels: lazygit does not say which."""

    context: Context = ""
    file: str = ""
    commit_file: str = ""
    commit: str = ""
    stash: str = ""
    first: str = ""
    """The oldest of the selected commits."""
    last: str = ""


class Source(Struct, frozen=True):
    """One diff that may be looked at."""

    target: Target
    hunks: tuple[Hunk, ...] = ()

    def aim(self, hunk: Hunk, lines: Sequence[Line]) -> Target | None:
        """Returns the target for lines of a hunk."""
        found = find_span(list(lines))
        file = hunk.file or self.target.file
        return structs.replace(self.target, file=file, span=found[0], side=found[1]) if found else None


Place = tuple[str, str]
"""A word for `send --at`, and its label."""


def list_places(repository: Repository, cwd: str, looked: Looked, screen: Callable[[], str]) -> tuple[Place, ...]:
    """Returns what to choose from. It is never empty: at least the file, the commit or the folder is there."""
    sources = [_read(repository, target) for target in _list_targets(repository, cwd, looked)]
    asked = looked.context in _WITH_CURSOR
    shown = screen() if asked else ""
    found = _find_selected(repository, sources, shown) if shown else None
    if found is not None:
        sources.sort(key=lambda source: source is not found[0])
    else:
        changed = [source for source in sources if source.hunks]
        sources = changed or sources[:1]
    several = len(sources) > 1
    listed = [] if found is None else list(_list_selected(*found))
    wholes = [_format_whole(source, several) for source in sources]
    changes = [place for source in sources for place in _list_changes(source, several)]
    if found is not None:
        return _without_repeats([*listed, *changes[:MOST_PLACES], *wholes])
    if asked:
        wholes[0] = (wholes[0][0], f"the line under the cursor is not known: choose, or {wholes[0][1]}"[:LONGEST_LABEL])
    more = len(changes) - MOST_PLACES
    rest = [(wholes[0][0], f"{more} more changes: begin with the line")] if more > 0 else []
    if left_out := {hunk.file for source in sources for hunk in source.hunks if _is_left_out(source, hunk)}:
        how = f"postil comments diff {_name_base(sources[0])}".strip()
        rest.append((wholes[0][0], f"{tell_comment_files(len(left_out))} not listed: {how}"))
    return _without_repeats([*wholes, *changes[:MOST_PLACES]]) + tuple(rest)


def list_lines(repository: Repository, cwd: str, looked: Looked, screen: Callable[[], str]) -> tuple[Place, ...]:
    """Returns the same with bare lines of the new file, and the word `file`: for bindings that ask for no more."""
    found: list[Place] = []
    for word, label in list_places(repository, cwd, looked, screen):
        target = parse_target(word)
        if target.span is not None and target.side == "new":
            line = format_span(target.span)
            found.append((line, label.strip().removeprefix(line).strip() or "(empty line)"))
    return _without_repeats([*found, ("file", "the whole file")])


def _list_targets(repository: Repository, cwd: str, looked: Looked) -> list[Target]:
    """Returns what may be looked at in this context, the likely first."""
    file = _locate(repository, cwd, looked.file)
    commits = _list_commits(repository, looked)
    in_commits = [Target(looked.commit_file, version=version) for version in commits if looked.commit_file]
    whole = [Target(version=version) for version in commits]
    unstaged, staged = Target(file, version=UNSTAGED), Target(file, version=STAGED)
    by_context: dict[str, list[Target]] = {
        "staging": [unstaged],
        "stagingSecondary": [staged],
        "commitFiles": in_commits,
        "patchBuilding": in_commits,
        "commits": whole[:1],
        "subCommits": whole[:1],
        "reflogCommits": whole[:1],
        "stash": whole[-1:],
        "normal": [*([unstaged, staged] if file else []), *in_commits, *whole],
        "normalSecondary": [*([staged, unstaged] if file else []), *in_commits, *whole],
    }
    return by_context.get(looked.context, []) or [Target(file or ".", version=WORK)]


def _locate(repository: Repository, cwd: str, file: str) -> str:
    try:
        return locate_file(repository, cwd, file) if file not in ("", ".") else file
    except Failure:
        return file


def _list_commits(repository: Repository, looked: Looked) -> list[str]:
    """Returns the versions that commits and stash stand for: a range, a commit, a stash entry."""

    def resolve(name: str) -> str:
        try:
            return resolve_commit(repository, name)[:SHORT_HASH] if name else ""
        except Failure:
            return ""

    found: list[str] = []
    first, last = resolve(looked.first), resolve(looked.last)
    if first and last and first != last:
        found.append(f"{resolve(looked.first + '^') or EMPTY_TREE}..{last}")
    found += [name for name in (resolve(looked.commit), resolve(looked.stash)) if name]
    return found


def _read(repository: Repository, target: Target, unified: int = 3) -> Source:
    hunks = read_diff(repository, target.file, target.context, target.commit, target.base, unified=unified)
    if not target.commit and target.version != STAGED and not any(hunk.file == target.file for hunk in hunks):
        hunks += read_untracked(repository, target.file)
    return Source(target, tuple(hunks))


# -- the selection ------------------------------------------------------------------------------------------------


def _find_selected(repository: Repository, sources: list[Source], screen: str) -> tuple[Source, Selection] | None:
    """Returns the diff that fits the screen best, and what is selected in it; None when two fit equally well."""
    found = _match(sources, screen)
    for unified in OTHER_CONTEXTS if found is None else ():
        others = [_read(repository, source.target, unified) for source in sources if source.hunks]
        found = _match(others, screen)
        if found is not None:
            same = next(source for source in sources if source.target == found[0].target)
            return same, found[1]
    return found


def _match(sources: list[Source], screen: str) -> tuple[Source, Selection] | None:
    found = [
        (source, selection)
        for source in sources
        if source.hunks and (selection := find_selection(screen, list(source.hunks)))
    ]
    if not found:
        return None
    best = max(selection.fit for _, selection in found)
    fitting = [one for one in found if one[1].fit == best]
    # A file of a commit is also part of the whole commit: the first is what was named.
    return fitting[0] if len({_name(*one) for one in fitting}) == 1 else None


def _name(source: Source, selection: Selection) -> tuple[object, ...]:
    lines = [row.line for row in selection.rows if row.line is not None]
    return source.target.version, selection.rows[0].hunk.file or source.target.file, tuple(lines)


def _list_selected(source: Source, selection: Selection) -> Iterator[Place]:
    """Yields what is selected: all of it, then each of its lines."""
    hunk = selection.rows[0].hunk
    lines = [row.line for row in selection.rows if row.line is not None and row.hunk.file == hunk.file]
    target = source.aim(hunk, lines)
    if target is None:  # the cursor is on a header
        target = structs.replace(source.target, file=hunk.file or source.target.file, typed=True)
        yield format_target(target), _cut_label(f"selected: {target.file}, or begin with 42: for a line")
        return
    shown = next(line for line in lines if (line.new if target.side == "new" else line.old))
    yield format_target(target), _cut_label(f"{_describe(target, source)}  selected: {shown.sign}{shown.text}")
    if len(lines) > 1:
        yield from _list_lines(source, hunk, lines)


# -- the changes --------------------------------------------------------------------------------------------------


def _is_left_out(source: Source, hunk: Hunk) -> bool:
    """Whether a change is of a comment file that nobody asked for: what is said there is told by `comments diff`."""
    return is_comment_file(hunk.file) and hunk.file != source.target.file


def _name_base(source: Source) -> str:
    """Returns since when a commit, or some, changed what they changed; nothing for the work tree."""
    if not source.target.commit:
        return ""
    return source.target.base or f"{source.target.commit}^"


def _list_changes(source: Source, several: bool) -> Iterator[Place]:
    """Yields each block of changed lines, and each line of a block of several."""
    for hunk in source.hunks:
        if _is_left_out(source, hunk):
            continue
        for block in hunk.changed_blocks():
            added = [line for line in block if line.sign == "+"]
            target = source.aim(hunk, added or block)
            if target is None:
                continue
            shown = next((line for line in added or block if line.text.strip()), block[0])
            name = _describe(target, source, several)
            yield format_target(target), _cut_label(f"{name}  {shown.sign}{shown.text}")
            if len(block) > 1:
                yield from _list_lines(source, hunk, block, several)


def _list_lines(source: Source, hunk: Hunk, lines: Sequence[Line], several: bool = False) -> Iterator[Place]:
    for line in lines:
        target = source.aim(hunk, [line])
        if target is not None:
            yield (
                format_target(target),
                _cut_label(f"  {_describe(target, source, several)}  {line.sign}{line.text}"),
            )


def _format_whole(source: Source, several: bool) -> Place:
    target = source.target
    if not target.file:
        return format_target(target), "the whole commit" if ".." not in target.version else "these commits"
    name = f"{target.file}{_describe_version(target) if several else ''}"
    in_folder = [hunk.file.startswith(f"{target.file}/") for hunk in source.hunks]
    if target.file == "." or (in_folder and all(in_folder)):
        return format_target(target), f"the whole of {name}"  # a folder has no lines
    typed = structs.replace(target, typed=True)
    return format_target(typed), f"the whole of {name}; for a line begin with 42:"


def _describe(target: Target, source: Source, several: bool = False) -> str:
    """Returns the line, with its file where the source has several, and its version where there are several."""
    line = ("-" if target.side == "old" else "") + format_span(target.span)
    name = f"{target.file}:{line}" if target.file != source.target.file else line
    return name + (_describe_version(target) if several else "")


def _describe_version(target: Target) -> str:
    return f" ({target.version})" if target.version else ""


def _cut_label(text: str) -> str:
    """Returns one line for a menu; lazygit splits at the first bar, so later ones may stay."""
    flat = " ".join(text.replace("\n", " ").split("\t")).rstrip()
    return flat[: LONGEST_LABEL - 1] + "…" if len(flat) > LONGEST_LABEL else flat


def _without_repeats(places: list[Place]) -> tuple[Place, ...]:
    found: dict[str, str] = {}
    for word, label in places:
        found.setdefault(word, label)
    return tuple(found.items())
