"""Files that are damaged, mixed or in other encodings: nothing lost, nothing counted twice, a clear message."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from draftcritic.turns import ReadError, ReadReport, TurnRow, _text_lines, read_turns


def row(number: int, draft: str = "Hello.") -> dict[str, Any]:
    return {"turn_id": f"t{number}", "draft": draft}


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in rows)


def read(*paths: Path) -> tuple[list[TurnRow], ReadReport]:
    report = ReadReport()
    return list(read_turns(paths, report)), report


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_every_unicode_encoding_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_bytes(lines(row(1, "Grüße, 18,50 €."), row(2)).encode(encoding))
    rows, report = read(path)
    assert [each.draft for each in rows] == ["Grüße, 18,50 €.", "Hello."]
    assert report.problems == []


def test_a_line_that_is_not_utf_8_is_read_and_reported(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_bytes(lines(row(1)).encode() + lines(row(2, "Grüße")).encode("latin-1") + lines(row(3)).encode())
    rows, report = read(path)
    assert [each.draft for each in rows] == ["Hello.", "Grüße", "Hello."]
    assert report.problems == [f"{path}, line 2: is not UTF-8; read as windows-1252"]


def test_a_truncated_last_line_loses_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(lines(row(1), row(2)) + '{"turn_id": "t3", "dra')
    rows, report = read(path)
    assert [each.turn_id for each in rows] == ["t1", "t2"]
    assert report.problem_count == 1
    assert report.problems[0].startswith(f"{path}, line 3: is no JSON")


def test_a_truncated_only_line_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text('{"turn_id": "t3", "dra')
    rows, report = read(path)
    assert rows == []
    assert report.problem_count == 1


def test_a_truncated_gzip_file_gives_what_it_has(tmp_path: Path) -> None:
    packed = gzip.compress(lines(*(row(number, f"Draft {number} {number**7}.") for number in range(2000))).encode())
    path = tmp_path / "turns.jsonl.gz"
    path.write_bytes(packed[: len(packed) // 2])
    rows, report = read(path)
    assert 0 < len(rows) < 2000
    assert "cut off or damaged" in report.problems[-1]


def test_a_truncated_document_gives_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "turns.json"
    text = json.dumps([row(number) for number in range(50)], indent=2)
    path.write_text(text[: len(text) * 3 // 4])
    rows, report = read(path)
    assert 30 < len(rows) < 50
    assert report.problem_count == 1


def test_a_truncated_first_line_loses_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text('{"turn_id": "t0", "dra\n' + lines(row(1), row(2)))
    rows, report = read(path)
    assert [each.turn_id for each in rows] == ["t1", "t2"]
    assert (report.problem_count, report.problems[0].startswith(f"{path}, line 1: is no JSON")) == (1, True)


def test_documents_one_after_the_other_are_all_read(tmp_path: Path) -> None:
    path = tmp_path / "turns.json"
    whole = [json.dumps([row(number)], indent=2) for number in range(3)]
    path.write_text("\n".join(whole) + "\n7\n")
    rows, report = read(path)
    assert [each.turn_id for each in rows] == ["t0", "t1", "t2"]
    assert report.problems == [
        f"{path}, document 4: the document is cut off or is no JSON: '7' is there, and no object"
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.setattr(_text_lines, "LONGEST_LINE", 1001)
    path = tmp_path / "turns.jsonl"
    path.write_bytes((lines(row(1), row(2, "€" * 5000), row(3)) + "z" * 5000).encode(encoding))
    rows, report = read(path)
    assert [each.turn_id for each in rows] == ["t1", "t3"]
    assert [problem.partition(":")[0] for problem in report.problems] == [f"{path}, line 2", f"{path}, line 4"]
    assert "is longer than" in report.problems[0]


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_document_in_one_line_that_is_too_long_is_read_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str, wrapped: bool
) -> None:
    monkeypatch.setattr(_text_lines, "LONGEST_LINE", 1001)
    monkeypatch.setattr(_text_lines, "_CHUNK", 501)
    path = tmp_path / "turns.json"
    many = [row(number, f"{number} €" + "ü" * 100) for number in range(50)]
    value = {"rows": many} if wrapped else many
    path.write_bytes((json.dumps(value, ensure_ascii=False) + "\n" + lines(row(99))).encode(encoding))
    rows, report = read(path)
    assert report.problems == []
    assert [each.turn_id for each in rows] == [*(f"t{number}" for number in range(50)), "t99"]
    assert [each.draft for each in rows[:-1]] == [each["draft"] for each in many]


STREAM = """
import gzip, json, resource, sys
from pathlib import Path
from draftcritic.turns import read_turns
path, size, count, limit = Path(sys.argv[1]), *map(int, sys.argv[2:])
with gzip.open(path, "wt", compresslevel=1) as file:
    for number in range(count):
        file.write(json.dumps({"turn_id": f"t{number}", "draft": "x" * size}) + chr(10))
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + limit, -1))
print(sum(len(row.draft) for row in read_turns([path])) == count * size)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are Linux's")
def test_a_file_larger_than_the_memory_of_the_process_is_read(tmp_path: Path) -> None:
    size, limit = 1 << 18, 48 << 20
    numbers = map(str, (size, 2 * limit // size, limit))
    done = subprocess.run(
        [sys.executable, "-c", STREAM, str(tmp_path / "turns.jsonl.gz"), *numbers],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_pipe_is_read(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = pack(lines(*(row(number) for number in range(5000))).encode())
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(path.write_bytes, content)
        rows, report = read(path)
        writing.result()
    assert (len(rows), report.problems) == (5000, [])


def test_formats_may_be_mixed_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    run = {
        "id": "r",
        "run_type": "llm",
        "inputs": {"messages": []},
        "outputs": {"role": "assistant", "content": "Yes."},
    }
    path.write_text(lines(row(1), run, {"nothing": "known"}, {"draft": "Plain.", "id": "e"}) + "[1, 2]\n7\n")
    rows, report = read(path)
    assert [each.draft for each in rows] == ["Hello.", "Yes.", "Plain."]
    assert report.formats == {"draftcritic": 1, "LangSmith": 1, "draftcritic.evaluate": 1}
    assert [problem.partition(": ")[2] for problem in report.problems] == [
        "is of no known kind",
        "is no JSON object",
        "is no JSON object",
        "is no JSON object",
    ]


def test_the_same_row_twice_counts_once_and_another_row_with_its_id_is_kept(tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text(lines(row(1), row(1), row(1, "Another."), row(1, "A third.")))
    second.write_text(lines(row(1), row(1, "Another."), row(2)))
    rows, report = read(first, second)
    assert [(each.turn_id, each.draft) for each in rows] == [
        ("t1", "Hello."),
        ("t1#2", "Another."),
        ("t1#3", "A third."),
        ("t2", "Hello."),
    ]
    assert report.duplicates == 3


def test_rows_without_content_are_kept_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(lines({"turn_id": "t1", "missing": ["content"]}, row(2)))
    rows, report = read(path)
    assert len(rows) == 2
    assert report.missing == {"content": 1}
    assert "not whole: 1 lack content" in "\n".join(report.lines())


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"turn_id": 5, "draft": "x"}, "turn_id is a number; allowed is text"),
        ({"turn_id": "t", "draft": ["x"]}, "draft is a list; allowed is text"),
        ({"turn_id": "t", "messages": {}}, "messages is an object; allowed is a list"),
        ({"turn_id": "t", "messages": [{"role": "robot"}]}, "messages[0].role is 'robot'"),
        ({"turn_id": "t", "sources": [1]}, "sources has an item that is no text"),
        ({"turn_id": "t", "time": "noon"}, "time is a text; allowed is a number"),
        ({"turn_id": ""}, "turn_id is missing"),
    ],
)
def test_a_row_with_a_wrong_field_is_reported_by_field(tmp_path: Path, bad: dict[str, Any], reason: str) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(lines(row(1), bad, row(2)))
    rows, report = read(path)
    assert len(rows) == 2
    assert report.problems[0].startswith(f"{path}, line 2: {reason}")


def test_only_the_first_problems_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(lines(row(1)) + "no json\n" * 50)
    _, report = read(path)
    assert (len(report.problems), report.problem_count) == (20, 50)
    assert list(report.lines())[-1] == "and 30 more problems"


@pytest.mark.parametrize("content", [b"\0\1\2binary\0" * 500, b"\x28\xb5\x2f\xfdrest"])
def test_a_file_that_is_no_text_is_rejected(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "turns.bin"
    path.write_bytes(content)
    with pytest.raises(ReadError, match=str(path)):
        read(path)


def test_a_path_that_does_not_exist_and_an_empty_folder_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="there is no such file or folder"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(ReadError, match="has no file"):
        read(tmp_path)


@pytest.mark.parametrize("content", ["", "\n\n", codecs.BOM_UTF8.decode()])
def test_an_empty_file_has_no_turns_and_no_problems(tmp_path: Path, content: str) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(content)
    rows, report = read(path)
    assert (rows, report.problems) == ([], [])


def test_deep_nesting_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(lines(row(1)) + "[" * 100_000 + "\n" + lines(row(2)))
    rows, report = read(path)
    assert [each.turn_id for each in rows] == ["t1", "t2"]
    assert report.problem_count == 1


@pytest.mark.parametrize("as_document", [False, True])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, as_document: bool) -> None:
    def peak(count: int) -> int:
        path = tmp_path / f"{count}.json"
        with path.open("w") as file:
            file.write("[\n" if as_document else "")
            for number in range(count):
                ends = (",\n" if number < count - 1 else "\n]") if as_document else "\n"
                file.write(json.dumps(row(number, "x" * 1000)) + ends)
        tracemalloc.start()
        assert sum(1 for _ in read_turns([path])) == count
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    small, large = peak(1500), peak(4500)
    assert large < 1.5 * small + 500_000


def test_memory_does_not_grow_with_a_file_of_spans(tmp_path: Path) -> None:
    def span(number: int) -> dict[str, Any]:
        messages = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "x" * 20_000}]}])
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.output.messages": messages}
        pairs = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
        return {"traceId": f"{number:032x}", "spanId": f"{number:016x}", "name": "chat", "attributes": pairs}

    path = tmp_path / "spans.jsonl"
    with path.open("w") as file:
        for number in range(1, 4501):
            file.write(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span(number)]}]}]}) + "\n")
    tracemalloc.start()
    assert sum(1 for _ in read_turns([path])) == 4500
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 85 << 20 < path.stat().st_size
