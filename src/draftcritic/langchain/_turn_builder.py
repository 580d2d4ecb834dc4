"""What a prompt's messages say: where the turn begins, its calls, and who wrote what."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from draftcritic.core._models import reported_model_name, resolve_model_name
from draftcritic.core._turn import Earlier, Turn
from draftcritic.langchain._backing import DocumentMemory, backing_of
from draftcritic.langchain._capture import Answer, CapturedDraft, are_calls, mapping_of, text_of_answers
from draftcritic.langchain._message_text import as_json, readable, retrieved_in
from draftcritic.langchain._structured import asks_for_structure
from draftcritic.langchain._tool_records import ProviderCalls, asks_for_tool, calls_in
from draftcritic.review._scope import current_activation

_USERS, _OPERATORS, _TOOLS = (
    frozenset({"human", "user"}),
    frozenset({"system", "developer"}),
    frozenset({"tool", "function"}),
)


class Conversation(NamedTuple):
    """The parts of a prompt; see the fields of `Turn` with the same names."""

    user_message: str
    tool_calls: tuple[Mapping[str, Any], ...]
    context: str
    hearsay: str
    hearsay_calls: tuple[Mapping[str, Any], ...]
    has_unread: bool
    system: str
    sources: tuple[str, ...]
    earlier: tuple[Earlier, ...]


def read_conversation(messages: Sequence[Any], answers: Sequence[Any] = ()) -> Conversation:
    """Return the parts of a prompt, with what the provider's tools did inside the answer.

    A turn begins after the last answer that a user's message follows. Arguments of earlier calls, and what other agents
    said in this turn, are hearsay; so are calls that a text records.
    """
    start = turn_start(messages)
    reader = _Reader()
    for message in messages[:start]:
        reader.add_earlier(message)
    for message in messages[start:]:
        reader.add(message)
    for answer in answers:
        reader.provider.add(answer.content, answer.metadata, getattr(answer, "extra", {}))
    return reader.result()


def turn_start(messages: Sequence[Any]) -> int:
    """Return the index of the first message after the last answer that a user's message follows."""
    users = (index for index in range(len(messages) - 1, -1, -1) if role_of(messages[index]) in _USERS)
    for index in range(next(users, 0) - 1, -1, -1):
        if is_answer(messages[index]):
            return index + 1
    return 0


def role_of(message: Any) -> str:
    """Return who wrote a message: its type, or the role of a message of any role; empty when it has neither."""
    kind = kind_of(message)
    role = getattr(message, "role", None) if kind == "chat" or kind is None else kind
    return role if isinstance(role, str) else ""


def kind_of(message: Any) -> Any:
    """Return the type of a message; None for an object that only looks like one."""
    return getattr(message, "type", None)


def is_answer(message: Any) -> bool:
    """Whether a message is a model's answer, and not a step on the way to one."""
    if role_of(message) not in ("ai", "assistant", "AIMessageChunk") or _calls_of(message):
        return False
    return not asks_for_tool(readable(message.content).text)


class _Reader:
    def __init__(self) -> None:
        self.provider = ProviderCalls()
        self._users: list[str] = []
        self._context: list[str] = []
        self._hearsay: list[str] = []
        self._text: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._by_id: dict[str, dict[str, Any]] = {}
        self._has_unread = False
        self._system: list[str] = []
        self._sources: list[str] = []
        self._earlier: list[Earlier] = []
        self._names: dict[str, str] = {}
        """The names of the tools of earlier calls, by the ids of the calls."""

    def add_earlier(self, message: Any) -> None:
        """Read a message of an earlier turn."""
        role = role_of(message)
        for part in _results_in(message) if role in _USERS else ():
            tool, text = self._names.get(str(part.get(_USE_ID)), ""), readable([part]).text
            self._context.append(text)
            self._earlier.append(Earlier("tool", text, tool, bool(part.get(_FAILED))))
        if text := self._read(message, role):
            self._context.append(text)
            self._keep(message, role, text)
        for call in _calls_of(message):
            name, key = str(call.get("name") or ""), call.get("id")
            self._earlier.append(Earlier("assistant", f"calls {name} with {as_json(call.get('args'))}", name))
            if isinstance(key, str):
                self._names[key] = name
        self._hearsay += [as_json([call.get("name"), call.get("args")]) for call in _calls_of(message)]

    def add(self, message: Any) -> None:
        """Read a message of this turn."""
        role = role_of(message)
        text = self._read(message, role)
        self._text.append(text)
        if role in _USERS:
            self._users.append(text)
            for part in _results_in(message):
                entry = self._entry(part.get(_USE_ID), None)
                entry["result"] = readable([part]).text
                if part.get(_FAILED):
                    entry["status"] = "error"
        elif role in _TOOLS:
            self._add_result(message, text)
        elif role in _OPERATORS:
            self._context.append(text)
            self._system.append(text)
        elif is_answer(message):
            self._hearsay.append(text)
            self._earlier.append(Earlier("assistant", text))
        else:
            for call in _calls_of(message):
                self._entry(call.get("id"), call.get("name"))["args"] = call.get("args")
        if role not in _USERS | _TOOLS | _OPERATORS:
            self.provider.add(
                message.content, mapping_of(message, "response_metadata"), mapping_of(message, "additional_kwargs")
            )

    def result(self) -> Conversation:
        """Return what was read."""
        return Conversation(
            user_message="\n".join(filter(None, self._users)),
            tool_calls=(*self._calls, *self.provider.calls),
            context="\n".join(filter(None, (*self._context, *self.provider.cited))),
            hearsay="\n".join(filter(None, self._hearsay)),
            hearsay_calls=calls_in("\n".join(self._text)),
            has_unread=self._has_unread or self.provider.has_unread,
            system="\n".join(filter(None, self._system)),
            sources=(*self._sources, *filter(None, self.provider.cited)),
            earlier=tuple(self._earlier),
        )

    def _keep(self, message: Any, role: str, text: str) -> None:
        """Keep an earlier message for the critic."""
        if role in _OPERATORS:
            self._system.append(text)
        elif role in _TOOLS:
            key = getattr(message, "tool_call_id", None)
            tool = getattr(message, "name", None) or self._names.get(key if isinstance(key, str) else "", "")
            failed = getattr(message, "status", None) == "error"
            self._earlier.append(Earlier("tool", text, str(tool), failed))
        else:
            self._earlier.append(Earlier("user" if role in _USERS else "assistant", text))

    def _read(self, message: Any, role: str) -> str:
        """Return the text of a message without the calls and the results of tools, which are read by themselves."""
        content = message.content
        self._sources += retrieved_in(content)
        if isinstance(content, (list, tuple)):
            apart = _RESULTS if role in _USERS else _CALLS if _calls_of(message) else ()
            content = [part for part in content if not (isinstance(part, Mapping) and part.get("type") in apart)]
        found = readable(content)
        self._has_unread = self._has_unread or found.has_unread
        return found.text

    def _add_result(self, message: Any, text: str) -> None:
        name = getattr(message, "name", None)
        key = getattr(message, "tool_call_id", None)
        if key is None and kind_of(message) == "function":
            key = name
        entry = self._entry(key, name)
        entry["result"] = text
        if getattr(message, "status", None) == "error":
            entry["status"] = "error"

    def _entry(self, key: Any, name: Any) -> dict[str, Any]:
        entry = self._by_id.get(key) if isinstance(key, str) else None
        if entry is None:
            entry = {"name": name, "id": key}
            self._calls.append(entry)
            if isinstance(key, str):
                self._by_id[key] = entry
        return entry


_USE_ID, _FAILED = "tool_use_id", "is_error"
_RESULTS = ("tool_result",)
_CALLS = ("tool_use", "tool_call", "function_call")
"""Types of blocks that repeat a message's `tool_calls`."""


def _results_in(message: Any) -> Sequence[Mapping[str, Any]]:
    """Return the results of tools that a user's message has as blocks, which is Anthropic's own form for them."""
    content = message.content
    if not isinstance(content, (list, tuple)):
        return ()
    return [part for part in content if isinstance(part, Mapping) and part.get("type") in _RESULTS]


def _calls_of(message: Any) -> list[Mapping[str, Any]]:
    if role_of(message) in _USERS | _OPERATORS | _TOOLS:
        return []
    asked = getattr(message, "tool_calls", None)
    calls = [call for call in asked if isinstance(call, Mapping)] if isinstance(asked, (list, tuple)) else []
    legacy = mapping_of(message, "additional_kwargs").get("function_call")
    if not calls and isinstance(legacy, Mapping):
        calls = [{"name": legacy.get("name"), "args": legacy.get("arguments"), "id": legacy.get("name")}]
    return calls


_UNREADABLE = "[unreadable]"
"""Replaces the text of a draft that cannot be read."""
_RUN_ID_PREFIXES = ("lc_run", "run-")


def extract(
    captured: CapturedDraft,
    *,
    documents: DocumentMemory | None = None,
    trust_documents: bool = True,
    trust_request: bool = False,
    root_run: Hashable = None,
    repeats_question: bool = False,
    agent: str | None = None,
) -> Turn:
    """Return the turn of a captured draft, without the name of its provider (see `provider_of`).

    A tool-call message, a structured answer and an empty answer give a turn with an empty draft.

    Args:
        captured: the draft with its surroundings.
        documents: the retrieved documents that take the place of an activation log when the application gives none.
        trust_documents: the scores of documents may raise the confidence.
        trust_request: the activation log and intent of the run's metadata replace the application's.
        root_run: see `Turn`.
        repeats_question: see `Turn`.
        agent: see `Turn`.
    """
    messages = messages_of(captured.model, captured.prompt)
    answer_metadata = _answer_metadata(captured.answers)
    said = read_conversation(messages, captured.answers)
    metadata = captured.metadata
    backing = backing_of(metadata, messages, documents, trust_documents=trust_documents, trust_request=trust_request)
    return Turn(
        draft="" if is_no_draft(captured) else draft_text(captured.answers),
        run_id=captured.run_id,
        user_message=said.user_message,
        tool_calls=said.tool_calls,
        context=said.context,
        system=said.system,
        sources=tuple(dict.fromkeys((*_found(documents, messages), *said.sources))),
        earlier=said.earlier,
        hearsay=said.hearsay,
        hearsay_calls=said.hearsay_calls,
        has_unread=said.has_unread,
        activation=backing.activation,
        retrieved=backing.retrieved,
        requested=backing.requested,
        intent=backing.intent,
        requested_intent=backing.requested_intent,
        scope=metadata,
        draft_model=resolve_model_name(captured.model, reported_model_name(answer_metadata)) or None,
        root_run=root_run,
        repeats_question=repeats_question,
        agent=agent,
        streamed=captured.streamed,
        exposed=captured.exposed,
        response_id=_response_id(captured.answers, answer_metadata),
        conversation_id=_first_text(metadata, "conversation_id", "thread_id"),
        session_id=_first_text(metadata, "session_id"),
        user_id=_first_text(metadata, "user_id"),
    )


def _found(documents: DocumentMemory | None, messages: Sequence[Any]) -> Sequence[str]:
    return () if documents is None else documents.texts_in(messages)


def bare_turn(captured: CapturedDraft) -> Turn:
    """Return a turn with nothing but the text of a captured draft and the application's activation log."""
    try:
        draft = "" if is_no_draft(captured) else draft_text(captured.answers)
    except Exception:
        draft = _UNREADABLE
    return Turn(
        draft=draft,
        run_id=captured.run_id,
        activation=current_activation() or {},
        streamed=captured.streamed,
        exposed=captured.exposed,
    )


def unread_turn() -> Turn:
    """Return the turn of a draft of which only the application's activation log is known."""
    return Turn(draft=_UNREADABLE, activation=current_activation() or {})


def draft_text(answers: Sequence[Answer]) -> str:
    """Return the text of a message, or of the chunks of a stream."""
    return text_of_answers(answers)


def is_no_draft(captured: CapturedDraft) -> bool:
    """Whether the answer is a structured answer, or a tool-call message that is only observed."""
    if any(answer.parsed for answer in captured.answers) or asks_for_structure(captured.call_kwargs, captured.model):
        return True
    return not captured.enforced and are_calls(captured.answers)


def messages_of(model: Any, prompt: Any) -> Sequence[Any]:
    """Return a model's input as messages; none for an input that only the model itself understands."""
    if isinstance(prompt, (list, tuple)) and all(hasattr(message, "content") for message in prompt):
        return prompt
    try:
        messages: Sequence[Any] = model._convert_input(prompt).to_messages()
    except Exception:  # whatever a method that overrides LangChain's may be given
        return ()
    return messages


def _answer_metadata(answers: Sequence[Answer]) -> Mapping[str, Any]:
    if len(answers) == 1:
        return answers[0].metadata
    merged: dict[str, Any] = {}
    for answer in answers:
        merged.update((key, value) for key, value in answer.metadata.items() if value is not None)
    return merged


def _response_id(answers: Sequence[Answer], metadata: Mapping[str, Any]) -> str | None:
    reported = metadata.get("id")
    if isinstance(reported, str) and reported:
        return reported
    for answer in answers:
        message_id = answer.message_id
        if isinstance(message_id, str) and message_id and not message_id.startswith(_RUN_ID_PREFIXES):
            return message_id
    return None


def _first_text(metadata: Mapping[str, Any], *keys: str) -> str | None:
    for key in keys:
        value = metadata.get(key)
        if isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
            return str(value)
    return None
