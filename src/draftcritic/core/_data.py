"""The texts of the data files of this package, each read once."""

from __future__ import annotations

from functools import cache
from importlib import resources

_FOLDERS = (
    ("draftcritic.core", "acknowledgements"),
    ("draftcritic.core", "claims"),
    ("draftcritic.core", "questions"),
    ("draftcritic.core", "replies"),
    ("draftcritic.grounding", "data/actions"),
    ("draftcritic.grounding", "data/names"),
    ("draftcritic.grounding", "data/words"),
)


@cache
def data_names(package: str, folder: str) -> tuple[str, ...]:
    """Return the names of the text files in a folder of a package."""
    files = resources.files(package).joinpath(folder).iterdir()
    return tuple(sorted(file.name for file in files if file.name.endswith(".txt")))


@cache
def data_text(package: str, folder: str, name: str) -> str:
    """Return the text of one file."""
    return resources.files(package).joinpath(folder, name).read_text(encoding="utf-8")


def load_data() -> None:
    """Read all files now, so that no later check opens one: it may run on an event loop."""
    for package, folder in _FOLDERS:
        for name in data_names(package, folder):
            data_text(package, folder, name)
