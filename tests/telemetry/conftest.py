from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.telemetry import Harness


@pytest.fixture
def harness() -> Iterator[Harness]:
    yield Harness()
