"""`draftcritic calibrate` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.test_cli import run
from support.labelled import labelled

from draftcritic.labels import LabelFile


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    runs, found, _ = labelled(1000, 120)
    (tmp_path / "runs.jsonl").write_text("".join(one.as_json() + "\n" for one in runs))
    file = LabelFile(tmp_path / "labels.jsonl")
    assert found.sample is not None
    file.start(found.sample)
    for label in found.labels.values():
        file.add(label)
    file.close()
    return str(tmp_path / "runs.jsonl"), str(tmp_path / "labels.jsonl")


def test_a_bound_that_is_shown_ends_with_0_and_one_that_is_not_with_3(files: tuple[str, str]) -> None:
    shown = run("calibrate", *files, "--false-refuse", "0.2")
    assert shown.returncode == 0
    assert shown.stdout.startswith("false refuse: at most 20 % of drafts is shown")
    assert shown.stderr == ""
    open_one = run("calibrate", *files, "--false-refuse", "0.2", "--miss", "0.001")
    assert open_one.returncode == 3
    assert "miss: at most 0.1 % of drafts is not shown" in open_one.stdout


def test_the_report_and_the_threshold_are_written(files: tuple[str, str], tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    report, config = tmp_path / "report.html", tmp_path / "draftcritic.toml"
    config.write_text('mode = "gate"\n')
    done = run(
        "calibrate", *files, "--compare", files[0], "--report", str(report), "--write", str(config), "--cost", "miss=10"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "<svg" in report.read_text(encoding="utf-8")
    assert report.stat().st_mode & 0o777 == 0o600
    assert config.read_text().startswith('mode = "gate"\nfabrication_refuse_threshold = ')


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--false-refuse", "5"], "--false-refuse is 5; allowed is a share between 0 and 1"),
        (["--cost", "misses=5"], "--cost has 'misses'; allowed are miss, false_refuse, false_revise"),
        (["--cost", "miss=x"], "--cost miss is 'x'; allowed is a number"),
    ],
)
def test_wrong_options_end_with_2(files: tuple[str, str], options: list[str], message: str) -> None:
    done = run("calibrate", *files, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_labels_of_other_drafts_are_an_error(files: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text('{"turn_id": "x", "label": "approve"}\n')
    done = run("calibrate", files[0], str(tmp_path / "other.jsonl"))
    assert done.returncode == 2
    assert "no label of" in done.stderr


def test_labels_in_another_form_are_reported_with_the_command_that_reads_them(
    files: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "labels.csv").write_text("turn_id,label\nt1,approve\n")
    done = run("calibrate", files[0], str(tmp_path / "labels.csv"))
    assert done.returncode == 2
    assert f"{tmp_path / 'labels.csv'}, line 1: is no JSON" in done.stderr
    assert "`draftcritic label --import` reads other forms" in done.stderr
