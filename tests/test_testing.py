"""The tools that users get for their own tests."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

import draftcritic.testing
from draftcritic.core import Mode, Policy, Turn
from draftcritic.review import Critic, Reply
from draftcritic.testing import RecordingObserver, ScriptedCriticModel


def test_the_tools_need_no_test_framework():
    program = "import sys, draftcritic.testing; print('pytest' in sys.modules, 'langchain_core' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_a_script_answers_in_order_and_may_be_a_function():
    observer = RecordingObserver()
    critic = Critic(Policy(), Mode.OBSERVE, observer)
    model = ScriptedCriticModel(
        ['{"verdict": "approve"}', {"verdict": "refuse", "refusal_message": "No."}, TimeoutError()]
    )
    for _ in range(4):
        critic.review(Turn("The refund of 18 euros is on its way."), model)
    critic.review(Turn("x"), ScriptedCriticModel(lambda _: Reply('{"verdict": "revise", "revised_draft": "y"}')))
    assert [r.verdict for r in observer.reviews] == ["approve", "refuse", None, None, "revise"]
    assert [r.failure for r in observer.reviews] == [None, None, "timeout", "error", None]
    assert observer.reviews[3].outcome.error_type == "LookupError"
    assert model.calls == 4


def test_a_single_text_is_no_script():
    with pytest.raises(TypeError, match="give a list"):
        ScriptedCriticModel('{"verdict": "approve"}')


def test_the_example_of_the_module_runs_as_it_is_written():
    example = textwrap.dedent(draftcritic.testing.__doc__.partition("Example:\n")[2])
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "assert observer.reviews" in example
