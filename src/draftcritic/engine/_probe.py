"""Asks the critic's model a fixed question, to learn whether it works at all."""

from __future__ import annotations

import logging
import threading
import time
from contextvars import Context

from draftcritic.core import Failure, ModelCall, Policy, Prompt, normalise_sku
from draftcritic.engine._failures import fault_of, unbilled
from draftcritic.engine._guard import reviewing
from draftcritic.engine._ports import CriticModel, Permit, ReviewLimits, ReviewRecord
from draftcritic.engine._reflection import model_call, prompt_of, to_messages
from draftcritic.engine._timed import own_thread

PROBE_DRAFT = "Good morning! How can I help you today?"
"""What a probe asks about: no user wrote it, and no provider rejects it."""

_logger = logging.getLogger(__name__)


class Prober:
    """Asks probes in threads of their own: no draft waits for them.

    Args:
        policy: the rules that drafts are judged by, which a probe asks about as well.
        limits: knows which circuit needs a probe.
    """

    def __init__(self, policy: Policy, limits: ReviewLimits) -> None:
        self._policy = policy
        self._limits = limits

    def ask(self, model: CriticModel, record: ReviewRecord) -> None:
        """Ask a model in the background when its circuit needs a probe. Never waits and never raises.

        Args:
            model: the model whose circuit it is.
            record: of the review after which the probe is asked; what is traced belongs to it.
        """
        try:
            prompt = self._prompt()
            permit = self._limits.probe(normalise_sku(model.name), prompt.size, 2 * self._policy.timeout)
            if permit is not None:
                self._start(model, record, prompt, permit)
        except Exception as error:
            _logger.debug("a probe could not be asked: %s", type(error).__name__)

    def _prompt(self) -> Prompt:
        return prompt_of(self._policy, draft=PROBE_DRAFT, rules=self._policy.rules, sensitive_hit=None)

    def _start(self, model: CriticModel, record: ReviewRecord, prompt: Prompt, permit: Permit) -> None:
        thread = threading.Thread(
            target=Context().run,
            args=(self._run, model, record, prompt, permit),
            name="draftcritic-probe",
            daemon=True,
        )
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            permit.settle(None, Failure.CANCELLED)

    def _run(self, model: CriticModel, record: ReviewRecord, prompt: Prompt, permit: Permit) -> None:
        own_thread()
        call: ModelCall | None = None
        failure: Failure | None = Failure.CANCELLED
        free, began = False, time.perf_counter()
        try:
            with reviewing(), record.calling():
                reply = model.call(model.messages(to_messages(prompt)), self._policy.timeout)
            call, failure = model_call(model.name, reply, None, time.perf_counter() - began), None
        except Exception as error:
            call = model_call(model.name, None, error, time.perf_counter() - began)
            failure, free = fault_of(error).failure, unbilled(error)
        finally:
            permit.settle(call, failure, unbilled=free)
