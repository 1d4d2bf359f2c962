"""The checks of what people and assistants give: a value that passes is returned in the form in which it is stored.

Each raises InvalidParams, which says what is wrong and what to write instead.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from postil.tracker.failures import InvalidParams
from postil.tracker.query.tree import QueryFault, suggest
from postil.tracker.text import is_day
from postil.tracker.vocabulary import ADDRESS_FIELD, LONGEST_NAME, LONGEST_TITLE, PRIORITIES, TYPES

LONGEST_TEXT = 1_000_000


def translate_fault(fault: QueryFault) -> InvalidParams:
    """Returns a question that cannot be asked, as the contract's failure."""
    facts = {} if fault.position is None else {"position": fault.position}
    place = "" if fault.position is None else f" at position {fault.position}"
    return InvalidParams(fault.message + place, advice=fault.suggestion or "", **facts)


def check_one_of(what: str, value: str, known: Sequence[str]) -> str:
    """Returns the value. Raises InvalidParams if it is none of the known ones."""
    if value not in known:
        raise InvalidParams(f"Unknown {what} `{value[:64]}`", advice=suggest(value.lower(), known))
    return value


def check_title(title: str) -> str:
    """Returns a title on one line."""
    line = check_line("title", title)
    if not line:
        raise InvalidParams("The title is empty", advice="Give a title of a few words")
    if len(line) > LONGEST_TITLE:
        raise InvalidParams(
            f"The title has {len(line)} characters; at most {LONGEST_TITLE} are kept", advice="Shorten it"
        )
    return line


def check_line(what: str, text: str) -> str:
    """Returns the words of a text on one line; characters that command a terminal are refused."""
    line = " ".join(text.split())
    bad = next((character for character in line if unicodedata.category(character) in ("Cc", "Cs")), None)
    if bad is not None:
        raise InvalidParams(f"The {what} holds the control character U+{ord(bad):04X}", advice="Leave it out")
    return line


def check_text(what: str, text: str) -> str:
    """Returns a text of bearable size that git and JSON can hold."""
    if len(text) > LONGEST_TEXT:
        raise InvalidParams(f"The {what} has {len(text)} characters; at most {LONGEST_TEXT}", advice="Shorten it")
    return text


def check_comment(body: str) -> str:
    """Returns a comment that says something."""
    if not body.strip():
        raise InvalidParams(
            "The comment is empty", advice="Say something; in a shell, with --comment or --comment-file"
        )
    return body.rstrip()


def check_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """Returns labels trimmed, without empty ones and without the same one in another case."""
    return check_names("label", labels)


def check_names(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Returns names trimmed, each once."""
    kept: dict[str, str] = {}
    for name in names:
        plain = check_line(what, name)
        if len(plain) > LONGEST_NAME:
            raise InvalidParams(
                f"The {what} `{plain[:40]}…` is longer than {LONGEST_NAME} characters", advice="Shorten it"
            )
        if plain:
            kept.setdefault(plain.casefold(), plain)
    return tuple(kept.values())


def check_field(field: str, value: str) -> str | None:
    """Returns the value of a planning field, or none."""
    plain = check_line(field, value)
    if plain.lower() in ("", "none"):
        return None
    if field == "priority":
        return check_one_of("priority", plain.lower(), PRIORITIES)
    if field == "type":
        return check_one_of("type", plain.lower(), TYPES)
    if field == "estimate" and not re.fullmatch(r"\d{1,5}(\.\d{1,2})?(m|h|d|w|p)", plain.lower()):
        raise InvalidParams(f"`{plain[:64]}` is no estimate", advice="Write 30m, 4h, 2d, 1w, or points as 3p")
    return plain if field == ADDRESS_FIELD else plain.lower()


def check_key(key: str) -> str:
    """Returns a key under which something is done once."""
    plain = check_line("key", key)
    if not 1 <= len(plain) <= LONGEST_NAME:
        raise InvalidParams(f"A key has 1 to {LONGEST_NAME} characters", advice="Give a shorter one")
    return plain


def check_due(due: str | None) -> str | None:
    """Returns a day, or none."""
    if due is None or due.lower() in ("", "none"):
        return None
    if is_day(due):
        return due
    raise InvalidParams(f"`{due[:64]}` is not a day", advice="Write it as 2026-11-15, or `none`")
