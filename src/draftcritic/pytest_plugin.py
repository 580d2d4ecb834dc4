"""Plugin of pytest: the fixture `draftcritic_check` for tests of a policy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from draftcritic.check._case import Outcome


class Checker:
    """Judges cases by a policy and fails the test where something is not as expected.

    Example:
        def test_policy(draftcritic_check):
            draftcritic_check("cases.jsonl", config="draftcritic.toml")
            draftcritic_check({"name": "no gifts", "draft": "A free mug for you!", "expect": {"released": False}})
    """

    def __call__(
        self,
        cases: str | Path | Mapping[str, Any] | None = None,
        *,
        config: str | Path | None = None,
        policy: Any = None,
    ) -> list[Outcome]:
        """Check the cases of a file, one case, or without an argument those that draftcritic ships.

        Args:
            cases: a file of JSON lines, or a case.
            config: a file of settings; None for the settings of the environment.
            policy: a ready `Policy`, in place of `config`.

        Raises:
            AssertionError: a case is not as expected; the message says which and how.
        """
        from draftcritic.check._case import Case, check_cases, read_cases, shipped_cases
        from draftcritic.replay._judge import Judge
        from draftcritic.settings._model import Settings

        if policy is None:
            policy = (Settings.load() if config is None else Settings.load({}, config=Path(config))).policy()
        if cases is None:
            wanted = shipped_cases()
        else:
            wanted = [Case.from_dict(cases)] if isinstance(cases, Mapping) else list(read_cases(Path(cases)))
        outcomes = check_cases(wanted, Judge(policy))
        failed = [f"{one.case.name}: {'; '.join(one.problems)}" for one in outcomes if not one.passed]
        if failed:
            raise AssertionError(f"{len(failed)} of {len(outcomes)} cases are not as expected\n" + "\n".join(failed))
        return outcomes


@pytest.fixture(scope="session")
def draftcritic_check() -> Checker:
    """Return a function that checks cases against a policy. See `draftcritic.pytest_plugin.Checker`."""
    return Checker()
