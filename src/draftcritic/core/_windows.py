"""Parts of a draft that is longer than one prompt shows."""

from __future__ import annotations

from dataclasses import dataclass

OVERLAP = 200
"""Characters that a part shares with the one before: a sentence on the border is read as a whole."""


@dataclass(frozen=True)
class Windows:
    """A draft in parts.

    Attributes:
        parts: in order, each overlapping the one before.
        unread: characters at the end that are in no part.
    """

    parts: tuple[str, ...]
    unread: int = 0

    def about(self, index: int) -> str:
        """Return what the question says about a part; empty when there is only one."""
        if len(self.parts) == 1:
            return ""
        return (
            f"[DRAFT] is part {index + 1} of {len(self.parts)} of the assistant's words; each part begins with the end "
            "of the one before. Judge this part. "
        )


ABOUT_REVISION = (
    "[DRAFT] was judged in parts, and [REASONS] says what is wrong with them. Choose revise, and write the whole of "
    '[DRAFT] without what is wrong as "revised_draft". '
)
"""What the question about a revision of the whole draft says."""


def windows(text: str, room: int, most: int) -> Windows:
    """Return a draft in parts that a prompt shows as they are.

    Args:
        text: the draft.
        room: characters that a prompt shows, more than `OVERLAP`.
        most: parts at most.
    """
    parts, start = [text[:room]], room
    while start < len(text) and len(parts) < most:
        parts.append(text[start - OVERLAP : start - OVERLAP + room])
        start += room - OVERLAP
    return Windows(tuple(parts), max(0, len(text) - start))
