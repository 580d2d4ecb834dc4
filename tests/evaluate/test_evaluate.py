from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from draftcritic.evaluate import main, wilson

CALLS = [{"name": "get_order", "args": {}, "result": '{"order": "XK42PP", "total": 118.4}'}]


def pair(fake, kind, **more):
    clean = "Your order XK42PP costs $118.40."
    token = {"id": "XK42PP", "price": "$118.40"}[kind]
    return {
        "id": f"pair-{fake}",
        "clean_draft": clean,
        "fabricated_draft": clean.replace(token, fake),
        "fake_token": fake,
        "token_type": kind,
        "tool_calls_this_turn": CALLS,
        "user_message": "",
        "context": "",
        **more,
    }


ROWS = [
    pair("QQ17ZZ", "id"),
    pair("$118.4", "price"),  # the same value: nothing is made up, so nothing is found
    {"id": "honest", "draft": "Your order XK42PP is ready.", "tool_calls": CALLS, "source": "shop"},
    {"id": "wrong", "draft": "It costs $77.", "tool_calls": CALLS, "source": "shop"},
    {"id": "labelled", "draft": "It costs $78.", "made_up": ["$78"], "tool_calls": CALLS, "source": "shop"},
]


def write(path, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    return code, capsys.readouterr()


def shares(output):
    """Name of a row -> hits and cases; of the first table that has it."""
    rows = [row for table in json.loads(output) for row in table["rows"]]
    return {row["name"]: (row["hits"], row["cases"]) for row in reversed(rows)}


@pytest.mark.parametrize("name", ["drafts.jsonl", "drafts.jsonl.gz"])
def test_the_tables(tmp_path, capsys, name):
    code, printed = run(capsys, write(tmp_path / name, ROWS), "--json", "--table", "tokens")
    assert code == 0
    got = shares(printed.out)
    assert (got["id"], got["price"], got["labelled"]) == ((1, 1), (0, 1), (1, 1))
    assert got["clean twins flagged"] == (0, 2)
    assert got["honest drafts flagged"] == (1, 2)
    assert got["confidence 0.90"] == (2, 3)
    assert got["reference"] == (1, 1)


def test_text_shows_intervals_and_the_worst_cases(tmp_path, capsys):
    _, printed = run(capsys, write(tmp_path / "drafts.jsonl", ROWS))
    lines = printed.out.splitlines()
    assert any(line.split()[:4] == ["id", "1", "1", "100.0%"] and "20.7 - 100.0%" in line for line in lines)
    assert any("missed price: pair-$118.4" in line for line in lines)
    assert any("honest drafts flagged: wrong: price '$77'" in line for line in lines)


def test_by_a_field(tmp_path, capsys):
    _, printed = run(capsys, write(tmp_path / "drafts.jsonl", ROWS[2:]), "--by", "source")
    assert "shop: drafts without a made-up token" in printed.out


def test_a_doubtful_twin_is_not_counted(tmp_path, capsys):
    file = write(tmp_path / "drafts.jsonl", [pair("QQ17ZZ", "id", strict_clean=False)])
    _, printed = run(capsys, file, "--json")
    assert "clean twins flagged" not in shares(printed.out)


@pytest.mark.parametrize(
    ("text", "reason"), [("{", "line 1: is no JSON"), ("[]", "line 1: is no JSON object"), ("{}", "no row is labelled")]
)
def test_what_cannot_be_read_is_told(tmp_path, capsys, text, reason):
    file = tmp_path / "drafts.jsonl"
    file.write_text(text + "\n")
    code, printed = run(capsys, file)
    assert code == 2
    assert reason in printed.err


def test_a_missing_path_and_an_empty_folder_are_told(tmp_path, capsys):
    assert "no such file" in run(capsys, tmp_path / "none.jsonl")[1].err
    assert "contains no file" in run(capsys, tmp_path)[1].err


def test_the_module_runs_as_a_command(tmp_path):
    file = write(tmp_path / "drafts.jsonl", ROWS)
    done = subprocess.run(
        [sys.executable, "-m", "draftcritic.evaluate", str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert file.exists()
    assert "made-up tokens found" in done.stdout


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (50, 100, 0.4038, 0.5962)],
)
def test_the_interval(hits, total, low, high):
    assert wilson(hits, total) == pytest.approx((low, high), abs=1e-4)


DATA = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.mark.skipif(not DATA.exists(), reason="the labelled drafts are not here")
def test_quality_on_real_drafts(capsys):
    # The rules were developed on these. Office drafts are measured, not pinned: most of their flags are doubts.
    developed = [DATA / f"{name}.jsonl.gz" for name in ("agent_turns", "fabricated_ids")]
    _, printed = run(capsys, *developed, "--json", "--table", "tokens")
    got = shares(printed.out)
    for name, least in (("all but names", 0.92), ("name", 0.6)):
        assert got[name][0] / got[name][1] >= least, (name, got[name])
    for name, most in (("clean twins flagged", 0.02), ("honest drafts flagged", 0.015)):
        assert got[name][0] / got[name][1] <= most, (name, got[name])


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_a_file_with_a_byte_order_mark_is_read(tmp_path, capsys, encoding, ending):
    text = "".join(json.dumps(row, ensure_ascii=False) + "\r\n" for row in ROWS)
    content = (b"\xff\xfe" if encoding == "utf-16-le" else b"") + text.encode(encoding)
    file = tmp_path / f"drafts{ending}"
    file.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    code, printed = run(capsys, file, "--json", "--table", "tokens")
    assert (code, printed.err) == (0, "")
    assert shares(printed.out)["clean twins flagged"] == (0, 2)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"draft": "It costs $78.", "verdict": "refuse"}, "the field 'verdict' is no label that is known here"),
        ({"draft": "It costs $78.", "hallucinated": True}, "the field 'hallucinated' is no label"),
        ({"draft": "It costs $78.", "expected_output": "x"}, "the field 'expected_output' is no label"),
        ({"draft": "I sent it.", "label": "wrong"}, "label 'wrong' is unknown"),
        ({"draft": "It costs $78.", "made_up": "$78"}, "made_up is no list of texts"),
        ({"draft": None}, "no draft with a label"),
        ({"resourceSpans": []}, "OpenTelemetry data among other rows"),
    ],
)
def test_a_row_with_an_unknown_label_is_reported_and_not_counted_as_honest(tmp_path, capsys, row, reason):
    code, printed = run(capsys, write(tmp_path / "drafts.jsonl", [*ROWS, row, row]), "--json", "--table", "tokens")
    assert code == 0
    assert f"2 rows are left out: {reason}" in printed.err
    assert shares(printed.out)["honest drafts flagged"] == (1, 2)
    assert run(capsys, write(tmp_path / "alone.jsonl", [row]))[0] == 2


TURN = {
    "turn_id": "t1",
    "draft": "Your order XK42PP costs $77.",
    "messages": [
        {"role": "user", "content": "Where is XK42PP?"},
        {"role": "assistant", "tool_calls": [{"name": "look", "id": "c"}]},
        {"role": "tool", "content": "XK42PP, $78", "tool_call_id": "c"},
    ],
}


def test_a_recorded_turn_rests_on_its_messages_and_is_not_taken_for_honest(tmp_path, capsys):
    code, printed = run(capsys, write(tmp_path / "turns.jsonl", [TURN, {"turn_id": "t2"}]), "--json")
    assert code == 0
    assert shares(printed.out) == {"with a finding": (1, 1), "with one of kind price": (1, 1)}
    assert "1 row is left out: a recorded turn without a draft" in printed.err


def test_a_recorded_turn_may_have_a_label(tmp_path, capsys):
    rows = [{**TURN, "made_up": ["$77"]}, {**TURN, "draft": "XK42PP costs $78.", "made_up": []}]
    _, printed = run(capsys, write(tmp_path / "turns.jsonl", rows), "--json")
    got = shares(printed.out)
    assert (got["labelled"], got["honest drafts flagged"]) == ((1, 1), (0, 1))
    assert "with a finding" not in got


def test_telemetry_is_read_as_turns(tmp_path, capsys):
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "Your refund has the number RF-99123-X."}]}]
    asked = [{"role": "user", "parts": [{"type": "text", "content": "How much?"}]}]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps(said),
    }
    pairs = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    span = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "chat", "attributes": pairs}
    export = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
    code, printed = run(capsys, write(tmp_path / "demo.jsonl", [export, {"resourceMetrics": []}]), "--json")
    assert (code, printed.err) == (0, "")
    assert shares(printed.out) == {"with a finding": (1, 1), "with one of kind reference": (1, 1)}


def test_a_turn_that_is_none_is_reported(tmp_path, capsys):
    code, printed = run(capsys, write(tmp_path / "turns.jsonl", [{"turn_id": 7}]))
    assert code == 2
    assert "line 1: turn_id is a number" in printed.err


def test_a_cut_gzip_file_is_reported(tmp_path, capsys):
    file = tmp_path / "drafts.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps(ROWS[2]).encode())[:-9])
    code, printed = run(capsys, file)
    assert code == 2
    assert "Traceback" not in printed.err


@pytest.mark.parametrize("arguments", [["--json"], []])
@pytest.mark.parametrize("rows", [ROWS, ROWS * 300])
def test_a_reader_that_leaves_early_is_no_error(tmp_path, arguments, rows):
    file = write(tmp_path / "drafts.jsonl", rows)
    command = [sys.executable, "-m", "draftcritic.evaluate", str(file), "--worst", "100000", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() in (0, 1)
