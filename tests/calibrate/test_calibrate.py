"""What calibration says of a critic whose truth is known."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.labelled import labelled, made_up_runs

from draftcritic.calibrate import (
    Costs,
    Draft,
    Population,
    calibrate,
    lines,
    population,
    report_html,
    shows,
    threshold_curve,
    write_threshold,
)
from draftcritic.calibrate._measure import FALSE_REFUSE, MISS, share_of
from draftcritic.labels import Label, Labels
from draftcritic.statistics import labels_needed


def found(count: int = 2000, labels: int = 200, **rates: float) -> Population:
    runs, given, _ = labelled(count, labels, **rates)
    return population(runs, given)


def test_errors_are_weighted_to_all_drafts() -> None:
    runs, given, truth = labelled(4000, 400)
    people = population(runs, given)
    refused = [run for run in runs if run.verdict == "refuse"]
    wrongly = sum(truth[run.turn.turn_id] == "approve" for run in refused) / len(runs)
    estimate = share_of(people.drafts, FALSE_REFUSE)
    assert estimate.interval.low <= wrongly <= estimate.interval.high
    assert estimate.share == pytest.approx(wrongly, abs=0.005)
    # Half of the labels are refused drafts, and one in twenty drafts is: unweighted it would be ten times as much.
    assert sum(d.verdict == "refuse" and d.answer == "approve" for d in people.labelled) / len(people.labelled) > 0.15


def test_intervals_contain_the_truth_in_93_of_100_runs() -> None:
    contained = {"miss": 0, "false refuse": 0}
    for seed in range(100):
        runs, given, truth = labelled(2000, 200, seed)
        people = population(runs, given)
        for kind in (MISS, FALSE_REFUSE):
            answers = [replace(draft, answer=truth[draft.turn_id]) for draft in people.drafts]
            share = sum(kind.possible(draft) and kind.hit(draft) for draft in answers) / len(answers)
            interval = share_of(people.drafts, kind).interval
            contained[kind.name] += interval.low - 1e-12 <= share <= interval.high + 1e-12
    assert min(contained.values()) >= 93


def test_a_bound_that_the_labels_show() -> None:
    people = found(labels=400, right_rate=0.99)
    shown = shows(people.drafts, FALSE_REFUSE, 0.02)
    assert shown.is_shown
    assert shown.line().startswith("false refuse: at most 2 % of drafts is shown")


def test_a_bound_that_is_not_shown_names_how_many_more_labels_of_which_stratum_show_it() -> None:
    drafts = [Draft(f"t{n}", "approve", "approve", answer="approve" if n < 50 else "") for n in range(20_000)]
    shown = shows(drafts, MISS, 0.01)
    assert not shown.is_shown
    assert shown.more == {"approve": labels_needed(0.01) - 50}
    more = [replace(draft, answer="approve") if at < 299 else draft for at, draft in enumerate(drafts)]
    assert shows(more, MISS, 0.01).is_shown


def test_labels_of_each_draft_show_no_more_about_drafts_to_come_than_as_many_of_a_larger_replay() -> None:
    few = [Draft(f"t{n}", "approve", "approve", answer="approve") for n in range(16)]
    shown = shows(few, MISS, 0.02)
    assert not shown.is_shown
    assert shown.at_most == pytest.approx(1 - 0.05 ** (1 / 16))
    assert shown.more == {"approve": labels_needed(0.02) - 16}
    assert shown.line().endswith(
        "label 133 more of approve, for which more drafts have to be replayed: 0 of approve are left without a label"
    )
    enough = [Draft(f"t{n}", "approve", "approve", answer="approve") for n in range(labels_needed(0.02))]
    assert shows(enough, MISS, 0.02).is_shown


def test_a_bound_below_the_estimate_cannot_be_shown_by_more_labels() -> None:
    drafts = [Draft(f"t{n}", "refuse", "refuse", answer="approve" if n % 2 else "refuse") for n in range(100)]
    shown = shows([*drafts, *(Draft(f"u{n}", "refuse", "refuse") for n in range(900))], FALSE_REFUSE, 0.01)
    assert (shown.is_shown, shown.more) == (False, {})
    assert "change the critic" in shown.line()


def test_an_error_that_no_verdict_allows_is_known_to_be_absent() -> None:
    drafts = [Draft(f"t{n}", "approve", "approve") for n in range(100)]
    assert shows(drafts, FALSE_REFUSE, 0.01).is_shown
    assert share_of(drafts, FALSE_REFUSE).interval == (0.0, 0.0)


def test_people_who_do_not_agree_are_named_and_do_not_count() -> None:
    runs = [run for run, _ in made_up_runs(10)]
    given = Labels()
    for turn_id, said in (("t0", "approve"), ("t1", "refuse"), ("t2", "unsure")):
        given.add(Label(turn_id, "ann", said))
    given.add(Label("t1", "bob", "approve"))
    given.add(Label("elsewhere", "bob", "approve"))
    people = population(runs, given)
    assert [draft.turn_id for draft in people.labelled] == ["t0"]
    assert (people.disputed, people.unsure, people.unknown) == (["t1"], ["t2"], ["elsewhere"])
    text = "\n".join(lines(calibrate(people)))
    assert "labels that do not count, disputed: t1" in text
    assert "labels that do not count, not in the replay: elsewhere" in text
    assert "were not drawn by `draftcritic label`" in text


def test_when_every_draft_is_labelled_a_note_says_what_that_shows_of_drafts_to_come() -> None:
    def notes(labels: int) -> list[str]:
        drafts = [Draft(f"t{n}", "approve", "approve", answer="approve" if n < labels else "") for n in range(16)]
        return [note for note in calibrate(Population(drafts), miss=0.02).notes if note.startswith("every draft")]

    (note,) = notes(16)
    assert note.endswith("of which 16 labels without an error show at most 17 %")
    assert notes(15) == []


def test_agreement_of_two_people() -> None:
    runs, given, _ = labelled(2000, 100, who=("ann", "bob"))
    calibration = calibrate(population(runs, given))
    assert calibration.agreement.people is not None
    one, other, kappa = calibration.agreement.people
    assert (one, other, kappa.value, kappa.pairs) == ("ann", "bob", 1.0, 100)
    assert calibration.agreement.alpha == 1.0


def test_the_curve_has_a_point_for_each_confidence_and_one_without_findings() -> None:
    people = found()
    curve = threshold_curve(people.drafts, Costs())
    assert [point.threshold for point in curve] == [0.6, 0.9, 1.01]
    calibration = calibrate(people, costs=Costs(miss=0.0, false_refuse=1.0, false_revise=0.0))
    assert calibration.best is not None
    assert calibration.cost == pytest.approx(1000 * share_of(people.drafts, FALSE_REFUSE).share)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "fabrication_refuse_threshold = 0.9\n"),
        (
            'mode = "gate"\n\n[model_kwargs]\ntemperature = 0\n',
            'mode = "gate"\nfabrication_refuse_threshold = 0.9\n\n[model_kwargs]\ntemperature = 0\n',
        ),
        ("# mine\nfabrication_refuse_threshold = 0.5  # old\n", "# mine\nfabrication_refuse_threshold = 0.9\n"),
    ],
)
def test_writing_the_threshold_changes_nothing_else(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "draftcritic.toml"
    path.write_text(before)
    point = next(point for point in threshold_curve(found().drafts, Costs()) if point.threshold == 0.9)
    write_threshold(path, point)
    assert path.read_text() == after


def test_the_first_line_is_the_answer_and_f1_is_nowhere() -> None:
    text = list(lines(calibrate(found(), false_refuse=0.05, miss=0.0001)))
    assert text[0].startswith("false refuse: at most 5 % of drafts is shown")
    assert text[1].startswith("miss: at most 0.01 % of drafts is not shown")
    assert not re.search(r"\bF1\b", "\n".join(text), re.IGNORECASE)


def test_the_report_is_one_file_with_pictures_and_without_scripts() -> None:
    pytest.importorskip("vl_convert")
    people = found()
    hostile = replace(
        people.drafts[0], kinds=frozenset({"<script>alert(1)</script>"}), rules=("<img src=x onerror=alert(1)>",)
    )
    people.drafts[0] = replace(hostile, answer="refuse")
    first = calibrate(people, "<b>runs</b>.jsonl", false_refuse=0.05)
    html = report_html([first, calibrate(found(right_rate=0.9), "other")])
    assert html.count("<svg") >= 7
    assert "<script" not in html
    assert "<img" not in html
    assert "<b>runs" not in html
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", html)
    assert "is shown: with 95 % confidence" in html
