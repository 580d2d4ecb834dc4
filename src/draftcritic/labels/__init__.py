"""What people say of drafts: drawing them, keeping labels, reading labels of other tools."""

from draftcritic.labels._import import import_labels
from draftcritic.labels._label import WORDS, Label, LabelFile, Labels, Sample, Stratum, majority, read_labels
from draftcritic.labels._sample import FIELDS, draw, queue, stratum_of

__all__ = [
    "FIELDS",
    "WORDS",
    "Label",
    "LabelFile",
    "Labels",
    "Sample",
    "Stratum",
    "draw",
    "import_labels",
    "majority",
    "queue",
    "read_labels",
    "stratum_of",
]
