"""`draftcritic settings`: the effective settings, and the source of each value."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from draftcritic.cli._schema_command import columns

if TYPE_CHECKING:
    import argparse

    from draftcritic.settings._model import Settings

_EPILOG = """
Reads the environment and the configuration file as the plugin would, started from this directory.
Settings that code gives are not included. Secrets are shown as ***. Exit code 2 when a setting is wrong.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `settings` with its options."""
    parser = subparsers.add_parser("settings", help="show the effective settings and their sources", epilog=_EPILOG)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of the settings file")


def run(args: argparse.Namespace) -> int:
    """Print all settings, or their problems on standard error.

    Returns:
        0 when the settings are valid, 2 when not.
    """
    from draftcritic.settings._fields import SettingsError
    from draftcritic.settings._model import Settings

    if args.schema:
        from draftcritic.settings._file_schema import settings_schema

        print(json.dumps(settings_schema(), indent=2))
        return 0
    # A console script does not look for modules here; an agent under opentelemetry-instrument does.
    if os.getcwd() not in sys.path:  # noqa: PTH109 - sys.path contains strings
        sys.path.insert(0, os.getcwd())  # noqa: PTH109
    try:
        settings = Settings.load()
        settings.policy()
    except SettingsError as error:
        if args.json:
            print(json.dumps({"problems": [asdict(problem) for problem in error.problems]}, indent=2))
        print(error, file=sys.stderr)
        return 2
    for warning in settings.warnings():
        print(warning, file=sys.stderr)
    rows = _rows(settings)
    if args.json:
        print(json.dumps({name: {"value": value, "origin": origin} for name, value, origin in rows}, indent=2))
    else:
        lines = [(name, origin, _text(value)) for name, value, origin in rows]
        print("\n".join(columns([("SETTING", "FROM", "VALUE"), *lines])))
    return 0


def _rows(settings: Settings) -> list[tuple[str, Any, str]]:
    from draftcritic.settings._display import without_secrets

    return [
        (name, without_secrets(getattr(settings, name)), settings.origin(name)) for name in type(settings).model_fields
    ]


def _text(value: Any) -> str:
    if value is None or value in ([], {}):
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:97]}..."
