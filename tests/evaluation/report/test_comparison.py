"""Intervals and comparisons."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from prefrag.evaluation.report.comparison import (
    Difference,
    Interval,
    compare,
    intervals,
    mcnemar,
    score_intervals,
    turn_around,
    wilson,
)
from prefrag.evaluation.report.grouping import group_by_setting
from prefrag.evaluation.report.measures import ACC, RECALL
from prefrag.evaluation.report.runs import read_runs
from tests.evaluation.report.run_folders import SERVER, SIMULATED, predictions, write_run


def test_the_interval_of_a_share_is_close_to_the_normal_one() -> None:
    answers = np.array([100.0] * 120 + [0.0] * 80).reshape(-1, 1)

    (interval,) = intervals(answers)

    error = 1.96 * math.sqrt(0.6 * 0.4 / 200) * 100
    assert interval.mean == pytest.approx(60.0)
    assert (interval.low, interval.high) == (pytest.approx(60 - error, abs=0.6), pytest.approx(60 + error, abs=0.6))
    assert interval.n == 200


def test_the_same_values_give_the_same_interval_alone_or_beside_others() -> None:
    values = np.random.default_rng(1).normal(size=(50, 3))

    (alone,) = intervals(values[:, 1:2])
    beside = intervals(values)[1]

    assert (beside.mean, beside.low, beside.high) == pytest.approx((alone.mean, alone.low, alone.high), abs=1e-8)
    assert intervals(values) == intervals(values)


def test_what_rounding_leaves_of_a_sum_is_no_difference() -> None:
    # Added up in 10,000 orders and weights, equal values give means that differ in the last bit.
    (interval,) = intervals(np.full((50, 1), 0.1))

    assert interval.low == interval.high


def test_scipy_gives_the_same_interval() -> None:
    from scipy.stats import bootstrap

    values = np.random.default_rng(2).exponential(size=150)
    theirs = bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=3).confidence_interval

    (ours,) = intervals(values.reshape(-1, 1))

    assert (ours.low, ours.high) == (pytest.approx(theirs.low, abs=0.02), pytest.approx(theirs.high, abs=0.02))


@pytest.mark.parametrize(("percent", "n"), [(0.0, 100), (100.0, 40), (30.0, 50), (0.0, 1)])
def test_scipy_gives_the_same_interval_of_a_proportion(percent: float, n: int) -> None:
    from scipy.stats import binomtest

    theirs = binomtest(round(percent * n / 100), n).proportion_ci(0.95, method="wilson")

    ours = wilson(percent, n)

    assert (ours.low, ours.high) == (pytest.approx(100 * theirs.low, abs=1e-9), pytest.approx(100 * theirs.high))


def test_nothing_right_or_everything_right_is_not_certain(tmp_path: Path) -> None:
    write_run(tmp_path / "none", predictions(0))
    write_run(tmp_path / "all", predictions(40), pipeline="react")

    found = score_intervals(read_runs([tmp_path]))

    none, every = (found[name, "acc"] for name in ("none", "all"))
    assert (none.low, none.high) == (pytest.approx(0, abs=1e-9), pytest.approx(8.8, abs=0.05))
    assert (every.low, every.high) == (pytest.approx(91.2, abs=0.05), pytest.approx(100))
    assert found["none", "total"].low == found["none", "total"].high == 1.0, "a count has no ends"


@pytest.mark.parametrize(("first", "second"), [(0, 0), (4, 0), (0, 6), (7, 7), (31, 12), (900, 1_100)])
def test_scipy_gives_the_same_p(first: int, second: int) -> None:
    from scipy.stats import binomtest

    theirs = binomtest(first, first + second).pvalue if first + second else 1.0

    assert mcnemar(first, second) == mcnemar(second, first) == pytest.approx(theirs)


def test_questions_without_a_value_are_out_of_the_mean() -> None:
    (some, none) = intervals(np.array([[1.0, math.nan], [3.0, math.nan], [math.nan, math.nan]]))

    assert (some.mean, some.n) == (2.0, 2)
    assert 1.0 <= some.low <= some.high <= 3.0
    assert none.n == 0
    assert math.isnan(none.mean)


def test_identical_runs_show_no_difference(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(20))
    write_run(tmp_path / "b", predictions(20), pipeline="react")

    (comparison,) = compare(group_by_setting(read_runs([tmp_path])))

    for difference in comparison.differences.values():
        assert (difference.interval.low, difference.interval.mean, difference.interval.high) == (0.0, 0.0, 0.0)
        assert difference.verdict == "no difference shown"


def test_a_clear_difference_is_better_from_one_side_and_worse_from_the_other(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(35, web=1))
    write_run(tmp_path / "b", predictions(10), pipeline="react")

    (comparison,) = compare(group_by_setting(read_runs([tmp_path])))

    assert (comparison.run.method, comparison.other.method) == ("react", "prefrag")
    accuracy, retrievals = comparison.differences["acc"], comparison.differences["total"]
    assert accuracy.interval.mean == pytest.approx(-62.5)
    assert (accuracy.words, retrievals.words) == ("worse", "better: fewer")
    other_way = turn_around(comparison)
    assert other_way.differences["acc"].words == "better"
    assert other_way.differences["acc"].interval.low == -accuracy.interval.high
    assert other_way.differences["total"].words == "worse: more"


def test_pairing_sees_what_two_separate_intervals_do_not(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(26))
    write_run(tmp_path / "b", predictions(20), pipeline="react")

    runs = read_runs([tmp_path])
    react, prefrag = (score_intervals(runs)[name, "acc"] for name in ("b", "a"))
    (comparison,) = compare(group_by_setting(runs))

    assert react.high > prefrag.low
    assert comparison.differences["acc"].verdict == "worse"


def test_questions_are_paired_by_id_and_the_others_are_named(tmp_path: Path) -> None:
    lines = predictions(20)
    write_run(tmp_path / "a", [*reversed(lines[:-1])])
    write_run(tmp_path / "b", lines[2:], pipeline="react")

    (comparison,) = compare(group_by_setting(read_runs([tmp_path])))

    assert comparison.n == 37
    assert comparison.only_run == ("q039",)
    assert set(comparison.only_other) == {"q000", "q001"}
    assert comparison.differences["acc"].interval.mean == 0.0


def test_another_question_or_other_gold_under_the_same_id_is_not_paired_but_named(tmp_path: Path) -> None:
    lines = predictions(20)
    other = [
        {**lines[0], "question": "Who burnt q000?"},
        {**lines[1], "answers": ["Alpha"]},
        *lines[2:],
    ]
    write_run(tmp_path / "a", lines)
    write_run(tmp_path / "b", other, pipeline="react")

    (comparison,) = compare(group_by_setting(read_runs([tmp_path])))

    assert comparison.n == 38
    assert comparison.unlike == turn_around(comparison).unlike == ("q000", "q001")
    assert (comparison.only_run, comparison.only_other) == ((), ())


def test_no_verdict_over_a_handful_of_questions(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(20, 20))
    write_run(tmp_path / "b", predictions(0, 20), pipeline="react")

    (comparison,) = compare(group_by_setting(read_runs([tmp_path])))

    assert comparison.differences["acc"].words == "too few questions"


def test_runs_without_a_question_in_common_have_no_difference(tmp_path: Path) -> None:
    lines = predictions(20)
    write_run(tmp_path / "a", lines[:20])
    write_run(tmp_path / "b", lines[20:], pipeline="react")

    (comparison,) = compare(group_by_setting(read_runs([tmp_path])))

    assert (comparison.n, comparison.differences) == (0, {})


def test_what_differs_in_more_than_method_and_retriever_is_not_compared(tmp_path: Path) -> None:
    write_run(tmp_path / "k5", predictions(20))
    write_run(tmp_path / "k3", predictions(20), top_k=3)
    write_run(tmp_path / "react_k3", predictions(20), pipeline="react", top_k=3, retriever="dense")
    write_run(tmp_path / "erring", predictions(20), top_k=3, llm={**SIMULATED, "judge_error": 0.2})
    write_run(tmp_path / "elsewhere", predictions(20), dataset="hotpotqa")

    found = {
        frozenset((one.run.name, one.other.name)): one.differing
        for one in compare(group_by_setting(read_runs([tmp_path])))
    }

    assert found == {
        frozenset(("k5", "k3")): ("top-k",),
        frozenset(("react_k3", "k3")): ("method", "retriever"),
        frozenset(("erring", "k3")): ("judge error",),
    }


def test_a_method_without_a_judge_is_compared_whatever_the_error_of_the_others(tmp_path: Path) -> None:
    write_run(tmp_path / "vanilla", predictions(20), pipeline="vanilla_mix", judged=False)
    write_run(tmp_path / "exact", predictions(20), judged=True)
    write_run(tmp_path / "erring", predictions(20), judged=True, llm={**SIMULATED, "judge_error": 0.2})
    write_run(tmp_path / "served", predictions(20), pipeline="vanilla_mix", judged=False, llm=SERVER)

    found = {
        frozenset((one.run.name, one.other.name)): one.differing
        for one in compare(group_by_setting(read_runs([tmp_path])))
    }

    assert found == {
        frozenset(("vanilla", "exact")): ("method",),
        frozenset(("vanilla", "erring")): ("method",),
        frozenset(("exact", "erring")): ("judge error",),
    }


def test_a_method_with_a_top_k_of_its_own_is_compared_and_the_difference_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "prefrag", predictions(20))
    write_run(tmp_path / "react", predictions(20), pipeline="react")
    write_run(tmp_path / "dr_rag", predictions(20), pipeline="dr_rag_qdc", top_k=6)

    found = {
        frozenset((one.run.name, one.other.name)): one.differing
        for one in compare(group_by_setting(read_runs([tmp_path])))
    }

    assert found[frozenset(("prefrag", "dr_rag"))] == ("method", "top-k")


@pytest.mark.parametrize(("ahead", "verdict"), [(4, "no difference shown"), (12, "better")])
def test_few_questions_that_differ_are_no_verdict_on_accuracy(ahead: int, verdict: str):
    interval = Interval(mean=ahead, low=1.0, high=2.0 * ahead, n=100)

    assert Difference(ACC, interval, mcnemar(ahead, 0)).verdict == verdict
    assert Difference(RECALL, interval).verdict == "better"
