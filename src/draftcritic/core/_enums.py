"""The closed vocabularies of the critic: every decision, reason and failure has a name here and nowhere else."""

from __future__ import annotations

from enum import Enum


class Word(str, Enum):
    """A closed set of words that compare, print and serialise as their text."""

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(str(self.value), spec)


class Verdict(Word):
    """What the critic says of a draft."""

    APPROVE = "approve"
    REVISE = "revise"
    REFUSE = "refuse"


class VerdictSource(Word):
    """Who reached the verdict: the critic's model, a finding that the settings let decide, or nothing did."""

    REFLECTION = "reflection"
    FABRICATION = "fabrication"
    NONE = "none"


class OutcomeKind(Word):
    """How a review ended. Only `judged` has a verdict.

    `skipped`: the gate asked for no reflection. `limited`: a limit kept the draft from its reflection. `failed`: the
    critic failed. `cancelled`: the caller gave up. `muted`: reviews are switched off for the draft. `gate_only`: the
    gate fired, and the mode makes no model call.
    """

    JUDGED = "judged"
    SKIPPED = "skipped"
    LIMITED = "limited"
    FAILED = "failed"
    CANCELLED = "cancelled"
    MUTED = "muted"
    GATE_ONLY = "gate_only"


class Action(Word):
    """What became of the draft.

    `recorded`: only written down. `passed`, `replaced`, `blocked`: enforced. `exposed`: the text was out before the
    decision against it. `cut`: stopped in the middle of a stream. `failed_open`, `failed_closed`: the critic failed,
    and the setting `on_failure` decided. `limited_closed`: a limit allowed no reflection, and the settings refuse then.
    """

    RECORDED = "recorded"
    PASSED = "passed"
    REPLACED = "replaced"
    BLOCKED = "blocked"
    EXPOSED = "exposed"
    CUT = "cut"
    FAILED_OPEN = "failed_open"
    FAILED_CLOSED = "failed_closed"
    LIMITED_CLOSED = "limited_closed"


class Mode(Word):
    """How far the plugin goes.

    `off`: nothing is patched. `observe`: reviewed and recorded, never touched. `gate`: the deterministic part only,
    no model call. `enforce`: the verdict is applied to the answer.
    """

    OFF = "off"
    OBSERVE = "observe"
    GATE = "gate"
    ENFORCE = "enforce"

    def lowered_to(self, other: Mode | None) -> Mode:
        """Return the one of two modes that goes less far; None lowers nothing."""
        order = (Mode.OFF, Mode.GATE, Mode.OBSERVE, Mode.ENFORCE)
        return self if other is None else min(self, other, key=order.index)


class Profile(Word):
    """Whose rules are followed where the two differ.

    `draftcritic`: parts that an activation log lacks do not lower its confidence, scores outside 0 to 1 are invalid,
    findings fire every built-in gate, and the strictest verdict of an unclear reply counts. `symfonic`: as that
    framework has it.
    """

    DRAFTCRITIC = "draftcritic"
    SYMFONIC = "symfonic"


class GateDecision(Word):
    """Whether the deterministic gate asked for a reflection."""

    FIRED = "fired"
    SKIPPED = "skipped"
    NOT_EVALUATED = "not_evaluated"


class GateReason(Word):
    """Why the gate fired, skipped, or was never asked. Members stand in order of precedence."""

    SENSITIVE_TAG = "sensitive_tag"
    FABRICATION = "fabrication"
    TOOL_ACTION = "tool_action"
    INTENT_ACTION = "intent_action"
    INTENT_AMBIGUOUS = "intent_ambiguous"
    DOUBT = "doubt"
    CLAIMS = "claims"
    NOT_TRIVIAL = "not_trivial"
    LOW_CONFIDENCE = "low_confidence"
    CUSTOM_GATE = "custom_gate"
    GATE_ERROR = "gate_error"

    CONFIDENT = "confident"
    TRIVIAL_ACK = "trivial_ack"

    DISABLED = "disabled"
    SAMPLED_OUT = "sampled_out"
    BUDGET = "budget"
    CIRCUIT_OPEN = "circuit_open"
    FAIR_SHARE = "fair_share"
    RATE_LIMITED = "rate_limited"
    BUSY = "busy"
    LOOP = "loop"
    QUEUE_FULL = "queue_full"
    NOT_A_DRAFT = "not_a_draft"
    ABANDONED = "abandoned"
    NESTED = "nested"


class Failure(Word):
    """How a reflection failed. A failure is never an opinion of the critic.

    `rejected`: the provider accepts no such prompt (content filter, context length). `unread`: the draft is longer than
    the prompts that may be asked about it, and nothing was found wrong with what was read. `misquoted`: the verdict
    rests on quotes alone that neither the draft nor the evidence has.
    """

    TIMEOUT = "timeout"
    ERROR = "error"
    UNPARSABLE = "unparsable"
    AMBIGUOUS = "ambiguous"
    RATE_LIMITED = "rate_limited"
    REJECTED = "rejected"
    UNREAD = "unread"
    MISQUOTED = "misquoted"
    CANCELLED = "cancelled"


class CircuitState(Word):
    """Whether calls of the critic's model are let through. `half_open`: a few are, to see whether it works again."""

    CLOSED = "closed"
    HALF_OPEN = "half_open"
    OPEN = "open"


class FabricationMode(Word):
    """What a fabrication finding leads to. See `apply_fabrication_check`."""

    OFF = "off"
    OBSERVE = "observe"
    REVISE = "revise"
    REFUSE = "refuse"


class OnFailure(Word):
    """The verdict that replaces a critic that failed."""

    APPROVE = "approve"
    REFUSE = "refuse"


class OnUnjudged(Word):
    """What `enforce` does with a draft that the critic was asked about and did not judge."""

    APPROVE = "approve"
    REFUSE = "refuse"


class OnLimit(Word):
    """What `enforce` does with a draft that a limit keeps from its reflection."""

    PASS = "pass"  # noqa: S105 - a word, no secret
    REFUSE = "refuse"


class OnRefusedCalls(Word):
    """What `enforce` does with the tool calls of a message whose text is refused."""

    KEEP = "keep"
    DROP = "drop"


class DeliveryKind(Word):
    """How a background draft gets to its review.

    `memory`: a queue of the process, which is lost with it. `spool`: files of the machine. `celery`: the files, then a
    message queue to other machines.
    """

    MEMORY = "memory"
    SPOOL = "spool"
    CELERY = "celery"


class EvidenceScope(Word):
    """What the critic's model is shown besides the draft and the rules.

    `none`: nothing. `turn`: what belongs to the draft's own turn, and the parts of earlier messages that have
    something in common with the draft. `conversation`: all earlier messages as well.
    """

    NONE = "none"
    TURN = "turn"
    CONVERSATION = "conversation"


class Examples(Word):
    """Whether the critic's model is shown worked examples. `auto`: when it is small or unknown."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Streams(Word):
    """What `enforce` does with a stream.

    `buffer`: it is held back until the verdict. `passthrough`: it is sent at once, and a verdict against it is only
    recorded, as exposed.
    """

    BUFFER = "buffer"
    PASSTHROUGH = "passthrough"
