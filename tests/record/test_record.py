"""Recording reviews in a file, and removing them from there."""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli.test_cli import run

from draftcritic.core import Mode, Policy, Turn
from draftcritic.labels import Label, LabelFile, read_labels
from draftcritic.record import Choice, RowFile, purge, recording, row_of
from draftcritic.review import Critic
from draftcritic.testing import RecordingObserver, ScriptedCriticModel
from draftcritic.turns import TurnRow, read_turns, to_turn

TURN = Turn(
    draft="Order A-1 is refunded.",
    run_id="r1",
    user_message="Refund it.",
    tool_calls=({"name": "refund", "args": {"order": "A-1"}, "id": "c1", "result": "down", "status": "error"},),
    context="You are polite.\nAn earlier answer.",
    hearsay="Another agent says so.",
    draft_model="gpt-4o-mini",
    conversation_id="ben-1",
    user_id="C-102",
)


def review(path: Path, turn: Turn = TURN, **limits: Any) -> RecordingObserver:
    observer = RecordingObserver()
    file = RowFile(path, **limits)
    model = ScriptedCriticModel(['{"verdict": "refuse", "refusal_message": "No."}'])
    Critic(Policy(), Mode.OBSERVE, recording(observer, file)).review(turn, model, 5)
    file.close()
    return observer


def test_each_review_is_a_row_that_gives_the_same_turn_again(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    observer = review(path)
    assert len(observer.reviews) == 1
    (row,) = read_turns([path])
    again = to_turn(row)
    assert replace(again, sources=(), earlier=()) == TURN
    assert (again.sources, [message.text for message in again.earlier]) == ((TURN.context,), [TURN.hearsay])
    assert (row.turn_id, row.trace_id, row.user_id, row.conversation_id) == ("r1", f"{5:032x}", "C-102", "ben-1")
    assert row.reviewed is not None
    assert (row.reviewed.verdict, row.reviewed.source, row.reviewed.text) == ("refuse", "reflection", "No.")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_no_draft_is_not_recorded(tmp_path: Path) -> None:
    review(tmp_path / "turns.jsonl", Turn(draft=""))
    assert not (tmp_path / "turns.jsonl").exists()


def test_it_is_said_once_that_texts_are_recorded_and_no_text_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        review(tmp_path / "turns.jsonl")
    assert [one.message for one in caplog.records if "records drafts" in one.message] == [
        f"draftcritic records drafts and their conversations in {tmp_path / 'turns.jsonl'}"
    ]
    assert "A-1" not in caplog.text


def test_a_file_that_cannot_be_written_is_logged_once_and_the_review_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    observer, model = RecordingObserver(), ScriptedCriticModel(lambda _: '{"verdict": "approve"}')
    critic = Critic(Policy(), Mode.OBSERVE, recording(observer, RowFile(tmp_path)))
    for _ in range(3):
        assert critic.review(TURN, model).verdict == "approve"
    assert len(observer.reviews) == 3
    assert [one.message for one in caplog.records if "cannot record" in one.message] == [
        f"draftcritic cannot record turns in {tmp_path}: IsADirectoryError"
    ]


def test_arguments_that_json_cannot_hold_are_recorded_as_text() -> None:
    turn = Turn("x", tool_calls=({"name": "t", "args": {"when": {1, 2}, 3: object}, "id": None, "result": 5},))
    row = row_of(Critic(Policy(), Mode.GATE, RecordingObserver()).review(turn, ScriptedCriticModel([])))
    assert json.loads(row.as_json())["messages"][1]["tool_calls"][0]["arguments"]["when"] == "{1, 2}"


def test_a_full_file_is_put_aside_and_the_oldest_go(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    file = RowFile(path, max_bytes=1000, max_files=3)
    for number in range(100):
        file.append(TurnRow(f"t{number}", "x" * 80).as_json())
    file.close()
    aside = sorted(tmp_path.glob("turns.*.jsonl"))
    assert len(aside) == 3
    assert all(one.stat().st_size <= 1000 and stat.S_IMODE(one.stat().st_mode) == 0o600 for one in aside)
    kept = [row.turn_id for row in read_turns([*aside, path])]
    assert kept == [f"t{number}" for number in range(100 - len(kept), 100)]


def test_an_old_file_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "turns.jsonl"
    file = RowFile(path, max_hours=1)
    file.append("{}")
    now = __import__("time").time()
    monkeypatch.setattr("draftcritic.record._row_file.time.time", lambda: now + 4000)
    file.append("{}")
    file.close()
    assert len(list(tmp_path.glob("turns.*.jsonl"))) == 1
    assert path.read_text() == "{}\n"


def test_the_age_of_a_file_survives_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(TurnRow("t1", "x", time=1000.0).as_json() + "\n")
    file = RowFile(path)
    file.append(TurnRow("t2", "x").as_json())
    file.close()
    assert [row.turn_id for row in read_turns([path])] == ["t2"]


def _append_many(path: Path, name: str) -> None:
    file = RowFile(path, max_bytes=20_000, max_files=1000)
    for number in range(300):
        file.append(TurnRow(f"{name}-{number}", "x" * 100).as_json())


def test_several_processes_write_one_file_and_no_row_is_lost_or_torn(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    path = tmp_path / "turns.jsonl"
    children = [context.Process(target=_append_many, args=(path, name)) for name in "ab"]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    lines = [line for file in tmp_path.glob("turns*.jsonl") for line in file.read_text().splitlines()]
    assert {json.loads(line)["turn_id"] for line in lines} == {
        f"{name}-{number}" for name in "ab" for number in range(300)
    }
    assert len(lines) == 600


def test_a_killed_process_has_lost_no_row(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    code = (
        "import sys; from pathlib import Path; from draftcritic.record import RowFile\n"
        "file = RowFile(Path(sys.argv[1]), max_bytes=5000); n = 0\n"
        "while True:\n"
        '    file.append(\'{"turn_id": "t%d", "draft": "x"}\' % n); n += 1; print(n, flush=True)\n'
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        said = 0
        for line in child.stdout:
            said = int(line)
            if said >= 300:
                break
        os.kill(child.pid, signal.SIGKILL)
        said = max([said, *(int(line) for line in child.stdout if line.endswith("\n"))])
    rows = {row.turn_id for row in read_turns([*sorted(tmp_path.glob("turns.*.jsonl")), path])}
    assert f"t{said - 1}" in rows
    file = RowFile(path)
    file.append('{"turn_id": "after", "draft": "x"}')
    file.close()
    assert path.read_text().endswith('\n{"turn_id": "after", "draft": "x"}\n')


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    path = tmp_path / "turns.jsonl"
    file = RowFile(path, max_bytes=300)
    for number in range(6):
        user, conversation = f"C-{number % 2}", f"conv-{number}"
        file.append(
            TurnRow(f"t{number}", "Draft.", time=1000.0 + number, user_id=user, conversation_id=conversation).as_json()
        )
    file.close()
    labels = LabelFile(tmp_path / "labels.jsonl")
    for number in range(6):
        labels.add(Label(f"t{number}", "ann", "approve", 2e9))
    labels.close()
    return path, tmp_path / "labels.jsonl"


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        (Choice(users=frozenset({"C-1"})), {"t0", "t2", "t4"}),
        (Choice(conversations=frozenset({"conv-5"})), {"t0", "t1", "t2", "t3", "t4"}),
        (Choice(before=1003.0), {"t3", "t4", "t5"}),
        (Choice(turns=frozenset({"t0"}), users=frozenset({"C-1"})), {"t2", "t4"}),
    ],
)
def test_purge_removes_rows_and_their_labels_from_all_files(
    files: tuple[Path, Path], choice: Choice, left: set[str]
) -> None:
    found = purge(files, choice)
    rows = {row.turn_id for row in read_turns(sorted(files[0].parent.glob("turns*.jsonl")))}
    assert rows == left
    assert {turn_id for turn_id, _ in read_labels([files[1]]).labels} == left
    assert sum(found.rows.values()) == 2 * (6 - len(left))
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in found.rows)
    assert not list(files[0].parent.glob("*.part"))


def test_purge_leaves_every_other_byte_and_says_what_it_cannot_read(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    other = b'{"turn_id":  "t2",   "draft": "odd  spaces"}\nno json\n'
    path.write_bytes(b'{"turn_id": "t1", "draft": "x", "user_id": "C-1"}\n' + other)
    assert purge([path], Choice(users=frozenset({"C-1"})), dry_run=True).rows == {path: 1}
    assert path.stat().st_size > len(other)
    found = purge([path], Choice(users=frozenset({"C-1"})))
    assert path.read_bytes() == other
    assert found.unreadable == {path: 1}


def test_a_recorder_goes_on_in_the_purged_file(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    file = RowFile(path)
    for number in range(3):
        file.append(TurnRow(f"t{number}", "x", user_id=f"C-{number}").as_json())
    purge([path], Choice(users=frozenset({"C-1"})))
    file.append(TurnRow("t3", "x").as_json())
    file.close()
    assert [row.turn_id for row in read_turns([path])] == ["t0", "t2", "t3"]


def test_the_command_removes_by_user_and_age_and_rejects_what_says_nothing(files: tuple[Path, Path]) -> None:
    done = run("purge", *map(str, files), "--user", "C-1", "--older-than", "30000d", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{files[0]}: " in done.stdout
    assert "would be removed" in done.stdout
    for options, message in (
        ([], "say what to remove"),
        (["--older-than", "soon"], "--older-than is 'soon'; allowed is a number with h, d or w"),
    ):
        wrong = run("purge", str(files[0]), *options)
        assert (wrong.returncode, wrong.stdout) == (2, "")
        assert message in wrong.stderr
