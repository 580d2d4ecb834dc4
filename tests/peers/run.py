"""Runs the unit tests of LangChain's own packages with the plugin off, in observe and in enforce: `make peers`.

The source distributions of the installed versions come from the package index. Each package's tests run in a virtual
environment on top of the project's, with a critic that approves everything. A test that passes without the plugin has
to pass with it, unless `known.txt` names it with a reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
WORK = ROOT / ".peers"
PACKAGES = (
    "langchain-core",
    "langchain",
    "langgraph",
    "langgraph-prebuilt",
    "langchain-openai",
    "langchain-anthropic",
    "langchain-ollama",
    "langchain-google-genai",
)
MODES = ("off", "observe", "enforce")
SHORT = {
    "langchain-core": ("tests/unit_tests/language_models/chat_models",),
    "langchain-ollama": ("tests/unit_tests",),
}
"""What `--short` runs: the packages and folders that meet the patched methods most."""
TOOLS = (
    "hatchling", "pdm-backend", "poetry-core", "setuptools",  # to read the metadata of source distributions
    "pytest-asyncio", "pytest-mock", "pytest-socket", "pytest-timeout", "pytest-xdist", "pytest-recording",
    "pytest-benchmark", "syrupy", "freezegun", "responses", "blockbuster", "vcrpy", "langchain-tests", "grandalf",
    "langgraph-checkpoint-sqlite", "langgraph-checkpoint-postgres", "psycopg[binary,pool]", "pycryptodome",
)  # fmt: skip


class Run(NamedTuple):
    """How to run the tests of one package.

    Attributes:
        package: the name of the package.
        folder: its unpacked source distribution.
        python: the interpreter of the environment with the test tools.
        tests: the files and folders to run, below `folder`.
        seconds: the limit for one mode.
    """

    package: str
    folder: Path
    python: Path
    tests: tuple[str, ...]
    seconds: int


def environment() -> Path:
    """Return the Python of a virtual environment with the test tools, on top of the running one."""
    folder = WORK / "venv"
    python = folder / "bin" / "python"
    stamp = folder / ".installed"
    if not stamp.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--clear", str(folder)], check=True)
        (packages,) = folder.glob("lib/python*/site-packages")
        below = [path for path in sys.path if path.endswith("site-packages")]
        # Not as plain paths: the .pth files there, as of editable installations, have to be read too.
        (packages / "below.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in below))
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *TOOLS], check=True)
        stamp.touch()
    return python


def source_of(package: str, python: Path) -> Path:
    """Return the unpacked source distribution of the installed version of a package."""
    name = f"{package.replace('-', '_')}-{version(package)}"
    folder = WORK / "sources" / name
    if not folder.exists():
        download = [str(python), "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation"]
        wanted = f"{package}=={version(package)}"
        subprocess.run([*download, "--no-binary", ":all:", "--dest", str(WORK / "sdists"), wanted], check=True)
        with tarfile.open(WORK / "sdists" / f"{name}.tar.gz") as archive:
            archive.extractall(folder.parent, filter="data")
    return folder


def passed(
    run: Run, mode: str, only: frozenset[str] | None = None, without: frozenset[str] = frozenset()
) -> frozenset[str]:
    """Run tests of a package in one mode.

    Args:
        only: the ids of the tests to run; all where it is None.
        without: the ids of tests to leave out: some that fail would also keep the event loop from being closed.

    Returns:
        The ids of the tests that passed.
    """
    name = f"{run.package}-{mode}" if only is None else f"{run.package}-{mode}-again"
    log, outcomes, chosen = WORK / f"{name}.txt", WORK / f"{name}.jsonl", WORK / f"{name}.json"
    outcomes.write_text("")
    # One process for a few tests; both for all of a package.
    workers = "2" if only is None else "0"
    command = [str(run.python), "-m", "pytest", "-q", "--tb=short", "-p", "peers.plugin", "-p", "no:cacheprovider"]
    command += ["-p", "no:benchmark", "-n", workers, "--disable-socket", "--allow-unix-socket", "--timeout=60"]
    command += ["-o", "addopts=", "-o", "asyncio_mode=auto"]
    paths = os.pathsep.join([str(HERE.parent), str(run.folder)])
    env = {**os.environ, "PYTHONPATH": paths, "PEERS_MODE": mode, "PEERS_OUTCOMES": str(outcomes)}
    env["LANGSMITH_TRACING"] = "false"
    env["NO_DOCKER"] = "true"  # LangGraph's tests then leave out those that need a database server
    left_out = WORK / f"{name}-without.json"
    left_out.write_text(json.dumps(sorted(without)))
    env["PEERS_WITHOUT"] = str(left_out)
    tests: Iterable[str] = run.tests
    if only is not None:
        chosen.write_text(json.dumps(sorted(only)))
        env["PEERS_ONLY"] = str(chosen)
        tests = sorted({test.partition("::")[0] for test in only})
    with log.open("w") as out:
        try:
            subprocess.run(
                [*command, *tests], cwd=run.folder, env=env, stdout=out, stderr=out, check=False, timeout=run.seconds
            )
        except subprocess.TimeoutExpired:
            print(f"{run.package} in {mode}: not finished after {run.seconds} s, see {log}", flush=True)
    return passed_in(outcomes)


def passed_in(outcomes: Path) -> frozenset[str]:
    """Return the ids of the tests that passed in all their phases."""
    called, broken = set(), set()
    for line in outcomes.read_text().splitlines():
        test, when, outcome = json.loads(line)
        if outcome != "passed":
            broken.add(test)
        elif when == "call":
            called.add(test)
    return frozenset(called - broken)


def newly_failing(run: Run, mode: str, without: frozenset[str], known: frozenset[str]) -> frozenset[str]:
    """Return the tests that fail in `mode` without a known reason and pass without the plugin.

    Tests that measure time or depend on the order are unsteady: a failure counts when it repeats, alone, and the test
    passes alone without the plugin.
    """
    failing = without - known - passed(run, mode, without=known)
    for _ in range(2):
        if failing:
            failing -= passed(run, mode, failing)
    return failing & passed(run, "off", failing) if failing else failing


def known() -> dict[tuple[str, str, str], str]:
    """Return the reasons of the failures that are known, by mode, package and test."""
    found = {}
    for line in (HERE / "known.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            place, _, reason = line.partition(" # ")
            mode, package, test = place.split(maxsplit=2)
            found[mode, package, test.strip()] = reason
    return found


def compare(run: Run, modes: Iterable[str], reasons: Mapping[tuple[str, str, str], str]) -> tuple[str, int, list[str]]:
    """Run the tests of a package in all modes.

    Returns:
        A line of the table, the number of tests that pass without the plugin, and the failures without a reason.
    """
    without = passed(run, "off")
    if not without:
        return line(run.package, "0"), 0, [f"off {run.package}: no test passes without the plugin"]
    cells, new = [], []
    for mode in MODES[1:]:
        if mode not in modes:
            cells += ["-", "-"]
            continue
        explained = frozenset(test for where, package, test in reasons if (where, package) == (mode, run.package))
        failing = newly_failing(run, mode, without, explained)
        cells += [str(len(failing)), str(len(without & explained))]
        new += [f"{mode} {run.package} {test}" for test in sorted(failing)]
    return line(run.package, str(len(without)), *cells), len(without), new


def line(package: str, *cells: str) -> str:
    """Return a line of the table."""
    return f"{package:<26}{version(package):<10}" + "".join(f"{cell:>10}" for cell in cells)


def run_of(package: str, python: Path, short: bool, seconds: int) -> Run | None:
    """Return how to run the tests of a package; None where its source distribution has none."""
    folder = source_of(package, python)
    tests = tuple(
        each for each in (SHORT[package] if short else ("tests/unit_tests", "tests")) if (folder / each).exists()
    )
    if not any(folder.glob("tests/**/test_*.py")) or not tests:
        return None
    return Run(package, folder, python, tests if short else tests[:1], seconds)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make peers", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a part that takes a few minutes")
    parser.add_argument("--only", action="append", choices=PACKAGES, help="a package; repeatable")
    parser.add_argument("--mode", action="append", choices=MODES[1:], help="a mode; repeatable")
    parser.add_argument("--seconds", type=int, default=1800, help="limit for one package in one mode")
    given = parser.parse_args()
    python, reasons, new, count = environment(), known(), [], 0
    head = "".join(f"{cell:>10}" for cell in ("passed", "observe:", "known", "enforce:", "known"))
    lines = [
        "Tests that pass without the plugin, and how many of them fail with it:",
        f"{'package':<26}{'version':<10}" + head,
    ]
    for package in given.only or (SHORT if given.short else PACKAGES):
        run = run_of(package, python, given.short, given.seconds)
        if run is None:
            lines.append(f"{package:<26}{version(package):<10}  no tests in the source distribution")
            continue
        shown, passing, failures = compare(run, given.mode or MODES[1:], reasons)
        print(shown, flush=True)
        lines.append(shown)
        count += passing
        new += failures
    print("", *lines, sep="\n")
    for failure in new:
        print(f"newly failing: {failure}")
    print(f"{count} passed, {len(new)} failed")
    return 1 if new else 0


if __name__ == "__main__":
    raise SystemExit(main())
