"""Drawing drafts, keeping labels, reading labels of other tools."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.labelled import made_up_runs

from draftcritic.labels import Label, LabelFile, draw, import_labels, majority, queue, read_labels
from draftcritic.turns import Problem, ReadError

RUNS = [run for run, _ in made_up_runs(2000)]


def test_each_verdict_gets_the_same_share_and_the_sizes_are_stored() -> None:
    sample = draw(RUNS, 100, ("verdict",))
    assert {stratum.name: len(stratum.chosen) for stratum in sample.strata} == {"approve": 50, "refuse": 50}
    assert sum(stratum.size for stratum in sample.strata) == 2000
    assert len(sample.double) == 30
    assert sample == draw(RUNS, 100, ("verdict",))
    assert sample != draw(RUNS, 100, ("verdict",), seed=1)


def test_what_a_small_stratum_cannot_use_goes_to_the_others() -> None:
    sample = draw(RUNS[:100], 80, ("verdict", "gate.reason"))
    sizes = {stratum.name: (stratum.size, len(stratum.chosen)) for stratum in sample.strata}
    small, chosen = sizes["refuse / claims"]
    assert small == chosen < 20
    assert sum(chosen for _, chosen in sizes.values()) == 80


def test_an_unknown_field_and_a_replay_without_drafts_are_rejected() -> None:
    with pytest.raises(ValueError, match="--by has 'mood'; allowed are verdict"):
        draw(RUNS, 10, ("mood",))
    with pytest.raises(ValueError, match="no row has a draft"):
        draw([], 10, ("verdict",))


def test_two_people_share_the_work_and_both_label_the_double_ones() -> None:
    sample = draw(RUNS, 100, ("verdict",))
    done: list[tuple[str, str]] = []
    for person in ("ann", "bob"):
        done.extend((turn_id, person) for turn_id in queue(sample, done, person)[: 70 if person == "ann" else 100])
    assert len({turn_id for turn_id, _ in done}) == 100
    twice = {turn_id for turn_id in sample.double if sum(one == turn_id for one, _ in done) == 2}
    assert len(twice) + sum(1 for one, who in done if one in sample.double and one not in twice) >= 30
    assert queue(sample, done, "cem") == [one for one in queue(sample, done, "cem") if one in sample.double]


def test_labels_survive_and_the_last_of_a_person_counts(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    file = LabelFile(path)
    file.start(draw(RUNS, 10, ("verdict",)))
    for label in ("approve", "refuse"):
        file.add(Label("t1", "ann", label))
    file.add(Label("t2", "ann", "approve"))
    file.add(Label("t2", "ann", ""))
    file.close()
    found = read_labels([path])
    assert {key: label.label for key, label in found.labels.items()} == {("t1", "ann"): "refuse"}
    assert found.sample == draw(RUNS, 10, ("verdict",))
    assert path.stat().st_mode & 0o777 == 0o600


def test_half_a_line_of_a_killed_process_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"turn_id": "t1", "who": "ann", "label": "approve"}\n{"turn_id": "t2", "wh')
    file = LabelFile(path)
    file.add(Label("t3", "ann", "refuse"))
    file.close()
    found = read_labels([path])
    assert sorted(found.labels) == [("t1", "ann"), ("t3", "ann")]
    assert len(found.problems) == 1


def test_a_killed_process_has_lost_no_label(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    code = (
        "import sys; from pathlib import Path; from draftcritic.labels import *\n"
        "file = LabelFile(Path(sys.argv[1])); n = 0\n"
        "while True:\n"
        "    file.add(Label(f't{n}', 'ann', 'approve')); n += 1; print(n, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        said = 0
        for line in child.stdout:
            said = int(line)
            if said >= 50:
                break
        os.kill(child.pid, signal.SIGKILL)
        said = max([said, *(int(line) for line in child.stdout if line.endswith("\n"))])
    assert len(read_labels([path]).labels) >= said


def test_files_of_two_people_are_read_together_and_of_two_samples_are_not(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        file = LabelFile(tmp_path / name)
        file.start(draw(RUNS, 10, ("verdict",), seed))
        file.add(Label("t1", name, "approve"))
        file.close()
    assert read_labels([tmp_path / "a", tmp_path / "b"]).people == ["a", "b"]
    with pytest.raises(ReadError, match="different samples"):
        read_labels([tmp_path / "a", tmp_path / "c"])


def test_of_two_files_in_which_a_person_disagrees_with_herself_the_later_label_counts(tmp_path: Path) -> None:
    for name, label, time in (("a", "refuse", 20.0), ("b", "approve", 10.0)):
        file = LabelFile(tmp_path / name)
        file.start(draw(RUNS, 10, ("verdict",)))
        file.add(Label("t1", "ann", label, time))
        file.add(Label("t2", "ann", "approve", time))
        file.close()
    for names in (("a", "b"), ("b", "a")):
        found = read_labels([tmp_path / name for name in names])
        assert found.labels["t1", "ann"].label == "refuse"
        assert len(found.labels) == 2
        (problem,) = found.problems
        assert problem.startswith(f"{tmp_path / names[1]}: ann says ")
        assert problem.endswith("in another file; the later label counts")


def test_an_unknown_word_is_a_problem_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_text('{"turn_id": "t1", "label": "meh"}\n{"turn_id": "t2", "label": "approve"}\n')
    found = read_labels([path])
    assert len(found.labels) == 1
    assert found.problems == [
        f"{path}, line 1: is no label: the label is 'meh'; allowed are approve, revise, refuse, unsure"
    ]


def test_the_majority_counts_and_a_tie_does_not() -> None:
    def of(*words: str) -> str:
        return majority([Label("t", str(at), word) for at, word in enumerate(words)])

    assert of("approve", "refuse", "refuse") == "refuse"
    assert of("approve", "unsure") == "approve"
    assert of("approve", "refuse") == of("unsure") == of() == ""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("labels.csv", "\ufeffturn_id,label,who\r\nt1,Good,ann\r\nt2,refuse,bob\r\n"),
        (
            "scores.jsonl",
            '{"observationId": "t1", "value": 1, "source": "ann"}\n{"id": "t2", "stringValue": "bad", "who": "bob"}\n',
        ),
        (
            "feedback.json",
            json.dumps([{"run_id": "t1", "score": 0.9, "who": "ann"}, {"run_id": "t2", "score": 0, "who": "bob"}]),
        ),
        (
            "annotations.json",
            json.dumps(
                {
                    "data": [
                        {"span_id": "t1", "user_id": "ann", "result": {"label": "correct", "score": 1}},
                        {"span_id": "t2", "user_id": "bob", "result": {"label": "incorrect"}},
                    ]
                }
            ),
        ),
    ],
)
def test_labels_of_other_tools(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    found = [label for label in import_labels(path) if isinstance(label, Label)]
    assert [(label.turn_id, label.label, label.who) for label in found] == [
        ("t1", "approve", "ann"),
        ("t2", "refuse", "bob"),
    ]


def test_imports_report_what_is_no_label(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("turn_id,label\nt1,purple\n,approve\nt2,approve\n")
    found = list(import_labels(path))
    assert [type(one) for one in found] == [Problem, Problem, Label]
    assert found[0].reason == "says 'purple'; allowed are approve, revise, refuse, unsure, a number, or good and bad"
    path.write_text("draft,mark\nx,y\n")
    with pytest.raises(ReadError, match="needs a column turn_id"):
        list(import_labels(path))
