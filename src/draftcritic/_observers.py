"""Makes what writes the reviews down, as the settings ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftcritic.core._models import configured_sku
from draftcritic.telemetry._recorder import TelemetryRecorder

if TYPE_CHECKING:
    from draftcritic.record._row_file import RowFile
    from draftcritic.review._ports import FleetObserver
    from draftcritic.settings._model import Settings


def recorder_of(settings: Settings, **providers: Any) -> TelemetryRecorder:
    """Return the recorder of reviews in OpenTelemetry.

    Args:
        settings: the settings of the start.
        providers: `tracer_provider`, `meter_provider`, `logger_provider`; the global ones where they are missing.
    """
    return TelemetryRecorder(
        **providers,
        mode=settings.mode,
        threshold=settings.confidence_threshold,
        critic_sku=configured_sku(settings.model),
        rules=settings.rule_ids(),
    )


def with_turns(settings: Settings, recorder: TelemetryRecorder) -> tuple[FleetObserver, RowFile | None]:
    """Return the recorder, with a file of turns next to it when the settings name one, and that file."""
    if settings.record is None:
        return recorder, None
    from draftcritic.record._observer import recording
    from draftcritic.record._row_file import RowFile

    file = RowFile(settings.record, settings.record_bytes, settings.record_hours, settings.record_files)
    return recording(recorder, file), file
