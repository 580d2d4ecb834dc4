"""What `draftcritic doctor` looks at."""

from __future__ import annotations

from draftcritic.doctor._doctor import examine
from draftcritic.doctor._finding import Finding, Level

__all__ = ["Finding", "Level", "examine"]
