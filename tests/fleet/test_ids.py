"""The ids of drafts in a spool."""

from __future__ import annotations

import os
import random

import pytest

from draftcritic.fleet._delivery import _Ids


def test_ids_are_random_and_not_those_of_the_applications_generator() -> None:
    random.seed(7)
    first = [_Ids().next() for _ in range(3)]
    random.seed(7)
    again = [_Ids().next() for _ in range(3)]
    assert len({*first, *again}) == 6
    assert {each.version for each in first} == {4}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_has_other_ids_than_its_parent() -> None:
    ids = _Ids()
    ids.next()
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writes, ids.next().bytes)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reads, 16) != ids.next().bytes
    os.close(reads)
    os.close(writes)
