"""A scripted chat model on loopback that speaks the OpenAI wire protocol.

`llmock` serves the protocol (streams, tool calls, usage). Its answers come from a script: a JSON list whose entries
are tried in order; the first match answers. An entry has

- `model`: the requested model, shell wildcards allowed;
- `user`: text within the last user message, or `prompt`: text anywhere in the messages, for a critic in the draft that
  it is asked about;
- `tool`: text within the tool result that ends the messages; without it the messages must not end in one;
- and the answer: `text`, `json` (sent as text) or `calls` (`name` and `arguments` each).

A request that no entry fits gets HTTP 404 with the reason, so a gap in a script is always visible.
"""

from __future__ import annotations

import contextvars
import fnmatch
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmock.scenarios import Fail, Match, Reply, RequestInfo, ToolCall
from llmock.testing import LLMockServer

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

DEFAULT_SCRIPT = Path(__file__).with_name("script.json")
AGENT_MODEL = "gpt-4o-mini"
"""The agent's model in the default script."""
CRITIC_MODEL = "gpt-4.1-mini"
"""The critic's model in the default script."""

_LONGEST_REQUEST = 8 * 1024 * 1024
_NO_LINE = -1
_line: contextvars.ContextVar[int] = contextvars.ContextVar("draftcritic_demo_line", default=_NO_LINE)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Line:
    """One entry of a script; the module's docstring describes the fields."""

    model: str
    user: str | None = None
    prompt: str | None = None
    tool: str | None = None
    text: str | None = None
    calls: tuple[ToolCall, ...] = ()

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Line:
        """Read an entry.

        Raises:
            ValueError: It answers nothing, or in more than one way, or has unknown fields.
        """
        fields = dict(entry)
        answers = [name for name in ("text", "json", "calls") if name in fields]
        if len(answers) != 1:
            raise ValueError(f"a script's entry needs exactly one of text, json, calls; got {answers} in {entry!r}")
        if "json" in fields:
            fields["text"] = json.dumps(fields.pop("json"), ensure_ascii=False)
        fields["calls"] = tuple(ToolCall(**call) for call in fields.pop("calls", ()))
        try:
            return cls(**fields)
        except TypeError as error:
            raise ValueError(f"a script's entry has a field too many or too few: {error} in {entry!r}") from None

    def fits(self, model: str, messages: Sequence[Mapping[str, Any]]) -> bool:
        """Whether this line answers a request."""
        if not fnmatch.fnmatchcase(model, self.model):
            return False
        if self.prompt is not None:
            return self.prompt in _asked(messages)
        if self.user is not None and self.user not in _last_text(messages, "user"):
            return False
        ends_in_tool = bool(messages) and messages[-1].get("role") == "tool"
        if self.tool is None:
            return not ends_in_tool
        return ends_in_tool and self.tool in _text(messages[-1])


def _asked(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the draft that a critic is asked about, or all messages."""
    _, found, draft = _last_text(messages, "user").rpartition("begin [DRAFT]")
    return draft if found else "\n".join(map(_text, messages))


class ScriptedModel:
    """The server: starts on entry on a free port of 127.0.0.1, stops on exit.

    Args:
        script: The JSON file with the lines.

    Raises:
        ValueError: The script is not what the module's docstring describes.
    """

    def __init__(self, script: Path = DEFAULT_SCRIPT) -> None:
        self._lines = tuple(map(Line.from_json, json.loads(script.read_text(encoding="utf-8"))))
        self._server = LLMockServer()
        scenarios = self._server.state.scenarios
        for number, line in enumerate(self._lines):
            reply = Reply(text=line.text, tool_calls=line.calls, times=None, match=_ForLine(number=number))
            scenarios.add(reply)
        scenarios.add(
            Fail(
                404,
                message="the script has no line for this request",
                times=None,
                match=_ForLine(number=_NO_LINE),
            )
        )
        self._server.app.add_middleware(partial(_ChooseLine, lines=self._lines))

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return str(self._server.base_url("openai"))

    def requests(self) -> list[tuple[str, dict[str, Any]]]:
        """Model and body of every request answered so far, in order of arrival."""
        return [(str(r.model), r.body or {}) for r in self._server.state.journal.records(wait=5)]

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()


@dataclass(frozen=True)
class _ForLine(Match):
    """Accepts the request for which this line of the script was chosen."""

    number: int = _NO_LINE

    def accepts(self, info: RequestInfo) -> bool:
        return info.path.endswith("/chat/completions") and _line.get() == self.number


class _ChooseLine:
    """ASGI middleware: reads the request, records which line matches, and passes the request on unchanged."""

    def __init__(self, app: App, lines: Sequence[Line]) -> None:
        self._app = app
        self._lines = lines

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body, replay = await _buffered(receive)
        _line.set(self._choose(body))
        await self._app(scope, replay, send)

    def _choose(self, body: bytes) -> int:
        try:
            request = json.loads(body)
            model, messages = str(request["model"]), list(request["messages"])
        except (ValueError, TypeError, KeyError):
            return _NO_LINE
        return next((n for n, line in enumerate(self._lines) if line.fits(model, messages)), _NO_LINE)


async def _buffered(receive: Receive) -> tuple[bytes, Receive]:
    """The request's body, and a `receive` that gives the same messages again before it goes on."""
    seen: list[Message] = []
    size = 0
    while size <= _LONGEST_REQUEST:
        message = await receive()
        seen.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    body = b"".join(message.get("body", b"") for message in seen)

    async def replay() -> Message:
        return seen.pop(0) if seen else await receive()

    return body, replay


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, Mapping))
    return str(content or "")


def _last_text(messages: Sequence[Mapping[str, Any]], role: str) -> str:
    return next((_text(message) for message in reversed(messages) if message.get("role") == role), "")
