"""Which tool calls count as failed, and what hearsay does to a finding."""

from __future__ import annotations

from typing import Any

import pytest

from draftcritic.core import detect_fabrication
from draftcritic.grounding._tool_outcome import has_failed

FAILED = [
    "Card declined by issuer",
    "Rejected by the supervisor",
    "503 Service Unavailable",
    "HTTP/1.1 500 Internal Server Error",
    "Status code: 429",
    "Order A-1 not found.",
    "Sorry. Your card was declined.",
    "The order wasn't cancelled",
    "User rejected the tool call for `cancel_order` with id c1",
    "Fehler: Karte abgelehnt",
    "La tarjeta fue rechazada",
    "\u00c9chec : commande introuvable",
    "\u041a\u0430\u0440\u0442\u0430 \u043e\u0442\u043a\u043b\u043e\u043d\u0435\u043d\u0430",
    "\u652f\u4ed8\u5931\u8d25",
    '{"ok": false}',
    '{"error": "x"}',
    '{"status": "declined"}',
    '{"status": 503, "body": ""}',
    '{"result": {"ok": false}}',
    '{"cancelled": false, "id": 3}',
    '{"errors": [{"message": "no"}], "data": null}',
    '[{"error": "x"}]',
    "{'success': False}",
    {"isError": True, "content": []},
    "<error>no</error>",
]
SUCCEEDED = [
    "Order cancelled",
    "Cancelled. Note that refunds cannot be issued.",
    "Done, no errors",
    "Cancelled with 0 errors",
    "Order 503 cancelled",
    "450 EUR refunded",
    "Sent to error@example.com",
    '{"ok": true}',
    '{"error": null, "status": "cancelled"}',
    '{"errors": []}',
    '{"status": "cancelled", "reason": "item not available"}',
    '{"price": 450}',
    "500",
]


@pytest.mark.parametrize("result", FAILED, ids=str)
def test_a_failed_call_grounds_no_action(result: Any) -> None:
    calls = [{"name": "cancel_order", "args": {"id": "A-1234"}, "result": result}]
    found = detect_fabrication("I've cancelled your order A-1234.", calls, user_message="Cancel order A-1234")
    assert [(finding.kind, finding.confidence >= 0.8) for finding in found] == [("action_claim", True)]


@pytest.mark.parametrize("result", SUCCEEDED, ids=str)
def test_a_call_that_succeeded_grounds_its_action(result: Any) -> None:
    calls = [{"name": "cancel_order", "args": {"id": "A-1234"}, "result": result}]
    assert detect_fabrication("I've cancelled your order A-1234.", calls, user_message="Cancel order A-1234") == []


@pytest.mark.parametrize(
    ("tool", "result"),
    [("decline_invitation", "Invitation declined."), ("reject_request", '{"status": "rejected"}')],
)
def test_the_purpose_of_a_tool_is_not_its_failure(tool: str, result: str) -> None:
    assert not has_failed({"name": tool, "result": result})


def test_a_status_of_error_is_a_failure_whatever_the_text() -> None:
    assert has_failed({"name": "cancel_order", "status": "error", "result": "Order cancelled"})


def test_arguments_of_a_look_up_make_a_finding_doubtful_and_do_not_ground_it() -> None:
    calls = [{"name": "search_orders", "args": {"email": "dana@shop.example"}, "result": "[]"}]
    draft = "There is no order of dana@shop.example."
    assert [finding.confidence for finding in detect_fabrication(draft, calls, trusts_arguments=False)] == [0.5]
    assert detect_fabrication(draft, calls) == []
    done = [{"name": "send_email", "args": {"to": "dana@shop.example"}, "result": "sent"}]
    assert detect_fabrication("I wrote to dana@shop.example.", done, trusts_arguments=False) == []


@pytest.mark.parametrize(
    ("draft", "hearsay"),
    [
        ("It costs $49.90 and ships on May 3, 2026.", "The price is $49.90, shipping on 2026-05-03."),
        ("I've cancelled your order.", "I have cancelled the order."),
    ],
)
def test_hearsay_only_lowers_the_confidence(draft: str, hearsay: str) -> None:
    calls = [{"name": "get_order", "args": {}, "result": '{"id": "K1"}'}]
    assert all(finding.confidence >= 0.8 for finding in detect_fabrication(draft, calls))
    found = detect_fabrication(draft, calls, hearsay=hearsay)
    assert found
    assert all(finding.confidence < 0.8 for finding in found)


def test_an_image_makes_values_doubtful_and_no_actions() -> None:
    draft = "I've cancelled your order. The receipt says $49.90."
    calls = [{"name": "get_order", "args": {}, "result": '{"id": "K1"}'}]
    found = {f.kind: f.confidence >= 0.8 for f in detect_fabrication(draft, calls, has_unread=True)}
    assert found == {"price": False, "action_claim": True}
