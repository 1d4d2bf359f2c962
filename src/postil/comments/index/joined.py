"""Comments that two files hold, as the cache shows them: see storage/doubled.py."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from postil.comments.index.cache import Index
from postil.comments.index.notes import Note, insert_note

MANY = 100


def find_doubled(index: Index, paths: Sequence[str]) -> dict[str, list[str]]:
    """Returns the comments of some files that other files hold as well, with all these files."""
    asked = msgspec.json.encode(paths).decode()
    # Ids are looked up, not joined: of one id that a hostile file has a thousand times that were a million pairs.
    sentence = (
        "SELECT DISTINCT id, path FROM note "
        "WHERE id IN (SELECT id FROM note WHERE path IN (SELECT value FROM json_each(?)))"
    )
    if len(paths) > MANY:
        sentence += " AND id IN (SELECT id FROM note GROUP BY id HAVING count(*) > 1)"
    found: dict[str, list[str]] = {}
    for comment, path in index.select(f"{sentence} ORDER BY id, path", (asked,)):
        found.setdefault(comment, []).append(path)
    return {comment: held for comment, held in found.items() if len(held) > 1}


def find_holders(index: Index, comment: str) -> list[str]:
    """Returns the files that hold a comment."""
    return [path for (path,) in index.select("SELECT DISTINCT path FROM note WHERE id = ?", (comment,))]


def list_homes(index: Index, paths: Sequence[str]) -> list[str]:
    """Returns the files that show a comment which one of these files holds as well."""
    asked = msgspec.json.encode(paths).decode()
    sentence = "SELECT DISTINCT home FROM hidden JOIN note USING (seq) WHERE path IN (SELECT value FROM json_each(?))"
    return [home for (home,) in index.select(sentence, (asked,))]


def join_notes(index: Index, note: Note, home: str, others: Sequence[str]) -> None:
    """Show a comment in one file, as it is given, and no more in the others that hold it."""
    with index.using() as db, db:
        places = db.execute("SELECT place FROM note WHERE path = ? AND id = ?", (home, note.id)).fetchall()
        db.execute("DELETE FROM note WHERE path = ? AND id = ?", (home, note.id))
        insert_note(db, note.row(home, places[0][0] if places else 0), note)
        for other in others:
            sentence = "INSERT OR REPLACE INTO hidden SELECT seq, ? FROM note WHERE path = ? AND id = ?"
            db.execute(sentence, (home, other, note.id))
