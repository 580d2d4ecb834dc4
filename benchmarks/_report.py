"""Turns the batches of `overhead.py` into rows, and rows into what is printed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

from _text import bar, number, quantile, table
from _variants import BARE, REFERENCE, Variant

_MEASURES = ("median_us", "p99_us", "caller_cpu_us", "process_cpu_us")


def summarise(
    batches: Sequence[dict[str, Any]], variants: Sequence[str], paths: Sequence[str], turns: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a row for each variant, path and turn.

    A number is the median over the rounds. What is added is measured against the bare batch of the same round, so
    that a machine that slows down between rounds changes little; `spread_us` is half the distance between the
    quartiles of that difference.
    """
    rows = []
    for path in paths:
        for turn in turns:
            here = [batch for batch in batches if batch["path"] == path and batch["turn"] == turn]
            rows += _rows(here, variants)
    return rows


def _rows(batches: Sequence[dict[str, Any]], variants: Sequence[str]) -> list[dict[str, Any]]:
    by_variant = {name: [batch for batch in batches if batch["variant"] == name] for name in variants}
    bare = by_variant[BARE]
    rows = []
    for mine in by_variant.values():
        row: dict[str, Any] = {key: mine[0][key] for key in ("path", "turn", "variant")}
        row.update({measure: median(batch[measure] for batch in mine) for measure in _MEASURES})
        for measure in _MEASURES:
            added = [batch[measure] - reference[measure] for batch, reference in zip(mine, bare, strict=True)]
            row[f"added_{measure}"] = median(added)
            if measure == "median_us":
                row["spread_us"] = (quantile(added, 0.75) - quantile(added, 0.25)) / 2
        rows.append(row)
    reference = next((row["added_median_us"] for row in rows if row["variant"] == REFERENCE), None)
    for row in rows:
        known = reference is not None and reference > 0
        row["ratio"] = row["added_median_us"] / reference if known else None
    return rows


def starts(found: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return the medians of what the start and the first call of each variant took; nothing when none was started."""
    medians = {name: {key: median(one[key] for one in each) for key in each[0]} for name, each in found.items() if each}
    bare = medians.get(BARE)
    for numbers in medians.values() if bare is not None else ():
        numbers["added_first_call_ms"] = numbers["first_call_ms"] - bare["first_call_ms"] if bare else 0.0
    return medians


def problems(variant: Variant, counts: dict[str, Any]) -> Iterable[str]:
    """Name what makes the numbers of a variant worthless."""
    drafts, spans = counts["drafts"], counts["spans"]
    if variant.spans is not None and spans != drafts * variant.spans:
        yield f"{variant.name}: {spans} spans for {drafts} calls, {variant.spans} for each expected"
    if variant.spans is None and spans < drafts:
        yield f"{variant.name}: {spans} spans for {drafts} calls: it is not switched on"
    if variant.reviews:
        reviewed, dropped = reviews_and_drops(counts)
        if reviewed + dropped != drafts:
            yield f"{variant.name}: {reviewed} reviews + {dropped} drops are not {drafts} drafts"
        unexpected = {reason: count for reason, count in counts["decisions"].items() if reason != "trivial_ack"}
        if unexpected:
            yield f"{variant.name}: not every review was skipped as an acknowledgement: {unexpected}"


def reviews_and_drops(counts: dict[str, Any]) -> tuple[int, int]:
    """Return how many drafts were reviewed and how many were dropped; a dropped one has a decision as well."""
    reviewed = sum(count for reason, count in counts["decisions"].items() if reason != "queue_full")
    return reviewed, sum(counts["dropped"].values())


def report(result: dict[str, Any]) -> str:
    """Return the tables."""
    packages = ", ".join(f"{name} {number or 'is missing'}" for name, number in result["packages"].items())
    pace = ", paced" if result["paced"] else ""
    size = f"{result['rounds']} rounds of {result['calls']} calls{pace}, {result['seconds']} s"
    parts = [f"Python {result['python']}, {result['machine']}, {size}\n{packages}"]
    parts += [f"not measured: {name}: {reason}" for name, reason in result["missing"].items()]
    places = list(dict.fromkeys((row["path"], row["turn"]) for row in result["rows"]))
    for path, turn in places:
        rows = [row for row in result["rows"] if (row["path"], row["turn"]) == (path, turn)]
        parts.append(f"{path}, {turn} turn: microseconds a call, and what is added to bare\n{_path_table(rows)}")
    if result["heap"]:
        parts.append(f"heap: bytes and objects kept a call\n{_heap_table(result['heap'])}")
    if result["starts"]:
        parts.append(
            "start: milliseconds to import and switch on, where LangChain and the SDK are imported already\n"
            + _start_table(result["starts"])
        )
    parts.append(f"counts\n{_count_table(result['counts'])}")
    return "\n\n".join(parts)


def _path_table(rows: Sequence[dict[str, Any]]) -> str:
    longest = max(row["added_median_us"] for row in rows)
    heads = ("variant", "median", "added", "+-", "ratio", "p99 added", "caller CPU added", "process CPU added", "")
    return table(
        heads,
        (
            (
                row["variant"],
                number(row["median_us"]),
                number(row["added_median_us"]),
                number(row["spread_us"]),
                number(row["ratio"], 2),
                number(row["added_p99_us"]),
                number(row["added_caller_cpu_us"]),
                number(row["added_process_cpu_us"]),
                bar(row["added_median_us"], longest).ljust(40),
            )
            for row in rows
        ),
    )


def _heap_table(heap: dict[str, dict[str, float]]) -> str:
    return table(
        ("variant", "bytes at first", "bytes later", "objects later", "KiB per 10,000 calls", "bytes a retained span"),
        (
            (
                name,
                number(numbers["first_bytes"]),
                number(numbers["bytes"]),
                number(numbers["objects"], 3),
                number(numbers["bytes"] * 10_000 / 1024),
                number(numbers.get("per_span"), 0),
            )
            for name, numbers in heap.items()
        ),
    )


def _start_table(found: dict[str, dict[str, float]]) -> str:
    return table(
        ("variant", "ms", "CPU ms", "first call ms", "ms added to the first call"),
        (
            (
                name,
                *(number(numbers.get(key)) for key in ("wall_ms", "cpu_ms", "first_call_ms", "added_first_call_ms")),
            )
            for name, numbers in found.items()
        ),
    )


def _count_table(counts: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, numbers in counts.items():
        ours = bool(numbers["decisions"])
        reviewed, dropped = reviews_and_drops(numbers)
        reasons = ", ".join(f"{reason} {count}" for reason, count in numbers["decisions"].items())
        rows.append(
            (
                name,
                reasons,
                str(numbers["drafts"]),
                number(numbers["spans"] / numbers["drafts"], 2),
                str(reviewed) if ours else "",
                str(dropped) if ours else "",
            )
        )
    return table(("variant", "gate reasons", "calls", "spans a call", "reviews", "drops"), rows, left=2)
