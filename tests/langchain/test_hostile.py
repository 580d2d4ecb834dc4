"""Hostile and odd values: each property is tried a little here, and for as long as one likes by `fuzz/`."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from support.properties import PROPERTIES


@pytest.mark.parametrize("name", PROPERTIES)
def test_property(name: str) -> None:
    check, strategies = PROPERTIES[name]
    lasting = settings(
        max_examples=60,
        deadline=None,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    lasting(given(**strategies)(check))()
