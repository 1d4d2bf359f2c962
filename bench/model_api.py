"""A stand-in for the model APIs, on this machine: it calls tools by a script and logs what the model would read.

Speaks just enough of Anthropic's Messages, OpenAI's Responses and Chat, and Gemini's generateContent for real
assistants to work with it. Nothing here is sent anywhere.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Call(NamedTuple):
    """One call of the script: a tool of ours, and its arguments."""

    tool: str
    arguments: dict[str, Any]


class ModelApi:
    """Answers every assistant with the next call of the script, then with a last word."""

    def __init__(self, script: list[Call]) -> None:
        self.script = script
        self.read: list[str] = []
        """What the model was given for each call, in order."""
        self.names: set[str] = set()
        self._lock = threading.Lock()

    def next_call(self, names: list[str], results: list[str]) -> tuple[str, Call] | None:
        """Returns the tool's name as this assistant knows it and the call, or None when the script is over."""
        with self._lock:
            self.names |= {*names}
            self.read = results if len(results) > len(self.read) else self.read
            if len(results) >= len(self.script):
                return None
            call = self.script[len(results)]
            name = next((each for each in names if each.endswith(call.tool)), "")
            return (name, call) if name else None


def text_of(content: Any) -> str:
    """Returns the text in a result, however an API nests it."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text_of(part) for part in content)
    if isinstance(content, dict):
        return text_of(content.get("text", content.get("output", content.get("content", ""))))
    return ""


def anthropic(api: ModelApi, asked: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    names = [tool.get("name", "") for tool in asked.get("tools", [])]
    parts = [
        part for message in asked["messages"] if isinstance(message["content"], list) for part in message["content"]
    ]
    due = api.next_call(names, [text_of(part.get("content")) for part in parts if part.get("type") == "tool_result"])
    message = {"id": "msg", "type": "message", "role": "assistant", "model": asked.get("model", ""), "content": []}
    usage = {"input_tokens": 1, "output_tokens": 1}
    if due is None:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
    else:
        block = {"type": "tool_use", "id": f"toolu_{len(api.read)}", "name": due[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(due[1].arguments)}
    reason = {"stop_reason": "end_turn" if due is None else "tool_use", "stop_sequence": None}
    return [
        (event["type"], event)
        for event in (
            {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        )
    ]


def openai(api: ModelApi, asked: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    names: list[str] = []
    for tool in asked.get("tools", []):
        inner = tool.get("tools") if tool.get("type") == "namespace" else [tool]
        names += [f"{tool['name']}|{each['name']}" if inner is not None and tool.get("type") == "namespace" else
                  each.get("name", "") for each in inner or []]  # fmt: skip
    given = [item for item in asked.get("input", []) if item.get("type") == "function_call_output"]
    due = api.next_call(names, [text_of(item.get("output")) for item in given])
    if due is None:
        item: dict[str, Any] = {"type": "message", "role": "assistant", "id": "m",
                                "content": [{"type": "output_text", "text": "done"}]}  # fmt: skip
    else:
        space, _, name = due[0].rpartition("|")
        item = {"type": "function_call", "id": f"f{len(api.read)}", "call_id": f"c{len(api.read)}", "name": name,
                "arguments": json.dumps(due[1].arguments), **({"namespace": space} if space else {})}  # fmt: skip
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": None,
             "output_tokens_details": None}  # fmt: skip
    return [
        (event["type"], event)
        for event in (
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r", "output": [item], "usage": usage}},
        )
    ]


def gemini(api: ModelApi, asked: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    names = [each["name"] for tool in asked.get("tools", []) for each in tool.get("functionDeclarations", [])]
    parts = [part for content in asked.get("contents", []) for part in content.get("parts", [])]
    given = [part["functionResponse"]["response"] for part in parts if "functionResponse" in part]
    due = api.next_call(names, [text_of(each) for each in given])
    part = {"text": "done"} if due is None else {"functionCall": {"name": due[0], "args": due[1].arguments}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return [("", {"candidates": [candidate], "usageMetadata": {"totalTokenCount": 1}})]


def chat(api: ModelApi, asked: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    names = [tool["function"]["name"] for tool in asked.get("tools", []) if "function" in tool]
    given = [message for message in asked.get("messages", []) if message.get("role") == "tool"]
    due = api.next_call(names, [text_of(message.get("content")) for message in given]) if names else None
    delta: dict[str, Any] = {"role": "assistant", "content": "done"}
    if due is not None:
        function = {"name": due[0], "arguments": json.dumps(due[1].arguments)}
        called = {"index": 0, "id": f"c{len(api.read)}", "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [called]}
    base = {"id": "r", "object": "chat.completion.chunk", "created": 1, "model": asked.get("model", "")}
    reason = "stop" if due is None else "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return [
        ("", {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
        ("", {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
        ("", {**base, "choices": [], "usage": usage}),
    ]


def whole_chat(events: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Returns the same as one answer, for a client that wants no stream."""
    (choice,), (ended,) = events[0][1]["choices"], events[1][1]["choices"]
    message = {"index": 0, "message": choice["delta"], "finish_reason": ended["finish_reason"]}
    return {**events[0][1], "object": "chat.completion", "choices": [message], "usage": events[2][1]["usage"]}


@contextmanager
def serving(api: ModelApi) -> Iterator[str]:
    """Serve the four APIs on a free port of this machine; yields the address."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...

        def do_GET(self) -> None:
            self._answer(b'{"data":[],"models":[]}', "application/json")

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
            path = self.path.partition("?")[0]
            if path.endswith("/messages"):
                events = anthropic(api, asked)
            elif path.endswith("/responses"):
                events = openai(api, asked)
            elif path.endswith("/chat/completions"):
                events = chat(api, asked)
                if not asked.get("stream"):
                    self._answer(json.dumps(whole_chat(events)).encode(), "application/json")
                    return
            elif "treamGenerateContent" in path:
                events = gemini(api, asked)
            elif "enerateContent" in path:
                self._answer(json.dumps(gemini(ModelApi([]), asked)[0][1]).encode(), "application/json")
                return
            else:
                self._answer(b'{"input_tokens":1,"totalTokens":1}', "application/json")
                return
            lines = [(f"event: {name}\n" if name else "") + f"data: {json.dumps(event)}\n\n" for name, event in events]
            end = "data: [DONE]\n\n" if path.endswith("/chat/completions") else ""
            self._answer(("".join(lines) + end).encode(), "text/event-stream")

        def _answer(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
