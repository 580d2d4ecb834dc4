"""Runs the tests that touch others' code with the oldest and with the newest versions of it: `make matrix`.

Each set is a file beside this one, and gets a virtual environment with the Python that it was made for.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETS = {"oldest": "3.10", "newest": "3.13"}
TESTS = (
    "cli", "core", "grounding", "integrations", "langchain", "review",
    "neighbours/test_orders.py", "processes", "settings", "telemetry",
    "test_exported_members.py", "test_instrumentor.py", "test_rooms.py", "test_rules.py",
)  # fmt: skip

# The traces of the neighbours in the oldest set are of another shape, and the demo's own neighbour is not there.
MORE_TESTS = {"newest": ("demo", "neighbours/test_neighbours.py")}


def interpreter(version: str) -> str:
    """A Python of this version: on the path, or among those of pyenv."""
    on_path = shutil.which(f"python{version}")
    of_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for candidate in filter(None, (on_path, *map(str, of_pyenv))):
        if subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return candidate
    raise SystemExit(f"no Python {version} found: install one, or name the sets that can run, as in --only newest")


def environment(name: str, version: str) -> Path:
    """The set's virtual environment, made anew when the set has changed."""
    pins = ROOT / "tests" / "constraints" / f"{name}.txt"
    folder = ROOT / f".venv-{name}"
    stamp = folder / ".installed"
    wanted = hashlib.sha256(pins.read_bytes()).hexdigest()
    python = folder / "bin" / "python"
    if not stamp.exists() or stamp.read_text() != wanted:
        subprocess.run([interpreter(version), "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "-r", str(pins)], check=True)
        subprocess.run([*install, "--no-deps", "--editable", str(ROOT)], check=True)
        stamp.write_text(wanted)
    return python


def main() -> int:
    parser = argparse.ArgumentParser(prog="make matrix", description=__doc__)
    parser.add_argument("--only", choices=SETS, action="append", help="a set; repeatable")
    given, rest = parser.parse_known_args()
    failed = []
    for name in given.only or SETS:
        print(f"== {name}: Python {SETS[name]}", flush=True)
        python = environment(name, SETS[name])
        tests = rest or [f"tests/{test}" for test in (*TESTS, *MORE_TESTS.get(name, ()))]
        if subprocess.run([str(python), "-m", "pytest", "-q", *tests], cwd=ROOT, check=False).returncode:
            failed.append(name)
    print(f"failed: {', '.join(failed)}" if failed else "all sets pass")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
