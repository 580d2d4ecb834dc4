"""One server on loopback that answers in the wire protocols of several providers.

The answers are those of the providers' documentation. A question for a verdict is approved; any other gets the answer
that a parcel is on its way.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DRAFT = "Your parcel is on its way."
APPROVE = '{"verdict": "approve"}'
TOKENS_IN, TOKENS_OUT = 812, 41

Answer = tuple[str, str]
"""A content type and a body."""


def openai(said: Sequence[str], streamed: bool) -> Answer:
    usage = {"prompt_tokens": TOKENS_IN, "completion_tokens": TOKENS_OUT, "total_tokens": TOKENS_IN + TOKENS_OUT}
    common = {"id": "chatcmpl-1", "created": 1796000000, "model": "gpt-4o-mini-2024-07-18", "system_fingerprint": "fp"}
    if not streamed:
        choice = {"index": 0, "message": {"role": "assistant", "content": "".join(said)}, "finish_reason": "stop"}
        return _json({**common, "object": "chat.completion", "choices": [choice], "usage": usage})
    chunk = {**common, "object": "chat.completion.chunk"}
    deltas: list[Any] = [({"role": "assistant", "content": text}, None) for text in said]
    deltas.append(({}, "stop"))
    events = [{**chunk, "choices": [{"index": 0, "delta": d, "finish_reason": reason}]} for d, reason in deltas]
    return _events([*events, {**chunk, "choices": [], "usage": usage}])


def anthropic(said: Sequence[str], streamed: bool) -> Answer:
    message = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": [{"type": "text", "text": "".join(said)}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT},
    }
    if not streamed:
        return _json(message)
    begun = {**message, "content": [], "stop_reason": None, "usage": {"input_tokens": TOKENS_IN, "output_tokens": 1}}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    return _events(
        [
            {"type": "message_start", "message": begun},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
                for text in said
            ),
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": ended,
                "usage": {"input_tokens": TOKENS_IN, "output_tokens": TOKENS_OUT},
            },
            {"type": "message_stop"},
        ]
    )


def gemini(said: Sequence[str], streamed: bool) -> Answer:
    def part(text: str, last: bool) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": [{"text": text}]}, "index": 0}
        usage = {"promptTokenCount": TOKENS_IN, "candidatesTokenCount": TOKENS_OUT}
        return {
            "candidates": [{**candidate, "finishReason": "STOP"} if last else candidate],
            "usageMetadata": {**usage, "totalTokenCount": TOKENS_IN + TOKENS_OUT} if last else {},
            "modelVersion": "gemini-2.5-flash",
            "responseId": "resp-1",
        }

    if not streamed:
        return _json(part("".join(said), True))
    return _events([part(text, index == len(said) - 1) for index, text in enumerate(said)])


def converse(said: Sequence[str], _: bool) -> Answer:
    usage = {"inputTokens": TOKENS_IN, "outputTokens": TOKENS_OUT, "totalTokens": TOKENS_IN + TOKENS_OUT}
    message = {"role": "assistant", "content": [{"text": "".join(said)}]}
    return _json(
        {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}
    )


def ollama(said: Sequence[str], _: bool) -> Answer:
    common = {"model": "llama3.1:8b", "created_at": "2026-11-30T04:00:00Z"}
    lines: list[Mapping[str, Any]] = [
        {**common, "message": {"role": "assistant", "content": text}, "done": False} for text in said
    ]
    counts = {"prompt_eval_count": TOKENS_IN, "eval_count": TOKENS_OUT, "total_duration": 9, "eval_duration": 5}
    last = {**common, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **counts}
    return "application/x-ndjson", "".join(f"{json.dumps(line)}\n" for line in [*lines, last])


PROTOCOLS = {
    "/chat/completions": openai,
    "/v1/messages": anthropic,
    "enerateContent": gemini,
    "/converse": converse,
    "/invoke": anthropic,
    "/api/chat": ollama,
}
"""By a part of the path: `generateContent` and `streamGenerateContent` are Gemini's, `/invoke` is Bedrock's."""


def _json(answer: Any) -> Answer:
    return "application/json", json.dumps(answer)


def _events(events: Sequence[Mapping[str, Any]]) -> Answer:
    lines = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
    return "text/event-stream", "".join(
        f"{line}data: {json.dumps(event)}\n\n" for line, event in zip(lines, events, strict=True)
    )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen: list[str] | None = None

    def do_POST(self) -> None:
        if self.seen is not None:
            self.seen.append(self.path)
        body = self.rfile.read(int(self.headers["content-length"]))
        answers = next(answers for part, answers in PROTOCOLS.items() if part in self.path)
        said = [APPROVE] if b"verdict" in body else ["Your parcel ", "is on its way."]
        kind, text = answers(said, bool(json.loads(body).get("stream")) or "stream" in self.path)
        given = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(given)))
        if "/invoke" in self.path:
            self.send_header("x-amzn-bedrock-input-token-count", str(TOKENS_IN))
            self.send_header("x-amzn-bedrock-output-token-count", str(TOKENS_OUT))
        self.end_headers()
        self.wfile.write(given)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def provider_server(seen: list[str] | None = None) -> Iterator[str]:
    """The server, and its base URL.

    Args:
        seen: gets the path of each request.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"seen": seen}))
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
