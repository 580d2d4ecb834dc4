"""Records reviewed turns in a file, and removes them from there."""

from draftcritic.record._observer import recording
from draftcritic.record._purge import Choice, Purged, purge
from draftcritic.record._review_row import row_of
from draftcritic.record._row_file import MAX_BYTES, MAX_FILES, MAX_HOURS, RowFile

__all__ = ["MAX_BYTES", "MAX_FILES", "MAX_HOURS", "Choice", "Purged", "RowFile", "purge", "recording", "row_of"]
