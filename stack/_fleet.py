"""RabbitMQ and Redis for a fleet on one machine: unpacked from the packages of its own Debian, on loopback."""

from __future__ import annotations

import platform
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from stack._programs import FETCH_WITHIN_S, StackError, cache_folder, cached, download, only_one, run
from stack._services import HOST, Service

PORTS: Final[dict[str, int]] = {"amqp": 5672, "epmd": 4369, "erlang": 25672, "redis": 6379}
"""What listens where, unless a run chooses other ports."""
_ERLANG = (
    *("asn1", "base", "crypto", "eldap", "inets", "mnesia", "os-mon", "parsetools", "public-key"),
    *("runtime-tools", "ssl", "syntax-tools", "tools", "xmerl"),
)
_PACKAGES: Final = (
    *(f"erlang-{name}" for name in _ERLANG),
    *("rabbitmq-server", "redis-server", "redis-tools", "libatomic1", "libjemalloc2", "liblzf1"),
)
"""RabbitMQ, Redis, and the libraries of theirs that a small system lacks; their programs need the same release of
Debian as this machine runs."""
_MOVED = re.compile(r"^(\s*)ROOTDIR=/usr/lib/erlang$", re.MULTILINE)
"""Debian's script for Erlang knows one place only."""


def provide(report: Callable[[str], None] = lambda _: None) -> Path:
    """Return the folder with the programs, from the cache or fetched now.

    Raises:
        StackError: this is no Debian, or the packages cannot be fetched.
    """
    suite = _suite()
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with only_one(cache / ".lock"):
        return cached(cache / f"fleet-{suite}-{platform.machine()}", lambda into: _unpack(into, suite), report)


def _unpack(into: Path, suite: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for archive in download(_PACKAGES, Path(scratch), suite):
            run(["dpkg-deb", "--extract", str(archive), str(into)], FETCH_WITHIN_S)
    script = into / "usr/lib/erlang/bin/erl"
    text, changed = _MOVED.subn(r'\1ROOTDIR="$ERL_ROOTDIR"', script.read_text(encoding="utf-8"))
    if not changed:
        raise StackError(f"{script} does not name its folder as it did; see stack/_fleet.py")
    script.write_text(text, encoding="utf-8")


def _suite() -> str:
    try:
        found = re.search(
            r"^VERSION_CODENAME=(\w+)$", Path("/etc/os-release").read_text(encoding="utf-8"), re.MULTILINE
        )
    except OSError:
        found = None
    if found is None:
        raise StackError("this machine is no Debian: start RabbitMQ and Redis yourself and give their addresses")
    return found.group(1)


def broker(ports: Mapping[str, int]) -> str:
    """The address of RabbitMQ."""
    return f"amqp://guest:guest@{HOST}:{ports['amqp']}//"


def store(ports: Mapping[str, int]) -> str:
    """The address of Redis."""
    return f"redis://{HOST}:{ports['redis']}/0"


def services(root: Path, ports: Mapping[str, int], folder: Path) -> tuple[Service, ...]:
    """The services, in the order of their start."""
    folder.mkdir(parents=True, exist_ok=True)
    return _epmd(root, ports, folder), rabbitmq(root, ports, folder), redis(root, ports, folder)


def _epmd(root: Path, ports: Mapping[str, int], folder: Path) -> Service:
    """Erlang's name service, which RabbitMQ would else leave behind."""
    return Service(
        name="epmd",
        command=(str(root / "usr/bin/epmd"), "-address", HOST, "-port", str(ports["epmd"])),
        health=f"tcp://{HOST}:{ports['epmd']}",
        ports=(ports["epmd"],),
        environment=_environment(root, ports, folder),
    )


def rabbitmq(root: Path, ports: Mapping[str, int], folder: Path) -> Service:
    """RabbitMQ with its data in `folder`."""
    home = folder / "rabbitmq"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    config = home / "rabbitmq.conf"
    config.write_text(f"listeners.tcp.local = {HOST}:{ports['amqp']}\n", encoding="utf-8")
    (script,) = (root / "usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin/rabbitmq-server")
    return Service(
        name="rabbitmq",
        command=("/bin/sh", str(script)),
        health=f"amqp://{HOST}:{ports['amqp']}",
        ports=(ports["amqp"], ports["erlang"]),
        environment={
            **_environment(root, ports, folder),
            "RABBITMQ_NODENAME": f"draftcritic-{ports['amqp']}@localhost",
            "RABBITMQ_MNESIA_BASE": str(home / "data"),
            "RABBITMQ_LOG_BASE": str(home / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_CONFIG_FILE": str(config),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
            "RABBITMQ_DIST_PORT": str(ports["erlang"]),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        },
    )


def redis(root: Path, ports: Mapping[str, int], folder: Path) -> Service:
    """Redis without a file of its own: budgets are of the last hour."""
    arguments = ("--bind", HOST, "--port", str(ports["redis"]), "--save", "", "--appendonly", "no")
    return Service(
        name="redis",
        command=(str(root / "usr/bin/redis-server"), *arguments),
        health=f"redis://{HOST}:{ports['redis']}",
        ports=(ports["redis"],),
        environment=_environment(root, ports, folder),
    )


def _environment(root: Path, ports: Mapping[str, int], folder: Path) -> dict[str, str]:
    libraries = ":".join(str(path) for path in sorted((root / "usr/lib").glob("*-linux-gnu")))
    return {
        "ERL_ROOTDIR": str(root / "usr/lib/erlang"),
        "ERL_EPMD_ADDRESS": HOST,
        "ERL_EPMD_PORT": str(ports["epmd"]),
        "HOME": str(folder),
        "LD_LIBRARY_PATH": libraries,
        "PATH": f"{root / 'usr/lib/erlang/bin'}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    }
