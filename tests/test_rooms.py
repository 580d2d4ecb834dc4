"""Each room imports only what the architecture lets it import."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
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
    "selftest": {
        "draftcritic.core",
        "draftcritic.replay",
        "draftcritic.selftest",
        "draftcritic.statistics",
        "draftcritic.turns",
    },
    "check": {"draftcritic.check", "draftcritic.replay", "draftcritic.turns"},
    "statistics": {"draftcritic.statistics"},
    "fleet": {
        "draftcritic.core",
        "draftcritic.fleet",
        "draftcritic.review",
        "celery",
        "cryptography",
        "kombu",
        "redis",
    },
    "qualify": {
        "draftcritic.core",
        "draftcritic.grounding",
        "draftcritic.qualify",
        "draftcritic.review",
        "draftcritic.statistics",
    },
    "integrations": {
        "draftcritic.core",
        "draftcritic.grounding",
        "draftcritic.review",
        "draftcritic.integrations.langchain",
        "draftcritic.integrations.symfonic",
        "draftcritic.langchain",
        "draftcritic.settings",
        "draftcritic._observers",
        "draftcritic._runtime",
        "langchain",
        "langchain_core",
        "symfonic",
        "wrapt",
    },
}
LONGEST_CHAIN = 14
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


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def run_at_import(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes that run when the module is imported: neither functions nor what only type checkers read."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from run_at_import(node.orelse)
        else:
            yield from run_at_import(ast.iter_child_nodes(node))


def imported_modules(tree: ast.Module, modules: Collection[str]) -> set[str]:
    """Return which of the modules the tree imports at module level."""
    names: set[str] = set()
    for node in run_at_import(tree.body):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                names.add(submodule if submodule in modules else node.module)
    return names & set(modules)


def import_graph() -> dict[str, set[str]]:
    trees = {module_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}
    return {name: imported_modules(tree, trees) - {name} for name, tree in trees.items()}


def longest_chains(graph: dict[str, set[str]]) -> dict[str, list[str]]:
    """Return the longest import chain from each module.

    Raises:
        graphlib.CycleError: modules import each other in a circle; the message names them.
    """
    chains: dict[str, list[str]] = {}
    for name in TopologicalSorter(graph).static_order():
        chains[name] = [name, *max((chains[each] for each in graph[name]), key=len, default=[])]
    return chains


def test_imports_have_no_circles_and_no_long_chains() -> None:
    chain = max(longest_chains(import_graph()).values(), key=len)
    assert len(chain) <= LONGEST_CHAIN, " -> ".join(chain)


def test_an_import_circle_is_an_error() -> None:
    with pytest.raises(CycleError):
        longest_chains({"a": {"b"}, "b": {"c"}, "c": {"a"}})


@pytest.mark.parametrize(
    ("source", "imported"),
    [
        ("from a import b", {"a.b"}),
        ("from a import name", {"a"}),
        ("import a.b", {"a.b"}),
        ("try:\n    from a import b\nexcept ImportError:\n    pass", {"a.b"}),
        ("if TYPE_CHECKING:\n    import a\nelse:\n    import a.b", {"a.b"}),
        ("def later():\n    import a", set()),
    ],
)
def test_only_imports_at_module_level_count(source: str, imported: set[str]) -> None:
    assert imported_modules(ast.parse(source), {"a", "a.b"}) == imported


def test_no_file_name_occurs_twice() -> None:
    paths = [path for path in ROOT.rglob("*.py") if path.name not in {"__init__.py", "__main__.py"}]
    counts = Counter(path.name.lstrip("_") for path in paths)
    assert [name for name, count in counts.items() if count > 1] == []
