"""Reviews on both edges."""

from __future__ import annotations

import pytest

from draftcritic.core import Mode, Policy
from draftcritic.review import Critic
from draftcritic.testing import RecordingObserver


@pytest.fixture(params=["sync", "async"])
def review(request):
    """Reviews a turn on one of the two edges, and returns the review and what the observer saw."""

    async def run(turn, model, *, policy=None, mode=Mode.OBSERVE, hooks=(), observer=None, **options):
        observer = observer or RecordingObserver()
        critic = Critic(policy or Policy(), mode, observer, hooks)
        if request.param == "sync":
            return critic.review(turn, model, **options), observer
        return await critic.areview(turn, model, **options), observer

    return run
