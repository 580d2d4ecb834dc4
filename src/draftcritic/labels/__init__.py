"""What people say of drafts: drawing them, keeping labels, reading labels of other tools."""

from draftcritic.labels._import import import_labels
from draftcritic.labels._label import WORDS, Label, LabelFile, Labels, Sample, Stratum, majority, read_labels
from draftcritic.labels._page import page, serve
from draftcritic.labels._sample import FIELDS, draw, queue, stratum_of
from draftcritic.labels._session import LabelSession, pieces
from draftcritic.labels._terminal import terminal

__all__ = [
    "FIELDS",
    "WORDS",
    "Label",
    "LabelFile",
    "LabelSession",
    "Labels",
    "Sample",
    "Stratum",
    "draw",
    "import_labels",
    "majority",
    "page",
    "pieces",
    "queue",
    "read_labels",
    "serve",
    "stratum_of",
    "terminal",
]
