"""Runs the unit tests of LangChain's own packages with the plugin off, in observe and in enforce: `make peers`.

The source distributions of the installed versions come from the package index. Each package's tests run in a virtual
environment on top of the project's, with a critic that approves everything. A test that passes without the plugin has
to pass with it, unless `known.txt` names it with a reason.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
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
    "pytest-mock", "pytest-socket", "pytest-timeout", "pytest-xdist", "pytest-recording", "pytest-benchmark",
    "syrupy", "freezegun", "responses", "blockbuster", "vcrpy", "langchain-tests", "grandalf",
)  # fmt: skip
_OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR) (\S+)", re.MULTILINE)


class Result(NamedTuple):
    """The tests of one package in one mode."""

    passed: frozenset[str]
    failed: frozenset[str]


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


def run(package: str, folder: Path, mode: str, python: Path, tests: tuple[str, ...], seconds: int) -> Result:
    """Run the tests of a package in one mode."""
    log = WORK / f"{package}-{mode}.txt"
    command = [str(python), "-m", "pytest", "-q", "-rA", "--tb=no", "-p", "peers.plugin", "-p", "no:cacheprovider"]
    command += ["-p", "no:benchmark", "--timeout=60", "-o", "addopts=", "-o", "asyncio_mode=auto", *tests]
    paths = os.pathsep.join([str(HERE.parent), str(folder)])
    env = {**os.environ, "PYTHONPATH": paths, "PEERS_MODE": mode, "LANGSMITH_TRACING": "false"}
    with log.open("w") as out:
        try:
            subprocess.run(command, cwd=folder, env=env, stdout=out, stderr=out, check=False, timeout=seconds)
        except subprocess.TimeoutExpired:
            print(f"{package} in {mode}: not finished after {seconds} s, see {log}", flush=True)
    outcomes = _OUTCOME.findall(log.read_text(errors="replace"))
    passed = frozenset(test for outcome, test in outcomes if outcome == "PASSED")
    return Result(passed, frozenset(test for outcome, test in outcomes if outcome != "PASSED"))


def known() -> dict[tuple[str, str, str], str]:
    """Return the reasons of the failures that are known, by mode, package and test."""
    found = {}
    for line in (HERE / "known.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            place, _, reason = line.partition(" # ")
            mode, package, test = place.split(maxsplit=2)
            found[mode, package, test.strip()] = reason
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="make peers", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a part that takes a few minutes")
    parser.add_argument("--only", action="append", choices=PACKAGES, help="a package; repeatable")
    parser.add_argument("--seconds", type=int, default=1800, help="limit for one package in one mode")
    given = parser.parse_args()
    python, reasons, new, count = environment(), known(), [], 0
    lines = [f"{'package':<26}{'version':<10}{'passed without':>15}{'newly: observe':>16}{'enforce':>9}"]
    for package in given.only or (SHORT if given.short else PACKAGES):
        folder = source_of(package, python)
        tests = SHORT.get(package, ("tests",)) if given.short else ("tests/unit_tests",)
        tests = tuple(each for each in tests if (folder / each).exists()) or ("tests",)
        if not any(folder.glob("tests/**/test_*.py")):
            lines.append(f"{package:<26}{version(package):<10}{'no tests in the source distribution':>40}")
            continue
        results = {mode: run(package, folder, mode, python, tests, given.seconds) for mode in MODES}
        count += len(results["off"].passed)
        newly = {mode: sorted(results["off"].passed - results[mode].passed) for mode in MODES[1:]}
        for mode, names in newly.items():
            if names:  # once more, because some of these tests measure time
                again = run(package, folder, mode, python, tuple(names), given.seconds)
                newly[mode] = [name for name in names if name not in again.passed]
        shown = "".join(f"{len(newly[mode]):>{width}}" for mode, width in (("observe", 16), ("enforce", 9)))
        lines.append(f"{package:<26}{version(package):<10}{len(results['off'].passed):>15}{shown}")
        new += [(mode, package, test) for mode in newly for test in newly[mode] if (mode, package, test) not in reasons]
        if not results["off"].passed:
            new.append(("off", package, "no test passes without the plugin"))
    print("\n".join(lines))
    for mode, package, test in new:
        print(f"newly failing: {mode} {package} {test}")
    print(f"{count} passed, {len(new)} failed")
    return 1 if new else 0


if __name__ == "__main__":
    raise SystemExit(main())
