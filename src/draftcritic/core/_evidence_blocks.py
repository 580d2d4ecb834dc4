"""What the critic's model is shown besides the draft and the rules: the turn as blocks of text, within a budget."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from draftcritic.core._checkable import checkable_words, words_of
from draftcritic.core._enums import EvidenceScope
from draftcritic.core._excerpt import gap_mark, picked
from draftcritic.core._patterns import check_pattern
from draftcritic.core._policy import Policy
from draftcritic.core._text import well_formed
from draftcritic.core._turn import Turn
from draftcritic.grounding._tool_outcome import has_failed

USER, TOOLS, SOURCES, EARLIER, POLICY, FINDINGS = "user", "tools", "sources", "earlier", "policy", "findings"
EVIDENCE_FIELDS = (POLICY, EARLIER, SOURCES, TOOLS, USER, FINDINGS)
"""The blocks of evidence, in the order in which they are shown: what changes least comes first."""
REDACTED = "[redacted]"
"""Replaces what `evidence_redact` matches."""
WITHHELD = "(withheld)"
"""Replaces the arguments and the result of a hidden tool."""
_BEFORE_NAME = re.compile(r"__|[./:]")
"""Ends a server, package or class before the name of a tool."""
_LONGEST_PART = 300
_SHORTEST_PART = 60
_MOST_READ = 2_000_000
"""Characters of one text that are looked at, half of them from each end."""
# One sign, not a run of them, as in an excerpt: hostile text must not make the search quadratic.
_PARTS = re.compile(
    rf".{{{_SHORTEST_PART},{_LONGEST_PART}}}?(?:[.!?\u2026;]\s{{1,20}}|[\u3002\uff01\uff1f]|\n|[}}\]],?\s?|,\s|,(?=\")|\Z)"
    rf"|.{{1,{_LONGEST_PART}}}",
    re.DOTALL,
)
_WEAK_WEIGHT = 0.2
"""Weight of a word of the draft that is no checkable token, against 1 for one that is."""
_Arguments = Mapping[str, Any]


@dataclass(frozen=True)
class Entry:
    """One text of a block.

    Attributes:
        head: names the text; shown when a part of it is.
        body: the text.
    """

    head: str
    body: str


@dataclass(frozen=True)
class ShownEvidence:
    """What a prompt shows of the evidence.

    Attributes:
        blocks: the field of each block -> its text.
        omitted: characters that the budget left out.
        whole_policy: the operator's text is shown as a whole.
    """

    blocks: Mapping[str, str] = field(default_factory=dict)
    omitted: int = 0
    whole_policy: bool = False

    @property
    def length(self) -> int:
        """Characters of the blocks."""
        return sum(map(len, self.blocks.values()))


@dataclass(frozen=True)
class Evidence:
    """The texts of a turn, redacted, before the budget.

    Attributes:
        entries: the field of each block -> its texts, in order.
        findings: the questions of the deterministic check.
        only_related: earlier messages are shown only where they have a checkable token of the draft.
    """

    entries: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    findings: str = ""
    only_related: bool = True

    @cached_property
    def size(self) -> int:
        """Characters of all texts."""
        return len(self.findings) + sum(len(each.body) for entries in self.entries.values() for each in entries)

    @cached_property
    def _parts(self) -> _Parts:
        # A long draft is judged in several prompts, and the texts are the same in each.
        return _Parts(self.entries)

    def shown(self, draft: str, room: int) -> ShownEvidence:
        """Return the blocks that fit into a budget.

        Parts with checkable tokens of the draft come first, those with the rarest tokens before the others; then the
        newest. Gaps are marked. A text of the operator of at most a quarter of the budget is kept whole, so that
        providers can cache it.

        Args:
            draft: the draft, or the part of it that is judged.
            room: characters.
        """
        if not self.entries and not self.findings:
            return ShownEvidence()
        findings = self.findings[: room // 4]
        parts = self._parts
        policy = sum(len(each.body) for each in self.entries.get(POLICY, ()))
        whole = policy <= room // 4
        wanted, kept = parts.chosen(draft, room - len(findings), whole_policy=whole, only_related=self.only_related)
        blocks = parts.blocks(kept)
        if findings:
            blocks[FINDINGS] = findings
        omitted = sum(len(parts.texts[at][1]) for at in wanted - kept) + len(self.findings) - len(findings)
        return ShownEvidence({name: blocks[name] for name in EVIDENCE_FIELDS if name in blocks}, omitted, whole)


NO_EVIDENCE = Evidence()


class _Parts:
    """The parts of all texts in a row: each block and each entry begins with a part of its own, its head."""

    def __init__(self, entries: Mapping[str, tuple[Entry, ...]]) -> None:
        self.texts: list[tuple[str, str]] = []
        self._heads: list[int] = []
        """For each part the index of its head."""
        for name in EVIDENCE_FIELDS:
            for entry in entries.get(name, ()):
                head = len(self.texts)
                for text in (f"{entry.head}\n" if entry.head else "", *_split(entry.body)):
                    self.texts.append((name, text))
                    self._heads.append(head)
        self._words = [words_of(text) for _, text in self.texts]

    def chosen(self, draft: str, room: int, *, whole_policy: bool, only_related: bool) -> tuple[set[int], set[int]]:
        """Return the indexes of the parts that are shown when there is room, and of those that are shown."""
        strong, weak = checkable_words(draft)
        found = [words & (strong | weak) for words in self._words]
        often = Counter(word for words in found for word in words)
        scores = [sum((1 if word in strong else _WEAK_WEIGHT) / often[word] for word in words) for words in found]
        related = [bool(words & strong) for words in found]
        fixed = {at for at, (name, _) in enumerate(self.texts) if whole_policy and name == POLICY}
        wanted = {
            at
            for at, (name, _) in enumerate(self.texts)
            if self._heads[at] != at and (related[at] or name != EARLIER or not only_related)
        }
        may = [at for at in wanted if len(self.texts[at][1]) <= 2 * _LONGEST_PART]
        ranked = sorted(may, key=lambda at: (not related[at], -scores[at] if related[at] else 0.0, -at))
        # A head is shown with the first part of its text.
        order = [index for at in ranked for index in (self._heads[at], at)]
        kept = picked([text for _, text in self.texts], order, room, fixed)
        bodies = {self._heads[at] for at in kept if self._heads[at] != at}
        return wanted, {at for at in kept if self._heads[at] != at or at in bodies}

    def blocks(self, kept: Collection[int]) -> dict[str, str]:
        """Return the text of each block that has a part among `kept`."""
        shown: dict[str, list[str]] = {}
        missing: Counter[str] = Counter()
        for at, (name, text) in enumerate(self.texts):
            if at in kept:
                shown.setdefault(name, []).append(gap_mark(missing.pop(name, 0)) + text)
            else:
                missing[name] += len(text)
        blocks = {name: "".join([*pieces, gap_mark(missing.get(name, 0))]) for name, pieces in shown.items()}
        return {name: well_formed(text.rstrip("\n")) for name, text in blocks.items() if text.strip()}


def _split(text: str) -> list[str]:
    if len(text) > _MOST_READ:
        half = _MOST_READ // 2
        return [*_PARTS.findall(text[:half]), text[half:-half], *_PARTS.findall(text[-half:] + "\n")]
    return _PARTS.findall(text + "\n") if text else []


def evidence_of(turn: Turn, policy: Policy) -> Evidence:
    """Return the evidence of a turn as the policy wants it, without findings."""
    if policy.evidence is EvidenceScope.NONE:
        return NO_EVIDENCE
    redact = _Redaction(policy.evidence_redact)
    hidden = frozenset(name.casefold() for name in policy.evidence_hidden_tools)
    related = policy.evidence is EvidenceScope.TURN
    found = {
        USER: _entries(redact, [("", turn.user_message)]),
        TOOLS: tuple(_tools(turn.tool_calls, hidden, redact)),
        SOURCES: _entries(
            redact, ((f"source {at}:", text) for at, text in enumerate(_without_hidden(turn, hidden), 1))
        ),
        EARLIER: tuple(_earlier(turn, hidden, redact)),
        POLICY: _entries(redact, [("", turn.system)]),
    }
    return Evidence({name: entries for name, entries in found.items() if entries}, only_related=related)


class _Redaction:
    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = _compiled(tuple(patterns))

    def __call__(self, text: str) -> str:
        for pattern in self._patterns:
            text = pattern.sub(REDACTED, text)
        return text


@lru_cache(maxsize=16)
def _compiled(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    return tuple(map(check_pattern, patterns))


def _entries(redact: _Redaction, texts: Iterable[tuple[str, str]]) -> tuple[Entry, ...]:
    return tuple(Entry(head, redact(text)) for head, text in texts if text.strip())


def _is_hidden(name: str, hidden: Collection[str]) -> bool:
    """Whether a tool is hidden, by its name with or without the server, package or class before it."""
    whole = name.casefold()
    return bool(hidden) and (whole in hidden or _BEFORE_NAME.split(whole)[-1] in hidden)


def _without_hidden(turn: Turn, hidden: Collection[str]) -> Iterator[str]:
    """Yield the sources of a turn but those that a hidden tool has returned."""
    if not hidden:
        yield from turn.sources
        return
    results = [_as_text(call.get("result")) for call in turn.tool_calls if _is_hidden(str(call.get("name")), hidden)]
    results += [each.text for each in turn.earlier if _is_hidden(each.tool, hidden)]
    yield from (source for source in turn.sources if not any(source.strip() in result for result in results))


def _tools(calls: Iterable[_Arguments], hidden: Collection[str], redact: _Redaction) -> Iterator[Entry]:
    for number, call in enumerate(calls, 1):
        name = str(call.get("name") or "unnamed")
        state = "failed" if has_failed(call) else "succeeded" if "result" in call else "no result"
        head = f"{number}. {redact(_one_line(name))} ({state})"
        if _is_hidden(name, hidden):
            yield Entry(f"{head} {WITHHELD}", "-")
            continue
        said = [f"arguments: {_as_text(call['args'])}"] if call.get("args") else []
        said += [f"result: {_as_text(call['result'])}"] if "result" in call else []
        yield Entry(head, redact("\n".join(said)) or "-")


def _earlier(turn: Turn, hidden: Collection[str], redact: _Redaction) -> Iterator[Entry]:
    for message in turn.earlier:
        if _is_hidden(message.tool, hidden):
            continue
        if message.text.strip():
            state = " (failed)" if message.failed else ""
            yield Entry(
                f"{' '.join(filter(None, (message.role, _one_line(message.tool))))}{state}:", redact(message.text)
            )
    if not (turn.earlier or turn.system or turn.sources) and turn.context.strip():
        yield Entry("", redact(turn.context))


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return str(type(value).__name__)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:100]
