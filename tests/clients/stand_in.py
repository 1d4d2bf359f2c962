"""A stand-in for the models of assistants, on the loopback: it keeps what it was asked, and answers one word.

It speaks as much of four APIs as the assistants need: Anthropic's Messages, OpenAI's Responses and Chat
Completions, and Gemini's generateContent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

WORD = "understood"
Event = tuple[str, dict[str, Any]]


class Model:
    """Where the model is, and what it was asked, the first question first."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.asked: list[str] = []
        self.before_answer: Callable[[int], object] = lambda number: None
        """Called with the number of each question before it is answered."""


@contextmanager
def running_model() -> Generator[Model]:
    """A model that answers until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.answer(b'{"data": [], "models": []}')

        def do_HEAD(self) -> None:
            self.answer(b"")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
            path = self.path.partition("?")[0]
            events = list_events(path)
            if not events:
                self.answer(b"{}")
                return
            model.asked.append(body)
            model.before_answer(len(model.asked))
            rows = [(f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events]
            self.answer("".join(rows).encode(), "text/event-stream")

        def answer(self, body: bytes, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing: a test prints what matters."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    model = Model(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def list_events(path: str) -> list[Event]:
    """The answer as the API of this path streams it; nothing for a path that is no question."""
    if path.endswith("/messages"):
        return _list_messages()
    if path.endswith("/responses"):
        return _list_responses()
    if path.endswith("/chat/completions"):
        return _list_completions()
    return _list_candidates() if path.endswith(":streamGenerateContent") else []


def _list_messages() -> list[Event]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": usage,
    }
    started: dict[str, Any] = {**message, "stop_reason": None, "stop_sequence": None}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": started},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": WORD}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return [(str(event["type"]), event) for event in events]


def _list_responses() -> list[Event]:
    content: list[dict[str, Any]] = [{"type": "output_text", "text": WORD, "annotations": []}]
    item: dict[str, Any] = {
        "type": "message",
        "id": "item_1",
        "role": "assistant",
        "status": "completed",
        "content": content,
    }
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "output": [item],
        "usage": usage,
    }
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    return [(str(event["type"]), event) for event in events]


def _list_completions() -> list[Event]:
    chunk = {"id": "c1", "object": "chat.completion.chunk", "model": "m"}
    said = {"index": 0, "delta": {"role": "assistant", "content": WORD}, "finish_reason": None}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    ended = {"index": 0, "delta": dict[str, str](), "finish_reason": "stop"}
    return [("", {**chunk, "choices": [said]}), ("", {**chunk, "choices": [ended], "usage": usage})]


def _list_candidates() -> list[Event]:
    said = {"content": {"role": "model", "parts": [{"text": WORD}]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return [("", {"candidates": [said], "usageMetadata": usage})]
