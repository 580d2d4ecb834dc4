"""Files of the tools themselves, and of their schemas where a tool does not run here."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from turns import instrumented_agent as agent
from turns.test_instrumentations import assert_whole

from draftcritic.turns import ReadError, ReadReport, TurnRow, read_dataframe, read_turns

FILES = Path(__file__).with_name("files")


def read(path: Path) -> tuple[list[TurnRow], ReadReport]:
    report = ReadReport()
    return list(read_turns([path], report)), report


def written(folder: Path, *values: Any, name: str = "turns.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def test_phoenix_parquet_is_told_by_its_first_bytes() -> None:
    pytest.importorskip("pyarrow")
    (row,), report = read(FILES / "arize-phoenix-20.26.1.parquet")
    assert report.formats == {"Phoenix": 1}
    assert_whole(row)
    assert row.conversation_id == "ben-1"


def test_phoenix_dataframe_gives_the_same_row_as_its_file() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("pandas")
    frame = parquet.read_table(FILES / "arize-phoenix-20.26.1.parquet").to_pandas()
    (row,), _ = read(FILES / "arize-phoenix-20.26.1.parquet")
    (same,) = read_dataframe(frame)
    assert same == row


def test_parquet_without_spans_is_rejected(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"draft": ["Hello."]}), tmp_path / "other.parquet")
    with pytest.raises(ReadError, match=r"has no column context\.span_id"):
        read(tmp_path / "other.parquet")
    (tmp_path / "cut.parquet").write_bytes((FILES / "arize-phoenix-20.26.1.parquet").read_bytes()[:200])
    with pytest.raises(ReadError, match="cannot be read as parquet"):
        read(tmp_path / "cut.parquet")


def test_langfuse_observation_of_its_api() -> None:
    (row,), report = read(FILES / "langfuse-5.0.4.jsonl")
    assert report.formats == {"Langfuse": 1}
    assert_whole(row)
    assert (row.conversation_id, row.user_id) == ("ben-1", "C-102")


def test_langfuse_export_of_traces_with_their_observations(tmp_path: Path) -> None:
    observation = json.loads((FILES / "langfuse-5.0.4.jsonl").read_text())
    observation.update(input=json.loads(observation["input"]), output=json.loads(observation["output"]))
    trace = {
        "id": observation.pop("traceId"),
        "userId": "C-9",
        "sessionId": "s",
        "observations": [observation, {"type": "SPAN"}],
    }
    del observation["userId"], observation["sessionId"]
    path = tmp_path / "traces.json"
    path.write_text(json.dumps([trace], indent=2), encoding="utf-8")
    (row,), report = read(path)
    assert not report.problems
    assert_whole(row)
    assert (row.trace_id, row.conversation_id, row.user_id) == (trace["id"], "s", "C-9")


def test_langfuse_export_of_a_table_has_names_with_underscores(tmp_path: Path) -> None:
    observation = json.loads((FILES / "langfuse-5.0.4.jsonl").read_text())
    table = {
        "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name): value
        for name, value in observation.items()
    }
    (row,), _ = read(written(tmp_path, table))
    assert_whole(row)


def test_spans_of_the_langfuse_sdk_in_otlp(tmp_path: Path) -> None:
    span = json.loads((FILES / "langfuse-span-5.0.4.json").read_text())
    attributes = [{"key": key, "value": {"stringValue": str(value)}} for key, value in span["attributes"].items()]
    sent = {
        "traceId": span["context"]["trace_id"].removeprefix("0x"),
        "spanId": span["context"]["span_id"].removeprefix("0x"),
        "name": span["name"],
        "startTimeUnixNano": "1796077040957665000",
        "attributes": attributes,
    }
    (row,), report = read(written(tmp_path, {"resourceSpans": [{"scopeSpans": [{"spans": [sent]}]}]}))
    assert report.formats == {"OTLP": 1}
    assert_whole(row)


def test_inspect_log_with_a_tool_that_failed() -> None:
    (row,), report = read(FILES / "inspect-ai-0.3.285.json")
    assert report.formats == {"Inspect": 1}
    assert row.draft == agent.DRAFT
    assert row.messages[-1].status == "error"
    assert row.messages[-1].content == agent.RESULT
    assert row.draft_model == "mockllm/model"


def test_inspect_texts_that_the_log_keeps_apart_are_put_back(tmp_path: Path) -> None:
    log = json.loads((FILES / "inspect-ai-0.3.285.json").read_text())
    (sample,) = log["samples"]
    sample["messages"][-1]["content"] = "attachment://f00d"
    sample["attachments"] = {"f00d": "A very long answer."}
    (row,), _ = read(written(tmp_path, log))
    assert row.draft == "A very long answer."


def test_inspect_archive_is_rejected_with_the_command_that_converts_it(tmp_path: Path) -> None:
    (tmp_path / "log.eval").write_bytes(b"PK\x03\x04rest")
    with pytest.raises(ReadError, match="inspect log convert"):
        read(tmp_path / "log.eval")


@pytest.fixture(scope="module")
def sent_run() -> dict[str, Any]:
    """What LangSmith's client sends for a model call, as its server puts both requests together."""
    pytest.importorskip("langsmith")
    from langchain_core.tracers import LangChainTracer
    from langchain_core.tracers.langchain import wait_for_all_tracers
    from langsmith import Client

    run: dict[str, Any] = {}

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            run.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(202)
            self.end_headers()

        do_PATCH = do_POST

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        tracer = LangChainTracer(client=Client(api_key="unused", api_url=url, auto_batch_tracing=False))
        metadata = {"thread_id": "ben-1", "user_id": "C-102", "ls_model_name": "fake-1"}
        agent.call_model(callbacks=[tracer], metadata=metadata)
        wait_for_all_tracers()
        server.shutdown()
    return run


def test_langsmith_run_as_its_client_sends_it(tmp_path: Path, sent_run: dict[str, Any]) -> None:
    (row,), report = read(written(tmp_path, sent_run))
    assert report.formats == {"LangSmith": 1}
    assert_whole_of_a_run(row)
    assert (row.conversation_id, row.user_id, row.draft_model) == ("ben-1", "C-102", "fake-1")
    assert row.time is not None


def test_langsmith_run_as_its_client_returns_it(tmp_path: Path, sent_run: dict[str, Any]) -> None:
    from langsmith.schemas import Run

    path = tmp_path / "runs.jsonl"
    path.write_text(Run(**sent_run).model_dump_json() + "\n", encoding="utf-8")
    assert read(path)[0] == read(written(tmp_path, sent_run))[0]


def test_langsmith_bulk_export_has_texts_for_what_is_nested(tmp_path: Path, sent_run: dict[str, Any]) -> None:
    texts = {name: json.dumps(sent_run[name]) for name in ("inputs", "outputs", "extra")}
    assert read(written(tmp_path, {**sent_run, **texts}, name="a.jsonl"))[0] == read(written(tmp_path, sent_run))[0]


def assert_whole_of_a_run(row: TurnRow) -> None:
    assert (row.draft, row.system, row.missing) == (agent.DRAFT, agent.SYSTEM, ())
    assert [message.role for message in row.messages] == ["user", "assistant", "tool"]
    assert row.messages[1].tool_calls[0].arguments == {"order_id": "A-4471"}
    assert row.messages[2].status == "error"


def test_langsmith_runs_of_other_kinds_are_passed_over_and_those_inside_them_are_read(tmp_path: Path) -> None:
    answer = {"role": "assistant", "content": "Hello."}
    run = {
        "id": "r1",
        "run_type": "llm",
        "inputs": {"messages": [{"role": "user", "content": "Hi"}]},
        "outputs": {"choices": [{"message": answer}]},
    }
    chain = {
        "id": "c1",
        "run_type": "chain",
        "inputs": {},
        "outputs": {},
        "child_runs": [run, {"run_type": "tool", "inputs": {}}],
    }
    (row,), report = read(written(tmp_path, chain))
    assert (row.turn_id, row.draft, report.problem_count) == ("r1", "Hello.", 0)


JAEGER = {
    "data": [
        {
            "traceID": "a" * 32,
            "spans": [
                {
                    "traceID": "a" * 32,
                    "spanID": "b" * 16,
                    "operationName": "chat gpt-4o-mini",
                    "startTime": 1796077040957665,
                    "duration": 1000,
                    "references": [],
                    "tags": [
                        {"key": "gen_ai.operation.name", "type": "string", "value": "chat"},
                        {
                            "key": "gen_ai.input.messages",
                            "type": "string",
                            "value": '[{"role":"user","parts":[{"type":"text","content":"Hi"}]}]',
                        },
                        {
                            "key": "gen_ai.output.messages",
                            "type": "string",
                            "value": '[{"role":"assistant","parts":[{"type":"text","content":"Hello."}]}]',
                        },
                    ],
                },
                {
                    "traceID": "a" * 32,
                    "spanID": "c" * 16,
                    "operationName": "draftcritic.review",
                    "startTime": 1796077041957665,
                    "duration": 20000,
                    "references": [{"refType": "CHILD_OF", "traceID": "a" * 32, "spanID": "b" * 16}],
                    "tags": [
                        {"key": "draftcritic.verdict", "type": "string", "value": "approve"},
                        {"key": "draftcritic.gate.reason", "type": "string", "value": "trivial_ack"},
                        {"key": "draftcritic.fabrication.kinds", "type": "string", "value": '["price"]'},
                    ],
                },
            ],
            "processes": {},
        }
    ],
    "total": 0,
    "errors": None,
}


@pytest.mark.parametrize("indent", [None, 4])
def test_jaeger_answer_of_its_api(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(JAEGER, indent=indent), encoding="utf-8")
    (row,), report = read(path)
    assert report.formats == {"Jaeger": 1}
    assert (row.draft, row.messages[0].content, row.missing) == ("Hello.", "Hi", ())
    assert row.reviewed is not None
    assert (row.reviewed.verdict, row.reviewed.reason, row.reviewed.duration_s) == ("approve", "trivial_ack", 0.02)
    assert [finding.kind for finding in row.reviewed.findings] == ["price"]


def test_tau2_tools_that_the_user_calls_are_not_the_agents() -> None:
    rows, report = read(FILES / "tau2-1.0.1.json")
    assert (report.problems, report.formats) == ([], {"tau2": 1})
    assert [row.draft for row in rows] == ["Hi! How can I help?", "Line L-7 is suspended."]
    last = rows[-1]
    assert [message.role for message in last.messages] == ["assistant", "user", "user", "assistant", "tool", "tool"]
    assert [(message.content, message.status) for message in last.messages[-2:]] == [
        ("L-7: suspended", "ok"),
        ("no such bill", "error"),
    ]
    assert "roaming is on" not in last.as_json()
    assert "toggle_roaming" not in last.as_json()
    assert (last.system, last.draft_model, last.missing) == ("Be kind.", "house-model", ())


def test_tau2_simulations_that_are_files_of_their_own_or_one_line(tmp_path: Path) -> None:
    whole = json.loads((FILES / "tau2-1.0.1.json").read_text())
    expected, _ = read(FILES / "tau2-1.0.1.json")
    assert read(written(tmp_path, whole, name="line.json"))[0] == expected
    alone = {**whole["simulations"][0], "policy": "Be kind."}
    rows, _ = read(written(tmp_path, alone, name="sim.json"))
    assert [(row.turn_id, row.system, row.messages) for row in rows] == [
        (row.turn_id, row.system, row.messages) for row in expected
    ]


def test_rows_of_evaluate_with_twins(tmp_path: Path) -> None:
    shared = {"system": "Shop.", "history": [{"role": "user", "content": "Hi"}], "user_message": "Where is it?"}
    calls = [{"name": "look_up", "args": {"id": 1}, "result": "shipped"}]
    pair = {
        "id": "p1",
        "clean_draft": "A-1 is shipped.",
        "fabricated_draft": "A-9 is shipped.",
        "fake_token": "A-9",
        "tool_calls": calls,
        **shared,
    }
    plain = {"draft": "Thanks!", "label": "no_claim", "context": "Some article."}
    rows, report = read(written(tmp_path, pair, plain))
    assert report.formats == {"draftcritic.evaluate": 2}
    assert [(row.turn_id, row.draft) for row in rows[:2]] == [
        ("p1-clean", "A-1 is shipped."),
        ("p1-fabricated", "A-9 is shipped."),
    ]
    assert [message.role for message in rows[0].messages] == ["user", "user", "assistant", "tool"]
    assert rows[2].sources == ("Some article.",)
    assert rows[2].turn_id
