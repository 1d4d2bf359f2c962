"""How things look on the wire in each era: tools, resources, prompts and results. Pure functions."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, structs
from msgspec.json import decode, encode

from postil.core.answer import LARGEST, Answer, in_rows
from postil.core.catalogue import OperationEntry, PromptEntry, ResourceEntry
from postil.core.content import Block, Document, Embedded, Link, Message, Text
from postil.core.failure import Failure

if TYPE_CHECKING:
    from postil.wire.protocol.eras.era import Era


def describe_tool(entry: OperationEntry, era: Era) -> dict[str, Any]:
    """Returns one tool of `tools/list`."""
    shown: dict[str, Any] = {"name": entry.name}
    if era.structured:
        shown["title"] = entry.title or entry.name.replace("_", " ").capitalize()
    shown["description"] = entry.description
    shown["inputSchema"] = entry.input_schema
    if entry.output_schema is not None and era.structured:
        shown["outputSchema"] = entry.output_schema
    if era.annotations:
        shown["annotations"] = describe_effect(entry)
    return shown


def describe_effect(entry: OperationEntry) -> dict[str, bool]:
    """Returns what the mark says of the effect, without hints that are the protocol's default."""
    shown: dict[str, bool] = {}
    if entry.effect == "reads":
        shown["readOnlyHint"] = True
    elif entry.effect == "writes":
        shown["destructiveHint"] = False
    if entry.idempotent or entry.effect == "destroys":  # what is gone once is gone: a second call changes nothing more
        shown["idempotentHint"] = True
    if not entry.open_world:
        shown["openWorldHint"] = False
    return shown


def describe_resource(entry: ResourceEntry, era: Era) -> dict[str, Any]:
    """Returns one resource, or one template, of a list."""
    shown = {"uriTemplate" if "{" in entry.uri else "uri": entry.uri, "name": entry.name}
    if entry.title and era.structured:
        shown["title"] = entry.title
    if entry.description:
        shown["description"] = entry.description
    shown["mimeType"] = entry.mime_type
    return shown


def describe_prompt(entry: PromptEntry, era: Era) -> dict[str, Any]:
    """Returns one prompt of `prompts/list`."""
    shown: dict[str, Any] = {"name": entry.name}
    if era.structured:
        shown["title"] = entry.title or entry.name.replace("_", " ").capitalize()
    shown["description"] = entry.description
    shown["arguments"] = entry.arguments
    return shown


def make_document(uri: str, mime_type: str, read: object) -> Document:
    """Returns what a resource's method answered, as one document."""
    if isinstance(read, Document):
        return _clean_document(read)
    if isinstance(read, bytes):
        return Document(uri, mime_type, blob=base64.b64encode(read).decode("ascii"))
    text = read if isinstance(read, str) else encode(read).decode("utf-8")
    return _clean_document(Document(uri, mime_type, text=text))


def make_result(
    value: object, era: Era, *, says_success: bool, structured: bool = False, contract: bool = False
) -> dict[str, Any]:
    """Returns what an operation answered, as the result of `tools/call`.

    `structured` says that the tool has declared a schema of its result. Clients then give their models that half
    alone (docs/decisions.md), so nobody gets it unasked.
    """
    shown: dict[str, Any] = {"content": make_blocks(value, era, contract=contract)}
    meta: dict[str, Any] = {}
    if isinstance(value, Answer):
        meta.update(value.contract_meta() if contract else value.meta())
        if metadata := value.metadata():
            (shown if contract else meta)["metadata" if contract else "postil/metadata"] = metadata
    if structured and era.structured and isinstance(value, Struct):
        shown["structuredContent"] = value
        meta["postil/untrusted"] = True  # the words of others are in its fields, as they wrote them
    if says_success:
        shown["isError"] = False
    if meta:
        shown["_meta"] = meta
    return shown


def make_blocks(value: object, era: Era, *, contract: bool = False) -> Sequence[Block]:
    """Returns the content of a result: what it says to models, or its JSON."""
    if isinstance(value, Answer):
        is_said = type(value).for_model is not Answer.for_model  # says_itself, without a call
        told = in_rows(value) if is_said else value
        read = told.for_contract() if contract else told.for_model()
        if isinstance(read, str):
            return [Text(_clean(read, is_json=not is_said))]
        return [_clean_block(_in_era(block, era)) for block in read]
    if isinstance(value, str):
        return [Text(_clean(value))]
    return [Text(_clean(encode(value).decode("utf-8"), is_json=True))]


def envelop(value: object, blocks: Sequence[Block], source: str, whose: str) -> list[Block]:
    """Returns the content of a result, its texts framed. JSON says of itself who wrote in it; documents have a type."""
    from postil.core.others.framing import OTHERS, frame, mark_json

    framed: list[Block] = []
    for block in blocks:
        if not isinstance(block, Text):
            framed.append(block)
        elif _is_object(value, block.text):
            framed.append(Text(mark_json(block.text)) if whose == OTHERS else block)
        else:
            framed.append(Text(frame(block.text, source, whose)))
    return framed


def _is_object(value: object, text: str) -> bool:
    """Returns whether the text is an object of JSON: as the struct of the answer is, or because it can be read."""
    if text[:1] != "{" or text[-1:] != "}":
        return False
    if isinstance(value, Answer) and not value.says_itself():
        return True
    try:
        decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def mark_document(document: Document) -> Document:
    """Returns a JSON document that says of itself that others wrote in it; another one as it is."""
    if document.text is None or document.mime_type != "application/json":
        return document
    from postil.core.others.framing import mark_json

    return structs.replace(document, text=mark_json(document.text))


def bound_result(result: dict[str, Any], entry: OperationEntry, given: object, value: object) -> dict[str, Any]:
    """Returns a tool's result whose content is no larger than it may be, and says how the rest can be had.

    `given` are the call's arguments.
    """
    from postil.core.size import bound, measure  # most results are far smaller

    largest = value.largest if isinstance(value, Answer) else LARGEST
    if measure(result["content"]) > largest:
        own = value.rest() if isinstance(value, Answer) else ""
        result["content"] = bound(result["content"], own or how_to_get_the_rest(entry, given), largest)
    return result


GOING_ON = frozenset({
    "after", "cursor", "end_line", "filter", "filters", "limit", "max_bytes", "offset", "page", "per_page", "query",
    "since", "start_line", "until",
})  # fmt: skip
"""Arguments that go on behind an answer or make it smaller, whatever they were."""
NARROWING = GOING_ON | frozenset({
    "as_of", "author", "event", "file", "filePath", "file_path", "path", "revision", "state", "status", "tag",
})  # fmt: skip
"""Arguments that make an answer smaller; most of them only where they were not given."""
PAGING = ("limit", "per_page", "after", "cursor", "offset", "page", "skip")
"""Arguments of an answer that holds no more than so much by itself, in a shell too."""
TRYING = {"dryRun": True, "dry_run": True, "claim": False}
"""Arguments with which an operation that writes only says what it would do."""
ALLOWING = ("fix",)
"""Arguments without which an operation that writes only says what it would do."""
LONGEST_COMMAND = 300


def how_to_get_the_rest(entry: OperationEntry, given: object) -> str:
    """Returns advice for an answer that was cut: the arguments that narrow it, and the command that prints it whole."""
    fields: dict[str, Any] = decode(entry.input_schema).get("properties", {})
    arguments = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    if entry.effect != "reads" and not _only_tells(fields, arguments):
        return "What was asked for is done: do not ask again to see the rest."
    narrowing = [name for name in fields if name in (NARROWING if name not in arguments else GOING_ON)]
    advice = [] if entry.effect == "reads" else ["Nothing was changed"]
    advice += [f"Ask for less with {', '.join(narrowing)}"] if narrowing else []
    command = _command(entry, arguments)
    where = " (FILE: the same arguments as JSON)" if command.endswith(" @FILE") else ""
    paging = [_say_paging(name, each) for name, each in fields.items() if name in PAGING]
    prints = f"`{command}` in a shell {'prints it whole' if paging else 'prints all'}{where}"
    behind = [f"more than that comes with {', '.join(paging)}"] if paging else []
    return "; ".join([*advice, prints, *behind]) + "."


def _only_tells(fields: Mapping[str, Any], arguments: Mapping[str, object]) -> bool:
    """Returns whether a call of an operation that writes was made to say what it would do."""
    return any(arguments.get(name) is value for name, value in TRYING.items()) or any(
        name in fields and arguments.get(name) is not True for name in ALLOWING
    )


def _say_paging(name: str, field: Mapping[str, Any]) -> str:
    most = field.get("maximum")
    return f"{name} (up to {most})" if most else name


def _command(entry: OperationEntry, arguments: dict[str, object]) -> str:
    """Returns the command that answers the same call."""
    from shlex import quote  # only an answer that was cut needs it

    command = f"postil call {entry.name}"
    if not arguments:
        return command
    whole = f"{command} {quote(encode(arguments).decode())}"
    return whole if len(whole) <= LONGEST_COMMAND else f"{command} @FILE"


def make_plain(value: object) -> object:
    """Returns what a direct JSON-RPC call answers: the answer's plain form, or the value itself."""
    return value.plain() if isinstance(value, Answer) else value


def make_messages(written: Sequence[Message], era: Era) -> list[Message]:
    """Returns a prompt's messages, without what the era lacks."""
    return [Message(message.role, _clean_block(_in_era(message.content, era))) for message in written]


# What a model reads holds words of others, whichever part it comes from: nothing invisible passes here.

_PLAIN = bytes([9, 10, *range(32, 127)])
_SHORT = 65536


def _clean(text: str, *, is_json: bool = False) -> str:
    if text.isascii() and "&" not in text and len(text) <= _SHORT and not text.encode("ascii").translate(None, _PLAIN):
        return text
    from postil.core.others.untrusted import clean  # most texts need nothing of it

    if is_json:  # there a line break is written as an escape
        text = text.replace("\u2028", "\\n").replace("\u2029", "\\n")
    return clean(text)


def _clean_block(block: Block) -> Block:
    if isinstance(block, Text):
        cleaned = _clean(block.text)
        return block if cleaned is block.text else Text(cleaned)
    if isinstance(block, Embedded):
        return Embedded(_clean_document(block.resource))
    if isinstance(block, Link):
        return structs.replace(block, name=_clean(block.name), description=_clean(block.description))
    return block


def _clean_document(document: Document) -> Document:
    if document.text is None:
        return document
    return structs.replace(document, text=_clean(document.text, is_json="json" in document.mime_type))


def make_error(failure: Failure) -> dict[str, Any]:
    """Returns a failure as an error object."""
    shown: dict[str, Any] = {"code": failure.code, "message": _clean(failure.message)}
    details = failure.details()
    return {**shown, "data": details} if details else shown


def make_failed_result(failure: Failure) -> dict[str, Any]:
    """Returns a failure as a tool's result: the text for the model; the error object, for programs, in `_meta`."""
    from postil.core.size import cut  # a start has no failures

    error = make_error(failure)
    if "content" in error.get("data", {}):  # what a contract puts into an error object is this very result
        facts = {key: value for key, value in error["data"].items() if key not in ("content", "isError")}
        error = {**error, "data": facts} if facts else {key: error[key] for key in ("code", "message")}
    return {
        "content": [Text(_clean(cut(failure.reply())[0]))],
        "isError": True,
        "_meta": {"postil/error": error},
    }


def _in_era(block: Block, era: Era) -> Block:
    if isinstance(block, Link) and not era.structured:
        return Text(f"{block.name}: {block.uri}")
    return block
