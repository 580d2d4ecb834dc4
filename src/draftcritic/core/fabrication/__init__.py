"""The fabrication check: what a draft asserts against what its turn grounds."""

from draftcritic.core._pattern_check import check_pattern
from draftcritic.core.fabrication._detector import detect_fabrication, find_fabrications
from draftcritic.core.fabrication._grounding import Grounding
from draftcritic.core.fabrication._rules import FabricationRules, rules_of
from draftcritic.core.fabrication._types import (
    KINDS,
    FabricationAction,
    FabricationDecision,
    FabricationDetectedEvent,
    FabricationFinding,
    FabricationKind,
    FabricationOutcome,
    FabricationSeverity,
)
from draftcritic.core.fabrication._wiring import (
    SAFE_REPLACEMENT,
    apply_fabrication_check,
    decide_fabrication,
    fabrication_event,
)

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
