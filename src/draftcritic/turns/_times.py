"""Times in the forms that tools write them."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any


def seconds(value: Any) -> float | None:
    """Return a time in seconds since the epoch; a time without a zone is UTC."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        # Larger numbers than these seconds are milliseconds.
        return value / 1000 if value > 1e11 else float(value)
    try:
        moment = datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp()
