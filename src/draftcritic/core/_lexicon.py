"""Word lists: files of phrases by language, read once, and searched as a graph of words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib import resources
from itertools import product

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


_GROUP = re.compile(r"(\([^()\[\]]*\)|\[[^()\[\]]*\])")
_SCRIPTS = (
    ("cyrillic", re.compile("[\u0400-\u04ff]")),
    ("greek", re.compile("[\u0370-\u03ff]")),
    ("hebrew", re.compile("[\u0590-\u05ff]")),
    ("arabic", re.compile("[\u0600-\u06ff]")),
    ("indic", re.compile("[\u0900-\u0dff]")),
    ("thai", re.compile("[\u0e00-\u0e7f]")),
    ("kana", re.compile("[\u3040-\u30ff]")),
    ("hangul", re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]")),
    ("han", re.compile("[\u3400-\u9fff]")),
)
_LATIN = "latin"
_LATIN_WORD = re.compile("[A-Za-z]{2}")


def script_of(text: str) -> str:
    """Return the script that a text is written in; one without letters counts as Latin."""
    if text.isascii():
        return _LATIN
    return next((script for script, letters in _SCRIPTS if letters.search(text)), _LATIN)


def scripts_in(text: str) -> tuple[str, ...]:
    """Return the scripts that occur in a text, Latin always among them."""
    if text.isascii():
        return (_LATIN,)
    return (_LATIN, *(script for script, letters in _SCRIPTS if letters.search(text)))


@cache
def list_names(folder: str) -> tuple[str, ...]:
    """Return the names of the lists in a folder next to this module, without their ending."""
    return tuple(sorted(name.removesuffix(".txt") for name in data_names("draftcritic.core", folder)))


@cache
def languages_in(folder: str, script: str) -> tuple[str, ...]:
    """Return the names of the lists that are written in a script."""
    return tuple(name for name, written in _scripts(folder) if script in written)


@cache
def _scripts(folder: str) -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((name, _scripts_of(list_text(folder, name))) for name in list_names(folder) if name != "common")


def _scripts_of(text: str) -> frozenset[str]:
    if text.startswith("# "):
        text = text.partition("\n")[0][2:]
    letters = "".join(set(text))
    found = {script for script, ranges in _SCRIPTS if ranges.search(letters)}
    # Comments and the names of the sections are English in every list.
    if not found or any(_LATIN_WORD.search(line) for line in text.splitlines() if line[:1] != "#" and line[-1:] != ":"):
        found.add(_LATIN)
    return frozenset(found)


@cache
def list_text(folder: str, name: str) -> str:
    """Return the text of one list."""
    return data_text("draftcritic.core", folder, f"{name}.txt")


def read_list(folder: str, name: str) -> dict[str, list[str]]:
    """Return section -> lines of one list."""
    return lines_of(list_text(folder, name))


def lines_of(text: str) -> dict[str, list[str]]:
    """Return section -> lines of a list, without comments and blank lines."""
    sections: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        entry = line.partition("#")[0].strip()
        if line[:1] == " " and entry and lines:
            lines[-1] += entry if lines[-1].endswith("|") else f" {entry}"
        elif entry.endswith(":"):
            lines = sections.setdefault(entry[:-1], [])
        elif entry:
            lines.append(entry)
    return sections


def parts_of(line: str) -> Iterator[tuple[list[str], bool]]:
    """Yield the parts of a phrase in their order, each as its choices and whether it may be left out."""
    for part in _GROUP.split(line):
        if part[:1] == "(":
            yield part[1:-1].split("|"), False
        elif part[:1] == "[":
            yield part[1:-1].split("|"), True
        elif set(part) & set("()[]|"):
            raise ValueError(f"brackets do not match, or stand inside each other, in {line!r}")
        elif part.strip():
            yield [part], False


def phrases(lines: list[str]) -> list[str]:
    """Return every phrase that the lines stand for."""
    return [phrase for line in lines for phrase in _expand(line)]


def _expand(line: str) -> Iterator[str]:
    choices = [["", *words] if optional else words for words, optional in parts_of(line)]
    for chosen in product(*choices):
        yield " ".join(" ".join(chosen).split())


FILLER, CORE = 1, 2
RUN = re.compile(r"(.)\1+")
_LONG_RUN = re.compile(r"(.)\1{2,}")
ALONE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""The letters of scripts that are written without spaces, or with spaces that are often left out."""
BETWEEN = rf"\s{ALONE},.!;:\-\u00b7\u3001\u3002"
PIECES = re.compile(rf"[{ALONE}]|[^{BETWEEN}]+")

_Node = dict[str, list[int]]


class PhraseGraph:
    """Phrases as a graph of words: `(a|b) [c] d` is four edges, however many phrases it describes."""

    def __init__(self) -> None:
        self.nodes: list[_Node] = [{}]
        self.kinds: list[int] = [0]
        self.words: set[str] = set()

    def add(self, line: str, kind: int) -> None:
        """Add one line of a word list."""
        fronts = [0]
        for choices, optional in parts_of(line):
            joined = self._new()
            for choice in choices:
                self._path(fronts, joined, choice)
            fronts = [*fronts, joined] if optional else [joined]
        for front in fronts:
            if front:
                self.kinds[front] = max(self.kinds[front], kind)

    def _new(self) -> int:
        self.nodes.append({})
        self.kinds.append(0)
        return len(self.nodes) - 1

    def _path(self, fronts: list[int], end: int, choice: str) -> None:
        words = PIECES.findall(choice)
        self.words.update(words)
        for at, word in enumerate(words):
            target = end if at == len(words) - 1 else self._new()
            for front in fronts:
                self.nodes[front].setdefault(word, []).append(target)
            fronts = [target]


class PhraseLanguage:
    """The phrases of one language and those that are understood everywhere."""

    def __init__(self, *parts: PhraseGraph) -> None:
        self._parts = parts
        self._words = frozenset[str]().union(*(part.words for part in parts))

    def spell(self, token: str) -> str | None:
        """Return the token as this language writes it, with lengthened letters cut; None when it is unknown."""
        if self._knows(token):
            return token
        return next((spelling for spelling in spellings(token) if self._knows(spelling)), None)

    def _knows(self, word: str) -> bool:
        return word in self._words

    def covers(self, tokens: list[str], kind: int = CORE) -> bool:
        """Whether phrases of this language cover all tokens, at least one of this kind or above."""
        words: list[str] = []
        for token in tokens:
            word = self.spell(token)
            if word is None:
                return False
            words.append(word)
        best = [0] * (len(words) + 1)
        best[0] = FILLER
        for start in range(len(words)):
            if best[start]:
                for part in self._parts:
                    if words[start] in part.nodes[0]:
                        _extend(part, words, start, best)
        return best[-1] >= kind


def _extend(part: PhraseGraph, words: list[str], start: int, best: list[int]) -> None:
    nodes, kinds = part.nodes, part.kinds
    reached: Collection[int] = nodes[0][words[start]]
    for end in range(start, len(words)):
        if end > start:
            word = words[end]
            reached = {target for node in reached for target in nodes[node].get(word, ())}
            if not reached:
                return
        kind = max([kinds[node] for node in reached])
        if kind:
            best[end + 1] = max(best[end + 1], best[start], kind)


def spellings(token: str) -> Iterator[str]:
    """Yield a token, then with its lengthened letters cut to two and to one."""
    yield token
    if RUN.search(token):
        for pattern, repl in ((_LONG_RUN, r"\1\1"), (_LONG_RUN, r"\1"), (RUN, r"\1")):
            yield pattern.sub(repl, token)
