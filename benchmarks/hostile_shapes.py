"""Time of the deterministic part on texts that were written to cost it, and how it grows with their length.

Each shape is the draft, a tool's result, both, a setting, or the reply of the critic's model, in three lengths. The
exponent is that of the growth between the two longest: 1 is linear, 2 is quadratic. Times are processor time.
"""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from _shapes import SHAPES

from draftcritic.core import Policy, Turn, assess, parse_reflection_output, render_prompt
from draftcritic.core._policy import CriticPreference

SIZES = (60_000, 250_000, 1_000_000)
AIMS = {60_000: 0.06, 1_000_000: 1.0}
"""Seconds that a text of that many characters may take."""
STEEPEST = 1.2
"""A larger exponent of the growth is more than linear."""
LIMIT = 30.0
"""Seconds after which a measurement is broken off."""
_NOTICED = 0.02
"""Seconds below which a growth says nothing."""
_ANSWER = (
    "Your order A1-77 of May 5, 2024 at 10:30 am costs $1,234.50 in total, 15% off 1,452.35. Zorg Kwyjibo sent it to "
    "a@b.org, see https://x.y/77 or +1 555 123 4567. I cancelled order_id: ab12cd34ef and refunded 77.5 km of it. "
) * 4
_DATA = {"name": "get_order", "args": {"id": 7}, "result": '{"id": 7, "total": "12.50", "date": "2024-05-06"}'}


def _assess(draft: str, result: str | None = None, **policy: Any) -> object:
    calls = (_DATA, {"name": "search", "args": {}, "result": result or ""})
    turn = Turn(draft, tool_calls=calls, context="You help customers.", user_message="Where is my order 7?")
    return assess(turn, Policy(selective_gate=True, **policy))


def _prompt(text: str) -> object:
    return render_prompt(
        None,
        draft=text,
        preferences=[CriticPreference(5, text, ())],
        rules=[text, text],
        sensitive_hit=None,
        budget=20_000,
    )


PLACES: dict[str, Callable[[str], object]] = {
    "draft": _assess,
    "result": lambda text: _assess(_ANSWER, text),
    "context": lambda text: assess(Turn(_ANSWER, context=text), Policy(selective_gate=True)),
    "both": lambda text: _assess(text, text[7:] + text[:7]),
    "never_flag": lambda text: _assess(_ANSWER, never_flag=tuple(text.split())),
    "identifier_keys": lambda text: _assess(_ANSWER, identifier_keys=tuple(text.split())),
    "prompt": _prompt,
    "reply": parse_reflection_output,
    "reply with verdict": lambda text: parse_reflection_output(text[:190_000] + '{"verdict": "approve"}'),
}


Row = tuple[str, str, list[float], float]
"""Place, shape, seconds of each length, exponent."""


class _TooLongError(BaseException):
    pass


def _stop(*_: object) -> None:
    raise _TooLongError


def seconds(call: Callable[[str], object], text: str, limit: float = LIMIT) -> float:
    """Return the processor time of a call; infinite when it takes longer than the limit."""
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    began = time.process_time()
    try:
        call(text)
    except _TooLongError:
        return math.inf
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return time.process_time() - began


def exponent(small: float, large: float, ratio: float) -> float:
    """Return the power of its length with which the time grows; 0 when it is too short to say."""
    if large < _NOTICED:
        return 0.0
    return math.inf if large == math.inf else math.log(large / max(small, 1e-4)) / math.log(ratio)


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Yield the place, the shape, the time of each length, and the exponent."""
    for place in options.place or PLACES:
        call = PLACES[place]
        call("warm up 12")
        for name in options.shape or SHAPES:
            times: list[float] = []
            for size in options.sizes:
                times.append(math.inf if math.inf in times else seconds(call, SHAPES[name](size), options.limit))
            yield place, name, times, exponent(times[-2], times[-1], options.sizes[-1] / options.sizes[-2])


def main() -> int:
    """Print the table; return 1 when a shape grows faster than linear or misses an aim."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--place", action="append", choices=PLACES)
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one measurement")
    parser.add_argument("--worst", type=int, help="only so many lines, the slowest first")
    options = parser.parse_args()
    rows: Iterable[Row] = measure(options)
    if options.worst:
        rows = sorted(rows, key=lambda row: row[2], reverse=True)[: options.worst]
    print(f"{'place':18} {'shape':26}" + "".join(f"{size // 1000:>8} kB" for size in options.sizes) + "  exponent")
    failed = False
    for place, name, times, power in rows:
        line = "".join(f"{1000 * took:8.0f} ms" for took in times)
        slow = [size for size, took in zip(options.sizes, times, strict=True) if took > AIMS.get(size, math.inf)]
        missed = [f"{size // 1000} kB" for size in slow]
        remark = " ".join([*(["SUPERLINEAR"] if power > STEEPEST else []), *missed])
        failed = failed or bool(remark)
        print(f"{place:18} {name:26}{line}  {power:8.2f}  {remark}".rstrip(), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
