"""From questions and a corpus to trees that say whether what was found suffices."""

import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from prefrag.cli.main import app
from prefrag.components.judge.pair_sufficiency import PairSufficiency
from prefrag.components.judge.sufficiency_features import FEATURES
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.training import sufficiency
from prefrag.training.sufficiency import FoundSoFar, fit, measure, train_sufficiency
from tests.components.samples import document
from tests.training.towns import TOWNS, river, write_rivers

pytest.importorskip("xgboost")


def write_divided_rivers(folder: Path):
    return write_rivers(folder, [("local", "web") if place % 2 else ("local", "local") for place in range(30)])


@pytest.mark.slow
def test_trees_tell_both_passages_from_one(tmp_path: Path):
    trained = train_sufficiency([write_divided_rivers(tmp_path / "rivers")], tmp_path / "trees.json", 0.4)

    estimate = PairSufficiency(TreePairScorer(label="pair"), trees=str(trained.output)).estimate
    town = TOWNS[-1]
    first = document("first", f"{town} is a town on the river {river(town)}.", title=town)
    second = document("second", f"{river(town)} is a river of many miles.", title=river(town))
    other = document("other", f"{TOWNS[0]} is a town on the river {river(TOWNS[0])}.", title=TOWNS[0])
    question = f"How long is the river of {town}?"
    assert estimate(question, [first, second]) > estimate(question, [first, other])
    assert trained.questions == 30
    assert "needless" in trained.output.with_suffix(".card.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_same_questions_and_seed_give_the_same_trees(tmp_path: Path):
    rivers = write_divided_rivers(tmp_path / "rivers")

    files = [train_sufficiency([rivers], tmp_path / f"{name}.json", 0.4).output for name in ("first", "second")]

    assert files[0].read_bytes() == files[1].read_bytes()


def test_searches_of_one_kind_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    state = FoundSoFar("rivers", "home", "How long?", (0.0,) * len(FEATURES), suffices=False)
    monkeypatch.setattr(sufficiency, "_run_dataset", lambda *_: [state, state])

    with pytest.raises(ValueError, match="or in none, so there is nothing to learn"):
        train_sufficiency([write_divided_rivers(tmp_path / "rivers")], tmp_path / "trees.json", 0.4)


def test_trees_judge_also_without_the_readers_answer():
    states = [
        FoundSoFar("rivers", "home", f"question {place}", (0.5,) * 5 + (0.0, 0.0, 3.0, answer), answer > 0.5)
        for place in range(80)
        for answer in (0.1, 0.9)
    ]
    rows = np.array([(0.5,) * 5 + (0.0, 0.0, 3.0, answer) for answer in (0.1, math.nan, 0.9)], np.float32)

    unsure, without, sure = fit(states, seed=7).inplace_predict(rows)

    assert unsure < without < sure


class TestMeasure:
    def state(self, place: str, question: str, covers: float, suffices: bool) -> FoundSoFar:
        return FoundSoFar("rivers", place, question, (covers,) * 5 + (0.0, 0.0, 3.0, math.nan), suffices)

    def test_needless_and_missed_are_shares_of_the_questions(self):
        states = [
            *(self.state("home", f"question {place}", 0.9, True) for place in range(80)),
            *(self.state("web", f"question {place}", 0.1, False) for place in range(80)),
        ]
        booster = fit(states, seed=7)
        unlike = [self.state("home", "one", 0.1, True), self.state("home", "two", 0.9, True)]
        late = [self.state("web", "three", 0.9, False), self.state("web", "three", 0.1, False)]

        measured = measure(booster, [*unlike, *late, self.state("web", "four", 0.9, False)], 0.5)

        assert (measured.needless, measured.missed) == (0.5, 0.5)


@pytest.mark.slow
def test_command_says_where_to_name_the_trees(tmp_path: Path):
    rivers = write_divided_rivers(tmp_path)
    output = tmp_path / "trees.json"

    result = CliRunner().invoke(
        app,
        ["train", "sufficiency", "--dataset", f"{rivers.questions}:{rivers.corpus}", "--output", str(output)],
    )

    assert result.exit_code == 0, result.output
    assert f"set {output} as `trees` of the PairSufficiency" in " ".join(result.output.split())
