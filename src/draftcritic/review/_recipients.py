"""The log line that says which kinds of text go to which provider."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from draftcritic.core._enums import EvidenceScope
from draftcritic.core._policy import Policy
from draftcritic.core._turn import Turn
from draftcritic.review._ports import CriticModel

_UNKNOWN = "unknown"
_MOST = 64
"""Pairs of providers that are reported; an application has a few."""
_reported: set[tuple[str, str, str]] = set()
"""The pairs of the process, each with what is sent."""

_logger = logging.getLogger("draftcritic")


class Recipients:
    """Logs once for each pair of providers, the draft's and the critic's, which kinds of text are sent. No text.

    Text that goes to another provider than the draft's is a warning. Nothing is logged without evidence: drafts and
    rules are what any critic is sent.

    Args:
        policy: says which kinds.
    """

    def __init__(self, policy: Policy) -> None:
        self._kinds = "" if policy.evidence is EvidenceScope.NONE else ", ".join(_kinds(policy))

    def report(self, turn: Turn, source: object, model: CriticModel) -> None:
        """Log the providers of a draft and its critic unless that was done before. Never raises.

        Args:
            turn: the draft; it names its provider, or else the source does.
            source: what made the critic's model.
            model: the critic's model.
        """
        try:
            if not self._kinds:
                return
            critic = str(getattr(model, "provider", "") or _UNKNOWN)
            draft = turn.draft_provider or str(getattr(source, "draft_provider", ""))
            pair = (draft or _UNKNOWN, critic, self._kinds)
            if pair in _reported or len(_reported) >= _MOST:
                return
            _reported.add(pair)
            _logger.log(
                logging.WARNING if _UNKNOWN not in pair and pair[0] != pair[1] else logging.INFO,
                "drafts of the provider %s are reviewed by a model of the provider %s, which is sent %s; see the "
                "settings evidence, evidence_redact and evidence_hidden_tools",
                *pair,
            )
        except Exception as error:
            _logger.debug("the providers of a review could not be reported: %s", type(error).__name__)


def _kinds(policy: Policy) -> Iterator[str]:
    yield "the draft"
    yield "the rules"
    yield "the user's message"
    yield "tool calls and results"
    yield "retrieved texts"
    yield "earlier messages" if policy.evidence is EvidenceScope.CONVERSATION else "related parts of earlier messages"
    yield "the system prompt"
    yield "questions of the fabrication check"
    if policy.evidence_hidden_tools:
        yield f"without arguments and results of {len(policy.evidence_hidden_tools)} hidden tools"
    if policy.evidence_redact:
        yield f"with {len(policy.evidence_redact)} patterns redacted"
