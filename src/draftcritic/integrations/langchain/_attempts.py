"""One question to an agent's model, asked again while its answers are refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, HumanMessage

from draftcritic.core._enums import Action, Verdict
from draftcritic.core._review import Judged, Review
from draftcritic.integrations.langchain._guarded_request import guarded_request
from draftcritic.langchain._added_messages import adding
from draftcritic.langchain._deferred_callbacks import Event, Recording, is_tracing, silencing
from draftcritic.langchain._recent_reviews import collecting

if TYPE_CHECKING:
    from draftcritic.integrations.langchain._engine import Engine

_NOTE = (
    "Your last answer was withheld, and the user has not seen it. {reason} Write another answer to the user without "
    "this fault. Do not mention the withheld answer or this note."
)
_NO_REASON = "It breaks the rules for your answers."


class Attempt:
    """One request to the model.

    Args:
        request: the request with a view of the model.
        notes: messages that only the model gets, after those of the request.
        withheld: nothing is shown before `released` is replayed.
    """

    def __init__(self, request: Any, notes: Sequence[Any], *, withheld: bool) -> None:
        self.request = request
        self._notes = notes
        self._recording = Recording(is_tracing) if withheld else None
        self._reviews: list[Review] = []
        self._blocks = ExitStack()

    def __enter__(self) -> None:
        self._blocks.enter_context(silencing(self._recording))
        self._blocks.enter_context(collecting(self._reviews))
        self._blocks.enter_context(adding(self._notes))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocks.close()

    @property
    def refused(self) -> Review | None:
        """The review that refused the answer; None when the answer may be shown, or has been."""
        if self._recording is None or not self._reviews:
            return None
        last = self._reviews[-1]
        return last if last.verdict is Verdict.REFUSE and last.action is Action.BLOCKED else None

    def released(self) -> Sequence[Event]:
        """Return the callbacks to make now."""
        if self._recording is None:
            return ()
        return self._recording.end(dropped=self.refused is not None)


def attempts(engine: Engine, request: Any, retries: int) -> Iterator[Attempt]:
    """Yield the attempts, the last one without any holding back beyond the model's own.

    Args:
        engine: reviews the answers.
        request: the agent's request.
        retries: how often a refused answer is asked for again.
    """
    notes: list[Any] = []
    for _ in range(retries if engine.enforces else 0):
        attempt = Attempt(guarded_request(request, engine.withholding), notes, withheld=True)
        yield attempt
        refused = attempt.refused
        if refused is None:
            return
        notes = [*notes, AIMessage(refused.turn.draft), HumanMessage(_NOTE.format(reason=_reason(refused)))]
    yield Attempt(guarded_request(request, engine.guard), notes, withheld=False)


def _reason(review: Review) -> str:
    """Return why a draft was refused, in a sentence for its model."""
    outcome = review.outcome
    if isinstance(outcome, Judged) and outcome.reason:
        return f"The reason: {outcome.reason}"
    findings = review.assessment.findings or ()
    if findings:
        named = ", ".join(dict.fromkeys(str(finding.identifier) for finding in findings))
        return f"Nothing in the conversation supports what it says of: {named}."
    if review.broken:
        return f"It breaks these rules: {', '.join(review.broken)}."
    return _NO_REASON
