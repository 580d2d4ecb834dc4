from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from draftcritic.langchain import CapturedDraft, Interceptor, install, remove


class Collector:
    """A reviewer that keeps what it is handed."""

    def __init__(self) -> None:
        self.drafts: list[CapturedDraft] = []
        self.nested_calls = 0
        self.captured: list[Any] = []
        self.documents: list[Any] = []

    def capture(self, run_id: Any = None) -> Any:
        self.captured.append(run_id)
        return ("origin", run_id)

    def nested(self) -> None:
        self.nested_calls += 1

    def take(self, capture_drafts: Any) -> None:
        self.drafts.extend(draft() for draft in capture_drafts())

    async def atake(self, capture_drafts: Any) -> None:
        self.take(capture_drafts)

    def found(self, documents: Any) -> None:
        self.documents.extend(documents)

    def failed(self, error: Exception, metadata: Any) -> None:
        raise error


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    splices = install(Interceptor(collector), retrievers=True)
    yield collector
    remove(splices)
