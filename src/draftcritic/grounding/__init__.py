"""The fabrication check: what a draft asserts against what its turn grounds."""

from draftcritic.core._patterns import check_pattern
from draftcritic.grounding._detector import detect_fabrication, find_fabrications
from draftcritic.grounding._evidence import Grounding
from draftcritic.grounding._findings import (
    KINDS,
    FabricationAction,
    FabricationDecision,
    FabricationDetectedEvent,
    FabricationFinding,
    FabricationKind,
    FabricationOutcome,
    FabricationSeverity,
)
from draftcritic.grounding._policy_check import (
    SAFE_REPLACEMENT,
    apply_fabrication_check,
    decide_fabrication,
    fabrication_event,
)
from draftcritic.grounding._rules import FabricationRules, rules_of

__all__ = [
    "KINDS",
    "SAFE_REPLACEMENT",
    "FabricationAction",
    "FabricationDecision",
    "FabricationDetectedEvent",
    "FabricationFinding",
    "FabricationKind",
    "FabricationOutcome",
    "FabricationRules",
    "FabricationSeverity",
    "Grounding",
    "apply_fabrication_check",
    "check_pattern",
    "decide_fabrication",
    "detect_fabrication",
    "fabrication_event",
    "find_fabrications",
    "rules_of",
]
