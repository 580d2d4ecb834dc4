"""The programs' own interfaces, and waiting for what they will say."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

T = TypeVar("T")
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get(url: str, **query: str) -> Any:
    """The JSON that a URL answers with; None for HTTP 404."""
    text = get_text(url, **query)
    return None if text is None else json.loads(text)


def get_text(url: str, **query: str) -> str | None:
    full = f"{url}?{urllib.parse.urlencode(query)}" if query else url
    try:
        with _OPENER.open(full, timeout=10) as answer:
            return str(answer.read().decode("utf-8"))
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise


def eventually(
    look: Callable[[], T],
    enough: Callable[[T], bool] = bool,
    *,
    within: float = 40.0,
    shown: Callable[[T], object] = str,
) -> T:
    """Look until it is enough.

    Raises:
        AssertionError: It was not enough in time; what was seen last is in the message.
    """
    deadline = time.monotonic() + within
    while True:
        seen = look()
        if enough(seen):
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within:.0f} s; last seen: {str(shown(seen))[:2000]}")
        time.sleep(0.3)


class Jaeger:
    """Jaeger's query API.

    Args:
        url: Its base URL.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    def search(self, service: str, **tags: str) -> list[dict[str, Any]]:
        """All traces of a service that have a span with these attributes."""
        now = int(time.time() * 1_000_000)
        found = get(
            f"{self.url}/api/traces",
            service=service,
            tags=json.dumps({name.replace("__", "."): value for name, value in tags.items()}),
            start=str(now - 3600 * 1_000_000),
            end=str(now + 60 * 1_000_000),
            limit="1500",
        )
        return list((found or {}).get("data") or [])

    def trace(self, trace_id: str) -> dict[str, Any] | None:
        found = get(f"{self.url}/api/traces/{trace_id}")
        return None if not found or not found.get("data") else dict(found["data"][0])

    def everything(self, *services: str) -> str:
        return json.dumps([self.search(service) for service in services], ensure_ascii=False)


def tags(span: dict[str, Any]) -> dict[str, Any]:
    return {tag["key"]: tag["value"] for tag in span["tags"]}


def children(trace: dict[str, Any], parent: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The spans below one, or the root spans."""
    wanted = None if parent is None else parent["spanID"]

    def parent_of(span: dict[str, Any]) -> str | None:
        return next((r["spanID"] for r in span["references"] if r["refType"] == "CHILD_OF"), None)

    return sorted((s for s in trace["spans"] if parent_of(s) == wanted), key=lambda s: s["startTime"])


class Prometheus:
    """Prometheus' query API.

    Args:
        url: Its base URL.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    def query(self, expression: str) -> list[dict[str, Any]]:
        return list(get(f"{self.url}/api/v1/query", query=expression)["data"]["result"])

    def value(self, expression: str) -> float:
        """The one value of an expression; 0 when it has none."""
        found = self.query(expression)
        assert len(found) <= 1, found
        return float(found[0]["value"][1]) if found else 0.0

    def names(self) -> set[str]:
        return set(get(f"{self.url}/api/v1/label/__name__/values")["data"])

    def exemplars(self, selector: str) -> list[dict[str, Any]]:
        now = time.time()
        found = get(f"{self.url}/api/v1/query_exemplars", query=selector, start=str(now - 3600), end=str(now + 60))[
            "data"
        ]
        return [exemplar for series in found for exemplar in series["exemplars"]]

    def alerts(self) -> list[dict[str, Any]]:
        return list(get(f"{self.url}/api/v1/alerts")["data"]["alerts"])

    def everything(self) -> str:
        series = get(f"{self.url}/api/v1/series", **{"match[]": '{__name__=~".+"}'})
        return json.dumps([series, self.exemplars('{__name__=~"draftcritic.*|traces.*|gen_ai.*"}')])


def scraped(url: str, name: str) -> float:
    """Sum of a metric's samples in a text exposition, whichever suffix the exposition gives counters."""
    text = get_text(f"{url}/metrics") or ""
    samples = re.findall(rf"^{name}(?:_total)?(?:\{{.*\}})? (\S+)", text, re.MULTILINE)
    return sum(map(float, samples))


@contextmanager
def webhook() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A receiver of Alertmanager's notifications: its URL, and what has come in so far."""
    received: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/alerts", received
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
