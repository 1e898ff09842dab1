"""How well scores tell positives from negatives."""

from prefrag.training.area_under_curve import area_under_curve
from tests.for_each import for_each


@for_each(
    "labels, scores, area",
    ([True, False], [0.9, 0.1], 1.0),
    ([True, False], [0.1, 0.9], 0.0),
    ([True, False], [0.5, 0.5], 0.5),
    ([True, True], [0.5, 0.6], 0.5),
    ([True, False, False], [0.5, 0.5, 0.1], 0.75),
)
def test_area_counts_the_pairs_in_order(labels: list[bool], scores: list[float], area: float):
    assert area_under_curve(labels, scores) == area
