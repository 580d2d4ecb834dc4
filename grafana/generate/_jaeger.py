"""A query of Grafana's Jaeger data source, which the SDK does not know."""

from __future__ import annotations

from typing import Any

from grafana_foundation_sdk.cog import runtime, variants
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.dashboard import DataSourceRef

KEYS = ("service", "operation", "tags", "limit")


class TraceSearch(variants.Dataquery):
    """A search for traces.

    Attributes:
        fields: service, operation, tags (`key=value`, separated by blanks) and limit.
        ref_id: name of the query in its panel.
        datasource: the data source.
    """

    def __init__(self, fields: dict[str, Any], ref_id: str, datasource: DataSourceRef) -> None:
        self.fields = fields
        self.ref_id = ref_id
        self.datasource = datasource

    def to_json(self) -> dict[str, object]:
        """Return the panels of the dashboard."""
        return {"queryType": "search", "refId": self.ref_id, "datasource": self.datasource, **self.fields}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TraceSearch:
        """Read it back; a key that is not ours is lost, and the round trip shows it."""
        return cls({key: data[key] for key in KEYS if key in data}, data["refId"], _ref(data["datasource"]))


class JaegerSearch(Builder[TraceSearch]):
    """Builds a search for traces of one service."""

    def __init__(self, query: TraceSearch) -> None:
        self._query = query

    def build(self) -> TraceSearch:
        """Return the query."""
        return self._query


def _ref(data: dict[str, str]) -> DataSourceRef:
    return DataSourceRef(type_val=data["type"], uid=data["uid"])


def register() -> None:
    """Let the SDK read these queries back."""
    runtime.register_dataquery_variant(runtime.DataqueryConfig("jaeger", TraceSearch.from_json))
