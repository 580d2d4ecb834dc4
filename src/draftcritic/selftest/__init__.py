"""Self-tests of a critic: approved drafts, damaged in known ways, that it has to find."""

from draftcritic.selftest._canaries import KINDS, RULE, Canary, canaries_of
from draftcritic.selftest._canary_run import SelfTest, approved
from draftcritic.selftest._recall import Report

__all__ = ["KINDS", "RULE", "Canary", "Report", "SelfTest", "approved", "canaries_of"]
