"""Check that the pages for developers name files, classes and functions that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/draftcritic"
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("ARCHITECTURE.md", "CONTRIBUTING.md")}


def names_in(path: Path) -> set[str]:
    """Return the names that a module defines, those of methods with the name of their class."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names.add(node.name)
            if isinstance(node, ast.ClassDef):
                methods = (each for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)))
                names.update(f"{node.name}.{each.name}" for each in methods)
    return names


def _exists(path: Path, name: str) -> bool:
    return path.exists() and name in names_in(path)


@pytest.mark.parametrize("page", PAGES)
def test_every_name_exists(page: str) -> None:
    named = re.findall(r"`([\w/]+\.py)::([\w.]+)`", PAGES[page])
    assert named
    missing = [f"{file}::{name}" for file, name in named if not _exists(SOURCE / file, name)]
    assert not missing


@pytest.mark.parametrize("page", PAGES)
def test_every_file_exists(page: str) -> None:
    files = re.findall(r"`((?:[\w.]+/)*[\w.]+\.(?:py|md|toml|json|txt))`", PAGES[page])
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", PAGES[page]) if not link.startswith("http")]
    missing = [file for file in files if not (SOURCE / file).exists() and not (ROOT / file).exists()]
    assert not missing + [link for link in links if not (ROOT / link).exists()]
