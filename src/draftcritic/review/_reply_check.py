"""What the replies of the critic's model mean for a draft."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from draftcritic.core._enums import Failure, Mode, OnFailure, OnUnjudged, Profile, Verdict
from draftcritic.core._policy import OTHER_RULE, Policy
from draftcritic.core._prompt import Prompt
from draftcritic.core._quotes import Shown, rests_on_misquotes, says
from draftcritic.core._reply import ParsedReflection, parse_reflection_output
from draftcritic.core._review import Assessment, Failed, Judged, ModelCall
from draftcritic.grounding._findings import FabricationFinding
from draftcritic.review._single_flight import Asked

UNJUDGED = frozenset({Failure.UNPARSABLE, Failure.AMBIGUOUS, Failure.REJECTED, Failure.UNREAD, Failure.MISQUOTED})
"""The failures that the author of a draft can provoke: the critic works, and there is no verdict."""


class Judge:
    """Turns replies into verdicts and failures, as the policy says.

    Args:
        policy: the rules that drafts are judged by.
        mode: how far a review goes.
    """

    def __init__(self, policy: Policy, mode: Mode) -> None:
        self._policy = policy
        self._enforces = mode is Mode.ENFORCE

    def outcome(self, asked: Asked, assessment: Assessment) -> Judged | Failed:
        """Return what the answer to a question means, or the answers to the questions about a draft in parts."""
        if asked.parts:
            return self._of_parts(asked, assessment)
        if asked.failure is not None or asked.reply is None:
            failure = asked.failure or Failure.ERROR
            return self.failed(failure, assessment, error_type=asked.error_type, call=asked.call)
        return self._read(asked, assessment)

    def failed(
        self,
        failure: Failure,
        assessment: Assessment,
        *,
        error_type: str | None = None,
        call: ModelCall | None = None,
    ) -> Failed:
        """Return the outcome of a reflection that failed: open by default, closed where the policy says so."""
        closed = self._closes(failure) or assessment.has_tag_of(self._policy.fail_closed_tags)
        return Failed(failure, closed, self._policy.default_refusal if closed else None, error_type, call)

    def _closes(self, failure: Failure) -> bool:
        if failure in UNJUDGED and self._policy.profile is Profile.DRAFTCRITIC:
            return self._enforces and self._policy.on_unjudged is OnUnjudged.REFUSE
        return self._policy.on_failure is OnFailure.REFUSE

    def _read(self, asked: Asked, assessment: Assessment) -> Judged | Failed:
        content, prompt = (asked.reply and asked.reply.content), asked.prompt
        if self._policy.profile is Profile.SYMFONIC or prompt is None:
            parsed = parse_reflection_output(content)
            verdict, text = (None if parsed.failure else parsed.verdict), parsed.text
        else:
            parsed = parse_reflection_output(content, token=prompt.token, untrusted=prompt.untrusted)
            verdict, text = parsed.strictest, parsed.own.text
        if verdict is None:
            return self.failed(Failure(parsed.failure or Failure.UNPARSABLE), assessment, call=asked.call)
        if text and prompt is not None and prompt.is_repeated_in(text):
            text = None  # The critic repeats its question, which is for no client.
        standby = self.standby(verdict)
        broken = self._policy.rule_ids.broken(parsed.own.broken, parsed.own.matched)
        shown = None if prompt is None or not parsed.own.claims else shown_in(prompt)
        names_rule = verdict is Verdict.APPROVE or any(name != OTHER_RULE for name in broken)
        if shown is not None and not names_rule and rests_on_misquotes(parsed.own.claims, shown):
            return self.failed(Failure.MISQUOTED, assessment, call=asked.call)
        return Judged(
            verdict,
            text or standby,
            matched_of(parsed, self._policy),
            defaulted=standby is not None and not text,
            call=asked.call,
            reason=parsed.own.reason,
            broken=broken,
            ambiguous=parsed.failure is not None,
            misquoted=shown is not None and not all(map(shown.has, parsed.own.claims)),
            confirmed=()
            if shown is None or verdict is Verdict.APPROVE
            else self._confirmed(asked, shown, parsed, assessment),
        )

    def _confirmed(
        self, asked: Asked, shown: Shown, parsed: ParsedReflection, assessment: Assessment
    ) -> tuple[FabricationFinding, ...]:
        """Return the doubts that a qualified critic confirms: it quotes a line of tools or sources against them."""
        if asked.call.sku not in self._policy.qualified_models:
            return ()
        against = [claim for claim in parsed.own.claims if shown.contradicts(claim)]
        return tuple(doubt for doubt in assessment.doubts if any(says(claim, doubt.identifier) for claim in against))

    def standby(self, verdict: Verdict) -> str | None:
        """Return the configured text for a verdict that needs one."""
        policy = self._policy
        return {Verdict.REVISE: policy.default_revision, Verdict.REFUSE: policy.default_refusal}.get(verdict)

    def _of_parts(self, asked: Asked, assessment: Assessment) -> Judged | Failed:
        outcomes = [self.outcome(part, assessment) for part in asked.parts]
        judged = [each for each in outcomes if isinstance(each, Judged)]
        refused = next((each for each in judged if each.verdict is Verdict.REFUSE), None)
        if refused is not None:
            return replace(refused, call=asked.call)
        failure = next((each for each in outcomes if isinstance(each, Failed)), None)
        revised = [each for each in judged if each.verdict is Verdict.REVISE]
        if revised:
            return self._revision(asked, assessment, revised)
        if failure is not None:
            return replace(failure, call=asked.call)
        if asked.unread:
            return self.failed(Failure.UNREAD, assessment, call=asked.call)
        return replace(
            judged[0],
            call=asked.call,
            ambiguous=any(each.ambiguous for each in judged),
            misquoted=any(each.misquoted for each in judged),
        )

    def _revision(self, asked: Asked, assessment: Assessment, revised: Sequence[Judged]) -> Judged:
        """Return the revision of a whole draft, or a refusal when there is none."""
        whole = None if asked.revision is None else self.outcome(asked.revision, assessment)
        if not isinstance(whole, Judged) or whole.verdict is not Verdict.REVISE or whole.defaulted:
            whole = Judged(Verdict.REFUSE, self.standby(Verdict.REFUSE), defaulted=True)
        return replace(
            whole,
            matched_preferences=tuple(dict.fromkeys(name for each in revised for name in each.matched_preferences)),
            broken=tuple(dict.fromkeys(name for each in revised for name in each.broken)),
            misquoted=any(each.misquoted for each in revised),
            confirmed=tuple(dict.fromkeys(doubt for each in revised for doubt in each.confirmed)),
            reason=" ".join(reasons_of(revised)) or None,
            call=asked.call,
        )


def shown_in(prompt: Prompt) -> Shown:
    """Return what a prompt shows, for looking up quotes."""
    return Shown(prompt.user, prompt.untrusted[0] if prompt.untrusted else "", prompt.evidence.blocks)


def reasons_of(judged: Sequence[Judged]) -> list[str]:
    """Return what several verdicts say is wrong."""
    return [reason for each in judged if (reason := each.reason or ", ".join(each.matched_preferences))]


def matched_of(parsed: ParsedReflection, policy: Policy) -> tuple[str, ...]:
    """Return the preferences that a reply names, by statement or by id."""
    named = policy.rule_ids.broken(parsed.own.broken, ())
    by_id = [each.statement for each in policy.identified if each.id in named]
    return tuple(dict.fromkeys((*parsed.own.matched, *by_id)))
