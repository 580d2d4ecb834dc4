"""What the demo prints about received telemetry: a tree for every turn, then rates, tokens and cost."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from draftcritic.core._enums import GateReason
from draftcritic.core._models import normalise_sku
from draftcritic.core._prices import price_usd
from draftcritic.demo._traces import REVIEW, Trace, totals, traces
from draftcritic.telemetry import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console

    from draftcritic.demo._traces import Event, Node, Point, Span

_STYLES = {"approve": "green", "revise": "yellow", "refuse": "red"}
_EVALUATION = names.EVENT_EVALUATION


def show(console: Console, spans: Sequence[Span], points: Sequence[Point], events: Sequence[Event] = ()) -> list[Trace]:
    """Print what was received.

    Args:
        console: Where to; without a terminal behind it the output is plain.
        spans: Every span received.
        points: Every metric point received.
        events: Every event received.

    Returns:
        The traces shown, one for every turn.
    """
    found = traces(spans)
    console.print()
    for number, trace in enumerate(found, 1):
        console.print(_tree(number, trace))
    for table in (_verdicts(points), _gate(points), _costs(points, found), _failures(points)):
        if table.row_count:
            console.print()
            console.print(table)
    evaluations = sum(event.name == _EVALUATION for event in events)
    by_reason = totals(points, names.METRIC_GATE_DECISIONS, "gate.reason")
    if own_calls := by_reason.get((GateReason.NESTED.value,)):
        console.print(f"\nNever reviewed: {own_calls:.0f} model calls of the critic's own.")
    console.print(
        f"\nReceived: {len(found)} traces, {len(spans)} spans, {sum(len(t.reviews) for t in found)} reviews, "
        f"{evaluations} evaluation events, {len({p.metric for p in points})} metrics."
    )
    return found


def _tree(number: int, trace: Trace) -> Tree:
    session = next((_said(n.span, names.SESSION_ID, names.GEN_AI_CONVERSATION_ID) for n in trace.reviews), "")
    head = Text(f"turn {number}", style="bold")
    head.append(f"  {session}  " if session else "  ", style="cyan")
    head.append(f"trace {trace.trace_id}", style="dim")
    tree = Tree(head)
    for root in trace.roots:
        _grow(tree, root)
    return tree


def _grow(tree: Tree, node: Node) -> None:
    branch = tree.add(_label(node.span))
    for child in node.children:
        _grow(branch, child)


def _label(span: Span) -> Text:
    is_review = span.name == REVIEW
    label = Text(span.name, style="bold" if is_review else "")
    label.append(f"  {_duration(span.duration_s)}", style="dim")
    if is_review:
        _describe_review(label, span)
    elif "gen_ai.usage.input_tokens" in span.attributes:
        tokens = f"{_said(span, 'gen_ai.usage.input_tokens')}+{_said(span, 'gen_ai.usage.output_tokens')}"
        label.append(f"  {tokens} tokens", style="dim")
    if span.is_error:
        label.append(f"  ERROR {_said(span, names.ERROR_TYPE)}", style="red")
    return label


def _describe_review(label: Text, span: Span) -> None:
    verdict = _said(span, names.VERDICT)
    if verdict:
        label.append(f"  {verdict}", style=_STYLES.get(verdict, ""))
        label.append(f" ({_said(span, names.VERDICT_SOURCE)}, {_said(span, names.ACTION)})")
    else:
        label.append(f"  {_said(span, names.OUTCOME)} ({_said(span, names.ACTION)})", style="dim")
    reason = _said(span, names.GATE_REASON)
    label.append(f"  gate {_said(span, names.GATE_DECISION)}: {reason}")
    signals = span.attributes.get(names.GATE_SIGNALS)
    others = [str(signal) for signal in signals if signal != reason] if isinstance(signals, list) else []
    if others:
        label.append(f" (and {', '.join(others)})", style="dim")
    confidence = span.attributes.get(names.METRIC_CONFIDENCE)
    if isinstance(confidence, float):
        label.append(f"  confidence {confidence:.2f}")
    skus = [sku for sku in (_said(span, names.SKU), _said(span, names.DRAFT_SKU)) if sku]
    if skus:
        label.append(f"  {' on '.join(skus)}", style="cyan")
    failure = _said(span, names.FAILURE)
    if failure:
        label.append(f"  critic failed: {failure}", style="red")
    said = _said(span, names.CONTENT_REASON)
    if said:
        label.append(f'  because: "{said}"', style="italic")


def _verdicts(points: Iterable[Point]) -> Table:
    by_verdict = totals(points, names.METRIC_REVIEWS, "verdict").items()
    # Reviews without a verdict are not part of the rate.
    counts = {verdict: count for (verdict,), count in by_verdict if verdict and verdict != names.VERDICT_NONE}
    total = sum(counts.values())
    table = _table("Verdicts", "verdict", "reviews", "share")
    for verdict, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        share = f"{count / total:.0%}" if total else "-"
        table.add_row(Text(verdict, style=_STYLES.get(verdict, "")), f"{count:.0f}", share)
    return table


def _gate(points: Iterable[Point]) -> Table:
    counts = totals(points, names.METRIC_GATE_DECISIONS, "gate.decision", "gate.reason")
    table = _table("Gate", "decision", "reason", "answers", text_columns=2)
    for (decision, reason), count in sorted(counts.items(), key=lambda item: (item[0][0], -item[1], item[0][1])):
        # The critic's own calls are counted here too, but are not answers of the agent.
        if count and reason != GateReason.NESTED.value:
            table.add_row(decision, reason, f"{count:.0f}")
    return table


def _costs(points: Sequence[Point], found: Iterable[Trace]) -> Table:
    table = _table("Tokens and cost by SKU", "whose", "sku", "input", "output", "USD", text_columns=2)
    costs = totals(points, names.METRIC_COST, "sku")
    tokens = totals(points, names.METRIC_TOKENS, "sku", "direction")
    for sku in sorted({key[0] for key in (*costs, *tokens)}):
        used = [tokens.get((sku, direction), 0.0) for direction in ("input", "output")]
        cost = costs.get((sku,))
        if any(used) or cost:
            table.add_row("critic", sku, *(f"{n:,.0f}" for n in used), "-" if cost is None else f"{cost:.6f}")
    for sku, (given, taken, usd) in sorted(_agent_usage(found).items()):
        table.add_row("agent", sku, f"{given:,}", f"{taken:,}", "-" if usd is None else f"{usd:.6f}")
    return table


def _agent_usage(found: Iterable[Trace]) -> dict[str, tuple[int, int, float | None]]:
    """Tokens of the model calls outside reviews, as the agent's own instrumentation counted them, and their price."""
    sums: dict[str, tuple[int, int, float | None]] = defaultdict(lambda: (0, 0, 0.0))
    for trace in found:
        hidden = {n.span.span_id for review in trace.reviews for n in review.walk()}
        for node in trace.nodes:
            span = node.span
            given, taken = (span.attributes.get(f"gen_ai.usage.{way}_tokens") for way in ("input", "output"))
            # A parent span may contain the sum of its model calls.
            is_call = span.attributes.get(names.GEN_AI_OPERATION_NAME) == "chat"
            if is_call and span.span_id not in hidden and isinstance(given, int) and isinstance(taken, int):
                model = _said(span, "gen_ai.response.model", "gen_ai.request.model")
                provider = _said(span, "gen_ai.provider.name") or None
                usd = price_usd(model, input_tokens=given, output_tokens=taken, provider=provider)
                sku = normalise_sku(model)
                before = sums[sku]
                total = None if usd is None or before[2] is None else before[2] + usd
                sums[sku] = (before[0] + given, before[1] + taken, total)
    return dict(sums)


def _failures(points: Iterable[Point]) -> Table:
    table = _table("Failures of the critic", "failure", "reviews")
    for (failure,), count in sorted(totals(points, names.METRIC_FAILURES, "failure").items()):
        if count:
            table.add_row(failure, f"{count:.0f}")
    return table


def _table(title: str, *columns: str, text_columns: int = 1) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < text_columns else "right")
    return table


def _said(span: Span, *names: str) -> str:
    """The first of the attributes that is there, as text."""
    return next((str(span.attributes[name]) for name in names if span.attributes.get(name) is not None), "")


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"
