"""Checks of what is installed: versions, the plugin, and other instrumentations that the loader finds."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from draftcritic.doctor._finding import Finding, fault, note, ok, warning
from draftcritic.telemetry._neighbours import capturing_neighbours, known_neighbour

_GROUP = "opentelemetry_instrumentor"
_PYTHON = ((3, 10), (3, 13))
"""The oldest and the newest Python that the tests run with."""
_EXTRAS = ("instruments", "otlp")


def versions() -> Iterator[Finding]:
    """Compare the versions of Python and of the packages that the plugin works with to the range it is tested with."""
    running = sys.version_info[:2]
    oldest, newest = (".".join(map(str, each)) for each in _PYTHON)
    if _PYTHON[0] <= running <= _PYTHON[1]:
        yield ok("versions", f"Python {running[0]}.{running[1]} is in the tested range {oldest} to {newest}")
    else:
        message = f"Python {running[0]}.{running[1]} is outside the tested range {oldest} to {newest}"
        yield warning("versions", message, f"use Python {oldest} to {newest}")
    for requirement in _requirements():
        yield _version(requirement)


def _requirements() -> Iterator[Requirement]:
    seen = set()
    for line in importlib.metadata.requires("draftcritic") or ():
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        marker = requirement.marker
        wanted = marker is None or any(marker.evaluate({"extra": extra}) for extra in _EXTRAS)
        if wanted and requirement.name not in seen:
            seen.add(requirement.name)
            yield requirement


def _version(requirement: Requirement) -> Finding:
    name, extra = requirement.name, str(requirement.marker or "")
    install = f"pip install '{name}{requirement.specifier}'"
    try:
        installed = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        if "otlp" in extra:
            return warning("versions", f"{name} is not installed, so nothing is exported by OTLP", install)
        return fault("versions", f"{name} is not installed", install)
    if requirement.specifier.contains(installed, prereleases=True):
        return ok("versions", f"{name} {installed} is in the tested range {requirement.specifier or 'of all versions'}")
    return fault("versions", f"{name} {installed} is outside the tested range {requirement.specifier}", install)


def loader() -> Iterator[Finding]:
    """Look for what `opentelemetry-instrument` would load, as it does."""
    disabled = [name.strip() for name in os.environ.get("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS", "").split(",")]
    found = list(importlib.metadata.entry_points(group=_GROUP))
    if not any(entry.value.startswith("draftcritic.") for entry in found):
        yield fault("plugin", "the loader does not find the plugin", "install draftcritic into this environment")
    elif {"draftcritic", "*"} & set(disabled):
        message = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS switches the plugin off"
        yield fault("plugin", message, "remove draftcritic from that variable")
    else:
        yield ok("plugin", "the loader finds the plugin")
    if not list(importlib.metadata.entry_points(group="opentelemetry_distro")):
        remedy = "pip install opentelemetry-distro opentelemetry-exporter-otlp"
        yield fault("plugin", "there is no OpenTelemetry distro, so no exporter is set up", remedy)
    if not instrument_script().is_file():
        yield warning(
            "plugin", "the command opentelemetry-instrument is missing", "pip install opentelemetry-instrumentation"
        )
    others = [entry for entry in found if not entry.value.startswith("draftcritic.")]
    active = [entry for entry in others if entry.name not in disabled and "*" not in disabled]
    yield from _neighbours([entry.value.partition(":")[0] for entry in active])


def _neighbours(modules: list[str]) -> Iterator[Finding]:
    langchain = [module for module in modules if module.endswith(".langchain")]
    labels = [(known_neighbour(module) or module) for module in langchain]
    names = [each if isinstance(each, str) else each.label for each in labels]
    if not langchain:
        yield note("neighbours", "no instrumentation draws the agent's own spans, so reviews are traces of their own")
    elif len(langchain) == 1:
        yield ok("neighbours", f"{names[0]} draws the agent's own spans")
    else:
        message = f"{', '.join(names)} are all loaded, so each of the agent's spans comes several times"
        yield warning("neighbours", message, "uninstall all of them but one")
    for each in capturing_neighbours(loaded=modules):
        yield warning("content", f"{each.label} records texts of prompts and answers", f"to stop that, {each.remedy}")


def instrument_script() -> Path:
    """Return where the command `opentelemetry-instrument` of this environment is."""
    return Path(sys.executable).with_name("opentelemetry-instrument" + (".exe" if sys.platform == "win32" else ""))
