"""Each room imports only what the architecture lets it import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import draftcritic
from draftcritic.telemetry import names

ROOT = Path(draftcritic.__file__).parent
ALLOWED = {
    "core": {"draftcritic.core", "draftcritic.grounding", "genai_prices", "typing_extensions"},
    "grounding": {"draftcritic.core", "draftcritic.grounding"},
    "review": {"draftcritic.core", "draftcritic.grounding", "draftcritic.review"},
    "langchain": {
        "draftcritic.core",
        "draftcritic.grounding",
        "draftcritic.review",
        "draftcritic.langchain",
        "langchain_core",
        "langsmith",
        "wrapt",
    },
    "telemetry": {
        "draftcritic.core",
        "draftcritic.grounding",
        "draftcritic.review",
        "draftcritic.telemetry",
        "opentelemetry",
    },
    "turns": {"draftcritic.core", "draftcritic.grounding", "draftcritic.telemetry", "draftcritic.turns", "pyarrow"},
    "replay": {
        "draftcritic.core",
        "draftcritic.grounding",
        "draftcritic.review",
        "draftcritic.replay",
        "draftcritic.turns",
    },
    "labels": {
        "draftcritic.labels",
        "draftcritic.replay",
        "draftcritic.turns",
        "jinja2",
        "rich",
        "starlette",
        "textual",
        "uvicorn",
    },
    "calibrate": {
        "draftcritic.calibrate",
        "draftcritic.labels",
        "draftcritic.replay",
        "draftcritic.statistics",
        "jinja2",
        "markupsafe",
        "vl_convert",
    },
    "record": {"draftcritic.core", "draftcritic.record", "draftcritic.review", "draftcritic.turns"},
    "check": {"draftcritic.check", "draftcritic.replay", "draftcritic.turns"},
    "statistics": {"draftcritic.statistics"},
    "integrations": {
        "draftcritic.core",
        "draftcritic.grounding",
        "draftcritic.review",
        "draftcritic.integrations.symfonic",
        "draftcritic.langchain",
        "draftcritic._runtime",
        "langchain_core",
        "symfonic",
    },
}
STANDARD = __import__("sys").stdlib_module_names


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            yield node.module or ""


@pytest.mark.parametrize("room", ALLOWED)
def test_a_room_imports_only_what_it_may(room: str) -> None:
    paths = sorted((ROOT / room).rglob("*.py"))
    assert paths
    for path in paths:
        for name in imports_of(path):
            if name.partition(".")[0] in STANDARD:
                continue
            assert any(name == one or name.startswith(f"{one}.") for one in ALLOWED[room]), f"{path.name}: {name}"


def test_init_files_only_reexport() -> None:
    for path in ROOT.rglob("__init__.py"):
        if path.parent == ROOT:
            continue  # loads its names lazily
        for node in ast.parse(path.read_text()).body:
            assert isinstance(node, (ast.Import, ast.ImportFrom, ast.Expr, ast.Assign, ast.If)), path
            if isinstance(node, ast.Assign):
                assert isinstance(node.targets[0], ast.Name), path
                assert node.targets[0].id == "__all__", path


def test_no_wire_name_is_spelled_out_outside_the_names_module() -> None:
    wire = {value for key, value in vars(names).items() if key.isupper() and isinstance(value, str) and "." in value}
    assert "draftcritic.verdict" in wire
    for path in ROOT.rglob("*.py"):
        if path.name == "names.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in wire, f"{path.relative_to(ROOT)} spells out {node.value!r}"
