"""A name that somebody chose makes no row of its own: in every answer, for models and for people."""

from __future__ import annotations

import datetime
import functools
import importlib
import itertools
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import inspect

import postil
from postil.comments.operations.answers import CommentNow
from postil.comments.operations.maintenance import Checked
from postil.comments.operations.transfer import Imported
from postil.comments.storage.repair import Fault
from postil.comments.transfer.documents import markdown_pieces
from postil.core.answer import LINES, Answer, in_rows
from postil.core.content import Text
from postil.surfaces.shell.output import readable
from postil.tracker.log.verify import Verified
from postil.wire.protocol import shapes
from postil.wire.protocol.eras.era import NEWEST

ROW = "Forged row"
NAME = f"na\n{ROW}\r{ROW}\u2028{ROW}\x0b{ROW}\x85{ROW}"
DEEP = 8
DRAWN = {
    "gitlab.operations.presentation.Listing",
    "tracker.operations.answers.Listed",
    "tracker.shell.tables.Listing",
}
"""Answers that cannot be made of their types alone, which hold functions or structs without tags."""


def list_answers(of: type[Answer] = Answer) -> Iterator[type[Answer]]:
    """Every kind of answer, of every part."""
    for kind in of.__subclasses__():
        if kind.__module__.startswith("postil."):
            yield kind
        yield from list_answers(kind)


for _module in pkgutil.walk_packages(postil.__path__, "postil."):
    if "__main__" not in _module.name:
        importlib.import_module(_module.name)
ANSWERS = sorted(set(list_answers()), key=lambda kind: (kind.__module__, kind.__name__))
MADE = [kind for kind in ANSWERS if f"{kind.__module__}.{kind.__name__}".removeprefix("postil.") not in DRAWN]


def make(type_: inspect.Type, name: str = "", depth: int = 0, make_name: Callable[[], str] = lambda: NAME) -> Any:
    """A value of such a type, for a field of this name: every name in it is hostile."""
    make_one = functools.partial(make, name=name, depth=depth + 1, make_name=make_name)
    match type_:
        case inspect.StrType():
            return "words" if name in LINES else make_name()
        case inspect.IntType():
            return 3
        case inspect.FloatType():
            return 0.5
        case inspect.BoolType():
            return True
        case inspect.BytesType():
            return b"x"
        case inspect.AnyType():
            return make_name()
        case inspect.DateTimeType():
            return datetime.datetime.now(datetime.UTC)
        case inspect.LiteralType():
            return type_.values[0]
        case inspect.StructType():
            return type_.cls(**{field.name: make_one(field.type, name=field.name) for field in type_.fields})
        case inspect.ListType() | inspect.CollectionType():
            return [make_one(type_.item_type)] if depth < DEEP else []
        case inspect.VarTupleType():
            return (make_one(type_.item_type),) if depth < DEEP else ()
        case inspect.TupleType():
            return tuple(map(make_one, type_.item_types))
        case inspect.DictType():
            return {make_one(type_.key_type): make_one(type_.value_type)}
        case inspect.UnionType():
            plain = [one for one in type_.types if not isinstance(one, inspect.NoneType | inspect.CustomType)]
            return make_one(plain[0]) if plain and depth < DEEP else None
        case inspect.CustomType():
            return (
                {make_name(): make_name()}
                if type_.cls.__name__ == "Mapping"
                else make_one(inspect.type_info(type_.cls))
            )
        case _:
            return None


def test_the_answers_are_found() -> None:
    assert len(ANSWERS) > 90


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_no_name_makes_a_row_of_its_own(kind: type[Answer]) -> None:
    answer = make(inspect.type_info(kind))
    for contract in (False, True):
        for block in shapes.make_blocks(answer, NEWEST, contract=contract):
            if isinstance(block, Text):
                assert not [line for line in block.text.splitlines() if line.strip(' "-').startswith(ROW)]
    said = readable(answer)
    assert isinstance(said, bytes) or not [line for line in said.splitlines() if line.strip(" -").startswith(ROW)]


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_one_name_alone_makes_no_row_of_its_own_wherever_it_stands(kind: type[Answer]) -> None:
    type_ = inspect.type_info(kind)
    count = itertools.count()
    make(type_, make_name=lambda: f"{next(count)}")
    names = next(count)
    for wanted in range(names):
        place = itertools.count()
        answer = make(type_, make_name=lambda at=wanted, place=place: NAME if next(place) == at else "name")
        assert repr(NAME) in repr(answer)
        assert repr(NAME) not in repr(in_rows(answer))


def test_no_name_makes_a_row_of_its_own_in_an_export() -> None:
    comment = make(inspect.type_info(CommentNow))
    said = b"".join(piece for piece, _ in markdown_pieces([(comment, "code")])).decode()
    assert not [line for line in said.splitlines() if line.strip(" -").startswith(ROW)]


@pytest.mark.parametrize(
    "answer",
    [
        Imported((), 0, missing=(NAME,), leftOut=1),
        Imported((), 0, without=(NAME,)),
        Verified(logs=0, commits=0, events=0, entities=0, state="", problems=[NAME], warnings=[NAME]),
        Checked((Fault("a.py", NAME),), 1),
    ],
    ids=lambda answer: type(answer).__name__,
)
def test_names_that_stand_in_lists_and_sentences_make_no_row_either(answer: Answer) -> None:
    """What an import does not find is named by whoever made the export."""
    for said in (str(readable(answer)), *(str(block) for block in shapes.make_blocks(answer, NEWEST))):
        assert not [line for line in said.splitlines() if line.strip(" -").startswith(ROW)]
