"""Results in the XML that CI systems read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from draftcritic.check._case import Outcome

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(outcomes: Sequence[Outcome], suite: str) -> str:
    """Return the results as a JUnit document.

    Args:
        outcomes: the results.
        suite: the name of the test suite.
    """
    failed = sum(not outcome.passed for outcome in outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(failed), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", counts)
    element = ElementTree.SubElement(root, "testsuite", {"name": _clean(suite), **counts})
    for outcome in outcomes:
        names = {"classname": _clean(suite), "name": _clean(outcome.case.name), "time": "0"}
        case = ElementTree.SubElement(element, "testcase", names)
        if not outcome.passed:
            failure = ElementTree.SubElement(case, "failure", {"message": _clean(outcome.problems[0])})
            failure.text = _clean("\n".join([*outcome.problems, f"draft: {outcome.case.turn.draft}"]))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("\ufffd", text)
