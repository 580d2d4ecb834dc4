"""How well a critic's model judges: labelled drafts that the project makes itself, and what a model says of them."""

from draftcritic.qualify._made_cases import HALVES, KINDS, JudgeCase, made_cases
from draftcritic.qualify._scores import Fitness, Scores, fitness_of
from draftcritic.qualify._trial import Trial, Variant, run_trial

__all__ = [
    "HALVES",
    "KINDS",
    "Fitness",
    "JudgeCase",
    "Scores",
    "Trial",
    "Variant",
    "fitness_of",
    "made_cases",
    "run_trial",
]
