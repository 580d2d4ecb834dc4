"""How sure a measured share is."""

from __future__ import annotations

import math

Z_95 = 1.959964
"""Standard deviations on each side that hold 95 % of a normal distribution."""


def wilson(hits: int, total: int, z: float = Z_95) -> tuple[float, float]:
    """Return the Wilson score interval of a share; (0, 1) when nothing was measured.

    Unlike the plain interval it stays within 0 and 1 and is usable for few cases and for shares near both ends.
    """
    if total <= 0:
        return 0.0, 1.0
    share = hits / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
