"""Builds or fetches the programs once for each release, into a cache that several checkouts share."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stack import _releases as releases

HERE = Path(__file__).resolve().parent
CACHE_VARIABLE = "DRAFTCRITIC_STACK_CACHE"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_APT_LISTS = (Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d"))
_BUILD_WITHIN_S = 3600
FETCH_WITHIN_S = 600


class StackError(Exception):
    """The stack cannot be had or started; the message says what to do."""


@dataclass(frozen=True)
class Programs:
    """Paths of the programs."""

    collector: Path
    jaeger: Path
    prometheus: Path
    promtool: Path
    alertmanager: Path
    amtool: Path


def cache_folder() -> Path:
    """Where the programs lie: `DRAFTCRITIC_STACK_CACHE`, by default `~/.cache/draftcritic-stack`."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "draftcritic-stack"


def provide(report: Callable[[str], None] = lambda _: None) -> Programs:
    """All programs, from the cache or made now.

    Args:
        report: Called with one line for each program: its path, and how long it took when it was not cached.

    Raises:
        StackError: A tool that makes them is missing, or failed.
    """
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with only_one(cache / ".lock"):
        collector = _go_programs(
            "collector", {"otelcol": "."}, releases.COLLECTOR, report, f"-X main.version={releases.COLLECTOR}"
        )
        jaeger = _go_programs(
            "jaeger", {"jaeger": "github.com/jaegertracing/jaeger/cmd/jaeger"}, releases.JAEGER_MODULE, report
        )
        alertmanager = _go_programs(
            "alertmanager",
            {name: f"github.com/prometheus/alertmanager/cmd/{name}" for name in ("alertmanager", "amtool")},
            releases.ALERTMANAGER,
            report,
        )
        prometheus = _debian_programs("prometheus", ("prometheus", "promtool"), releases.PROMETHEUS, report)
    return Programs(
        collector=collector / "otelcol",
        jaeger=jaeger / "jaeger",
        prometheus=prometheus / "prometheus",
        promtool=prometheus / "promtool",
        alertmanager=alertmanager / "alertmanager",
        amtool=alertmanager / "amtool",
    )


def _go_programs(
    name: str, packages: Mapping[str, str], release: str, report: Callable[[str], None], ldflags: str = ""
) -> Path:
    source = HERE / name
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(source.iterdir()))).hexdigest()[:12]

    def build(into: Path) -> None:
        go = _tool("go", "install Go 1.26 or newer, or run the images of compose.yaml")
        command = [go, "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", f"-s -w {ldflags}"]
        for program, package in packages.items():
            run([*command, "-o", str(into / program), package], _BUILD_WITHIN_S, cwd=source)

    return cached(cache_folder() / f"{name}-{release}-{digest}", build, report)


def _debian_programs(name: str, packages: tuple[str, ...], release: str, report: Callable[[str], None]) -> Path:
    folder = cache_folder() / f"{name}-{release}"

    def fetch(into: Path) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            for archive in download(packages, Path(scratch)):
                run(["dpkg-deb", "--extract", str(archive), scratch], FETCH_WITHIN_S)
            for program in (Path(scratch) / "usr" / "bin").iterdir():
                shutil.copy2(program, into / program.name)
        found = run([str(into / packages[0]), "--version"], 30)
        if f"version {release}" not in found:
            version = found.splitlines()[0] if found else "nothing"
            raise StackError(f"{name} of Debian {releases.DEBIAN_SUITE} is {version}, not {release}: set _releases.py")

    return cached(folder, fetch, report)


def download(packages: tuple[str, ...], scratch: Path, suite: str = releases.DEBIAN_SUITE) -> list[Path]:
    """The packages as apt fetches and verifies them, with lists and caches apart from the machine's own."""
    apt_get = _tool("apt-get", "this needs Debian or a descendant; elsewhere run the images of compose.yaml")
    if not _KEYRING.is_file():
        raise StackError(f"{_KEYRING} is missing: install debian-archive-keyring")
    listing = scratch / "sources.list"
    listing.write_text(f"deb [signed-by={_KEYRING}] {_debian_mirror()} {suite} main\n")
    for folder in ("lists/partial", "cache/archives/partial"):
        (scratch / folder).mkdir(parents=True)
    options = {
        "Dir::Etc::sourcelist": listing,
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": scratch / "lists",
        "Dir::Cache": scratch / "cache",
        "APT::Sandbox::User": "root",
    }
    settings = [part for key, value in options.items() for part in ("-o", f"{key}={value}")]
    run([apt_get, *settings, "-q", "update"], FETCH_WITHIN_S)
    run([apt_get, *settings, "-q", "download", *packages], FETCH_WITHIN_S, cwd=scratch)
    return sorted(scratch.glob("*.deb"))


def _debian_mirror() -> str:
    """The mirror that this machine's own apt uses."""
    files = [file for place in _APT_LISTS for file in ([place] if place.is_file() else sorted(place.glob("*")))]
    for file in files:
        if file.suffix not in (".list", ".sources"):
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        found = re.search(r"^(?:URIs:|deb\b(?:\s+\[[^]]*\])?)\s+(https?://\S*/debian/?)(?=\s|$)", text, re.MULTILINE)
        if found:
            return found.group(1)
    raise StackError("no Debian mirror is configured in /etc/apt; run the images of compose.yaml instead")


def cached(folder: Path, make: Callable[[Path], None], report: Callable[[str], None]) -> Path:
    if folder.is_dir():
        report(f"{folder.name}: cached")
        return folder
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        make(made)
        made.rename(folder)
    report(f"{folder.name}: made in {time.monotonic() - started:.0f} s")
    return folder


def _tool(name: str, hint: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise StackError(f"{name} is not on the path: {hint}")
    return found


def run(command: list[str], timeout_s: float, cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command, cwd=cwd, timeout=timeout_s, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        raise StackError(f"{' '.join(command[:2])} did not end within {timeout_s:.0f} s") from None
    if done.returncode != 0:
        print(done.stderr[-4000:], file=sys.stderr)
        raise StackError(f"{' '.join(command[:2])} failed with exit code {done.returncode}")
    return done.stdout + done.stderr


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Two builds into one cache would do the same work twice."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
