"""Write the dashboards and the alert rules, or check that the files are what this makes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from generate._alert_files import RUNBOOKS, grafana_rules, prometheus_rules
from generate._dashboards import dashboards

PROJECT = Path(__file__).resolve().parents[2]


def files(runbooks: str = RUNBOOKS) -> dict[str, str]:
    """Return all files by their path in the project."""
    return {
        **{f"grafana/dashboards/{name}": text for name, text in dashboards().items()},
        "grafana/provisioning/alerting/draftcritic.yaml": grafana_rules(runbooks),
        "alerts/draftcritic.yaml": prometheus_rules(runbooks),
    }


def main() -> int:
    """Run as `python -m generate`; exits with 1 when `--check` finds a difference."""
    parser = argparse.ArgumentParser(prog="python -m generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file differs")
    parser.add_argument("--into", type=Path, default=PROJECT, metavar="FOLDER", help="in place of the project")
    parser.add_argument("--runbooks", default=RUNBOOKS, metavar="URL", help="where the runbooks are served")
    args = parser.parse_args()
    stale = []
    for name, text in files(args.runbooks).items():
        path = args.into / name
        if args.check:
            stale += [] if path.is_file() and path.read_text(encoding="utf-8") == text else [name]
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        sys.stderr.write(f"{name} differs from what grafana/generate makes; run `make dashboards`\n")
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main())
