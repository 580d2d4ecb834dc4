from __future__ import annotations

import pytest
from support.telemetry import Harness


@pytest.fixture
def harness() -> Harness:
    return Harness()
