"""Reads the word lists of the deterministic checks: plain text, one phrase a line, one file a language.

A line that ends with a colon opens a section; `#` starts a comment. In a phrase `(a|b)` stands for either and `[a|b]`
for either or none: `(thanks|thank you) [so much|a lot]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources
from itertools import product

_GROUP = re.compile(r"(\([^()\[\]]*\)|\[[^()\[\]]*\])")


def read_phrases(folder: str) -> dict[str, dict[str, list[str]]]:
    """Return language -> section -> phrases of every file in a folder beside this module."""
    files = resources.files("draftcritic.core").joinpath(folder).iterdir()
    return {
        file.name.removesuffix(".txt"): _sections(file.read_text(encoding="utf-8"))
        for file in sorted(files, key=lambda file: file.name)
        if file.name.endswith(".txt")
    }


def lines_of(text: str) -> dict[str, list[str]]:
    """Return section -> lines of a list, without comments and blank lines."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        entry = line.partition("#")[0].strip()
        if entry.endswith(":"):
            lines = sections.setdefault(entry[:-1], [])
        elif entry:
            lines.append(entry)
    return sections


def _sections(text: str) -> dict[str, list[str]]:
    return {name: [phrase for line in lines for phrase in _expand(line)] for name, lines in lines_of(text).items()}


def _expand(entry: str) -> Iterator[str]:
    choices = []
    for part in _GROUP.split(entry):
        if part[:1] == "(":
            choices.append(part[1:-1].split("|"))
        elif part[:1] == "[":
            choices.append(["", *part[1:-1].split("|")])
        elif set(part) & set("()[]|"):
            raise ValueError(f"brackets do not match, or stand inside each other, in {entry!r}")
        else:
            choices.append([part])
    for chosen in product(*choices):
        yield " ".join("".join(chosen).split())
