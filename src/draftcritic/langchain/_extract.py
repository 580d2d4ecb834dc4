"""Turns what was caught into a plain `Turn`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from draftcritic.core import Turn, reported_model_name, resolve_model_name
from draftcritic.engine import current_activation
from draftcritic.langchain._backing import backing_of
from draftcritic.langchain._caught import Answer, Caught, are_calls, text_of_answers
from draftcritic.langchain._conversation import read_conversation
from draftcritic.langchain._retrieval import DocumentMemory
from draftcritic.langchain._structured import asks_for_structure

_RUN_ID_PREFIXES = ("lc_run", "run-")


def extract(
    caught: Caught,
    *,
    documents: DocumentMemory | None = None,
    trust_documents: bool = True,
    trust_request: bool = False,
) -> Turn:
    """Return the turn of a caught draft.

    A tool-call message, a structured answer and an empty answer give a turn with an empty draft.

    Args:
        caught: the draft with its surroundings.
        documents: the retrieved documents that take the place of an activation log when the application gives none.
        trust_documents: the scores of documents may raise the confidence.
        trust_request: the activation log and intent of the run's metadata replace the application's.
    """
    messages = messages_of(caught.model, caught.prompt)
    answer_metadata = _answer_metadata(caught.answers)
    said = read_conversation(messages, caught.answers)
    metadata = caught.metadata
    backing = backing_of(metadata, messages, documents, trust_documents=trust_documents, trust_request=trust_request)
    return Turn(
        draft="" if is_no_draft(caught) else draft_text(caught.answers),
        run_id=caught.run_id,
        user_message=said.user_message,
        tool_calls=said.tool_calls,
        context=said.context,
        hearsay=said.hearsay,
        hearsay_calls=said.hearsay_calls,
        has_unread=said.has_unread,
        activation=backing.activation,
        retrieved=backing.retrieved,
        requested=backing.requested,
        intent=backing.intent,
        requested_intent=backing.requested_intent,
        scope=metadata,
        draft_model=resolve_model_name(caught.model, reported_model_name(answer_metadata)) or None,
        streamed=caught.streamed,
        exposed=caught.exposed,
        response_id=_response_id(caught.answers, answer_metadata),
        conversation_id=_first_text(metadata, "conversation_id", "thread_id"),
        session_id=_first_text(metadata, "session_id"),
        user_id=_first_text(metadata, "user_id"),
    )


def bare_turn(caught: Caught) -> Turn:
    """Return the turn of a caught draft of which nothing but the text and the application's activation log is read."""
    try:
        draft = "" if is_no_draft(caught) else draft_text(caught.answers)
    except Exception:
        draft = "[unreadable]"
    return Turn(
        draft=draft,
        run_id=caught.run_id,
        activation=current_activation() or {},
        streamed=caught.streamed,
        exposed=caught.exposed,
    )


def draft_text(answers: Sequence[Answer]) -> str:
    """Return the text of a message, or of the chunks of a stream."""
    return text_of_answers(answers)


def is_no_draft(caught: Caught) -> bool:
    """Whether the answer is a structured answer, or a tool-call message that is only observed."""
    if any(answer.parsed for answer in caught.answers) or asks_for_structure(caught.call_kwargs, caught.model):
        return True
    return not caught.enforced and are_calls(caught.answers)


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
