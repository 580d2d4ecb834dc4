"""The context of an action word: whether its sentence reports that the action is done."""

from __future__ import annotations

import re
from dataclasses import dataclass

from draftcritic.grounding._action_lexicon import ADVERB, ALONE, BORDER, END, START, Language, Word
from draftcritic.grounding._token import lazy

VAGUE = "succeed"
"""The action of words such as "successfully", which only say that something was done."""
_OF_NOUNS = frozenset({VAGUE, "complete"})
LOOK_BEHIND, LOOK_AHEAD = 320, 100
_TOKENS_BEHIND, _TOKENS_AHEAD = 36, 8
SEPARATORS = (
    r"\s!-&(-,./:-@\[-`{-~\u00a1\u00ab\u00b4\u00b7\u00bb\u00bf\u060c\u061b\u061f\u0964\u2010-\u2018\u201a-\u201f\u2026"
)
_TOKEN = re.compile(
    rf"(?P<word>[^{SEPARATORS}'-]+(?:['-]+[^{SEPARATORS}'-]+)*'?)"
    r"|(?P<end>[.!?\u061f\u0964\u2026\u2028]+(?=\s|[*_\"')\]\u201d\u00bb]|\Z)|\n)"
    r"|(?P<comma>[,;:()\u060c\u061b\u2013\u2014]|\s-\s)"
)
# The beginnings of sentences alone, in one step from one sign to the next.
_TOKEN_END = re.compile(
    r"[\n.!?\u061f\u0964\u2026\u2028](?:(?<=\n)|[.!?\u061f\u0964\u2026\u2028]*(?=\s|[*_\"')\]\u201d\u00bb]|\Z))"
)
SENTENCE_END = re.compile(r"[.!?\u061f\u0964\u2026](?=\s|\Z)|[\n\u3002\uff01\uff1f]")
QUESTION = frozenset("?\u061f\uff1f")
_QUOTES = re.compile('["\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f\n]')
_OPENING, _CLOSING = "\u201e\u00ab\u300c\u300e\u201c", "\u00bb\u300d\u300f\u201d"


@dataclass(frozen=True)
class ActionClaim:
    """A report of a finished action.

    Attributes:
        start: where it starts in the text, in characters.
        end: where it ends.
        action: the name of the action in `tools.txt`.
        word: the word that names the action, in lower case.
        language: code of the language.
        is_mine: the speaker says that he did it himself.
        is_state: the wording may as well describe a record ("your table is booked for eight").
        refers_back: the wording points at an earlier turn ("already", "as mentioned").
    """

    start: int
    end: int
    action: str
    word: str
    language: str
    is_mine: bool = False
    is_state: bool = False
    refers_back: bool = False


class ClaimContext:
    """One word of an action with the tokens around it, from the beginning of its sentence."""

    def __init__(self, text: str, lowered: str, start: int, end: int) -> None:
        self.text, self.lowered, self.start, self.end = text, lowered, start, end
        self._opened, self._begin = self._beginning()
        found = _TOKEN.findall(lowered, self._begin, start)
        tokens = [word or "," for word, ordinal, _ in found if not ordinal]
        self.behind = [START, *tokens][-_TOKENS_BEHIND:] if self._opened else tokens[-_TOKENS_BEHIND:]
        self.ahead, self.ends_at = self._tokens_ahead(end)

    def _beginning(self) -> tuple[bool, int]:
        """Return whether the beginning of the sentence is in sight, and where it or what is in sight begins."""
        begin = max(0, self.start - LOOK_BEHIND)
        opened = begin == 0
        for match in _TOKEN_END.finditer(self.lowered, begin, self.start):
            if not self._is_ordinal(match.start()) and not _ends_dash(self.lowered, match.start(), begin):
                opened, begin = True, match.end()
        return opened, begin

    @lazy
    def offsets(self) -> list[int]:
        """Where the tokens behind begin."""
        found = _TOKEN.finditer(self.lowered, self._begin, self.start)
        offsets = [match.start() for match in found if match.lastgroup != "end"]
        return ([self._begin, *offsets] if self._opened else offsets)[-_TOKENS_BEHIND:]

    def _is_ordinal(self, at: int) -> bool:
        return self.lowered[at] == "." and self.lowered[at - 1 : at].isdigit()

    def _tokens_ahead(self, end: int) -> tuple[list[str], list[int]]:
        tokens: list[str] = []
        ends: list[int] = []
        for match in _TOKEN.finditer(self.lowered, end, end + LOOK_AHEAD):
            if match.lastgroup == "end" and not self._is_ordinal(match.start()):
                break
            tokens.append(match[0] if match.lastgroup == "word" else ",")
            ends.append(match.end())
            if len(tokens) == _TOKENS_AHEAD:
                return tokens, ends
        return [*tokens, END], [*ends, end]

    def claim_of(self, word: Word, language: Language) -> ActionClaim | None:
        """Return the claim that the word makes in its sentence; None for no claim."""
        ahead, ends = self.ahead, self.ends_at
        end = self.end
        if word.particle:
            if word.particle not in ahead[:5]:
                return None
            if ahead[0] == word.particle:
                ahead, end, ends = ahead[1:], ends[0], ends[1:]
        behind = _marked(self.behind, language.adverbs)
        # Every token of what the patterns read has a space before and behind it.
        marked = _marked(ahead, language.adverbs)
        sentence = f" {' '.join((*behind, word.mark, *marked))} "
        report = language.reports.search(sentence)
        is_state = report is None
        report = report or language.states.search(sentence)
        if report is None:
            return None
        first = sentence.count(" ", 0, report.start())
        last = sentence.count(" ", 0, report.end() - 1) - len(self.behind) - 2
        inside = f" {' '.join((*behind[first:], word.mark))} "
        left = f" {' '.join(behind[:first])} " if first else " "
        clause = left[max(left.rfind(" , "), 0) :]
        if (
            language.vetoes.search(f"{clause}{BORDER}{inside}")
            or language.sentence_vetoes.search(left)
            or language.vetoes_after.match(f" {' '.join(marked)} ")
            or self._is_asked(is_whole=report[0][1] == START)
            or is_quoted(self.text, self.start)
            or (report[0][1] == START and self._is_signal())
        ):
            return None
        start = next(
            (self.offsets[at] for at in range(first, len(self.behind)) if self.behind[at] != START), self.start
        )
        if 0 <= last < len(ahead) and ahead[last] not in (END, ","):
            end = max(end, ends[last])
        return ActionClaim(
            start,
            end,
            self._action(word, language),
            self.lowered[self.start : self.end],
            word.language,
            is_mine=word.mark == ALONE or language.mine.search(inside) is not None,
            is_state=is_state,
            refers_back=language.refers_back.search(left + inside[1:]) is not None,
        )

    def _action(self, word: Word, language: Language) -> str:
        if word.action not in _OF_NOUNS:
            return word.action
        return next((action for token in self.behind[-4:] if (action := language.nouns.get(token))), word.action)

    def _is_signal(self) -> bool:
        """Whether the word is one of a protocol between programs: it is the whole line, in capitals."""
        rest = self.text[self.end : self.end + LOOK_AHEAD].partition("\n")[0]
        return self.text[self.start : self.end].isupper() and not rest.strip("_*` ")

    def _is_asked(self, *, is_whole: bool) -> bool:
        """Whether the sentence asks, and not only for something else behind a comma.

        A claim that would be a sentence of its own only opens the question: "All set, what is your name?".
        """
        end = SENTENCE_END.search(self.lowered, self.end, self.end + LOOK_BEHIND)
        if end is None or end[0] not in QUESTION:
            return False
        rest = self.lowered[self.end : end.start()]
        if is_whole and rest.lstrip(" ").startswith(","):
            return True
        return not (rest.count('"') % 2 or any(sign in rest for sign in (",", ";", "\u2014", "\u201c", " - ")))


def _marked(tokens: list[str], adverbs: frozenset[str]) -> list[str]:
    return tokens if adverbs.isdisjoint(tokens) else [ADVERB + word if word in adverbs else word for word in tokens]


def _ends_dash(lowered: str, at: int, low: int) -> bool:
    """Whether a line ends in a dash that belongs to the sentence."""
    dashed = lowered[at] == "\n" and lowered[at - 1 : at] == "-" and at - 2 >= low
    return dashed and lowered[at - 2] != "\n" and lowered[at - 2].isspace()


def is_quoted(text: str, at: int) -> bool:
    """Whether the position is inside quotation marks or in a quoted line."""
    line = text.rfind("\n", max(0, at - 1000), at) + 1 or max(0, at - 1000)
    if text[line : line + 3].lstrip().startswith(">"):
        return True
    straight = False
    depth = 0
    for quote in _QUOTES.findall(text, line, at):
        if quote == '"':
            straight = not straight
        elif quote in _OPENING and not (quote == "\u201c" and depth):
            depth += 1
        else:
            depth = max(0, depth - 1)
    return straight or depth > 0
