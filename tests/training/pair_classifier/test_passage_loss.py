"""What the pair classifier's training lowers."""

import math

import numpy as np
import pytest

from prefrag.training.pair_classifier.passage_loss import SMOOTHNESS, PassageLoss
from prefrag.training.pair_classifier.pool import Pool
from tests.training.pair_classifier.letters import pool


def gradient(pools: list[Pool], margins: list[float]) -> list[float]:
    return list(PassageLoss(pools)(np.array(margins, np.float32), None)[0])


def test_the_gradient_is_the_slope_of_the_passages_cross_entropy():
    pools = [pool("ab ac bc da", gold="ac"), pool("ab ba bc", gold="b")]
    margins = np.array([0.3, -1.0, 0.1, -2.0, 0.5, 0.2, -0.7])

    def loss(at: np.ndarray) -> float:
        total, start = 0.0, 0
        for gathered in pools:
            own = at[start : start + len(gathered.pairs)]
            start += len(gathered.pairs)
            for passage in {document.id for pair in gathered.pairs for document in pair}:
                best = [
                    margin for margin, pair in zip(own, gathered.pairs, strict=True) if passage in {d.id for d in pair}
                ]
                margin = SMOOTHNESS * math.log(sum(math.exp(value / SMOOTHNESS) for value in best))
                sign = 1 if passage in gathered.gold else -1
                total += math.log1p(math.exp(-sign * margin)) / math.sqrt(len(gathered.gold))
        return total

    step = 1e-5 * np.eye(len(margins))
    slope = [(loss(margins + offset) - loss(margins - offset)) / 2e-5 for offset in step]
    assert gradient(pools, list(margins)) == pytest.approx(slope, abs=1e-5)


def test_a_gold_passage_needs_one_good_pair():
    good, needless = gradient([pool("ab cd ac bd", gold="abcd")], [5.0, 5.0, -3.0, -3.0])[1:3]
    assert abs(good) < 0.05
    assert needless == 0
    best, worse = gradient([pool("ab ac", gold="")], [2.0, -2.0])
    assert best > worse > 0
    [alone] = gradient([pool("ab", gold="a")], [-3.0])
    assert alone < 0, "a gold passage without a partner teaches"


def test_of_many_gold_passages_each_counts_less():
    few, many = pool("ab", gold="ab"), pool("ab cd", gold="abcd")

    assert gradient([many], [0.0, 0.0])[0] == pytest.approx(gradient([few], [0.0])[0] / math.sqrt(2), abs=1e-5)


def test_of_a_dataset_with_many_questions_each_counts_less():
    many, few = pool("ab", gold="ab", dataset="many"), pool("ab", gold="ab", dataset="few")

    slopes = gradient([many, many, many, many, few], [0.0] * 5)

    assert slopes[4] == pytest.approx(2 * slopes[0], abs=1e-5)
    # On the whole nothing is learnt faster or slower.
    assert gradient([few], [0.0])[0] == pytest.approx(gradient([many, many], [0.0, 0.0])[0])


def test_questions_do_not_meddle_though_they_share_passages():
    first, second = pool("ab bc", gold="ab"), pool("ab", gold="b")

    assert gradient([first, second], [0.1, 0.2, 0.3]) == [*gradient([first], [0.1, 0.2]), *gradient([second], [0.3])]


def test_every_pair_has_a_second_derivative_above_zero():
    first, second = PassageLoss([pool("ab ac", gold="a")])(np.array([40.0, -40.0], np.float32), None)

    assert (second > 0).all()
    assert np.isfinite(first).all()
