"""Settings: one typed class, three sources, and errors that say how to fix them."""

from draftcritic.settings._display import without_secrets
from draftcritic.settings._fields import Problem, SettingsError
from draftcritic.settings._model import Settings
from draftcritic.settings._reference import reference_table
from draftcritic.settings._value_types import Preference

__all__ = ["Preference", "Problem", "Settings", "SettingsError", "reference_table", "without_secrets"]
