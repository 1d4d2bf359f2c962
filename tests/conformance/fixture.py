"""What the official conformance suite calls: its tools, resources and prompts, as one part over our registry.

Test-only. The names and texts are the suite's own; the server behind them is the product's, composed without a token.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta, Raw, field

from postil.core import call, codes
from postil.core.answer import Answer
from postil.core.arguments.published import describe
from postil.core.call import Question
from postil.core.catalogue import Catalogue
from postil.core.content import Audio, Block, Document, Embedded, Image, Message, Text, said
from postil.core.failure import Failure
from postil.core.operation import reads, writes
from postil.core.prompt import prompt
from postil.core.registry import Registry
from postil.core.resource import resource
from postil.wire.protocol.failures import ProtocolFailure

# A picture of one red pixel and a sound of one silent sample.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="


class Said(Answer, frozen=True):
    """A text and nothing else."""

    said: str

    def for_model(self) -> str:
        return self.said


class Shown(Answer, frozen=True):
    """Content of several kinds."""

    shown: str
    blocks: list[Block] = field(default_factory=list[Block])

    def for_model(self) -> list[Block]:
        return self.blocks


class TestFailed(Failure):
    """The failure that the suite asks for."""


def form(message: str, **fields: object) -> Question:
    """A question to the person: a form with these fields, all required."""
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    return Question("elicitation/create", {"message": message, "requestedSchema": schema})


def sample(text: str, tokens: int = 100) -> Question:
    """A question to the client's model."""
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    return Question("sampling/createMessage", {"messages": messages, "maxTokens": tokens})


ROOTS = Question("roots/list", {})
STRING = {"type": "string"}


async def ask(**questions: Question) -> Mapping[str, Any]:
    """Ask the client under these keys."""
    return cast("Mapping[str, Any]", await call.current().ask(questions))


class Tools:
    """Tools with plain answers. The first one takes no arguments: the suite calls the first of the list."""

    @reads("test_simple_text")
    async def simple_text(self) -> Said:
        """Answer a text"""
        return Said("This is a simple text response for testing.")

    @reads("test_image_content")
    async def image(self) -> Shown:
        """Answer an image"""
        return Shown("image", [Image(PNG, "image/png")])

    @reads("test_audio_content")
    async def audio(self) -> Shown:
        """Answer a sound"""
        return Shown("audio", [Audio(WAV, "audio/wav")])

    @reads("test_embedded_resource")
    async def embedded(self) -> Shown:
        """Answer a document"""
        document = Document("test://embedded-resource", "text/plain", "This is an embedded resource content.")
        return Shown("resource", [Embedded(document)])

    @reads("test_multiple_content_types")
    async def mixed(self) -> Shown:
        """Answer a text, an image and a document"""
        document = Document("test://mixed-content-resource", "application/json", '{"test":"data","value":123}')
        return Shown("mixed", [Text("Multiple content types test:"), Image(PNG, "image/png"), Embedded(document)])

    @reads("test_error_handling")
    async def error(self) -> Said:
        """Fail"""
        raise TestFailed("This tool intentionally returns an error for testing")

    @reads("test_tool_with_logging")
    async def logging(self) -> Said:
        """Log three times"""
        return await self._log()

    @reads("test_logging_tool")
    async def logging_again(self) -> Said:
        """Log three times, if the request asked for it"""
        return await self._log()

    async def _log(self) -> Said:
        for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            call.current().log("info", line)
            await asyncio.sleep(0.05)
        return Said("Logged three times")

    @reads("test_tool_with_progress")
    async def progress(self) -> Said:
        """Report progress three times"""
        for done in (0, 50, 100):
            call.current().progress(done, 100)
            await asyncio.sleep(0.05)
        return Said("Reported progress three times")

    @reads("test_x_mcp_header")
    async def header(
        self,
        region: Annotated[str, Meta(description="Mirrored in a header", extra_json_schema={"x-mcp-header": "Region"})],
    ) -> Said:
        """Take an argument that a header repeats"""
        return Said(f"Region: {region}")

    @reads("json_schema_2020_12_tool")
    async def schema(
        self,
        name: str = "",
        address: dict[str, str] | None = None,
        contactMethod: str = "",
        phone: str = "",
        email: str = "",
    ) -> Said:
        """Tool with JSON Schema 2020-12 features"""
        return Said(f"{name}: {phone or email}")


SCHEMA_2020_12: dict[str, object] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": STRING, "city": STRING}}},
    "properties": {
        "name": STRING,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": STRING,
        "email": STRING,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


class Questions:
    """Tools and a prompt that ask the client something before they answer."""

    @reads("test_sampling")
    async def sampling(self, prompt: str) -> Said:
        """Ask the client's model"""
        answers = await ask(answer=sample(prompt))
        return Said(f"LLM response: {answers['answer']['content']['text']}")

    @reads("test_elicitation")
    async def elicitation(self, message: str) -> Said:
        """Ask the person"""
        username = {"type": "string", "description": "User's response"}
        email = {"type": "string", "description": "User's email address"}
        return completed(await ask(answer=form(message, username=username, email=email)))

    @reads("test_elicitation_sep1034_defaults")
    async def defaults(self) -> Said:
        """Ask the person, with defaults of every kind"""
        question = form(
            "Please review and update the form fields with defaults",
            name={"type": "string", "default": "John Doe"},
            age={"type": "integer", "default": 30},
            score={"type": "number", "default": 95.5},
            status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
            verified={"type": "boolean", "default": True},
        )
        return completed(await ask(answer=question))

    @reads("test_elicitation_sep1330_enums")
    async def enums(self) -> Said:
        """Ask the person, with choices of every kind"""
        options = ["option1", "option2", "option3"]
        titled = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
        legacy = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]}
        question = form(
            "Please choose",
            untitledSingle={"type": "string", "enum": options},
            titledSingle={"type": "string", "oneOf": titled},
            legacyEnum={"type": "string", **legacy},
            untitledMulti={"type": "array", "items": {"type": "string", "enum": options}},
            titledMulti={"type": "array", "items": {"anyOf": titled}},
        )
        return completed(await ask(answer=question))

    @reads("test_input_required_result_elicitation")
    async def ask_person(self) -> Said:
        """Ask the person for a name"""
        answers = await ask(user_name=form("What is your name?", name=STRING))
        return Said(f"Hello, {answers['user_name']['content']['name']}!")

    @reads("test_streaming_elicitation")
    async def ask_while_streaming(self) -> Said:
        """Report progress, then ask the person"""
        call.current().progress(1, 2)
        return completed(await ask(answer=form("Go on?", ok={"type": "boolean"})))

    @reads("test_input_required_result_sampling")
    async def ask_model(self) -> Said:
        """Ask the client's model for a capital"""
        answers = await ask(capital_question=sample("What is the capital of France?"))
        return Said(answers["capital_question"]["content"]["text"])

    @reads("test_missing_capability")
    async def need_model(self) -> Said:
        """Need a model that the client may not have"""
        answers = await ask(answer=sample("Say something"))
        return Said(answers["answer"]["content"]["text"])

    @reads("test_input_required_result_capabilities")
    async def ask_what_is_there(self) -> Said:
        """Ask the person, or the model where the client has no way to ask the person"""
        try:
            answers = await ask(answer=form("What do you say?", text=STRING))
        except Failure:
            answers = await ask(answer=sample("Say something"))
        return Said(json.dumps(answers["answer"]))

    @reads("test_input_required_result_list_roots")
    async def ask_roots(self) -> Said:
        """Ask for the client's roots"""
        answers = await ask(client_roots=ROOTS)
        return Said(", ".join(root["uri"] for root in answers["client_roots"]["roots"]))

    @reads("test_input_required_result_request_state")
    async def ask_with_state(self) -> Said:
        """Ask, and check that the state came back"""
        await ask(confirm=form("Please confirm", ok={"type": "boolean"}))
        return Said("state-ok")

    @reads("test_input_required_result_tampered_state")
    async def ask_with_signed_state(self) -> Said:
        """Ask, with a state that must not be changed"""
        await ask(confirm=form("Please confirm", ok={"type": "boolean"}))
        return Said("state-ok")

    @reads("test_input_required_result_multiple_inputs")
    async def ask_everything(self) -> Said:
        """Ask the person, the model and for the roots at once"""
        name = form("What is your name?", name=STRING)
        answers = await ask(user_name=name, greeting=sample("Generate a greeting", 50), client_roots=ROOTS)
        return Said(f"{answers['greeting']['content']['text']} {answers['user_name']['content']['name']}")

    @reads("test_input_required_result_multi_round")
    async def ask_twice(self) -> Said:
        """Ask the person, then ask again"""
        first = await ask(step1=form("Step 1: What is your name?", name=STRING))
        second = await ask(step2=form("Step 2: What is your favorite color?", color=STRING))
        return Said(f"{first['step1']['content']['name']} likes {second['step2']['content']['color']}")

    @prompt("test_input_required_result_prompt")
    async def ask_in_a_prompt(self) -> list[Message]:
        """A prompt that asks for its context"""
        answers = await ask(user_context=form("What context should the prompt use?", context=STRING))
        return [said(f"Use this context: {answers['user_context']['content']['context']}")]


def completed(answers: Mapping[str, Any]) -> Said:
    """What the elicitation tools say of their answer."""
    answer = answers["answer"]
    return Said(f"Elicitation completed: action={answer['action']}, content={json.dumps(answer.get('content'))}")


class LongTools:
    """Tools that become tasks for clients that know of tasks."""

    @reads("greet")
    async def greet(self, name: str) -> Said:
        """Greet, at once"""
        return Said(f"Hello, {name}!")

    @reads("slow_compute", task="optional")
    async def slow(self, seconds: float = 1, label: str = "") -> Said:
        """Sleep, then answer"""
        call.current().progress(0, seconds, label)
        await asyncio.sleep(seconds)
        return Said(f"Computed {label}")

    @reads("failing_job", task="required")
    async def failing(self) -> Said:
        """Fail after a moment"""
        await asyncio.sleep(1)
        raise TestFailed("This job fails on purpose")

    @reads("protocol_error_job", task="optional")
    async def breaking(self) -> Said:
        """Break the protocol's own way"""
        raise ProtocolFailure(codes.INTERNAL_ERROR, "This job breaks on purpose")

    @reads("confirm_delete", task="optional")
    async def confirm(self, filename: str) -> Said:
        """Ask before it deletes nothing"""
        answers = await ask(confirm=form(f"Delete {filename}?", confirm={"type": "boolean"}))
        return Said(f"{filename}: {answers['confirm']['action']}")

    @reads("multi_input", task="optional")
    async def two_questions(self) -> Said:
        """Ask two things at once"""
        answers = await ask(one=form("One?", name=STRING), two=form("Two?", name=STRING))
        return Said(f"{len(answers)} answers")

    @reads("test_tool_with_task", task="after_questions")
    async def ask_then_work(self) -> Said:
        """Ask first, then take long"""
        answers = await ask(user_name=form("What is your name?", name=STRING))
        await asyncio.sleep(0.1)
        return Said(f"Hello, {answers['user_name']['content']['name']}!")


class Documents:
    """Resources, and prompts that need no answer."""

    def __init__(self) -> None:
        self._changed: list[Callable[[], None]] = []

    @resource("test://static-text", name="Static text")
    async def text(self) -> str:
        """A text that never changes"""
        return "This is the content of the static text resource."

    @resource("test://static-binary", name="Static binary", mime_type="image/png")
    async def binary(self) -> bytes:
        """An image that never changes"""
        import base64

        return base64.b64decode(PNG)

    @resource("test://template/{id}/data", name="Data by id", mime_type="application/json")
    async def data(self, id: str) -> str:
        """The data of one id"""
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @resource("test://watched-resource", name="Watched", watch="watch")
    async def watched(self) -> str:
        """A text that clients may watch"""
        return "Watched content"

    def watch(self, uri: str, changed: Callable[[], None]) -> Callable[[], None]:
        self._changed.append(changed)
        return lambda: self._changed.remove(changed)

    @prompt("test_simple_prompt")
    async def simple(self) -> list[Message]:
        """A simple prompt"""
        return [said("This is a simple prompt for testing.")]

    @prompt("test_prompt_with_arguments", complete={"arg1": ("test", "testing", "paris")})
    async def with_arguments(
        self,
        arg1: Annotated[str, Meta(description="First test argument")],
        arg2: Annotated[str, Meta(description="Second test argument")],
    ) -> list[Message]:
        """A prompt with two arguments"""
        return [said(f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'")]

    @prompt("test_prompt_with_embedded_resource")
    async def with_document(
        self, resourceUri: Annotated[str, Meta(description="URI of the resource to embed")]
    ) -> list[Message]:
        """A prompt with a document"""
        document = Document(resourceUri, "text/plain", "Embedded resource content for testing.")
        return [Message("user", Embedded(document)), said("Please process the embedded resource above.")]

    @prompt("test_prompt_with_image")
    async def with_image(self) -> list[Message]:
        """A prompt with an image"""
        return [Message("user", Image(PNG, "image/png")), said("Please analyze the image above.")]


class Changes:
    """Tools that change a list, so that subscribers hear of it."""

    registry: Registry

    @writes("test_trigger_tool_change")
    async def tools(self) -> Said:
        """Say that the list of tools changed"""
        self.registry.list_changed("tools")
        return Said("Tools changed")

    @writes("test_trigger_prompt_change")
    async def prompts(self) -> Said:
        """Say that the list of prompts changed"""
        self.registry.list_changed("prompts")
        return Said("Prompts changed")


def fixture() -> Registry:
    """The registry that the suite is run against."""
    changes = Changes()
    parts: dict[str, object] = {
        "tools": Tools(),
        "questions": Questions(),
        "long": LongTools(),
        "documents": Documents(),
        "changes": changes,
    }
    catalogue = describe((name, "all", type(part)) for name, part in parts.items())
    registry = Registry(with_schema(catalogue), lambda part, group: parts[part])
    changes.registry = registry
    return registry


def with_schema(catalogue: Catalogue) -> Catalogue:
    """The catalogue with the suite's own schema for its schema tool: no Python signature says `if`, `then`, `else`."""
    schema = Raw(msgspec.json.encode(SCHEMA_2020_12))
    operations = [
        msgspec.structs.replace(entry, input_schema=schema) if entry.name == "json_schema_2020_12_tool" else entry
        for entry in catalogue.operations
    ]
    return msgspec.structs.replace(catalogue, operations=operations)
