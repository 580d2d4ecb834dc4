"""Draws what `overhead.py` measured, as one SVG picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from _variants import BARE, REFERENCE

_WIDTH, _LABELS, _BARS, _ROW, _HEAD, _TOP, _GAP = 1120, 172, 270, 20, 44, 56, 0
"""Pixels: the picture, the variants' names, the longest bar, one row, a panel's head, the picture's head, between."""
_COLOURS = {"ours": "#1a7f5a", "floor": "#8a93a0", "neighbour": "#c0722c", "both": "#7d5ba6"}
_LEGEND = {"floor": "floors", "ours": "draftcritic", "neighbour": "neighbours", "both": "a neighbour and draftcritic"}


def plot(result: dict[str, Any]) -> str:
    """Return a picture with a panel for each path and turn: microseconds added to the bare call, and the ratio."""
    rows = [row for row in result["rows"] if row["variant"] != BARE]
    places = list(dict.fromkeys((row["path"], row["turn"]) for row in rows))
    panels = [[row for row in rows if (row["path"], row["turn"]) == place] for place in places]
    height_of = _HEAD + _ROW * max((len(panel) for panel in panels), default=0) + _GAP
    height = _TOP + height_of * ((len(panels) + 1) // 2) + 8
    parts = [*_head(result, height)]
    for index, (place, panel) in enumerate(zip(places, panels, strict=True)):
        x, y = (index % 2) * _WIDTH // 2 + 12, _TOP + (index // 2) * height_of
        parts += _panel(x, y, place, panel)
    return "\n".join([*parts, "</svg>", ""])


def _head(result: dict[str, Any], height: int) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12" fill="#1f2933">'
    )
    yield f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    yield _text(12, 24, "What each variant adds to a model call: microseconds on the caller's clock", size=16)
    setting = (
        f"Python {result['python']}, langchain-core {result['packages']['langchain-core']}, {result['machine']}; "
        f"median of {result['rounds']} rounds of {result['calls']} calls; in brackets: share of what {REFERENCE} adds"
    )
    yield _text(12, 44, setting, colour="#52606d")
    x = _WIDTH - 450
    for kind, words in _LEGEND.items():
        yield f'<rect x="{x}" y="12" width="10" height="10" fill="{_COLOURS[kind]}"/>'
        yield _text(x + 14, 21, words, size=11)
        x += 24 + 6 * len(words)


def _panel(x: int, y: int, place: tuple[str, str], rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield _text(x, y + 20, f"{place[0]}, {place[1]} turn", size=13, weight="bold")
    longest = max(row["added_median_us"] + row["spread_us"] for row in rows) or 1.0
    for index, row in enumerate(rows):
        top = y + _HEAD - 12 + index * _ROW
        added, spread = max(0.0, row["added_median_us"]), row["spread_us"]
        start, length = x + _LABELS, _BARS * added / longest
        ratio = "" if row["ratio"] is None else f" ({row['ratio']:.2f})"
        yield _text(start - 8, top + 12, row["variant"], anchor="end")
        yield (
            f'<rect x="{start}" y="{top + 2}" width="{length:.1f}" height="{_ROW - 6}" '
            f'fill="{_COLOURS[_kind(row["variant"])]}"/>'
        )
        low, high = start + _BARS * max(0.0, added - spread) / longest, start + _BARS * (added + spread) / longest
        middle = top + _ROW / 2 - 1
        yield f'<path d="M{low:.1f} {middle}H{high:.1f}" stroke="#1f2933" stroke-width="1.5"/>'
        yield _text(round(max(high, start + length)) + 6, top + 12, f"{row['added_median_us']:.0f}{ratio}")


def _kind(variant: str) -> str:
    if variant.startswith("ours"):
        return "ours"
    if variant.endswith("+ ours"):
        return "both"
    return "floor" if "patch" in variant else "neighbour"


def _text(
    x: float, y: float, words: str, *, size: int = 12, anchor: str = "start", weight: str = "", colour: str = ""
) -> str:
    styles = {"font-size": str(size) if size != 12 else "", "font-weight": weight, "fill": colour}
    styles["text-anchor"] = anchor if anchor != "start" else ""
    given = "".join(f' {name}="{value}"' for name, value in styles.items() if value)
    return f'<text x="{x}" y="{y}"{given}>{escape(words)}</text>'
