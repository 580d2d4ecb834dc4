"""Reads YAML from a file that may be wrong: no key twice, and aliases that add a bounded number of values."""

from __future__ import annotations

from typing import Any

import yaml

MAX_ALIASED = 10_000
"""Values that aliases may add; nine lists of nine aliases of each other would add 400 million."""


def load_yaml(text: str) -> Any:
    """Return what a YAML text says; an empty one is an empty mapping.

    Raises:
        ValueError: it is no valid YAML, has a key twice, or its aliases add too many values.
    """
    try:
        loader = yaml.SafeLoader(text)
        try:
            root = loader.get_single_node()
            if root is None:
                return {}
            _check(root)
            content = loader.construct_document(root)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ValueError(f"is no valid YAML: {_one_line(error.problem)}{where}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ValueError(f"is no valid YAML: {_one_line(error)}") from None
    return {} if content is None else content


def _check(root: yaml.Node) -> None:
    sizes: dict[int, int] = {}
    expanded = _size(root, sizes, set())
    if expanded - len(sizes) > MAX_ALIASED:
        raise ValueError(f"its aliases add more than {MAX_ALIASED} values; write fewer of them, or none")


def _size(node: yaml.Node, sizes: dict[int, int], above: set[int]) -> int:
    """Return how many values a node has when every alias is expanded."""
    if id(node) in above:
        raise ValueError(f"an alias contains itself{_place(node)}")
    if id(node) in sizes:
        return sizes[id(node)]
    above.add(id(node))
    if isinstance(node, yaml.MappingNode):
        _check_keys(node)
        children = [part for pair in node.value for part in pair]
    else:
        children = node.value if isinstance(node, yaml.SequenceNode) else []
    size = 1 + sum(_size(child, sizes, above) for child in children)
    above.discard(id(node))
    sizes[id(node)] = size
    return size


def _check_keys(node: yaml.MappingNode) -> None:
    seen: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if (key.tag, key.value) in seen:
                raise ValueError(f"the key {key.value[:80]!r} is there twice{_place(key)}")
            seen.add((key.tag, key.value))


def _place(node: yaml.Node) -> str:
    return f", line {node.start_mark.line + 1}, column {node.start_mark.column + 1}"


def _one_line(error: object) -> str:
    return " ".join(str(error).split())[:200]
