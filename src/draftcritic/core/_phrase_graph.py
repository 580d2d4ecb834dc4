"""Phrases as a graph of words, and texts that consist of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from draftcritic.core._phrases import parts_of

FILLER, CORE = 1, 2
RUN = re.compile(r"(.)\1+")
_LONG_RUN = re.compile(r"(.)\1{2,}")
ALONE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""The letters of scripts that are written without spaces, or with spaces that are often left out."""
BETWEEN = rf"\s{ALONE},.!;:\-\u00b7\u3001\u3002"
PIECES = re.compile(rf"[{ALONE}]|[^{BETWEEN}]+")

_Node = dict[str, list[int]]


class PhraseGraph:
    """Phrases as a graph of words: `(a|b) [c] d` is four edges, however many phrases it stands for."""

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
    """The phrases of one language beside those that are understood everywhere."""

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
