"""`benchmarks/replay_turns.py` over turns that the test itself writes."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest


def row(number: int, draft: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"turn-{number}",
        "source": "made up",
        "system": "You serve a library.",
        "history": [
            {"role": "user", "content": "Is the reading room open?"},
            {"role": "assistant", "content": None, "tool_calls": [{"name": "hours"}]},
            {"role": "tool", "content": "open until six", "tool_call_id": "1"},
        ],
        "user_message": "And on Sundays?",
        "tool_calls_this_turn": [],
        "draft": draft,
        **fields,
    }


CALL = {"name": "renew_loan", "args": {"loan": "L-17"}, "result": "renewed"}
ROWS = [
    row(1, "You're welcome!"),
    row(2, "The loan is renewed.", tool_calls_this_turn=[CALL]),
    row(3, "It opens at 10:30 on Sundays and closes at 16:00."),
    row(4, "Which of the branches do you mean?"),
]


def written(path: Path, rows: list[Any]) -> Path:
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def test_decisions_and_reasons_of_both_policies_are_counted(run_script: Any, tmp_path: Path) -> None:
    file = written(tmp_path / "turns.jsonl", ROWS)
    done = run_script("replay_turns.py", str(file), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert (result["path"], result["drafts"]) == (str(file), 4)
    assert result["first_drafts_ms"] > 0
    legacy, selective = result["policies"]["legacy"], result["policies"]["selective"]
    assert legacy["decisions"] == {"fired": 4}
    assert legacy["reasons"] == {"low_confidence": 4}
    assert selective["decisions"] == {"fired": 3, "skipped": 1}
    assert selective["reasons"]["trivial_ack"] == 1
    assert selective["reasons"]["tool_action"] == 1
    assert sum(selective["reasons"].values()) == 4
    for policy in (legacy, selective):
        assert (policy["exceptions"], policy["exception_names"]) == (0, {})
        assert 0 < policy["ms"]["median"] <= policy["ms"]["p99"] <= policy["ms"]["max"]
        assert policy["ms"]["per_kb"] > 0
        assert policy["slowest"] in {line["id"] for line in ROWS}


def test_the_table_of_a_compressed_file_in_a_folder(run_script: Any, tmp_path: Path) -> None:
    written(tmp_path / "agent_turns.jsonl.gz", ROWS)
    done = run_script("replay_turns.py", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    head, decisions, reasons, findings, times = done.stdout.split("\n\n")
    assert head.startswith("4 drafts, ")
    assert head.splitlines()[0].endswith("agent_turns.jsonl.gz")
    assert [line.split() for line in decisions.splitlines()] == [
        ["gate", "decision", "legacy", "selective"],
        ["-" * 13, "-" * 11, "-" * 10],
        ["fired", "4", "(100.0", "%)", "3", "(75.0", "%)"],
        ["skipped", "0", "(0.0", "%)", "1", "(25.0", "%)"],
    ]
    assert "trivial_ack" in reasons
    assert findings.startswith("fabrication finding")
    assert times.splitlines()[2].split() == ["drafts", "with", "an", "exception", "0", "0"]


def test_the_ending_of_a_file_may_be_left_out(benchmarks_path: None, tmp_path: Path) -> None:
    from _recorded import read

    file = written(tmp_path / "turns.jsonl.gz", ROWS)
    found, recorded = read(tmp_path / "turns")
    assert found == file
    assert len(recorded) == 4


def test_a_row_becomes_a_turn(benchmarks_path: None, tmp_path: Path) -> None:
    from _recorded import read

    _, (recorded,) = read(written(tmp_path / "turns.jsonl", [ROWS[1]]))
    turn = recorded.turn
    assert (turn.run_id, turn.draft, turn.user_message) == ("turn-2", "The loan is renewed.", "And on Sundays?")
    assert turn.context == "You serve a library.\nIs the reading room open?\nopen until six"
    assert [dict(call) for call in turn.tool_calls] == [{**CALL, "id": "0"}]
    assert 0.1 < recorded.kilobytes < 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "no JSON: "),
        ("[1, 2]", "a JSON object is expected, not a list"),
        ({"id": "turn-1"}, "the field 'tool_calls_this_turn' is missing"),
        (row(1, "") | {"draft": None}, "the field 'draft' must be a text, not null"),
        (row(1, "") | {"history": "none"}, "the field 'history' must be a list, not a text"),
        (row(1, "", history=[{"content": 5}]), "the field 'history', entry 0, must be an object whose content is"),
        (row(1, "", tool_calls_this_turn=[CALL, {}]), "the field 'tool_calls_this_turn', entry 1, must be an object"),
    ],
)
def test_a_malformed_row_is_named_and_nothing_is_run(run_script: Any, tmp_path: Path, line: Any, message: str) -> None:
    file = written(tmp_path / "turns.jsonl", [ROWS[0], "", line, ROWS[1]])
    done = run_script("replay_turns.py", str(file))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{file}:3: {message}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.jsonl", None, "no such file; looked for"),
        ("empty.jsonl", b"\n", "contains no turn"),
        ("cut.jsonl.gz", gzip.compress(b'{"id": "turn-1"}' * 9, mtime=0)[:30], "cannot be read"),
        ("plain.jsonl.gz", b'{"id": "turn-1"}', "cannot be read"),
        ("latin.jsonl", b'{"id": "caf\xe9"}', "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(
    benchmarks_path: None, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    from _recorded import RecordError, read

    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(RecordError, match=message) as refused:
        read(tmp_path / name)
    assert name in str(refused.value)


def test_only_the_first_malformed_rows_are_shown(benchmarks_path: None, tmp_path: Path) -> None:
    from _recorded import RecordError, read

    with pytest.raises(RecordError) as refused:
        read(written(tmp_path / "turns.jsonl", ["[]"] * 13))
    lines = str(refused.value).splitlines()
    assert len(lines) == 12
    assert lines[-1] == "and 3 more rows like that"


def failing_gate(_: object) -> bool:
    raise LookupError("no gate today")


@pytest.mark.parametrize(
    ("fields", "name"),
    [({"selective_gate": True, "gate": failing_gate}, "LookupError"), ({"confidence_threshold": "high"}, "TypeError")],
)
def test_what_a_boundary_swallowed_counts_as_an_exception(
    benchmarks_path: None, tmp_path: Path, fields: dict[str, Any], name: str
) -> None:
    from _recorded import read
    from replay_turns import as_json, replay, report

    from draftcritic.core import Policy

    _, recorded = read(written(tmp_path / "turns.jsonl", ROWS))
    found = as_json(replay(recorded, Policy(**fields)), recorded)
    assert found["exceptions"] == 4
    assert name in " ".join(found["exception_names"])
    assert found["exception_drafts"] == ["turn-1", "turn-2", "turn-3", "turn-4"]
    shown = report(
        {"path": "turns.jsonl", "drafts": 4, "kilobytes": 1.0, "first_drafts_ms": 1.0, "policies": {"this": found}}
    )
    assert "this: exceptions " in shown
