"""The files of the dashboards."""

from __future__ import annotations

import json

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins

from generate import _jaeger
from generate._cost import cost
from generate._explorer import explorer
from generate._overview import overview


def dashboards() -> dict[str, str]:
    """Return the dashboards as JSON, by file name."""
    register_default_plugins()
    _jaeger.register()
    boards = {"critic-overview": overview(), "review-explorer": explorer(), "cost-by-sku": cost()}
    return {
        f"{name}.json": json.dumps(board.build(), cls=JSONEncoder, indent=2, ensure_ascii=False) + "\n"
        for name, board in boards.items()
    }
