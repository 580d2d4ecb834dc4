"""One turn of an agent, in plain values: what the gate and the critic judge."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

IntentLabel = Literal["action", "knowledge", "ambiguous"]


@dataclass(frozen=True)
class IntentVerdict:
    """What the user wants this turn, as a classifier outside the critic judged it.

    Attributes:
        label: `action` (do something), `knowledge` (tell something) or `ambiguous`.
        confidence: how sure the classifier is, 0 to 1.
        matched_tool_keywords: names of the tools whose trigger words the request contains.
    """

    label: IntentLabel
    confidence: float
    matched_tool_keywords: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Earlier:
    """A message that came before the draft and is no part of its own turn, or another agent's words in it.

    Attributes:
        role: who wrote it: `user`, `assistant`, `tool` or `system`.
        text: what it says; for an assistant's calls, their names and arguments.
        tool: the name of the tool that a tool's message comes from.
        failed: the tool failed.
    """

    role: str
    text: str
    tool: str = ""
    failed: bool = False


@dataclass(frozen=True)
class Turn:
    """A draft with everything that may ground it.

    Attributes:
        draft: the text parts of the answer, in order.
        run_id: the id of the model run that wrote the draft.
        root_run: what the drafts of one outermost run have in common.
        user_message: the text of the user's messages of this turn.
        tool_calls: the calls of this turn, each a mapping with `name`, `args`, `id` and, once the tool has answered,
            `result` and, for a call that failed, `status`.
        context: system message, earlier messages and retrieved documents, as text.
        system: the operator's text in `context`, such as the system prompt.
        sources: the retrieved texts in `context`.
        earlier: the earlier messages in `context`, in order.
        hearsay: text that grounds nothing but makes a finding doubtful, such as what another agent says.
        hearsay_calls: tool calls that text of the prompt reports, in the shape of `tool_calls`, likewise.
        has_unread: the model saw something that is not text here, such as an image or a provider's search results.
        activation: the activation log that the application gives; see `compute_confidence`.
        retrieved: the activation log of retrieved documents whose scores are not trusted; adds tags, and may only
            lower the confidence.
        requested: the activation log that the request's metadata gives; adds tags, and may only lower the confidence.
        intent: the intent of the user's request as the application classified it.
        requested_intent: the intent that the request's metadata gives; counts when it is the riskier one.
        scope: opaque to the critic; handed to the rules source and the gate.
        draft_model: the name of the model that wrote the draft, as the provider reports it.
        draft_provider: the name of its provider, as LangChain has it; empty when unknown, or when it is looked up only
            where the critic's model is asked.
        streamed: the draft left the model as a stream.
        exposed: text of the draft had reached the client before the verdict.
        repeats_question: the prompt of the draft repeats a question of the critic.
        response_id, conversation_id, session_id, user_id: ids that the run carries.
        agent: the name of the agent that wrote the draft, when the settings have a table for it.
    """

    draft: str
    run_id: str = ""
    root_run: Hashable = None
    user_message: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    context: str = ""
    system: str = ""
    sources: tuple[str, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    hearsay: str = ""
    hearsay_calls: tuple[Mapping[str, Any], ...] = ()
    has_unread: bool = False
    activation: Mapping[str, Any] = field(default_factory=dict)
    retrieved: Mapping[str, Any] = field(default_factory=dict)
    requested: Mapping[str, Any] = field(default_factory=dict)
    intent: IntentVerdict | None = None
    requested_intent: IntentVerdict | None = None
    scope: Any = None
    draft_model: str | None = None
    draft_provider: str = ""
    streamed: bool = False
    exposed: bool = False
    repeats_question: bool = False
    response_id: str | None = None
    conversation_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    agent: str | None = None
